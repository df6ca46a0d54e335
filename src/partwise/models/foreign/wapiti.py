"""Wapiti's text models.

    #mdl#TYPE#N           0 maximum entropy, 1 Markov models of it, 2 random fields; N weights that
                          are not 0. Old files have #mdl#N.
    #rdr#N/COLUMNS/AUTO   N patterns. Old files have #rdr#N/COLUMNS.
    LENGTH:TEXT,          the patterns; the length is in bytes
    #qrk#N                the labels in the same form, and once more the observations
    NUMBER=WEIGHT         the weights, as C's %a writes them

An observation is the text that a pattern made of the columns. Its first letter says which weights
it has: u one per label, b one per pair of labels, * both, in this order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from ...errors import DataError
from .base import ModelFormat, Origin, decoded, named_file, read_bytes, real, whole
from .patterns import Observations, Weights, check_labels, pattern_tagger

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "read_wapiti_model"]

_MODEL: Final = re.compile(rb"#mdl#(?:(\d{1,9})#)?(\d{1,18})\n")
_READER: Final = re.compile(rb"#rdr#(\d{1,9})/(\d{1,9})(?:/\d{1,9})?\n")
_NAMES: Final = re.compile(rb"#qrk#(\d{1,18})\n")
_LENGTH: Final = re.compile(rb"(\d{1,9}):")
_MAXENT, _MEMM, _CRF = 0, 1, 2
#: Type, objective.
_OBJECTIVES: Final = {
    _MAXENT: "the log loss of single tokens with l1 = rho1 and l2 = rho2, which the file does not "
    "hold",
    _CRF: "the log loss with l1 = rho1 and l2 = rho2, which the file does not hold",
}


def read_wapiti_model(path: str, inputs: int | None = None) -> Model:
    """Read a text model of Wapiti.

    Parameters
    ----------
    path : str
        The file.
    inputs : int or None
        The number of input columns of the files that it was trained on, without the label. If None,
        those that its patterns look at.

    Returns
    -------
    Model
        A tagger. Its features are the observations as Wapiti spells them, such as ``u00:dog``;
        observations of pairs of labels that depend on the input are features of transitions. It
        makes them from columns by its patterns.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file of Wapiti.
    """
    data = read_bytes(path)
    with named_file(path, "Wapiti"):
        return _parse(data, inputs)


def _parse(data: bytes, inputs: int | None) -> Model:
    head = _MODEL.match(data)
    if head is None:
        raise DataError("it does not begin with #mdl#")
    kind = _CRF if head[1] is None else int(head[1])
    if kind == _MEMM:
        raise DataError(
            "it is a maximum entropy Markov model, whose labels are normalised one by one; only "
            "models of the types maxent and crf can be converted"
        )
    if kind not in _OBJECTIVES:
        raise DataError(f"its type is {kind}, where 0 (maxent) and 2 (crf) are known")
    reader = _READER.match(data, head.end())
    if reader is None:
        raise DataError("after the first line there is no #rdr#")
    patterns, at = _strings(data, reader.end(), int(reader[1]), "pattern")
    labels, at = _names(data, at, "label")
    observations, at = _names(data, at, "observation")
    check_labels(labels)
    single, pairs, n_weights = _observations(observations, len(labels))
    weights = _weights(data[at:], int(head[2]), n_weights)
    # The largest column of the patterns, counted from 0; the file does not say how many there were.
    used = int(reader[2]) + 1
    if inputs is not None and inputs < used:
        raise DataError(f"its patterns look at {used} columns, and there are {inputs}")
    origin = Origin("Wapiti", _OBJECTIVES[kind], True)
    return pattern_tagger(
        labels, single, pairs, weights, origin, patterns, "wapiti", inputs or used
    )


def _names(data: bytes, at: int, what: str) -> tuple[list[str], int]:
    head = _NAMES.match(data, at)
    if head is None:
        raise DataError(f"the list of {what}s does not begin with #qrk#")
    return _strings(data, head.end(), int(head[1]), what)


def _strings(data: bytes, at: int, count: int, what: str) -> tuple[list[str], int]:
    """Read strings of the form ``LENGTH:TEXT,`` and a line end."""
    # The shortest one has four bytes: 0:, and the line end.
    if count > (len(data) - at) // 4:
        raise DataError(f"it promises {count:,} {what}s, more than fit into the file")
    found = []
    for number in range(count):
        head = _LENGTH.match(data, at)
        end = 0 if head is None else head.end() + int(head[1])
        if head is None or data[end : end + 2] != b",\n":
            raise DataError(f"{what} {number} (counted from 0) is not of the form LENGTH:TEXT,")
        found.append(decoded(data[head.end() : end], f"{what} {number} (counted from 0)"))
        at = end + 2
    return found, at


def _observations(names: list[str], n_labels: int) -> tuple[Observations, Observations, int]:
    """Return the observations of one label and of pairs, and the number of all weights."""
    letters = np.array([name[:1] for name in names])
    odd = np.flatnonzero(~np.isin(letters, ["u", "b", "*"]))
    if len(odd):
        raise DataError(f"the observation {names[odd[0]][:40]!r} does not begin with u, b or *")
    one, two = letters != "b", letters != "u"
    sizes = one * n_labels + two * n_labels**2
    begin = np.cumsum(sizes) - sizes
    single = [name for name, has in zip(names, one.tolist(), strict=True) if has]
    pairs = [name for name, has in zip(names, two.tolist(), strict=True) if has]
    found = Observations(single, begin[one], n_labels)
    both = Observations(pairs, (begin + one * n_labels)[two], n_labels**2)
    return found, both, int(sizes.sum())


def _weights(data: bytes, count: int, n_weights: int) -> Weights:
    lines = data.split(b"\n")
    if lines.pop() or len(lines) != count:
        raise DataError(f"it promises {count:,} weights and has {len(lines):,} lines of them")
    numbers, values = np.zeros(count, dtype=np.int64), np.zeros(count)
    for k, line in enumerate(lines):
        number, equals, value = line.decode("latin-1").partition("=")
        if not equals:
            raise DataError(f"the weight {line[:40]!r} is not of the form NUMBER=WEIGHT")
        numbers[k] = whole(number, "the number of a weight", n_weights - 1)
        values[k] = real(value, "a weight")
    return Weights(numbers, values)


FORMAT: Final = ModelFormat("a text model of Wapiti", read_wapiti_model, options=("inputs",))
