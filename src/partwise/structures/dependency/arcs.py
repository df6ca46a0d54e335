"""What projective and non-projective dependency trees share: arcs from heads to modifiers.

An example has T words, numbered 1 .. T; 0 is the root, which is no word. Each word m has one head
h in 0 .. T, h != m, and its arc (h, m) carries one of L labels. The arcs of a label form a tree
that hangs from the root. Parts, in the order of the modifiers (L labels per arc):

    arcs    T x T x L    theta[m - 1, slot, k],   slot = h if h < m else h - 1

so that part number ((m - 1) T + slot) L + k is the arc (h, m) with label k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..base import Sites, Structure, label_costs
from ..ranking import k_best_choices


class ArcConstraints(NamedTuple):
    """Hard constraints on trees, in word and label numbers (words from 1; 0 is the root).

    ``arcs`` holds forbidden pairs (head, modifier). ``heads`` holds, for some modifiers, the only
    heads allowed (a fixed head is a set of one). ``labels`` are forbidden on all arcs. ``allowed``
    holds, for some arcs ``(head, modifier)``, the only labels that they may have if they are in the
    tree.
    """

    arcs: Sequence[tuple[int, int]] = ()
    heads: Sequence[tuple[int, Sequence[int]]] = ()
    labels: Sequence[int] = ()
    allowed: Sequence[tuple[tuple[int, int], Sequence[int]]] = ()


class ArcStructure(Structure):
    """Trees over the words of a sentence.

    A label is an int64 array of shape (T, 2) with one row per word: its head, and the label of the
    arc from there. Where arcs have no labels (``n_labels=1``), the label is always 0.

    Parameters
    ----------
    n_labels : int
        How many labels an arc can have; 1 for arcs without labels.
    single_root : bool
        Whether exactly one word hangs from the root; otherwise at least one does.
    """

    kinds = ("arc",)

    def __init__(self, n_labels: int = 1, single_root: bool = True) -> None:
        self.n_labels = n_labels
        self.single_root = single_root

    def constants(self) -> dict[str, Any]:
        return {"n_labels": self.n_labels, "single_root": self.single_root}

    @property
    def spec(self) -> Ints:
        """The constants ``[n_labels, single_root]``."""
        return np.array([self.n_labels, self.single_root], dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.n_labels,)

    def topology(self, shape: int) -> Ints:
        """Return the number of words."""
        return np.array([shape], dtype=np.int64)

    def n_parts(self, topo: Ints) -> int:
        return int(topo[0]) ** 2 * self.n_labels

    def sites(self, topo: Ints) -> Sites:
        """List one site per arc, in the order of `arc_ends`."""
        n_arcs = int(topo[0]) ** 2
        one = np.ones(n_arcs, dtype=np.int64)
        part = np.arange(n_arcs, dtype=np.int64) * self.n_labels
        return Sites(part, one * self.n_labels, one * 0, one)

    def rivals(self, topo: Ints) -> Ints:
        length = int(topo[0])
        word = np.repeat(np.arange(length), length)  # it has one head
        return np.stack([0 * word, word, word + 1, 0 * word + length])

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        """Return one part per word.

        Raises
        ------
        DataError
            If the label is no tree of this structure.
        """
        length = int(topo[0])
        y = np.asarray(label, dtype=np.int64)
        if y.shape != (length, 2):
            raise DataError(
                f"a tree of shape {y.shape} for {length} words; give one row per word, "
                f"with its head and the label of its arc: shape ({length}, 2)"
            )
        self.check_tree(y)
        modifiers = np.arange(1, length + 1)
        return arc_site(y[:, 0], modifiers, length) * self.n_labels + y[:, 1], np.ones(length)

    def check_tree(self, y: Ints) -> None:
        """Raise a DataError if y, of shape (T, 2), is no tree of this structure."""
        length = len(y)
        heads, labels = y[:, 0], y[:, 1]
        wrong = np.flatnonzero((heads < 0) | (heads > length))
        if len(wrong):
            raise DataError(
                f"word {wrong[0] + 1} has head {heads[wrong[0]]}; heads are 0 (the root) to "
                f"{length} (the number of words)"
            )
        wrong = np.flatnonzero((labels < 0) | (labels >= self.n_labels))
        if len(wrong):
            raise DataError(
                f"the arc to word {wrong[0] + 1} has label number {labels[wrong[0]]}; labels are "
                f"0 to {self.n_labels - 1}"
            )
        # Heads of heads of heads: after T steps every word has arrived at the root.
        reached = np.concatenate([[0], heads])
        for _ in range(length.bit_length()):
            reached = reached[reached]
        wrong = np.flatnonzero(reached)
        if len(wrong):
            raise DataError(
                f"the heads above word {wrong[0]} form a cycle; in a tree they lead to the root, 0"
            )
        n_roots = int((heads == 0).sum())
        if self.single_root and n_roots > 1:
            raise DataError(
                f"{n_roots} words have head 0; give a tree in which one word has, or allow more "
                "with single_root=False"
            )

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Return, for every word, the arc and label with the largest count."""
        length = int(topo[0])
        if length == 0:
            return np.zeros((0, 2), dtype=np.int64)
        best = mu.reshape(length, -1).argmax(axis=1)
        slot, label = np.divmod(best, self.n_labels)
        return np.stack([slot + (slot > np.arange(length)), label], axis=1).astype(np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """Return the costs of all arcs.

        A wrong head costs 1. The right head costs what its label costs: without a matrix, 1 for a
        wrong label.
        """
        parts, _ = self.encode(label, topo)
        cost = np.ones((int(topo[0]) ** 2, self.n_labels))
        cost[parts // self.n_labels] = label_costs(parts % self.n_labels, self.n_labels, matrix)
        return cost.ravel()

    def mask(self, topo: Ints, constraints: ArcConstraints) -> Floats:
        """Forbid arcs, heads and labels; a DataError for words that are not there."""
        length = int(topo[0])
        mask = np.zeros((length * length, self.n_labels))
        mask[:, list(constraints.labels)] = -np.inf
        for h, m in constraints.arcs:
            mask[_checked_part(h, m, length)] = -np.inf
        for m, heads in constraints.heads:
            arcs = [_checked_part(h, m, length) for h in heads]
            _keep_only(mask[(m - 1) * length : m * length], [a - (m - 1) * length for a in arcs])
        for (h, m), labels in constraints.allowed:
            _keep_only(mask[_checked_part(h, m, length)], labels)
        return mask.ravel()

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Split the trees by their heads, word by word (see `ranking.k_best_choices`)."""
        length = int(topo[0])
        bounds = np.arange(length + 1, dtype=np.int64) * length * self.n_labels
        return k_best_choices(self, theta, topo, k, bounds)


def arc_ends(length: int) -> tuple[Ints, Ints]:
    """Return the head and the modifier of every site of a sentence of `length` words.

    Returns
    -------
    heads, modifiers : ndarray of int64
        Arrays of length T * T, in the order of the sites.
    """
    modifiers, slots = np.divmod(np.arange(length * length, dtype=np.int64), max(length, 1))
    return slots + (slots > modifiers), modifiers + 1


def arc_site(heads: Any, modifiers: Any, length: int) -> Any:
    """Return the numbers of the sites of arcs."""
    return (modifiers - 1) * length + heads - (heads > modifiers)


def _checked_part(h: int, m: int, length: int) -> int:
    if not (1 <= m <= length and 0 <= h <= length and h != m):
        raise DataError(
            f"a constraint on the arc from {h} to {m} in a sentence of {length} words; modifiers "
            "are numbered from 1, heads from 0 (the root), and no word is its own head"
        )
    return int(arc_site(h, m, length))


def _keep_only(rows: Floats, kept: Sequence[int]) -> None:
    """Forbid all rows but these; what was forbidden before stays forbidden."""
    only = np.full(rows.shape, -np.inf)
    only[list(kept)] = 0.0
    rows += only
