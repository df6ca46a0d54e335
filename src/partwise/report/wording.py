"""Sentences that the page and the card share."""

from __future__ import annotations

import os

from ..metrics.calibration import Calibration
from .facts import Facts
from .page_parts import interval, per_cent, plural

__all__ = [
    "calibration_in_words",
    "certificate_in_short",
    "lead_in_words",
    "no_probabilities",
    "probability",
]


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
