"""The messages of training, in the words and the order of CRFsuite, which log parsers expect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Ints

__all__ = ["TrainingLog", "holdout_scores"]

_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
#: Names of parameters that CRFsuite's log spells in another way.
_SPELLED = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}


def _line(name: str, value: Any) -> str:
    shown = (
        f"{value:f}"
        if isinstance(value, float)
        else str(int(value) if value is True or value is False else value)
    )
    return f"{name}: {shown}\n"


class TrainingLog:
    """Sends messages to a function, one line at a time.

    Parameters
    ----------
    message : callable
        Takes a message. What it raises ends the training.
    """

    def __init__(self, message: Callable[[str], None]) -> None:
        self.message = message

    def lines(self, *lines: str) -> None:
        """Send lines as they are."""
        for line in lines:
            self.message(f"{line}\n")

    def begin(self, holdout: int, values: Mapping[str, Any]) -> None:
        """Tell how features are made."""
        if holdout >= 0:
            self.lines(f"Holdout group: {holdout + 1}", "")
        self.lines("Feature generation", "type: CRF1d")
        for name, value in values.items():
            if name.startswith("feature."):
                self.message(_line(name, value))
        for percent in range(0, 101, 2):
            self.message("." if percent % 10 else str(percent // 10))
        self.lines("")

    def features(self, count: int, seconds: float) -> None:
        """Tell how many weights there are."""
        self.lines(f"Number of features: {count}", f"Seconds required: {seconds:.3f}", "")

    def algorithm(self, name: str, values: Mapping[str, Any]) -> None:
        """Tell the algorithm and its parameters."""
        self.lines(_TITLES[name])
        for key, value in values.items():
            if not key.startswith("feature."):
                spelled = _SPELLED.get(key, key) if name == "lbfgs" else key
                self.message(_line(spelled, value))
        self.lines("")

    def iteration(
        self,
        number: int,
        loss: float,
        norm: float,
        seconds: float,
        *,
        active: int | None = None,
        gap: str = "",
        scores: Sequence[str] = (),
    ) -> None:
        """Tell the result of one pass."""
        self.lines(f"***** Iteration #{number} *****", f"Loss: {loss:f}")
        self.lines(f"Feature norm: {norm:f}")
        if active is not None:
            self.lines(f"Active features: {active}")
        if gap:
            self.lines(gap)
        self.lines(f"Seconds required for this iteration: {seconds:.3f}")
        self.lines(*scores, "")

    def end(self, verdict: Sequence[str], seconds: float) -> None:
        """Tell why training stopped."""
        self.lines(*verdict, f"Total seconds required for training: {seconds:.3f}", "")

    def storing(self, counts: Sequence[tuple[int, int]]) -> None:
        """Tell how many of the features, attributes and labels are stored."""
        self.lines("Storing the model")
        for name, (active, all_of) in zip(
            ("features", "attributes", "labels"), counts, strict=True
        ):
            self.lines(f"Number of active {name}: {active} ({all_of})")
        self.lines(
            "Writing labels",
            "Writing attributes",
            "Writing feature references for transitions",
            "Writing feature references for attributes",
        )

    def stored(self, seconds: float) -> None:
        """Tell that the model was stored."""
        self.lines(f"Seconds required: {seconds:.3f}", "")


def holdout_scores(gold: Sequence[Ints], found: Sequence[Ints], names: Sequence[str]) -> list[str]:
    """Return the lines on held-out sequences.

    Labels that do not occur in them count as 0 in the averages, as in CRFsuite.
    """
    n = len(names)
    right = np.concatenate([*gold, np.zeros(0, np.int64)])
    guess = np.concatenate([*found, np.zeros(0, np.int64)])
    match = np.bincount(right[right == guess], minlength=n)
    model, ref = np.bincount(guess, minlength=n), np.bincount(right, minlength=n)
    seen = ref > 0
    precision = np.where(seen, match / np.maximum(model, 1), 0.0)
    recall = match / np.maximum(ref, 1)
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1.0)
    lines = ["Performance by label (#match, #model, #ref) (precision, recall, F1):"]
    for k, name in enumerate(names):
        shown = f"{precision[k]:.4f}, {recall[k]:.4f}, {f1[k]:.4f}" if seen[k] else _UNSEEN
        lines.append(f"    {name}: ({match[k]}, {model[k]}, {ref[k]}) ({shown})")
    means = ", ".join(f"{part.mean():f}" for part in (precision, recall, f1))
    whole = sum(bool((a == b).all()) for a, b in zip(gold, found, strict=True))
    lines.append(f"Macro-average precision, recall, F1: ({means})")
    for what, hits, total in (
        ("Item", int(match.sum()), len(right)),
        ("Instance", whole, len(gold)),
    ):
        lines.append(f"{what} accuracy: {hits} / {total} ({hits / max(total, 1):.4f})")
    return lines


_UNSEEN = "******, ******, ******"
