"""python-crfsuite: L-BFGS (its default), OWL-QN where l1 > 0, and stochastic gradient descent.

CRFsuite's penalty is ``c1 |w|_1 + c2 |w|^2``, so c1 = l1 and c2 = l2/2.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..problems import ChainProblem, ChainWeights, chain_objective
from ..recorder import Recorder
from .base import Contestant

# L-BFGS as CRFsuite sets it when the user says nothing: stop when the gradient is below epsilon
# times the norm of the weights, or when the objective fell by less than delta of itself over
# `period` iterations.
DEFAULT_EPSILON = 1e-5
DEFAULT_DELTA = 1e-5
DEFAULT_PERIOD = 10
# The settings of the run. With l1 it is very slow, and tighter ones would use up the budget.
TIGHT_DELTA = 1e-9
TIGHT_DELTA_L1 = 1e-6

_NUMBER = r"([-+0-9.einfa]+)"
_FIELDS = {
    "objective": re.compile(rf"Loss: {_NUMBER}"),
    "feature_norm": re.compile(rf"Feature norm: {_NUMBER}"),
    "error_norm": re.compile(rf"Error norm: {_NUMBER}"),
    "active": re.compile(rf"Active features: {_NUMBER}"),
}
_ITERATION = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
_WEIGHT = re.compile(r"  \(\d\) (.*) --> (.*): (\S+)\n?$", re.DOTALL)


@dataclass(frozen=True)
class Iteration:
    """What CRFsuite's log says about one iteration of L-BFGS."""

    number: int
    objective: float
    feature_norm: float
    error_norm: float
    active: float  # how many weights are not 0


class LogReader:
    """Collects the lines of CRFsuite's log into iterations.

    ``on_iteration`` is called as soon as an iteration is complete, so that the clock can be read.
    """

    def __init__(self, on_iteration: Callable[[Iteration], None]) -> None:
        self.on_iteration = on_iteration
        self.ending = ""
        self._number: int | None = None
        self._fields: dict[str, float] = {}

    def feed(self, message: str) -> None:
        """Read one message of the log."""
        head = _ITERATION.match(message)
        if head:
            self._number, self._fields = int(head.group(1)), {}
            return
        if "terminated with" in message or "resulted in convergence" in message:
            self.ending = message.strip()
        if self._number is None:
            return
        for name, pattern in _FIELDS.items():
            found = pattern.match(message)
            if found:
                self._fields[name] = float(found.group(1))
        if len(self._fields) == len(_FIELDS):
            iteration = Iteration(self._number, **self._fields)
            self._number = None
            self.on_iteration(iteration)


def default_stop(iterations: list[Iteration]) -> int | None:
    """Return the position at which CRFsuite's default settings would have ended this run."""
    for k, now in enumerate(iterations):
        if now.error_norm <= DEFAULT_EPSILON * max(now.feature_norm, 1.0):
            return k
        if k >= DEFAULT_PERIOD:
            fall = iterations[k - DEFAULT_PERIOD].objective - now.objective
            if fall < DEFAULT_DELTA * now.objective:
                return k
    return None


def read_dump(path: Path) -> ChainWeights:
    """Return the weights of a model that CRFsuite wrote as text (six decimals)."""
    transitions: list[tuple[str, str, float]] = []
    attributes: dict[str, int] = {}
    labels: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    section = ""
    with path.open(encoding="utf-8", newline="\n") as stream:
        for line in stream:
            if not line.startswith("  "):
                section = line.split(" ", 1)[0] if " = {" in line else section
                continue
            found = _WEIGHT.match(line)
            if section == "TRANSITIONS" and found:
                left, right, value = found.groups()
                transitions.append((left, right, float(value)))
            elif section == "STATE_FEATURES" and found:
                left, right, value = found.groups()
                rows.append(attributes.setdefault(left, len(attributes)))
                columns.append(labels.setdefault(right, len(labels)))
                values.append(float(value))
    for left, right, _ in transitions:
        labels.setdefault(left, len(labels))
        labels.setdefault(right, len(labels))
    state = np.zeros((len(attributes), len(labels)))
    state[rows, columns] = values
    matrix = np.zeros((len(labels), len(labels)))
    for left, right, weight in transitions:
        matrix[labels[left], labels[right]] = weight
    count = len(values) + len(transitions)
    return ChainWeights(attributes, list(labels), state, matrix, count)


class Crfsuite(Contestant):
    """What both trainers of CRFsuite share."""

    kinds = frozenset({"chain"})
    packages = ("python-crfsuite",)
    algorithm: ClassVar[str]

    def load_library(self) -> None:
        import pycrfsuite

        self._library = pycrfsuite

    def prepare(self, problem: ChainProblem) -> None:
        # The hook is a method to override. The class is made by hand, since its base has no type.
        listener = type(
            "Listener", (self._library.Trainer,), {"message": lambda _, text: self._listen(text)}
        )
        self._listen: Callable[[str], None] = lambda text: None
        trainer: Any = listener(algorithm=self.algorithm)
        for sentence in problem.train():
            trainer.append(sentence.attributes, sentence.labels)
        trainer.set_params(
            {
                "c2": problem.l2 / 2.0,
                "feature.possible_states": int(problem.all_weights),
                "feature.possible_transitions": int(problem.all_weights),
            }
        )
        self._trainer = trainer

    def _weights(self, folder: str) -> ChainWeights:
        tagger = self._library.Tagger()
        tagger.open(f"{folder}/model")
        tagger.dump(f"{folder}/dump")
        tagger.close()
        return read_dump(Path(folder, "dump"))


class CrfsuiteLbfgs(Crfsuite):
    """L-BFGS, run until it improves little; the default stop is found in the same log."""

    name = "crfsuite-lbfgs"
    kinds = frozenset({"chain", "chain-l1"})
    algorithm = "lbfgs"

    def train(self, problem: ChainProblem, recorder: Recorder) -> ChainWeights:
        iterations: list[Iteration] = []
        stopped = False

        def record(iteration: Iteration) -> None:
            nonlocal stopped
            iterations.append(iteration)
            recorder.point(iteration.objective, nonzero=iteration.active)
            if not stopped and default_stop(iterations[-DEFAULT_PERIOD - 1 :]) is not None:
                # Immediately, since a run over its budget ends without notice.
                stopped = True
                cpu, wall = recorder.elapsed()
                recorder.event(
                    "default stop",
                    cpu=cpu,
                    wall=wall,
                    objective=iteration.objective,
                    iteration=iteration.number,
                    nonzero=iteration.active,
                )

        reader = LogReader(record)
        self._listen = reader.feed
        delta = TIGHT_DELTA_L1 if problem.l1 else TIGHT_DELTA
        self._trainer.set_params(
            {"c1": problem.l1, "max_iterations": 100_000, "epsilon": 1e-9, "delta": delta}
        )
        with tempfile.TemporaryDirectory() as folder:
            recorder.start()
            self._trainer.train(f"{folder}/model")
            recorder.stop()
            recorder.event("note", text=f"{len(iterations)} iterations; {reader.ending}")
            return self._weights(folder)


class CrfsuiteL2sgd(Crfsuite):
    """Stochastic gradient descent, from scratch for 1, 2, 4, ... epochs.

    Its log shows the loss summed during the epoch, which is not the objective of any one w; so the
    benchmark evaluates the weights of each run. It uses the random numbers of the C library.
    """

    name = "crfsuite-l2sgd"
    algorithm = "l2sgd"

    def train(self, problem: ChainProblem, recorder: Recorder) -> ChainWeights:
        # With period > max_iterations and delta 0, only the number of epochs ends a run.
        epochs = 1
        last = float("inf")
        while True:
            self._trainer.set_params({"max_iterations": epochs, "period": epochs + 1, "delta": 0.0})
            with tempfile.TemporaryDirectory() as folder:
                recorder.start()
                self._trainer.train(f"{folder}/model")
                cpu, wall = recorder.stop()
                weights = self._weights(folder)
            value = chain_objective(problem, weights)
            recorder.point(value, at=(cpu, wall), rung=epochs)
            # The error falls as 1 / epochs, so this is about the error that remains.
            if abs(last - value) <= 1e-6 * value:
                return weights
            if 2.0 * cpu > recorder.budget:
                recorder.event("over budget")
                return weights
            epochs, last = 2 * epochs, value
