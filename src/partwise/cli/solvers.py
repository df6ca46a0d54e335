"""``partwise solvers``: list the solvers, or describe one."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from .outcome import Outcome
from .train_and_path import checked_name, spelled

if TYPE_CHECKING:
    from partwise.solvers.facts import OptionFacts, SolverFacts

__all__ = ["run"]

_WIDTH = 96


def run(arguments: argparse.Namespace) -> Outcome:
    """Describe all solvers, or the one that is named."""
    from partwise.solvers.facts import facts_of
    from partwise.solvers.registry import SOLVERS

    name = arguments.name
    chosen = SOLVERS.usable().values() if name is None else [SOLVERS[checked_name(name)]]
    found = [facts_of(solver) for solver in chosen]
    text = _table(found) if name is None else _page(found[0])
    return Outcome({"solvers": [facts.to_json() for facts in found]}, text)


def _table(found: list[SolverFacts]) -> str:
    """Return one paragraph per solver."""
    lines = []
    for facts in found:
        lines.append(f"{facts.name:16}{facts.summary}")
        options = ", ".join(f"{one.name}={spelled(one.default)}" for one in facts.options)
        papers = "; ".join(paper.citation for paper in facts.papers)
        for text in (_needs(facts), f"options: {options}" if options else "", papers):
            lines += textwrap.wrap(
                text, _WIDTH, initial_indent=" " * 16, subsequent_indent=" " * 18,
                break_on_hyphens=False, break_long_words=False,
            )  # fmt: skip
    return "\n".join([*lines, "", "`partwise solvers NAME` says more about one of them."])


def _needs(facts: SolverFacts) -> str:
    parts = [f"loss: {', '.join(facts.losses)}", f"structure: {facts.structure}"]
    parts += ["l1"] if facts.l1 else []
    parts += ["threads"] if facts.threads else []
    parts += [f"needs the package {facts.package}"] if facts.package else []
    return "; ".join(parts)


def _page(facts: SolverFacts) -> str:
    """Return all that is known of one solver."""
    rows = [
        ("loss", ", ".join(facts.losses)),
        ("structure", facts.structure),
        ("oracles", ", ".join(facts.oracles) or "marginals or maximum"),
        ("l1 > 0", "yes" if facts.l1 else "no"),
        ("threads", "make epochs faster" if facts.threads else "for evaluations only"),
    ]
    if facts.package:
        rows.append(("package", facts.package))
    rows += [("paper", str(paper)) for paper in facts.papers]
    lines = [f"{facts.name}: {facts.summary}", ""]
    lines += [_wrapped(f"{name:12}{text}", 12) for name, text in rows]
    lines += ["", "options (--solver-option NAME=VALUE):" if facts.options else _without(facts)]
    for option in facts.options:
        lines += _option(option)
    if facts.presets:
        lines += ["", "published forms (--solver-option preset=NAME):"]
    for name, preset in facts.presets.items():
        expanded = ", ".join(f"{key}={spelled(value)}" for key, value in preset.options.items())
        lines += [f"  {name}", _wrapped(f"      {preset.form}", 6)]
        lines.append(_wrapped(f"      stands for: {expanded}", 8))
    return "\n".join(lines)


def _without(facts: SolverFacts) -> str:
    if facts.name == "auto":
        return "options: those of the solver that it begins with"
    return "no options"


def _option(option: OptionFacts) -> list[str]:
    lines = [f"  {option.name}={spelled(option.default)}"]
    if option.values:
        lines.append(_wrapped(f"      values: {option.values}", 14))
    if option.description:
        lines.append(_wrapped(f"      {option.description}", 6))
    return lines


def _wrapped(text: str, indent: int) -> str:
    return textwrap.fill(
        text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False,
        break_long_words=False, drop_whitespace=True,
    )  # fmt: skip
