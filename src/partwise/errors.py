"""The errors of partwise, and the stack level for its warnings."""

from __future__ import annotations

import sys


class PartwiseError(Exception):
    """Base class of all errors that partwise raises on purpose.

    Examples
    --------
    >>> import partwise
    >>> try:
    ...     partwise.load_model("nothing.model")
    ... except partwise.PartwiseError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


class DataError(PartwiseError, ValueError):
    """Invalid input; the message says where it is, what was expected and what to do.

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

    def __init__(self, label: object, why: str) -> None:
        super().__init__(label, why)
        self.label, self.why = label, why

    def __str__(self) -> str:
        """Return the reason; `args` holds both arguments, so that the error can be pickled."""
        return self.why


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
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "partwise":
        level, frame = level + 1, frame.f_back
    return level
