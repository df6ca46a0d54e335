"""Labelled examples for a fit, from Python or from a file."""

from __future__ import annotations

import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..models.tally import UnknownFeaturesWarning

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..arrays import Ints

__all__ = ["Source", "named", "runs", "silenced"]


class Source(ABC):
    """Examples and their labels, before anything is numbered.

    Attributes
    ----------
    path : str or None
        The file that they were read from, for messages; None for data from Python.
    """

    path: str | None = None

    @property
    def weights(self) -> Any:
        """The weights of the examples, if the file gives them; otherwise None."""
        return None

    @property
    def meta(self) -> dict[str, Any]:
        """What a model should keep about the file that it was trained on."""
        return {}

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of examples."""

    @property
    def n_positions(self) -> int:
        """The number of positions (tokens, words, vertices) of all examples."""
        return len(self)

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        """Return X, y and the further arguments of the estimator's `score`, as users give them."""
        return self, None, {}

    def checked(self) -> Self:
        """Return the examples in a form that `take` can index, with one label per example."""
        return self

    @abstractmethod
    def take(self, which: Sequence[int]) -> Self:
        """Return some of the examples, by their numbers from 0."""


def named(source: Source) -> str:
    """Return the name of the file that examples were read from, for messages."""
    return source.path or "the data"


def runs(sizes: Ints, most: int | None) -> Iterator[tuple[int, int]]:
    """Cut examples into runs of about the same size.

    Parameters
    ----------
    sizes : ndarray of int
        The size of each example.
    most : int or None
        About the size of a run; a single example may be larger. None makes one run of all.

    Yields
    ------
    first, end : int
        The first example of a run, and the one after its last.
    """
    # Help loads this file, and does without numpy.
    import numpy as np

    total = np.cumsum(sizes, dtype=np.int64)
    step = most or int(total.max(initial=0)) + 1
    yield from pairwise(np.flatnonzero(np.diff(total // step, prepend=-1, append=-1)).tolist())


@contextmanager
def silenced() -> Iterator[None]:
    """Suppress what tasks warn and log about a file, for the time that it is predicted again."""
    logger = logging.getLogger("partwise.tasks")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownFeaturesWarning)
            yield
    finally:
        logger.setLevel(before)
