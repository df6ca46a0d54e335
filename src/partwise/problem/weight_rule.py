"""Which weights exist: those of all pairs of a feature and a part, or only of some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import njit
from .layout import Layout
from .rows import Rows

__all__ = ["Observed", "WeightRule", "without_bare"]

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

    @property
    def leaves_out(self) -> bool:
        """Whether some weights may not exist."""
        chosen = {self.weights} if isinstance(self.weights, str) else set(self.weights.values())
        return "observed" in chosen or self.min_frequency is not None

    @property
    def bytes_per_weight(self) -> int:
        """The memory that is needed for every weight that might exist."""
        if not self.leaves_out:
            return 16
        return 1 if self.min_frequency is None else 9

    def restrict(
        self, layout: Layout, kinds: Sequence[str], gold_sites: _GoldSites, rows: Rows
    ) -> tuple[Layout, Rows]:
        """Leave out the weights that do not exist, and the features that have none.

        Parameters
        ----------
        layout : Layout
            All weights.
        kinds : sequence of str
            The names of the kinds of sites.
        gold_sites : tuple
            The sites of each example, their first parts, and the parts of the gold labels with
            their counts.
        rows : Rows
            The features of each site, numbered through all kinds.
        """
        observed = Observed(self, layout)
        observed.add(gold_sites, rows)
        kept, bare = observed.settled(kinds)
        return kept, rows if bare is None else without_bare(rows, bare)


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
        """Look at the gold labels of some examples; see `WeightRule.restrict`."""
        values = np.zeros(0) if rows.values is None else rows.values
        _observe(
            *gold_sites, rows.indptr, rows.indices, values, self.layout.first, self.seen,
            self.totals,
        )  # fmt: skip

    def settled(self, kinds: Sequence[str]) -> tuple[Layout, npt.NDArray[np.bool_] | None]:
        """Return the weights that exist, and for each feature whether it has none.

        The second is None if there is no such feature.
        """
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
