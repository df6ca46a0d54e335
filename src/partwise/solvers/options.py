"""The options of a solver and their allowed values, read from the signature of its constructor.

An option is annotated with a plain type, a number within bounds, one of some words, or a union of
these. The values that users give are checked against the annotations before a solver is made, so
constructors do not check them again. A preset stands for several options at once: those of a
published form.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from ..errors import OptionError
from ..parameters import (
    Count,
    CountFrom0,
    Decay,
    Factor,
    Growth,
    Kind,
    NotNegative,
    OneOf,
    Positive,
    Share,
    Within,
    fits,
    is_record,
    kinds_of,
    words_of,
)

if TYPE_CHECKING:
    from .base import Solver

__all__ = [
    "Count", "CountFrom0", "Decay", "Factor", "Growth", "NotNegative", "OneOf", "Positive",
    "Preset", "Share", "Within", "allowed_words", "default_options",
    "read_option", "settled_options",
]  # fmt: skip


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


def default_options(solver: type[Solver]) -> dict[str, Any]:
    """Return the options that users may give, with their default values."""
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {p.name: p.default for p in _parameters(solver) if p.kind not in several}


def allowed_words(solver: type[Solver], name: str) -> str:
    """Return which values an option may have, in words; empty if it may have any."""
    kinds = kinds_of(_hints(solver).get(name, Any))
    return " or ".join(words for kind in kinds if (words := words_of(kind)))


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
    for kind in kinds_of(_hints(solver).get(name, Any)):
        for value in _readings(text, kind):
            if fits(value, kind):
                return value
    raise _not_allowed(solver, name, text)


def _readings(text: str, kind: Kind) -> list[Any]:
    """Return what a text may stand for, as a value of some kind."""
    plain = kind.plain
    if plain is str:
        return [text]
    if is_record(plain):
        hints = get_type_hints(plain, include_extras=True)
        parts = text.strip("()").split(",")
        fields = zip(parts, (*plain._fields, *[None] * len(parts)), strict=False)
        read = [
            _readings(part.strip(), kinds_of(hints[field])[0])[:1] if field else []
            for part, field in fields
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
        if not any(fits(value, kind) for kind in kinds_of(hints.get(option, Any))):
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
        raise OptionError(f"{solver.name} has no preset {name!r}", remedy=f"it has {known}")
    return solver.presets[name]


def _check_names(solver: type[Solver], names: Iterable[str]) -> None:
    defaults = default_options(solver)
    unknown = set(names).difference(defaults, ("preset",) if solver.presets else ())
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in _parameters(solver)):
        listed = ", ".join(f"{name}={value!r}" for name, value in defaults.items())
        raise OptionError(
            f"{solver.name} has no option {', '.join(sorted(unknown))}",
            remedy=f"it has {listed or 'none'}",
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
