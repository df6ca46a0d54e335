"""The style sheet of drawings, and what is put around them."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from .markup import Markup, element

__all__ = ["N_HUES", "STYLE", "scrolled", "standalone"]

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
