"""Numbers and sentences of a report."""

from __future__ import annotations

import os
from typing import Final

from ..metrics.calibration import Calibration
from .facts import Facts, ModelFacts, Ratio

__all__ = [
    "calibration_in_words",
    "certificate_in_short",
    "interval",
    "lead_in_words",
    "no_probabilities",
    "objective_in_words",
    "per_cent",
    "plural",
    "probability",
    "several",
]

_LOSSES: Final = {
    "log": "minus the logarithm of the probability that the model gives to its right label",
    "hinge": "by how much the right label fails to beat every other one by the cost of that label",
    "softmax-margin": "minus the logarithm of the probability of its right label, after the scores "
    "of all other labels were raised by their costs",
}


def per_cent(fraction: float, digits: int = 2) -> str:
    """Return a fraction in per cent."""
    return f"{100 * fraction:.{digits}f}%"


def interval(ratio: Ratio) -> str:
    """Return an interval in per cent."""
    return f"{100 * ratio.low:.1f} to {100 * ratio.high:.1f}"


def plural(n: int, what: str) -> str:
    """Return a number of things."""
    return f"{n:,} {what if n == 1 else several(what)}"


def several(what: str) -> str:
    """Return the plural of what something is called."""
    return {"vertex": "vertices", "part of speech": "parts of speech"}.get(what, f"{what}s")


def lead_in_words(facts: Facts) -> str:
    """Return the report in two sentences."""
    model, data, best = facts.model, facts.data[-1], facts.measures[0]
    where = os.path.basename(data.path) if data.file else data.path
    if facts.on_training_data:
        where = "its training data"
    return (
        f"A model for {model.summary} (--task {model.task}, {model.loss} loss). On {where}, "
        f"{plural(data.n_examples, data.example)}, its score is {per_cent(best.score.value)} "
        f"({best.title}; {per_cent(facts.level, 0)} interval {interval(best.score)}). "
        f"{certificate_in_short(facts)}"
    )


def certificate_in_short(facts: Facts) -> str:
    """Return the certificate in one sentence."""
    certificate = facts.model.certificate
    if not certificate.known:
        return f"Nothing is certified: {certificate.verdict}."
    if not certificate.consistent:
        return f"Nothing is certified: {certificate.doubt}."
    state = "" if certificate.converged else ", which is more than was asked for"
    if certificate.steps is not None:
        return (
            "The last step of its training is certified to be within "
            f"{certificate.relative_gap:.1e} of its optimum{state}."
        )
    return (
        "It is certified that no weights have an objective that is better by more than "
        f"{certificate.relative_gap:.1e} of it{state}."
    )


def calibration_in_words(found: Calibration, unit: str) -> str:
    """Return what the calibration says, as sentences."""
    confidence = sum(one.n * one.probability for one in found.bins) / found.n
    right = sum(one.n * one.correct for one in found.bins) / found.n
    side = "more" if confidence > right else "less"
    return (
        f"The model gives its {plural(found.n, unit)} a mean probability of "
        f"{per_cent(confidence)}, and {per_cent(right)} of them are right: it is {side} sure than "
        f"it should be by {100 * abs(confidence - right):.2f} percentage points. The expected "
        f"calibration error over ten ranges is {per_cent(found.error)}, the Brier score "
        f"{found.brier:.4f}."
    )


def no_probabilities(facts: Facts) -> str:
    """Return why there is no calibration."""
    return (
        f"The {facts.model.loss} loss gives scores and margins, not probabilities, so there is "
        "nothing to calibrate. Train with the log loss if probabilities are needed."
    )


def probability(p: float) -> str:
    """Return a probability; one that is nearly 1 is not written as 1."""
    return f"{p:.4f}" if p < 0.99995 else f"1 - {max(1.0 - p, 1e-16):.1e}"


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
