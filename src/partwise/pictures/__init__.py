"""Drawings of labels as SVG and HTML, made without any further package.

All functions return :class:`Markup`: text in which everything that came from outside is escaped.
The colours follow the light or dark mode of the reader and depend on :data:`STYLE`, which a page
holds once; :func:`standalone` returns a drawing with its own copy, to be saved as a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .charts import *
    from .highlights import *
    from .markup import *
    from .training import *
    from .trees import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".charts": "Axis Chart interval_svg",
            ".highlights": "hues spans_html tags_html",
            ".markup": "STYLE Markup element joined plain_text scrolled standalone",
            ".training": "gap_chart objective_chart passes_chart score_chart",
            ".trees": "dependency_svg tree_svg",
        },
    )
