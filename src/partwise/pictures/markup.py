"""Markup, in which everything else is escaped; the style sheet of drawings; widths of texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Final

__all__ = [
    "N_HUES", "STYLE", "Markup", "element", "joined", "plain_text", "scrolled", "standalone",
    "text_width",
]  # fmt: skip


#: What neither HTML nor XML may contain, not even escaped, and halves of surrogate pairs.
_FORBIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
#: Elements that hold nothing, in HTML and in SVG.
_EMPTY: Final = frozenset(
    {"br", "circle", "col", "hr", "line", "meta", "path", "polygon", "polyline", "rect"}
)


class Markup(str):
    """Text that is markup already, so that it is not escaped again.

    Examples
    --------
    >>> from partwise.pictures import Markup, element
    >>> element("p", "<b>")
    '<p>&lt;b&gt;</p>'
    >>> element("p", Markup("<b>x</b>"))
    '<p><b>x</b></p>'
    """

    __slots__ = ()


def plain_text(text: object) -> str:
    r"""Return text without characters that markup may not contain; each becomes U+FFFD.

    Parameters
    ----------
    text : object
        Anything; what is no string is converted.

    Returns
    -------
    str
        The text, which is not escaped.

    Examples
    --------
    >>> from partwise.pictures import plain_text
    >>> plain_text("a\x00b") == "a\ufffdb"
    True
    """
    return _FORBIDDEN.sub("\ufffd", str(text))


def joined(children: Iterable[object]) -> Markup:
    """Return children one after the other; those that are not markup are escaped.

    Parameters
    ----------
    children : iterable
        Markup, and what is to be escaped.

    Returns
    -------
    Markup
        All of them.

    Examples
    --------
    >>> from partwise.pictures import element, joined
    >>> joined([element("b", "x"), " < y"])
    '<b>x</b> &lt; y'
    """
    return Markup("".join(_child(child) for child in children))


def element(
    name: str, /, *children: object, **attributes: str | int | float | bool | None
) -> Markup:
    """Return an element of HTML or SVG.

    Parameters
    ----------
    name : str
        The name of the element.
    *children
        What it holds. Everything but `Markup` is escaped.
    **attributes
        The attributes. A trailing ``_`` of a name is dropped and another becomes ``-``, so that
        ``class_`` and ``aria_label`` can be written. None and False leave an attribute out, True
        has no value, and all other values are escaped.

    Returns
    -------
    Markup
        The element.

    Examples
    --------
    >>> from partwise.pictures import element
    >>> element("a", "R&D", href="#top", class_="link", hidden=True)
    '<a href="#top" class="link" hidden>R&amp;D</a>'
    """
    head = name + "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_value(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _EMPTY:
        return Markup(f"<{head}/>")
    return Markup(f"<{head}>{joined(children)}</{name}>")


def _child(child: object) -> str:
    return child if isinstance(child, Markup) else escape(plain_text(child))


def _value(value: object) -> str:
    if isinstance(value, float):
        # Tenths of a pixel are enough for a drawing.
        return f"{value:.1f}".removesuffix(".0")
    return escape(plain_text(value))


#: Widths of the characters from the blank to ~ in Helvetica, in thousandths of the size.
_ASCII: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
#: Other fonts are wider than Helvetica, the widest common one by this much.
_ROOM: Final = 1.14


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, rather too much than too little.

    No font is at hand where a drawing is made, so widths are estimated.
    """
    return sum(map(_character, text)) * size * _ROOM / 1000.0


def _character(character: str) -> int:
    place = ord(character) - 32
    if 0 <= place < len(_ASCII):
        return _ASCII[place]
    if unicodedata.combining(character):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" else 620


#: How many colours labels have; further labels begin again with the first one.
N_HUES: Final = 8
#: The style sheet of all drawings: a page that shows some holds it once.
STYLE: Final = Markup((files(__package__) / "drawings.css").read_text("utf-8"))


def standalone(svg: Markup) -> Markup:
    """Return an SVG drawing as a file of its own, with its style sheet.

    Parameters
    ----------
    svg : Markup
        The drawing.

    Returns
    -------
    Markup
        An SVG element, to be written to a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.pictures import dependency_svg, standalone
    >>> drawing = standalone(dependency_svg(["dogs", "bark"], [2, 0]))
    >>> "<style>" in drawing
    True
    >>> _ = Path("tree.svg").write_text(drawing, encoding="utf-8")
    """
    ink = "svg{color:#1f2328}@media (prefers-color-scheme:dark){svg{color:#e6edf3}}"
    head, end, rest = svg.partition(">")
    return Markup(f"{head}{end}<style>{ink}{STYLE}</style>{rest}\n")


def scrolled(drawing: Markup, label: str) -> Markup:
    """Return a drawing in a box that scrolls sideways, also by keyboard.

    Parameters
    ----------
    drawing : Markup
        The drawing.
    label : str
        What a screen reader calls the box.

    Returns
    -------
    Markup
        An element of HTML.

    Examples
    --------
    >>> from partwise.pictures import dependency_svg, scrolled
    >>> box = scrolled(dependency_svg(["dogs", "bark"], [2, 0]), "dogs bark")
    >>> box.startswith("<div"), 'tabindex="0"' in box
    (True, True)
    """
    return element("div", drawing, class_="pw-scroll", role="region", aria_label=label, tabindex=0)
