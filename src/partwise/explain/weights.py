"""The weights of a model as a table, filtered and sorted before names are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, overload

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError
from ..tasks.example_form import FeatureNames
from ..tasks.label_form import SlotNames
from ..tasks.registry import example_form
from ..wording import did_you_mean

if TYPE_CHECKING:
    from ..models.model import Model
    from ..problem.storage import Layout

__all__ = ["WeightRow", "WeightTable", "weight_table"]

#: How many weights are looked at at a time.
_STRETCH: Final = 1 << 20


@dataclass(frozen=True)
class WeightRow:
    """One weight.

    Attributes
    ----------
    feature : str
        The name of the feature; "constant" for one that does not depend on the input.
    label : str
        The label that the weight is for; ``from -> to`` for a transition.
    weight : float
        The weight.
    count : int or None
        How often the feature occurs in the training data; None if the model does not know.
    kind : str
        What the weight is for: "label", "transition", "arc" or another kind of site.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> row = tagger.explain_weights(top=1, label="DET", feature="^word=")[0]
    >>> row.feature, row.label, row.count, row.kind
    ('word=the', 'DET', 2, 'label')
    """

    feature: str
    label: str
    weight: float
    count: int | None
    kind: str


class WeightTable(Sequence[WeightRow]):
    """Some weights of a model, the largest first.

    Parameters
    ----------
    rows : sequence of WeightRow
        The weights.
    total : int
        How many weights there are in all, those that were not chosen included.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> table = tagger.explain_weights(top=3)
    >>> table
    WeightTable of 3 of 10 weights
    >>> table.to_dict()[0].keys()
    dict_keys(['feature', 'label', 'weight', 'count', 'kind'])
    """

    def __init__(self, rows: Sequence[WeightRow], total: int) -> None:
        self._rows = tuple(rows)
        self.total = total

    @overload
    def __getitem__(self, which: int) -> WeightRow: ...
    @overload
    def __getitem__(self, which: slice) -> Sequence[WeightRow]: ...
    def __getitem__(self, which: Any) -> Any:
        return self._rows[which]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def counted(self) -> bool:
        """Whether the model knows how often its features occur in the training data."""
        return any(row.count is not None for row in self._rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict per weight, as JSON can hold it."""
        return [asdict(row) for row in self._rows]

    def to_frame(self) -> Any:
        """Return a DataFrame with the columns feature, label, weight, count and kind.

        It needs pandas; without it, a MismatchError is raised.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MismatchError(
                "a DataFrame needs pandas, which is not installed; run `pip install pandas`, or "
                "use to_dict()"
            ) from error
        columns: dict[str, Any] = {
            name: [getattr(row, name) for row in self._rows]
            for name in ("feature", "label", "weight", "count", "kind")
        }
        columns["count"] = pandas.array(columns["count"], dtype="Int64")
        columns["weight"] = np.array(columns["weight"], dtype=np.float64)
        return pandas.DataFrame(columns)

    def to_text(self) -> str:
        """Return the table as text for a terminal."""
        from .rendering import weights_text

        return weights_text(self)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"WeightTable of {len(self)} of {self.total} weights"

    def _repr_html_(self) -> str:
        from .rendering import weights_html

        return weights_html(self)


def weight_table(
    model: Model,
    top: int | None = 20,
    *,
    label: Any = None,
    feature: str | None = None,
    transitions: bool = False,
    feature_names: Sequence[str] | None = None,
) -> WeightTable:
    """Return the largest weights of a model.

    Parameters
    ----------
    model : Model
        The model.
    top : int or None
        How many weights, those of the largest size first; None returns all that are not 0.
    label : str or None
        Only weights for this label; those of transitions and rules if they hold it.
    feature : str or None
        A regular expression: only weights of features in whose names it is found.
    transitions : bool
        Whether to return only weights that join labels: transitions, first and last labels, rules
        of a grammar, factors of several vertices.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.

    Returns
    -------
    WeightTable
        The weights, the largest first.

    Raises
    ------
    DataError
        If `top` is no number above 0, the regular expression cannot be read, or the model does not
        have the label or any transitions.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> from partwise.explain import weight_table
    >>> [row.label for row in weight_table(tagger.model_, 1, transitions=True)]
    ['DET -> NOUN']
    """
    if top is not None and (type(top) is not int or top < 1):
        raise DataError(f"top is {top!r}; give a whole number from 1, or None for all weights")
    if getattr(model.features, "support", None) is not None and not transitions:
        raise DataError(
            "a kernel model has no weights of features, only those of transitions and "
            "coefficients of supporting positions; ask for the transitions, or explain a prediction"
        )
    form = example_form(model)
    names, slots = form.names(feature_names), form.labels.slots()
    chosen = _Chosen(model, slots, names)
    if transitions:
        chosen.only(form.labels.joins())
    if label is not None:
        chosen.label(str(label))
    if feature is not None:
        chosen.feature(_pattern(feature))
    places, features = chosen.largest(top)
    return WeightTable([*_rows(model, names, slots, places, features)], model.layout.n_weights)


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise DataError(
            f"the regular expression {text!r} for features cannot be read: {error}; write a "
            "backslash before characters that stand for themselves"
        ) from error


class _Chosen:
    """Which weights of a model are wanted."""

    def __init__(self, model: Model, slots: list[SlotNames], names: list[FeatureNames]) -> None:
        self._model, self._slots, self._names = model, slots, names
        layout = model.layout
        self._kinds = [kind for kind, count in enumerate(layout.n_features) if count]
        self._features: dict[int, npt.NDArray[np.bool_]] = {}
        self._parts: dict[int, npt.NDArray[np.bool_]] = {}

    def only(self, kinds: Sequence[int]) -> None:
        """Leave out the weights of all other kinds of sites."""
        self._kinds = [kind for kind in self._kinds if kind in kinds]
        if not self._kinds:
            raise DataError(
                f"a model of the task {self._model.task!r} with a {self._model.structure.name} has "
                "no weights of transitions; leave transitions out"
            )

    def label(self, label: str) -> None:
        """Leave out the weights that are not for a label."""
        for kind in self._kinds:
            self._parts[kind] = self._slots[kind].holding(label)
        if not any(parts.any() for parts in self._parts.values()):
            known = sorted({name for kind in self._kinds for name in self._slots[kind].known()})
            hint = did_you_mean(label, known, _some(known))
            raise DataError(f"the model has no label {label!r}; {hint}")

    def feature(self, pattern: re.Pattern[str]) -> None:
        """Leave out the weights of features whose names do not match."""
        for kind in self._kinds:
            self._features[kind] = self._names[kind].matching(pattern)

    def largest(self, top: int | None) -> tuple[Ints, Ints]:
        """Return the places of the largest weights, and their features across the kinds."""
        model = self._model
        order, begins, kind_of = _blocks(model.layout)
        best: list[Ints] = []
        features: list[Ints] = []
        held = 0
        for begin in range(0, model.layout.n_weights, _STRETCH):
            end = min(begin + _STRETCH, model.layout.n_weights)
            places = begin + np.flatnonzero(model.weights[begin:end])
            block = np.searchsorted(begins, places, side="right") - 1
            places, block = self._filtered(places, order[block], kind_of)
            best.append(places)
            features.append(block)
            held += len(places)
            if top is not None and held > max(2 * top, _STRETCH):
                best, features = _cut(model.weights, best, features, top)
                held = len(best[0])
        best, features = _cut(model.weights, best, features, top)
        return best[0], features[0]

    def _filtered(self, places: Ints, feature: Ints, kind_of: Ints) -> tuple[Ints, Ints]:
        kinds = kind_of[feature]
        kept = np.zeros(len(places), dtype=np.bool_)
        for kind in self._kinds:
            mine = np.flatnonzero(kinds == kind)
            if kind in self._features:
                own = feature[mine] - self._model.layout.feature_offset(kind)
                mine = mine[self._features[kind][own]]
            if kind in self._parts:
                parts = _slots(self._model.layout, places[mine], feature[mine])
                mine = mine[self._parts[kind][parts]]
            kept[mine] = True
        return places[kept], feature[kept]


def _some(labels: Sequence[str], most: int = 10) -> str:
    listed = ", ".join(labels[:most])
    return f"its labels are {listed}{', ...' if len(labels) > most else ''}"


def _blocks(layout: Layout) -> tuple[Ints, Ints, Ints]:
    """Return the features in the order of their blocks, where these begin, and their kinds."""
    kind_of = np.repeat(np.arange(len(layout.n_features)), layout.n_features)
    order = np.argsort(layout.first, kind="stable")
    # Features of a kind that the structure does not use have no block.
    order = order[np.asarray(layout.widths, dtype=np.int64)[kind_of[order]] > 0]
    return order, layout.first[order], kind_of


def _slots(layout: Layout, places: Ints, features: Ints) -> Ints:
    """Return the part of the site that each weight is for."""
    if not layout.slot.size:
        return places - layout.first[features]
    slot = layout.slot[places].astype(np.int64)
    return np.where(slot < 0, ~slot, slot)


def _cut(
    weights: Floats, places: list[Ints], features: list[Ints], top: int | None
) -> tuple[list[Ints], list[Ints]]:
    """Keep the largest weights, in order; of equal ones the first."""
    nothing = np.zeros(0, dtype=np.int64)
    every, owner = np.concatenate([nothing, *places]), np.concatenate([nothing, *features])
    order = np.argsort(-np.abs(weights[every]), kind="stable")[:top]
    return [every[order]], [owner[order]]


def _rows(
    model: Model, names: list[FeatureNames], slots: list[SlotNames], places: Ints, features: Ints
) -> Iterator[WeightRow]:
    layout, kinds = model.layout, model.structure.kinds
    parts = _slots(layout, places, features).tolist()
    ends = np.cumsum(layout.n_features)
    kind_of = np.searchsorted(ends, features, side="right")
    named = [""] * len(features)
    for kind in np.unique(kind_of).tolist():
        mine = np.flatnonzero(kind_of == kind)
        own = (features[mine] - layout.feature_offset(kind)).tolist()
        for at, name in zip(mine.tolist(), names[kind].names(own), strict=True):
            named[at] = name
    weights = model.weights[places].tolist()
    counts: list[int | None] = [None] * len(features)
    if layout.counts is not None:
        counts = layout.counts[features].tolist()
    columns = zip(named, kind_of.tolist(), parts, weights, counts, strict=True)
    for name, kind, part, weight, count in columns:
        yield WeightRow(name, slots[kind].text(part), weight, count, kinds[kind])
