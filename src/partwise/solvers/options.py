"""The options of a solver and their allowed values, read from the signature of its constructor.

An option is annotated with a plain type, a number within bounds, one of some words, or a union of
these. The values that users give are checked against the annotations before a solver is made, so
constructors do not check them again. A preset stands for several options at once: those of a
published form.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ..errors import OptionError
from ..values import is_integer

if TYPE_CHECKING:
    from .base import Solver


@dataclass(frozen=True)
class Within:
    """The finite numbers from ``low`` to ``high``, and how a message describes them.

    Attributes
    ----------
    words : str
        The description of these numbers in a message.
    low, high : float
        The bounds, which are allowed themselves ...
    above, below : bool
        ... unless the number must be above ``low``, or below ``high``.
    """

    words: str
    low: float = 0.0
    high: float = math.inf
    above: bool = False
    below: bool = False

    def holds(self, value: Any) -> bool:
        """Return whether the number is within the bounds."""
        inside = self.low < value if self.above else self.low <= value
        return bool(inside and (value < self.high if self.below else value <= self.high))


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    choices: tuple[str, ...]


class Preset(NamedTuple):
    """A published form of a solver, under a name of its own.

    Attributes
    ----------
    form : str
        What was published, and where.
    options : mapping
        The ordinary options that it stands for.
    """

    form: str
    options: Mapping[str, Any]


Positive: TypeAlias = Annotated[float, Within("a positive number", above=True)]
NotNegative: TypeAlias = Annotated[float, Within("a number from 0")]
Share: TypeAlias = Annotated[float, Within("a number above 0 and up to 1", high=1.0, above=True)]
Decay: TypeAlias = Annotated[float, Within("a number from 0 to 1", high=1.0)]
Factor: TypeAlias = Annotated[float, Within("a number from 0 and below 1", high=1.0, below=True)]
Growth: TypeAlias = Annotated[float, Within("a number from 1", low=1.0)]
Count: TypeAlias = Annotated[int, Within("a whole number from 1", low=1.0)]
CountFrom0: TypeAlias = Annotated[int, Within("a whole number from 0")]

#: The values that a plain type allows.
_PLAIN: Final = {
    float: Within("a finite number", low=-math.inf),
    int: Within("a whole number", low=-math.inf),
}


def offered_options(solver: type[Solver]) -> tuple[str, ...]:
    """Return the names of the options that users may give."""
    parameters = _parameters(solver)
    return tuple(p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL))


def default_options(solver: type[Solver]) -> dict[str, Any]:
    """Return the default values of the options that users may give."""
    names = offered_options(solver)
    return {p.name: p.default for p in _parameters(solver) if p.name in names}


def allowed_words(solver: type[Solver], name: str) -> str:
    """Return which values an option may have, in words; empty if it may have any."""
    kinds = _kinds(_hints(solver).get(name, Any))
    return " or ".join(words for kind in kinds if (words := _words(kind)))


def read_option(solver: type[Solver], name: str, text: str) -> Any:
    """Return the value of an option that a user gave as text.

    Numbers and words are given as they are, ``none``, ``true`` and ``false`` in small letters or
    with a capital, and the fields of a record with commas between them: ``1000,5,0.9``.

    Parameters
    ----------
    solver : type of Solver
        The solver.
    name : str
        The name of the option.
    text : str
        Its value.
    """
    _check_names(solver, (name,))
    if name == "preset":
        _preset(solver, text)
        return text
    for kind in _kinds(_hints(solver).get(name, Any)):
        for value in _readings(text, kind):
            if _fits(value, kind):
                return value
    raise _not_allowed(solver, name, text)


def _readings(text: str, kind: Any) -> list[Any]:
    """Return what a text may stand for, as a value of some kind."""
    plain, _ = _limits(kind)
    if plain is str:
        return [text]
    if _is_record(plain):
        hints = get_type_hints(plain, include_extras=True)
        parts = text.strip("()").split(",")
        fields = zip(parts, (*plain._fields, *[None] * len(parts)), strict=False)
        read = [
            _readings(part.strip(), hints[field])[:1] if field else [] for part, field in fields
        ]
        return [tuple(value for some in read for value in some)] if all(read) else []
    found: list[Any] = []
    words = {"none": None, "true": True, "false": False}
    if text in (text.lower(), text.capitalize()) and text.lower() in words:
        found.append(words[text.lower()])
    for number in (int, float):
        with suppress(ValueError):
            found.append(number(text))
    # Options of types that are not known here may be anything.
    known = plain in (int, float, bool, type(None))
    return found if known else [*found, text]


def settled_options(solver: type[Solver], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for the constructor, with those that a preset stands for.

    Raises an OptionError if the solver lacks an option or a preset, does not allow a value, or if
    an option contradicts the preset. A constructor with ``**options`` checks them itself. Options
    without an annotation, and those of types that are not known here, may be anything.

    Parameters
    ----------
    solver : type of Solver
        The solver.
    options : mapping
        The options that the user gave.
    """
    _check_names(solver, options)
    given = dict(options)
    name = given.pop("preset", None) if solver.presets else None
    implied = {} if name is None else _preset(solver, name).options
    hints = _hints(solver)
    for option, value in given.items():
        if not any(_fits(value, kind) for kind in _kinds(hints.get(option, Any))):
            raise _not_allowed(solver, option, value)
        if option in implied and value != implied[option]:
            raise OptionError(
                f"the preset {name} of {solver.name} stands for {option}={implied[option]!r}, and "
                f"{option} is {value!r}; leave one of the two out"
            )
    return {**implied, **given}


def _preset(solver: type[Solver], name: Any) -> Preset:
    if not isinstance(name, str) or name not in solver.presets:
        known = ", ".join(solver.presets)
        raise OptionError(f"{solver.name} has no preset {name!r}; it has {known}")
    return solver.presets[name]


def _check_names(solver: type[Solver], names: Iterable[str]) -> None:
    defaults = default_options(solver)
    unknown = set(names).difference(defaults, ("preset",) if solver.presets else ())
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in _parameters(solver)):
        listed = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
        raise OptionError(
            f"{solver.name} has no option {', '.join(sorted(unknown))}; it has {listed or 'none'}"
        )


def _not_allowed(solver: type[Solver], name: str, value: Any) -> OptionError:
    words = allowed_words(solver, name)
    return OptionError(f"the option {name} of {solver.name} is {value!r}; give {words}")


def _parameters(solver: type[Any]) -> list[inspect.Parameter]:
    """Return the parameters of the constructor behind self and the goal."""
    return list(inspect.signature(solver.__init__).parameters.values())[2:]


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


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _limits(kind: Any) -> tuple[Any, Any]:
    """Return the plain type of a kind, and what limits its values or None."""
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
    if _is_record(plain):
        return _fits_record(value, plain)
    return True


def _fits_record(value: Any, record: Any) -> bool:
    """Return whether the value is a record, or a plain tuple of fields that all fit."""
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
