"""Tokens from Python that are the columns of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DataError
from ...formats.columns import Columns
from .extraction import ColumnTemplates

__all__ = ["as_columns", "given_columns"]


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


def given_columns(X: Any, templates: ColumnTemplates) -> Columns:
    """Return sequences of tokens as the columns that templates are applied to.

    Raises a DataError if the tokens are not columns.
    """
    X = list(X)
    some = next((token for sequence in X for token in sequence), None)
    n_inputs = templates.n_columns
    if some is not None:
        n_inputs = len(some) if isinstance(some, (list, tuple)) else 1
    columns = as_columns(X, n_inputs)
    if columns is None:
        raise DataError(
            "templates are applied to columns, so every token of X must be a list of strings, one "
            "per column, or a string if there is one column; every token must have as many columns "
            f"as the first one, {some!r:.80}"
        )
    templates.check(columns)
    return columns
