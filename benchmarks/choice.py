"""Compare the automatic choice with single solvers: ``python -m benchmarks.choice --out DIR``.

Measures CPU seconds of one thread until a relative gap of tol is certified, for many values of l2
or for the hinge loss. A single solver is stopped when it has taken as long as ``auto``, times a
factor; all that is then known is that it needs more time. Writes choice.md and choice.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import data, sequences
from .limits import table
from .machine import describe_machine
from .papers.collins2008.data import Task, images, trees
from .report import tell, write_text

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

RIVALS = {
    "log": ("online-eg", "proximal-eg", "lbfgs", "newton", "sag-nus", "dual-cd"),
    "hinge": ("online-eg", "bcfw", "crammer-singer", "svm-struct"),
}
#: Newton steps and L-BFGS go through all weights, so they are left out if there are more weights.
MANY_WEIGHTS = 3_000_000


@dataclass(frozen=True)
class Cell:
    """One solver for one l2: ``seconds`` until it was certified, or until it was stopped."""

    task: str
    l2: float
    solver: str
    seconds: float
    passes: float
    gap: float
    certified: bool


def of_collins2008(task: Callable[[bool], Task]) -> Callable[[str], Problem]:
    """Return the problems of a task of Collins et al. (2008), by loss."""
    return lambda loss: task(False).hinge if loss == "hinge" else task(False).log


TASKS: dict[str, Callable[[str], Problem]] = {
    "chunking": lambda loss: sequences.chunking().build(loss=loss),
    "spanish": of_collins2008(trees),
    "mnist": of_collins2008(images),
    "ocr": lambda loss: sequences.letters().build(loss=loss),
    "demo-text": lambda loss: sequences.demo_text().build(loss=loss),
}


def measure(problem: Problem, task: str, l2: float, solver: str, tol: float, most: float) -> Cell:
    """Train once, for at most the given number of CPU seconds."""
    from partwise.training.certificate import ConvergenceWarning
    from partwise.training.loop import train
    from partwise.training.result import Progress

    began = time.process_time()

    def late(_: Progress) -> bool:
        return time.process_time() - began > most

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = train(problem, l2, solver=solver, tol=tol, max_passes=1e6, callbacks=[late])
    seconds = time.process_time() - began
    found = fit.certificate
    return Cell(
        task, l2, solver, seconds, found.passes, found.relative_gap, found.relative_gap <= tol
    )


def compare(problem: Problem, task: str, options: argparse.Namespace) -> list[Cell]:
    """Measure every solver that fits the problem, for every l2."""
    from partwise.solvers.registry import SOLVERS, offered

    solvers = []
    for solver in options.solvers or RIVALS[options.loss]:
        heavy = solver in ("lbfgs", "newton") and problem.layout.n_weights > MANY_WEIGHTS
        if solver in SOLVERS and SOLVERS[solver].needs <= offered(problem) and not heavy:
            solvers.append(solver)
    for solver in ("auto", *solvers):  # compiles
        measure(problem, task, 1e6, solver, 0.5, 1.0)
    cells = []
    for l2 in options.l2:
        own = measure(problem, task, l2, "auto", options.tol, options.budget)
        cells.append(own)
        tell(f"{own}")
        for solver in solvers:
            most = options.factor * own.seconds
            cells.append(measure(problem, task, l2, solver, options.tol, most))
            tell(f"  {cells[-1]}")
    return cells


def choice_table(cells: list[Cell]) -> str:
    """Return one line per task and l2: auto, the best single solver, and the ratio."""
    rows = []
    for own in (cell for cell in cells if cell.solver == "auto"):
        rivals = [
            c for c in cells if (c.task, c.l2) == (own.task, own.l2) and c.solver != own.solver
        ]
        done = [c for c in rivals if c.certified]
        best = min(done, key=lambda c: c.seconds, default=None)
        shown = f"{own.seconds:.1f}" if own.certified else f"gap {own.gap:.1e} at {own.seconds:.0f}"
        others = ", ".join(
            f"{c.solver} {c.seconds:.1f}" if c.certified else f"{c.solver} {c.gap:.0e}"
            for c in rivals
        )
        ratio = f"{own.seconds / best.seconds:.2f}" if best and own.certified else "-"
        rows.append(
            [
                own.task,
                f"{own.l2:g}",
                shown,
                f"{own.passes:.0f}",
                best.solver if best else "-",
                ratio,
                others,
            ]
        )
    header = ["task", "l2", "auto, s", "passes", "best single", "auto / best", "s, or gap so far"]
    return table(header, rows)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choice", description=__doc__)
    add = parser.add_argument
    add("--out", type=Path, default=Path("bench-results"), help="folder to write to")
    tasks = list(TASKS)
    add("--tasks", nargs="+", choices=tasks, default=tasks[:3], help="which tasks")
    add("--loss", choices=list(RIVALS), default="log", help="which loss")
    rivals = sorted({name for names in RIVALS.values() for name in names})
    add("--solvers", nargs="+", choices=rivals, help="which single solvers (default: all)")
    values = [100.0, 10.0, 1.0, 0.1, 0.01]
    add("--l2", nargs="+", type=float, default=values, help="which values of l2")
    add("--tol", type=float, default=1e-3, help="relative gap to certify")
    add("--budget", type=float, default=300.0, help="CPU seconds of auto")
    add("--factor", type=float, default=1.0, help="how much longer a single solver may take")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print, and write the files again after every task."""
    options = parse(arguments)
    cells: list[Cell] = []
    for task in options.tasks:
        try:
            problem = TASKS[task](options.loss)
        except data.MissingDataError as error:
            tell(f"{task} is left out: {error}")
            continue
        cells += compare(problem, task, options)
        options.out.mkdir(parents=True, exist_ok=True)
        machine = describe_machine({"partwise", "numba", "numpy", "scipy"})
        content: dict[str, Any] = {
            "machine": machine,
            "loss": options.loss,
            "tol": options.tol,
            "cells": [asdict(cell) for cell in cells],
        }
        write_text(options.out / "choice.json", json.dumps(content, indent=1) + "\n")
        write_text(options.out / "choice.md", choice_table(cells))
    sys.stdout.write(choice_table(cells))


if __name__ == "__main__":
    main()
