"""Tables in Python: data frames, Arrow tables, Parquet files and Hugging Face datasets.

A table has one row per sentence, with lists in its cells, or one row per token and a column that
says which sentence it belongs to. Tables are known by what they can do, so that none of the
libraries has to be installed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from partwise.errors import DataError, Place
from partwise.formats.column_choice import listed
from partwise.formats.jsonl import IGNORED
from partwise.formats.tokens import Columns

__all__ = ["frame_columns", "read_frame", "read_parquet"]

_TOKENS: Final = ("tokens", "words", "token", "word", "form")
_LABELS: Final = ("tags", "labels", "ner_tags", "tag", "label", "ner_tag")


def read_frame(
    table: Any,
    *,
    tokens: Any = None,
    labels: str | None = None,
    sentence: str | None = None,
    label_names: Any = None,
    missing_label: Any = None,
) -> tuple[list[list[Any]], list[list[Any]] | None]:
    """Read the sentences of a table.

    Parameters
    ----------
    table
        A data frame of pandas or polars, an Arrow table, a Hugging Face dataset, a dict of lists,
        or rows that are dicts.
    tokens : str, list of str or None
        The columns of the inputs. If None, the first of "tokens", "words", "token", "word" and
        "form" that the table has.
    labels : str or None
        The column of the labels. If None, the first of "tags", "labels", "ner_tags", "tag",
        "label" and "ner_tag", if the table has one.
    sentence : str or None
        For one row per token: the column that names the sentence; an empty cell continues the
        sentence before it. If None, there is one row per sentence, with lists in its cells.
    label_names : list of str or None
        The names of labels that are numbers, counted from 0. Columns of the type ClassLabel, in
        datasets and in the Parquet files that `datasets` writes, know their names.
    missing_label
        The label, or a list of labels, that stands for one that is not known. -100 does so where
        labels have names, and an empty cell always does.

    Returns
    -------
    X : list of list
        For each sentence its tokens, as :class:`partwise.SequenceTagger` takes them: strings, or
        dicts if there are several input columns.
    y : list of list, or None
        The labels of each sentence, with None where a label is missing; None without labels.

    Examples
    --------
    >>> import pandas
    >>> from partwise.formats import read_frame
    >>> table = pandas.DataFrame({"tokens": [["the", "dog"]], "tags": [["DET", "NOUN"]]})
    >>> read_frame(table)
    ([['the', 'dog']], [['DET', 'NOUN']])
    """
    found = _read(table, tokens, labels, sentence, label_names, missing_label)
    names = found.names
    X: list[list[Any]] = [list(one) for one in found.inputs[0]]
    if len(names) > 1:
        X = [
            [dict(zip(names, token, strict=True)) for token in zip(*lists, strict=True)]
            for lists in zip(*found.inputs, strict=True)
        ]
    return X, found.labels


def frame_columns(
    table: Any,
    *,
    tokens: Any = None,
    labels: str | None = None,
    sentence: str | None = None,
    label_names: Any = None,
) -> Columns:
    """Read the sentences of a table as if they were a column file.

    The result can be given to models that were trained on files, and written in any format.
    Parameters are those of `read_frame`; labels must not be missing, and become strings.

    Examples
    --------
    >>> import pandas
    >>> from partwise.formats import frame_columns
    >>> table = pandas.DataFrame({"tokens": [["the", "dog"]], "tags": [["DET", "NOUN"]]})
    >>> frame_columns(table).labels
    ['DET', 'NOUN']
    """
    found = _read(table, tokens, labels, sentence, label_names, None)
    lengths = [len(one) for one in found.inputs[0]]
    kept = [s for s, length in enumerate(lengths) if length]
    flat = None
    if found.labels is not None:
        for s, one in enumerate(found.labels):
            if None in one:
                raise DataError(
                    f"label {one.index(None)} is missing; leave "
                    "such sentences out, or use read_frame",
                    place=Place.nth("sentence", s),
                )
        flat = [str(label) for s in kept for label in found.labels[s]]
    return Columns(
        "<table>",
        tuple([value for s in kept for value in field[s]] for field in found.inputs),
        flat,
        np.array([lengths[s] for s in kept], np.int64),
        np.array([s + 1 for s in kept for _ in range(lengths[s])], np.int64),
        names=tuple(found.names),
    )


def read_parquet(
    path: str | os.PathLike[str], **options: Any
) -> tuple[list[list[Any]], list[list[Any]] | None]:
    """Read the sentences of a Parquet file, which needs pyarrow.

    Parameters are those of `read_frame`.

    Examples
    --------
    >>> import pandas
    >>> from partwise.formats import read_parquet
    >>> table = pandas.DataFrame({"tokens": [["the", "dog"]], "tags": [["DET", "NOUN"]]})
    >>> table.to_parquet("t.parquet")
    >>> read_parquet("t.parquet")
    ([['the', 'dog']], [['DET', 'NOUN']])
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            "reading Parquet needs pyarrow; install it with `pip install pyarrow`"
        ) from None
    try:
        table = parquet.read_table(os.fspath(path))
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot be read as Parquet ({error})", place=Place(os.fspath(path))
        ) from error
    return read_frame(table, **options)


@dataclass(frozen=True)
class _Sentences:
    """The sentences of a table: lists by column, and in it by sentence."""

    names: list[str]
    inputs: list[list[list[str]]]
    labels: list[list[Any]] | None


def _read(
    table: Any, tokens: Any, labels: str | None, sentence: str | None, names: Any, missing: Any
) -> _Sentences:
    table = _settled(table)
    known = _column_names(table)
    keys = listed(tokens) or [_first(_TOKENS, known, "tokens")]
    key = labels or next((name for name in _LABELS if name in known), None)
    for name in (*keys, *([key] if key else []), *([sentence] if sentence else [])):
        if name not in known:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(known)}")
    given = _cut(table, keys, key, sentence)
    inputs = [[_strings(one, name, s) for s, one in enumerate(given[name])] for name in keys]
    spelled = listed(names) or (_class_names(table, key) if key else None)
    unknown = set(missing if isinstance(missing, (list, tuple, set, frozenset)) else [missing])
    if spelled is not None:
        unknown.add(IGNORED)
    y = None
    if key is not None:
        y = [[_label(one, spelled, unknown, key, s) for one in _items(cell, key, s)]
             for s, cell in enumerate(given[key])]  # fmt: skip
    lists = [*inputs, *([] if y is None else [y])]
    for name, column in zip([*keys, key or ""], lists, strict=False):
        for s, (first, one) in enumerate(zip(lists[0], column, strict=True)):
            if len(first) != len(one):
                raise DataError(
                    f"{len(one)} values in {name!r} for {len(first)} "
                    f"tokens in {keys[0]!r}; give one per token",
                    place=Place.nth("row", s),
                )
    return _Sentences(keys, inputs, y)


def _first(names: Sequence[str], known: Sequence[str], what: str) -> str:
    found = next((name for name in names if name in known), None)
    if found is None:
        raise DataError(f"the table has no column of {what}; name it: it has {', '.join(known)}")
    return found


def _settled(table: Any) -> Any:
    """Return a table that can be asked for its columns."""
    if isinstance(table, Mapping):
        if any(hasattr(value, "column_names") for value in table.values()):
            raise DataError(f"several tables ({', '.join(map(str, table))}); give one of them")
        return dict(table)
    if hasattr(table, "collect") and hasattr(table, "collect_schema"):
        return table.collect()
    if getattr(table, "column_names", None) is not None or hasattr(table, "columns"):
        if hasattr(table, "__len__"):
            return table
    elif isinstance(table, (str, bytes)) or not isinstance(table, Iterable):
        raise DataError(f"{type(table).__name__} is no table; give a data frame, or rows")
    rows = list(table)
    if not all(isinstance(row, Mapping) for row in rows):
        raise DataError("the rows of a table must be dicts of columns")
    held = {name: [row.get(name) for row in rows] for name in (rows[0] if rows else ())}
    features = getattr(table, "features", None)
    return held if features is None else _Streamed(held, features)


@dataclass(frozen=True)
class _Streamed:
    """The rows of a dataset that cannot be asked for columns, with its types."""

    held: dict[str, list[Any]]
    features: Any

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.held)

    def __getitem__(self, name: str) -> list[Any]:
        return self.held[name]


def _column_names(table: Any) -> list[str]:
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    names = getattr(table, "column_names", None)
    return [str(name) for name in (table.columns if names is None else names)]


def _column(table: Any, name: str) -> list[Any]:
    if hasattr(table, "schema") and hasattr(table, "column") and not hasattr(table, "features"):
        values = table.column(name)
    else:
        values = table[name]
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, way):
            found: list[Any] = getattr(values, way)()
            return found
    return list(values)


def _cut(
    table: Any, keys: Sequence[str], label: str | None, sentence: str | None
) -> dict[str, list[Any]]:
    """Return the columns by name, with one list per sentence."""
    names = [*keys, *([label] if label else [])]
    columns = {name: _column(table, name) for name in names}
    if sentence is None:
        return columns
    starts: list[int] = []
    seen: set[Any] = set()
    now: Any = None
    for row, value in enumerate(_column(table, sentence)):
        if _is_missing(value):
            if not starts:
                raise DataError(f"row 0 names no sentence in {sentence!r}; give it one")
        elif not starts or value != now:
            if value in seen:
                raise DataError(
                    f"goes on with the sentence {value!r}, which ended "
                    f"before; sort the table by {sentence!r}",
                    place=Place.nth("row", row),
                    subject=True,
                )
            seen.add(value)
            starts.append(row)
            now = value
    ends = [*starts[1:], len(columns[keys[0]])]
    return {
        name: [values[a:b] for a, b in zip(starts, ends, strict=True)]
        for name, values in columns.items()
    }


def _is_missing(value: Any) -> bool:
    # A missing number of pandas is not equal to itself, and pandas.NA cannot say.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _items(cell: Any, name: str, s: int) -> list[Any]:
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if hasattr(cell, "to_list"):
        cell = cell.to_list()
    if not isinstance(cell, (list, tuple)):
        raise DataError(
            f"{str(cell)[:40]!r} in {name!r} is no list; if the table "
            "has one row per token, name the column of the sentences: sentence=...",
            place=Place.nth("row", s),
        )
    return list(cell)


def _strings(cell: Any, name: str, s: int) -> list[str]:
    items = _items(cell, name, s)
    for t, item in enumerate(items):
        if not isinstance(item, str):
            raise DataError(
                f"{item!r} in {name!r} is no string; "
                "replace it (pandas reads NA and None as missing unless keep_default_na=False)",
                place=Place.nth("sentence", s, "token", t),
            )
    return [str(item) for item in items]


def _label(value: Any, names: Sequence[str] | None, unknown: set[Any], key: str, s: int) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if not (_is_missing(value) or isinstance(value, (str, int, float))):
        raise DataError(
            f"{str(value)[:40]!r} in {key!r} is no label; give strings or whole numbers",
            place=Place.nth("sentence", s),
        )
    if _is_missing(value) or value in unknown:
        return None
    if isinstance(value, float) and value.is_integer():
        # A column of whole numbers with empty cells holds floats in pandas.
        value = int(value)
        if value in unknown:
            return None
    if names is None or isinstance(value, str):
        return value
    if not isinstance(value, int) or not 0 <= value < len(names):
        raise DataError(
            f"label {value!r} in {key!r}, and there are names for 0 "
            f"to {len(names) - 1}; correct it, or give it as missing_label",
            place=Place.nth("sentence", s),
        )
    return names[value]


def _class_names(table: Any, key: str) -> list[str] | None:
    """Return the names that a column of the type ClassLabel has."""
    features = getattr(table, "features", None)
    if isinstance(features, Mapping):
        kind = features.get(key)
        while kind is not None and not hasattr(kind, "names"):
            kind = kind[0] if isinstance(kind, list) else getattr(kind, "feature", None)
        return None if kind is None else list(kind.names)
    metadata = getattr(getattr(table, "schema", None), "metadata", None)
    if not isinstance(metadata, Mapping) or b"huggingface" not in metadata:
        return None
    try:
        found = json.loads(metadata[b"huggingface"])["info"]["features"][key]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    while isinstance(found, (dict, list)) and found:
        found = found[0] if isinstance(found, list) else found
        if isinstance(found, dict):
            names = found.get("names")
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                return names
            found = found.get("feature")
    return None
