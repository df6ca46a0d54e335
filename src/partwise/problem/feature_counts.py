"""How often each feature occurs, counted as batches of examples come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Ints
from ..errors import DataError
from .rows import Renumbering, Rows

__all__ = ["FeatureCounts"]


class FeatureCounts:
    """The counts that `Layout.full` takes, for each kind of site.

    Attributes
    ----------
    valued : bool
        Whether some entry has a value, which may be 1.
    """

    def __init__(self) -> None:
        self.valued = False
        self._counts: list[Ints] = []
        #: For each kind the row that stands for all its sites, as long as all batches have it.
        self._shared: list[Rows | None] = []

    def add(self, rows: Sequence[Rows], n: int) -> None:
        """Count the features of a batch.

        Parameters
        ----------
        rows : sequence of Rows
            The features of each kind of site.
        n : int
            How many examples they belong to.
        """
        if not self._counts:
            self._counts = [np.zeros(0, dtype=np.int64) for _ in rows]
            self._shared = [some if len(some) == 1 else None for some in rows]
        if len(rows) != len(self._counts):
            raise DataError(
                f"a batch with features for {len(rows)} kinds of sites, where those before have "
                f"{len(self._counts)}; give one Rows for each kind"
            )
        for kind, some in enumerate(rows):
            self.valued |= some.values is not None and len(some) > 0
            if not _same(self._shared[kind], some):
                self._shared[kind] = None
            held = self._counts[kind]
            if some.n_features > len(held):
                grown = np.zeros(max(some.n_features, 2 * len(held)), dtype=np.int64)
                grown[: len(held)] = held
                self._counts[kind] = held = grown
            seen = some.indices if some.values is None else some.indices[some.values != 0]
            np.add.at(held, seen, 1)

    def settled(
        self,
        n_features: Sequence[int],
        keep: Sequence[npt.NDArray[np.bool_] | Renumbering | None],
        n_examples: int,
    ) -> list[Ints]:
        """Return the counts of the features that are kept.

        Parameters
        ----------
        n_features : sequence of int
            How many features each kind of site has.
        keep : sequence
            For each kind of site a mask of the features that are kept, or their final numbers, or
            None for all.
        n_examples : int
            How many examples there were.
        """
        if not len(n_features) == len(keep) == len(self._counts):
            raise DataError(
                f"numbers of features for {len(n_features)} kinds of sites and masks for "
                f"{len(keep)}, where the batches have {len(self._counts)}"
            )
        found = []
        for held, shared, n, mask in zip(self._counts, self._shared, n_features, keep, strict=True):
            counts = np.zeros(n, dtype=np.int64)
            if shared is not None:
                own = shared.resize(n).counts()
                counts += own * n_examples
            else:
                if held[n:].any():
                    raise DataError(
                        f"a batch has feature {n + int(np.flatnonzero(held[n:])[-1])}, where there "
                        f"are {n}; give the number of all features"
                    )
                some = min(n, len(held))
                counts[:some] = held[:some]
            found.append(counts if mask is None else _kept(counts, mask))
        return found


def _kept(counts: Ints, chosen: npt.NDArray[np.bool_] | Renumbering) -> Ints:
    """Return the counts of the features that a mask, or their final numbers, keep."""
    if not isinstance(chosen, Renumbering):
        return counts[chosen]
    kept = chosen.numbers >= 0
    found = np.zeros(chosen.n_features, dtype=np.int64)
    found[chosen.numbers[kept]] = counts[kept]
    return found


def _same(shared: Rows | None, rows: Rows) -> bool:
    """Return whether rows are the one row that was shared so far."""
    if shared is None or len(rows) != 1 or not np.array_equal(shared.indices, rows.indices):
        return False
    if shared.values is None or rows.values is None:
        return shared.values is rows.values
    return bool(np.array_equal(shared.values, rows.values))
