"""From a data set to a model, by an algorithm of CRFsuite and with the messages that it prints."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.compilation import noted_compilation
from ...errors import DataError
from ...models.foreign.crfsuite import CRFsuiteModel, WeightedPairs
from ...models.prediction import OracleBatch, Stored, best_labels, make_batch
from ...problem.losses import make_loss
from ...problem.problem import Problem, build_problem
from ...problem.storage import Layout
from ...problem.weight_rule import WeightRule
from ...structures.chain.structure import Chain
from ...training.certificate import Certificate, Words, warn_unless_converged
from ...training.loop import train
from ...training.result import Progress
from .instances import Instances, NumberedSequences
from .online import OnlinePass, learn_online, shuffled
from .parameters import CERTIFIED, ParameterSet
from .tagger import chain_rows

__all__ = ["Learned", "TrainingLog", "learn"]


_log = logging.getLogger(__name__)

#: The names of the parameters in CRFsuite, which has no way to go on with a training.
_WORDS: Final = Words(tol="delta", max_passes="max_iterations", l2="c2", again="")
NO_CERTIFICATE = (
    "no certificate: {} follows a rule of updates and minimises no objective that could be bounded"
)


@dataclass(frozen=True)
class Learned:
    """The result of training.

    Attributes
    ----------
    model : CRFsuiteModel
        The model, without weights of 0 and attributes that have no others.
    certificate : Certificate or None
        How far the objective is at most above the optimum; None for the online algorithms, and if
        there is nothing to learn.
    counts : tuple
        How many features, attributes and labels are in the model, and how many there were.
    """

    model: CRFsuiteModel
    certificate: Certificate | None
    counts: tuple[tuple[int, int], ...]


def learn(
    instances: Instances,
    parameters: ParameterSet,
    holdout: int,
    message: Callable[[str], None],
) -> Learned:
    """Train a model.

    Parameters
    ----------
    instances : Instances
        The data.
    parameters : ParameterSet
        The algorithm and its parameters.
    holdout : int
        The group that is left out and scored while training; -1 for none.
    message : callable
        Takes the messages of CRFsuite's log, one at a time.
    """
    values, log = parameters.values, TrainingLog(message)
    _check(parameters)
    began = time.perf_counter()
    log.begin(holdout, values)
    sample = instances.sample(holdout, False)
    problem = None
    if len(sample.lengths):
        with noted_compilation():
            problem = _problem(sample, len(instances.labels), values)
    n_weights = 0 if problem is None else _n_weights(problem)
    log.features(n_weights, time.perf_counter() - began)
    log.algorithm(parameters.algorithm, values)
    began = time.perf_counter()
    if problem is None or n_weights == 0:
        log.end(["Training terminated with error: there is no feature to learn"], 0.0)
        empty = CRFsuiteModel(tuple(instances.labels), (), _no_pairs(), _no_pairs())
        return Learned(empty, None, _counts(empty, 0, instances))
    held_out = _HeldOut.of(instances, holdout, problem)
    with noted_compilation():
        if parameters.algorithm in CERTIFIED:
            weights, certificate, verdict = _certified(problem, parameters, log, held_out)
        else:
            weights, verdict = _online(problem, parameters, log, held_out)
            certificate = None
    log.end(verdict, time.perf_counter() - began)
    model = _model(problem.layout, weights, instances)
    return Learned(model, certificate, _counts(model, n_weights, instances))


def _check(parameters: ParameterSet) -> None:
    """Raise a DataError for parameters that have no meaning here."""
    for name, least in (("c1", 0.0), ("c2", 0.0), ("delta", 0.0), ("max_iterations", 0)):
        value = parameters.values.get(name, math.inf)
        if name == "c2" and value == 0.0:
            raise DataError(
                "c2 is 0, and without it there is no bound on the distance from the optimum; give "
                "a small positive number, such as c2=1e-3, with any c1"
            )
        if not value >= least or (value == least and name in ("delta", "max_iterations")):
            wanted = "0 or a positive number" if name == "c1" else "a positive number"
            raise DataError(f"{name} is {value}; give {wanted}")


def _problem(sample: NumberedSequences, n_labels: int, values: dict[str, Any]) -> Problem:
    chosen = {True: "all", False: "observed"}
    structure = Chain(n_labels)
    states = chosen[values["feature.possible_states"]]
    kinds = dict.fromkeys(structure.kinds, chosen[values["feature.possible_transitions"]])
    rule = WeightRule({**kinds, structure.kinds[0]: states}, values["feature.minfreq"])
    rows = chain_rows(sample.rows)
    loss = make_loss("log", n_labels, None)
    return build_problem(structure, sample.lengths, rows, sample.gold, loss, weights=rule)


def _n_weights(problem: Problem) -> int:
    """Return the number of weights that occur in training, which CRFsuite calls features."""
    first, _ = problem.storage.blocks
    begins = np.zeros(problem.storage.n_places + 1, dtype=np.bool_)
    begins[problem.arrays.design.start] = True
    return int(problem.layout.sizes()[begins[first]].sum())


class _HeldOut:
    """Held-out sequences, which are labelled and scored while training."""

    def __init__(self, batch: OracleBatch, gold: Sequence[Ints], names: Sequence[str]) -> None:
        self.batch, self.gold, self.names = batch, gold, names

    @classmethod
    def of(cls, instances: Instances, group: int, problem: Problem) -> _HeldOut | None:
        """Return the sequences of a group; None if there are none."""
        if group < 0:
            return None
        sample = instances.sample(group, True)
        if not len(sample.lengths):
            return None
        layout = problem.layout
        stored = Stored(problem.structure, layout, np.zeros(layout.n_weights))
        batch = make_batch(stored, chain_rows(sample.rows), sample.lengths)
        return cls(batch, sample.gold, list(instances.labels))

    def scores(self, weights: Floats) -> list[str]:
        """Return the lines of the log that score the labels predicted with some weights."""
        weights = np.require(weights, requirements=["C", "W"])
        found = best_labels(replace(self.batch, weights=weights))
        return _holdout_scores(self.gold, found, self.names)


def _certified(
    problem: Problem, parameters: ParameterSet, log: TrainingLog, held_out: _HeldOut | None
) -> tuple[Floats, Certificate, list[str]]:
    """Minimise CRFsuite's objective, c1 |w|_1 + c2 |w|^2 + the log loss, to a relative gap."""
    values, before = parameters.values, [0.0]

    def report(progress: Progress) -> None:
        row = progress.row
        loss = row.primal if row.certified else row.dual + row.gap_estimate
        seconds, before[0] = row.seconds - before[0], row.seconds
        # Until there is a first bound, nothing is known about the objective.
        if not (math.isfinite(loss) and loss >= 0.0):
            return
        weights = progress.weights()
        kind = "" if row.certified else " (estimate)"
        gap = row.primal - row.dual if row.certified else row.gap_estimate
        log.iteration(
            row.epoch,
            loss,
            float(np.linalg.norm(weights)),
            seconds,
            active=int(np.count_nonzero(weights)),
            gap=f"Duality gap: {gap:f}{kind}",
            scores=() if held_out is None else held_out.scores(weights),
        )

    fit = train(
        problem,
        2.0 * values["c2"],
        l1=values.get("c1", 0.0),
        tol=values["delta"],
        max_passes=values["max_iterations"],
        callbacks=[report],
        quiet=True,
    )
    certificate = fit.certificate
    warn_unless_converged(certificate, values["max_iterations"], _WORDS)
    return fit.weights, certificate, [f"partwise: {certificate.verdict}", f"{certificate}"]


def _online(
    problem: Problem, parameters: ParameterSet, log: TrainingLog, held_out: _HeldOut | None
) -> tuple[Floats, list[str]]:
    def report(epoch: OnlinePass) -> None:
        scores = () if held_out is None else held_out.scores(epoch.weights)
        log.iteration(epoch.number, epoch.loss, epoch.norm, epoch.seconds, scores=scores)

    name, values = parameters.algorithm, parameters.values
    orders = shuffled(problem.n_examples)
    weights, stopped = learn_online(problem, name, values, orders, report)
    verdict = ["Terminated with the stopping criterion", ""] if stopped else []
    uncertified = NO_CERTIFICATE.format(name)
    _log.info(uncertified)
    return weights, [*verdict, f"partwise: {uncertified}"]


def _model(layout: Layout, weights: Floats, instances: Instances) -> CRFsuiteModel:
    """Return the model of some weights; attributes without weights are left out."""
    states = _pairs(layout, weights, 0)
    constant = _pairs(layout, weights, 1)
    n = len(instances.labels)
    transitions = WeightedPairs(constant.target // n, constant.target % n, constant.weight)
    used, source = np.unique(states.source, return_inverse=True)
    names = list(instances.attributes)
    return CRFsuiteModel(
        tuple(instances.labels),
        tuple(names[number] for number in used.tolist()),
        states._replace(source=source.astype(np.int64)),
        transitions,
    )


def _pairs(layout: Layout, weights: Floats, kind: int) -> WeightedPairs:
    """Return the weights of one kind of site that are not 0, by feature and part."""
    begin = layout.feature_offset(kind)
    mine = slice(begin, begin + layout.n_features[kind])
    sizes, first = layout.sizes()[mine], layout.first[mine]
    source = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = np.repeat(first, sizes) + within
    slot = layout.slot[at].astype(np.int64) if layout.slot.size else within
    target, weight = np.where(slot < 0, ~slot, slot), weights[at]
    kept = weight != 0.0
    return WeightedPairs(source[kept], target[kept], weight[kept])


def _no_pairs() -> WeightedPairs:
    return WeightedPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def _counts(
    model: CRFsuiteModel, n_weights: int, instances: Instances
) -> tuple[tuple[int, int], ...]:
    labels = len(instances.labels)
    return (
        (model.n_weights, n_weights),
        (len(model.attributes), len(instances.attributes)),
        (labels, labels),
    )


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
        """Report how features are made."""
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
        """Report the number of weights."""
        self.lines(f"Number of features: {count}", f"Seconds required: {seconds:.3f}", "")

    def algorithm(self, name: str, values: Mapping[str, Any]) -> None:
        """Report the algorithm and its parameters."""
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
        """Report the result of one pass."""
        self.lines(f"***** Iteration #{number} *****", f"Loss: {loss:f}")
        self.lines(f"Feature norm: {norm:f}")
        if active is not None:
            self.lines(f"Active features: {active}")
        if gap:
            self.lines(gap)
        self.lines(f"Seconds required for this iteration: {seconds:.3f}")
        self.lines(*scores, "")

    def end(self, verdict: Sequence[str], seconds: float) -> None:
        """Report why training stopped."""
        self.lines(*verdict, f"Total seconds required for training: {seconds:.3f}", "")

    def storing(self, counts: Sequence[tuple[int, int]]) -> None:
        """Report how many of the features, attributes and labels are stored."""
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
        """Report that the model was stored."""
        self.lines(f"Seconds required: {seconds:.3f}", "")


def _holdout_scores(gold: Sequence[Ints], found: Sequence[Ints], names: Sequence[str]) -> list[str]:
    """Return the lines of the log that score held-out sequences.

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
