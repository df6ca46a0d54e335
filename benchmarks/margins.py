"""Compare max-margin solvers: ``python -m benchmarks.margins --out DIR``.

Measures the primal of the hinge loss against CPU seconds of one thread, at many values of l2. The
solvers are exponentiated gradient, cutting planes, excessive gap and block-coordinate Frank-Wolfe,
and for sequences also dlib's structural SVM. Writes margins.md, margins.json and one picture per
task. The published forms on the trees are Figure 13 of Collins et al. (2008), which
``python -m benchmarks.papers`` draws.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .choice import TASKS
from .curves import TICK
from .data import MissingDataError
from .dlib_planes import follow_dlib
from .limits import table
from .machine import describe_machine
from .papers.courses import Descent, Limits, Method, Point, follow, warm_up
from .report import tell, write_text

if TYPE_CHECKING:
    from partwise.problem.problem import Problem


def number(value: float | None, form: str) -> str:
    """Return a value for a table; a dash if there is none."""
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def finite(value: float) -> float | None:
    """Return None for infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def annealing(problem: Problem, l2: float) -> Any:
    """Return the schedule of l2 that ``auto`` uses for smooth losses."""
    from partwise.solvers.eg.base import default_annealing, easy_l2

    return default_annealing(easy_l2(problem), l2)


METHODS: tuple[Method, ...] = (
    Method("auto", "Frank-Wolfe near the last weights, the default", "auto"),
    Method("bcfw", "Frank-Wolfe", "bcfw"),
    Method("online-eg", "online EG", "online-eg"),
    Method("annealed-eg", "online EG, l2 annealed", "online-eg", {"annealing": annealing}),
    Method("svm-struct", "SVM-Struct", "svm-struct"),
    Method("excessive-gap", "excessive gap", "excessive-gap"),
    Method("excessive-gap-gold", "excessive gap around gold", "excessive-gap", {"gold": 10.0}),
    Method("dlib", "dlib", "dlib"),
)
#: The values of l2 of each task.
L2S = {"spanish": (1.0, 10.0, 100.0, 1000.0), "chunking": (1.0, 10.0, 100.0)}
L2S["ocr"] = L2S["demo-text"] = L2S["chunking"]
EPSILONS = (1e-1, 1e-2, 1e-3)


@dataclass(frozen=True)
class Race:
    """One task and one l2: the runs of the methods, and the best primal and dual of all."""

    task: str
    l2: float
    descents: list[Descent]

    @property
    def optimum(self) -> float:
        """The lowest primal of all runs."""
        return min(point.objective for descent in self.descents for point in descent.points)

    @property
    def dual(self) -> float:
        """The highest dual that was proved; the optimum is not below it."""
        return max(descent.dual for descent in self.descents)

    @property
    def proved(self) -> float:
        """How far the lowest primal may be above the optimum, relative to it."""
        return (self.optimum - self.dual) / self.optimum


def race(problem: Problem, task: str, l2: float, methods: list[Method], limits: Limits) -> Race:
    """Run every method to its limits."""
    descents: list[Descent] = []
    for method in methods:
        run = follow_dlib if method.solver == "dlib" else follow
        descents.append(run(problem, l2, method, limits))
        last = descents[-1].points[-1]
        tell(
            f"{task}, l2 = {l2:g}, {method.name}: {last.objective:.6g} after {last.passes:.0f} "
            f"passes, {last.seconds:.0f} s; dual {descents[-1].dual:.6g}"
        )
    return Race(task, l2, descents)


def margins_table(races: list[Race]) -> str:
    """Return one line per task, l2 and method: seconds to primals near the best, and the end."""
    rows = []
    for found in races:
        best = found.optimum
        for descent in found.descents:
            last = descent.points[-1]
            lowest = min(point.objective for point in descent.points)
            row = [found.task, f"{found.l2:g}", descent.method.title]
            row += [number(descent.seconds_to(epsilon, best), ".1f") for epsilon in EPSILONS]
            row += [f"{lowest:.6g}", number(descent.dual, ".6g")]
            rows.append([*row, f"{last.passes:.0f}", f"{last.seconds:.0f}"])
    header = ["task", "l2", "method", *(f"s to {epsilon:g}" for epsilon in EPSILONS)]
    return table([*header, "best primal", "dual", "passes", "seconds"], rows)


def draw(path: Path, races: list[Race]) -> None:
    """Draw how far the primal of each method is above the best dual, one box per value of l2."""
    from matplotlib.figure import Figure

    columns = 2 if len(races) > 1 else 1
    rows = -(-len(races) // columns)
    figure = Figure(figsize=(6.0 * columns, 4.0 * rows), layout="constrained")
    boxes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, found in zip(boxes, races, strict=False):
        for descent in found.descents:
            seconds = [max(point.seconds, TICK) for point in descent.points]
            above = [point.objective - found.dual for point in descent.points]
            axes.plot(seconds, [y / found.optimum for y in above], label=descent.method.title)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("CPU seconds of training")
        axes.set_ylabel("(primal - best dual) / best primal")
        axes.set_title(f"l2 = C = {found.l2:g}")
        axes.grid(visible=True, which="major", alpha=0.3)
    for axes in boxes[len(races) :]:
        axes.set_visible(False)
    boxes[0].legend()
    figure.suptitle(f"{races[0].task}, hinge loss")
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def data_of(found: Race) -> dict[str, Any]:
    """Return everything about one race, as plain data."""
    methods = {
        descent.method.name: {
            "dual": finite(descent.dual),
            "points": [[finite(x) for x in point] for point in descent.points],
        }
        for descent in found.descents
    }
    return {
        "task": found.task,
        "l2": found.l2,
        "optimum": found.optimum,
        "proved": finite(found.proved),
        "columns": Point._fields,
        "methods": methods,
    }


def write(out: Path, races: list[Race]) -> None:
    """Write everything."""
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": describe_machine({"partwise", "numba", "numpy", "scipy", "clarabel"}),
        "races": [data_of(found) for found in races],
    }
    write_text(out / "margins.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
    write_text(out / "margins.md", margins_table(races))
    for task in dict.fromkeys(found.task for found in races):
        draw(out / f"margins-{task}.png", [found for found in races if found.task == task])


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.margins", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, default=Path("bench-results"), help="folder to write to")
    add("--tasks", nargs="+", choices=list(L2S), default=list(L2S)[:3], help="which tasks")
    names = [method.name for method in METHODS]
    add("--solvers", nargs="+", choices=names, default=names, help="which methods")
    add("--l2", nargs="+", type=float, help="which values of l2 (default: those of the task)")
    add("--passes", type=float, default=math.inf, help="passes of a method (default: no limit)")
    add("--budget", type=float, default=120.0, help="CPU seconds of a method")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and draw, and write the files again after every race."""
    options = parse(arguments)
    import matplotlib  # noqa: F401 - whoever lacks it learns so before the work

    races: list[Race] = []
    for task in options.tasks:
        try:
            problem = TASKS[task]("hinge")
        except MissingDataError as error:
            tell(f"{task} is left out: {error}")
            continue
        methods = [method for method in METHODS if method.name in options.solvers]
        if task == "spanish":  # the planes are too large to be passed to dlib
            methods = [method for method in methods if method.solver != "dlib"]
        warm_up(problem, 1.0, [method for method in methods if method.solver != "dlib"])
        for l2 in options.l2 or L2S[task]:
            limits = Limits(options.passes, options.budget)
            races.append(race(problem, task, l2, methods, limits))
            write(options.out, races)
    sys.stdout.write(margins_table(races))


if __name__ == "__main__":
    main()
