"""CoNLL-U and CoNLL-X for taggers: one column is the label, and all else is kept as it is."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from partwise.errors import DataError, Place
from partwise.formats.column_choice import check_inputs, listed
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text, writing
from partwise.formats.tokens import Columns, Layout

__all__ = ["CONLLU", "CONLLX", "Field", "read_conllu", "read_conllx", "write_conllu",
           "write_conllx"]  # fmt: skip

_ABSENT: Final = "_"
_WIDTH: Final = 10
_COLUMNS: Final = {
    "form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "head": 6, "deprel": 7, "deps": 8,
    "misc": 9, "cpos": 3, "pos": 4, "cpostag": 3, "postag": 4,
}  # fmt: skip
_FEATS, _MISC = _COLUMNS["feats"], _COLUMNS["misc"]
_WORD: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_OTHER: Final = re.compile(r"[0-9]{1,9}[-.][0-9]{1,9}", re.ASCII)


class Field(NamedTuple):
    """A place in a line: a column, or a key in FEATS or MISC.

    Attributes
    ----------
    name : str
        The name: ``"upos"`` or ``"misc:NE"``.
    column : int
        The column, counted from 0.
    key : str or None
        The key in it.
    """

    name: str
    column: int
    key: str | None

    @classmethod
    def of(cls, name: str) -> Field:
        """Find a field by its name."""
        column, _, key = name.partition(":")
        at = _COLUMNS.get(column.lower())
        if at is None or (key and at not in (_FEATS, _MISC)) or any(c in key for c in "=|\t\n"):
            raise DataError(
                f"{name!r} is no column of CoNLL files; use form, lemma, upos, xpos, feats, "
                "deprel, misc, feats:KEY or misc:KEY"
            )
        return cls(name, at, key or None)

    def get(self, fields: Sequence[str]) -> str:
        """Return its value in a line; ``_`` if there is none."""
        whole = fields[self.column]
        if self.key is None:
            return whole
        for pair in whole.split("|"):
            key, mark, value = pair.partition("=")
            if key == self.key and mark:
                return value or _ABSENT
        return _ABSENT

    def set(self, fields: list[str], value: str) -> None:
        """Change its value in a line."""
        held = "|\t\n\r" if self.key is not None else "\t\n\r"
        if not value or any(mark in value for mark in held):
            raise DataError(
                f"{value!r} cannot be written to {self.name} of a CoNLL file; values are not empty "
                "and hold no tabs, line ends or bars, so replace them"
            )
        if self.key is None:
            fields[self.column] = value
            return
        pairs = [] if fields[self.column] == _ABSENT else fields[self.column].split("|")
        keys = [pair.partition("=")[0] for pair in pairs]
        new = [] if value == _ABSENT else [f"{self.key}={value}"]
        at = keys.index(self.key) if self.key in keys else len(pairs)
        pairs[at : at + 1] = new
        if self.column == _FEATS and self.key not in keys:
            pairs.sort(key=lambda pair: pair.partition("=")[0].lower())
        fields[self.column] = "|".join(pairs) or _ABSENT


#: Where the probability of a predicted label is written.
_PROBABILITY: Final = Field.of("misc:LabelProbability")


def read_conllu(
    source: str | os.PathLike[str] | Text,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    label: str | None = None,
    columns: Any = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
    kind: str = "conllu",
) -> Columns:
    r"""Read a CoNLL-U file to tag its words.

    Comments, multiword tokens and empty nodes are no words; they are kept for the output.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether labels are read. They are optional if `inputs` is given.
    n_columns, inputs
        As in :func:`partwise.formats.read_columns`: the number of inputs that are expected.
    label
        Where the label is: "upos" (the default), "xpos", "feats", "deprel", "lemma", or a key as
        in "feats:Case" and "misc:NE". A word without the key has the label ``_``.
    columns
        The inputs, by the same names, in a list or separated by commas; None is "form".
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults of lines are reported.
    kind
        "conllu", or "conllx" for files without comments, multiword tokens and empty nodes.

    Returns
    -------
    Columns

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_conllu
    >>> rows = ["1 dogs dog NOUN NNS _ 2 nsubj _ _", "2 bark bark VERB VBP _ 0 root _ _"]
    >>> _ = Path("t.conllu").write_text("\n".join(rows).replace(" ", "\t") + "\n\n")
    >>> text = read_conllu("t.conllu", label="xpos")
    >>> text.fields[0], text.labels
    (['dogs', 'bark'], ['NNS', 'VBP'])
    """
    place = Field.of("upos" if label is None else label)
    names = listed(columns) or ["form"]
    fields = [Field.of(name) for name in names]
    if place in fields:
        raise DataError(f"{place.name} is the label and an input; choose other --columns")
    text = read_text(source, encoding, faults)
    name = text.name
    check_inputs(name, len(fields), n_columns, inputs)
    sentences, words, lines = _sentences(kind, text, faults)
    if not words and inputs is None:
        faults.add(name, None, "no words; expected one word per line, in ten columns with tabs")
    labels: list[str] | None = [place.get(word) for word in words]
    if inputs is None and not labelled:
        labels = None
    elif all(value == _ABSENT for value in labels or ()):
        if inputs is None and words:
            faults.add(
                name, None, f"no labels: {place.name} is {_ABSENT} everywhere; choose another "
                "with --label"
            )  # fmt: skip
        labels = None
    rows = [row for sentence, _ in sentences for row in sentence]
    comments = sum(row.startswith("#") for row in rows)
    extras = {"comments": comments, "multiword tokens and empty nodes": len(rows) - comments
              - len(words)}  # fmt: skip
    used = {place.column, *(field.column for field in fields)}
    for other in ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"):
        at = _COLUMNS[other]
        extras[f"values of {other}"] = (
            0 if at in used else sum(word[at] != _ABSENT for word in words)
        )
    return Columns(
        name,
        tuple([field.get(word) for word in words] for field in fields),
        labels,
        np.array([len(places) for _, places in sentences], np.int64),
        np.array(lines, np.int64),
        "\t",
        names=tuple(names),
        layout=Layout(
            kind,
            sentences,
            settings={"label": place.name},
            extras={what: count for what, count in extras.items() if count},
        ),
    )


_Sentence = tuple[tuple[str, ...], tuple[int, ...]]


def _sentences(
    kind: str, text: Text, faults: Faults
) -> tuple[list[_Sentence], list[list[str]], list[int]]:
    """Return the rows of each sentence with the places of its words, the words, and their lines."""
    sentences: list[_Sentence] = []
    words: list[list[str]] = []
    lines: list[int] = []
    rows: list[str] = []
    places: list[int] = []
    name, last = text.name, text.text.count("\n") + 2
    for number, line in chain(text.lines(), [(text.line(last), "")]):
        if line.strip(" \t"):
            fields = line.split("\t")
            if line.startswith("#") and kind == "conllu":
                rows.append(line)
            elif _is_word(kind, name, number, line, fields, len(places) + 1, faults):
                places.append(len(rows))
                rows.append(line)
                words.append(fields)
                lines.append(number)
            else:
                rows.append(line)
        elif rows:
            if places:
                sentences.append((tuple(rows), tuple(places)))
            else:
                faults.add(
                    name, number - len(rows), "a sentence without words; remove its comments, or "
                    "the blank line between them and their words", 1
                )  # fmt: skip
            rows, places = [], []
    return sentences, words, lines


def _is_word(
    kind: str, name: str, number: int, line: str, fields: list[str], expected: int, faults: Faults
) -> bool:
    """Return whether a line is a word and not a multiword token or an empty node."""
    if len(fields) != _WIDTH:
        what = f"{len(fields)} columns" if len(fields) > 1 else f"no tab in {line[:40]!r}"
        faults.add(
            name, number, f"{what} where {_WIDTH} columns are expected; separate them by single "
            f"tabs and write {_ABSENT} for what is not known", 1
        )  # fmt: skip
        return False
    if "" in fields:
        at = fields.index("")
        faults.add(
            name, number, f"column {at + 1} is empty; write {_ABSENT} for what is not known",
            len("\t".join(fields[:at])) + 1 + (at > 0),
        )  # fmt: skip
        return False
    if fields[0] == str(expected):
        return True
    if kind == "conllu" and _OTHER.fullmatch(fields[0]):
        return False
    if _WORD.fullmatch(fields[0]):
        faults.add(
            name, number, f"word number {fields[0]} where {expected} is expected; number the words "
            "of every sentence 1, 2, 3, ... and put a blank line after the last", 1
        )  # fmt: skip
        return True
    others = ", or a range such as 3-4 or an empty node such as 8.1" if kind == "conllu" else ""
    faults.add(
        name, number, f"{fields[0][:40]!r} is not a word number; expected {expected}{others}", 1
    )
    return False


def write_conllu(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Sequence[dict[str, Any]] | None = None,
    label: str | None = None,
    kind: str = "conllu",
) -> None:
    r"""Write a CoNLL-U file.

    A file that was read as CoNLL-U is written as it was, with other labels in their place.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens.
    labels
        The labels to write; None writes those that the tokens have.
    probabilities
        The probability of each label, which is written to MISC as ``LabelProbability``.
    notes
        What to write in a comment before each sentence, by name.
    label
        Where labels are written, as in `read_conllu`; None is where they were read, or "upos".
    kind
        "conllu", or "conllx" for a file of words only.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_conllu, write_conllu
    >>> _ = Path("t.conllu").write_text("1 dogs _ NOUN _ _ _ _ _ _\n\n".replace(" ", "\t"))
    >>> text = read_conllu("t.conllu", label="upos")
    >>> write_conllu("out.conllu", text, ["VERB"], label="upos")
    >>> Path("out.conllu").read_text().split("\t")[:4]
    ['1', 'dogs', '_', 'VERB']
    """
    written = columns.labels if labels is None else labels
    layout = columns.layout_of("conllu", "conllx") or Layout(kind, _numbered_rows(columns))
    place = Field.of(label or layout.settings.get("label", "upos"))
    with writing(path) as stream:
        token = 0
        for s, (rows, places) in enumerate(layout.sentences):
            if notes is not None:
                stream.write("# " + " ".join(_note(*item) for item in notes[s].items()) + "\n")
            lines = list(rows)
            for at in places:
                fields = lines[at].split("\t")
                if written is not None:
                    place.set(fields, written[token])
                if probabilities is not None:
                    _PROBABILITY.set(fields, f"{probabilities[token]:.6f}")
                lines[at] = "\t".join(fields)
                token += 1
            if kind == "conllx":
                lines = [lines[at] for at in places]
            stream.writelines(f"{line}\n" for line in [*lines, ""])


def _note(name: str, value: Any) -> str:
    return f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"


def _numbered_rows(columns: Columns) -> list[_Sentence]:
    """Return rows of ten columns for tokens that were read from another format."""
    names = columns.names or (("form",) if len(columns.fields) == 1 else ())
    if len(names) != len(columns.fields):
        raise DataError(
            f"{len(columns.fields)} input columns without names; name the columns "
            "of CoNLL-U that they belong in, as in columns=form,xpos",
            place=Place(columns.path),
        )
    fields = [Field.of("form" if name in ("tokens", "words", "text") else name) for name in names]
    found: list[_Sentence] = []
    token = 0
    for length in columns.lengths.tolist():
        rows = []
        for number in range(1, length + 1):
            row = [str(number), *[_ABSENT] * (_WIDTH - 1)]
            for field, values in zip(fields, columns.fields, strict=True):
                field.set(row, values[token])
            rows.append("\t".join(row))
            token += 1
        found.append((tuple(rows), tuple(range(length))))
    return found


def read_conllx(source: str | os.PathLike[str] | Text, **wanted: Any) -> Columns:
    r"""Read a CoNLL-X file to tag its words.

    Parameters are those of `read_conllu`. The columns are also known by the names of CoNLL-X:
    "cpostag" is "upos" and "postag" is "xpos".

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_conllx
    >>> _ = Path("t.conll").write_text("1 dogs dog N NNS _ 0 root _ _\n\n".replace(" ", "\t"))
    >>> read_conllx("t.conll", label="postag").labels
    ['NNS']
    """
    return read_conllu(source, kind="conllx", **wanted)


def write_conllx(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Any = None,
    label: str | None = None,
) -> None:
    r"""Write a CoNLL-X file.

    Parameters are those of `write_conllu`, but for what CoNLL-X has no place for: `probabilities`
    and `notes` must be None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_conllx, write_conllx
    >>> _ = Path("t.conll").write_text("1 dogs dog N NNS _ 0 root _ _\n\n".replace(" ", "\t"))
    >>> write_conllx("out.conll", read_conllx("t.conll", label="postag"), ["NN"], label="postag")
    >>> Path("out.conll").read_text().split("\t")[:5]
    ['1', 'dogs', 'dog', 'N', 'NN']
    """
    if probabilities is not None or notes is not None:
        raise DataError(
            "CoNLL-X has no place for probabilities and for several labellings of a sentence; use "
            "--json, or --format conllu, which reads the same files"
        )
    write_conllu(path, columns, labels, label=label, kind="conllx")


def _signs(kind: str, lines: Sequence[str]) -> str | None:
    if kind == "conllx" and any(line.startswith("#") for line in lines):
        return None
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if not rows or rows[0][0] not in ("1", "1-2", "0.1"):
        return None
    tens = sum(
        len(row) == _WIDTH and bool(_WORD.fullmatch(row[0]) or _OTHER.fullmatch(row[0]))
        for row in rows
    )
    if tens < 0.8 * len(rows):
        return None
    return ("comments, and " if len(rows) < len(lines) else "") + (
        "lines of ten columns that count words from 1"
    )


def _format(kind: str, read: Any, write: Any, summary: str) -> Format:
    return Format(
        "tokens in columns",
        read,
        summary,
        write,
        OPTIONS[kind],
        partial(_signs, kind),
        finds_all=True,
        separate="blank line",
    )


CONLLU: Final = _format(
    "conllu", read_conllu, write_conllu, "CoNLL-U: ten columns per word, with comments"
)
CONLLX: Final = _format("conllx", read_conllx, write_conllx, "CoNLL-X: ten columns per word")
