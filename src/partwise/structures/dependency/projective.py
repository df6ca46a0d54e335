"""Projective dependency trees: no two arcs cross when drawn above the sentence.

The root stands to the left of the first word, and its arcs cross no others either. Parts are the
arcs, as ``arcs.py`` numbers them; the compiled recursions are in ``projective_oracles.py`` and
``projective_search.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..steps import StepList, Steps
from .arcs import ArcStructure, arc_site
from .projective_oracles import charts_size, projective_marginals
from .projective_search import projective_maximum, projective_sample


@final
class ProjectiveTree(ArcStructure):
    """Projective trees, with the labels and parameters of :class:`ArcStructure`."""

    name: ClassVar[str] = "projective"
    marginals: ClassVar[Any] = projective_marginals
    maximum: ClassVar[Any] = projective_maximum

    def work_size(self, topo: Ints) -> int:
        """Count the numbers in the charts, and two per word for the choices of the search."""
        return charts_size(int(topo[0]), self.n_labels) + 2 * int(topo[0])

    def steps(self, topo: Ints) -> Steps:
        """List the steps of Eisner (1996); the root is position 0, to the left of the words."""
        length, found = int(topo[0]), StepList()
        position = np.arange(length + 1)
        # The kinds of items for the span from i to j: an arc between its ends, this arc and all
        # between the two, and an end with all its modifiers in the span. L: its head is j.
        (arc, arc_l, half, half_l, whole, whole_l) = range(6)

        def item(kind: int, i: Any, j: Any) -> Any:
            return ((j - i) * 6 + kind) * (length + 1) + i

        for kind in (whole, whole_l):
            found.add(item(kind, position, position))
        for width in range(1, length + 1):
            i, k = position[: length + 1 - width, None], np.arange(width)
            j, label = i + width, np.arange(self.n_labels)
            # With a single root, the root has no modifiers before its first.
            some = (i > 0) | (k == 0) | (not self.single_root)
            i_all, j_all, k_all = (np.broadcast_to(x, some.shape)[some] for x in (i, j, i + k))
            inner = [item(whole, i_all, k_all), item(whole_l, k_all + 1, j_all)]
            found.add(item(arc, i, j), parts=[arc_site(i, j, length) * self.n_labels + label])
            found.add(item(half, i_all, j_all), [*inner, item(arc, i_all, j_all)])
            found.add(item(whole, i, j), [item(half, i, i + 1 + k), item(whole, i + 1 + k, j)])
            i, j = i[1:], j[1:]  # no arc leads to the root
            inner = [item(whole, i, i + k), item(whole_l, i + k + 1, j)]
            found.add(item(arc_l, i, j), parts=[arc_site(j, i, length) * self.n_labels + label])
            found.add(item(half_l, i, j), [*inner, item(arc_l, i, j)])
            found.add(item(whole_l, i, j), [item(whole_l, i, i + k), item(half_l, i + k, j)])
        goal = 6 * (length + 1) ** 2
        found.add(goal, [item(whole, 0, length)])
        return found.steps(goal + 1)

    def check_tree(self, y: Ints) -> None:
        """Raise a DataError if y, of shape (T, 2), is no projective tree."""
        super().check_tree(y)
        crossing = crossing_arcs(y[:, 0])
        if crossing is not None:
            (h, m), (g, n) = crossing
            raise DataError(
                f"the arcs from {h} to {m} and from {g} to {n} cross; make the tree projective, "
                "or use the structure of non-projective trees"
            )

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        theta = self._drawable(theta, topo)
        return list(projective_sample(self.spec, topo, theta, rng.random((size, 3 * int(topo[0])))))


def crossing_arcs(heads: Ints) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return two arcs (head, modifier) of a tree that cross, or None if it is projective.

    Parameters
    ----------
    heads : ndarray of int64
        The head of each of the words 1 .. T; 0 is the root, to their left.
    """
    modifiers = np.arange(1, len(heads) + 1)
    left, right = np.minimum(heads, modifiers), np.maximum(heads, modifiers)
    first, second = np.nonzero(
        (left[:, None] < left) & (left < right[:, None]) & (right[:, None] < right)
    )
    if len(first) == 0:
        return None
    a, b = int(first[0]), int(second[0])
    return (int(heads[a]), a + 1), (int(heads[b]), b + 1)
