"""Models on disk: the meaning of the header of a container, and its checks.

A good checksum shows that a file is complete, not that it is honest. Every field is checked before
it is used, and the arrays that compiled code indexes with are checked element by element: a model
file can be wrong, but it cannot make prediction read outside its arrays.

The header names a structure and an encoder, and holds what they store. Nothing here knows any of
them by name, and nothing needs the compiler except making the model itself.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..errors import DataError, MismatchError, ModelFileError
from ..memory import memory_limit
from ..problem.losses import LOSS_NAMES
from ..training.certificate import Certificate, Steps
from .container import read_container, write_container
from .features import Features
from .registry import read_features

if TYPE_CHECKING:
    from ..structures.base import Structure
    from .model import Model

__all__ = ["load_model", "read_header", "save_model"]

KIND: Final = "partwise linear model"

_TYPES: Final[dict[str, type]] = {"str": str, "int": int, "float": float, "bool": bool}
_INT64: Final = 2**63
_KEYS: Final = {
    "kind", "partwise", "task", "structure", "encoder", "labels", "label_type", "constraints",
    "loss", "l2", "l1", "certificate", "n_features", "n_weights", "meta",
}  # fmt: skip
_STRUCTURE: Final = {"name", "constants", "kinds", "widths"}
_ARRAYS: Final = {"weights": np.float64, "first": np.int64, "slot": np.int32}
#: The key of the settings in `meta`, so that versions that do not know them can read the file.
_SETTINGS: Final = "partwise settings"
#: The prefix of the names of the encoder's arrays.
_PREFIX: Final = "encoder_"
#: The bytes that the parts of a small example may take in any case, and the number that they may
#: take per byte of the arrays: a file may hold only some of the weights, but an example has all of
#: the parts.
_ROOM: Final = 1 << 25
_PER_BYTE: Final = 1024

_Made = TypeVar("_Made")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, completely or not at all.

    Parameters
    ----------
    model : Model or fitted estimator
        The model, or an estimator that holds one as ``model_``.
    path : str or path-like
        The file. An existing file is replaced only when the new one is complete on disk. A symbolic
        link is kept, and the file behind it is replaced.

    Raises
    ------
    ModelFileError
        If the model holds something that a model file cannot hold, or the file cannot be written.
    """
    from .model import Model

    held = getattr(model, "model_", model)
    if not isinstance(held, Model):
        raise ModelFileError(
            f"{type(model).__name__} is not a trained model; fit it first, or give its model_"
        )
    check = _Checker(os.fspath(path))
    header, arrays = check.believe(lambda: (_header(held), _arrays(held)))
    # A model that could not be read back must not be written.
    _check_header(check, header, arrays)
    _make(check, header, arrays, [type(held.structure)], [type(held.features)])
    write_container(path, header, arrays)


def load_model(
    path: str | os.PathLike[str],
    *,
    structures: Iterable[type[Structure] | str] = (),
    features: Iterable[type[Features] | str] = (),
    encoders: Iterable[type[Features] | str] = (),
) -> Model:
    """Read and check a model that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The file.
    structures, features : iterable of classes or names
        Structures and features from outside the package that the model may use: classes, or the
        names of entry points. A model file never causes the import of anything that is not named
        here.
    encoders : iterable of classes or names
        Another name of `features`.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, hostile or of another version.
    """
    header, arrays = read_container(path)
    check = _Checker(os.fspath(path))
    _check_header(check, header, arrays)
    settings = _settings(header)
    structure, encoder, constraints = _make(
        check, header, arrays, structures, (*features, *encoders)
    )

    from ..problem.layout import Layout
    from .model import Model

    return Model(
        task=header["task"],
        structure=structure,
        layout=Layout(
            widths=structure.widths,
            n_features=tuple(header["n_features"]),
            first=arrays["first"],
            slot=arrays["slot"],
            n_weights=header["n_weights"],
        ),
        weights=arrays["weights"],
        labels=tuple(header["labels"]),
        features=encoder,
        constraints=constraints,
        loss=header["loss"],
        l2=float(header["l2"]),
        l1=float(header["l1"]),
        certificate=Certificate.from_json(header["certificate"]),
        meta=header["meta"],
        settings=settings,
    )


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about itself, without the compiler.

    The file is checked as in `load_model`, except for what only the structure knows: whether its
    constants are valid, and whether they fit the sites, labels and features in the file. Encoders
    from outside the package are not used.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        Plain data: ``task``, ``structure``, ``labels``, ``loss``, ``l2``, ``l1``, ..., and
        ``settings``, the training parameters, which are empty in files of versions that did not
        store them.
    """
    from .registry import FEATURES

    header, arrays = read_container(path)
    check = _Checker(os.fspath(path))
    _check_header(check, header, arrays)
    if FEATURES.built_in(header["encoder"]["name"]):
        check.believe(lambda: _encoder(header, arrays))
    return {**header, "settings": _settings(header)}


# Writing


def _header(model: Model) -> dict[str, Any]:
    structure = model.structure
    kinds = [name for name, kind in _TYPES.items() if all(type(y) is kind for y in model.labels)]
    if not kinds:
        raise ModelFileError(
            "the labels of a model that is saved must be all strings, all integers, all floats or "
            "all truth values; rename the labels and train again"
        )
    constraints = None
    if model.constraints is not None:
        constraints = structure.constraints_to_json(model.constraints)
    return {
        "kind": KIND,
        "partwise": __version__,
        "task": model.task,
        "structure": {
            "name": structure.name,
            "constants": structure.constants(),
            "kinds": list(structure.kinds),
            "widths": [int(width) for width in structure.widths],
        },
        "encoder": {"name": model.features.name, "data": model.features.to_json()},
        "labels": list(model.labels),
        "label_type": kinds[0],
        "constraints": constraints,
        "loss": model.loss,
        "l2": float(model.l2),
        "l1": float(model.l1),
        "certificate": {
            name: value if isinstance(value, (str, dict)) else float(value)
            for name, value in model.certificate.fields().items()
        },
        "n_features": list(model.layout.n_features),
        "n_weights": model.layout.n_weights,
        "meta": {**model.meta, **({_SETTINGS: model.settings} if model.settings else {})},
    }


def _arrays(model: Model) -> dict[str, npt.NDArray[Any]]:
    own = {_PREFIX + name: array for name, array in model.features.arrays().items()}
    layout = model.layout
    return {"weights": model.weights, "first": layout.first, "slot": layout.slot, **own}


# Reading


def _settings(header: dict[str, Any]) -> dict[str, Any]:
    """Remove the settings from the `meta` of a file and return them."""
    held = header["meta"].pop(_SETTINGS, {})
    return held if isinstance(held, dict) else {}


class _Checker:
    """Raises a ModelFileError that names the file and what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, sound: Any, why: str) -> None:
        if not sound:
            raise ModelFileError(f"{self.path} is no sound model: {why}; copy or train it again")

    def believe(self, make: Callable[[], _Made]) -> _Made:
        """Return ``make()``; its errors become a ModelFileError that names the file."""
        try:
            return make()
        except MismatchError as error:
            # The file may be sound, but something that it needs is missing.
            raise ModelFileError(f"{self.path}: {error}") from error
        except DataError as error:
            raise ModelFileError(f"{self.path} is no sound model: {error}") from error


def _check_header(
    check: _Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check all that can be checked without knowing the structure and the encoder."""
    check(header.get("kind") == KIND, f"it does not say that it is a {KIND}")
    check(header.keys() == _KEYS, f"its header does not hold just {', '.join(sorted(_KEYS))}")
    check(isinstance(header["partwise"], str), "partwise is no version")
    check(isinstance(header["task"], str), "its task is no word")
    check(isinstance(header["meta"], dict), "meta is no object")
    check(header["loss"] in LOSS_NAMES, "its loss is unknown")
    check(_is_number(header["l2"]) and header["l2"] > 0, "l2 is no positive number")
    check(_is_number(header["l1"]) and header["l1"] >= 0, "l1 is no number from 0")
    _check_structure(check, header["structure"])
    encoder = header["encoder"]
    named = isinstance(encoder, dict) and encoder.keys() == {"name", "data"}
    check(named and isinstance(encoder["name"], str), "its encoder has no name")
    _check_labels(check, header)
    _check_certificate(check, header["certificate"])
    _check_arrays(check, header, arrays)


def _encoder(
    header: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    own: Iterable[type[Features] | str] = (),
) -> Features:
    n = len(_PREFIX)
    mine = {name[n:]: array for name, array in arrays.items() if name.startswith(_PREFIX)}
    held = header["encoder"]
    return read_features(held["name"], held["data"], mine, tuple(own))


def _make(
    check: _Checker,
    header: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    structures: Iterable[type[Structure] | str],
    encoders: Iterable[type[Features] | str],
) -> tuple[Structure, Features, Any]:
    """Make structure, encoder and constraints, and check the rest of the header against them."""
    from ..structures.registry import make_structure
    from .model import check_label_names

    shape = header["structure"]
    name, constants = shape["name"], shape["constants"]
    encoder = check.believe(lambda: _encoder(header, arrays, encoders))
    structure = check.believe(lambda: make_structure(name, constants, tuple(structures)))
    check(list(structure.kinds) == shape["kinds"], "its structure has other kinds of sites")
    check(list(structure.widths) == shape["widths"], "its structure has sites of other widths")
    _check_room(check, structure, arrays)
    check(name == "multiclass" or header["task"] != "classify", "its structure does not classify")
    check.believe(lambda: check_label_names(structure, header["labels"]))
    counts = check.believe(lambda: list(encoder.feature_counts(structure)))
    check(header["n_features"] == counts, "it has another number of features than its encoder")
    held = header["constraints"]
    if held is None:
        return structure, encoder, None
    return structure, encoder, check.believe(lambda: structure.constraints_from_json(held))


def _check_room(
    check: _Checker, structure: Structure, arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check that the structure does not need far more memory than the file holds."""
    needed = 8 * sum(structure.widths)
    held = sum(array.nbytes for array in arrays.values())
    check(
        needed <= min(max(_ROOM, _PER_BYTE * held), memory_limit()),
        f"its structure would need {needed / 2**30:,.1f} GiB of memory for an example, where its "
        f"arrays have {held:,} bytes",
    )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _INT64


def _check_structure(check: _Checker, shape: Any) -> None:
    from ..structures.registry import MAX_WIDTH

    check(isinstance(shape, dict) and shape.keys() == _STRUCTURE, "its structure is incomplete")
    check(isinstance(shape["name"], str), "its structure has no name")
    check(isinstance(shape["constants"], dict), "its structure has no constants")
    kinds, widths = shape["kinds"], shape["widths"]
    check(isinstance(kinds, list) and all(type(k) is str for k in kinds), "odd kinds of sites")
    check(isinstance(widths, list) and len(widths) == len(kinds), "odd widths of sites")
    check(all(_is_count(w) and w <= MAX_WIDTH for w in widths), "odd widths of sites")


def _check_labels(check: _Checker, header: dict[str, Any]) -> None:
    labels, kind = header["labels"], header["label_type"]
    check(isinstance(labels, list), "its labels are no list")
    check(isinstance(kind, str) and kind in _TYPES, "its label_type is unknown")
    check(all(type(label) is _TYPES[kind] for label in labels), f"some label is not of type {kind}")
    check(len(set(labels)) == len(labels), "a label occurs twice")
    if kind == "int":
        check(all(-_INT64 <= label < _INT64 for label in labels), "a label is out of range")


def _check_certificate(check: _Checker, held: Any) -> None:
    names = {field.name for field in dataclasses.fields(Certificate)} - {"steps"}
    given = held.keys() - {"steps"} if isinstance(held, dict) else set()
    check(given == names, "its certificate is incomplete")
    check(isinstance(held["verdict"], str), "its certificate has no verdict")
    if "steps" in held:
        _check_steps(check, held["steps"])
    numbers = (held[name] for name in names - {"verdict"})
    check(all(map(_is_number, numbers)), "its certificate holds something that is no number")


def _check_steps(check: _Checker, held: Any) -> None:
    names = {field.name for field in dataclasses.fields(Steps)}
    check(isinstance(held, dict) and held.keys() == names, "the steps of its fit are incomplete")
    counts = (held["count"], held["partial"])
    check(all(type(n) is int and n >= 0 for n in counts), "the steps of its fit are not counted")
    check(type(held["settled"]) is bool, "its steps have no verdict")
    numbers = (held["objective"], held["decrease"])
    check(all(map(_is_number, numbers)), "its steps hold something that is no number")


def _check_arrays(
    check: _Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check that the blocks tile the weights and that every slot lies in its site."""
    others = [name for name in arrays if name not in _ARRAYS and not name.startswith(_PREFIX)]
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
