"""Draw the curves of Schmidt et al. (2015), Figure 1: ``python -m benchmarks.methods --out DIR``.

Runs every method of that figure that partwise has, and some more, on the same tasks with
lambda = 1/n, that is l2 = 1. The curves are the distance to the optimum against passes and CPU
seconds of one thread. The optimum is certified. Writes methods.md, methods.json and two pictures
per task.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .curves import TICK
from .data import MissingDataError, data_file
from .limits import table
from .machine import describe_machine
from .memory import count, memory_table
from .papers.courses import FLOOR, Descent, Limits, Method, Point, descend, warm_up
from .report import write_text
from .sequences import SEQUENCE_TASKS, Sequences, SequenceTask

if TYPE_CHECKING:
    from partwise.problem.problem import Problem
    from partwise.solvers.average.gradient_memory import GradientMemory
    from partwise.training.certificate import Certificate

METHODS: tuple[Method, ...] = (
    Method("lbfgs", "L-BFGS", "lbfgs"),
    Method("pegasos", "Pegasos", "pegasos", tuned=True),
    Method("sgd", "SG", "sgd", {"schedule": "constant"}, tuned=True),
    Method("asgd", "ASG", "asgd", tuned=True),
    Method("adagrad", "AdaGrad", "adagrad", tuned=True),
    Method("smd", "SMD", "smd", tuned=True),
    Method("hybrid", "Hybrid", "hybrid"),
    Method("sag", "SAG", "sag"),
    Method("sag-nus-2013", "SAG-NUS", "sag-nus", {"sampling": "nus-2013"}),
    Method("sag-nus", "SAG-NUS*", "sag-nus"),
    Method("saga", "SAGA", "saga", {"share": 1.0}),
    Method("saga-nus", "SAGA-NUS*", "saga", {"sampling": "nus", "share": 1.0}),
    Method("online-eg", "OEG", "online-eg", tied=False),
    Method("online-eg-10", "OEG-10", "online-eg", {"start": 10.0}, tied=False),
    Method("online-eg-3", "", "online-eg", {"start": 3.0}, tied=False),
    Method("online-eg-tied", "", "online-eg"),
    Method("auto", "", "auto"),
    Method("batch-eg", "", "batch-eg"),
    Method("newton", "", "newton"),
    Method("sdca", "", "sdca", tied=False),
)
L2 = 1.0
PASSES = (5, 10, 20, 30, 50, 100)
EPSILONS = (1e-2, 1e-4, 1e-6)
MAX_PASSES = 2_000


@dataclass(frozen=True)
class Comparison:
    """One task: the optimum with its certificate, the memory, and the runs of the methods."""

    task: SequenceTask
    n_examples: int
    n_weights: int
    optimum: float
    proved: float
    memory: GradientMemory
    descents: list[Descent]


def certified(problem: Problem, tol: float) -> Certificate:
    """Train to ``tol`` and return the certificate, which bounds the optimum."""
    from partwise.training.certificate import ConvergenceWarning
    from partwise.training.loop import train

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(problem, L2, tol=tol, max_passes=MAX_PASSES).certificate


def compare(task: SequenceTask, methods: list[Method], options: argparse.Namespace) -> Comparison:
    """Find the optimum, then run every method."""
    sequences = task.load()
    problem = sequences.build()
    certificate = certified(problem, options.tol)
    tell(f"{task.name}: {certificate}")
    limits = Limits(options.passes, options.budget, certificate.primal)
    descents = []
    for tied in (True, False):
        chosen = [method for method in methods if method.tied == tied]
        if chosen:
            descents += _run(sequences, problem if tied else None, chosen, limits)
    values = [point.objective for descent in descents for point in descent.points]
    optimum = min([certificate.primal, *values])
    return Comparison(
        task,
        problem.n_examples,
        problem.layout.n_weights,
        optimum,
        (optimum - certificate.dual) / optimum,
        count(problem),
        descents,
    )


def _run(
    sequences: Sequences, problem: Problem | None, methods: list[Method], limits: Limits
) -> list[Descent]:
    if problem is None:
        problem = sequences.build(tied=False)
    warm_up(problem, L2, methods)
    descents = []
    for method in methods:
        descents.append(descend(problem, L2, method, limits))
        last = descents[-1].points[-1]
        tell(f"  {method.name}: {last.objective:.6g} after {last.passes:.0f} passes")
    return descents


def tell(line: str) -> None:
    """Write a line to stderr, in addition to the report."""
    sys.stderr.write(line + "\n")


def number(value: float | None, form: str) -> str:
    """Return a value for a table; a dash if there is none."""
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def methods_table(comparison: Comparison) -> str:
    """Return one line per method: f - f* per example, seconds, and how it ended."""
    n, best = comparison.n_examples, comparison.optimum
    longest = max((d.points[-1].passes for d in comparison.descents), default=0.0)
    passes = [p for p in PASSES if p <= longest]
    rows = []
    for descent in comparison.descents:
        method, last = descent.method, descent.points[-1]
        left = [descent.excess_at(p, best) for p in passes]
        row = [method.name, method.title, number(descent.eta, "g")]
        row += [number(None if x is None else x / n, ".1e") for x in left]
        row += [number(descent.seconds_to(epsilon, best), ".1f") for epsilon in EPSILONS]
        rows.append([*row, f"{last.passes:.0f}", f"{last.seconds:.0f}"])
    header = ["solver", "paper", "eta", *(f"{p} passes" for p in passes)]
    header += [*(f"s to {epsilon:.0e}" for epsilon in EPSILONS), "passes", "seconds"]
    return table(header, rows)


def draw(path: Path, comparison: Comparison, axis: str, label: str) -> None:
    """Draw f - f* of every method against passes or seconds."""
    from matplotlib.figure import Figure

    n, best = comparison.n_examples, comparison.optimum
    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    axes = figure.subplots()
    styles = ("-", "--", ":")
    for k, descent in enumerate(comparison.descents):
        at = [
            max(getattr(point, axis), TICK if axis == "seconds" else 0.0)
            for point in descent.points
        ]
        left = [excess / n for excess in descent.curve(best)]
        axes.plot(at, left, linestyle=styles[k // 10], label=descent.method.name)
    top = max(d.points[0].objective for d in comparison.descents) - best
    axes.set_xscale("log" if axis == "seconds" else "linear")
    axes.set_yscale("log")
    axes.set_ylim(bottom=FLOOR * best / n, top=2.0 * top / n)
    axes.set_xlabel(label)
    axes.set_ylabel("objective minus optimum, mean over the examples")
    axes.set_title(f"{comparison.task.title}, lambda = 1/n")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(ncols=2, fontsize="small")
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def text_of(comparison: Comparison) -> str:
    """Return the section of one task."""
    n = comparison.n_examples
    return (
        f"## {comparison.task.title}\n\n"
        f"{n:,} examples, {comparison.n_weights:,} weights; the optimum is {comparison.optimum:.6f}"
        f" = {n:,} x {comparison.optimum / n:.6g}, proved to {comparison.proved:.1e} relative.\n\n"
        + methods_table(comparison)
    )


def finite(value: float) -> float | None:
    """Return None for infinity, which JSON does not have."""
    return value if math.isfinite(value) else None


def data_of(comparison: Comparison) -> dict[str, Any]:
    """Return everything about one task, as plain data."""
    return {
        "examples": comparison.n_examples,
        "weights": comparison.n_weights,
        "optimum": comparison.optimum,
        "proved": comparison.proved,
        "memory": comparison.memory._asdict(),
        "columns": Point._fields,
        "methods": [
            {
                **asdict(descent),
                "dual": finite(descent.dual),
                "points": [[finite(x) for x in point] for point in descent.points],
                "tried": {eta: finite(value) for eta, value in descent.tried.items()},
            }
            for descent in comparison.descents
        ],
    }


def write(out: Path, comparisons: list[Comparison]) -> str:
    """Write everything, and return the text of methods.md."""
    out.mkdir(parents=True, exist_ok=True)
    machine = describe_machine({"partwise", "numba", "numpy", "scipy"})
    found = {comparison.task.name: data_of(comparison) for comparison in comparisons}
    content = {"machine": machine, "l2": L2, "tasks": found}
    write_text(out / "methods.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
    for comparison in comparisons:
        name = comparison.task.name
        draw(out / f"methods-{name}-passes.png", comparison, "passes", "passes over the data")
        seconds = "CPU seconds of training (one thread, compiled code cached)"
        draw(out / f"methods-{name}-seconds.png", comparison, "seconds", seconds)
    sections = [text_of(comparison) for comparison in comparisons]
    memory = memory_table([(comparison.task, comparison.memory) for comparison in comparisons])
    sections.append(f"## Memory of the gradients, as shares of dense ones\n\n{memory}")
    report = "\n".join(sections)
    write_text(out / "methods.md", report)
    return report


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, default=Path("bench-results"), help="folder to write to")
    tasks = [task.name for task in SEQUENCE_TASKS]
    real = [task.name for task in SEQUENCE_TASKS if task.files]
    add("--tasks", nargs="+", choices=tasks, default=real, help="which tasks")
    names = [method.name for method in METHODS]
    add("--solvers", nargs="+", choices=names, default=names, help="which methods")
    add("--passes", type=float, default=30.0, help="passes of a method, line searches included")
    add("--budget", type=float, default=30.0, help="CPU seconds of a method")
    add("--tol", type=float, default=1e-9, help="relative gap of the optimum")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and draw, and write the files again after every task."""
    options = parse(arguments)
    methods = [method for method in METHODS if method.name in options.solvers]
    comparisons: list[Comparison] = []
    report = ""
    for task in SEQUENCE_TASKS:
        if task.name not in options.tasks:
            continue
        try:
            for file in task.files:
                data_file(file)
        except MissingDataError as error:
            tell(f"{task.name} is left out: {error}")
            continue
        comparisons.append(compare(task, methods, options))
        report = write(options.out, comparisons)
    sys.stdout.write(report)


if __name__ == "__main__":
    main()
