"""How much of some input a model knows, and a warning where that is nothing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from ..errors import level_outside

__all__ = ["Tally", "UnknownFeaturesWarning", "warn_unknown"]


class UnknownFeaturesWarning(UserWarning):
    """Not one feature of the input is known to the model."""


@dataclass
class Tally:
    """How many features some input has, and how many of them the model knows.

    Attributes
    ----------
    given
        How many there are. Marks for the ends of a sentence do not count, nor do constants: every
        input has them.
    known
        How many of them were seen in training. Whoever counts may stop at the first.
    what
        What is counted, for the message.
    """

    given: int = 0
    known: int = 0
    what: str = "features"

    def add(self, given: int, known: int) -> None:
        """Count more of the same input."""
        self.given += given
        self.known += known

    @property
    def nothing_known(self) -> bool:
        """Whether there are features, and the model knows none of them."""
        return self.given > 0 and self.known == 0

    def message(self) -> str:
        """Say that all of them are unknown, and what to do."""
        return (
            f"the model knows none of the {self.given:,} {self.what} of the input (100% are "
            "unknown), so the prediction does not depend on them; give the same kind of input as "
            "in training"
        )


def warn_unknown(tally: Tally) -> None:
    """Warn, at the code that called the package, if nothing of the input is known."""
    if tally.nothing_known:
        warnings.warn(tally.message(), UnknownFeaturesWarning, stacklevel=level_outside())
