"""Svmlight (libsvm) files: `label index:value index:value ...`, one example per line."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import read_text
from partwise.memory import BYTES_A_FEATURE, check_memory
from partwise.problem.rows import Rows

__all__ = ["FORMAT", "SvmlightData", "read_svmlight"]

_log = logging.getLogger(__name__)

_MAX_INDEX = 2**31 - 1
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIR = re.compile(rf"[+-]?\d+:(?:{_NUMBER}|[+-]?(?i:nan|inf|infinity))", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(_NUMBER, re.ASCII)


@dataclass(frozen=True, eq=False)
class SvmlightData:
    """The examples of an svmlight file.

    Attributes
    ----------
    path
        The source of the examples, for messages.
    rows
        Their features; index 1 of the file is feature 0.
    labels
        Their labels in canonical spelling (``+1`` and ``1.0`` are ``1``), or None if an example has
        no label.
    lines
        The line of every example, counted from 1.
    """

    path: str
    rows: Rows
    labels: list[str] | None
    lines: NDArray[np.int64]

    def check_memory(self) -> None:
        """Raise a DataError if the largest index needs more memory for weights than there is."""
        indices = self.rows.indices
        if len(indices):
            entry = int(np.argmax(indices))
            line = self.lines[np.searchsorted(self.rows.indptr, entry, side="right") - 1]
            index = int(indices[entry]) + 1
            what = f"index {index}: training with as many features"
            check_memory(BYTES_A_FEATURE * index, what, Place(self.path, int(line)))

    def take(self, which: Sequence[int]) -> SvmlightData:
        """Return some of the examples, by their numbers from 0."""
        labels = None if self.labels is None else [self.labels[i] for i in which]
        return SvmlightData(self.path, self.rows.take(which), labels, self.lines[which])


def read_svmlight(
    source: str | os.PathLike[str],
    *,
    labelled: bool = True,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> SvmlightData:
    r"""Read an svmlight file.

    Text after ``#`` is a comment. ``qid:`` fields are ignored, and their number is logged. The
    indices of a line may be in any order, but each may occur only once. Entries with value 0 are
    dropped.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether every line must begin with a label. If False, a line may begin with its first
        ``index:value``, and an empty file is allowed.
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults are reported, one per line.

    Returns
    -------
    SvmlightData

    Raises
    ------
    DataError
        If the file cannot be read or a line is malformed; the message names file and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_svmlight
    >>> _ = Path("t.svm").write_text("a 1:0.5 3:1\nb 2:1\n")
    >>> data = read_svmlight("t.svm")
    >>> data.rows.to_scipy().toarray(), data.labels
    (array([[0.5, 0. , 1. ],
           [0. , 1. , 0. ]]), ['a', 'b'])
    """
    text = read_text(source, encoding, faults)
    name, lines = text.name, list(text.lines())
    if faults.keep:
        # A line does not depend on others, so each is tried alone.
        sound = []
        for line in lines:
            with faults.from_errors(name):
                _read_lines(name, [line], labelled)
                sound.append(line)
        lines = sound
    data = _read_lines(name, lines, labelled)
    if not len(data.lines) and labelled:
        faults.add(name, None, "no examples; expected lines `label index:value ...`")
    return data


def _read_lines(name: str, numbered: list[tuple[int, str]], labelled: bool) -> SvmlightData:
    labels: list[str] = []
    pairs: list[str] = []
    ends = [0]
    lines: list[int] = []
    n_qid = 0
    for number, line in numbered:
        if "#" in line:
            line = line.partition("#")[0]
        fields = line.split()
        if not fields:
            continue
        first = 0
        if ":" not in fields[0]:
            labels.append(fields[0])
            first = 1
        elif labelled:
            raise DataError(
                f"begins with {fields[0]!r} where a label is expected; write "
                "`label index:value ...`",
                place=Place(name, number),
            )
        if len(fields) > first and fields[first].startswith("qid:"):
            first += 1
            n_qid += 1
        pairs.extend(fields[first:])
        ends.append(len(pairs))
        lines.append(number)
    if n_qid:
        _log.info("%s: ignored %d qid fields", name, n_qid)
    where = np.array(lines, np.int64)
    complete = len(labels) == len(lines)
    canonical = _canonical(name, labels, lines) if complete else None
    rows = _rows(name, np.array(ends, np.int64), pairs, where)
    return SvmlightData(name, rows, canonical, where)


def _canonical(name: str, labels: list[str], lines: list[int]) -> list[str]:
    spelling = {}
    for label in dict.fromkeys(labels):
        if "," in label:
            raise DataError(
                f"label {label!r} names several classes; "
                "multi-label data is not supported, so write one label per line",
                place=Place(name, lines[labels.index(label)]),
            )
        if label.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise DataError(
                f"label {label!r} is not a class; drop the example or label it",
                place=Place(name, lines[labels.index(label)]),
            )
        spelling[label] = _spell(label)
    return [spelling[label] for label in labels]


def _spell(label: str) -> str:
    if _INTEGER.fullmatch(label):
        # Not by int(), which takes only some thousand digits.
        digits = label.lstrip("+-").lstrip("0")
        return ("-" if label[0] == "-" else "") + digits if digits else "0"
    if not _FLOAT.fullmatch(label):
        return label
    number = float(label)
    # Beyond 2**53 floats skip integers, so two labels could become equal.
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else label


def _rows(name: str, indptr: NDArray[np.int64], pairs: list[str], lines: NDArray[np.int64]) -> Rows:
    def fail(entry: int, why: str) -> NoReturn:
        line = int(lines[np.searchsorted(indptr, entry, side="right") - 1])
        raise DataError(f"{pairs[entry]!r}: {why}", place=Place(name, line))

    parsed = _parsed(pairs)
    if parsed is None:
        for entry, pair in enumerate(pairs):
            if _PAIR.fullmatch(pair) is None:
                fail(entry, "not a pair index:value of two numbers; correct the line")
        parsed = _floats(":".join(pairs).split(":"))
    indices, values = parsed[::2], parsed[1::2]
    for entry in np.flatnonzero(indices < 1)[:1]:
        fail(entry, "indices begin at 1; if the file counts from 0, add 1 to every index")
    for entry in np.flatnonzero(indices > _MAX_INDEX)[:1]:
        fail(entry, f"indices end at {_MAX_INDEX}; renumber the features")
    for entry in np.flatnonzero(~np.isfinite(values))[:1]:
        fail(entry, "values must be finite; leave the entry out if it is missing")
    feature = indices.astype(np.int64) - 1
    row = np.repeat(np.arange(len(lines)), np.diff(indptr))
    order = np.lexsort((feature, row))
    again = (np.diff(row[order]) == 0) & (np.diff(feature[order]) == 0)
    if again.any():
        entry = int(order[1:][again].min())
        fail(entry, "the index occurs twice in its line; keep one of them or add them up")
    # Sorted within a row, so that the result does not depend on the order of the indices in a line.
    order = order[values[order] != 0]
    indptr = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.bincount(row[order], minlength=len(lines)), out=indptr[1:])
    width = int(feature.max()) + 1 if len(feature) else 0
    kept = values[order]
    ones = bool((kept == 1).all())
    return Rows(indptr, feature[order].astype(np.int32), None if ones else kept, width)


def _parsed(pairs: list[str]) -> NDArray[np.float64] | None:
    """Parse plain pairs quickly; None if some pair needs a closer look."""
    if not pairs:
        return np.zeros(0)
    joined = ":".join(pairs)
    numbers = joined.split(":")
    one_colon = len(numbers) == 2 * len(pairs) and all(":" in pair for pair in pairs)
    # float() would also take 1_0 and digits of other scripts.
    plain = joined.isascii() and "_" not in joined and "".join(numbers[::2]).isdigit()
    if not (one_colon and plain):
        return None
    try:
        return _floats(numbers)
    except ValueError:
        return None


def _floats(numbers: list[str]) -> NDArray[np.float64]:
    return np.fromiter(map(float, numbers), np.float64, len(numbers))


FORMAT: Final = Format(
    "rows of numbers",
    read_svmlight,
    "one example per line: label index:value ...",
    options=OPTIONS["svmlight"],
    ends="line",
    finds_all=True,
)
