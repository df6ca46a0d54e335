"""The scores of the parts of examples, taken apart into features and weights, or into supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..models.prediction import OracleBatch
from ..problem.design import rows_of_sites
from ..problem.rows import Rows
from ..structures.base import Sites
from ..tasks.example_form import columns

if TYPE_CHECKING:
    from ..models.features import Inputs
    from ..models.model import Model

__all__ = ["Entries", "ScoredSites", "Supports"]


class Entries(NamedTuple):
    """The features that score one part.

    Attributes
    ----------
    kind : int
        The kind of its site.
    number : int
        The number of the site among those of its kind in the example.
    row : int
        The same among those of all examples.
    slot : int
        The part, counted within the site.
    tied : bool
        Whether a label can hold parts of the site several times.
    features, values, weights : ndarray
        The features, counted within their kind, their values, and their weights for the part.
        Features without a weight are left out.
    """

    kind: int
    number: int
    row: int
    slot: int
    tied: bool
    features: Ints
    values: Floats
    weights: Floats


class ScoredSites:
    """The sites of some examples with their features.

    Parameters
    ----------
    model : Model
        The model.
    inputs : Inputs
        The examples, as `Model.inputs` yields them.
    """

    def __init__(self, model: Model, inputs: Inputs) -> None:
        self.model = model
        self.batch: OracleBatch = model.batch(inputs)
        held, counts = self.batch.shapes, model.layout.n_features
        self.topologies = held.topologies
        rows = [given.resize(n) for given, n in zip(inputs.rows, counts, strict=True)]
        self._site_ptr: Ints = held.site_ptr
        self._sites: Sites = held.sites
        self._rows: Rows = rows_of_sites(model.structure, held.sites, rows)
        self._offsets = [model.layout.feature_offset(kind) for kind in range(len(counts))]
        self._counts: dict[int, Ints] = {}

    def scores(self, i: int) -> Floats | None:
        """Return the scores of the parts of example i, as the decoder uses them."""
        return self.batch.scores(i, np.empty(self.batch.shapes.max_parts))

    def entries(self, i: int, part: int) -> Entries:
        """Return the features that score a part of example i."""
        first, last = self._site_ptr[i : i + 2].tolist()
        begins = self._sites.part[first:last]
        site = first + int(np.searchsorted(begins, part, side="right")) - 1
        kind, slot = int(self._sites.kind[site]), part - int(self._sites.part[site])
        before, row = (int(self._before(kind)[at]) for at in (first, site))
        a, b = self._rows.indptr[site : site + 2].tolist()
        features = self._rows.indices[a:b].astype(np.int64)
        values = np.ones(b - a) if self._rows.values is None else self._rows.values[a:b]
        held, weights = self._weights(features, slot)
        tied = bool(self._sites.uses[site] > 1)
        own = features[held] - self._offsets[kind]
        return Entries(kind, row - before, row, slot, tied, own, values[held], weights)

    def _weights(self, features: Ints, slot: int) -> tuple[Ints, Floats]:
        """Return which features have a weight for a slot that is not 0, and these weights."""
        storage, weights = self.model.stored.storage, self.model.stored.weights
        first = storage.first[features]
        if not storage.slot.size:
            place, held = first + slot, np.arange(len(features))
        else:
            sizes = storage.size[features]
            owner = np.repeat(np.arange(len(features)), sizes)
            every = np.arange(len(owner)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
            mine = storage.slot[every] == slot
            place, held = every[mine], owner[mine]
        found = weights[place]
        kept = found != 0.0
        return held[kept], found[kept]

    def _before(self, kind: int) -> Ints:
        """Return for every site how many sites of a kind come before it."""
        if kind not in self._counts:
            mine = self._sites.kind == kind
            self._counts[kind] = np.cumsum(mine) - mine
        return self._counts[kind]


#: How many inputs of a supporting position are named.
_NAMED: Final = 3


class Supports:
    """The supporting positions of a kernel model, as features of positions.

    Parameters
    ----------
    model : Model
        The model.
    rows : Rows
        The inputs of the positions that are explained.
    most : int
        How many supporting positions are named for each label of a position; what the others add is
        one contribution.
    """

    def __init__(self, model: Model, rows: Any, most: int) -> None:
        features: Any = model.features
        self._support, self._most = features.support, most
        self._rows = rows.resize(self._support.rows.n_features)
        self._vocabulary = features.vocabulary
        self._position, self._near = -1, np.zeros(0)

    def contributions(self, position: int, label: int, weight: float) -> list[tuple[str, Any]]:
        """Return what supporting positions add to the score of a label.

        Parameters
        ----------
        position : int
            The position, counted over all examples.
        label : int
            The number of the label.
        weight : float
            The weight of the score of the label, which is 1 as a rule.

        Returns
        -------
        list of (str, (value, weight))
            The name of a supporting position, its similarity, and its coefficient.
        """
        near = self._similarities(position)
        coef = self._support.coef[:, label] * weight
        products = near * coef
        order = np.argsort(-np.abs(products), kind="stable")
        named, rest = order[: self._most], order[self._most :]
        found = [(self._name(j), (float(near[j]), float(coef[j]))) for j in named.tolist()]
        others = rest[products[rest] != 0.0]
        if len(others):
            total = float(products[others].sum())
            found.append((f"{len(others)} further supporting positions", (total, 1.0)))
        return found

    def _similarities(self, position: int) -> Floats:
        if position != self._position:
            own = self._rows.take(slice(position, position + 1))
            self._position, self._near = (
                position,
                self._support.kernel.gram(own, self._support.rows)[0],
            )
        return self._near

    def _name(self, j: int) -> str:
        rows = self._support.rows
        numbers = rows.indices[rows.indptr[j] : rows.indptr[j + 1]].tolist()
        some = columns if self._vocabulary is None else self._vocabulary.some
        shown = ", ".join(some(numbers[:_NAMED]))
        if self._vocabulary is not None and len(numbers) > _NAMED:
            shown += ", ..."
        of = f" ({shown})" if self._vocabulary is not None and numbers else ""
        return f"training position {int(self._support.index[j])}{of}"
