"""A parser of the messages of training."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final, NamedTuple

__all__ = ["LabelScore", "TrainLogParser"]

_HEAD: Final = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS: Final = re.compile(r"Seconds required: (\d+\.\d+)")
_NUMBERS: Final = {
    "loss": (re.compile(r"Loss: (\d+\.\d+)"), float),
    "feature_norm": (re.compile(r"Feature norm: (\d+\.\d+)"), float),
    "error_norm": (re.compile(r"Error norm: (\d+\.\d+)"), float),
    "active_features": (re.compile(r"Active features: (\d+)"), int),
    "linesearch_trials": (re.compile(r"Line search trials: (\d+)"), int),
    "linesearch_step": (re.compile(r"Line search step: (\d+\.\d+)"), float),
    "duality_gap": (re.compile(r"Duality gap: (\d+\.\d+)"), float),
    "time": (re.compile(r"Seconds required for this iteration: (\d+\.\d+)"), float),
}
_AVERAGES: Final = re.compile(
    r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)"
)
_ACCURACY: Final = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL: Final = re.compile(
    r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \((\d\.\d+|\*{6}), (\d\.\d+|\*{6}), (\d\.\d+|\*{6})\)"
)


class LabelScore(NamedTuple):
    """The scores of one label on held-out sequences; None where the label does not occur."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


class TrainLogParser:
    """Reads the messages of a trainer as they come.

    Attributes
    ----------
    iterations : list of dict
        What is known about each iteration: ``num``, ``loss``, ``time``, ``scores``, and so on.
    last_iteration : dict or None
        The last one of them.
    log : list of str
        All messages.
    events : list of tuple
        For each event its name, and which messages belong to it.
    featgen_num_features, featgen_seconds, training_seconds, storing_seconds
        Numbers from the log; None until they come.

    Examples
    --------
    >>> from partwise.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer(verbose=False)
    >>> trainer.append([["the"], ["cat"]], ["DET", "NOUN"])
    >>> trainer.train("tags.crfsuite")
    >>> log = trainer.logparser
    >>> log.last_iteration["num"] == len(log.iterations), log.events[0][0]
    (True, 'start')
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Read a message, and return the name of the event that it completes, if there is one."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            self.events.append(("start", 0, len(self.log)))
            return "start"
        event: str | None = getattr(self, f"_{self.state.lower()}")(line)
        if event is not None:
            begin, end = self.events[-1][2], len(self.log)
            # The message that ends these events begins the next one.
            end -= event in ("prepared", "optimization_end")
            self.events.append((event, begin, end))
        return event

    @property
    def last_log(self) -> str:
        """The messages of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _featgen(self, line: str) -> str | None:
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        count = re.match(r"Number of features: (\d+)", line)
        if count:
            self.featgen_num_features = int(count.group(1))
        seconds = _SECONDS.match(line)
        if not seconds:
            return None
        self.featgen_seconds = float(seconds.group(1))
        self.state = "AFTER_FEATGEN"
        return "featgen_end"

    def _after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            self._iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        head = _HEAD.match(line)
        if head:
            self.last_iteration = {"num": int(head.group(1)), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        assert self.last_iteration is not None
        self._read_numbers(line, self.last_iteration)
        self._read_scores(line, self.last_iteration)
        return None

    def _read_numbers(self, line: str, found: dict[str, Any]) -> None:
        for key, (pattern, kind) in _NUMBERS.items():
            number = pattern.match(line)
            if number:
                found[key] = kind(number.group(1))

    def _read_scores(self, line: str, found: dict[str, Any]) -> None:
        averages = _AVERAGES.match(line)
        if averages:
            names = ("avg_precision", "avg_recall", "avg_f1")
            found.update(zip(names, map(float, averages.groups()), strict=True))
        accuracy = _ACCURACY.match(line)
        # Nothing is known about accuracy if nothing was held out.
        if accuracy and int(accuracy.group(3)):
            share = Fraction(int(accuracy.group(2)), int(accuracy.group(3)))
            name = f"{accuracy.group(1).lower()}_accuracy"
            found[name], found[f"{name}_float"] = share, float(share)
        label = _LABEL.match(line)
        if label:
            name, *numbers = label.groups()
            counts = map(int, numbers[:3])
            shares = (None if "*" in share else float(share) for share in numbers[3:])
            found["scores"][name] = LabelScore(*counts, *shares)

    def _after_iteration(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self._iteration(line)
        seconds = re.match(r"Total seconds required for training: (\d+\.\d+)", line)
        if seconds:
            self.training_seconds = float(seconds.group(1))
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        seconds = _SECONDS.match(line)
        if seconds:
            self.storing_seconds = float(seconds.group(1))
        return "end" if line == "\n" else None
