r"""Models as plain JSON: every weight under the names of its feature and its label.

One object with these keys::

    kind                 "partwise weights"
    model                what a model file of partwise holds besides arrays: task, labels, ...
    features             {feature: {label: weight}}; features without names are numbers from 0
    intercept            {label: weight} of the constant feature, for classifiers that have one
    transitions          {label: {next label: weight}}, for taggers
    transition_features  {feature: {label: {next label: weight}}}, if transitions have features
    start, end           {label: weight} of the first and the last label, if they have weights

Weights that do not exist are left out. Numbers are written so that they are the same when read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...arrays import Ints
from ...errors import DataError
from ...files.container import strict_json
from ...files.whole_files import replacing
from ...structures.registry import make_structure
from ..features import FEATURES
from ..file import pack_model, unpack_model
from ..vocabulary import Vocabulary
from .base import ModelFormat, decoded, named_file, read_bytes
from .entries import WeightList, entries_of, laid_out

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "read_json_model", "write_json_model"]

_KIND: Final = "partwise weights"
_STRUCTURES: Final = ("multiclass", "chain")
_VOCABULARIES: Final = ("vocabulary", "transition_vocabulary")

_Table = dict[str, Any]


def write_json_model(model: Model, path: str) -> None:
    """Write a classifier or a first-order tagger as JSON, completely or not at all.

    Raises
    ------
    DataError
        If the model is of another kind.
    """
    features: Any = model.features
    kernel = getattr(features, "support", None) is not None
    if features.name != "positions" or model.structure.name not in _STRUCTURES or kernel:
        raise DataError(
            f"a model of the task {model.task!r} with a {model.structure.name} cannot be written "
            "as JSON, which is for classifiers and taggers of order 1 without kernels; write it as "
            "safetensors-model"
        )
    header, _ = pack_model(model, path)
    labels = [str(label) for label in model.labels]
    if len(set(labels)) != len(labels):
        raise DataError("two labels are spelled in the same way; rename one and train again")
    with replacing(path) as file:
        begin = json.dumps({"kind": _KIND, "model": header})[:-1]
        file.write(begin.encode())
        for key, items in _tables(model, features, labels):
            file.write(f",\n{json.dumps(key)}: {{".encode())
            comma = "\n"
            for name, weights in items:
                file.write(f"{comma}{json.dumps(name)}: {json.dumps(weights)}".encode())
                comma = ",\n"
            file.write(b"}")
        file.write(b"}\n")


def _tables(
    model: Model, features: Any, labels: list[str]
) -> Iterator[tuple[str, Iterable[tuple[str, Any]]]]:
    """Yield the tables of the file and their items."""
    n = features.n_features
    states = _rows(entries_of(model, 0), labels)
    yield "features", ((name, states.get(k, {})) for k, name in _named(features.vocabulary, n))
    if features.intercept:
        yield "intercept", states.get(n, {}).items()
    if model.structure.name == "multiclass":
        return
    steps = _pair_rows(entries_of(model, 1), labels)
    count = features.n_transition_features or 0
    yield "transitions", steps.get(count, {}).items()
    if count:
        named = _named(features.transition_vocabulary, count)
        yield "transition_features", ((name, steps.get(k, {})) for k, name in named)
    for kind, key in ((2, "start"), (3, "end")):
        if model.layout.n_features[kind]:
            yield key, _rows(entries_of(model, kind), labels).get(0, {}).items()


def _named(vocabulary: Vocabulary | None, count: int) -> Iterable[tuple[int, str]]:
    return enumerate(map(str, range(count)) if vocabulary is None else vocabulary)


def _rows(entries: WeightList, labels: list[str]) -> dict[int, _Table]:
    """Return the weights of every feature by label."""
    found: dict[int, _Table] = {}
    for feature, slot, weight in zip(*(part.tolist() for part in entries), strict=True):
        found.setdefault(feature, {})[labels[slot]] = weight
    return found


def _pair_rows(entries: WeightList, labels: list[str]) -> dict[int, _Table]:
    """Return the weights of every feature by pairs of labels, first by the one before."""
    found: dict[int, _Table] = {}
    for feature, slot, weight in zip(*(part.tolist() for part in entries), strict=True):
        before, after = divmod(slot, len(labels))
        found.setdefault(feature, {}).setdefault(labels[before], {})[labels[after]] = weight
    return found


# Reading


def read_json_model(path: str) -> Model:
    """Read a file that `write_json_model` wrote.

    Raises
    ------
    ModelFileError
        If it is not such a file.
    """
    data = read_bytes(path)
    with named_file(path, "partwise as JSON"):
        try:
            held = strict_json(decoded(data, "it"))
        except (ValueError, RecursionError) as error:
            raise DataError(f"it is not valid JSON ({error})") from error
        if not isinstance(held, dict) or held.get("kind") != _KIND:
            raise DataError(f'it does not say that its kind is "{_KIND}"')
        header = _table(held, "model")
        arrays = _arrays(held, header)
    return unpack_model(path, header, arrays)


def _arrays(held: _Table, header: _Table) -> dict[str, Any]:
    """Return the arrays of the model file with the same weights."""
    shape, encoder = _table(header, "structure"), _table(_table(header, "encoder"), "data")
    labels = header.get("labels")
    if not isinstance(labels, list) or shape.get("name") not in _STRUCTURES:
        raise DataError("its model has no labels, or has a structure that is not written as JSON")
    structure = make_structure(shape["name"], shape.get("constants"))
    index = {str(label): number for number, label in enumerate(labels)}
    names = list(_table(held, "features"))
    step_names = list(_table(held, "transition_features", optional=True))
    packed: dict[str, Any] = {}
    hashed = bool(encoder.get("n_hashed"))
    for key, given in zip(_VOCABULARIES, (names, step_names), strict=True):
        if hashed:
            # The names only say which hash a row belongs to.
            continue
        if encoder.get(key) is True:
            packed[f"{key}_bytes"], packed[f"{key}_offsets"] = Vocabulary(given).pack()
        elif given != [str(number) for number in range(len(given))]:
            raise DataError("its features have no names and are not numbered from 0")
    features = FEATURES["positions"].from_saved(encoder, packed)
    counts = features.feature_counts(structure)
    listed = [len(names) + ("intercept" in held)]
    if structure.name == "chain":
        listed += [len(step_names) + encoder.get("plain_transition", True), *counts[2:]]
    # Compared before there are arrays of that size.
    if list(counts) != listed:
        raise DataError("it lists another number of features than its model has")
    kinds = [_states(held, index)]
    if structure.name == "chain":
        kinds.append(_steps(held, index))
        kinds += [_row(_table(held, key, optional=True), index) for key in ("start", "end")]
    layout, weights = laid_out(structure.widths, counts, kinds)
    own = {f"encoder_{name}": array for name, array in packed.items()}
    return {"weights": weights, "first": layout.first, "slot": layout.slot, **own}


def _table(held: _Table, key: str, optional: bool = False) -> _Table:
    found = held.get(key, {} if optional else None)
    if not isinstance(found, dict):
        raise DataError(f"its {key!r} is no object")
    return found


def _states(held: _Table, index: Mapping[str, int]) -> WeightList:
    given = [*_table(held, "features").values()]
    if "intercept" in held:
        given.append(held["intercept"])
    return _joined(given, lambda row: _row(row, index))


def _steps(held: _Table, index: Mapping[str, int]) -> WeightList:
    """Read the weights of transitions; the constant comes after the features."""
    given = [*_table(held, "transition_features", optional=True).values()]
    given.append(_table(held, "transitions"))

    def pairs(row: Any) -> WeightList:
        if not isinstance(row, dict) or not row.keys() <= index.keys():
            raise DataError("it has transitions from a label that the model does not have")
        befores = [(index[label], _row(after, index)) for label, after in row.items()]
        some = [after._replace(slot=after.slot + k * len(index)) for k, after in befores]
        return _concatenated(some)

    return _joined(given, pairs)


def _joined(given: list[Any], read: Callable[[Any], WeightList]) -> WeightList:
    found = []
    for number, row in enumerate(given):
        entries = read(row)
        found.append(entries._replace(feature=np.full_like(entries.slot, number)))
    return _concatenated(found)


def _concatenated(some: list[WeightList]) -> WeightList:
    return WeightList(
        *(np.concatenate(parts) for parts in zip(*some, WeightList.none(), strict=True))
    )


def _row(row: Any, index: Mapping[str, int]) -> WeightList:
    """Read the weights of one feature: {label: weight}."""
    if not isinstance(row, dict) or not row.keys() <= index.keys():
        raise DataError("it has weights of a label that the model does not have")
    if not all(type(weight) in (int, float) for weight in row.values()):
        raise DataError("it has a weight that is no number")
    slot: Ints = np.array([index[label] for label in row], dtype=np.int64)
    try:
        weight = np.array([*row.values()], dtype=np.float64)
    except OverflowError:
        raise DataError("it has a weight that is too large") from None
    return WeightList(np.zeros_like(slot), slot, weight)


FORMAT: Final = ModelFormat("all weights by name, as plain JSON", read_json_model, write_json_model)
