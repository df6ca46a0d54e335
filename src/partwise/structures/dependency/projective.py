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
from .arcs import ArcStructure
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
