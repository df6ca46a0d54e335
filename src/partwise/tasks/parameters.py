"""The parameters that trainers of several tasks have, and the options that set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from ..errors import DataError
from ..formats.options import Option
from ..parameters import (
    PROCESS,
    Count,
    CountFrom0,
    Declared,
    Flag,
    HashSize,
    OneOf,
    Parameter,
    declared,
)
from ..training.path_table import RULES, GridParameters
from ..training.settings import Parameters

__all__ = [
    "FeatureParameters",
    "PathParameters",
    "TrainerParameters",
    "flagged",
    "given_parameters",
    "option_of",
    "options_of",
]

#: Defaults below this are written as ``1e-4`` in the help.
_SMALL: Final = 0.01


class TrainerParameters(Parameters):
    """The parameters of every trainer.

    Parameters
    ----------
    warm_start : bool
        Whether `fit` starts where the last one ended: from its dual variables if the shapes and the
        labels of the examples are the same, otherwise from its weights. There may be new features
        and labels.
    verbose : int
        If above 0, progress is shown on stderr.
    callbacks : callable, sequence of callables or None
        Called after each epoch with a :class:`partwise.training.Progress`; a true result stops
        the fit. A :class:`partwise.training.EarlyStopping` among them scores held-out data.
    missing_label : str, int, float or None
        A label that stands for one that is missing, such as -100 or "?". None is always a missing
        label, and a set holds the labels that are possible. Such labels need the log loss, whose
        objective is then not convex: see the page on missing labels.
    """

    warm_start: Annotated[bool, PROCESS] = False
    verbose: Annotated[CountFrom0 | bool, PROCESS] = 0
    callbacks: Annotated[Any, PROCESS] = None
    missing_label: Annotated[
        Any,
        Flag(
            "--missing",
            "the label MARK stands for one that is not known; needs the log loss",
            "MARK",
            reads="text",
        ),
    ] = None


class FeatureParameters(Declared):
    """The parameters of trainers that list features, or hash them.

    Parameters
    ----------
    min_count : int
        Features that occur less often are ignored.
    hashing : int or None
        None lists the features that occur in training. A power of two: features get numbers below
        it by hashing their names, so that no list is kept, and those that share a number share a
        weight.
    """

    min_count: Annotated[
        Count,
        Flag(
            "--min-count", "drop features that occur fewer than N times (default: {default})", "N"
        ),
    ] = 1
    hashing: Annotated[
        HashSize | None,
        Flag(
            "--hashing",
            "hash features to N numbers, a power of two, instead of listing them: takes a fixed "
            "memory, and features that share a number share a weight",
            "N",
        ),
    ] = None

    def check(self) -> None:
        super().check()
        if self.hashing is not None and self.min_count > 1:
            raise DataError(
                f"min_count is {self.min_count} with hashing={self.hashing}; leave it out, as "
                "hashing keeps no counts"
            )


class PathParameters(GridParameters):
    """The parameters of a path over l2, and of the choice of the best one.

    Parameters
    ----------
    rule : {"best", "one-se"}
        "best" chooses the l2 with the best mean score. "one-se" chooses the largest l2 whose mean
        score is within one standard error of the best.
    """

    rule: Annotated[
        str,
        OneOf(RULES),
        Flag(
            "--rule",
            "with --folds: the best mean score, or the largest l2 within one standard error of it "
            "(default: {default})",
        ),
    ] = "best"


def flagged(kind: type[Declared]) -> dict[str, list[Parameter]]:
    """Return the options of parameters, and for each the parameters that it sets."""
    found: dict[str, list[Parameter]] = {}
    for parameter in declared(kind).values():
        if parameter.flag is not None:
            found.setdefault(parameter.flag.dest, []).append(parameter)
    return found


def options_of(kind: type[Declared], beyond: type[Declared] = Parameters) -> tuple[Option, ...]:
    """Return the options for the parameters of a class, without those that another class has."""
    known = declared(beyond)
    return tuple(
        option_of(several[0])
        for several in flagged(kind).values()
        if not known.keys() & {one.name for one in several}
    )


def option_of(parameter: Parameter, default: Any = ..., **more: str) -> Option:
    """Return the option of the command that sets a parameter.

    Parameters
    ----------
    parameter : Parameter
        The parameter.
    default
        Another default.
    **more
        What stands for further names in braces in its help.
    """
    flag = parameter.flag
    assert flag is not None
    default = parameter.default if default is ... else default
    help = flag.help.format(default=_spelled(default), **more)
    if _is_switch(parameter):
        return Option(flag.name, help, False, "switch")
    if parameter.kinds[0].plain is bool and not flag.words:
        return Option(flag.name, help, default, "choice")
    kinds = tuple(kind for kind in parameter.kinds if kind.plain is not type(None))
    choices: tuple[Any, ...] = tuple(flag.words)
    if not choices and len(kinds) == 1 and isinstance(kinds[0].limits, OneOf):
        choices = kinds[0].limits.choices
    if flag.default is not ...:
        default = flag.default
    elif flag.words:
        default = next(word for word, value in flag.words.items() if value == default)
    metavar, aliases = flag.metavar, flag.aliases
    return Option(flag.name, help, default, flag.reads or kinds, choices, metavar, aliases)


def given_parameters(kind: type[Declared], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that the values of options stand for.

    Parameters
    ----------
    kind : type of Declared
        The class with the parameters.
    given : mapping
        The values of the options by name; None is one that was not given.
    """
    found: dict[str, Any] = {}
    for dest, parameters in flagged(kind).items():
        value = given.get(dest)
        for parameter in parameters:
            flag = parameters[0].flag
            assert flag is not None
            if _is_switch(parameters[0]):
                found.update({parameter.name: flag.sets} if value else {})
            elif value is not None:
                found[parameter.name] = flag.words.get(value, value) if flag.words else value
    return found


def _is_switch(parameter: Parameter) -> bool:
    assert parameter.flag is not None
    switched = parameter.kinds[0].plain is bool and parameter.default is False
    return (switched and not parameter.flag.words) or parameter.flag.sets is not True


def _spelled(value: Any) -> str:
    """Return a default for the help: ``1e-4`` rather than ``0.0001``."""
    if isinstance(value, float) and 0.0 < value < _SMALL:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:g}" if isinstance(value, float) else str(value)
