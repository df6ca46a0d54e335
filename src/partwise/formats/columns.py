"""Column files as in CoNLL-2000.

They have one token per line, with the label last, and a blank line after each sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError
from partwise.formats.base import Format
from partwise.formats.source import read_text, writing

__all__ = ["FORMAT", "Columns", "read_columns", "write_columns"]

_TOKEN_LINE = re.compile(r"^.*[^ \t\n].*$", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Columns:
    """The tokens of a column file, column by column.

    Attributes
    ----------
    path
        The source of the tokens, for messages.
    fields
        One flat list of strings per input column, without the labels.
    labels
        The label of every token, or None if the file has no label column.
    lengths
        The number of tokens in every sentence; never 0.
    lines
        The line of every token, counted from 1.
    separator
        The separator of the columns: a tab or a blank.
    """

    path: str
    fields: tuple[list[str], ...]
    labels: list[str] | None
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64]
    separator: str = " "

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.lines)

    def place(self, sentence: int, token: int) -> str:
        """Return ``file:line`` of a token of a sentence, both counted from 0."""
        return f"{self.path}:{self.lines[int(self.lengths[:sentence].sum()) + token]}"

    def take(self, which: Sequence[int]) -> Columns:
        """Return some of the sentences, by their numbers from 0."""
        ends = np.cumsum(self.lengths)
        lengths = self.lengths[which]
        tokens = [t for s in which for t in range(ends[s] - self.lengths[s], ends[s])]
        return Columns(
            self.path,
            tuple([field[t] for t in tokens] for field in self.fields),
            None if self.labels is None else [self.labels[t] for t in tokens],
            lengths,
            self.lines[tokens],
            self.separator,
        )

    def split(self, flat: Sequence[str]) -> list[list[str]]:
        """Split a flat list of one string per token into one list per sentence."""
        if len(flat) != len(self):
            raise DataError(
                f"{self.path}: {len(flat)} values for {len(self)} tokens; give one per token"
            )
        ends = np.cumsum(self.lengths).tolist()
        return [list(flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def read_columns(
    source: str | os.PathLike[str],
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
) -> Columns:
    """Read a column file.

    Columns are separated by single tabs if the first token line holds a tab (fields may then hold
    blanks or be empty), and by runs of blanks and tabs otherwise.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether the last column is the label. Ignored when `inputs` is given.
    n_columns
        The number of columns that the file must have, including the label.
    inputs
        For prediction: the number of input columns that the model was trained with. A file with
        exactly this number of columns has no labels, a file with one more has labels, and anything
        else raises a DataError. An empty file is then allowed.

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If the file cannot be read, is ragged, is empty, or has the wrong number of columns.
    """
    name, text = read_text(source)
    first = _TOKEN_LINE.search(text)
    if first is None:
        if inputs is None:
            raise DataError(f"{name}: no tokens; expected one token per line, with the label last")
        none = np.zeros(0, np.int64)
        return Columns(name, tuple([] for _ in range(inputs)), None, none, none.copy())
    lines, separator = _token_lines(text, tabs="\t" in first.group())
    where = np.flatnonzero(np.fromiter(map(bool, lines), np.bool_, len(lines))) + 1
    lines = [line for line in lines if line]
    width = _width(name, [line.count(separator) + 1 for line in lines], where, n_columns)
    with_labels = _has_labels(name, width, labelled, inputs)
    # One split of everything is much faster than one list per token.
    flat = separator.join(lines).split(separator)
    table = [flat[column::width] for column in range(width)]
    labels = table.pop() if with_labels else None
    if labels is not None and "" in labels:
        line = where[labels.index("")]
        raise DataError(f"{name}:{line}: empty label; remove the trailing tab or add the label")
    ends = np.append(np.flatnonzero(np.diff(where) > 1) + 1, len(where))
    lengths = np.diff(ends, prepend=0).astype(np.int64)
    return Columns(name, tuple(table), labels, lengths, where.astype(np.int64), separator)


def _token_lines(text: str, tabs: bool) -> tuple[list[str], str]:
    """Return the lines, empty where they separate sentences, and the separator of columns."""
    if tabs:
        lines = text.split("\n")
        if re.search(r"^[ \t]+$", text, re.MULTILINE):
            lines = [line if line.strip(" \t") else "" for line in lines]
        return lines, "\t"
    # str.split() would also break fields at no-break spaces; only blanks and tabs separate.
    text = text.replace("\t", " ")
    if "  " in text:
        text = re.sub("  +", " ", text)
    if " \n" in text or "\n " in text or text[0] == " " or text[-1] == " ":
        text = text.strip(" ").replace(" \n", "\n").replace("\n ", "\n")
    return text.split("\n"), " "


def _width(name: str, counts: list[int], where: NDArray[np.int64], n_columns: int | None) -> int:
    width = counts[0]
    if n_columns is not None and width != n_columns:
        raise DataError(
            f"{name}:{where[0]}: {width} columns where {n_columns} are expected; give every token "
            f"{n_columns} columns"
        )
    widths = np.array(counts)
    bad = np.flatnonzero(widths != width)
    if len(bad):
        raise DataError(
            f"{name}:{where[bad[0]]}: {widths[bad[0]]} columns where line {where[0]} has {width}; "
            "every token needs the same columns, and a blank line ends a sentence"
        )
    return width


def _has_labels(name: str, width: int, labelled: bool, inputs: int | None) -> bool:
    if inputs is not None:
        if width not in (inputs, inputs + 1):
            raise DataError(
                f"{name}: {width} columns where the model takes {inputs} (without labels) or "
                f"{inputs + 1} (with the label last); give it the columns it was trained with"
            )
        return width == inputs + 1
    if labelled and width == 1:
        raise DataError(
            f"{name}: 1 column where at least 2 are needed; put the inputs first and the label last"
        )
    return labelled


def write_columns(path: str | os.PathLike[str], columns: Columns, *extra: Sequence[str]) -> None:
    """Write a column file, with further columns such as predictions after the original ones.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens. Their separator is kept, unless a field is empty or holds a blank: then tabs
        are used.
    extra
        Further columns, each a flat list of one string per token.

    Raises
    ------
    DataError
        If a column has the wrong length, or holds a value that a column file cannot represent.
    """
    table: list[Sequence[str]] = [*columns.fields]
    if columns.labels is not None:
        table.append(columns.labels)
    table.extend(extra)
    for position, column in enumerate(table):
        if len(column) != len(columns):
            raise DataError(
                f"column {position + 1} has {len(column)} values for {len(columns)} tokens; "
                "give one value per token"
            )
    separator = _separator(columns.separator, table)
    rows = [separator.join(row) for row in zip(*table, strict=True)]
    if any(not row.strip(" \t") for row in rows):
        raise DataError("a token with only empty columns cannot be written; name it, say, `_`")
    with writing(path) as stream:
        start = 0
        for length in columns.lengths.tolist():
            stream.write("\n".join(rows[start : start + length]))
            stream.write("\n\n")
            start += length


def _separator(separator: str, table: list[Sequence[str]]) -> str:
    for position, column in enumerate(table):
        for value in set(column):
            if any(mark in value for mark in "\t\n\r"):
                raise DataError(
                    f"column {position + 1} holds {value!r}; tabs and line ends cannot be written "
                    "to a column file, so replace them"
                )
            if not value or " " in value:
                separator = "\t"
    if separator == "\t" and len(table) == 1:
        raise DataError(
            "a column file of one column cannot hold blanks or empty fields; replace them"
        )
    return separator


FORMAT: Final = Format(
    "tokens in columns",
    read_columns,
    "one token per line, the label last, a blank line after each sentence",
    ends="blank line",
)
