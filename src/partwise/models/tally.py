"""Counts of the known features of an input, and a warning if there are none."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from ..errors import level_outside

__all__ = ["Tally", "UnknownFeaturesWarning", "collected_notes", "warn_unknown"]

#: The list that takes the messages of this thread instead of a warning.
_NOTES: Final[ContextVar[list[str] | None]] = ContextVar("notes", default=None)


class UnknownFeaturesWarning(UserWarning):
    """The model knows none of the features of the input.

    Examples
    --------
    >>> import warnings
    >>> from partwise import SequenceTagger, UnknownFeaturesWarning
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     labels = tagger.predict([["une", "vache"]])
    >>> caught[0].category is UnknownFeaturesWarning
    True
    """


@dataclass
class Tally:
    """How many features some input has, and how many of them the model knows.

    Attributes
    ----------
    given
        How many features there are. Marks for the ends of a sentence and constants do not count,
        because every input has them.
    known
        How many of them were seen in training. The count may stop at 1.
    what
        What is counted, for the message.
    """

    given: int = 0
    known: int = 0
    what: str = "features"

    def add(self, given: int, known: int) -> None:
        """Add counts for a further part of the input."""
        self.given += given
        self.known += known

    @property
    def nothing_known(self) -> bool:
        """Whether there are features and the model knows none of them."""
        return self.given > 0 and self.known == 0

    def message(self) -> str:
        """Return a warning that all features are unknown, with what to do."""
        return (
            f"the model knows none of the {self.given:,} {self.what} of the input (100% are "
            "unknown), so the prediction does not depend on them; give the same kind of input as "
            "in training"
        )


@contextmanager
def collected_notes() -> Iterator[list[str]]:
    """Collect the messages of `warn_unknown` in this thread, instead of warnings.

    The filters of warnings are those of the whole process, so that threads cannot tell whose
    warning one is.
    """
    notes: list[str] = []
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def warn_unknown(tally: Tally) -> None:
    """Issue a warning at the code that called the package if no feature of the input is known."""
    notes = _NOTES.get()
    if tally.nothing_known and notes is not None:
        notes.append(tally.message())
    elif tally.nothing_known:
        warnings.warn(tally.message(), UnknownFeaturesWarning, stacklevel=level_outside())
