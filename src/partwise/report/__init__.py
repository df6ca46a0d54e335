"""Reports on a model: one page of HTML that needs nothing else, and a model card in Markdown.

`report` writes them for a model, or an estimator, and examples with the right labels. `gather`
collects the facts about a model and a file, and `report_page` and `model_card` write them down, for
those who want a part of that. Everything that comes from data or from a model file is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .card import *
    from .facts import *
    from .gathering import *
    from .page import *
    from .write import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".card": "model_card",
            ".facts": "Course Facts",
            ".gathering": "GivenFile gather",
            ".page": "report_page",
            ".write": "report write_report",
        },
    )
