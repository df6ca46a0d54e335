"""What users are told about the solvers, read from the solvers themselves.

The needs, the papers and the rest are attributes of the class. The options, their defaults and
their values are those of its constructor. What the solver is, and what each option does, is in its
docstring.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .base import Solver
from .options import Preset, allowed_words, default_options
from .papers import Paper

__all__ = ["OptionFacts", "SolverFacts", "facts_of"]

#: What a need means for the choice of the loss, in the order of the command line.
_LOSSES: Final = {
    "log": frozenset({"tau>0", "log loss"}),
    "hinge": frozenset({"tau=0"}),
    "softmax-margin": frozenset({"tau>0"}),
}
_LOSS_NEEDS: Final = frozenset({"tau>0", "tau=0", "log loss"})
#: What a need means for the choice of the structure.
_STRUCTURES: Final = {
    "multiclass": "a classifier",
    "entropy": "one whose entropy is a sum over parts: a classifier, a chain whose transitions are "
    "not tied, or one with marginal_entropy",
    "steps": "one that a dynamic program builds step by step: all but non-projective trees",
    "unconstrained labels": "without constraints",
}
_REFERENCE: Final = re.compile(r"As (in|for) :class:`[^`]*`\.")
_ROLE: Final = re.compile(r":\w+:`~?(?:[^`]*\.)?([^`.]*)`")


@dataclass(frozen=True)
class OptionFacts:
    """An option of a solver.

    Attributes
    ----------
    name : str
        Its name.
    default
        Its value if it is not given.
    values : str
        The values that it may have, in words.
    description : str
        What it does.
    """

    name: str
    default: Any
    values: str
    description: str


@dataclass(frozen=True)
class SolverFacts:
    """A solver, what it can solve, and its options.

    Attributes
    ----------
    name : str
        Its name in ``SOLVERS``.
    summary : str
        What it is, in one sentence.
    losses : tuple of str
        The losses that it takes.
    structure : str
        The structures that it takes, in words.
    oracles : tuple of str
        The oracles that the structure must have.
    l1 : bool
        Whether it takes ``l1 > 0``.
    threads : bool
        Whether threads make its epochs faster.
    package : str or None
        An optional package that it needs.
    options : tuple of OptionFacts
        Its options.
    presets : mapping of str to Preset
        The published forms that it has by name.
    papers : tuple of Paper
        Where it was published.
    """

    name: str
    summary: str
    losses: tuple[str, ...]
    structure: str
    oracles: tuple[str, ...]
    l1: bool
    threads: bool
    package: str | None
    options: tuple[OptionFacts, ...]
    presets: Mapping[str, Preset]
    papers: tuple[Paper, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {
            "name": self.name,
            "summary": self.summary,
            "losses": list(self.losses),
            "structure": self.structure,
            "oracles": list(self.oracles),
            "l1": self.l1,
            "threads": self.threads,
            "package": self.package,
            "options": [vars(option) for option in self.options],
            "presets": {
                name: {"form": preset.form, "options": dict(preset.options)}
                for name, preset in self.presets.items()
            },
            "papers": [paper._asdict() for paper in self.papers],
        }


def facts_of(solver: type[Solver]) -> SolverFacts:
    """Collect what users are told about a solver."""
    needed = solver.needs & _LOSS_NEEDS
    words = [text for need, text in _STRUCTURES.items() if need in solver.needs]
    return SolverFacts(
        name=solver.name,
        summary=_summary(solver),
        losses=tuple(loss for loss, offers in _LOSSES.items() if needed <= offers),
        structure=", ".join(words) or "any",
        oracles=tuple(sorted(solver.needs & {"marginals", "maximum"})),
        l1=solver.takes_l1,
        threads=solver.threads,
        package=solver.package,
        options=tuple(
            OptionFacts(name, default, allowed_words(solver, name), _description(solver, name))
            for name, default in default_options(solver).items()
        ),
        presets=solver.presets,
        papers=solver.papers,
    )


def _summary(solver: type[Solver]) -> str:
    """Return the first paragraph of the docstring of the class."""
    first = inspect.cleandoc(solver.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.split())


def _description(solver: type[Solver], option: str) -> str:
    """Return what the docstrings of the class and its bases say about an option."""
    for kind in solver.__mro__:
        text = _documented(kind).get(option, "")
        if text and not _REFERENCE.fullmatch(text):
            return _ROLE.sub(r"\1", text).replace("``", "")
    return ""


def _documented(kind: type) -> dict[str, str]:
    """Return the texts of the section on parameters, by name."""
    _, _, section = inspect.cleandoc(kind.__dict__.get("__doc__") or "").partition(
        "Parameters\n----------\n"
    )
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            if line.startswith("-"):  # the heading of another section
                break
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        else:
            found.update({name: f"{found.get(name, '')} {line.strip()}".strip() for name in names})
    return found
