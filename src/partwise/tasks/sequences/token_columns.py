"""Tokens from Python that are the columns of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DataError
from ...formats.columns import Columns
from .extraction import ColumnTemplates
from .templates import TemplateSet, template_for

__all__ = ["as_columns", "check_file", "default_templates", "given_columns"]


def check_file(X: Any, y: Any) -> None:
    """Raise a DataError if X is the name of a file, or a file that does not go with y."""
    if isinstance(X, (str, os.PathLike)):
        raise DataError(
            f"X is of type {type(X).__name__}; give a list of sequences, or for a file what a "
            "reader returns, such as partwise.formats.read_columns(path)"
        )
    if not isinstance(X, Columns):
        return
    if X.labels is None:
        raise DataError(f"{X.path} was read without labels; read it with labelled=True, without y")
    if y is not None:
        raise DataError(f"{X.path} was read with labels of its own; leave y out")


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
    some = _first_token(X)
    columns = as_columns(X, templates.n_columns if some is None else _width(some))
    if columns is None:
        raise DataError(
            "templates are applied to columns, so every token of X must be a list of strings, one "
            "per column, or a string if there is one column; every token must have as many columns "
            f"as the first one, {some!r:.80}"
        )
    templates.check(columns)
    return columns


def default_templates(X: Sequence[Any]) -> TemplateSet:
    """Return the templates that a file with the columns of these tokens gets by default."""
    some = _first_token(X)
    n_inputs = 1 if some is None else _width(some)
    return template_for(n_inputs, spelling=n_inputs == 1)


def _first_token(X: Sequence[Any]) -> Any:
    return next((token for sequence in X for token in sequence), None)


def _width(token: Any) -> int:
    """Return the number of columns of a token; what has none is refused by `as_columns`."""
    return len(token) if isinstance(token, (list, tuple)) else 1
