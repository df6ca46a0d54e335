"""Rows of numbers from JSON, checked, and the error for JSON that a model cannot read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from ..problem.rows import Rows

__all__ = ["RefusedInput", "dense_row", "matrix", "row_of", "rows_of", "sparse_row"]

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)


class RefusedInput(DataError):
    """JSON that a model cannot read.

    Parameters
    ----------
    code : str
        A name for programs: ``"too_long"``.
    message : str
        What is wrong and what to do, for people.
    where : str
        The place in the request: ``"inputs[2].tokens"``.
    status : int
        The status code of an answer over HTTP.
    """

    def __init__(self, code: str, message: str, where: str, status: int = 422) -> None:
        super().__init__(message)
        self.code, self.where, self.status = code, where, status


def _checked(value: Any, where: str) -> float:
    """Return a finite number."""
    if type(value) not in (int, float):
        raise RefusedInput("wrong_type", f"{where} is not a number; give numbers", where)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RefusedInput("not_finite", f"{where} is too large; give finite numbers", where)
    return number


def dense_row(values: Sequence[Any], where: str) -> tuple[Ints, Floats]:
    """Return the features of a list of numbers: those that are not 0, and their values."""
    row = np.array([_checked(value, f"{where}[{i}]") for i, value in enumerate(values)], float)
    kept = np.flatnonzero(row)
    return kept.astype(np.int64), row[kept]


def sparse_row(values: Mapping[str, Any], n: int | None, where: str) -> tuple[Ints, Floats]:
    """Return the features of an object from numbers, counted from 1, to values.

    Parameters
    ----------
    values : mapping of str to number
        The values.
    n : int or None
        The number of features; None if there may be any.
    where : str
        The place in the request.
    """
    most = n if n is not None else 2**31 - 1
    found: dict[int, float] = {}
    for name, value in values.items():
        if _NUMBER.fullmatch(name) is None or int(name) > most:
            raise RefusedInput(
                "unknown_feature",
                f"{where} has the feature {name[:40]!r}; features are numbered from 1 to {most:,}",
                where,
            )  # fmt: skip
        found[int(name) - 1] = _checked(value, f"{where}.{name}")
    numbers = np.array(sorted(found), dtype=np.int64)
    return numbers, np.array([found[i] for i in numbers.tolist()], dtype=float)


def row_of(numbers: Ints, values: Floats, n: int) -> Rows:
    """Return one row of n features."""
    ends = np.array([0, len(numbers)], dtype=np.int64)
    return Rows(ends, numbers.astype(np.int32), values, n)


def matrix(rows: Sequence[Any], n: int, where: str) -> Floats:
    """Return lists of n numbers as a matrix."""
    for t, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != n:
            raise RefusedInput(
                "wrong_length", f"{where}[{t}] is not a list of {n:,} numbers", f"{where}[{t}]"
            )
    flat = [
        _checked(value, f"{where}[{t}][{i}]")
        for t, row in enumerate(rows)
        for i, value in enumerate(row)
    ]
    return np.array(flat, dtype=float).reshape(len(rows), n)


def rows_of(given: Any, n: int, where: str) -> Rows:
    """Return rows of n features from a list of lists of numbers, or of objects from numbers."""
    if not isinstance(given, list):
        raise RefusedInput("wrong_type", f"{where} is not a list of rows", where)
    found = []
    for t, row in enumerate(given):
        place = f"{where}[{t}]"
        if isinstance(row, dict):
            found.append(row_of(*sparse_row(row, n, place), n))
        else:
            matrix([row], n, place)
            found.append(row_of(*dense_row(row, place), n))
    empty = row_of(np.zeros(0, dtype=np.int64), np.zeros(0), n)
    return Rows.stack(found) if found else empty.take(slice(0, 0))
