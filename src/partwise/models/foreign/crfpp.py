"""CRF++'s text models, which ``crf_learn -t`` writes beside the binary ones.

    version: 100          lines of a name and a number: version, cost-factor, maxid (the number of
    ...                   weights) and xsize (the number of input columns)
                          (a blank line ends every part)
    B-NP                  the labels
    U00:%x[-2,0]          the templates, U of one label and B of a pair
    0 U00:dog             the observations, each after the number of its first weight
    0.0123456789012345    the weights

The score of a sequence is cost-factor times the sum of its weights. Binary models are not read:
their weights are rounded to 32 bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ...arrays import Floats
from ...errors import DataError
from .base import ModelFormat, Origin, decoded, named_file, read_bytes, real, whole
from .patterns import Observations, Weights, check_labels, pattern_tagger

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "read_crfpp_model"]

_HEADER: Final = ("version", "cost-factor", "maxid", "xsize")


def read_crfpp_model(path: str) -> Model:
    """Read a text model of CRF++.

    Parameters
    ----------
    path : str
        The file: ``MODEL.txt`` beside the binary model ``MODEL``, if it was trained with ``-t``.

    Returns
    -------
    Model
        A tagger. Its features are the observations as CRF++ spells them, such as ``U00:dog``;
        observations of pairs of labels that depend on the input are features of transitions. It
        makes them from columns by its templates.

    Raises
    ------
    ModelFileError
        If the file is not a valid text model of CRF++.
    """
    data = read_bytes(path)
    with named_file(path, "CRF++"):
        return _parse(data)


def _parse(data: bytes) -> Model:
    if not data.startswith(b"version: "):
        raise DataError(
            'it does not begin with "version: "; a binary model has only 32 bits of each weight, '
            "so train with crf_learn -t and give MODEL.txt"
        )
    lines = decoded(data, "it").split("\n")
    header, labels, templates, names, weights = _parts(lines)
    held = _header(header)
    check_labels(labels)
    n = len(labels)
    single, pairs = _observations(names, n, int(held["maxid"]))
    if len(weights) != held["maxid"]:
        raise DataError(f"maxid is {held['maxid']:.0f} and there are {len(weights):,} weights")
    values = np.fromiter((real(one, "a weight") for one in weights), np.float64, len(weights))
    return pattern_tagger(
        labels,
        single,
        pairs,
        _not_zero(values * held["cost-factor"]),
        Origin(
            "CRF++",
            "the log loss with l2 = 1/c, which the file does not hold",
            held["cost-factor"] == 1.0,
        ),
        templates,
        "crfpp",
        int(held["xsize"]),
    )


def _parts(lines: list[str]) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """Return the five parts, which blank lines separate; no part but the last may be missing."""
    parts: list[list[str]] = []
    at = 0
    for _ in range(4):
        try:
            end = lines.index("", at)
        except ValueError:
            raise DataError(f"it ends in part {len(parts) + 1} of 5") from None
        parts.append(lines[at:end])
        at = end + 1
    # The last line ends too.
    last = lines[at:-1] if lines[-1] == "" else lines[at:]
    return parts[0], parts[1], parts[2], parts[3], last


def _header(lines: list[str]) -> dict[str, float]:
    held = {}
    for line in lines:
        name, _, value = line.partition(": ")
        held[name] = real(value, f"{name} in the header")
    missing = [name for name in _HEADER if name not in held]
    if missing:
        raise DataError(f"its header has no {missing[0]}")
    for name in ("maxid", "xsize"):
        if not (held[name].is_integer() and 0 <= held[name] < 2**31):
            raise DataError(f"{name} is {held[name]!r} where a whole number is expected")
    return held


def _observations(
    lines: list[str], n_labels: int, n_weights: int
) -> tuple[Observations, Observations]:
    found: dict[str, tuple[list[str], list[int]]] = {"U": ([], []), "B": ([], [])}
    for line in lines:
        number, blank, name = line.partition(" ")
        if not blank or name[:1] not in found:
            raise DataError(f"the observation {line[:40]!r} is not of the form NUMBER U... or B...")
        names, first = found[name[0]]
        names.append(name)
        first.append(whole(number, f"the number of {name[:40]!r}", n_weights))
    widths = {"U": n_labels, "B": n_labels**2}
    single, pairs = (
        Observations(found[kind][0], np.array(found[kind][1], np.int64), widths[kind])
        for kind in found
    )
    begin = np.concatenate([single.first, pairs.first])
    size = np.repeat([n_labels, n_labels**2], [len(single.names), len(pairs.names)])
    order = np.argsort(begin, kind="stable")
    if (begin[order] + size[order] > np.append(begin[order][1:], n_weights)).any():
        raise DataError("two observations share a weight, or one has weights beyond maxid")
    return single, pairs


def _not_zero(values: Floats) -> Weights:
    kept = np.flatnonzero(values)
    return Weights(kept, values[kept])


FORMAT: Final = ModelFormat("a text model of CRF++ (crf_learn -t)", read_crfpp_model)
