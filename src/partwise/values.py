"""Checks of single parameter values."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

from .errors import DataError

__all__ = ["is_integer", "is_number", "one_of"]


def is_integer(value: Any) -> bool:
    """Return whether the value is an integer; a bool is not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is a real number; a bool is not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def one_of(name: str, value: Any, known: Collection[str]) -> None:
    """Raise a DataError unless the value is one of the known names."""
    if not isinstance(value, str) or value not in known:
        raise DataError(f"{name} is {value!r}; use one of {', '.join(known)}")
