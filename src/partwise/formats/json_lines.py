"""Lines of JSON objects: what the formats that consist of them share."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from partwise.errors import DataError
from partwise.formats.faults import Faults
from partwise.formats.source import Text, writing

__all__ = ["Record", "first_object", "read_objects", "with_results", "write_objects"]

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


def with_results(
    value: dict[str, Any],
    probabilities: Sequence[float] | None,
    note: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return an object with the probabilities of labels and a note on a labelling.

    Results of an earlier prediction are removed.
    """
    kept = {key: held for key, held in value.items() if key != _PROBABILITIES}
    if probabilities is not None:
        kept[_PROBABILITIES] = [round(p, 6) for p in probabilities]
    return {**kept, **(note or {})}


def write_objects(path: str | os.PathLike[str], objects: Iterable[dict[str, Any]]) -> None:
    """Write objects, one per line."""
    with writing(path) as stream:
        for value in objects:
            try:
                stream.write(json.dumps(value, ensure_ascii=False) + "\n")
            except (ValueError, RecursionError) as error:
                raise DataError(f"an object cannot be written as JSON: {error}") from error
