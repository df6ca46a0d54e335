"""Reports on a model: one page of HTML that needs nothing else, and a model card in Markdown.

`report` writes them for a model, or an estimator, and examples with the right labels. `gather`
collects the facts about a model and a file, and `report_page` and `model_card` write them down, for
those who want a part of that. Everything that comes from data or from a model file is escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .card import model_card
    from .facts import Course, Facts
    from .gathering import GivenFile, gather
    from .page import report_page
    from .write import report, write_report

__all__ = [
    "Course", "Facts", "GivenFile", "gather", "model_card", "report", "report_page",
    "write_report",
]  # fmt: skip

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Course": ".facts",
        "Facts": ".facts",
        "GivenFile": ".gathering",
        "gather": ".gathering",
        "model_card": ".card",
        "report": ".write",
        "report_page": ".page",
        "write_report": ".write",
    },
)
