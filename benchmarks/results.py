"""From runs to numbers: time to a relative suboptimality, medians and spreads."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Literal

from .runner import Run

EPSILONS: tuple[float, ...] = (1e-2, 1e-3, 1e-4, 1e-6)
Clock = Literal["cpu", "wall"]


@dataclass(frozen=True)
class Spread:
    """The median of the repeats, with the smallest and the largest value."""

    median: float
    low: float
    high: float
    repeats: int


@dataclass(frozen=True)
class Certified:
    """Training to a relative gap ``tol`` that the trainer itself has proved.

    ``cpu`` and ``wall`` are None if a repeat ended earlier; ``relative_gap`` is the largest of all.
    """

    cpu: Spread | None
    wall: Spread | None
    passes: Spread | None
    relative_gap: float
    nonzero: int  # weights that are not 0, in the first repeat


@dataclass
class Summary:
    """One contestant on one task, over all repeats of one kind of start.

    ``cpu_to`` and ``wall_to`` map each epsilon to a spread, or to None if a repeat never reached
    it.
    """

    task: str
    contestant: str
    start: str
    status: str
    objective: float | None
    excess: float | None
    weights: int | None
    nonzero: int | None
    score_name: str
    score: float | None
    cpu_to: dict[float, Spread | None]
    wall_to: dict[float, Spread | None]
    cpu: Spread | None
    wall: Spread | None
    peak_mb: Spread | None
    loaded_mb: Spread | None
    stages: dict[str, Spread | None]
    compilation: Spread | None
    certified: dict[float, Certified] = field(default_factory=dict)
    default_stop: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def best_objective(runs: list[Run]) -> float | None:
    """Return the lowest objective that any contestant reached in these runs."""
    values = [point.objective for run in runs for point in run.points]
    values += [float(run.result["objective"]) for run in runs if run.result]
    return min(values, default=None)


def time_to(run: Run, threshold: float, clock: Clock) -> float | None:
    """Return the first time at which the objective was at most ``threshold``."""
    times = [getattr(point, clock) for point in run.points if point.objective <= threshold]
    return min(times, default=None)


def last_nonzero(run: Run) -> int | None:
    """Return how many weights were not 0 at the end of a run that was cut short, if known."""
    told = run.points[-1].nonzero if run.points else None
    return None if told is None else int(told)


def spread(values: list[float | None]) -> Spread | None:
    """Return median and range; None if a value is missing."""
    present = [value for value in values if value is not None]
    if not present or len(present) < len(values):
        return None
    return Spread(statistics.median(present), min(present), max(present), len(present))


def summarise(runs: list[Run]) -> list[Summary]:
    """Return one summary per contestant and start of one task, in order of first appearance."""
    best = best_objective(runs)
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.contestant, run.start), []).append(run)
    return [_summarise_group(group, best) for group in groups.values()]


def _certified(runs: list[Run]) -> dict[float, Certified]:
    """Return for each tol what it took to reach it."""
    found: dict[float, list[dict[str, float]]] = {}
    for run in runs:
        for fields in run.certified:
            found.setdefault(fields["tol"], []).append(fields)

    def reached(many: list[dict[str, float]], name: str) -> Spread | None:
        return spread([f[name] if f["relative_gap"] <= f["tol"] else None for f in many])

    return {
        tol: Certified(
            cpu=reached(many, "cpu"),
            wall=reached(many, "wall"),
            passes=reached(many, "passes"),
            relative_gap=max(f["relative_gap"] for f in many),
            nonzero=int(many[0]["nonzero"]),
        )
        for tol, many in found.items()
    }


def _summarise_group(runs: list[Run], best: float | None) -> Summary:
    first = runs[0]
    objectives = [point.objective for run in runs for point in run.points]
    lowest = min(objectives, default=None)
    results = [run.result for run in runs if run.result]
    threshold = {eps: best * (1.0 + eps) if best is not None else 0.0 for eps in EPSILONS}
    statuses = {run.status for run in runs}
    stage_names = {name: None for run in runs for name in run.stages}
    return Summary(
        task=first.task,
        contestant=first.contestant,
        start=first.start,
        status=next(s for s in ("failed", "over budget", "finished") if s in statuses),
        objective=lowest,
        excess=None if lowest is None or not best else lowest / best - 1.0,
        weights=results[0]["weights"] if results else None,
        nonzero=results[0]["nonzero"] if results else last_nonzero(first),
        score_name=results[0]["score_name"] if results else "",
        score=results[0]["score"] if results else None,
        cpu_to={e: spread([time_to(run, t, "cpu") for run in runs]) for e, t in threshold.items()},
        wall_to={
            e: spread([time_to(run, t, "wall") for run in runs]) for e, t in threshold.items()
        },
        cpu=spread([run.stop.get("cpu") for run in runs]),
        wall=spread([run.stop.get("wall") for run in runs]),
        peak_mb=spread([run.stop.get("peak_mb") for run in runs]),
        loaded_mb=spread([run.stages.get("load", {}).get("peak_mb") for run in runs]),
        stages={n: spread([run.stages.get(n, {}).get("cpu") for run in runs]) for n in stage_names},
        compilation=spread([run.compilation_seconds for run in runs]),
        certified=_certified(runs),
        default_stop=first.default_stop,
        notes=list(dict.fromkeys(note for run in runs for note in run.notes)),
    )
