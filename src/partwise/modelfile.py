"""Models on disk: what the header of a container means, and whether it can be believed.

A good checksum says that a file is whole, not that it is honest. Every field is checked before it
is used, and the arrays that compiled code indexes with are checked element by element: a model
file can be wrong, but it cannot make prediction read outside its arrays.

Nothing here needs the compiler except the making of the model itself.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from . import __version__
from .certificate import Certificate
from .container import read_container, write_container
from .errors import ModelFileError
from .templates import TemplateSet
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .model import Model

__all__ = ["load_model", "read_header", "save_model"]

KIND: Final = "partwise linear model"

#: More labels than these cannot be predicted in any memory: chains hold a number a pair.
_MAX_LABELS: Final = {"multiclass": 2**24, "chain": 2**14}
_SITES: Final = {"multiclass": ("label",), "chain": ("label", "transition", "start", "end")}
_TASKS: Final = {"classify": "multiclass", "tag": "chain"}
_LOSSES: Final = ("log", "hinge", "softmax-margin")
_TYPES: Final[dict[str, type]] = {"str": str, "int": int, "float": float, "bool": bool}
_INT64: Final = 2**63
_KEYS: Final = {
    "kind", "partwise", "task", "structure", "labels", "label_type", "templates", "constraints",
    "intercept", "loss", "l2", "certificate", "n_inputs", "n_features", "n_weights", "vocabulary",
    "transition_vocabulary", "meta",
}  # fmt: skip
_NAMES: Final = {
    "vocabulary_bytes", "vocabulary_offsets", "transition_vocabulary_bytes",
    "transition_vocabulary_offsets",
}  # fmt: skip
_CONSTRAINTS: Final = ("labels", "transitions", "starts", "ends")


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, all or nothing.

    Parameters
    ----------
    model : Model or fitted estimator
        The model, or an estimator that holds one as ``model_``.
    path : str or path-like
        The file; one that exists is replaced only when the new one is complete on disk.

    Raises
    ------
    ModelFileError
        If the model holds something that such a file cannot, or the file cannot be written.
    """
    from .model import Model

    held = getattr(model, "model_", model)
    if not isinstance(held, Model):
        raise ModelFileError(
            f"{type(model).__name__} is not a trained model; fit it first, or give its model_"
        )
    header, arrays = _header(held), _arrays(held)
    # What could not be read back must not be written.
    _checked(os.fspath(path), header, arrays)
    write_container(path, header, arrays)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model that `save_model` wrote, after checking all of it.

    Parameters
    ----------
    path : str or path-like
        The file.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, hostile or of another version.
    """
    header, arrays = read_container(path)
    parts = _checked(os.fspath(path), header, arrays)

    from .design import Layout
    from .model import Model
    from .structures.base import Constraints, Structure
    from .structures.chain import Chain
    from .structures.multiclass import Multiclass

    shape = header["structure"]
    structure: Structure
    if shape["name"] == "chain":
        structure = Chain(shape["n_labels"], shape["tied"], shape["start"], shape["end"])
    else:
        structure = Multiclass(shape["n_labels"])
    given = header["constraints"]
    constraints = None
    if given is not None:
        pairs = [(a, b) for a, b in given["transitions"]]
        constraints = Constraints(given["labels"], pairs, given["starts"], given["ends"])
    return Model(
        task=header["task"],
        structure=structure,
        layout=Layout(
            widths=_widths(shape),
            n_features=tuple(header["n_features"]),
            first=arrays["first"],
            slot=arrays["slot"],
            n_weights=header["n_weights"],
        ),
        weights=arrays["weights"],
        labels=tuple(header["labels"]),
        vocabulary=parts["vocabulary"],
        templates=parts["templates"],
        constraints=constraints,
        intercept=float(header["intercept"]),
        loss=header["loss"],
        l2=float(header["l2"]),
        certificate=Certificate.from_json(header["certificate"]),
        n_inputs=header["n_inputs"],
        transition_vocabulary=parts["transition_vocabulary"],
        meta=header["meta"],
    )


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says about itself; checked as by `load_model`, without the compiler.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    dict
        Plain data: ``task``, ``structure``, ``labels``, ``loss``, ``l2``, ``certificate``, ...
    """
    header, arrays = read_container(path)
    _checked(os.fspath(path), header, arrays)
    return header


# Writing


def _header(model: Model) -> dict[str, Any]:
    structure = {
        name: getattr(model.structure, name)
        for name in ("name", "n_labels", "tied", "start", "end")
        if hasattr(model.structure, name)
    }
    kinds = [name for name, kind in _TYPES.items() if all(type(y) is kind for y in model.labels)]
    if not kinds:
        raise ModelFileError(
            "the labels of a model that is saved must be all strings, all integers, all floats or "
            "all truth values; rename the labels and train again"
        )
    constraints = None
    if model.constraints is not None:
        held = model.constraints._asdict()
        constraints = {name: _plain(held[name]) for name in _CONSTRAINTS}
    return {
        "kind": KIND,
        "partwise": __version__,
        "task": model.task,
        "structure": structure,
        "labels": list(model.labels),
        "label_type": kinds[0],
        "templates": None if model.templates is None else model.templates.to_json(),
        "constraints": constraints,
        "intercept": float(model.intercept),
        "loss": model.loss,
        "l2": float(model.l2),
        "certificate": {
            name: value if isinstance(value, str) else float(value)
            for name, value in dataclasses.asdict(model.certificate).items()
        },
        "n_inputs": int(model.n_inputs),
        "n_features": list(model.layout.n_features),
        "n_weights": model.layout.n_weights,
        "vocabulary": model.vocabulary is not None,
        "transition_vocabulary": model.transition_vocabulary is not None,
        "meta": model.meta,
    }


def _plain(numbers: Any) -> Any:
    """Lists of Python integers, in place of tuples and of integers of numpy."""
    return np.asarray(numbers, dtype=np.int64).tolist() if len(numbers) else []


def _arrays(model: Model) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {
        "weights": model.weights,
        "first": model.layout.first,
        "slot": model.layout.slot,
    }
    for name in ("vocabulary", "transition_vocabulary"):
        names = getattr(model, name)
        if names is not None:
            arrays[f"{name}_bytes"], arrays[f"{name}_offsets"] = names.pack()
    return arrays


# Reading


class _Checker:
    """Raises a ModelFileError that names the file and what is wrong with it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, sound: Any, why: str) -> None:
        if not sound:
            raise ModelFileError(f"{self.path} is no sound model: {why}; copy or train it again")


def _checked(
    path: str, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, Any]:
    """Check header and arrays, and give the vocabularies and the templates."""
    check = _Checker(path)
    check(header.get("kind") == KIND, f"it does not say that it is a {KIND}")
    check(header.keys() == _KEYS, f"its header does not hold just {', '.join(sorted(_KEYS))}")
    check(isinstance(header["partwise"], str), "partwise is no version")
    check(isinstance(header["meta"], dict), "meta is no object")
    check(header["loss"] in _LOSSES, "its loss is unknown")
    check(_is_number(header["l2"]) and header["l2"] > 0, "l2 is no positive number")
    check(_is_number(header["intercept"]), "the intercept is no number")
    check(_is_count(header["n_inputs"]), "n_inputs is no count")
    _check_structure(check, header)
    _check_labels(check, header)
    _check_constraints(check, header["constraints"], len(header["labels"]))
    _check_certificate(check, header["certificate"])
    _check_arrays(check, header, arrays)
    vocabularies = {
        name: _vocabulary(check, header, arrays, name)
        for name in ("vocabulary", "transition_vocabulary")
    }
    _check_features(check, header, vocabularies)
    templates = None
    if header["templates"] is not None:
        templates = TemplateSet.from_json(header["templates"])
        check(header["vocabulary"], "it has templates and no vocabulary")
        check(templates.n_columns <= header["n_inputs"], "its templates look at missing columns")
    return {**vocabularies, "templates": templates}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300 and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _INT64


def _check_structure(check: _Checker, header: dict[str, Any]) -> None:
    shape, task = header["structure"], header["task"]
    check(isinstance(task, str) and task in _TASKS, "its task is unknown")
    check(isinstance(shape, dict) and shape.get("name") == _TASKS[task], "its structure is unknown")
    flags = {"tied", "start", "end"} if shape["name"] == "chain" else set()
    check(shape.keys() == {"name", "n_labels"} | flags, "its structure has other parameters")
    check(all(type(shape[flag]) is bool for flag in flags), "its structure has odd switches")
    n_labels = shape["n_labels"]
    check(_is_count(n_labels) and 1 <= n_labels <= _MAX_LABELS[shape["name"]], "odd n_labels")


def _check_labels(check: _Checker, header: dict[str, Any]) -> None:
    labels, kind = header["labels"], header["label_type"]
    check(isinstance(labels, list), "its labels are no list")
    check(len(labels) == header["structure"]["n_labels"], "it has another number of labels")
    check(isinstance(kind, str) and kind in _TYPES, "its label_type is unknown")
    check(all(type(label) is _TYPES[kind] for label in labels), f"some label is not of type {kind}")
    check(len(set(labels)) == len(labels), "a label occurs twice")
    if kind == "int":
        check(all(-_INT64 <= label < _INT64 for label in labels), "a label is out of range")


def _check_constraints(check: _Checker, held: Any, n_labels: int) -> None:
    if held is None:
        return
    check(isinstance(held, dict) and held.keys() == set(_CONSTRAINTS), "odd constraints")

    def is_label(value: Any) -> bool:
        return type(value) is int and 0 <= value < n_labels

    for name in _CONSTRAINTS:
        check(isinstance(held[name], list), f"the constraints {name} are no list")
        pairs = name == "transitions"
        for item in held[name]:
            sound = isinstance(item, list) and len(item) == 2 and all(map(is_label, item))
            check(sound if pairs else is_label(item), f"the constraints {name} name no label")


def _check_certificate(check: _Checker, held: Any) -> None:
    names = {field.name for field in dataclasses.fields(Certificate)}
    check(isinstance(held, dict) and held.keys() == names, "its certificate is incomplete")
    check(isinstance(held["verdict"], str), "its certificate has no verdict")
    numbers = (held[name] for name in names - {"verdict"})
    check(all(map(_is_number, numbers)), "its certificate holds something that is no number")


def _widths(shape: dict[str, Any]) -> tuple[int, ...]:
    n = shape["n_labels"]
    if shape["name"] == "multiclass":
        return (n,)
    return (n, n * n, n * shape["start"], n * shape["end"])


def _check_arrays(
    check: _Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Check that the blocks tile the weights and that every slot lies in its site."""
    wanted = {"weights": np.float64, "first": np.int64, "slot": np.int32}
    check(arrays.keys() <= wanted.keys() | _NAMES, "it has an array that no model has")
    for name, dtype in wanted.items():
        check(name in arrays, f"the array {name} is missing")
        check(arrays[name].ndim == 1 and arrays[name].dtype == dtype, f"{name} has another type")
    weights, first, slot = (arrays[name] for name in wanted)
    n_weights, n_features = header["n_weights"], header["n_features"]
    kinds = _SITES[header["structure"]["name"]]
    check(_is_count(n_weights) and len(weights) == n_weights, "n_weights is not as it should be")
    check(isinstance(n_features, list) and len(n_features) == len(kinds), "odd n_features")
    check(all(map(_is_count, n_features)) and sum(n_features) == len(first), "odd n_features")
    check(np.isfinite(weights).all(), "a weight is not finite")
    width = np.repeat(np.array(_widths(header["structure"]), dtype=np.int64), n_features)
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


def _vocabulary(
    check: _Checker, header: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]], name: str
) -> Vocabulary | None:
    check(type(header[name]) is bool, f"{name} is neither true nor false")
    parts = (f"{name}_bytes", f"{name}_offsets")
    check(all((part in arrays) == header[name] for part in parts), f"odd arrays for the {name}")
    return Vocabulary.unpack(*(arrays[part] for part in parts)) if header[name] else None


def _check_features(
    check: _Checker, header: dict[str, Any], vocabularies: Mapping[str, Vocabulary | None]
) -> None:
    """Check the numbers of features against vocabularies, inputs and structure."""
    n_features, shape = header["n_features"], header["structure"]
    names = vocabularies["vocabulary"]
    plain = header["n_inputs"] if names is None else len(names)
    check(n_features[0] == plain + (header["intercept"] != 0), "it has another number of features")
    names = vocabularies["transition_vocabulary"]
    if shape["name"] == "multiclass":
        check(names is None, "a classifier has no transitions")
        return
    if shape["tied"]:
        check(names is None and n_features[1] == 1, "odd features of transitions")
    elif names is not None:
        check(n_features[1] == len(names) + 1, "it has another number of transition features")
    else:
        check(n_features[1] >= 1, "it has no feature for transitions")
    ends = [int(shape["start"]), int(shape["end"])]
    check(n_features[2:] == ends, "odd features of starts and ends")
