"""Curves: relative suboptimality against CPU seconds, one line per contestant."""

from __future__ import annotations

from pathlib import Path

from .results import best_objective
from .runner import Run

# Below this value the curves show only rounding errors.
FLOOR = 1e-9
# Some systems count CPU time in ticks of 4 ms, so a short training may take no time at all.
TICK = 1e-3


def curve(run: Run, best: float) -> tuple[list[float], list[float]]:
    """Return CPU seconds and the lowest relative suboptimality reached by then."""
    seconds: list[float] = []
    excess: list[float] = []
    lowest = float("inf")
    for point in sorted(run.points, key=lambda point: point.cpu):
        lowest = min(lowest, point.objective / best - 1.0)
        seconds.append(max(point.cpu, TICK))
        excess.append(max(lowest, FLOOR))
    return seconds, excess


def draw_curves(path: Path, title: str, runs: list[Run]) -> None:
    """Draw the first warm run of each contestant; circles mark separate runs from scratch."""
    from matplotlib.figure import Figure

    best = best_objective(runs)
    if best is None or best <= 0.0:
        raise ValueError(f"{title}: there is no positive objective to draw against.")
    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for run in runs:
        if run.repeat != 0 or run.start != "warm" or not run.points:
            continue
        seconds, excess = curve(run, best)
        marker = "o" if run.points[0].rung is not None else ""
        axes.plot(seconds, excess, marker=marker, markersize=4, label=run.contestant)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=FLOOR, top=10.0)
    axes.set_xlabel("CPU seconds of training (one thread, compiled code cached)")
    axes.set_ylabel("objective / best - 1")
    axes.set_title(title)
    axes.grid(visible=True, which="major", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)
