"""What the sections of a report are made of: tables, figures, bars and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..pictures import Markup, element, joined, scrolled
from .facts import Ratio

__all__ = [
    "bar", "definitions", "figure", "interval", "label", "per_cent", "plural", "section", "table",
    "unseen",
]  # fmt: skip


def section(name: str, title: str, *children: object) -> Markup:
    """Return a section with a heading that can be linked to."""
    heading = element("h2", title, id=name)
    return element("section", heading, *children, aria_labelledby=name)


def table(
    caption: object,
    heads: Sequence[tuple[object, str]],
    rows: Iterable[Sequence[object]],
    *,
    class_: str | None = None,
    name: str | None = None,
) -> Markup:
    """Return a table whose first column holds the headings of the rows.

    Parameters
    ----------
    caption : object
        What it shows.
    heads : sequence of (text, class)
        The headings of the columns, and the classes of their cells: "n" for numbers.
    rows : iterable of sequences
        The cells; a cell that is an element ``td`` is taken as it is.
    class_ : str or None
        The class of the table.
    name : str or None
        What the box that it scrolls in is called; the caption if None.
    """
    top = [element("th", text, scope="col", class_=kind or None) for text, kind in heads]
    body = []
    for first, *rest in rows:
        kinds = [kind for _, kind in heads][1:]
        cells = [
            cell
            if isinstance(cell, Markup) and cell.startswith("<td")
            else element("td", cell, class_=kind or None)
            for cell, kind in zip(rest, kinds, strict=True)
        ]
        body.append(element("tr", element("th", first, scope="row"), *cells))
    made = element(
        "table", element("caption", caption), element("thead", element("tr", *top)),
        element("tbody", *body), class_=class_,
    )  # fmt: skip
    return scrolled(made, name or str(caption))


def figure(caption: object, *drawings: object) -> Markup:
    """Return drawings with a caption above them."""
    return element("figure", element("figcaption", caption), *drawings)


def definitions(items: Iterable[tuple[object, object]]) -> Markup:
    """Return names and what they stand for."""
    return element(
        "dl", *(joined([element("dt", a), element("dd", b)]) for a, b in items), class_="plain"
    )


def label(text: object) -> Markup:
    """Return a label as it is written in files; nothing at all has words instead."""
    if text == "":
        return element("em", "nothing")
    return element("span", text, class_="label")


def per_cent(fraction: float, digits: int = 2) -> str:
    """Return a fraction in per cent."""
    return f"{100 * fraction:.{digits}f}%"


def interval(ratio: Ratio) -> str:
    """Return an interval in per cent."""
    return f"{100 * ratio.low:.1f} to {100 * ratio.high:.1f}"


def plural(n: int, what: str) -> str:
    """Return a number of things."""
    several = {"vertex": "vertices"}.get(what, f"{what}s")
    return f"{n:,} {what if n == 1 else several}"


def unseen(text: str) -> Markup:
    """Return text for screen readers only: the heading of a column of drawings."""
    return element("span", text, class_="pw-hidden")


def bar(value: float, most: float) -> Markup:
    """Draw a number as a bar to the right, or as an empty one to the left if it is below 0.

    The number stands beside it, so that screen readers need not know of it.
    """
    length = 35.0 * min(abs(value) / most, 1.0) if most else 0.0
    rect = element(
        "rect", x=36.0 if value >= 0.0 else 36.0 - length, y=2, width=max(length, 0.5), height=8,
        class_="for" if value >= 0.0 else "against",
    )  # fmt: skip
    axis = element("path", d="M36 0V12", class_="pw-axis")
    return element("svg", rect, axis, viewBox="0 0 72 12", class_="bar", aria_hidden="true")
