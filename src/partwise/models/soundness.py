"""Checks of the header and the arrays of a model file, which may hold anything.

The arrays that compiled code indexes with are checked element by element: a model file can be
wrong, but it cannot make prediction read outside its arrays.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import DataError, MismatchError, ModelFileError, Place
from ..memory import memory_limit
from ..training.certificate import Certificate, Steps

if TYPE_CHECKING:
    from ..structures.base import Structure

__all__ = ["ENCODER_PREFIX", "LABEL_TYPES", "Checker", "check_arrays", "check_certificate",
           "check_labels", "check_room", "check_structure", "is_number"]  # fmt: skip

#: The types of labels, by their names in files.
LABEL_TYPES: Final[dict[str, type]] = {"str": str, "int": int, "float": float, "bool": bool}
#: The prefix of the names of the encoder's arrays.
ENCODER_PREFIX: Final = "encoder_"

_INT64: Final = 2**63
_STRUCTURE: Final = {"name", "constants", "kinds", "widths"}
_ARRAYS: Final = {"weights": np.float64, "first": np.int64, "slot": np.int32}
#: The bytes that the parts of a small example may take in any case, and the number that they may
#: take per byte of the arrays: a file may hold only some of the weights, but an example has all of
#: the parts.
_ROOM: Final = 1 << 25
_PER_BYTE: Final = 1024

_Made = TypeVar("_Made")


class Checker:
    """Raises a ModelFileError that names the file and what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, sound: Any, why: str) -> None:
        if not sound:
            raise self._unsound(f"{why}; copy or train it again")

    def believe(self, make: Callable[[], _Made]) -> _Made:
        """Return ``make()``; its errors become a ModelFileError that names the file."""
        try:
            return make()
        except MismatchError as error:
            # The file may be sound, but something that it needs is missing.
            raise ModelFileError(str(error), place=Place(self.path)) from error
        except (DataError, ModelFileError) as error:
            if isinstance(error, ModelFileError) and error.place.file == self.path:
                raise
            raise self._unsound(str(error)) from error

    def _unsound(self, why: str) -> ModelFileError:
        return ModelFileError(
            f"is not a valid model file: {why}", place=Place(self.path), subject=True
        )


def check_room(
    check: Checker, structure: Structure, arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check that the structure does not need far more memory than the file holds."""
    needed = 8 * sum(structure.widths)
    held = sum(array.nbytes for array in arrays.values())
    check(
        needed <= min(max(_ROOM, _PER_BYTE * held), memory_limit()),
        f"its structure would need {needed / 2**30:,.1f} GiB of memory for an example, where its "
        f"arrays have {held:,} bytes",
    )


def is_number(value: Any) -> bool:
    """Return whether a value of a file is a finite number."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _INT64


def check_structure(check: Checker, shape: Any) -> None:
    """Check the description of the structure, without making it."""
    from ..structures.registry import MAX_WIDTH

    check(isinstance(shape, dict) and shape.keys() == _STRUCTURE, "its structure is incomplete")
    check(isinstance(shape["name"], str), "its structure has no name")
    check(isinstance(shape["constants"], dict), "its structure has no constants")
    kinds, widths = shape["kinds"], shape["widths"]
    check(isinstance(kinds, list) and all(type(k) is str for k in kinds), "odd kinds of sites")
    check(isinstance(widths, list) and len(widths) == len(kinds), "odd widths of sites")
    check(all(_is_count(w) and w <= MAX_WIDTH for w in widths), "odd widths of sites")


def check_labels(check: Checker, header: dict[str, Any]) -> None:
    """Check that the labels are distinct and all of the type that is named."""
    labels, kind = header["labels"], header["label_type"]
    check(isinstance(labels, list), "its labels are no list")
    check(isinstance(kind, str) and kind in LABEL_TYPES, "its label_type is unknown")
    check(
        all(type(label) is LABEL_TYPES[kind] for label in labels),
        f"some label is not of type {kind}",
    )
    check(len(set(labels)) == len(labels), "a label occurs twice")
    if kind == "int":
        check(all(-_INT64 <= label < _INT64 for label in labels), "a label is out of range")


def check_certificate(check: Checker, held: Any) -> None:
    """Check that the certificate has its fields and that they are numbers."""
    names = {field.name for field in dataclasses.fields(Certificate)} - {"steps"}
    given = held.keys() - {"steps"} if isinstance(held, dict) else set()
    check(given == names, "its certificate is incomplete")
    check(isinstance(held["verdict"], str), "its certificate has no verdict")
    if "steps" in held:
        _check_steps(check, held["steps"])
    numbers = (held[name] for name in names - {"verdict"})
    check(all(map(is_number, numbers)), "its certificate holds something that is no number")


def _check_steps(check: Checker, held: Any) -> None:
    names = {field.name for field in dataclasses.fields(Steps)}
    check(isinstance(held, dict) and held.keys() == names, "the steps of its fit are incomplete")
    counts = (held["count"], held["partial"])
    check(all(type(n) is int and n >= 0 for n in counts), "the steps of its fit are not counted")
    check(type(held["settled"]) is bool, "its steps have no verdict")
    numbers = (held["objective"], held["decrease"])
    check(all(map(is_number, numbers)), "its steps hold something that is no number")


def check_arrays(
    check: Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check that the blocks tile the weights and that every slot lies in its site."""
    others = [
        name for name in arrays if name not in _ARRAYS and not name.startswith(ENCODER_PREFIX)
    ]
    check(not others, "it has an array that no model has")
    for name, dtype in _ARRAYS.items():
        check(name in arrays, f"the array {name} is missing")
        check(arrays[name].ndim == 1 and arrays[name].dtype == dtype, f"{name} has another type")
    weights, first, slot = (arrays[name] for name in _ARRAYS)
    n_weights, n_features = header["n_weights"], header["n_features"]
    widths = header["structure"]["widths"]
    check(_is_count(n_weights) and len(weights) == n_weights, "n_weights is not as it should be")
    check(isinstance(n_features, list) and len(n_features) == len(widths), "odd n_features")
    check(all(map(_is_count, n_features)) and sum(n_features) == len(first), "odd n_features")
    check(np.isfinite(weights).all(), "a weight is not finite")
    width = np.repeat(np.array(widths, dtype=np.int64), n_features)
    check((width > 0).all(), "it has features for parts that its structure has not")
    order = np.argsort(first, kind="stable")
    if not slot.size:
        ends = np.cumsum(width[order])
        check((ends[-1] if len(ends) else 0) == n_weights, "its blocks do not fill the weights")
        check((first[order] == ends - width[order]).all(), "its blocks are not side by side")
        return
    check(len(slot) == n_weights, "it has another number of slots than of weights")
    last = np.flatnonzero(slot < 0)
    ended = len(last) > 0 and last[-1] == n_weights - 1
    check(ended and len(last) == len(first), "a block does not end")
    begins = np.concatenate([[0], last[:-1] + 1])
    check((first[order] == begins).all(), "its blocks are not side by side")
    part = np.where(slot < 0, ~slot, slot).astype(np.int64)
    check((part < np.repeat(width[order], np.diff(last, prepend=-1))).all(), "odd slots")
    rises = part[1:] > part[:-1]
    rises[last[:-1]] = True
    check(rises.all(), "the slots of a block do not rise")
