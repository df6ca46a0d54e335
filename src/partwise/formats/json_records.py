"""Lines of JSON objects: what the formats that consist of them share."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from partwise.errors import DataError
from partwise.formats.faults import Faults
from partwise.formats.source import Text, writing
from partwise.formats.tokens import Columns, Layout

__all__ = ["Record", "Sentences", "first_object", "labels_given", "read_objects", "write_objects",
           "written_objects"]  # fmt: skip

#: Where results of a prediction are written.
_PROBABILITIES: Final = "token_probabilities"


class Record(NamedTuple):
    """One line of a file.

    Attributes
    ----------
    line : int
        The number of the line, counted from 1.
    text : str
        The line.
    value : dict
        The object in it.
    """

    line: int
    text: str
    value: dict[str, Any]

    def column(self, key: str) -> int:
        """Return the place of a key in the line, counted from 1; 1 if it is not found."""
        return self.text.find(json.dumps(key, ensure_ascii=False)) + 1 or 1


def read_objects(text: Text, faults: Faults) -> Iterator[Record]:
    """Read the objects of a file; blank lines are skipped."""
    name = text.name
    for number, line in text.lines():
        if not line.strip(" \t"):
            continue
        try:
            value = _loads(line)
        except json.JSONDecodeError as error:
            what = f"not JSON ({error.msg}); write one object per line"
            if line.lstrip(" \t").startswith("["):
                what += ", without brackets around all of them (`jq -c '.[]'` does that)"
            faults.add(name, number, what, error.colno)
            continue
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            faults.add(name, number, f"not JSON that can be read: {why}; correct it", 1)
            continue
        if isinstance(value, dict):
            yield Record(number, line, value)
        else:
            faults.add(
                name, number, "JSON, but no object in braces; write one object per line, without "
                "brackets around all of them (`jq -c '.[]'` does that)", 1
            )  # fmt: skip


def _loads(line: str) -> Any:
    return json.loads(line, parse_float=_finite, parse_constant=_refuse)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse(text)
    return number


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def first_object(lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the object in the first of some lines; None if there is none."""
    if not lines[0].lstrip(" \t\ufeff").startswith("{"):
        return None
    try:
        value = _loads(lines[0].lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def labels_given(
    records: Sequence[Record], key: str | None, labelled: bool, inputs: int | None
) -> bool:
    """Return whether objects have labels under a key, which is optional if `inputs` is given."""
    if inputs is None:
        return labelled
    return bool(records) and all(key in record.value for record in records)


class Sentences:
    """The sentences of a file that were read so far, one per object.

    Parameters
    ----------
    name : str
        The file.
    faults : Faults
        Where faults are reported.
    names : sequence of str
        The names of the inputs.
    """

    def __init__(self, name: str, faults: Faults, names: Sequence[str]) -> None:
        self.name, self.faults, self.names = name, faults, tuple(names)
        self.fields: tuple[list[str], ...] = tuple([] for _ in names)
        self.labels: list[str] = []
        self.lengths: list[int] = []
        self.lines: list[int] = []
        self.kept: list[tuple[Any, ...]] = []
        self.empty: list[dict[str, Any]] = []
        self.extras: Counter[str] = Counter()

    def fault(self, record: Record, key: str, text: str) -> None:
        """Report a fault of what is under a key."""
        self.faults.add(self.name, record.line, text, record.column(key))

    def leave_out(self, value: dict[str, Any], what: str) -> None:
        """Keep an object that is no sentence for the output."""
        self.empty.append(value)
        self.extras[what] += 1

    def add(
        self,
        record: Record,
        fields: Sequence[Sequence[str]],
        labels: Sequence[str],
        known: Collection[str],
        *more: Any,
    ) -> None:
        """Add a sentence: its inputs, its labels, the keys that were read, and more to keep."""
        for field, values in zip(self.fields, fields, strict=True):
            field.extend(values)
        self.labels.extend(labels)
        self.lengths.append(len(fields[0]))
        self.lines.extend([record.line] * len(fields[0]))
        self.kept.append((tuple(self.empty), record.value, *more))
        self.empty = []
        self.extras.update(f"values of {key!r}" for key in record.value.keys() - set(known))

    def columns(self, format: str, has_labels: bool, settings: dict[str, Any]) -> Columns:
        """Return all sentences; `settings` are those of the layout of a format."""
        return Columns(
            self.name,
            self.fields,
            self.labels if has_labels and self.kept else None,
            np.array(self.lengths, np.int64),
            np.array(self.lines, np.int64),
            names=self.names,
            layout=Layout(format, self.kept, tuple(self.empty), settings, dict(self.extras)),
        )


def written_objects(
    columns: Columns,
    layout: Layout | None,
    make: Callable[[slice], tuple[Any, ...]],
    put: Callable[..., dict[str, Any]],
    probabilities: Sequence[float] | None,
    notes: Sequence[dict[str, Any]] | None,
) -> Iterator[dict[str, Any]]:
    """Return the objects of a file to be written.

    Parameters
    ----------
    columns : Columns
        The tokens.
    layout : Layout or None
        What was read, if it was read from this format.
    make : callable
        Makes what the layout would keep of a sentence, from the slice of its tokens.
    put : callable
        Returns the object of a sentence with its labels, from the slice and what was kept.
    probabilities, notes
        The probability of each label, and a note on each sentence. Those of an earlier prediction
        are removed.
    """
    token = 0
    for s, length in enumerate(columns.lengths.tolist()):
        part = slice(token, token + length)
        before, *kept = ((), *make(part)) if layout is None else layout.sentences[s]
        yield from before
        value = {key: held for key, held in put(part, *kept).items() if key != _PROBABILITIES}
        if probabilities is not None:
            value[_PROBABILITIES] = [round(p, 6) for p in probabilities[part]]
        yield value if notes is None else {**value, **notes[s]}
        token += length
    if layout is not None and layout.tail:
        yield from layout.tail


def write_objects(path: str | os.PathLike[str], objects: Iterable[dict[str, Any]]) -> None:
    """Write objects, one per line."""
    with writing(path) as stream:
        for value in objects:
            try:
                stream.write(json.dumps(value, ensure_ascii=False) + "\n")
            except (ValueError, RecursionError) as error:
                raise DataError(f"an object cannot be written as JSON: {error}") from error
