"""The runs of Schmidt et al. (2015), section 6, which its figures share.

As in the paper lambda = 1/n, that is l2 = 1; the optimum is certified; passes count every call of
an oracle, those of line searches included; and the stochastic methods take the power of 10 as their
step that ends with the lowest objective. The runs with other steps are not counted.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..report import tell
from ..sequences import SEQUENCE_TASKS, Sequences, SequenceTask
from .courses import Descent, Limits, Method, follow, tuned, warm_up
from .figure import Curve, Panel

if TYPE_CHECKING:
    from partwise.arrays import Floats
    from partwise.problem.problem import Problem

L2 = 1.0
TOO_SMALL = "--quick has a few generated sentences."
#: Errors above this multiple of the lowest are left out of the pictures.
HIGHEST = 2.5
#: The classic stochastic gradient methods of the comparison, whose steps are tuned.
CLASSIC: tuple[Method, ...] = tuple(
    Method(title, title, solver, {"preset": f"schmidt2015-{preset}"}, tuned=True)
    for title, solver, preset in (
        ("Pegasos", "pegasos", "pegasos"),
        ("SG", "sgd", "sg"),
        ("ASG", "asgd", "asg"),
        ("AdaGrad", "adagrad", "adagrad"),
    )
)
#: With the regulariser in every step, as published, a step of SMD changes all weights: on text,
#: where there are a million, it is shared out among the examples that have a feature.
SMD = Method("SMD", "SMD", "smd", {"preset": "schmidt2015-smd"}, tuned=True)
SPARSE_SMD = Method("SMD", "SMD", "smd", {"order": "replacement"}, tuned=True)
OTHERS: tuple[Method, ...] = (
    Method("L-BFGS", "L-BFGS", "lbfgs"),
    Method("Hybrid", "Hybrid", "hybrid", {"preset": "schmidt2015-hybrid"}),
    Method("SAG", "SAG", "sag", {"preset": "schmidt2015-algorithm1"}),
    Method("SAG-NUS", "SAG-NUS", "sag-nus", {"preset": "schmidt2015-nus-2013"}),
    Method("SAG-NUS*", "SAG-NUS*", "sag-nus", {"preset": "schmidt2015-nus"}),
)
#: The paper's start raises the parts of the gold label at every position: chains are not tied.
OEG: tuple[Method, ...] = (
    Method("OEG", "OEG", "online-eg", {"preset": "schmidt2015-oeg"}, tied=False),
    Method("OEG-noRP", "OEG-noRP", "online-eg", {"preset": "schmidt2015-oeg-norp"}, tied=False),
    Method("OEG-10", "OEG-10", "online-eg", {"preset": "schmidt2015-oeg-10"}, tied=False),
    Method(
        "OEG-30", "", "online-eg", {"order": "permutation-then-draws", "start": 30.0}, tied=False
    ),
    # Examples enter the weights at their first visit, which the paper does not say.
    Method("OEG, entering", "", "online-eg", {"order": "permutation-then-draws"}, tied=False),
    Method("OEG-noRP, entering", "", "online-eg", {"order": "replacement"}, tied=False),
)
#: What partwise does by default, beside them.
OURS: tuple[Method, ...] = (
    Method("online-eg (default)", "", "online-eg"),
    Method("auto (default)", "", "auto"),
)


@dataclass(frozen=True)
class Part:
    """A data set: how much of it is used for training, and for tests."""

    task: str
    said: str
    n: int | None
    n_test: int
    smd: tuple[Method, ...] = (SPARSE_SMD,)


#: The four data sets in the order of the paper, and one that needs no files.
PARTS: tuple[Part, ...] = (
    Part("ocr", "OCR: folds 1 to 9, tested on fold 0", None, 10_000, (SMD,)),
    Part("chunking", "CoNLL-2000", None, 10_000),
    Part("ner-dutch", "CoNLL-2002, Dutch, tested on part b", None, 10_000),
    # The paper leaves SMD out here.
    Part(
        "parts-of-speech",
        "in place of POS-WSJ the Penn sample: section 0, tested on section 1",
        None,
        10_000,
        (),
    ),
)
QUICK: tuple[Part, ...] = (Part("demo-text", "30 generated sentences", 30, 20, (SMD,)),)


@dataclass(frozen=True)
class Runs:
    """All runs on one data set, by the names of the methods.

    ``optimum`` is the lowest objective that is known, and ``proved`` bounds how far it is from the
    lowest that there is, relatively. ``second`` has the runs with the second best steps.
    """

    part: Part
    task: SequenceTask
    n: int
    optimum: float
    proved: float
    best: dict[str, Descent]
    second: dict[str, Descent]

    def excess(self, name: str, at: float = math.inf, axis: str = "passes") -> float:
        """Return the mean of P - optimum after some passes or seconds, or at the end."""
        descent = self.best[name]
        last = math.log(descent.curve(self.optimum)[-1] / self.n)
        if not math.isfinite(last):
            return math.inf
        logs = np.log(np.array(descent.curve(self.optimum)) / self.n)
        return math.exp(float(np.interp(at, [getattr(p, axis) for p in descent.points], logs)))

    def error(self, name: str, at: float = math.inf, second: bool = False) -> float:
        """Return the test error after some passes, or at the end, in percent."""
        points = (self.second if second else self.best)[name].points
        known = [point for point in points if math.isfinite(point.objective)]
        return float(np.interp(at, [p.passes for p in known], [p.error for p in known]))

    def seconds_per_pass(self, name: str) -> float:
        """Return the CPU seconds of a pass."""
        last = self.best[name].points[-1]
        return last.seconds / max(last.passes, 1e-9)


def task_of(part: Part) -> SequenceTask:
    """Return the data set that a part belongs to."""
    return next(task for task in SEQUENCE_TASKS if task.name == part.task)


def load(part: Part) -> Sequences:
    """Read the sequences of a part."""
    return task_of(part).load(part.n, part.n_test)


def optimum(problem: Problem, l2: float = L2, tol: float = 1e-9) -> tuple[float, float]:
    """Train to a certified gap, and return the bounds on the optimum."""
    from partwise.training.certificate import ConvergenceWarning
    from partwise.training.loop import train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = train(problem, l2, tol=tol, max_passes=1_000).certificate
    return found.primal, found.dual


def run_all(
    problem: Problem, methods: Sequence[Method], limits: Limits, l2: float = L2
) -> tuple[dict[str, Descent], dict[str, Descent]]:
    """Run methods; returns the best run of each by its name, and the second best of the tuned."""
    warm_up(problem, l2, list(methods))
    best: dict[str, Descent] = {}
    second: dict[str, Descent] = {}
    for method in methods:
        if method.tuned:
            runs = tuned(problem, l2, method, limits)
            best[method.name], second[method.name] = runs[0], runs[1]
        else:
            best[method.name] = follow(problem, l2, method, limits)
        last = best[method.name].points[-1]
        tell(f"  {method.name}: {last.objective:.6g}, {last.error:.2f}%, {last.seconds:.1f} s")
    return best, second


def run_part(part: Part, passes: float, tol: float) -> Runs:
    """Run all methods on one data set."""
    sequences = load(part)
    problem = sequences.build()
    primal, dual = optimum(problem, tol=tol)
    tell(f"  {part.said}: the optimum is {primal:.6f}, proved to {1.0 - dual / primal:.1e}")
    wrong: Callable[[Floats], float] = sequences.error(problem)
    limits = Limits(passes, 60.0, primal, spacing=0.15, error=wrong)
    best, second = run_all(problem, (*CLASSIC, *part.smd, *OTHERS, *OURS), limits)
    untied = sequences.build(tied=False)
    limits = Limits(passes, 60.0, primal, spacing=0.15, error=sequences.error(untied))
    best |= run_all(untied, OEG, limits)[0]
    lowest = min(point.objective for descent in best.values() for point in descent.points)
    lowest = min(lowest, primal)
    proved = 1.0 - dual / lowest
    return Runs(part, task_of(part), problem.n_examples, lowest, proved, best, second)


@lru_cache(maxsize=2)
def all_runs(quick: bool) -> tuple[Runs, ...]:
    """Run all methods on all data sets."""
    passes, tol = (3.0, 1e-5) if quick else (30.0, 1e-9)
    return tuple(run_part(part, passes, tol) for part in (QUICK if quick else PARTS))


def said(runs: Sequence[Runs]) -> str:
    """Return what was drawn, in sentences."""
    parts = "; ".join(f"{one.part.said} ({one.n:,}, {len(one.best)} methods)" for one in runs)
    proved = max(one.proved for one in runs)
    return (
        f"{parts}. l2 = 1, up to {max(d.points[-1].passes for d in runs[0].best.values()):.0f} "
        f"passes; the optima are proved to {proved:.0e} relative. On text, the regulariser of SMD "
        "is shared out among the examples that have a feature."
    )


def panels(
    runs: Sequence[Runs], names: Sequence[str], x: str, y: str, seconds: Sequence[str] = ()
) -> list[Panel]:
    """Return a box per data set: y ("objective" or "error") against x ("passes" or "seconds").

    For the methods in seconds there is a line with the second best step, too.
    """
    labels = {
        "passes": "passes over the data",
        "seconds": "CPU seconds of one thread",
        "objective": "objective minus optimum, mean over the examples",
        "error": "test error, %",
    }
    return [
        Panel(
            one.task.title,
            labels[x],
            labels[y],
            [curve(one, name, x, y) for name in names if name in one.best]
            + [curve(one, name, x, y, second=True) for name in seconds if name in one.second],
            ("y" if y == "objective" else "") + ("x" if x == "seconds" else ""),
        )
        for one in runs
    ]


def curve(one: Runs, name: str, x: str, y: str, second: bool = False) -> Curve:
    """Return the course of a method; points where it has diverged are left out."""
    descent = (one.second if second else one.best)[name]
    lowest = min(point.error for run in one.best.values() for point in run.points[1:])
    points = [
        (max(getattr(point, x), 1e-3 if x == "seconds" else 0.0), left / one.n, point.error)
        for point, left in zip(descent.points, descent.curve(one.optimum), strict=True)
        if math.isfinite(point.objective)
    ]
    if x == "seconds":
        points = points[1:]
    if y == "error":
        points = [point for point in points if point[2] <= HIGHEST * lowest]
    label = f"{name}, second best step" if second else name
    return Curve(label, [p[0] for p in points], [p[2 if y == "error" else 1] for p in points])
