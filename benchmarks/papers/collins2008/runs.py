"""The runs that the figures of Collins et al. (2008) share: every run is made once per process."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..courses import Descent, Limits, Method, Point, follow, warm_up
from ..figure import Claim, Curve, Panel, compare
from .data import Task

#: Effective iterations of the figures: of MNIST, of the trees, and of the small tasks.
PASSES = {"images": 100.0, "trees": 30.0}
QUICK = 8.0
#: CPU seconds of a run with the hinge loss, in Figure 13.
OF_MARGIN = 20.0
#: One in so many points is looked at late in a run.
SPACING = 0.06

EG = Method("eg", "EG", "online-eg", {"preset": "collins2008-mnist"})
PERMUTED = Method(
    "permuted", "EG, permutations", "online-eg", {"preset": "collins2008-permutation"}
)
FIXED_ORDER = Method(
    "deterministic", "EG, fixed order", "online-eg", {"preset": "collins2008-deterministic"}
)
ANNEALED = Method("annealed", "EG, annealed", "online-eg", {"preset": "collins2008-annealing"})
PARSING = Method("parsing-eg", "EG", "online-eg", {"preset": "collins2008-parsing"})
EG_FROM_GOLD = Method(
    "eg-from-gold", "EG from gold", "online-eg",
    {"start": 5.0, "first_step": 0.5, "halvings": "any", "order": "replacement"},
)  # fmt: skip
PARSING_FROM_GOLD = Method(
    "parsing-eg-from-gold", "EG from gold", "online-eg",
    {**EG_FROM_GOLD.options, "first_step": "trial"},
)  # fmt: skip
#: The steps that section 7.2 chooses from; that of section 7.1 has 0.01, too, as the solver does.
ETAS_OF_TREES = (1.0, 0.1, 0.001, 0.0001)
SGD = Method("sgd", "SGD", "sgd", {"preset": "collins2008-sgd"})
LBFGS = Method("lbfgs", "L-BFGS", "lbfgs", {"memory": 10})
CG = Method("cg", "conjugate gradient", "cg")
SVM_STRUCT = Method("svm-struct", "SVM-Struct", "svm-struct", {"preset": "collins2008-svm-struct"})
ENTERING = Method("entering-eg", "EG, entering", "online-eg")
AUTO = Method("auto", "auto", "auto")

_runs: dict[tuple[Any, ...], Descent] = {}
_warm: set[tuple[Any, ...]] = set()


def with_eta(eta: float) -> Method:
    """Return SGD as published with a first step that is given."""
    options = {"eta": eta, "order": "replacement", "schedule": "decreasing"}
    return Method(f"sgd-{eta:g}", f"SGD, {eta:g}", "sgd", options)


def run(task: Task, quick: bool, l2: float, method: Method, hinge: bool = False) -> Descent:
    """Return the course of a method; C of the paper is l2."""
    key = (task.said, l2, method.name, hinge)
    if key not in _runs:
        problem = task.hinge if hinge else task.log
        if (problem.structure.name, method.name, hinge) not in _warm:
            warm_up(problem, l2, [method])
            _warm.add((problem.structure.name, method.name, hinge))
        limits = Limits(QUICK if quick else PASSES[task.name], spacing=SPACING, error=task.error)
        if hinge and not quick:
            limits = Limits(math.inf, OF_MARGIN, spacing=SPACING, error=task.error)
        _runs[key] = follow(problem, l2, method, limits)
    return _runs[key]


def chosen_eta(task: Task, l2: float) -> float:
    """Return the step that has the lowest error after one pass, of those that the paper tries."""
    if task.name == "trees":
        tried = {eta: _after_one_pass(task, l2, eta) for eta in ETAS_OF_TREES}
        return min(tried, key=lambda eta: tried[eta])
    key = (task.said, l2, "grid")
    if key not in _runs:
        _runs[key] = follow(task.log, l2, SGD, Limits(1.0, error=task.error))
    eta = _runs[key].eta
    assert eta is not None
    return eta


def _after_one_pass(task: Task, l2: float, eta: float) -> float:
    key = (task.said, l2, "one pass", eta)
    if key not in _runs:
        _runs[key] = follow(task.log, l2, with_eta(eta), Limits(1.0, error=task.error))
    error = _runs[key].points[-1].error
    return math.inf if math.isnan(error) else error


def sgd(task: Task, quick: bool, l2: float) -> Descent:
    """Return the course of SGD with the step that the grid chooses."""
    return run(task, quick, l2, with_eta(chosen_eta(task, l2)))


def curve(
    name: str, descent: Descent, y: str | Callable[[Point], float], x: str = "passes"
) -> Curve:
    """Return one number of every point, without those that are not finite."""
    value = y if callable(y) else lambda point: float(getattr(point, str(y)))
    points = [point for point in descent.points if math.isfinite(value(point))]
    return Curve(name, [getattr(point, x) for point in points], [value(p) for p in points])


def panel(
    title: str, curves: Sequence[Curve], y: str, x: str = "effective iterations", log: str = ""
) -> Panel:
    """Return a box of a figure."""
    return Panel(title, x, y, curves, log)


def best_known(*descents: Descent) -> float:
    """Return the lowest objective of some runs."""
    return min(point.objective for descent in descents for point in descent.points)


def first_at(descent: Descent, holds: Callable[[Point], bool], x: str = "passes") -> float:
    """Return the passes or seconds of the first point of which something holds; inf if none."""
    return next((float(getattr(p, x)) for p in descent.points if holds(p)), math.inf)


def to_excess(descent: Descent, epsilon: float, optimum: float, x: str = "passes") -> float:
    """Return when the objective is within epsilon of the optimum, relative to it."""
    aim = optimum + epsilon * abs(optimum)
    return first_at(descent, lambda point: point.objective <= aim, x)


def last(descent: Descent) -> Point:
    """Return the last point whose objective is finite."""
    return [point for point in descent.points if math.isfinite(point.objective)][-1]


def lowest_error(descent: Descent, after: float = 0.0) -> float:
    """Return the lowest validation error, from some pass on."""
    errors = [point.error for point in descent.points if point.passes >= after]
    return float(np.nanmin(errors)) if errors else math.nan


def settled_at(descent: Descent, within: float) -> float:
    """Return from which pass on the error stays so near to that of the last third."""
    late = [p.error for p in descent.points if p.passes >= 2.0 / 3.0 * last(descent).passes]
    final = float(np.mean(late))
    far = [point.passes for point in descent.points if abs(point.error - final) > within]
    return max(far, default=0.0)


def shown(value: float) -> str:
    """Return a number for a sentence."""
    return "never" if value == math.inf else f"{value:.3g}"


def each(values: Mapping[Any, float]) -> str:
    """Return one number per value of C, or per name, for a sentence."""
    named = {f"C = {k:g}" if isinstance(k, float) else k: x for k, x in values.items()}
    return ", ".join(f"{name}: {shown(x)}" for name, x in named.items())


def listed(table: Mapping[float, Mapping[str, float]]) -> str:
    """Return the numbers of each value of C, for a sentence."""
    return "; ".join(f"C = {c:g}: {each(row)}" for c, row in table.items())


def relative_gap(point: Point, optimum: float) -> float:
    """Return the duality gap in percent of the optimum."""
    return 100.0 * (point.objective - point.dual) / abs(optimum)


def to_gap(descent: Descent, percent: float, optimum: float) -> float:
    """Return after how many passes the gap is so small."""
    return first_at(descent, lambda point: relative_gap(point, optimum) <= percent)


def overtakes(
    descent: Descent, other: Descent, y: str = "objective", x: str = "passes", within: float = 0.0
) -> float:
    """Return from which pass on one run stays below another; inf if it does not.

    Less than ``within`` above counts as below.
    """
    mine, theirs = curve("", descent, y, x), curve("", other, y, x)
    end = min(mine.x[-1], theirs.x[-1])
    at = [k for k, passes in enumerate(mine.x) if passes <= end]
    above = [k for k in at if mine.y[k] > np.interp(mine.x[k], theirs.x, theirs.y) + within]
    after = above[-1] + 1 if above else 0
    return float(mine.x[after]) if after <= at[-1] else math.inf


def zoomed(box: Panel, top: float, bottom: float = -math.inf) -> Panel:
    """Leave out the points outside the box, as those of the first passes."""
    curves = []
    for line in box.curves:
        kept = [(x, y) for x, y in zip(line.x, line.y, strict=True) if bottom <= y <= top]
        curves.append(line._replace(x=[x for x, _ in kept], y=[y for _, y in kept]))
    return box._replace(curves=curves)


def timed_panels(found: Mapping[str, Descent], top: float) -> list[Panel]:
    """Return objective and error against CPU seconds, errors up to ``top``."""
    best, x = best_known(*found.values()), "CPU seconds"
    objective = [curve(name, r, "objective", "seconds") for name, r in found.items()]
    errors = [curve(name, r, "error", "seconds") for name, r in found.items()]
    return [
        zoomed(panel("objective", objective, "primal objective", x), 2.0 * best),
        zoomed(panel("validation error", errors, "validation error, %", x), top),
    ]


def timed_claims(
    found: Mapping[str, Descent], quick: bool, why: str = "see the page on solvers"
) -> list[Claim]:
    """Return what Figures 14 and 15 show."""
    best = best_known(*found.values())
    near = {name: to_excess(r, 1e-2, best, "seconds") for name, r in found.items()}
    final = {name: lowest_error(r) for name, r in found.items()}
    soon = {
        name: first_at(r, lambda point, low=final[name]: point.error <= low + 0.5, "seconds")  # type: ignore[misc]
        for name, r in found.items()
    }
    fast = "the seconds of small data are noise" if quick else why
    return [
        compare(
            "The objective of EG converges faster in time than those of SGD and L-BFGS.",
            f"CPU seconds until the primal is within 1% of the best: {each(near)}.",
            None if quick else near["EG"] < min(near["SGD"], near["L-BFGS"]),
            fast,
        ),
        compare(
            "SGD converges quickly in terms of accuracy, but its objective very slowly.",
            f"CPU seconds until the error is within 0.5 points of its lowest: {each(soon)}.",
            None if quick else soon["SGD"] <= soon["EG"] and near["SGD"] > near["EG"],
            fast,
        ),
    ]
