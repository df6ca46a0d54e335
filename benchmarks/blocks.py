"""Count the passes of training in blocks: ``python -m benchmarks.blocks --out DIR``.

CoNLL-2000 with the templates of ``partwise train --task tag``, for several numbers of blocks and
exchanges, values of l2 and seeds. The gap is evaluated after every pass near the end, so that the
passes are those that the method needs, and not those after which a fit happens to evaluate. Prints
a Markdown table, beside it the passes of a simulation that was made before the solver, and writes
blocks.json.

In the folder ``PARTWISE_DATA`` it reads ``conll2000/train.txt.gz``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .data import data_file
from .limits import table

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

FILE = "conll2000/train.txt.gz"
#: The gap is evaluated once its estimate is at most this many times that to be reached.
NEAR = 4.0


class Row(NamedTuple):
    """One line of the table; no blocks are the solver that `auto` chooses."""

    loss: str
    l2: float
    blocks: int
    exchanges: int
    tols: tuple[float, ...]
    simulated: tuple[float, ...] = ()


SMOOTH = (1e-3, 1e-4)
MARGIN = (1e-2, 3e-3)
ROWS = (
    Row("log", 1.0, 0, 0, SMOOTH, (15.2, 19.0)),
    Row("log", 1.0, 4, 16, SMOOTH, (25.4, 35.7)),
    Row("log", 1.0, 8, 64, SMOOTH, (38.4, 51.9)),
    Row("log", 1.0, 8, 256, SMOOTH, (18.4, 23.9)),
    Row("log", 10.0, 0, 0, SMOOTH, (6.3, 7.9)),
    Row("log", 10.0, 4, 16, SMOOTH, (9.7, 12.7)),
    Row("log", 10.0, 8, 64, SMOOTH, (12.9, 15.5)),
    Row("log", 0.1, 0, 0, SMOOTH),
    Row("log", 0.1, 4, 16, SMOOTH),
    Row("log", 0.1, 8, 64, SMOOTH),
    Row("log", 0.1, 8, 256, SMOOTH),
    Row("hinge", 10.0, 0, 0, MARGIN),
    Row("hinge", 10.0, 4, 16, MARGIN),
    Row("hinge", 10.0, 8, 64, MARGIN),
    Row("hinge", 10.0, 8, 256, MARGIN),
)


def build(path: Path, loss: str, name: str = "tag") -> Problem:
    """Return the problem that ``partwise train --task NAME`` solves."""
    from partwise.tasks.registry import task_of

    task = task_of(name)
    given = task.defaults("train")
    made = task.make({"loss": loss}, given)._prepare(task.read(str(path), given))
    assert made.problem is not None
    return made.problem


def passes(problem: Problem, row: Row, seed: int, most: float, jobs: int) -> dict[str, Any]:
    """Return the passes after which each gap is reached, and the CPU seconds of the epochs."""
    from partwise.problem.evaluation import Evaluator
    from partwise.solvers.goal import Goal
    from partwise.solvers.registry import make_solver

    goal = Goal(problem, row.l2, Evaluator(problem, jobs), np.random.default_rng(seed))
    options = {"blocks": row.blocks, "exchanges": row.exchanges} if row.blocks else {}
    machine = make_solver("blocks" if row.blocks else "auto", goal, options)
    found: list[float] = []
    done, seconds = 0.0, 0.0
    while len(found) < len(row.tols) and done < most:
        began = time.process_time()
        epoch = machine.epoch()
        seconds += time.process_time() - began
        done += epoch.passes
        wanted = row.tols[len(found)]
        if machine.settled and epoch.gap_estimate <= NEAR * wanted * abs(epoch.dual):
            value = machine.evaluate()
            found += [done for tol in row.tols[len(found) :] if value.gap <= tol * value.primal]
    machine.close()
    return {**row._asdict(), "seed": seed, "passes": found, "seconds": seconds, "all": done}


def measured(arguments: argparse.Namespace, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Run everything, one loss after the other."""
    path = data_file(FILE)
    for loss in dict.fromkeys(row.loss for row in rows):
        problem = build(path, loss)
        for row in rows:
            for seed in arguments.seeds if row.loss == loss else ():
                result = passes(problem, row, seed, arguments.max_passes, arguments.jobs)
                sys.stderr.write(f"{result}\n")
                yield result


def report(rows: Sequence[Row], results: Sequence[dict[str, Any]]) -> str:
    """Return the table: the mean of the passes over the seeds, and their range."""
    lines = []
    for row in rows:
        mine = [r for r in results if Row(*(r[name] for name in Row._fields)) == row]
        cells = []
        for k in range(len(row.tols)):
            reached = [r["passes"][k] for r in mine if len(r["passes"]) > k]
            whole = len(reached) == len(mine) > 0
            spread = f"{min(reached):.1f} to {max(reached):.1f}" if whole else ""
            cells.append(f"{np.mean(reached):.1f} ({spread})" if whole else "-")
        cost = sum(r["seconds"] for r in mine) / max(sum(r["all"] for r in mine), 1e-9)
        how = f"{row.blocks}, {row.exchanges}" if row.blocks else "none"
        gaps = " / ".join(f"{tol:g}" for tol in row.tols)
        simulated = " / ".join(f"{x:g}" for x in row.simulated)
        lines.append(
            [row.loss, f"{row.l2:g}", how, gaps, " / ".join(cells), simulated, f"{cost:.2f}"]
        )
    header = [
        "loss", "l2", "blocks, exchanges", "gaps", "passes, mean and range", "simulated",
        "CPU seconds per pass",
    ]  # fmt: skip
    return table(header, lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.blocks", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-results"), help="where to write")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="the seeds")
    parser.add_argument("--rows", type=int, nargs="+", help="only these rows, counted from 0")
    parser.add_argument("--max-passes", type=float, default=300.0, help="give up after so many")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    given = parser.parse_args(arguments)
    rows = ROWS if given.rows is None else [ROWS[k] for k in given.rows]
    results = list(measured(given, rows))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "blocks.json").write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write(report(rows, results))


if __name__ == "__main__":
    main()
