"""Sequences whose features have been read."""

from __future__ import annotations

from typing import Any

from ..crfsuite.items import Attributes, read_items

__all__ = ["ItemSequence", "attributes_of"]


class ItemSequence:
    """The features of the tokens of a sequence, read once.

    A trainer or a tagger takes it in place of the features, and does not read them again.

    Parameters
    ----------
    pyseq : iterable
        One item per token, as :func:`partwise.compat.crfsuite.items.read_items` describes it.

    Examples
    --------
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Any) -> None:
        self._attributes = attributes_of(pyseq)

    def items(self) -> list[dict[str, float]]:
        """Return the attributes of each token with their values."""
        return [dict(item) for item in self._attributes]

    def __len__(self) -> int:
        return len(self._attributes)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def attributes_of(sequence: Any) -> list[Attributes]:
    """Return the attributes of a sequence, which may be an `ItemSequence`."""
    return sequence._attributes if isinstance(sequence, ItemSequence) else read_items(sequence)
