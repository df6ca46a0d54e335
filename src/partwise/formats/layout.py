"""What a file holds beside tokens, inputs and labels, so that it can be written back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Layout"]


@dataclass(frozen=True, eq=False)
class Layout:
    """The parts of a file around its tokens.

    Attributes
    ----------
    format : str
        The name of the format that understands the layout.
    sentences : sequence
        For each sentence, what the writer of the format needs to write it as it was.
    tail
        What follows the last sentence.
    settings : mapping
        The options that the file was read with.
    extras : mapping of str to int
        The names and numbers of the things that only this layout holds, such as comments. Another
        format cannot carry them.
    """

    format: str
    sentences: Sequence[Any]
    tail: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[str, int] = field(default_factory=dict)

    def take(self, which: Sequence[int]) -> Layout:
        """Return the layout of some of the sentences; what follows the last one is left out."""
        return replace(self, sentences=[self.sentences[s] for s in which], tail=None)
