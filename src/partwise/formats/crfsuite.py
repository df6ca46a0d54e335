r"""CRFsuite's data: one token per line, its label first, then its attributes, separated by tabs.

An attribute may have a value, ``name:0.5``; ``\:`` is a colon of the name and ``\\`` a backslash. A
line ``@weight:2`` sets the weight of its sequence. There are no comments.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from partwise.errors import DataError, Place
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text, writing
from partwise.formats.tokens import Attributes, Columns, Layout

__all__ = ["FORMAT", "read_crfsuite", "write_crfsuite"]

_FIELD: Final = re.compile(r"((?:\\[\\:]|[^:])*)(?::(.*))?", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([\\:])")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_ATTRIBUTE: Final = re.compile(r"=|(?<!\\):[+-]?[0-9.]+$")


def read_crfsuite(
    source: str | os.PathLike[str] | Text,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> Columns:
    r"""Read CRFsuite's data.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled, n_columns
        Not used: every line has a label, and any number of attributes.
    inputs
        If it is given, an empty file is allowed.
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults of lines are reported.

    Returns
    -------
    Columns
        Without fields; the attributes are the features of the tokens.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_crfsuite
    >>> _ = Path("t.crf").write_text("DET\tw=the\nNOUN\tw=dog\n\n")
    >>> read_crfsuite("t.crf").labels
    ['DET', 'NOUN']
    """
    text = read_text(source, encoding, faults)
    name, reader = text.name, _Reader(text.name, faults)
    for number, line in text.lines():
        if line.strip(" \t"):
            reader.line(number, line)
        else:
            reader.end()
    reader.end()
    if not reader.lines and inputs is None:
        faults.add(name, None, "no tokens; expected lines of a label and attributes, with tabs")
    return reader.columns()


class _Reader:
    """The tokens that were read so far."""

    def __init__(self, name: str, faults: Faults) -> None:
        self.name, self.faults = name, faults
        self.labels: list[str] = []
        self.lines: list[int] = []
        self.names: list[str] = []
        self.values: list[float] = []
        self.ends = [0]
        self.lengths: list[int] = []
        self.weights: list[float] = []
        self.weight = 1.0
        self.begun = 0

    def line(self, number: int, line: str) -> None:
        """Read a line that is not blank."""
        fields = line.split("\t")
        at = 1
        while fields and fields[0].startswith("@"):
            self._declaration(number, at, fields[0])
            at += len(fields.pop(0)) + 1
            if not any(fields):
                return
        label, value = self._field(number, at, fields[0])
        if not label.strip(" "):
            self._fault(number, at, "empty label; begin the line with its label and a tab")
            label = "?"
        elif value is None:
            label = "?"
        at += len(fields[0]) + 1
        for field in fields[1:]:
            # CRFsuite skips empty fields.
            if field:
                name, value = (field, 1.0) if _is_plain(field) else self._field(number, at, field)
                if not name:
                    self._fault(number, at, "an attribute without a name; write name:value")
                elif value is not None:
                    self.names.append(name)
                    self.values.append(value)
            at += len(field) + 1
        self.labels.append(label)
        self.lines.append(number)
        self.ends.append(len(self.names))

    def _declaration(self, number: int, at: int, field: str) -> None:
        name, value = self._field(number, at, field)
        if name != "@weight":
            self._fault(
                number, at, f"unknown declaration {name!r}; there is @weight, and labels cannot "
                "begin with @",
            )  # fmt: skip
        elif value is not None:
            if ":" not in field or value < 0.0:
                self._fault(number, at, f"{field!r} where a weight is expected; write @weight:2")
            else:
                self.weight = value

    def _field(self, number: int, at: int, field: str) -> tuple[str, float | None]:
        """Return the name and the value of a field; the value is None if it is no number."""
        found = _FIELD.fullmatch(field)
        assert found is not None
        name, text = _ESCAPED.sub(r"\1", found[1]), found[2]
        if not text:
            return name, 1.0
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if math.isfinite(value):
            return name, value
        self._fault(
            number, at + len(found[1]) + 1,
            f"{text!r} after the colon in {field!r} is not a finite number; write \\: for a colon "
            "that belongs to the name",
        )  # fmt: skip
        return name, None

    def _fault(self, number: int, at: int, text: str) -> None:
        self.faults.add(self.name, number, text, at)

    def end(self) -> None:
        """End a sequence."""
        if len(self.lines) > self.begun:
            self.lengths.append(len(self.lines) - self.begun)
            self.weights.append(self.weight)
        self.weight, self.begun = 1.0, len(self.lines)

    def columns(self) -> Columns:
        """Return all tokens."""
        ends = np.array(self.ends, np.int64)
        attributes = Attributes(self.names, np.array(self.values, np.float64), ends)
        weights = np.array(self.weights) if any(w != 1.0 for w in self.weights) else None
        return Columns(
            self.name,
            (),
            self.labels,
            np.array(self.lengths, np.int64),
            np.array(self.lines, np.int64),
            "\t",
            attributes=attributes,
            weights=weights,
            layout=Layout("crfsuite", [None] * len(self.lengths)),
        )


def _is_plain(field: str) -> bool:
    return ":" not in field and "\\" not in field


def write_crfsuite(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Any = None,
) -> None:
    r"""Write CRFsuite's data.

    Tokens that have columns and no attributes get one attribute ``name=value`` per column.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens.
    labels
        The labels to write; None writes those that the tokens have.
    probabilities
        The probability of each label, which is written as its value; CRFsuite ignores it.
    notes
        Not possible: the format has no comments.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_crfsuite, write_crfsuite
    >>> _ = Path("t.crf").write_text("DET\tw=the\n\n")
    >>> write_crfsuite("out.crf", read_crfsuite("t.crf"), ["NOUN"])
    >>> Path("out.crf").read_text()
    'NOUN\tw=the\n\n'
    """
    if notes is not None:
        raise DataError(
            "CRFsuite's data have no place for several labellings of a sentence; use --json, or "
            "leave --k out"
        )
    written = columns.labels if labels is None else labels
    if written is None:
        raise DataError("no labels; CRFsuite's data need one per token", place=Place(columns.path))
    weights = None if columns.weights is None else columns.weights.tolist()
    with writing(path) as stream:
        token = 0
        for sentence, length in enumerate(columns.lengths.tolist()):
            if weights is not None and weights[sentence] != 1.0:
                stream.write(f"@weight:{weights[sentence]!r}\n")
            for _ in range(length):
                label = _label(written[token])
                chance = "" if probabilities is None else f":{probabilities[token]:.6f}"
                fields = (_written(name, value) for name, value in _pairs(columns, token))
                stream.write("\t".join([label + chance, *fields]) + "\n")
                token += 1
            stream.write("\n")


def _pairs(columns: Columns, token: int) -> Iterable[tuple[str, float]]:
    if columns.attributes is not None:
        return columns.attributes.of(token)
    names = columns.names or [f"c{number}" for number in range(1, len(columns.fields) + 1)]
    return [(f"{name}={field[token]}", 1.0) for name, field in zip(names, columns.fields)]  # noqa: B905


def _label(label: str) -> str:
    if label.startswith("@"):
        raise DataError(f"the label {label!r} cannot be written: @ begins declarations; rename it")
    if not label.strip(" "):
        raise DataError("an empty label cannot be written to CRFsuite's data; name it, say, `_`")
    return _written(label, 1.0)


def _written(name: str, value: float) -> str:
    if not name or any(mark in name for mark in "\t\n\r"):
        raise DataError(
            f"{name!r} cannot be written to CRFsuite's data; names are not empty and hold no tabs "
            "or line ends, so replace them"
        )
    escaped = name.replace("\\", "\\\\").replace(":", "\\:")
    return escaped if value == 1.0 else f"{escaped}:{value!r}"


def _signs(lines: Sequence[str]) -> str | None:
    if any(line.startswith("@weight:") for line in lines):
        return "a line begins with @weight"
    rows = [row for row in (line.split("\t") for line in lines) if len(row) > 1]
    # A token may have no attributes at all.
    if len(rows) < 0.5 * len(lines):
        return None
    fields = [field for row in rows for field in row[1:]]
    last = [row[-1] for row in rows]
    if any(_ATTRIBUTE.search(row[0]) for row in rows):
        return None
    marked = sum(bool(_ATTRIBUTE.search(field)) for field in fields)
    ragged = len({len(row) for row in rows}) > 1
    ends = sum(bool(_ATTRIBUTE.search(field)) for field in last)
    if marked < 0.6 * len(fields) or (not ragged and ends < 0.3 * len(last)):
        return None
    return (
        "attributes such as "
        + next(f for f in fields if _ATTRIBUTE.search(f))[:40]
        + (" follow a label in the first column")
    )


FORMAT: Final = Format(
    "tokens in columns",
    read_crfsuite,
    "CRFsuite's data: a label and attributes per line, separated by tabs",
    write_crfsuite,
    OPTIONS["crfsuite"],
    _signs,
    finds_all=True,
    by_name=True,
    separate="blank line",
)
