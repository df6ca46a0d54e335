"""The tables of solvers in docs/solvers.md, made from the solvers.

``PYTHONPATH=src:tests python -m support.solver_tables`` writes them into the file.
"""

from __future__ import annotations

import re
from pathlib import Path

from partwise.solvers.facts import SolverFacts, facts_of
from partwise.solvers.registry import SOLVERS

PAGE = Path(__file__).parents[2] / "docs" / "solvers.md"
_LOSSES = {3: "any", 2: "smooth"}


def solver_table() -> list[str]:
    """Return one row per solver: what it is and what it needs."""
    rows = ["| name | what it is | loss | structure | l1 | threads |", "|---|---|---|---|---|---|"]
    return rows + [_solver_row(facts) for facts in _all() if facts.name != "auto"]


def option_table() -> list[str]:
    """Return one row per solver: its options and their defaults."""
    rows = ["| solver | `solver_options` |", "|---|---|"]
    rows.append("| `auto` | those of the solver that it begins with |")
    for facts in _all():
        if facts.options:
            listed = ", ".join(f"`{one.name}={one.default!r}`" for one in facts.options)
            rows.append(f"| `{facts.name}` | {listed.replace(chr(39), chr(34))} |")
    without = ", ".join(f"`{facts.name}`" for facts in _all()[1:] if not facts.options)
    return [*rows, f"| {without} | none |"]


def _all() -> list[SolverFacts]:
    return [facts_of(SOLVERS[name]) for name in SOLVERS if SOLVERS.built_in(name)]


def _solver_row(facts: SolverFacts) -> str:
    cited = "; ".join(paper.citation for paper in facts.papers)
    what = facts.summary.removesuffix(".")
    loss = _LOSSES.get(len(facts.losses)) or f"`{facts.losses[0]}`"
    structure = facts.structure.replace("marginal_entropy", "`marginal_entropy`")
    marks = ["yes" if mark else "" for mark in (facts.l1, facts.threads)]
    cells = [f"`{facts.name}`", f"{what} ({cited})", loss, structure, *marks]
    return re.sub(" +", " ", f"| {' | '.join(cells)} |")


def tables_of(text: str) -> list[list[str]]:
    """Return the first two tables of a page, as lists of lines."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [table.splitlines() for table in found[:2]]


def main() -> None:
    """Replace the tables of the page."""
    text = PAGE.read_text("utf-8")
    for old, new in zip(tables_of(text), (solver_table(), option_table()), strict=True):
        text = text.replace("\n".join(old), "\n".join(new))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
