"""Readers of the values of options: numbers of several kinds, sizes and weights of labels.

Nothing here imports numpy, so that help is fast.
"""

from __future__ import annotations

import argparse
import math
from typing import Final

from partwise.errors import DataError
from partwise.memory import byte_count

__all__ = [
    "READERS",
    "finite",
    "fraction",
    "natural",
    "not_negative",
    "passes",
    "port",
    "positive",
    "seed",
    "size",
    "threads",
]


def finite(text: str) -> float:
    """Read a finite number."""
    number = float(text)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text} is not a finite number")
    return number


def positive(text: str) -> float:
    """Read a finite number above 0."""
    number = finite(text)
    if number <= 0.0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def not_negative(text: str) -> float:
    """Read a finite number that is not below 0."""
    number = finite(text)
    if number < 0.0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def fraction(text: str) -> float:
    """Read a number above 0 and below 1."""
    number = positive(text)
    if number >= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not below 1")
    return number


def passes(text: str) -> float:
    """Read a number above 0, or inf."""
    return math.inf if text == "inf" else positive(text)


def natural(text: str) -> int:
    """Read an integer that is at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def share(text: str) -> float:
    """Read a number from 0 to 1."""
    number = not_negative(text)
    if number > 1.0:
        raise argparse.ArgumentTypeError(f"{text} is above 1")
    return number


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


def number_or_scale(text: str) -> float | str:
    """Read a number above 0, ``scale`` or ``auto``."""
    return text if text in ("scale", "auto") else positive(text)


def power_of_two(text: str) -> int:
    """Read a power of two that is at least 2."""
    number = natural(text)
    if number < 2 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"{text} is not a power of two, as 1048576 is")
    return number


def place(text: str) -> int:
    """Read an integer that is not 0: a place from 1, or from -1 at the end."""
    number = int(text)
    if number == 0:
        raise argparse.ArgumentTypeError("0 is no column; count from 1, or from -1 at the end")
    return number


def threads(text: str) -> int:
    """Read a number of threads; -1 is one per core."""
    if text != "-1":
        return natural(text)
    # It loads numpy, which help does without.
    from partwise.compiled.threads import thread_count

    return thread_count(-1)


def port(text: str) -> int:
    """Read the number of a port; 0 is any that is free."""
    number = int(text)
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 65535")
    return number


def seed(text: str) -> int:
    """Read an integer that is not below 0."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


# argparse names the type in "invalid ... value".
for _type, _name in (
    (finite, "number"),
    (positive, "number"),
    (not_negative, "number"),
    (fraction, "number"),
    (passes, "number"),
    (natural, "integer"),
    (share, "number"),
    (number_or_scale, "number, scale or auto"),
    (power_of_two, "integer"),
    (place, "integer"),
    (threads, "integer"),
    (port, "integer"),
    (seed, "integer"),
):
    _type.__name__ = _name

#: The reader of each kind of value that the options of tasks and formats have.
READERS: Final = {
    "whole number": natural,
    "number from 0": seed,
    "number": finite,
    "power of two": power_of_two,
    "share": share,
    "number or scale": number_or_scale,
    "weights of labels": label_weights,
    "place": place,
}
