"""Why a model predicts what it predicts: its weights as a table, and its scores taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .explainer import explain_examples
    from .explanation import Contribution, Difference, Explanation, Explanations, Part, RunnerUp
    from .weights import WeightRow, WeightTable, weight_table

__all__ = [
    "Contribution",
    "Difference",
    "Explanation",
    "Explanations",
    "Part",
    "RunnerUp",
    "WeightRow",
    "WeightTable",
    "explain_examples",
    "weight_table",
]

_EXPLANATION = (
    "Contribution", "Difference", "Explanation", "Explanations", "Part", "RunnerUp",
)  # fmt: skip

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(_EXPLANATION, ".explanation"),
        "WeightRow": ".weights",
        "WeightTable": ".weights",
        "explain_examples": ".explainer",
        "weight_table": ".weights",
    },
)
