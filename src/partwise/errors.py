"""The errors of partwise, which say where they are, and the stack level for its warnings."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NOWHERE", "ClusterError", "DataError", "FormatError", "LabelError", "MismatchError",
           "ModelFileError", "OptionError", "PartwiseError", "Place", "level_outside"]  # fmt: skip


class Place(NamedTuple):
    """Where something is: in a file, or among examples from Python.

    Attributes
    ----------
    file : str or None
        The name of the file.
    line, column : int or None
        The line and the character in it, counted from 1.
    argument : str
        The argument of a function that holds the examples, if there can be doubt: ``"y"``.
    unit : str
        What an example is called: ``"sequence"``. Without it, the example is an item of the
        argument: ``y[3]``.
    example : int or None
        The number of the example, counted from 0.
    part : str
        What the part of the example is called: ``"token"``.
    position : int or None
        The number of the part, counted from 0.

    Examples
    --------
    >>> from partwise.errors import Place
    >>> str(Place("train.txt", 7)), str(Place.item("y", 3))
    ('train.txt:7', 'y[3]')
    >>> str(Place.nth("sequence", 3, "token", 1))
    'sequence 3, token 1 (counted from 0)'
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    argument: str = ""
    unit: str = ""
    example: int | None = None
    part: str = ""
    position: int | None = None

    @classmethod
    def nth(
        cls, unit: str, n: int, part: str = "", position: int | None = None, argument: str = ""
    ) -> Place:
        """Return the place of an example, or of a part of one, by what they are called."""
        return cls(argument=argument, unit=unit, example=n, part=part, position=position)

    @classmethod
    def item(cls, argument: str, n: int, part: str = "", position: int | None = None) -> Place:
        """Return the place of an item of an argument, or of a part of one: ``y[3]``."""
        return cls(argument=argument, example=n, part=part, position=position)

    def __str__(self) -> str:
        told = []
        if self.file is not None:
            known = (self.file, self.line, self.column)
            told.append(":".join(str(one) for one in known if one is not None))
        if self.example is None or self.unit:
            told += [self.argument] * bool(self.argument)
        part = self.part if self.position is None else f"{self.part} {self.position}"
        if self.example is not None:
            named = (
                f"{self.unit} {self.example}" if self.unit else f"{self.argument}[{self.example}]"
            )
            several = ", ".join([named, *[part] * bool(part)])
            told.append(several + (" (counted from 0)" if self.unit else ""))
        elif part:
            told.append(f"{part} (counted from 0)")
        return ": ".join(told)


NOWHERE: Final = Place()


class PartwiseError(Exception):
    """Base class of all errors that partwise raises on purpose.

    Parameters
    ----------
    what : str
        What is wrong, and what to do about it.
    place : Place
        Where it is.
    remedy : str
        What to do, if that is told apart.
    subject : bool
        Whether the place is the subject of the sentence, so that no colon follows it.

    Examples
    --------
    >>> import partwise
    >>> try:
    ...     partwise.load_model("nothing.model")
    ... except partwise.PartwiseError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """

    def __init__(
        self, what: str = "", *, place: Place = NOWHERE, remedy: str = "", subject: bool = False
    ) -> None:
        super().__init__(what)
        self.what, self.place, self.remedy, self.subject = what, place, remedy, subject

    @property
    def sentence(self) -> str:
        """What is wrong and what to do, without the place."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what

    def __str__(self) -> str:
        if self.place == NOWHERE:
            return self.sentence
        return f"{self.place}{' ' if self.subject else ': '}{self.sentence}"

    def within(self, *, first: int = 0, **outer: Any) -> Self:
        """Add to the place what is known further out, and return the error.

        Parameters
        ----------
        first : int
            The number of the example that the error counts as example 0.
        **outer
            Fields of the place; those that are known already are kept.
        """
        known = self.place
        if known.example is not None:
            known = known._replace(example=known.example + first)
        blank = {
            name for name, value in zip(Place._fields, known, strict=True) if value in (None, "")
        }
        self.place = known._replace(**{name: outer[name] for name in blank & outer.keys()})
        return self


class DataError(PartwiseError, ValueError):
    """Invalid input; the message says where it is, what was expected and what to do.

    Parameters are those of `PartwiseError`; the attribute `place` says where the fault is.

    Examples
    --------
    >>> from partwise import DataError, Templates
    >>> try:
    ...     Templates(["U:%y[0]"])
    ... except DataError:
    ...     print("not a template")
    not a template
    """


class FormatError(DataError):
    """A file that looks like another format than the one that it would be read in."""


class LabelError(DataError):
    """A gold label that is not one of the expected labels.

    Attributes
    ----------
    label
        The label.
    """

    def __init__(self, what: str, *, label: object = None, **more: Any) -> None:
        super().__init__(what, **more)
        self.label = label


class ModelFileError(PartwiseError, ValueError):
    """A model file that is damaged, hostile or of an unknown version.

    Examples
    --------
    >>> from partwise import ModelFileError, load_model
    >>> try:
    ...     load_model("nothing.model")
    ... except ModelFileError:
    ...     print("no such model")
    no such model
    """


class MismatchError(PartwiseError, ValueError):
    """A structure, a loss and a solver that do not fit together; the message names what fits.

    Examples
    --------
    >>> from partwise import LinearClassifier, MismatchError
    >>> classifier = LinearClassifier(loss="hinge", solver="lbfgs")
    >>> try:
    ...     classifier.fit([[0.0], [1.0]], ["a", "b"])
    ... except MismatchError as error:
    ...     print(str(error)[:47])
    lbfgs needs the log or the softmax-margin loss;
    """


class OptionError(DataError, MismatchError):
    """An option that a solver does not have, or a value that it does not allow."""


class ClusterError(PartwiseError, RuntimeError):
    """A cluster that cannot be reached, is of other versions, or is gone."""


def level_outside() -> int:
    """Return the stack level of the code that called the package, for a warning to point at."""
    level, frame = 1, sys._getframe(1)
    # A function that is decorated with a context manager is called by contextlib.
    ours = ("partwise", "contextlib")
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    return level
