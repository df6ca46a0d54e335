"""Column files as in CoNLL-2000.

They have one token per line, with the label last, and a blank line after each sentence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.formats.column_choice import ColumnChoice, check_inputs, common_width, separator_hint
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text, writing
from partwise.formats.tokens import Columns, Layout
from partwise.wording import counted

__all__ = ["FORMAT", "Columns", "read_columns", "write_columns", "write_tokens"]

_TOKEN_LINE = re.compile(r"^.*[^ \t\n].*$", re.MULTILINE)
_BOUNDARY = "-DOCSTART-"
_BOUNDARIES = "document boundaries (-DOCSTART-)"
_SEPARATORS = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}


def read_columns(
    source: str | os.PathLike[str] | Text,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    label_column: int | None = None,
    columns: Any = None,
    separator: str | None = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> Columns:
    r"""Read a column file.

    Columns are separated by single tabs if the first token line holds a tab (fields may then hold
    blanks or be empty), and by runs of blanks and tabs otherwise. Lines whose first field is
    ``-DOCSTART-`` are boundaries of documents and no tokens.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether there is a label column. Ignored when `inputs` is given.
    n_columns
        The number of columns that the file must have, including the label.
    inputs
        For prediction: the number of input columns that the model was trained with. A file with
        exactly this number of columns has no labels, a file with one more has labels, and anything
        else raises a DataError. An empty file is then allowed.
    label_column
        The column of the label, counted from 1, or from the end if it is negative; None is the
        last one.
    columns
        The input columns: numbers counted from 1, in a list or separated by commas, where
        ``"2-4"`` is a range and -1 the last column. None is all but the label.
    separator
        What separates columns: one string, or "tab" or "blank". None decides by the first line.
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults of lines are reported.

    Returns
    -------
    Columns

    Raises
    ------
    DataError
        If the file cannot be read, is ragged, is empty, or has the wrong number of columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_columns
    >>> _ = Path("t.txt").write_text("the DT B-NP\ndog NN I-NP\n")
    >>> text = read_columns("t.txt")
    >>> text.fields, text.labels
    ((['the', 'dog'], ['DT', 'NN']), ['B-NP', 'I-NP'])
    """
    choice = ColumnChoice.of(label_column, columns)
    mark = _named_separator(separator)
    text = read_text(source, encoding, faults)
    name = text.name
    lines, mark, boundaries = _token_lines(text, mark)
    where = np.flatnonzero(np.fromiter(map(bool, lines), np.bool_, len(lines))) + 1
    ends = np.append(np.flatnonzero(np.diff(where) > 1) + 1, len(where))
    where = where + text.moved * (where > text.head)
    if not len(where):
        if inputs is None:
            faults.add(name, None, "no tokens; expected one token per line, with the label last")
        none = np.zeros(0, np.int64)
        return Columns(name, tuple([] for _ in range(inputs or 0)), None, none, none.copy())
    lines = [line for line in lines if line]
    expected = None if choice.columns is not None else n_columns
    width = common_width(name, lines, mark, where, expected, faults)
    if label_column is not None or columns is not None:
        chosen, label = choice.resolved(name, width, labelled, inputs)
        check_inputs(name, len(chosen), n_columns, inputs)
    else:
        labelled = _has_labels(Place(name, int(where[0])), lines, width, labelled, inputs)
        label = width - 1 if labelled else None
        chosen = list(range(width if label is None else label))
    # One split of everything is much faster than one list per token.
    flat = mark.join(lines).split(mark)
    table = [flat[column::width] for column in range(width)]
    labels = None if label is None else table[label]
    if labels is not None and "" in labels:
        _report_empty(name, lines, labels, where, mark if label == width - 1 else None, faults)
    lengths = np.diff(ends, prepend=0).astype(np.int64)
    fields = tuple(table[column] for column in chosen)
    whole = label is None or [*chosen, label] == list(range(width))
    layout = None
    if boundaries or not whole or chosen != list(range(len(chosen))):
        layout = _layout(where, lengths, boundaries, None if whole else lines)
    found = Columns(name, fields, labels, lengths, where.astype(np.int64), mark, layout=layout)
    return found


def _named_separator(separator: str | None) -> str | None:
    if separator is None:
        return None
    mark = _SEPARATORS.get(separator, separator)
    if not mark or "\n" in mark or "\r" in mark:
        raise DataError(
            f"the separator {separator!r} cannot separate columns; give a character, tab or blank"
        )
    return mark


def _report_empty(
    name: str,
    lines: list[str],
    labels: list[str],
    where: NDArray[np.int64],
    mark: str | None,
    faults: Faults,
) -> None:
    """Report empty labels, but not in lines that have faults already.

    `mark` is what separates columns if the labels are the last of them, and otherwise None.
    """
    known = {fault.place.line for fault in faults.found}
    last = "" if mark is None else f"remove the {'tab' if mark == chr(9) else repr(mark)} at the "
    remedy = f"{last}end of the line or add the label" if last else "add the label"
    for token in [t for t, value in enumerate(labels) if not value]:
        line = int(where[token])
        if line not in known:
            faults.add(name, line, f"empty label; {remedy}", 1 + len(lines[token]))


def _layout(
    where: NDArray[np.int64],
    lengths: NDArray[np.int64],
    boundaries: list[tuple[int, str]],
    lines: list[str] | None,
) -> Layout:
    """Return the boundaries before each sentence, and its lines if not all of them are used."""
    ends = np.cumsum(lengths).tolist()
    sentences: list[tuple[tuple[str, ...], list[str] | None]] = []
    rest = list(boundaries)
    for end, length in zip(ends, lengths.tolist(), strict=True):
        begin, before = end - length, []
        while rest and rest[0][0] < where[begin]:
            before.append(rest.pop(0)[1])
        sentences.append((tuple(before), None if lines is None else lines[begin:end]))
    extras = {_BOUNDARIES: len(boundaries)} if boundaries else {}
    return Layout("columns", sentences, tuple(line for _, line in rest), {}, extras)


def _token_lines(given: Text, mark: str | None) -> tuple[list[str], str, list[tuple[int, str]]]:
    """Return the lines, empty where they separate sentences, the separator and the boundaries."""
    text = given.text
    if mark is None:
        first = _TOKEN_LINE.search(text)
        while first is not None and first.group().startswith(_BOUNDARY):
            first = _TOKEN_LINE.search(text, first.end())
        mark = "\t" if first is not None and "\t" in first.group() else " "
    if mark != " ":
        lines = text.split("\n")
        if re.search(r"^[ \t]+$", text, re.MULTILINE):
            lines = [line if line.strip(" \t") else "" for line in lines]
    else:
        # str.split() would also break fields at no-break spaces; only blanks and tabs separate.
        text = text.replace("\t", " ")
        if "  " in text:
            text = re.sub("  +", " ", text)
        if text and (" \n" in text or "\n " in text or text[0] == " " or text[-1] == " "):
            text = text.strip(" ").replace(" \n", "\n").replace("\n ", "\n")
        lines = text.split("\n")
    boundaries: list[tuple[int, str]] = []
    if _BOUNDARY in text:
        for number, line in enumerate(lines):
            if line.startswith(_BOUNDARY) and line[len(_BOUNDARY) :][:1] in ("", " ", "\t", mark):
                boundaries.append((given.line(number + 1), line))
                lines[number] = ""
    return lines, mark, boundaries


def _has_labels(
    place: Place, lines: list[str], width: int, labelled: bool, inputs: int | None
) -> bool:
    split = separator_hint(lines) if width == 1 else ""
    hint = f", or {split}" if split else ""
    if inputs is not None:
        if width not in (inputs, inputs + 1):
            raise DataError(
                f"{counted(width, 'column')} where the model takes {inputs} (without "
                f"labels) or {inputs + 1} (with the label last); give it the columns it was "
                f"trained with{hint}",
                place=place,
            )
        return width == inputs + 1
    if labelled and width == 1:
        raise DataError(
            f"1 column where at least 2 are needed; put the inputs first and the label last{hint}",
            place=place,
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

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.datasets import tagged_text
    >>> from partwise.formats import write_columns
    >>> write_columns("t.txt", tagged_text(1, seed=1))
    >>> Path("t.txt").read_text().splitlines()[0]
    'Viss NNS B-NP'
    """
    table: list[Sequence[str]] = []
    kept = None if columns.layout is None else columns.layout.sentences
    whole = kept is None or not len(kept) or kept[0][1] is None
    if whole:
        table = [*columns.fields, *([columns.labels] if columns.labels is not None else [])]
    table.extend(extra)
    for position, column in enumerate(table):
        if len(column) != len(columns):
            raise DataError(
                f"column {position + 1} has {len(column)} values for {len(columns)} tokens; "
                "give one value per token"
            )
    separator = _separator(columns.separator, table, alone=whole)
    rows = [separator.join(row) for row in zip(*table, strict=True)]
    if not whole and kept is not None:
        first = [line for _, lines in kept for line in lines]
        if separator != columns.separator:
            first = [line.replace(columns.separator, separator) for line in first]
        rows = [separator.join(pair) for pair in zip(first, rows, strict=True)]
    if any(not row.strip(" \t") for row in rows):
        raise DataError("a token with only empty columns cannot be written; name it, say, `_`")
    if any(_is_boundary(row, separator) for row in rows):
        raise DataError(
            f"a token {_BOUNDARY} cannot be written to a column file, where it is the boundary of "
            "a document; replace it"
        )
    with writing(path) as stream:
        start = 0
        for boundaries, length in zip(_marks(columns), columns.lengths.tolist(), strict=True):
            stream.writelines(f"{line}\n\n" for line in boundaries)
            stream.write("\n".join(rows[start : start + length]))
            stream.write("\n\n")
            start += length
        if columns.layout is not None and columns.layout.tail:
            stream.writelines(f"{line}\n\n" for line in columns.layout.tail)


def _is_boundary(row: str, separator: str) -> bool:
    return row.startswith(_BOUNDARY) and row[len(_BOUNDARY) :][:1] in ("", " ", "\t", separator)


def _marks(columns: Columns) -> Iterator[tuple[str, ...]]:
    """Return the boundaries of documents before each sentence."""
    if columns.layout is None:
        return iter([()] * len(columns.lengths))
    return (boundaries for boundaries, _ in columns.layout.sentences)


def write_tokens(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Any = None,
    separator: str | None = None,
) -> None:
    """Write tokens of any format as a column file, in the form that all writers share.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens.
    labels
        Predicted labels, one per token, which are written last; None writes the tokens as they
        are.
    probabilities
        The probability of each label, which follows it.
    notes
        Not for column files.
    separator
        What separates columns. None keeps the separator of the tokens.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.datasets import tagged_text
    >>> from partwise.formats import write_tokens
    >>> text = tagged_text(1, seed=1)
    >>> write_tokens("t.txt", text, ["O"] * len(text))
    >>> Path("t.txt").read_text().splitlines()[0]
    'Viss NNS B-NP O'
    """
    if notes is not None:
        raise DataError("a column file has no place for notes on sentences; leave them out")
    extra = [] if labels is None else [labels]
    if probabilities is not None:
        extra.append([f"{p:.6f}" for p in probabilities])
    layout, mark = columns.layout_of("columns"), _named_separator(separator)
    if layout is not None and labels is None:
        sentences = [(boundaries, None) for boundaries, _ in layout.sentences]
        layout = replace(layout, sentences=sentences)
    write_columns(
        path, replace(columns, separator=mark or columns.separator, layout=layout), *extra
    )


def _separator(separator: str, table: list[Sequence[str]], alone: bool = True) -> str:
    """Return a separator that no value holds; `alone` says that these are all columns."""
    for position, column in enumerate(table):
        for value in set(column):
            tabs = "\t" if separator in " \t" else ""
            if any(mark in value for mark in "\n\r" + tabs):
                raise DataError(
                    f"column {position + 1} holds {value!r}; tabs and line ends cannot be written "
                    "to a column file, so replace them"
                )
            if separator not in " \t" and separator in value:
                raise DataError(
                    f"column {position + 1} holds {value!r}, and {separator!r} separates columns; "
                    "choose another separator"
                )
            if separator == " " and (not value or " " in value):
                separator = "\t"
    if separator == "\t" and len(table) == 1 and alone and not all(map(_plain, table[0])):
        raise DataError(
            "a column file of one column cannot hold blanks or empty fields; replace them"
        )
    return separator


def _plain(value: str) -> bool:
    return bool(value) and " " not in value


FORMAT: Final = Format(
    "tokens in columns",
    read_columns,
    "one token per line, the label last, a blank line after each sentence",
    write_tokens,
    OPTIONS["columns"],
    finds_all=True,
    ends="blank line",
)
