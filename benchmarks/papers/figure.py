"""What a figure, a table or a claim of a paper is, and what comes out when it is drawn again.

A module of this package exports ``FIGURES``, a tuple of `Figure`. Each has a function that takes
``quick`` and returns an `Outcome`: the curves in the axes of the paper, and what the paper says of
them beside what came out. With ``quick`` it needs no files and takes a few seconds; without, it
uses the data and the size of the paper, or a part that its `Outcome.data` states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

Verdict = Literal["agree", "differ", "not comparable"]


class Curve(NamedTuple):
    """A line of a figure; ``marker`` draws its points too."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    marker: bool = False


class Panel(NamedTuple):
    """One box of a figure. ``log`` names the axes that are logarithmic: "", "x", "y" or "xy"."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    log: str = ""


class Claim(NamedTuple):
    """What the paper says, what came out, and whether they agree; ``why`` if they do not."""

    says: str
    found: str
    verdict: Verdict
    why: str = ""


class Outcome(NamedTuple):
    """What came out.

    Attributes
    ----------
    data : str
        What was drawn from which data, in a sentence. A substitute and a part are named here.
    panels : sequence of Panel
        The boxes of the picture; none for a table.
    claims : sequence of Claim
        At least one.
    header, rows
        A table, if there is one.
    """

    data: str
    panels: Sequence[Panel]
    claims: Sequence[Claim]
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


class Figure(NamedTuple):
    """A figure, a table, or the claims in words of a paper.

    Attributes
    ----------
    paper : str
        The three digits by which this project calls the paper.
    name : str
        ``"figure 4"``, ``"table 2"`` or ``"claims"``.
    title : str
        What it shows.
    make : callable
        Takes ``quick`` and returns the outcome.
    """

    paper: str
    name: str
    title: str
    make: Callable[[bool], Outcome]

    @property
    def key(self) -> str:
        """The name of its files."""
        return f"{self.paper}-{self.name.replace(' ', '-')}"


def compare(says: str, found: str, holds: bool | None, why: str = "") -> Claim:
    """Return a claim; None: it cannot be compared, and ``why`` says why."""
    if holds is None:
        return Claim(says, found, "not comparable", why)
    return Claim(says, found, "agree" if holds else "differ", "" if holds else why)


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain data."""
    content = outcome._asdict()
    content["panels"] = [
        {**panel._asdict(), "curves": [_plain(curve) for curve in panel.curves]}
        for panel in outcome.panels
    ]
    content["claims"] = [claim._asdict() for claim in outcome.claims]
    return content


def _plain(curve: Curve) -> dict[str, Any]:
    numbers = {"x": [float(x) for x in curve.x], "y": [float(y) for y in curve.y]}
    return {**curve._asdict(), **numbers}


def from_json(content: dict[str, Any]) -> Outcome:
    """Return the outcome that `to_json` wrote."""
    panels = [
        Panel(**{**panel, "curves": [Curve(**curve) for curve in panel["curves"]]})
        for panel in content["panels"]
    ]
    claims = [Claim(**claim) for claim in content["claims"]]
    return Outcome(**{**content, "panels": panels, "claims": claims})
