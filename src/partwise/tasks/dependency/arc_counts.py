"""The features of the arcs of trees, counted as batches of trees come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from ...arrays import Ints
from ...models.vocabulary import Vocabulary
from ..source import runs
from .templates import BETWEEN, COLUMNS, DISTANCE_BITS, TEMPLATE_SHIFT, ArcPlan, make_plan
from .tokens import MARKS, ArcSentence, ArcTokens, encode, head_positions, read_fields

__all__ = ["ArcCounts", "chunks"]

DISTANCE: Final = 2**DISTANCE_BITS - 1
#: Arcs that one call of a kernel sees: it bounds what must be free at the end of the buffer.
CHUNK: Final = 20_000


class ArcCounts:
    """The values of columns and the features of arcs that occur in the trees so far.

    Parameters
    ----------
    templates : sequence of str
        What features look at.
    listed : bool
        Whether features are counted; otherwise only the values of columns are kept.
    """

    def __init__(self, templates: Sequence[str], listed: bool = True) -> None:
        # The compiler is not needed to read a model.
        from ...models.name_table import NameTable

        self.templates, self._listed = tuple(templates), listed
        self._tables = [NameTable() for _ in COLUMNS]
        self._plan = make_plan(self.templates, [len(MARKS)] * len(COLUMNS))
        # Sorted, so that those that differ in distance only are neighbours.
        self._keys, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[Ints] = []

    def add(self, sentences: Sequence[ArcSentence], heads: Sequence[Sequence[int] | Ints]) -> None:
        """Count the features of the arcs of some more trees.

        Parameters
        ----------
        sentences, heads
            As for `ArcTable.fit`.
        """
        given = read_fields(sentences)
        positions = head_positions(given.lengths, heads)
        tokens = encode(given, [table.add for table in self._tables])
        self._widen()
        if not self._listed:
            return
        from .arc_keys import arc_keys

        plan, distinct = self._plan, list(map(len, self._tables))
        for first, last, _, room in chunks(plan, distinct, tokens, given.lengths, given.lengths):
            found = np.empty(room + 1, np.int64)
            n = arc_keys(plan, tokens, positions, first, last, found)
            self._waiting.append(found[:n].copy())
            # As many new keys as old ones: the sorting is then shared by all of them.
            if sum(map(len, self._waiting)) > len(self._keys):
                self._merge()

    def join(self, other: ArcCounts) -> None:
        """Add the counts of the trees that come next.

        Parameters
        ----------
        other : ArcCounts
            Made with the same arguments. It is not used any more.
        """
        other._merge()
        marks = np.arange(len(MARKS))
        codes = [
            np.append(marks, here.join(there) + len(MARKS)).astype(np.int64)
            for here, there in zip(self._tables, other._tables, strict=True)
        ]
        self._widen()
        self._merge()
        keys = _widened(other._plan, self._plan, other._keys, codes)
        self._keys, self._counts = _summed(
            np.concatenate([self._keys, keys]), np.concatenate([self._counts, other._counts])
        )

    def _widen(self) -> None:
        """Make room in the keys for the codes of values that are new; their order is kept."""
        plan = make_plan(self.templates, [len(table) + len(MARKS) for table in self._tables])
        if (plan.atom_bits != self._plan.atom_bits).any():
            self._merge()
            self._keys = _widened(self._plan, plan, self._keys)
        self._plan = plan

    def _merge(self) -> None:
        if not self._waiting:
            return
        ones = np.ones(sum(map(len, self._waiting)), np.int64)
        self._keys, self._counts = _summed(
            np.concatenate([self._keys, *self._waiting]), np.concatenate([self._counts, ones])
        )
        self._waiting = []

    def finish(self, min_count: int) -> tuple[tuple[Vocabulary, ...], Ints]:
        """Return the values of each column, and the sorted keys of the features to keep.

        Parameters
        ----------
        min_count : int
            On how many arcs a feature must occur, with distance or without.
        """
        self._merge()
        keys, counts = self._keys, self._counts
        plain, total = _summed(keys & ~DISTANCE, counts)
        kept = np.sort(np.concatenate([keys[counts >= min_count], plain[total >= min_count]]))
        return tuple(table.finish() for table in self._tables), kept


def chunks(
    plan: ArcPlan, distinct: Sequence[int], tokens: ArcTokens, lengths: Ints, sizes: Ints
) -> Iterator[tuple[int, int, int, int]]:
    """Yield runs of sentences that together have about CHUNK arcs.

    Parameters
    ----------
    plan
        The templates.
    distinct
        How many values each column has.
    tokens, lengths
        The sentences, and how long they are.
    sizes
        How many arcs each sentence has.

    Returns
    -------
    first, last, most, room
        The run; how many features without distance one of its arcs has at most, and all.
    """
    feats = tokens.most_feats
    outer, inner = plan.outer[plan.several], plan.inner[plan.several]
    column = plan.atom_column[outer]
    between = (outer >= 0) & (plan.atom_place[outer] == BETWEEN)
    values = np.asarray(distinct)[column]
    times = np.where(inner >= 0, feats, 1)
    fixed = len(plan.single) + int((times * np.where(outer >= 0, feats, 1))[~between].sum())
    limits = np.minimum(lengths[:, None], values[between] + 1) * times[between]
    per_arc = fixed + limits.sum(axis=1)
    for first, last in runs(sizes, CHUNK):
        run = slice(first, last)
        yield first, last, int(per_arc[run].max()), int((per_arc * sizes)[run].sum())


def _widened(old: ArcPlan, new: ArcPlan, keys: Ints, codes: Sequence[Ints] | None = None) -> Ints:
    """Return sorted keys with more bits for the values of some atoms, or with other codes for them.

    With other codes the result is no longer sorted.
    """
    made = np.empty_like(keys)
    n_templates = len(old.atoms_ptr) - 1
    bounds = np.searchsorted(keys, np.arange(n_templates + 1) << TEMPLATE_SHIFT)
    for template, (first, last) in enumerate(pairwise(bounds.tolist())):
        atoms = old.atoms[old.atoms_ptr[template] : old.atoms_ptr[template + 1]].tolist()
        rest = (keys[first:last] & (2**TEMPLATE_SHIFT - 1)) >> DISTANCE_BITS
        values = np.zeros(last - first, np.int64)
        shift = 0
        for atom in reversed(atoms):
            bits = int(old.atom_bits[atom])
            own = rest & (2**bits - 1)
            values |= (own if codes is None else codes[old.atom_column[atom]][own]) << shift
            rest = rest >> bits
            shift += int(new.atom_bits[atom])
        distance = keys[first:last] & DISTANCE
        made[first:last] = (template << TEMPLATE_SHIFT) | (values << DISTANCE_BITS) | distance
    return made


def _summed(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Sort keys and add up the counts of equal ones."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(counts, first) if len(first) else counts
