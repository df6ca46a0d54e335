"""The examples that a model is most sure and wrong about, with their explanation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..tasks.comparison import Comparison, Odds, Quote
from ..tasks.source import silenced
from .facts import WrongExample
from .wording import probability

if TYPE_CHECKING:
    from ..explain.explanation import Explanation, Part
    from ..models.model import Model
    from ..tasks.source import Source

__all__ = ["wrong_examples"]

#: How many examples are shown, how many parts of each are explained, and how many wrong ones are
#: looked at if there are no probabilities.
_MOST: Final = 6
_PARTS: Final = 2
_LOOKED_AT: Final = 1000


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
