"""Explanations as they are answered: the strongest features only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..explain.explainer import explain_examples
from ..explain.explanation import Explanation, Part
from .exchange.base import finite

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["explained"]


def explained(
    model: Model,
    examples: Any,
    top: int,
    runners_up: bool,
    names: Sequence[str] | None,
    more: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Explain the predictions for some examples.

    Parameters
    ----------
    model, examples, more
        The model, and examples as it takes them.
    top : int
        The most features for each part, and against it.
    runners_up : bool
        Whether to look for the runner-up of every part.
    names : sequence of str or None
        The names of features that only have numbers.

    Returns
    -------
    list of dict
        One per example. The contributions that are left out are counted and added up as
        ``others``.
    """
    found = explain_examples(model, examples, runners_up=runners_up, feature_names=names, **more)
    return [_answer(one, top) for one in found]


def _answer(one: Explanation, top: int) -> dict[str, Any]:
    return {
        "score": None if one.score is None else finite(one.score),
        "probability": one.probability,
        "parts": [_part(part, top) for part in one.parts],
    }


def _part(part: Part, top: int) -> dict[str, Any]:
    kept = [*part.speaking_for()[:top], *part.speaking_against()[:top]]
    rest = len(part.contributions) - len(kept)
    rival = part.runner_up
    return {
        "kind": part.kind,
        "place": [int(number) for number in part.place],
        "text": part.text,
        "label": part.label,
        "score": finite(part.score),
        "probability": part.probability,
        "contributions": [
            {"kind": c.kind, "label": c.label, "feature": c.feature, "value": finite(c.value),
             "weight": finite(c.weight), "product": finite(c.product)}
            for c in kept
        ],
        "others": {"count": rest, "sum": finite(part.score - sum(c.product for c in kept))},
        "runner_up": None if rival is None else {
            "label": rival.label,
            "margin": finite(rival.margin),
            "differences": [
                {"where": d.where, "kind": d.kind, "feature": d.feature, "label": d.label,
                 "instead": d.instead, "value": finite(d.value), "weight": finite(d.weight),
                 "product": finite(d.product)}
                for d in rival.differences[:top]
            ],
        },
    }  # fmt: skip
