"""Options: what a user may set for a format or a task, by name on the command line or in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["COLUMNS", "ENCODING", "LABEL", "Option"]


@dataclass(frozen=True)
class Option:
    """An option of one or several formats or tasks.

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
        "place"; or "switch" for an option without a value, "choice" for one that also has a form
        with ``--no-``.
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


ENCODING: Final = Option(
    "--encoding", "the encoding of the text that is read (default: utf-8)", metavar="NAME"
)
COLUMNS: Final = Option(
    "--columns",
    "the inputs, separated by commas: numbers from 1 and ranges for columns, names for other "
    "formats (default: all columns but the label, or the words)",
    metavar="LIST",
)
LABEL: Final = Option(
    "--label",
    "where the label is: upos, xpos, feats, deprel, lemma, feats:KEY or misc:KEY (default: upos); "
    "for jsonl the key of the labels (default: tags, labels or ner_tags)",
    metavar="NAME",
)
