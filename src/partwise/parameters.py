"""Parameters that are declared once: type, range, default, option of the command, and their check.

A class that derives from `Declared` declares each parameter as an annotated field::

    class Parameters(Declared):
        l2: Annotated[Positive, Flag("--l2", "regulariser", metavar="X")] = 1.0

The constructor, its signature, the check of the values, the options of the command and what a
model stores follow from these fields. The text about a parameter stands in the docstring of the
class that declares it. The constructors of solvers annotate their options in the same way. Nothing
here loads numpy, because help needs all declarations.
"""

from __future__ import annotations

import inspect
import math
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .errors import DataError
from .values import is_integer
from .wording import did_you_mean

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Tell type checkers, and nobody else, that fields are arguments of the constructor."""
        return lambda kind: kind


__all__ = [
    "HELD", "MAX_HASHED", "PROCESS", "Check", "Count", "CountFrom0", "Decay", "Declared", "Factor",
    "Flag", "Fraction", "Growth", "HashSize", "Kind", "NotNegative", "OneOf", "Parameter",
    "Passes", "Positive", "Share", "Within", "declared", "fits", "is_record", "kinds_of",
    "words_of",
]  # fmt: skip


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
    infinite : bool
        Whether it may be infinite.
    power : bool
        Whether it must be a power of two.
    """

    words: str
    low: float = 0.0
    high: float = math.inf
    above: bool = False
    below: bool = False
    infinite: bool = False
    power: bool = False

    def fault(self, value: Any) -> str:
        """Return what is wrong with a number, as in "0 is ..."; empty if it is allowed."""
        if not (-math.inf < value < math.inf or (self.infinite and value > 0.0)):
            return "not a finite number"
        if self.above and value <= self.low:
            return f"not above {self.low:g}"
        if value < self.low:
            return f"below {self.low:g}"
        if self.below and value >= self.high:
            return f"not below {self.high:g}"
        if value > self.high:
            return f"above {self.high:.9g}"
        if self.power and value & (value - 1):
            return "not a power of two, as 1048576 is"
        return ""


@dataclass(frozen=True)
class OneOf:
    """One of some words, or of some numbers."""

    choices: tuple[Any, ...]


#: The largest number of slots of hashed features.
MAX_HASHED: Final = 2**28

Positive: TypeAlias = Annotated[float, Within("a positive number", above=True)]
Passes: TypeAlias = Annotated[float, Within("a positive number", above=True, infinite=True)]
NotNegative: TypeAlias = Annotated[float, Within("a number from 0")]
Share: TypeAlias = Annotated[float, Within("a number above 0 and up to 1", high=1.0, above=True)]
Decay: TypeAlias = Annotated[float, Within("a number from 0 to 1", high=1.0)]
Factor: TypeAlias = Annotated[float, Within("a number from 0 and below 1", high=1.0, below=True)]
Fraction: TypeAlias = Annotated[
    float, Within("a number above 0 and below 1", high=1.0, above=True, below=True)
]
Growth: TypeAlias = Annotated[float, Within("a number from 1", low=1.0)]
Count: TypeAlias = Annotated[int, Within("a whole number from 1", low=1.0)]
CountFrom0: TypeAlias = Annotated[int, Within("a whole number from 0")]
HashSize: TypeAlias = Annotated[
    int, Within(f"a power of two, 2 to {MAX_HASHED}", 2.0, MAX_HASHED, power=True)
]

#: The values that a plain type allows.
_PLAIN: Final = {
    float: Within("a finite number", low=-math.inf),
    int: Within("a whole number", low=-math.inf),
}


#: How messages describe plain types.
_WORDS: Final[Mapping[Any, str]] = {
    bool: "True or False",
    str: "a string",
    Mapping: "a dict",
    Callable: "a function",
    type(None): "None",
}


class Kind(NamedTuple):
    """A plain type, and what limits its values: a `Within`, a `OneOf`, or nothing."""

    plain: Any
    limits: Any = None


def kinds_of(hint: Any) -> tuple[Kind, ...]:
    """Return the kinds of values that an annotation allows; it may be a union."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(kind for part in get_args(hint) for kind in kinds_of(part))
    if get_origin(hint) is Annotated:
        return (Kind(*get_args(hint)),)
    hint = get_origin(hint) or hint
    return (Kind(hint, _PLAIN.get(hint)),)


def is_record(kind: Any) -> bool:
    """Return whether a type is a tuple with named fields."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_bool(value: Any) -> bool:
    """Return whether a value is True or False, of Python or of numpy."""
    numpy = sys.modules.get("numpy")
    return isinstance(value, bool) or (numpy is not None and isinstance(value, numpy.bool_))


def fits(value: Any, kind: Kind) -> bool:
    """Return whether a value is of a kind; types that are not known here allow anything."""
    plain, limits = kind
    if isinstance(limits, OneOf):
        same = is_integer(value) if plain is int else isinstance(value, str)
        return same and value in limits.choices
    if plain is float:
        return isinstance(value, Real) and not is_bool(value) and not limits.fault(value)
    if plain is int:
        return is_integer(value) and not limits.fault(value)
    if plain is bool:
        return is_bool(value)
    if plain is str:
        return isinstance(value, str)
    if plain in (Mapping, Callable):
        return isinstance(value, plain)
    if plain is type(None):
        return value is None
    return not is_record(plain) or _fits_record(value, plain)


def _fits_record(value: Any, record: Any) -> bool:
    """Return whether the value is a record, or a plain tuple of fields that all fit."""
    least = len(record._fields) - len(record._field_defaults)
    if not isinstance(value, (tuple, list)) or not least <= len(value) <= len(record._fields):
        return False
    hints = get_type_hints(record, include_extras=True)
    return all(
        any(fits(part, kind) for kind in kinds_of(hints[name]))
        for name, part in zip(record._fields, value, strict=False)
    )


def words_of(kind: Kind) -> str:
    """Return which values a kind allows, in words; empty if it may be any."""
    plain, limits = kind
    if isinstance(limits, Within):
        return limits.words
    if isinstance(limits, OneOf):
        return " or ".join(map(repr, limits.choices))
    if is_record(plain):
        hints = get_type_hints(plain, include_extras=True)
        told = {name: " or ".join(map(words_of, kinds_of(hints[name]))) for name in plain._fields}
        fields = [f"{name} {words}" for name, words in told.items()]
        return f"({', '.join(plain._fields)}) with {', '.join(fields)}"
    return _WORDS.get(plain, "")


# What may stand beside the type in the annotation of a parameter


@dataclass(frozen=True)
class Flag:
    """The option of the command that sets a parameter.

    Several parameters may have the same option; the help stands with the first one.

    Attributes
    ----------
    name : str
        The option: ``"--min-count"``.
    help : str
        What it does, in a few words. ``{default}`` stands for the default.
    metavar : str or None
        The name of its value in the help.
    reads : str
        How its value is read, if the type does not say: a name in ``partwise.cli.readers.READERS``.
    words : mapping
        What users write, and the value that it stands for; empty for the values themselves.
    sets : object
        The value that a switch sets, by default True.
    default : object
        The default of the option, if it is not that of the parameter; ``...`` if it is.
    aliases : mapping of str to str
        Other names of some of the values.
    """

    name: str
    help: str = ""
    metavar: str | None = None
    reads: str = ""
    words: Mapping[str, Any] = field(default_factory=dict, hash=False)
    sets: Any = True
    default: Any = ...
    aliases: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def dest(self) -> str:
        """Its name in Python."""
        return self.name.lstrip("-").replace("-", "_")


@dataclass(frozen=True)
class Check:
    """A check that the type cannot express: a function that raises a DataError for a bad value."""

    function: Callable[[Any], Any]


class _Marker(NamedTuple):
    what: str


#: A parameter that a model holds anyway, so that it is not stored by name.
HELD: Final = _Marker("held by the model")
#: A parameter that belongs to the process that trains, and to no model.
PROCESS: Final = _Marker("of the process")


class Parameter(NamedTuple):
    """A parameter as it is declared.

    Attributes
    ----------
    name : str
        The name.
    default
        The default value.
    kinds : tuple of Kind
        The values that it may have; one without limits allows any.
    flag : Flag or None
        The option of the command that sets it.
    check : callable or None
        What else checks it.
    marker
        `HELD`, `PROCESS` or None.
    """

    name: str
    default: Any
    kinds: tuple[Kind, ...]
    flag: Flag | None = None
    check: Callable[[Any], Any] | None = None
    marker: Any = None

    @property
    def words(self) -> str:
        """Which values it may have, as the end of a message."""
        told = [words_of(kind) for kind in self.kinds]
        plain, limits = self.kinds[0]
        if plain is str and isinstance(limits, OneOf) and len(limits.choices) > 1:
            return ", or ".join([f"use one of {', '.join(limits.choices)}", *told[1:]])
        first, last = told[:-1], told[-1]
        return f"give {', '.join(first)}, or {last}" if first else f"give {last}"

    def check_value(self, value: Any) -> None:
        """Raise a DataError unless the value is allowed."""
        if not any(fits(value, kind) for kind in self.kinds):
            raise DataError(f"{self.name} is {value!r}; {self.words}")
        if self.check is not None:
            self.check(value)


def _parameter(name: str, default: Any, hint: Any) -> Parameter:
    found: dict[str, Any] = {}
    if get_origin(hint) is Annotated:
        hint, *others = get_args(hint)
        for one in others:
            if isinstance(one, Flag):
                found["flag"] = one
            elif isinstance(one, Check):
                found["check"] = one.function
            elif isinstance(one, _Marker):
                found["marker"] = one
            else:
                hint = Annotated[hint, one]
    return Parameter(name, default, kinds_of(hint), **found)


def declared(kind: type[Declared]) -> dict[str, Parameter]:
    """Return the parameters of a class by name."""
    if "_declared" in vars(kind):
        return kind._declared
    found: dict[str, Parameter] = {}
    for name, (owner, hint) in kind._fields.items():
        if isinstance(hint, str):
            hint = eval(hint, vars(sys.modules[owner.__module__]))
        found[name] = _parameter(name, getattr(kind, name), hint)
    kind._declared = found
    return found


@dataclass_transform(kw_only_default=True)
class Declared:
    """Base class of all that have declared parameters; not for direct use.

    A derived class inherits the parameters of its bases. It may give one another default by plain
    assignment, and leave some out: ``class Kernels(Parameters, without=("l1",))``; these keep their
    defaults.

    Attributes
    ----------
    without : tuple of str
        The parameters of its bases that a class does not have.
    checked : bool
        Whether the constructor checks the values. By default `check` does when training begins,
        because scikit-learn sets values that are not valid yet.
    """

    without: ClassVar[tuple[str, ...]] = ()
    checked: ClassVar[bool] = False
    _fields: ClassVar[dict[str, tuple[type, Any]]] = {}
    _declared: ClassVar[dict[str, Parameter]]

    def __init_subclass__(cls, *, without: tuple[str, ...] = (), **more: Any) -> None:
        """Collect the parameters, and make the constructor."""
        super().__init_subclass__(**more)
        cls.without = without
        fields: dict[str, tuple[type, Any]] = {}
        for base in reversed(cls.__mro__):
            if not issubclass(base, Declared):
                continue
            for name, hint in inspect.get_annotations(base).items():
                if name in vars(base) and not name.startswith("_") and "ClassVar" not in str(hint):
                    fields[name] = (base, hint)
            for name in vars(base).get("without", ()):
                fields.pop(name, None)
        cls._fields = fields
        # A class with a constructor of its own keeps it, and so do those that derive from it.
        if cls.__init__ is object.__init__ or hasattr(cls.__init__, "declares"):
            cls.__init__ = _constructor({name: getattr(cls, name) for name in fields})  # type: ignore[method-assign]

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the parameters."""
        return sorted(cls._fields)

    def as_dict(self) -> dict[str, Any]:
        """Return the values of the parameters by name."""
        return {name: getattr(self, name) for name in self.names()}

    def fresh(self) -> Self:
        """Return another one with the same parameters, and nothing else."""
        return type(self)(**self.as_dict())

    def check(self) -> None:
        """Raise a DataError if a parameter is invalid, as far as can be seen without the data."""
        parameters = declared(type(self))
        for name in self.names():
            parameters[name].check_value(getattr(self, name))

    @classmethod
    def check_values(cls, **given: Any) -> None:
        """Raise a DataError if the value of a parameter is invalid."""
        parameters = declared(cls)
        for name, value in given.items():
            parameters[name].check_value(value)


def _constructor(defaults: Mapping[str, Any]) -> Any:
    def __init__(self: Any, *values: Any, **given: Any) -> None:
        if values or not given.keys() <= defaults.keys():
            raise TypeError(_fault(type(self).__name__, values, given, [*defaults]))
        vars(self).update(defaults, **given)
        if self.checked:
            self.check()

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, default in defaults.items():
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    __init__.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    __init__.declares = True  # type: ignore[attr-defined]
    return __init__


#: Parameters of other toolkits: the parameter that takes their place here, and how.
_ELSEWHERE: Final = {
    "C": ("l2", "give l2 = 1 / C, or l2 = 2 / C for a classifier of two classes"),
    "alpha": ("l2", "give l2 = n alpha, where n is the number of examples"),
    "c1": ("l1", "c1 of CRFsuite is l1 here"),
    "c2": ("l2", "c2 of CRFsuite is half of l2 here, so l2 is twice that number"),
    "rho1": ("l1", "rho1 of Wapiti is l1 here"),
    "rho2": ("l2", "rho2 of Wapiti is l2 here"),
    "penalty": ("l1", "the penalty is l2/2 |w|^2 + l1 |w|_1 here, so give l2 and l1"),
    "max_iter": ("max_passes", "max_passes limits the passes over the data"),
    "max_iterations": ("max_passes", "max_passes limits the passes over the data"),
    "algorithm": ("solver", "the algorithm is the solver here"),
    "delta": ("tol", "tol is the relative duality gap at which a fit stops"),
    "epsilon": ("tol", "tol is the relative duality gap at which a fit stops"),
    "min_freq": ("min_frequency", "min_freq of CRFsuite is min_frequency here"),
    "all_possible_states": (
        "weights", "give weights='all' for all_possible_states, and weights='observed' without it"
    ),
    "all_possible_transitions": (
        "transition_weights",
        "give transition_weights='all' for all_possible_transitions, and "
        "transition_weights='observed' without it",
    ),
}  # fmt: skip


def _fault(kind: str, values: Any, given: Mapping[str, Any], known: list[str]) -> str:
    """Return what is wrong with the arguments of a constructor."""
    if values:
        return f"{kind} takes its parameters by name, as in {kind}(loss='log'); name {values[0]!r}"
    name = next(name for name in given if name not in known)
    instead, hint = _ELSEWHERE.get(name, ("", ""))
    if instead not in known:
        hint = did_you_mean(name, known, f"it has {', '.join(known)}")
    return f"{kind} has no parameter {name!r}; {hint}"
