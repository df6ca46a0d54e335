"""CoNLL files of dependency trees.

They have one word per line, in ten columns (CoNLL-X, CoNLL-U) or three.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

from partwise.errors import DataError, Place
from partwise.formats.base import Format
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.sentence import LAYOUTS, UNKNOWN, Sentence, fail_columns, read_sentence
from partwise.formats.source import Text, read_text, writing

__all__ = ["FORMAT", "UNKNOWN", "Sentence", "read_conll", "write_conll"]


def read_conll(
    source: str | os.PathLike[str],
    *,
    labelled: bool = True,
    single_root: bool = False,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> list[Sentence]:
    """Read dependency trees from a CoNLL-X or CoNLL-U file, or from a file of three columns.

    Columns are separated by single tabs, and sentences by blank lines. The first word decides the
    layout: ten columns (ID FORM LEMMA CPOS POS FEATS HEAD DEPREL and two that are carried along)
    or three (word, part of speech, head). With ten columns, lines that begin with ``#`` are
    comments, and multiword tokens (ID ``3-4``) and empty nodes (ID ``8.1``) are kept but are not
    words of the tree.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether every word must have a head, and the heads of a sentence must form a tree. If False,
        heads may be ``_``, the heads need not form a tree, and the file may be empty.
    single_root
        Whether exactly one word of a sentence must have head 0. Only for labelled files.
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults are reported, one per sentence.

    Returns
    -------
    list of Sentence
        `write_conll` writes them back unchanged, with line feeds as line ends.

    Raises
    ------
    DataError
        If the file cannot be read, is malformed, or holds heads that do not form a tree; the
        message names file and line.

    Examples
    --------
    >>> from partwise.datasets import dependency_trees
    >>> from partwise.formats.conll import read_conll, write_conll
    >>> write_conll("t.conll", dependency_trees(2))
    >>> len(read_conll("t.conll"))
    2
    """
    text = read_text(source, encoding, faults)
    name, lines = text.name, text.text.split("\n")
    width = _layout(text)
    if width is None:
        if labelled or any(line.strip(" \t") for line in lines):
            raise DataError(
                "no words; expected one word per line, in columns separated by tabs",
                place=Place(name),
            )
        return []
    found = []
    for begin, rows in _blocks(lines):
        with faults.from_errors(name):
            found.append(
                read_sentence(
                    name,
                    text.line(begin + 1),
                    rows,
                    width,
                    labelled=labelled,
                    single_root=single_root,
                )
            )
    return found


def _layout(text: Text) -> int | None:
    """Return the number of columns; None if there is no word."""
    for number, line in text.lines():
        # This is a comment, or the word # in three columns: another line has to decide.
        if line.startswith("#"):
            continue
        if line.strip(" \t"):
            width = line.count("\t") + 1
            if width in LAYOUTS:
                return width
            where = Place(text.name, number)
            fail_columns(where, line, "10 (CoNLL-X, CoNLL-U) or 3 (word, tag, head)")
    return None


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Split the lines, with their line ends, before each line that follows a blank one."""
    rows = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    full = [bool(row.strip(" \t\n")) for row in rows]
    starts = [i for i, here in enumerate(full) if here and (i == 0 or not full[i - 1])]
    starts[0] = 0  # blank lines at the start of the file belong to the first sentence
    for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        yield begin, rows[begin:end]


def write_conll(path: str | os.PathLike[str], sentences: Iterable[Sentence]) -> None:
    r"""Write sentences as they were read, with the trees that they have now.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    sentences
        The sentences.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.datasets import dependency_trees
    >>> from partwise.formats.conll import write_conll
    >>> write_conll("t.conll", dependency_trees(2))
    >>> Path("t.conll").read_text().splitlines()[0]
    '1\tthe\t_\tD\tDT\t_\t3\tdet\t_\t_'
    """
    with writing(path) as stream:
        last = "\n"
        for sentence in sentences:
            if last.strip(" \t\n"):
                # The last sentence of a file may lack its blank line.
                stream.write("\n" if last.endswith("\n") else "\n\n")
            stream.writelines(sentence.rows)
            last = sentence.rows[-1]


FORMAT: Final = Format(
    "dependency trees",
    read_conll,
    "CoNLL-X or CoNLL-U, or three columns: word, part of speech, head",
    ends="blank line",
    verbatim=True,
    options=OPTIONS["conll"],
    finds_all=True,
)
