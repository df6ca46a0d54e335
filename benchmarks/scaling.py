"""How marginals cost with the length of a sentence: ``python -m benchmarks.scaling --out DIR``.

Prints a Markdown table, and writes scaling.png and scaling.json: seconds of one call of the
marginal oracle against n, and the slope of the line between the two longest sentences, which is 3
for a cubic cost.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .limits import table

LENGTHS = (10, 20, 40, 80, 160)
#: A measurement repeats its call for at least so long, and takes the fastest.
SECONDS = 0.5


def structures() -> dict[str, Any]:
    """The structures whose marginals cost more than linearly."""
    from partwise.structures.grammar import Grammar
    from partwise.structures.projective import ProjectiveTree
    from partwise.structures.spanning import SpanningTree

    n_symbols, rng = 20, np.random.default_rng(0)
    rules = sorted({tuple(map(int, rng.integers(n_symbols, size=3))) for _ in range(100)})
    return {
        "projective trees (inside-outside)": ProjectiveTree(),
        "spanning trees (matrix-tree)": SpanningTree(),
        f"grammar of {len(rules)} rules (inside-outside)": Grammar(
            n_symbols, rules=rules, lexical=list(range(n_symbols)), starts=[0]
        ),
    }


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of several calls; the first, which may compile, does not count."""
    call()
    best, began = math.inf, time.perf_counter()
    while time.perf_counter() - began < SECONDS:
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
    return best


def measure(structure: Any, lengths: tuple[int, ...]) -> list[float]:
    """Seconds of the marginals of one sentence of each length."""
    seconds = []
    for n in lengths:
        topo = structure.topology(n)
        theta = np.random.default_rng(n).normal(size=structure.n_parts(topo))
        call = functools.partial(structure.expected_parts, theta, topo)
        seconds.append(fastest(call))
    return seconds


def slope(lengths: tuple[int, ...], seconds: list[float]) -> float:
    """The exponent between the two longest sentences."""
    return math.log(seconds[-1] / seconds[-2]) / math.log(lengths[-1] / lengths[-2])


def draw(path: Path, lengths: tuple[int, ...], results: dict[str, list[float]]) -> None:
    """Draw seconds against n on logarithmic axes, with a cubic line beside each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    axes = figure.subplots()
    for name, seconds in results.items():
        (line,) = axes.plot(lengths, seconds, marker="o", label=name)
        cubic = [seconds[-1] * (n / lengths[-1]) ** 3 for n in lengths]
        axes.plot(lengths, cubic, linestyle=":", color=line.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("words")
    axes.set_ylabel("seconds for the marginals of one sentence (dotted: cubic)")
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
    results = {name: measure(structure, lengths) for name, structure in structures().items()}
    rows = [
        [name, *(f"{1e3 * s:.3g}" for s in seconds), f"{slope(lengths, seconds):.2f}"]
        for name, seconds in results.items()
    ]
    header = ["milliseconds", *(f"{n} words" for n in lengths), "exponent"]
    sys.stdout.write(table(header, rows))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"lengths": lengths, "seconds": results}
    (options.out / "scaling.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(options.out / "scaling.png", lengths, results)


if __name__ == "__main__":
    main()
