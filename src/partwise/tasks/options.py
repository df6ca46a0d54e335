"""Options of tasks: what a user may set in addition to the parameters that all tasks have."""

from __future__ import annotations

from typing import Final

from ..formats.options import Option

__all__ = ["CLASS_WEIGHT", "HASHING", "MIN_COUNT", "MISSING", "Option"]

MIN_COUNT: Final = Option(
    "--min-count",
    "drop features that occur fewer than N times (default: 1)",
    default=1,
    kind="whole number",
    metavar="N",
)
CLASS_WEIGHT: Final = Option(
    "--class-weight",
    "weights of labels: balanced weighs rare ones up, LABEL=X,... sets those of some (others: 1)",
    kind="weights of labels",
    metavar="WEIGHTS",
)
MISSING: Final = Option(
    "--missing", "the label MARK stands for one that is not known; needs the log loss",
    metavar="MARK",
)  # fmt: skip

HASHING: Final = Option(
    "--hashing",
    "hash features to N numbers, a power of two, instead of listing them: takes a fixed memory, "
    "and features that share a number share a weight",
    kind="power of two",
    metavar="N",
)
