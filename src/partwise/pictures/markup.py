"""Markup in which everything is escaped that does not say that it is markup already."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

__all__ = ["Markup", "element", "joined", "plain_text"]

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
