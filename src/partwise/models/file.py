"""Models on disk: the meaning of the header of a container, and its checks.

A good checksum shows that a file is complete, not that it is honest. Every field is checked before
it is used, by the functions in ``soundness.py``.

The header names a structure and an encoder, and holds what they store. Nothing here knows any of
them by name, and nothing needs the compiler except making the model itself.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import os
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..errors import ModelFileError
from ..files.container import read_container, write_container
from ..problem.losses import LOSS_NAMES
from ..training.certificate import Certificate
from .features import FEATURES, Features, read_features
from .foreign.base import ModelFormat, Origin
from .soundness import (
    ENCODER_PREFIX,
    LABEL_TYPES,
    Checker,
    check_arrays,
    check_certificate,
    check_labels,
    check_room,
    check_structure,
    is_number,
)

if TYPE_CHECKING:
    from ..structures.base import Structure
    from .model import Model

__all__ = [
    "FORMAT",
    "held_model",
    "load_model",
    "pack_counts",
    "pack_model",
    "read_header",
    "save_model",
    "unpack_counts",
    "unpack_model",
]

Counts = npt.NDArray[np.uint32]

KIND: Final = "partwise linear model"

_KEYS: Final = {
    "kind", "partwise", "task", "structure", "encoder", "labels", "label_type", "constraints",
    "loss", "l2", "l1", "certificate", "n_features", "n_weights", "meta",
}  # fmt: skip
#: The key of the settings in `meta`, so that versions that do not know them can read the file.
_SETTINGS: Final = "partwise settings"
#: The key of the origin of a converted model in `meta`.
_ORIGIN: Final = "partwise origin"
#: The key of the counts of the features in `meta`. They are a text there, and not an array:
#: versions that do not know them can then read the file.
_COUNTS: Final = "partwise counts"
#: Stands for the primal and the dual of a converted model, which are not known. Versions that do
#: not know this find the two inconsistent, and so they certify nothing either.
_UNKNOWN: Final = -1.0
_STORED_COUNTS: Final = np.dtype("<u4")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, completely or not at all.

    Parameters
    ----------
    model : Model or fitted estimator
        The model, or an estimator that holds one as ``model_``. Of a pipeline, give the last step;
        the steps before it are no part of the model.
    path : str or path-like
        The file. An existing file is replaced only when the new one is complete on disk. A symbolic
        link is kept, and the file behind it is replaced.

    Raises
    ------
    ModelFileError
        If the model holds something that a model file cannot hold, or the file cannot be written.

    Examples
    --------
    >>> from partwise import SequenceTagger, load_model, save_model
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> save_model(tagger, "tags.model")
    >>> load_model("tags.model").predict([["the", "dog"]])
    [['DET', 'NOUN']]
    """
    held = held_model(model)
    if held is None:
        raise ModelFileError(f"{type(model).__name__} {_no_model(model)}")
    write_container(path, *pack_model(held, os.fspath(path)))


def held_model(given: Any) -> Model | None:
    """Return the model that is given, or that a fitted estimator holds as ``model_``, or None."""
    from .model import Model

    held = getattr(given, "model_", given)
    return held if isinstance(held, Model) else None


def _no_model(given: Any) -> str:
    """Return what is wrong with an object that holds no model, and what to save instead."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return (
            "is no model but the name of a file; give the model first and the file second: "
            "save_model(model, path)"
        )
    if hasattr(given, "named_steps"):
        return (
            "holds other steps besides a model; save its last step, save_model(pipeline[-1], "
            "path), and keep the steps before it, pipeline[:-1], in a file of their own, for "
            "example with skops.io.dump"
        )
    if hasattr(given, "best_estimator_"):
        return "is a search; save what it found: save_model(search.best_estimator_, path)"
    file = getattr(given, "modelfile", None)
    if getattr(file, "name", None) is not None:
        # That of sklearn-crfsuite; the CRF of partwise.compat has model_.
        return (
            "has a model of CRFsuite; save what partwise.read_model(crf.modelfile.name, "
            "'crfsuite-model') returns"
        )
    if type(given).__module__.startswith("sklearn."):
        return "is an estimator of scikit-learn; save what partwise.model_of_sklearn makes of it"
    if hasattr(given, "fit"):
        return "has not been fitted, so it has no model; call fit first"
    return "is no model; give a fitted estimator, or a model such as its model_"


def pack_model(model: Model, path: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the file of a model.

    Parameters
    ----------
    model : Model
        The model.
    path : str
        The file that they will be written to, for messages.

    Raises
    ------
    ModelFileError
        If the model holds something that a model file cannot hold.
    """
    check = Checker(path)
    header, arrays = check.believe(lambda: _contents(model))
    # A model that could not be read back must not be written.
    _check_header(check, header, arrays)
    _make(check, header, arrays, [type(model.structure)], [type(model.features)])
    return header, arrays


def load_model(
    path: str | os.PathLike[str],
    *,
    structures: Iterable[type[Structure] | str] = (),
    features: Iterable[type[Features] | str] = (),
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

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, hostile or of another version.

    Examples
    --------
    >>> from partwise import SequenceTagger, load_model, save_model
    >>> tagger = SequenceTagger().fit([["the", "dog"]], [["DET", "NOUN"]])
    >>> save_model(tagger, "tags.model")
    >>> model = load_model("tags.model")
    >>> model.labels, model.certificate.converged
    (('DET', 'NOUN'), True)
    """
    return unpack_model(os.fspath(path), *read_container(path), structures, features)


def unpack_model(
    path: str,
    header: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    structures: Iterable[type[Structure] | str] = (),
    features: Iterable[type[Features] | str] = (),
) -> Model:
    """Make a model of what `pack_model` returned, or of anything else, after checking it.

    Parameters
    ----------
    path : str
        The file that header and arrays were read from, for messages.
    header, arrays
        The contents of the file. The settings, the origin and the counts are removed from the
        header.
    structures, features
        As in `load_model`.
    """
    check = Checker(path)
    _check_header(check, header, arrays)
    settings, origin, counts = _settings(header), _origin(header), _counts(header)
    structure, encoder, constraints = _make(check, header, arrays, structures, features)

    from ..problem.storage import Layout
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
            counts=counts,
        ),
        weights=arrays["weights"],
        labels=tuple(header["labels"]),
        features=encoder,
        constraints=constraints,
        loss=header["loss"],
        l2=float(header["l2"]),
        l1=float(header["l1"]),
        certificate=_certificate(header),
        meta=header["meta"],
        settings=settings,
        origin=origin,
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
        store them; and ``origin``, where a converted model comes from, or None.
    """
    header, arrays = read_container(path)
    check = Checker(os.fspath(path))
    _check_header(check, header, arrays)
    if FEATURES.built_in(header["encoder"]["name"]):
        check.believe(lambda: _encoder(header, arrays))
    settings, origin = _settings(header), _origin(header)
    _counts(header)  # they are long, and mean nothing without the features
    certificate = _certificate(header).fields()
    held = None if origin is None else origin.to_json()
    return {**header, "certificate": certificate, "settings": settings, "origin": held}


# Writing


def _contents(model: Model) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the header and the arrays of the file of a model."""
    structure, layout, certificate = model.structure, model.layout, model.certificate
    if not certificate.known:  # the file holds no nan
        certificate = dataclasses.replace(certificate, primal=_UNKNOWN, dual=_UNKNOWN)
    kinds = [
        name for name, kind in LABEL_TYPES.items() if all(type(y) is kind for y in model.labels)
    ]
    if not kinds:
        raise ModelFileError(
            "the labels of a model that is saved must be all strings, all integers, all floats or "
            "all truth values; rename the labels and train again"
        )
    constraints = None
    if model.constraints is not None:
        constraints = structure.constraints_to_json(model.constraints)
    header = {
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
            for name, value in certificate.fields().items()
        },
        "n_features": list(layout.n_features),
        "n_weights": layout.n_weights,
        "meta": {
            **model.meta,
            **({_SETTINGS: model.settings} if model.settings else {}),
            **({} if model.origin is None else {_ORIGIN: model.origin.to_json()}),
            **({} if layout.counts is None else {_COUNTS: pack_counts(layout.counts)}),
        },
    }
    own = {ENCODER_PREFIX + name: array for name, array in model.features.arrays().items()}
    return header, {"weights": model.weights, "first": layout.first, "slot": layout.slot, **own}


# Reading


def _settings(header: dict[str, Any]) -> dict[str, Any]:
    """Remove the settings from the `meta` of a file and return them."""
    held = header["meta"].pop(_SETTINGS, {})
    return held if isinstance(held, dict) else {}


def _origin(header: dict[str, Any]) -> Origin | None:
    """Remove the origin of a converted model from the `meta` of a file and return it."""
    return Origin.from_json(header["meta"].pop(_ORIGIN, None))


def _counts(header: dict[str, Any]) -> Counts | None:
    """Remove the counts of the features from the `meta` of a file and return them."""
    return unpack_counts(header["meta"].pop(_COUNTS, None), sum(header["n_features"]))


def _certificate(header: dict[str, Any]) -> Certificate:
    held = Certificate.from_json(header["certificate"])
    return Certificate.unknown(held.verdict) if held.primal == held.dual == _UNKNOWN else held


def pack_counts(counts: Counts) -> str:
    """Return counts as text: little-endian uint32, compressed by zlib, in base64."""
    return base64.b64encode(zlib.compress(counts.astype(_STORED_COUNTS).tobytes())).decode("ascii")


def unpack_counts(text: Any, n: int) -> Counts | None:
    """Return the counts of n features; None for anything that `pack_counts` did not make."""
    if not isinstance(text, str):
        return None
    reader = zlib.decompressobj()
    try:
        # No more than what is wanted, whatever the text would unfold to.
        data = reader.decompress(base64.b64decode(text, validate=True), 4 * n + 1)
    except (binascii.Error, ValueError, zlib.error):
        return None
    if len(data) != 4 * n or not reader.eof:
        return None
    return np.frombuffer(data, _STORED_COUNTS).astype(np.uint32)


def _check_header(
    check: Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check all that can be checked without knowing the structure and the encoder."""
    check(header.get("kind") == KIND, f"it does not say that it is a {KIND}")
    check(header.keys() == _KEYS, f"its header does not hold just {', '.join(sorted(_KEYS))}")
    check(isinstance(header["partwise"], str), "partwise is no version")
    check(isinstance(header["task"], str), "its task is no word")
    check(isinstance(header["meta"], dict), "meta is no object")
    check(header["loss"] in LOSS_NAMES, "its loss is unknown")
    check(is_number(header["l2"]) and header["l2"] > 0, "l2 is no positive number")
    check(is_number(header["l1"]) and header["l1"] >= 0, "l1 is no number from 0")
    check_structure(check, header["structure"])
    encoder = header["encoder"]
    named = isinstance(encoder, dict) and encoder.keys() == {"name", "data"}
    check(named and isinstance(encoder["name"], str), "its encoder has no name")
    check_labels(check, header)
    check_certificate(check, header["certificate"])
    check_arrays(check, header, arrays)


def _encoder(
    header: dict[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    own: Iterable[type[Features] | str] = (),
) -> Features:
    n = len(ENCODER_PREFIX)
    mine = {name[n:]: array for name, array in arrays.items() if name.startswith(ENCODER_PREFIX)}
    held = header["encoder"]
    return read_features(held["name"], held["data"], mine, tuple(own))


def _make(
    check: Checker,
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
    check_room(check, structure, arrays)
    check(name == "multiclass" or header["task"] != "classify", "its structure does not classify")
    check.believe(lambda: check_label_names(structure, header["labels"]))
    counts = check.believe(lambda: list(encoder.feature_counts(structure)))
    check(header["n_features"] == counts, "it has another number of features than its encoder")
    held = header["constraints"]
    if held is None:
        return structure, encoder, None
    return structure, encoder, check.believe(lambda: structure.constraints_from_json(held))


FORMAT: Final = ModelFormat("a model file of partwise", load_model, save_model)
