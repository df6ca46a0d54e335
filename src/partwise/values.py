"""Checks of single parameter values."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from .errors import DataError

__all__ = ["check_count", "is_integer", "is_number", "one_of"]


def is_integer(value: Any) -> bool:
    """Return whether the value is an integer; a bool is not."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: Any) -> bool:
    """Return whether the value is a real number; a bool is not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def check_count(name: str, value: Any) -> None:
    """Raise a DataError unless the value is a whole number from 1."""
    if not is_integer(value) or value < 1:
        raise DataError(f"{name} is {value!r}; give a whole number from 1")


def one_of(name: str, value: Any, known: Collection[str]) -> None:
    """Raise a DataError unless the value is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise DataError(f"{name} is {value!r}; use one of {', '.join(known)}")
