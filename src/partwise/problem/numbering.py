"""The final numbers of features and labels, which are known once all batches of examples are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Ints
from .rows import Renumbering, Rows

__all__ = ["Keep", "Numbering"]

#: Which features are kept: a mask, or the final number of each.
Keep = npt.NDArray[np.bool_] | Renumbering


@dataclass(frozen=True, eq=False)
class Numbering:
    """The final numbers of the features and labels that batches number as they come.

    Attributes
    ----------
    counts : sequence of int
        How many features each kind of site has in the batches; empty if their features have their
        final numbers, and all batches have all of them.
    keep : sequence or None
        For each kind of site a mask of the features that are kept, or None for all; the others
        are left out, and those that are kept are numbered anew, in their order. Or the final
        numbers.
    relabel : ndarray or None
        The final numbers of the labels that the batches have.
    """

    counts: Sequence[int] = ()
    keep: Sequence[Keep | None] | None = None
    relabel: Ints | None = None

    def rows(self, rows: Sequence[Rows]) -> list[Rows]:
        """Return the rows of every kind of site with the final numbers of their features."""
        found = []
        for kind, some in enumerate(rows):
            kept = None if self.keep is None else self.keep[kind]
            some = some.resize(self.counts[kind]) if self.counts else some
            if isinstance(kept, Renumbering):
                some = some.renumber(kept)
            elif kept is not None:
                some = some.keep(kept)
            found.append(some)
        return found

    def gold(self, labels: Sequence[Ints]) -> Sequence[Ints]:
        """Return the gold labels of examples with their final numbers."""
        return labels if self.relabel is None else [self.relabel[label] for label in labels]

    def sizes(self) -> list[int]:
        """Return how many features each kind of site has in the end."""
        found: list[int] = []
        for kind, n in enumerate(self.counts):
            kept = None if self.keep is None else self.keep[kind]
            if isinstance(kept, Renumbering):
                n = kept.n_features
            elif kept is not None:
                n = int(np.count_nonzero(kept))
            found.append(n)
        return found
