"""Which weights exist: those of all pairs of a feature and a part, or only of some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import njit
from ..errors import DataError
from ..structures.base import Structure
from .numbering import Keep, Numbering
from .rows import Renumbering, Rows
from .storage import Layout

__all__ = ["FeatureCounts", "Observed", "WeightRule", "without_bare"]

# How often each feature occurs, counted as batches of examples come.


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

    def settled(self, numbering: Numbering, n_examples: int) -> list[Ints]:
        """Return the counts of the features that are kept.

        Parameters
        ----------
        numbering : Numbering
            How many features each kind of site has, and what becomes of them.
        n_examples : int
            How many examples there were.
        """
        n_features = numbering.counts
        keep = numbering.keep or [None] * len(n_features)
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


def _kept(counts: Ints, chosen: Keep) -> Ints:
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


#: What a site has: site_ptr, site_part, gold_ptr, gold_part and gold_count of a problem.
_GoldSites = tuple[Ints, Ints, Ints, Ints, Floats]


@dataclass(frozen=True)
class WeightRule:
    """A rule that says which weights exist.

    Attributes
    ----------
    weights : {"all", "observed"} or mapping of str to str
        "all" gives a feature a weight for every part of its site, and "observed" only for those
        that it occurs with in the gold labels. A mapping holds the choice for each kind of site;
        kinds that it does not name have all weights.
    min_frequency : float or None
        If it is not None, only those weights are kept for which the sum of the values of the
        feature, over the places where the part is in the gold label, is at least this. The sum is
        0 for a weight that is not observed. A feature that keeps no weight is left out.
    """

    weights: str | Mapping[str, str] = "all"
    min_frequency: float | None = None

    def of_kind(self, kind: str) -> str:
        """Return the choice for a kind of site."""
        return self.weights if isinstance(self.weights, str) else self.weights.get(kind, "all")

    @classmethod
    def of(cls, weights: str | WeightRule) -> WeightRule:
        """Return a rule, or the rule of a choice for all kinds of sites."""
        return weights if isinstance(weights, WeightRule) else cls(weights)

    @property
    def leaves_out(self) -> bool:
        """Whether some weights may not exist."""
        chosen = {self.weights} if isinstance(self.weights, str) else set(self.weights.values())
        return "observed" in chosen or self.min_frequency is not None

    def layout(
        self, structure: Structure, counts: Sequence[Ints], observe: Callable[[Observed], None]
    ) -> tuple[Layout, npt.NDArray[np.bool_] | None]:
        """Return which weights there are, and for each feature whether it has none.

        The second is None if there is no such feature.

        Parameters
        ----------
        structure : Structure
            What a label is made of.
        counts : sequence of ndarray
            How often each feature of each kind of site occurs.
        observe : callable
            Shows the gold labels of all examples to what it is given. It is not called if all
            weights exist.
        """
        layout = Layout.full(structure.widths, counts)
        if not self.leaves_out:
            return layout, None
        observed = Observed(self, layout)
        observe(observed)
        return observed.settled(structure.kinds)


class Observed:
    """Collects which weights of a full layout the gold labels touch, some examples at a time.

    Parameters
    ----------
    rule : WeightRule
        Which weights exist.
    layout : Layout
        All weights.
    """

    def __init__(self, rule: WeightRule, layout: Layout) -> None:
        self.rule, self.layout = rule, layout
        self.seen = np.zeros(layout.n_weights, dtype=np.bool_)
        self.totals = np.zeros(0 if rule.min_frequency is None else layout.n_weights)

    def add(self, gold_sites: _GoldSites, rows: Rows) -> None:
        """Look at the gold labels of some examples.

        Parameters
        ----------
        gold_sites : tuple
            The sites of each example, their first parts, and the parts of the gold labels with
            their counts.
        rows : Rows
            The features of each site, numbered through all kinds.
        """
        values = np.zeros(0) if rows.values is None else rows.values
        _observe(
            *gold_sites, rows.indptr, rows.indices, values, self.layout.first, self.seen,
            self.totals,
        )  # fmt: skip

    def settled(self, kinds: Sequence[str]) -> tuple[Layout, npt.NDArray[np.bool_] | None]:
        """Return what `WeightRule.layout` does, of all that was seen."""
        layout, seen = self.layout, self.seen
        for kind, name in enumerate(kinds):
            if self.rule.of_kind(name) == "all":
                _mark_kind(layout, kind, seen)
        if self.rule.min_frequency is None:
            return layout.restricted(seen), None
        seen &= self.totals >= self.rule.min_frequency
        bare = _bare(layout, seen)
        return layout.restricted(seen), bare if bare.any() else None


def _mark_kind(layout: Layout, kind: int, seen: npt.NDArray[np.bool_]) -> None:
    """Mark all weights of the features of a kind of site."""
    begin = layout.feature_offset(kind)
    first = layout.first[begin : begin + layout.n_features[kind]]
    for slot in range(layout.widths[kind]):
        seen[first + slot] = True


def _bare(layout: Layout, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return for each feature of a full layout whether none of its weights is marked."""
    totals = np.concatenate([[0], np.cumsum(seen)])
    width = np.repeat(np.asarray(layout.widths, dtype=np.int64), layout.n_features)
    bare: npt.NDArray[np.bool_] = totals[layout.first + width] == totals[layout.first]
    return bare


def without_bare(rows: Rows, bare: npt.NDArray[np.bool_]) -> Rows:
    """Remove the occurrences of the features that have no weights."""
    kept = ~bare[rows.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])
    values = None if rows.values is None else rows.values[kept]
    return Rows(ends[rows.indptr], rows.indices[kept], values, rows.n_features)


@njit
def _observe(
    site_ptr: Any,
    site_part: Any,
    gold_ptr: Any,
    gold_part: Any,
    gold_count: Any,
    row_ptr: Any,
    indices: Any,
    values: Any,
    first: Any,
    seen: Any,
    totals: Any,
) -> None:
    """Mark the weights of a full layout that some gold part touches.

    If there are totals, the values of the features are added up too. Without values, all are 1.
    """
    for i in range(site_ptr.size - 1):
        parts = site_part[site_ptr[i] : site_ptr[i + 1]]
        for g in range(gold_ptr[i], gold_ptr[i + 1]):
            # The site of a part is the last one that begins at or before it.
            s = np.searchsorted(parts, gold_part[g], "right") - 1
            slot = gold_part[g] - parts[s]
            s += site_ptr[i]
            for e in range(row_ptr[s], row_ptr[s + 1]):
                weight = first[indices[e]] + slot
                seen[weight] = True
                if totals.size > 0:
                    value = values[e] if values.size > 0 else 1.0
                    totals[weight] += gold_count[g] * value
