"""What explanations say of a model: its strongest features, and what it is sure and wrong about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import DataError
from ..metrics.labels import looks_like_spans, span_type
from ..tasks.comparison import Comparison, Odds, Quote
from ..tasks.silence import silenced
from .facts import FeatureTable, WrongExample
from .wording import probability

if TYPE_CHECKING:
    from ..explain.explanation import Explanation, Part
    from ..models.model import Model
    from ..tasks.source import Source

__all__ = ["TRANSITIONS", "strongest_features", "wrong_examples"]

#: The title of the table of weights that join labels.
TRANSITIONS: Final = "transitions"
_MOST_LABELS: Final = 12
_TOP: Final = 8
#: How many examples are shown, how many parts of each are explained, and how many wrong ones are
#: looked at if there are no probabilities.
_MOST: Final = 6
_PARTS: Final = 2
_LOOKED_AT: Final = 1000


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


def wrong_examples(
    model: Model,
    source: Source,
    found: Comparison,
    headline: str,
    n_jobs: int | None,
    feature_names: Sequence[str] | None = None,
) -> list[WrongExample]:
    """Return the wrong examples of a file, those that the model is most sure about first.

    Parameters
    ----------
    model : Model
        The model.
    source : Source
        The file.
    found : Comparison
        The predictions and the right labels.
    headline : str
        The measure by which an example is right or wrong.
    n_jobs : int or None
        The number of threads.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    """
    with silenced():
        if found.odds is not None:
            chosen = _by_probability(found.odds)
        else:
            chosen = _by_margin(model, source, found, headline, n_jobs)
        return [_explained(model, source, found, one, feature_names) for one in chosen]


def _by_probability(odds: Odds) -> list[tuple[int, str]]:
    wrong = np.flatnonzero(~odds.correct)
    order = wrong[np.argsort(-odds.probability[wrong], kind="stable")]
    chosen: dict[int, str] = {}
    for at in order.tolist():
        if len(chosen) == _MOST:
            break
        p = float(odds.probability[at])
        chosen.setdefault(
            int(odds.example[at]), f"a wrong {odds.unit} with the probability {probability(p)}"
        )
    return list(chosen.items())


def _by_margin(
    model: Model, source: Source, found: Comparison, headline: str, n_jobs: int | None
) -> list[tuple[int, str]]:
    above, below = found.measures[headline]
    wrong = np.flatnonzero(above < below)[:_LOOKED_AT].tolist()
    if not wrong:
        return []
    ranked = model.k_best(source.take([found.number(i) for i in wrong]), k=2, n_jobs=n_jobs)
    margins = [float(s[0] - s[1]) if len(s) > 1 else math.inf for s, _ in ranked]
    order = sorted(range(len(wrong)), key=lambda at: -margins[at])[:_MOST]
    return [
        (wrong[at], f"its score is {margins[at]:.4g} above that of the second-best answer")
        for at in order
    ]


def _explained(
    model: Model,
    source: Source,
    found: Comparison,
    chosen: tuple[int, str],
    feature_names: Sequence[str] | None,
) -> WrongExample:
    from ..explain import explain_examples

    i, sure = chosen
    quote, some = found.quote(i), source.take([found.number(i)])
    explanation = explain_examples(model, some, feature_names=feature_names)[0]
    return WrongExample(found.number(i) + 1, sure, quote, _wrong_parts(explanation, quote))


def _wrong_parts(explanation: Explanation, quote: Quote) -> Sequence[Part]:
    def certainty(part: Any) -> float:
        held = part.probability if part.probability is not None else part.margin
        return -math.inf if held is None else -held

    if quote.shape == "label":
        return explanation.parts[:1]
    kinds = ("position", "segment", "arc", "phrase", "vertex")
    parts = [p for p in explanation.parts if p.kind in kinds and p.place in quote.wrong]
    return sorted(parts, key=certainty)[:_PARTS]
