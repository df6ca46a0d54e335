"""The objective of a model in words."""

from __future__ import annotations

from typing import Final

from .facts import ModelFacts

__all__ = ["objective_in_words"]

_LOSSES: Final = {
    "log": "minus the logarithm of the probability that the model gives to its right label",
    "hinge": "by how much the right label fails to beat every other one by the cost of that label",
    "softmax-margin": "minus the logarithm of the probability of its right label, after the scores "
    "of all other labels were raised by their costs",
}


def objective_in_words(model: ModelFacts) -> list[str]:
    """Return what training minimised, as paragraphs."""
    if model.origin is not None:
        return [f"Another program trained the model. Its objective: {model.origin}."]
    penalty = f"{model.l2:g}/2 times the sum of the squares of all weights (l2 = {model.l2:g})"
    if model.l1:
        penalty += f", plus {model.l1:g} times the sum of their sizes (l1 = {model.l1:g})"
    loss = _LOSSES.get(model.loss, f"its {model.loss} loss")
    what = f"coefficients with a kernel ({model.kernel})" if model.kernel else "weights"
    return [
        f"Training looked for the {what} with the smallest objective: {penalty}, plus, for each "
        f"example, {loss} (the {model.loss} loss).",
    ]
