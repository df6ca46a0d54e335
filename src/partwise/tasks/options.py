"""Options of tasks: what a user may set in addition to the parameters that all tasks have."""

from __future__ import annotations

from typing import Final

from ..formats.options import Option

__all__ = ["CLASS_WEIGHT", "MIN_COUNT", "Option"]

MIN_COUNT: Final = Option(
    "--min-count",
    "drop features that occur fewer than N times (default: 1)",
    default=1,
    kind="whole number",
    metavar="N",
)
CLASS_WEIGHT: Final = Option("--class-weight", "weigh rare labels up", choices=("balanced",))
