"""The function of sklearn-crfsuite's module of this name."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

__all__ = ["flatten"]


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """Put the items of all sequences into one list.

    Examples
    --------
    >>> flatten([[1, 2], [3, 4]])
    [1, 2, 3, 4]
    """
    return list(chain.from_iterable(y))
