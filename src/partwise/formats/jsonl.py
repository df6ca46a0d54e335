"""JSON lines of tokens and labels: ``{"tokens": ["He", "ran"], "tags": ["B-NP", "B-VP"]}``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from partwise.errors import DataError
from partwise.formats.column_choice import check_inputs, listed
from partwise.formats.faults import STRICT, Faults
from partwise.formats.json_records import (
    Record,
    Sentences,
    first_object,
    labels_given,
    read_objects,
    write_objects,
    written_objects,
)
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text
from partwise.formats.tokens import Columns

__all__ = ["FORMAT", "IGNORED", "read_jsonl", "write_jsonl"]

_TOKENS: Final = ("tokens", "words")
_LABELS: Final = ("tags", "labels", "ner_tags")
#: The number by which Hugging Face marks tokens to be ignored; it has no name.
IGNORED: Final = -100


def read_jsonl(
    source: str | os.PathLike[str] | Text,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    label: str | None = None,
    columns: Any = None,
    label_names: Any = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> Columns:
    """Read JSON lines of tokens and labels: one object per sentence.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    labelled
        Whether labels are read. They are optional if `inputs` is given.
    n_columns, inputs
        As in :func:`partwise.formats.read_columns`: the number of inputs that are expected.
    label
        The key of the labels; None is the first of "tags", "labels" and "ner_tags" that occurs.
    columns
        The keys of the inputs, in a list or separated by commas; None is "tokens" or "words". Each
        is a list of one string or number per token.
    label_names
        The names of labels that are numbers, counted from 0. Without it, a number is its own name.
        -100, which marks tokens to be ignored, keeps its name.
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults of lines are reported.

    Returns
    -------
    Columns
        Objects without tokens are no sentences; they are kept for the output.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_jsonl
    >>> _ = Path("t.jsonl").write_text('{"tokens": ["the", "dog"], "tags": ["DET", "NOUN"]}')
    >>> read_jsonl("t.jsonl").labels
    ['DET', 'NOUN']
    """
    given, names = listed(columns), listed(label_names)
    text = read_text(source, encoding, faults)
    name = text.name
    records = list(read_objects(text, faults))
    keys = given or [_found(records, _TOKENS) or _TOKENS[0]]
    check_inputs(name, len(keys), n_columns, inputs)
    wanted = label or _found(records, _LABELS) or _LABELS[0]
    reading = _Reading(name, keys, wanted, names, faults)
    has_labels = labels_given(records, wanted, labelled, inputs)
    for record in records:
        reading.read(record, has_labels)
    if not reading.kept and inputs is None:
        faults.add(
            name, None, 'no tokens; expected lines such as {"tokens": ["He", "ran"], "tags": '
            '["B-NP", "B-VP"]}'
        )  # fmt: skip
    has_labels = has_labels and bool(reading.kept)
    settings = {"label": wanted, "names": names, "numbered": reading.numbered and has_labels}
    return reading.columns("jsonl", has_labels, settings)


def _found(records: Sequence[Record], names: Sequence[str]) -> str | None:
    """Return the first of some keys that occurs in the first object with one of them."""
    for record in records:
        for name in names:
            if name in record.value:
                return name
    return None


class _Reading(Sentences):
    """The sentences that were read so far."""

    def __init__(
        self, name: str, keys: list[str], label: str, names: list[str] | None, faults: Faults
    ) -> None:
        super().__init__(name, faults, keys)
        self.label, self.spelled = label, names
        self.numbered = True

    def read(self, record: Record, has_labels: bool) -> None:
        """Read an object."""
        lists = [self._strings(record, key, None) for key in self.names]
        labels: list[str] | None = []
        if has_labels and lists[0] is not None:
            labels = self._strings(record, self.label, self.spelled)
        found = [one for one in (*lists, labels) if one is not None]
        if len(found) <= len(lists):
            return
        n = len(found[0])
        for key, one in zip([*self.names, self.label], found, strict=True):
            if len(one) != n and (key != self.label or has_labels):
                self.fault(
                    record, key, f"{len(one)} values of {key!r} for {n} tokens in "
                    f"{self.names[0]!r}; give one per token"
                )  # fmt: skip
                return
        if not n:
            self.leave_out(record.value, "objects without tokens")
            return
        self.numbered &= all(_is_number(one) for one in record.value.get(self.label) or ())
        self.add(record, found[:-1], found[-1], {*self.names, self.label})

    def _strings(self, record: Record, key: str, names: list[str] | None) -> list[str] | None:
        """Return a list of strings or numbers; None after a fault."""
        value = record.value.get(key)
        if not isinstance(value, list):
            what = "no list" if key in record.value else "no"
            self.fault(
                record, key, f"{what} {key!r}; each object needs a list of one value per token, or "
                "choose another key (--columns, --label)"
            )  # fmt: skip
            return None
        found: list[str] = []
        for place, one in enumerate(value):
            if isinstance(one, str) and (one or key != self.label):
                found.append(one)
                continue
            if _is_number(one):
                if names is None or one == IGNORED:
                    found.append(str(one))
                    continue
                if 0 <= one < len(names):
                    found.append(names[one])
                    continue
                why = f"there are names for 0 to {len(names) - 1}; give --label-names all of them"
            else:
                why = "give strings, or whole numbers"
            self.fault(
                record, key, f"value {place} (counted from 0) of {key!r} is "
                f"{str(one)[:40]!r}; {why}"
            )  # fmt: skip
            return None
        return found


def _is_number(value: Any) -> bool:
    # Python takes True for the number 1.
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class _Spelling:
    """How labels are written: by name, or as numbers if they were numbers."""

    numbered: bool
    numbers: dict[str, int]

    def of(self, label: str) -> str | int:
        """Return a label as it is written."""
        if not self.numbered:
            return label
        if label in self.numbers:
            return self.numbers[label]
        digits = label.removeprefix("-")
        plain = digits.isascii() and digits.isdigit() and len(digits) < 19
        return int(label) if plain and str(int(label)) == label else label


def write_jsonl(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Sequence[dict[str, Any]] | None = None,
    label: str | None = None,
) -> None:
    r"""Write JSON lines of tokens and labels.

    Objects that were read from such a file keep everything else that they hold. Labels that were
    numbers are written as numbers.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens.
    labels
        The labels to write; None writes those that the tokens have.
    probabilities
        The probability of each label, which is written as ``token_probabilities``.
    notes
        What to add to the object of each sentence.
    label
        The key of the labels; None is the one that they were read from, or "tags".

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.datasets import tagged_text
    >>> from partwise.formats import read_jsonl, write_jsonl
    >>> _ = Path("t.jsonl").write_text('{"tokens": ["dog"], "tags": ["DET"]}')
    >>> write_jsonl("out.jsonl", read_jsonl("t.jsonl"), ["NOUN"])
    >>> Path("out.jsonl").read_text()
    '{"tokens": ["dog"], "tags": ["NOUN"]}\n'
    """
    written = columns.labels if labels is None else labels
    layout = columns.layout_of("jsonl")
    settings = {} if layout is None else layout.settings
    key = label or settings.get("label") or _LABELS[0]
    names = _names(columns)
    if key in names:
        raise DataError(f"{key!r} is the key of an input and of the labels; choose another")
    numbers = {text: number for number, text in enumerate(settings.get("names") or ())}
    spelling = _Spelling(bool(settings.get("numbered")), numbers)

    def make(part: slice) -> tuple[Any, ...]:
        pairs = zip(names, columns.fields, strict=True)
        return ({name: field[part] for name, field in pairs},)

    def put(part: slice, value: dict[str, Any]) -> dict[str, Any]:
        if written is None:
            return value
        return {**value, key: [spelling.of(one) for one in written[part]]}

    write_objects(path, written_objects(columns, layout, make, put, probabilities, notes))


def _names(columns: Columns) -> list[str]:
    given = columns.names or ()
    names = [*given, *(f"column{n}" for n in range(len(given) + 1, len(columns.fields) + 1))]
    if names and (not given or given[0] in ("form", "text")):
        names[0] = _TOKENS[0]
    return names


def _signs(lines: Sequence[str]) -> str | None:
    value = first_object(lines)
    if value is None:
        return 'the first line begins with {"' if lines[0].startswith('{"') else None
    tokens = next((value[key] for key in _TOKENS if isinstance(value.get(key), list)), None)
    if "text" in value and not (tokens and all(isinstance(one, str) for one in tokens)):
        # A text with spans.
        return None
    return "the first line is an object in braces"


FORMAT: Final = Format(
    "tokens in columns",
    read_jsonl,
    'JSON lines: {"tokens": [...], "tags": [...]}',
    write_jsonl,
    OPTIONS["jsonl"],
    _signs,
    finds_all=True,
    separate="line",
)
