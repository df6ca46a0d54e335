"""Which options a solver takes and which values they may have, read off its signature.

The annotations of a constructor say it all: a plain type, a number within bounds, one of some
words, or a union of these. Every solver checks what it is given against them when it is made, so
no constructor does so itself.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from ..values import is_integer

if TYPE_CHECKING:
    from .base import Solver

#: What every solver may get, and users give otherwise.
_GIVEN: Final = {
    *("problem", "l2", "evaluator", "rng", "l1", "tol", "options"),
    *("point", "marginals", "initial_weights"),
}


@dataclass(frozen=True)
class Within:
    """The finite numbers from ``low`` to ``high``, in the words of a message.

    Attributes
    ----------
    words : str
        How a message puts it.
    low, high : float
        The bounds, which belong to it ...
    above, below : bool
        ... unless the number must be above ``low``, or below ``high``.
    """

    words: str
    low: float = 0.0
    high: float = math.inf
    above: bool = False
    below: bool = False

    def holds(self, value: Any) -> bool:
        """Whether the number is one of them."""
        inside = self.low < value if self.above else self.low <= value
        return bool(inside and (value < self.high if self.below else value <= self.high))


@dataclass(frozen=True)
class OneOf:
    """Some words."""

    choices: tuple[str, ...]


Positive: TypeAlias = Annotated[float, Within("a positive number", above=True)]
NotNegative: TypeAlias = Annotated[float, Within("a number from 0")]
Share: TypeAlias = Annotated[float, Within("a number above 0 and up to 1", high=1.0, above=True)]
Decay: TypeAlias = Annotated[float, Within("a number from 0 to 1", high=1.0)]
Factor: TypeAlias = Annotated[float, Within("a number from 0 and below 1", high=1.0, below=True)]
Growth: TypeAlias = Annotated[float, Within("a number from 1", low=1.0)]
Count: TypeAlias = Annotated[int, Within("a whole number from 1", low=1.0)]
CountFrom0: TypeAlias = Annotated[int, Within("a whole number from 0")]

#: What a plain type allows.
_PLAIN: Final = {
    float: Within("a finite number", low=-math.inf),
    int: Within("a whole number", low=-math.inf),
}


def takes(solver: type[Solver], name: str) -> bool:
    """Whether the solver has an argument of that name."""
    return name in _parameters(solver)


def check_options(solver: type[Solver], options: Iterable[str]) -> None:
    """Raise a DataError that lists the options of a solver if some are unknown."""
    parameters = _parameters(solver).values()
    unknown = set(options).difference(offered_options(solver))
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = ", ".join(offered_options(solver))
        has = f"it has {names}" if names else "it has none"
        raise DataError(f"{solver.name} has no option {', '.join(sorted(unknown))}; {has}")


def offered_options(solver: type[Solver]) -> tuple[str, ...]:
    """Name the options that users may give; arrays alone come from an earlier fit."""
    hints = _hints(solver)
    names = []
    for p in _parameters(solver).values():
        given = p.name in _GIVEN or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        kinds = [k for k in _kinds(hints.get(p.name, Any)) if k is not type(None)]
        if not given and not all(_is_array(kind) for kind in kinds):
            names.append(p.name)
    return tuple(names)


def check_values(solver: type[Solver], options: Mapping[str, Any]) -> None:
    """Raise a DataError for the first option whose value its annotation does not allow.

    Arguments without an annotation, and those of types that are not known here, may be anything.
    """
    hints = _hints(solver)
    for name, value in options.items():
        kinds = _kinds(hints.get(name, Any))
        if not any(_fits(value, kind) for kind in kinds):
            allowed = " or ".join(words for kind in kinds if (words := _words(kind)))
            who = getattr(solver, "name", solver.__name__)
            raise DataError(f"the option {name} of {who} is {value!r}; give {allowed}")


def _parameters(solver: type[Any]) -> Mapping[str, inspect.Parameter]:
    # Not of the class itself: some versions of Python would look at __new__.
    parameters = dict(inspect.signature(solver.__init__).parameters)
    del parameters["self"]
    return parameters


@functools.cache
def _hints(solver: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(solver.__init__, include_extras=True)
    except NameError:  # a solver from elsewhere, whose types are imported for a checker alone
        return {}


def _kinds(hint: Any) -> list[Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return [kind for part in get_args(hint) for kind in _kinds(part)]
    return [hint]


def _is_array(kind: Any) -> bool:
    # An array of numpy, or an alias of one that some versions of numpy do not resolve.
    return get_origin(kind) in (np.ndarray, get_origin(Floats))


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _limits(kind: Any) -> tuple[Any, Any]:
    """Give the plain type of a kind, and what limits its values or None."""
    if get_origin(kind) is Annotated:
        return get_args(kind)
    return kind, _PLAIN.get(kind)


def _fits(value: Any, kind: Any) -> bool:
    plain, limits = _limits(kind)
    if plain is float:
        real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        return real and math.isfinite(value) and limits.holds(value)
    if plain is int:
        return is_integer(value) and limits.holds(value)
    if plain is bool:
        return isinstance(value, (bool, np.bool_))
    if plain is str:
        return isinstance(value, str) and (limits is None or value in limits.choices)
    if plain is type(None):
        return value is None
    if _is_array(plain):
        return isinstance(value, np.ndarray)
    if _is_record(plain):
        return _fits_record(value, plain)
    return True


def _fits_record(value: Any, record: Any) -> bool:
    """Whether the value is a record, or a plain tuple of its fields, that all fit."""
    least = len(record._fields) - len(record._field_defaults)
    if not isinstance(value, (tuple, list)) or not least <= len(value) <= len(record._fields):
        return False
    hints = get_type_hints(record, include_extras=True)
    return all(
        any(_fits(part, kind) for kind in _kinds(hints[field]))
        for field, part in zip(record._fields, value, strict=False)
    )


def _words(kind: Any) -> str:
    plain, limits = _limits(kind)
    if isinstance(limits, Within):
        return limits.words
    if isinstance(limits, OneOf):
        return " or ".join(map(repr, limits.choices))
    if plain is bool:
        return "True or False"
    if plain is str:
        return "a string"
    if plain is type(None):
        return "None"
    if _is_record(plain):
        hints = get_type_hints(plain, include_extras=True)
        fields = [f"{field} {_words(hints[field])}" for field in plain._fields]
        return f"({', '.join(plain._fields)}) with {', '.join(fields)}"
    return ""
