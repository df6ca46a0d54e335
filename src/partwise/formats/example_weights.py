"""Files with the weights of examples: one number per line."""

from __future__ import annotations

import math
import os

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.formats.source import read_text

__all__ = ["read_example_weights"]


def read_example_weights(
    source: str | os.PathLike[str], n_examples: int | None, of: str = "the training file"
) -> NDArray[np.float64]:
    r"""Read the weights of examples.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input. It has one line per example, in
        the order of the examples, each with a number that is not negative. Blank lines at the end
        are allowed.
    n_examples
        The number of examples; None if it is not known yet.
    of
        The file of the examples, for messages.

    Raises
    ------
    DataError
        If a line is no such number, or there is not one line per example.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_example_weights
    >>> _ = Path("w.txt").write_text("1\n0.5\n")
    >>> read_example_weights("w.txt", 2)
    array([1. , 0.5])
    """
    given = read_text(source)
    name, text = given.name, given.text
    lines = text.rstrip().split("\n") if text.strip() else []
    if n_examples is not None and len(lines) != n_examples:
        raise DataError(
            f"{len(lines):,} weights where {of} has {n_examples:,} examples; give one "
            "number per example, one per line",
            place=Place(name),
        )
    weights = np.empty(len(lines))
    for place, line in enumerate(lines):
        try:
            weights[place] = float(line)
        except ValueError:
            weights[place] = math.nan
        if not 0.0 <= weights[place] < math.inf:
            raise DataError(
                f"the weight {line.strip()!r} is not a finite number from 0; "
                "give one number per line",
                place=Place(name, place + 1),
            )
    return weights
