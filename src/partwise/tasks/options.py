"""Options of tasks: what a user may set in addition to the parameters that all tasks have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["CLASS_WEIGHT", "MIN_COUNT", "MISSING", "Option"]


@dataclass(frozen=True)
class Option:
    """An option of one or several tasks.

    Attributes
    ----------
    flag : str
        The option on the command line: ``"--min-count"``.
    help : str
        What it does, in a few words.
    default
        Its value if it is not given.
    kind : str
        The kind of its value: "text", "whole number", "number from 0", "number", "power of two",
        "share" for a number from 0 to 1, "number or scale" for one above 0, ``scale`` or ``auto``,
        "weights of labels" for ``balanced`` or ``A=2,B=0.5``; or "switch" for an option without a
        value, "choice" for one that also has a form with ``--no-``.
    choices : tuple
        The values that it may have; empty if it may have any.
    metavar : str or None
        The name of its value in the help.
    """

    flag: str
    help: str
    default: Any = None
    kind: str = "text"
    choices: tuple[Any, ...] = ()
    metavar: str | None = None

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def spelled(self) -> list[str]:
        """All forms of the option on the command line."""
        if self.kind != "choice":
            return [self.flag]
        return [self.flag, f"--no-{self.flag[2:]}"]


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
