"""Measure steps and starts of exponentiated gradient: ``python -m benchmarks.steps``.

Prints two Markdown tables. The first has the steps that theory allows beside those that are found
by trial (log loss): the distance to the optimum, relative to it. The second has the starts of
online EG with the hinge loss: its dual value. Both for 150 sentences of CoNLL-2000, and the second
for 2,000 images of MNIST too. With ``--quick`` the data are generated text.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from . import sequences
from .limits import table
from .papers.courses import Descent, Limits, Method, follow

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

STEPS: tuple[Method, ...] = tuple(
    Method(f"{solver}-{eta}", f"`{solver}`, `eta={eta}`", solver, {"eta": eta})
    for solver in ("online-eg", "batch-eg")
    for eta in ("theorem", "safe", "search")
)
STARTS: tuple[Method, ...] = (
    Method("enter", "they enter one by one", "online-eg"),
    Method("3", "`start=3`", "online-eg", {"start": 3.0}),
    Method("10", "`start=10`", "online-eg", {"start": 10.0}),
    Method("published", "`preset=collins2008-mnist`", "online-eg", {"preset": "collins2008-mnist"}),
)
PASSES = (5, 20, 80)
#: How near the optimum is known.
TOL = 1e-6


def sentences(loss: str, quick: bool) -> Problem:
    """Return 150 sentences of CoNLL-2000, or a few generated ones."""
    from partwise.problem.subset import subset

    read = sequences.demo_text() if quick else sequences.chunking()
    return subset(read.build(loss=loss), np.arange(20 if quick else 150))


def images(loss: str) -> Problem:
    """Return 2,000 images of MNIST."""
    from .papers.collins2008.data import part_of_images

    return part_of_images(False, hinge=loss == "hinge")


def steps(quick: bool, passes: int) -> list[list[str]]:
    """Return the rows of the first table."""
    from partwise.training.loop import train

    problem = sentences("log", quick)
    optimum = train(problem, 1.0, tol=TOL, max_passes=3000, quiet=True).certificate.primal
    rows = []
    for method in STEPS:
        last = follow(problem, 1.0, method, Limits(float(passes))).points[-1]
        away = last.objective / optimum - 1.0
        rows.append([method.title, f"{away:.2g}" if away > TOL else f"below {TOL:g}"])
    return rows


def starts(quick: bool) -> list[list[str]]:
    """Return the rows of the second table."""
    cases: list[tuple[str, Any, float]] = [("CoNLL-2000", sentences("hinge", quick), 1.0)]
    if not quick:
        cases += [("CoNLL-2000", cases[0][1], 10.0), ("MNIST", images("hinge"), 1.0)]
    rows = []
    for name, problem, l2 in cases:
        for method in STARTS:
            found = follow(problem, l2, method, Limits(float(PASSES[-1])))
            duals = [f"{_dual(found, passes):.3g}" for passes in PASSES]
            rows.append([f"{name}, l2 = {l2:g}", method.title, *duals])
    return rows


def _dual(found: Descent, passes: int) -> float:
    """Return the dual value at the first point with at least so many passes."""
    return next(point.dual for point in found.points if point.passes >= passes)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="generated data, a few seconds")
    options = parser.parse_args(arguments)
    passes = 20 if options.quick else 100
    header = ["log loss, l2 = 1", f"distance after {passes} passes"]
    sys.stdout.write(table(header, steps(options.quick, passes)) + "\n")
    header = ["hinge loss", "start", *(f"dual after {passes} passes" for passes in PASSES)]
    sys.stdout.write(table(header, starts(options.quick)))


if __name__ == "__main__":
    main()
