"""Measure the cost of marginals by length: ``python -m benchmarks.scaling --out DIR``.

Prints a Markdown table, and writes scaling.png and scaling.json: seconds of one call of the oracle
for marginals against n, and the slope of the line between the two longest sentences, which is 1 for
a linear cost and 3 for a cubic one.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .limits import table

LENGTHS = (10, 20, 40, 80, 160)
#: A measurement repeats its call for at least this number of seconds, and takes the fastest.
SECONDS = 0.5


@dataclass(frozen=True)
class Oracle:
    """Marginals to measure; their cost should grow with this ``power`` of n."""

    structure: Any
    power: int
    shape: Callable[[int], Any] = int
    #: The deviation of the scores; large ones take the slow path, in log space or in wide numbers.
    spread: float = 1.0


def grid(n: int) -> Any:
    """Return a graph of 3 rows and n columns."""
    from partwise.structures.graph.structure import GraphShape

    nodes = range(3 * n)
    edges = [(v, v + 1) for v in nodes if (v + 1) % 3] + [(v, v + 3) for v in nodes[:-3]]
    factors = [("node", (v,)) for v in nodes] + [("edge", edge) for edge in edges]
    return GraphShape(("label",) * len(nodes), tuple(factors))


def oracles() -> dict[str, Oracle]:
    """Return the oracles that are measured, by name."""
    from partwise.structures.dependency.projective import ProjectiveTree
    from partwise.structures.dependency.spanning import SpanningTree
    from partwise.structures.grammar.structure import Grammar
    from partwise.structures.graph.structure import Graph
    from partwise.structures.second_order.structure import SecondOrderChain
    from partwise.structures.segments.structure import SemiMarkov

    n_symbols, rng = 20, np.random.default_rng(0)
    rules = sorted({tuple(map(int, rng.integers(n_symbols, size=3))) for _ in range(100)})
    grammar = Grammar(n_symbols, rules=rules, lexical=list(range(n_symbols)), starts=[0])
    graph = Graph({"label": 4}, {"node": ["label"], "edge": ["label"] * 2})
    return {
        "second-order chain of 22 labels": Oracle(SecondOrderChain(22), 1),
        "segments of up to 6, 9 labels": Oracle(SemiMarkov(9, 6), 1),
        "grid of 3 rows, 4 labels": Oracle(graph, 1, grid),
        "projective trees (inside-outside)": Oracle(ProjectiveTree(), 3),
        "projective trees, large scores": Oracle(ProjectiveTree(), 3, spread=1e4),
        "spanning trees (matrix-tree)": Oracle(SpanningTree(), 3),
        "spanning trees, large scores": Oracle(SpanningTree(), 3, spread=1e4),
        f"grammar of {len(rules)} rules (inside-outside)": Oracle(grammar, 3),
    }


def fastest(call: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of several calls, without the first, which may compile."""
    call()
    best, began = math.inf, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
    return best


def measure(oracle: Oracle, lengths: tuple[int, ...]) -> list[float]:
    """Return the seconds of the marginals of one sentence of each length."""
    seconds, structure = [], oracle.structure
    for n in lengths:
        topo = structure.topology(oracle.shape(n))
        theta = oracle.spread * np.random.default_rng(n).normal(size=structure.n_parts(topo))
        call = functools.partial(structure.expected_parts, theta, topo)
        seconds.append(fastest(call))
    return seconds


def slope(lengths: tuple[int, ...], seconds: list[float]) -> float:
    """Return the exponent between the two longest sentences."""
    return math.log(seconds[-1] / seconds[-2]) / math.log(lengths[-1] / lengths[-2])


def draw(
    path: Path, lengths: tuple[int, ...], results: dict[str, list[float]], powers: dict[str, int]
) -> None:
    """Draw seconds against n on logarithmic axes, each with a line of the expected slope."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for name, seconds in results.items():
        (line,) = axes.plot(lengths, seconds, marker="o", label=name)
        straight = [seconds[-1] * (n / lengths[-1]) ** powers[name] for n in lengths]
        axes.plot(lengths, straight, linestyle=":", color=line.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("words")
    axes.set_ylabel("seconds for the marginals of one sentence (dotted: linear, cubic)")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    temporary = path.with_name(path.name + ".tmp")
    figure.savefig(temporary, format="png", dpi=120)
    temporary.replace(path)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS), help="words")
    options = parser.parse_args(arguments)
    lengths = tuple(options.lengths)
    measured = oracles()
    results = {name: measure(oracle, lengths) for name, oracle in measured.items()}
    rows = [
        [name, *(f"{1e3 * s:.3g}" for s in seconds), f"{slope(lengths, seconds):.2f}"]
        for name, seconds in results.items()
    ]
    header = ["milliseconds", *(f"{n} words" for n in lengths), "exponent"]
    sys.stdout.write(table(header, rows))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"lengths": lengths, "seconds": results}
    (options.out / "scaling.json").write_text(json.dumps(found, indent=1) + "\n")
    powers = {name: oracle.power for name, oracle in measured.items()}
    draw(options.out / "scaling.png", lengths, results, powers)


if __name__ == "__main__":
    main()
