"""Drawings of labels as SVG and HTML, made without any further package.

All functions return :class:`Markup`: text in which everything that came from outside is escaped.
The colours follow the light or dark mode of the reader and depend on :data:`STYLE`, which a page
holds once; :func:`standalone` returns a drawing with its own copy, to be saved as a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arcs import dependency_svg
    from .charts import Axis, Chart, interval_svg
    from .highlights import hues, spans_html, tags_html
    from .markup import Markup, element, joined, plain_text
    from .style import STYLE, scrolled, standalone
    from .training import gap_chart, objective_chart, passes_chart, score_chart
    from .trees import tree_svg

__all__ = [
    "STYLE",
    "Axis",
    "Chart",
    "Markup",
    "dependency_svg",
    "element",
    "gap_chart",
    "hues",
    "interval_svg",
    "joined",
    "objective_chart",
    "passes_chart",
    "plain_text",
    "score_chart",
    "scrolled",
    "spans_html",
    "standalone",
    "tags_html",
    "tree_svg",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "dependency_svg": ".arcs",
        **dict.fromkeys(("Axis", "Chart", "interval_svg"), ".charts"),
        **dict.fromkeys(("hues", "spans_html", "tags_html"), ".highlights"),
        **dict.fromkeys(("Markup", "element", "joined", "plain_text"), ".markup"),
        **dict.fromkeys(("STYLE", "scrolled", "standalone"), ".style"),
        **dict.fromkeys(
            ("gap_chart", "objective_chart", "passes_chart", "score_chart"), ".training"
        ),
        "tree_svg": ".trees",
    },
)
