"""Why a model predicts what it predicts: its weights as a table, and its scores taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .explainer import *
    from .explanation import *
    from .weights import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".explainer": "explain_examples",
            ".explanation": "Contribution Difference Explanation Explanations Part RunnerUp",
            ".weights": "WeightRow WeightTable weight_table",
        },
    )
