"""CoNLL files of dependency trees.

They have one word per line, in ten columns (CoNLL-X, CoNLL-U) or three.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from partwise.errors import DataError, Place
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text, writing
from partwise.structures.dependency.projectivity import find_cycle
from partwise.wording import counted

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
    >>> from partwise.formats import read_conll, write_conll
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
                _read_sentence(
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
            if width in _LAYOUTS:
                return width
            where = Place(text.name, number)
            _fail_columns(where, line, "10 (CoNLL-X, CoNLL-U) or 3 (word, tag, head)")
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
    >>> from partwise.formats import write_conll
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


UNKNOWN = -1
"""The head of a word whose head is not given (``_`` in the file)."""

_ABSENT = "_"
# The positions of the columns, by the number of columns; None if a layout lacks a column.
_NAMES = ("form", "lemma", "cpos", "pos", "feats", "head", "deprel")
_LAYOUTS: dict[int, tuple[int | None, ...]] = {
    10: (1, 2, 3, 4, 5, 6, 7),
    3: (0, None, None, 1, None, 2, None),
}
_HEAD, _DEPREL = 5, 6
_WORD_ID = re.compile(r"[1-9][0-9]{0,8}")
_OTHER_ID = re.compile(r"[0-9]+[-.][0-9]+")  # a multiword token 3-4 or an empty node 8.1


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence and its dependency tree; the lists have one entry per word.

    Attributes
    ----------
    form, lemma, cpos, pos, feats, deprel
        The columns as strings. In CoNLL-U `cpos` is UPOS and `pos` is XPOS. Columns that a layout
        lacks are ``_``.
    head
        The heads: words count from 1, 0 is the root, and `UNKNOWN` stands for ``_``.
    rows
        All lines of the sentence with their line ends: comments, words, multiword tokens, empty
        nodes, and the blank lines that follow.
    places
        The position of every word among the rows.
    path, line
        The file, and the line of the first row, counted from 1.

    Examples
    --------
    >>> from partwise.formats import Sentence
    >>> sentence = Sentence.from_columns(["dogs", "bark"], pos=["NNS", "VBP"], head=[2, 0])
    >>> len(sentence), sentence.head
    (2, [2, 0])
    """

    form: list[str]
    lemma: list[str]
    cpos: list[str]
    pos: list[str]
    feats: list[str]
    head: list[int]
    deprel: list[str]
    rows: tuple[str, ...]
    places: tuple[int, ...]
    path: str = "<columns>"
    line: int = 1

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.form)

    @property
    def comments(self) -> list[str]:
        """The comment lines, without their line ends; the layout of three columns has none."""
        first = self.rows[self.places[0]]
        if first.count("\t") + 1 == 3:
            return []
        return [row.rstrip("\n") for row in self.rows if row.startswith("#")]

    def where(self, word: int) -> Place:
        """Return the file and the line of a word, counted from 1."""
        return Place(self.path, self.line + self.places[word - 1])

    def with_tree(self, head: Sequence[int], deprel: Sequence[str] | None = None) -> Sentence:
        """Return the sentence with other heads and relations, and everything else unchanged.

        Parameters
        ----------
        head
            The new head of every word; 0 is the root and `UNKNOWN` is written as ``_``.
        deprel
            The new relation of every word; None keeps the present ones.

        Raises
        ------
        DataError
            If a length is wrong, a head is out of range, or the file has no column of relations.
        """
        new_head = [int(h) for h in head]
        new_deprel = self.deprel if deprel is None else [str(d) for d in deprel]
        for name, values in (("heads", new_head), ("relations", new_deprel)):
            if len(values) != len(self):
                raise DataError(
                    f"{len(values)} {name} for {len(self)} words; give one per word",
                    place=self.where(1),
                )
        layout = _LAYOUTS[self.rows[self.places[0]].count("\t") + 1]
        if deprel is not None and layout[_DEPREL] is None:
            raise DataError(
                "a file of three columns has no place for relations; write a "
                "file of ten columns, or leave the relations out",
                place=self.where(1),
            )
        rows = list(self.rows)
        for place, h, relation in zip(self.places, new_head, new_deprel, strict=True):
            if not UNKNOWN <= h <= len(self):
                where = Place(self.path, self.line + place)
                raise DataError(_range_problem(h, len(self)), place=where)
            fields = rows[place].split("\t")
            end = "\n" if rows[place].endswith("\n") else ""
            fields[-1] = fields[-1].removesuffix("\n")
            fields[layout[_HEAD] or 0] = _ABSENT if h == UNKNOWN else str(h)
            if deprel is not None:
                _check_field(relation)
                fields[layout[_DEPREL] or 0] = relation
            rows[place] = "\t".join(fields) + end
        return replace(self, head=new_head, deprel=new_deprel, rows=tuple(rows))

    @classmethod
    def from_columns(
        cls, form: Sequence[str], **columns: Sequence[str] | Sequence[int]
    ) -> Sentence:
        """Make a sentence of ten columns from lists.

        Parameters
        ----------
        form
            The words.
        **columns
            Any of `lemma`, `cpos`, `pos`, `feats`, `head` and `deprel`; the others are ``_``.

        Raises
        ------
        DataError
            If a column is unknown or has another length, or a value cannot be written.
        """
        table = [[str(i) for i in range(1, len(form) + 1)], [str(f) for f in form]]
        for name in columns:
            if name not in _NAMES[1:]:
                raise DataError(f"no column {name!r}; choose from {', '.join(_NAMES[1:])}")
        for name in _NAMES[1:]:
            values = [str(v) for v in columns.get(name, [_ABSENT] * len(form))]
            if len(values) != len(form):
                raise DataError(
                    f"{len(values)} values of {name} for {len(form)} words; give one per word"
                )
            table.append([_ABSENT if name == "head" and v == str(UNKNOWN) else v for v in values])
        table.extend([[_ABSENT] * len(form)] * 2)
        for value in {value for column in table for value in column}:
            _check_field(value)
        rows = ["\t".join(fields) + "\n" for fields in zip(*table, strict=True)]
        return _read_sentence("<columns>", 1, [*rows, "\n"], 10, labelled=False, single_root=False)


def _fail_columns(where: Place, line: str, expected: str) -> NoReturn:
    """Raise a DataError for a line that has another number of columns than is expected."""
    width = line.count("\t") + 1
    if width == 1:
        raise DataError(
            f"no tab in {line[:40]!r}; columns are separated by single tabs, {expected} of them",
            place=where,
        )
    raise DataError(
        f"{counted(width, 'column')} where {expected} are expected; separate columns by "
        f"single tabs and write {_ABSENT} for what is not known",
        place=where,
    )


def _read_sentence(
    name: str, line: int, rows: list[str], width: int, *, labelled: bool, single_root: bool
) -> Sentence:
    """Make a sentence of the rows of a file.

    Parameters
    ----------
    name : str
        The file.
    line : int
        The line of the first row, counted from 1.
    rows : list of str
        The rows, with their line ends.
    width : int
        The number of columns.
    labelled, single_root : bool
        As in :func:`partwise.formats.read_conll`.
    """
    places: list[int] = []
    table: list[list[str]] = []
    for place, row in enumerate(rows):
        text = row.removesuffix("\n")
        if not text.strip(" \t") or (width != 3 and text.startswith("#")):
            continue
        fields = text.split("\t")
        if len(fields) != width:
            _fail_columns(Place(name, line + place), text, f"{width}")
        if width == 3 or _is_word(name, line + place, fields[0], len(places) + 1):
            places.append(place)
            table.append(fields)
    if not places:
        raise DataError(
            "a sentence without words; remove its comments, or the blank line "
            "between them and their words",
            place=Place(name, line),
        )
    columns = [
        [_ABSENT] * len(table) if at is None else [fields[at] for fields in table]
        for at in _LAYOUTS[width]
    ]
    if "" in columns[0]:
        at = places[columns[0].index("")]
        raise DataError(
            f"empty form; write {_ABSENT} for a word not known", place=Place(name, line + at)
        )
    form, lemma, cpos, pos, feats, head, deprel = columns
    heads = _heads(name, line, places, head, labelled)
    sentence = Sentence(
        form, lemma, cpos, pos, feats, heads, deprel, tuple(rows), tuple(places), name, line
    )
    if labelled:
        _check_tree(sentence, single_root)
    return sentence


def _is_word(name: str, number: int, text: str, expected: int) -> bool:
    if text == str(expected):
        return True
    if _OTHER_ID.fullmatch(text):
        return False
    if _WORD_ID.fullmatch(text):
        raise DataError(
            f"word number {text} where {expected} is expected; number the words "
            "of every sentence 1, 2, 3, ... and put a blank line after the last",
            place=Place(name, number),
        )
    raise DataError(
        f"{text!r} is not a word number; expected {expected}, or a range such as "
        "3-4 or an empty node such as 8.1",
        place=Place(name, number),
    )


def _heads(name: str, line: int, places: list[int], column: list[str], labelled: bool) -> list[int]:
    heads = []
    for place, text in zip(places, column, strict=True):
        if text == _ABSENT:
            if labelled:
                raise DataError(
                    f"head {_ABSENT} where a number is expected; give every "
                    "word a head, 0 at the root (only files to be parsed may leave heads open)",
                    place=Place(name, line + place),
                )
            heads.append(UNKNOWN)
            continue
        if not (text.isascii() and text.isdigit()):
            raise DataError(
                f"head {text!r} is not a number; write the number of the "
                f"head word, or 0 for the root, or {_ABSENT} in a file to be parsed",
                place=Place(name, line + place),
            )
        # A number too long to be a word is not worth parsing, and Python refuses to.
        head = int(text) if len(text) < 10 else len(places) + 1
        if head > len(places):
            raise DataError(_range_problem(text, len(places)), place=Place(name, line + place))
        heads.append(head)
    return heads


def _range_problem(head: object, n_words: int) -> str:
    return (
        f"head {head} in a sentence of {n_words} words; heads are 0 (the root) or words 1 to "
        f"{n_words}"
    )


def _check_tree(sentence: Sentence, single_root: bool) -> None:
    roots = [word for word, head in enumerate(sentence.head, 1) if head == 0]
    if not roots:
        raise DataError(
            "the sentence has no root; give one of its words head 0", place=sentence.where(1)
        )
    if single_root and len(roots) > 1:
        raise DataError(
            f"words {roots[0]} and {roots[1]} both have head 0 where a "
            "single root is asked for; attach one to the other, or allow several roots",
            place=sentence.where(roots[1]),
        )
    cycle = find_cycle(sentence.head)
    if cycle:
        named = [f"{word} ({sentence.form[word - 1]})" for word in [*cycle, cycle[0]]]
        shown = named if len(named) < 8 else [*named[:6], "...", named[-1]]
        raise DataError(
            f"heads run in a circle, {' -> '.join(shown)}; correct "
            "one of them, so that all words hang from the root",
            place=sentence.where(min(cycle)),
        )


def _check_field(value: str) -> None:
    if not value or any(mark in value for mark in "\t\n\r"):
        raise DataError(
            f"{value!r} cannot be written to a CoNLL file; fields are not empty and hold no tabs "
            f"or line ends, so write {_ABSENT} or replace them"
        )
