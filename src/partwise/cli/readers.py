"""Readers of the values of options: numbers of several kinds, sizes and weights of labels.

Nothing here imports numpy, so that help is fast.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from partwise.compiled.threads import thread_count
from partwise.errors import DataError
from partwise.memory import byte_count
from partwise.parameters import (
    Count,
    CountFrom0,
    Decay,
    Kind,
    NotNegative,
    Positive,
    Within,
    kinds_of,
)

__all__ = [
    "READERS",
    "finite",
    "natural",
    "not_negative",
    "port",
    "positive",
    "reader_of",
    "seed",
    "size",
    "threads",
]


def reader_of(kinds: Sequence[Kind]) -> Callable[[str], Any] | None:
    """Return what reads the value of an option; None if its text is the value.

    Parameters
    ----------
    kinds : sequence of Kind
        The kinds of values that it may have: words, or numbers of one kind, or both.
    """
    numbers = [kind for kind in kinds if kind.plain in (int, float)]
    if not numbers:
        return None
    plain, limits = numbers[0]
    words = [word for kind in kinds if kind.plain is str for word in kind.limits.choices]

    def read(text: str) -> Any:
        if text in words:
            return text
        number = plain(text)
        fault = limits.fault(number) if isinstance(limits, Within) else ""
        if fault:
            raise argparse.ArgumentTypeError(f"{text} is {fault}")
        return number

    # argparse names the type in "invalid ... value".
    several = ["integer" if plain is int else "number", *words]
    read.__name__ = " or ".join(filter(None, [", ".join(several[:-1]), several[-1]]))
    return read


def _number(hint: Any) -> Callable[[str], Any]:
    found = reader_of(kinds_of(hint))
    assert found is not None
    return found


natural, seed = _number(Count), _number(CountFrom0)
finite, positive, not_negative = _number(float), _number(Positive), _number(NotNegative)


def label_weights(text: str) -> str | dict[str, float]:
    """Read ``balanced``, or labels with their weights: ``B-NP=2,O=0.5``."""
    if text == "balanced":
        return text
    found: dict[str, float] = {}
    for item in text.split(","):
        label, mark, number = item.rpartition("=")
        if not mark or not label:
            raise argparse.ArgumentTypeError(
                f"{item!r} is not LABEL=WEIGHT; give balanced, or weights as in A=2,B=0.5"
            )
        if label in found:
            raise argparse.ArgumentTypeError(f"the label {label!r} has two weights; give one")
        try:
            found[label] = not_negative(number)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"the weight {number!r} of the label {label!r} is not a number"
            ) from None
    return found


def size(text: str) -> str:
    """Read a size in bytes, such as 4GB; it is returned as it is."""
    try:
        byte_count(text, "the size")
    except DataError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def place(text: str) -> int:
    """Read an integer that is not 0: a place from 1, or from -1 at the end."""
    number = int(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is no column; count from 1, or from -1 at the end")
    return number


def threads(text: str) -> int:
    """Read a number of threads; -1 is one per core."""
    if text != "-1":
        return int(natural(text))
    return thread_count(-1)


def port(text: str) -> int:
    """Read the number of a port; 0 is any that is free."""
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 65535")
    return number


for _type in (place, threads, port):
    # argparse names the type in "invalid ... value".
    _type.__name__ = "integer"

#: The readers of the values of options that no type describes.
READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "number": finite,
    "number from 0": seed,
    "whole number": natural,
    "share": _number(Decay),
    "place": place,
    "size": size,
    "threads": threads,
    "weights of labels": label_weights,
}
