"""Draw the figures and tables of the papers again: ``python -m benchmarks.papers``.

Writes one picture and one JSON file per figure or table, and papers.md: what each paper says, what
came out, and whether they agree. What is drawn already is not drawn again, so a run can be stopped
and continued. Without --quick it reads the folder PARTWISE_DATA names.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data import MissingDataError
from ..limits import table
from ..machine import describe_machine
from ..report import write_text
from . import all_figures
from .figure import Figure, Outcome, from_json, to_json

#: The names of more curves than this stand beside the box.
MANY = 12


def draw(path: Path, title: str, outcome: Outcome) -> None:
    """Draw the boxes of a figure beside each other, at most three per row."""
    from matplotlib.figure import Figure as Picture

    columns = min(3, len(outcome.panels))
    rows = -(-len(outcome.panels) // columns)
    picture = Picture(figsize=(6.0 * columns, 4.4 * rows), layout="constrained")
    boxes = picture.subplots(rows, columns, squeeze=False).ravel()
    styles = ("-", "--", ":", "-.")
    for axes, panel in zip(boxes, outcome.panels, strict=False):
        for k, curve in enumerate(panel.curves):
            marker = "o" if curve.marker or len(curve.x) == 1 else ""
            axes.plot(
                curve.x, curve.y, styles[k // 10 % len(styles)], marker=marker, markersize=4,
                label=curve.name,
            )  # fmt: skip
        axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
        for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
            if name in panel.log:
                axes.set(**{f"{name}scale": "log"})
                _mark(axis)
        axes.grid(visible=True, which="major", alpha=0.3)
        if len(panel.curves) > MANY:
            axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        elif len(panel.curves) > 1:
            axes.legend(fontsize="small")
    for axes in boxes[len(outcome.panels) :]:
        axes.set_visible(False)
    picture.suptitle(title)
    temporary = path.with_name(path.name + ".tmp")
    picture.savefig(temporary, format="png", dpi=100)
    temporary.replace(path)


def _mark(axis: Any) -> None:
    """Label 1, 2 and 5 of every decade where there are few, so that labels do not overlap."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high < 1000.0 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def page(out: Path, done: Sequence[tuple[Figure, Outcome, float]]) -> str:
    """Return the page: the counts, then every figure with its claims."""
    lines = ["# The papers, drawn again", ""]
    counts = {paper: Counter[str]() for paper in sorted({figure.paper for figure, _, _ in done})}
    for figure, outcome, _ in done:
        counts[figure.paper].update(claim.verdict for claim in outcome.claims)
    verdicts = ("agree", "differ", "not comparable")
    rows = [[paper, *(str(count[v]) for v in verdicts)] for paper, count in counts.items()]
    total = sum(counts.values(), Counter[str]())
    rows.append(["all", *(str(total[v]) for v in verdicts)])
    lines += [table(["paper", *verdicts], rows)]
    machine = describe_machine({"partwise", "numba", "numpy", "scipy"})
    lines += [", ".join(f"{key}: {value}" for key, value in machine.items()), ""]
    for figure, outcome, seconds in done:
        lines += [f"## {figure.paper}, {figure.name}: {figure.title}", ""]
        lines += [f"{outcome.data} It took {seconds:.0f} s of CPU time.", ""]
        if outcome.panels:
            lines += [f"![{figure.title}]({figure.key}.png)", ""]
        if outcome.rows:
            lines += [table(list(outcome.header), [list(row) for row in outcome.rows])]
        claims = [[c.says, c.found, c.verdict, c.why] for c in outcome.claims]
        lines += [table(["the paper says", "what came out", "verdict", "why"], claims)]
    return "\n".join(lines)


def outcome_of(figure: Figure, out: Path, quick: bool, again: bool) -> tuple[Outcome, float]:
    """Return the outcome of a figure, from its file if that has been written."""
    path = out / f"{figure.key}.json"
    if path.is_file() and not again:
        held = json.loads(path.read_text(encoding="utf-8"))
        if held["quick"] == quick:
            return from_json(held["outcome"]), held["seconds"]
    began = time.process_time()
    outcome = figure.make(quick)
    seconds = time.process_time() - began
    if outcome.panels:
        draw(out / f"{figure.key}.png", f"{figure.paper}, {figure.name}: {figure.title}", outcome)
    content = {"quick": quick, "seconds": seconds, "outcome": to_json(outcome)}
    write_text(path, json.dumps(content, indent=1) + "\n")
    return outcome, seconds


def chosen(options: argparse.Namespace) -> list[Figure]:
    """Return the figures that the options ask for."""
    names = {f"figure {k}" for k in options.figure} | {f"table {k}" for k in options.table}
    names |= {"claims"} if options.claims else set()
    found = [
        figure
        for figure in all_figures()
        if (not options.paper or figure.paper in options.paper)
        and (not names or figure.name in names)
    ]
    if not found:
        raise SystemExit("no paper has such a figure; --list shows what there is")
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    add = parser.add_argument
    add("--paper", nargs="+", default=[], help="three digits: 000 to 004 (default: all)")
    add("--figure", nargs="+", default=[], help="numbers of figures")
    add("--table", nargs="+", default=[], help="numbers of tables")
    add("--claims", action="store_true", help="the claims in words")
    add("--list", action="store_true", help="list what there is, and draw nothing")
    add("--quick", action="store_true", help="small generated data, no files")
    add("--again", action="store_true", help="draw again what is drawn already")
    add("--out", type=Path, default=Path("bench-results/papers"), help="folder to write to")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Draw what is asked for, and write the page again after every figure."""
    options = parse(arguments)
    figures = chosen(options)
    if options.list:
        for figure in figures:
            sys.stdout.write(f"{figure.paper}  {figure.name:12}{figure.title}\n")
        return
    import matplotlib  # noqa: F401 - whoever lacks it learns so before the work

    options.out.mkdir(parents=True, exist_ok=True)
    done = []
    for figure in figures:
        sys.stderr.write(f"{figure.paper}, {figure.name}: {figure.title}\n")
        try:
            done.append((figure, *outcome_of(figure, options.out, options.quick, options.again)))
        except MissingDataError as error:
            sys.stderr.write(f"  left out: {error}\n")
            continue
        write_text(options.out / "papers.md", page(options.out, done))
    sys.stdout.write(f"{options.out / 'papers.md'}\n")


if __name__ == "__main__":
    main()
