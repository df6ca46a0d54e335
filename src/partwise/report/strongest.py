"""The strongest features of each label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError
from ..metrics.labels import looks_like_spans, span_type
from .facts import FeatureTable

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["TRANSITIONS", "strongest_features"]

#: The title of the table of weights that join labels.
TRANSITIONS: Final = "transitions"
_MOST_LABELS: Final = 12
_TOP: Final = 8


def strongest_features(
    model: Model,
    labels: Sequence[str],
    names: bool,
    feature_names: Sequence[str] | None = None,
) -> list[FeatureTable]:
    """Return the largest weights of the most frequent labels, and those of transitions.

    Parameters
    ----------
    model : Model
        The model.
    labels : sequence of str
        The labels, most frequent first.
    names : bool
        Whether names of features may be shown; they may be made of words of the data.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    """
    from ..explain import weight_table

    how: dict[str, Any] = {"feature_names": feature_names}
    tables = []
    if getattr(model.features, "support", None) is None and names:
        known = _labels_of(model, labels)
        for label in known[:_MOST_LABELS]:
            # Transitions hold the label too, and have a table of their own.
            rows = [
                row
                for row in weight_table(model, 20 * _TOP, label=label, **how)
                if row.label == label
            ]
            tables.append(FeatureTable(label, rows[:_TOP]))
        if not known:
            # Trees without relations have no labels.
            tables.append(FeatureTable("all labels", weight_table(model, 3 * _TOP, **how)))
    try:
        joins = weight_table(model, 2 * _TOP, transitions=True, **how)
    except DataError:  # the model has none
        return tables
    if names or all(row.feature == "constant" for row in joins):
        tables.append(FeatureTable(TRANSITIONS, joins))
    return [table for table in tables if len(table.rows)]


def _labels_of(model: Model, labels: Sequence[str]) -> list[str]:
    """Return the labels of a model, those of the most frequent labels or types of spans first."""
    order = {label: place for place, label in enumerate(labels)}
    names = [*map(str, model.labels)]
    # Tags such as B-NP stand for the spans NP.
    tags = looks_like_spans(names)

    def place(name: str) -> int:
        kind = span_type(name, "conlleval") if tags else name
        return order.get(name, order.get(kind, len(order)))

    return sorted((name for name in names if place(name) < len(order)), key=place)
