"""CRFsuite's binary model file, read and written, and the taggers that it holds.

All numbers are little endian and of 32 bits, except weights, which are doubles. The file is:

    header      48 bytes: magic "lCRF", size of the file, type "FOMC", version 100, the numbers of
                features, labels and attributes, and the offsets of the five parts below
    features    "FEAT", size, number; per feature: type (0 state, 1 transition), source, target
                and weight
    labels      a CQDB: a table from names to numbers and back
    attributes  a CQDB
    label refs  "LFRF", size, number of labels + 2, one offset per entry; at the offset of a label:
                the number of its transitions and the numbers of their features
    attr. refs  "AFRF", the same for the state features of each attribute
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError, ModelFileError, Place
from ...files.whole_files import replacing
from .base import ModelFormat, Origin, named_file, read_bytes
from .cqdb import LARGEST, damaged, read_names, words_at, write_names
from .entries import WeightList, entries_of, tagger

if TYPE_CHECKING:
    from ..model import Model

__all__ = [
    "FORMAT",
    "CRFsuiteModel",
    "WeightedPairs",
    "crfsuite_model_of",
    "parse_crfsuite_model",
    "read_crfsuite_model",
    "serialize_crfsuite_model",
    "tagger_of_crfsuite",
    "write_crfsuite_model",
]

_Bytes = npt.NDArray[np.uint8]

_HEADER: Final = struct.Struct("<4sI4s9I")
_MAGIC: Final = b"lCRF"
_TYPE: Final = b"FOMC"
_VERSION: Final = 100
_CHUNK: Final = struct.Struct("<4sII")
_FEATURE: Final = np.dtype(
    [("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")]
)
_STATE, _TRANSITION = 0, 1
#: The numbers of the references to labels besides one per label; they are not used.
_SPARE_LABELS: Final = 2


_OBJECTIVE: Final = (
    "the log loss with l2 = 2 c2 and l1 = c1 (lbfgs, l2sgd), or that of an averaged perceptron or "
    "another learner; the file does not say which"
)


class WeightedPairs(NamedTuple):
    """Weights of pairs of numbers, sorted by source and target.

    Attributes
    ----------
    source, target : ndarray of int
        The numbers of the attribute and the label, or of the first and the second label.
    weight : ndarray of float
        The weight of each pair.
    """

    source: Ints
    target: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class CRFsuiteModel:
    """What a model file of CRFsuite holds.

    Attributes
    ----------
    labels, attributes : tuple of str
        The names, in the order of their numbers. Bytes that are not UTF-8 are lone surrogates, as
        by the error handler "surrogateescape".
    state_features : WeightedPairs
        The weights of attributes with labels.
    transitions : WeightedPairs
        The weights of labels that follow each other.
    size : int
        The number of bytes of the file; 0 if there is none.
    offsets : tuple of int
        Where features, labels, attributes, label references and attribute references start.
    """

    labels: tuple[str, ...]
    attributes: tuple[str, ...]
    state_features: WeightedPairs
    transitions: WeightedPairs
    size: int = 0
    offsets: tuple[int, ...] = ()

    @property
    def n_weights(self) -> int:
        """The number of weights, which CRFsuite calls features."""
        return len(self.state_features.weight) + len(self.transitions.weight)


def read_crfsuite_model(path: str | os.PathLike[str]) -> CRFsuiteModel:
    """Read a model file of CRFsuite.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ModelFileError
        If it is not a valid model file of CRFsuite.
    OSError
        If the file cannot be read.
    """
    with open(path, "rb") as file:
        start = file.read(_HEADER.size)
        # A large file of another kind is not read.
        data = start + file.read() if start[:4] == _MAGIC else start
    try:
        return parse_crfsuite_model(data)
    except ModelFileError as error:
        raise ModelFileError(str(error), place=Place(os.fspath(path))) from error


def parse_crfsuite_model(data: bytes) -> CRFsuiteModel:
    """Read a model of CRFsuite from the bytes of its file.

    Raises
    ------
    ModelFileError
        If they are not a valid model file of CRFsuite.
    """
    if data[:4] != _MAGIC:
        raise ModelFileError(
            "not a model of CRFsuite: the first bytes are not lCRF; give a file that CRFsuite, "
            "python-crfsuite or sklearn-crfsuite wrote"
        )
    if len(data) <= _HEADER.size:
        damaged(f"{len(data)} bytes are too few for the header, which has {_HEADER.size}")
    _, size, kind, version, n_features, n_labels, n_attributes, *offsets = _HEADER.unpack_from(data)
    if kind != _TYPE or version != _VERSION:
        raise ModelFileError(
            f"a model of CRFsuite of type {kind!r} and version {version}; only type {_TYPE!r} and "
            f"version {_VERSION} are known, which CRFsuite 0.12 writes"
        )
    if size != len(data):
        damaged(f"the header says {size} bytes and the file has {len(data)}")
    raw = np.frombuffer(data, np.uint8)
    at_features, at_labels, at_attributes, at_label_refs, at_attribute_refs = offsets
    features = _read_features(data, at_features, n_features)
    labels = read_names(data, raw, at_labels, n_labels, "label")
    attributes = read_names(data, raw, at_attributes, n_attributes, "attribute")
    states = _read_pairs(data, raw, at_attribute_refs, b"AFRF", _STATE, n_attributes, features)
    pairs = _read_pairs(data, raw, at_label_refs, b"LFRF", _TRANSITION, n_labels, features)
    for kind_of, found in (("state", states), ("transition", pairs)):
        if len(found.target) and found.target.max() >= n_labels:
            damaged(f"a {kind_of} feature has label {found.target.max()} of {n_labels}")
    return CRFsuiteModel(labels, attributes, states, pairs, size, tuple(offsets))


def _chunk(data: bytes, offset: int, name: bytes, width: int) -> int:
    """Check the header of a chunk of numbers of some width, and return how many there are."""
    if offset + _CHUNK.size > len(data):
        damaged(f"the part {name.decode()} starts at byte {offset} of {len(data)}")
    found, _, count = _CHUNK.unpack_from(data, offset)
    if found != name:
        damaged(f"at byte {offset} there is {found!r} where {name!r} is expected")
    if offset + _CHUNK.size + count * width > len(data):
        damaged(f"the part {name.decode()} has {count} entries, more than fit into the file")
    return int(count)


def _read_features(data: bytes, offset: int, n_features: int) -> npt.NDArray[np.void]:
    count = _chunk(data, offset, b"FEAT", _FEATURE.itemsize)
    # CRFsuite writes 0 as the number in the header of the file.
    if n_features not in (0, count):
        damaged(f"the header says {n_features} features and there are {count}")
    features = np.frombuffer(data, _FEATURE, count, offset + _CHUNK.size)
    if not np.isfinite(features["weight"]).all():
        damaged("a weight is not finite")
    return features


def _read_pairs(
    data: bytes,
    raw: _Bytes,
    start: int,
    name: bytes,
    kind: int,
    n_sources: int,
    features: npt.NDArray[np.void],
) -> WeightedPairs:
    """Read the features that the references of one kind point at."""
    spare = _SPARE_LABELS if kind == _TRANSITION else 0
    count = _chunk(data, start, name, 4)
    if count != n_sources + spare:
        damaged(f"the part {name.decode()} has {count} entries where {n_sources + spare} belong")
    at = np.frombuffer(data, "<u4", n_sources, start + _CHUNK.size).astype(np.int64)
    if n_sources and at.max() + 4 > len(data):
        damaged(f"a list of the part {name.decode()} starts beyond the end of the file")
    lengths = words_at(raw, at)
    total = int(lengths.sum())
    # Every feature is in one list only.
    if total > len(features) or (n_sources and (at + 4 + 4 * lengths).max() > len(data)):
        damaged(f"the lists of the part {name.decode()} are longer than there are features")
    first = np.cumsum(lengths) - lengths
    numbers = words_at(raw, np.repeat(at + 4 - 4 * first, lengths) + 4 * np.arange(total))
    source = np.repeat(np.arange(n_sources, dtype=np.int64), lengths)
    if total and numbers.max() >= len(features):
        damaged(f"the part {name.decode()} names feature {numbers.max()} of {len(features)}")
    chosen = features[numbers]
    if (chosen["type"] != kind).any() or (chosen["source"] != source).any():
        damaged(f"the part {name.decode()} and the features contradict each other")
    return _sorted(source, chosen["target"].astype(np.int64), chosen["weight"].astype(np.float64))


def _sorted(source: Ints, target: Ints, weight: Floats) -> WeightedPairs:
    order = np.lexsort((target, source))
    pairs = WeightedPairs(source[order], target[order], weight[order])
    if ((np.diff(pairs.source) == 0) & (np.diff(pairs.target) == 0)).any():
        damaged("a pair has two weights")
    return pairs


def write_crfsuite_model(path: str | os.PathLike[str], model: CRFsuiteModel) -> None:
    """Write a model file of CRFsuite, whole or not at all.

    Parameters
    ----------
    path
        The file.
    model
        The model. Its labels and attributes keep their numbers.

    Raises
    ------
    DataError
        If a name has a zero byte, a number is out of range, or the file would exceed 4 GiB.
    """
    data = serialize_crfsuite_model(model)
    with replacing(path) as file:
        file.write(data)


def serialize_crfsuite_model(model: CRFsuiteModel) -> bytes:
    """Return the bytes of a model file of CRFsuite, see `write_crfsuite_model`."""
    states, transitions = model.state_features, model.transitions
    n_labels, n_attributes, n_states = len(model.labels), len(model.attributes), len(states.source)
    features = np.zeros(model.n_weights, _FEATURE)
    features["type"][n_states:] = _TRANSITION
    for part, pairs, n_sources in (
        (features[:n_states], states, n_attributes),
        (features[n_states:], transitions, n_labels),
    ):
        _check_range(pairs.source, n_sources, "source")
        _check_range(pairs.target, n_labels, "target")
        ordered = _sorted(*pairs)
        for column in ("source", "target", "weight"):
            part[column] = getattr(ordered, column)
    parts, offsets, size = [], [], _HEADER.size

    def add(part: bytes) -> None:
        nonlocal size
        parts.append(part)
        offsets.append(size)
        size += len(part)

    add(_CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes())
    add(write_names(model.labels, "label"))
    add(write_names(model.attributes, "attribute"))
    refs = (
        (b"LFRF", features["source"][n_states:], n_labels, _SPARE_LABELS, n_states),
        (b"AFRF", features["source"][:n_states], n_attributes, 0, 0),
    )
    for name, sources, n_sources, spare, first in refs:
        parts.append(b"\0" * (-size % 4))
        size += -size % 4
        add(_references(name, sources.astype(np.int64), n_sources, spare, first, size))
    if size > LARGEST:
        raise DataError(f"the model takes {size} bytes; a file of CRFsuite holds at most {LARGEST}")
    header = (size, _TYPE, _VERSION, 0, n_labels, n_attributes, *offsets)
    return b"".join([_HEADER.pack(_MAGIC, *header), *parts])


def _check_range(numbers: Ints, count: int, what: str) -> None:
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
        raise DataError(f"the {what} of a weight is out of the range from 0 to {count - 1}")


def _references(
    name: bytes, source: Ints, n_sources: int, spare: int, first: int, at: int
) -> bytes:
    """Return the lists of features per source; features are numbered from `first`, by source."""
    lengths = np.bincount(source, minlength=n_sources).astype(np.int64)
    head = _CHUNK.size + 4 * (n_sources + spare)
    before = np.cumsum(lengths) - lengths
    offsets = np.zeros(n_sources + spare, np.int64)
    offsets[:n_sources] = at + head + 4 * (before + np.arange(n_sources))
    lists = np.zeros(n_sources + len(source), "<u4")
    lists[before + np.arange(n_sources)] = lengths
    lists[np.arange(len(source)) + source + 1] = np.arange(first, first + len(source))
    chunk = _CHUNK.pack(name, head + lists.nbytes, n_sources + spare)
    return chunk + (offsets & LARGEST).astype("<u4").tobytes() + lists.tobytes()


def tagger_of_crfsuite(held: CRFsuiteModel) -> Model:
    """Return the tagger that a model of CRFsuite is.

    Parameters
    ----------
    held : CRFsuiteModel
        What `read_crfsuite_model` returned.
    """
    n = len(held.labels)
    pairs, states = held.transitions, held.state_features
    transitions = WeightList(
        np.zeros_like(pairs.source), pairs.source * n + pairs.target, pairs.weight
    )
    origin = Origin("CRFsuite", _OBJECTIVE, True)
    # CRFsuite's packages for Python call the feature of {"w": "the"} w:the.
    return tagger(
        held.labels, held.attributes, WeightList(*states), transitions, origin, separator=":"
    )


def crfsuite_model_of(model: Model) -> CRFsuiteModel:
    """Return what a model file of CRFsuite holds for a tagger.

    Raises
    ------
    DataError
        If CRFsuite has no such model: it has taggers of order 1 with named features, without
        constraints, weights of first and last labels, and features of transitions.
    """
    structure: Any = model.structure
    features: Any = model.features
    if model.task != "tag" or structure.name != "chain" or features.name != "positions":
        raise DataError(
            f"CRFsuite has no models for the task {model.task!r} with a {structure.name}; write "
            "the model as safetensors-model"
        )
    missing = {
        "features of transitions": not structure.tied,
        "weights of first and last labels": structure.start or structure.end,
        "constraints": model.constraints is not None,
        "features without names": features.vocabulary is None,
        "hashed features": features.n_hashed > 0,
    }
    for what, held in missing.items():
        if held:
            raise DataError(
                f"the model has {what}, and CRFsuite knows none; write it as json-model"
            )
    n = len(model.labels)
    states, pairs = entries_of(model, 0), entries_of(model, 1)
    return CRFsuiteModel(
        tuple(map(str, model.labels)),
        features.vocabulary.names,
        WeightedPairs(*states),
        WeightedPairs(pairs.slot // n, pairs.slot % n, pairs.weight),
    )


def _read(path: str) -> Model:
    data = read_bytes(path)
    with named_file(path, "CRFsuite"):
        return tagger_of_crfsuite(parse_crfsuite_model(data))


def _write(model: Model, path: str) -> None:
    write_crfsuite_model(path, crfsuite_model_of(model))


FORMAT: Final = ModelFormat("a model file of CRFsuite", _read, _write)
