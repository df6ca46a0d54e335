"""Tokens from Python in the form of the columns of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formats.columns import Columns

__all__ = ["as_columns"]


def as_columns(X: Any, n_inputs: int) -> Columns | None:
    """Return sequences of tokens as the columns of a file; None if they have another form.

    A token is a string if there is one column, otherwise a list or tuple of one string per column.
    """
    if not isinstance(X, (list, tuple)):
        return None
    fields: tuple[list[str], ...] = tuple([] for _ in range(n_inputs))
    lengths = []
    for sequence in X:
        if not isinstance(sequence, (list, tuple)):
            return None
        for token in sequence:
            values = [token] if isinstance(token, str) else token
            if not isinstance(values, (list, tuple)) or len(values) != n_inputs:
                return None
            if not all(isinstance(value, str) for value in values):
                return None
            for column, value in zip(fields, values, strict=True):
                column.append(value)
        lengths.append(len(sequence))
    counts = np.array(lengths, dtype=np.int64)
    return Columns("X", fields, None, counts, np.arange(1, 1 + int(counts.sum())))
