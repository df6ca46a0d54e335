"""Measure how fast the gap of the hinge loss falls: ``python -m benchmarks.rates --out DIR``.

Prints a Markdown table, and writes rates.png and rates.json: the duality gap of one chain problem
against iterations, with the steps that the theory allows and with those that are found by trial,
and the slopes of the lines on logarithmic axes. Excessive gap promises -2, exponentiated gradient
and extragradient with a constant step -1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .limits import table

ITERATIONS = 5000
#: The slope is that of the last part of a line, from this fraction of the iterations on.
TAIL = 0.1


def problem() -> Any:
    """Generate eight random sequences of three labels, with noise."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.structures.chain.structure import Chain

    rng = np.random.default_rng(0)
    chain, lengths = Chain(3), rng.integers(2, 5, 8)
    features = rng.normal(size=(int(lengths.sum()), 5))
    truth = features @ rng.normal(size=(5, 3)) + rng.normal(size=(len(features), 3))
    gold = np.split(truth.argmax(axis=1), np.cumsum(lengths)[:-1])
    constant = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
    kinds = [Rows.from_dense(features)] + [constant] * (len(chain.kinds) - 1)
    return build_problem(chain, lengths, kinds, gold, make_loss("hinge", 3))


def solvers() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return the lines of the picture: solvers and their options."""
    return {
        "excessive gap": ("excessive-gap", {"safe": True}),
        "excessive gap, searched": ("excessive-gap", {}),
        "extragradient, constant": ("extragradient", {"step": "constant"}),
        "extragradient, searched": ("extragradient", {}),
        "batch EG": ("batch-eg", {"eta": "theorem", "start": 0.0}),
        "batch EG, searched": ("batch-eg", {"start": 0.0}),
    }


def gaps(name: str, options: dict[str, Any], l2: float, marks: list[int]) -> list[float]:
    """Return the gap after some numbers of iterations."""
    from partwise.problem.evaluation import Evaluator
    from partwise.solvers.goal import Goal
    from partwise.solvers.registry import make_solver

    data = problem()
    goal = Goal(data, l2, Evaluator(data), np.random.default_rng(0))
    solver = make_solver(name, goal, options)
    found = []
    for k in range(1, marks[-1] + 1):
        solver.epoch()
        if k in marks:
            value = solver.evaluate()
            found.append(value.primal - value.dual)
    return found


def slope(marks: list[int], values: list[float]) -> float:
    """Return the exponent of the last part of a line, by least squares."""
    tail = [k for k, mark in enumerate(marks) if mark >= TAIL * marks[-1]]
    x, y = np.log(np.array(marks)[tail]), np.log(np.array(values)[tail])
    return float(np.polyfit(x, y, 1)[0])


def draw(path: Path, marks: list[int], results: dict[str, list[float]]) -> None:
    """Draw the gaps against iterations on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for name, values in results.items():
        style = "-" if "searched" in name else "--"
        axes.plot(marks, values, style, label=f"{name}: slope {slope(marks, values):.2f}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("iterations (dashed: the steps of the theory)")
    axes.set_ylabel("duality gap")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rates", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="how many at most")
    parser.add_argument("--l2", type=float, default=2.0, help="l2 of the problem")
    options = parser.parse_args(arguments)
    last = math.floor(10.0 * math.log10(options.iterations))
    marks = sorted({round(10.0 ** (k / 10.0)) for k in range(last + 1)})  # ten per decade
    results = {
        label: gaps(name, given, options.l2, marks) for label, (name, given) in solvers().items()
    }
    shown = [k for k, mark in enumerate(marks) if mark in (1, 10, 100) or k == len(marks) - 1]
    rows = [
        [name, *(f"{values[k]:.2e}" for k in shown), f"{slope(marks, values):.2f}"]
        for name, values in results.items()
    ]
    sys.stdout.write(table(["gap", *(f"{marks[k]} iterations" for k in shown), "slope"], rows))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"iterations": marks, "l2": options.l2, "gaps": results}
    (options.out / "rates.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(options.out / "rates.png", marks, results)


if __name__ == "__main__":
    main()
