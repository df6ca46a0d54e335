"""Reading of sequences from Python into rows, lengths and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary, fit_rows, transform_rows
from ...problem.rows import Rows, is_matrix
from ..labels import by_place

__all__ = [
    "check_label_lists",
    "check_sequences",
    "is_missing",
    "read_features",
    "read_fixed",
    "read_labels",
    "read_lengths",
    "read_matrix",
    "read_transitions",
    "without_marks",
]


def read_lengths(lengths: Any) -> Ints | None:
    """Check the lengths that belong to a stacked matrix."""
    if lengths is None:
        return None
    given = np.asarray(lengths)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu") or (given < 0).any():
        raise DataError("lengths must hold one whole number, 0 or more, for each sequence")
    return given.astype(np.int64)


def check_sequences(X: Any, what: str) -> None:
    """Raise a DataError unless this may be a list of sequences."""
    if is_matrix(X):
        raise DataError(
            f"{what} is one matrix: give the lengths of the sequences along with it, or a list of "
            "one matrix per sequence"
        )
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise DataError(f"{what} is of type {type(X).__name__}; give a list of sequences")


def read_features(
    X: Any,
    lengths: Ints | None,
    what: str,
    vocabulary: Vocabulary | None = None,
    n_features: int | None = None,
    tally: Tally | None = None,
    separator: str = "=",
) -> tuple[Rows, Ints, Vocabulary | None]:
    """Read features of any known form.

    Parameters
    ----------
    X
        A stacked matrix if there are lengths; otherwise an iterable of matrices, or of sequences of
        tokens as `fit_rows` takes them.
    lengths
        The lengths for a stacked matrix.
    what
        The name of the argument, for messages.
    vocabulary, n_features
        Those of the model in prediction; both are None in training. In prediction `n_features` is
        None if and only if features have names.
    tally
        Counts the given and the known named features in prediction.
    separator
        What stands between key and value in the names of features of dicts, in training.
    """
    if lengths is not None:
        rows = read_matrix(X, f"{what} with lengths")
        if int(lengths.sum()) != len(rows):
            raise DataError(
                f"{what} has {len(rows)} rows and the lengths add up to {int(lengths.sum())}"
            )
        return _numbered(rows, lengths, what, vocabulary, n_features), lengths, None
    check_sequences(X, what)
    items: Iterator[Any] = iter(X)
    # Empty lists do not show what the other sequences hold.
    head = []
    for item in items:
        head.append(item)
        if not isinstance(item, (list, tuple)) or len(item):
            break
    items = chain(head, items)
    if head and is_matrix(head[-1]):
        rows, lengths = _stacked(items, what)
        return _numbered(rows, lengths, what, vocabulary, n_features), lengths, None
    if n_features is not None:
        if any(not hasattr(item, "__len__") or len(item) for item in head):
            raise DataError(
                f"{what} holds tokens with named features where the tagger was fitted on matrices; "
                "give matrices"
            )
        empty = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, n_features)
        return empty, np.zeros(len(head), dtype=np.int64), None
    if vocabulary is not None:
        rows, lengths = transform_rows(items, vocabulary, tally)
        return rows, lengths, vocabulary
    rows, vocabulary, lengths = fit_rows(items, separator)
    return rows, lengths, vocabulary


def read_transitions(
    X: Any,
    counts: Ints,
    stacked: bool,
    vocabulary: Vocabulary | None,
    n_features: int | None,
    tally: Tally | None = None,
    separator: str = "=",
) -> tuple[Rows, Vocabulary | None]:
    """Read the features of neighbouring tokens, for sequences of `counts` tokens.

    They have the same forms as in `read_features`.
    """
    expected = np.maximum(counts - 1, 0)
    lengths = expected if stacked else None
    rows, found, names = read_features(
        X, lengths, "X_transitions", vocabulary, n_features, tally, separator
    )
    if len(found) != len(expected):
        raise DataError(f"X_transitions has {len(found)} sequences where X has {len(expected)}")
    wrong = np.flatnonzero(found != expected)
    if len(wrong):
        s = int(wrong[0])
        raise DataError(
            f"has {found[s]} rows for {counts[s]} "
            f"tokens; give one for each pair of neighbours, {expected[s]}",
            place=Place.nth("sequence", s, argument="X_transitions"),
            subject=True,
        )
    return rows, names


def read_matrix(item: Any, what: str) -> Rows:
    """Read a matrix of numbers, one row per token."""
    if hasattr(item, "tocsr"):
        return Rows.from_scipy(item)
    array = np.asarray(item)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"{what}: shape {array.shape} and type {array.dtype} where a matrix of numbers is "
            "expected, one row per token"
        )
    return Rows.from_dense(array)


def _stacked(items: Iterable[Any], what: str) -> tuple[Rows, Ints]:
    parts: list[Any] = []
    lengths: list[int] = []
    width = -1
    for s, item in enumerate(items):
        if isinstance(item, (list, tuple)) and not len(item):
            lengths.append(0)
            continue
        if not is_matrix(item):
            raise DataError(
                f"is of type {type(item).__name__} where those before are matrices",
                place=Place.nth("sequence", s, argument=what),
                subject=True,
            )
        if width not in (-1, item.shape[1]):
            raise DataError(
                f"has {item.shape[1]} features where those before have {width}",
                place=Place.nth("sequence", s, argument=what),
                subject=True,
            )
        width = int(item.shape[1])
        lengths.append(int(item.shape[0]))
        parts.append(item)
    counts = np.array(lengths, dtype=np.int64)
    if any(hasattr(part, "tocsr") for part in parts):
        return Rows.stack([read_matrix(part, what) for part in parts]), counts
    return read_matrix(np.concatenate([np.asarray(part) for part in parts]), what), counts


def _numbered(
    rows: Rows, lengths: Ints, what: str, vocabulary: Vocabulary | None, n_features: int | None
) -> Rows:
    if vocabulary is not None:
        raise DataError(
            f"{what} holds matrices where the tagger was fitted on tokens with named features; "
            "give the same kind of tokens"
        )
    if n_features is not None and rows.n_features != n_features:
        raise DataError(
            f"{what} has {rows.n_features} features, but the tagger was fitted on {n_features}"
        )
    if rows.values is not None:
        bad = np.flatnonzero(~np.isfinite(rows.values))
        if len(bad):
            row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
            s, t = _place(row, lengths)
            raise DataError(
                f"feature "
                f"{rows.indices[bad[0]]} is {rows.values[bad[0]]}; replace values that are not "
                "finite",
                place=Place.nth("sequence", s, "token", t, argument=what),
            )
    return rows


def _place(position: int, lengths: Ints) -> tuple[int, int]:
    ends = np.cumsum(lengths)
    s = int(np.searchsorted(ends, position, side="right"))
    return s, position - int(ends[s] - lengths[s])


def read_labels(
    y: Any, lengths: Ints, stacked: bool, partial: bool = False, missing: Any = None
) -> list[Any]:
    """Read the labels of all sequences, one after the other, as plain Python values.

    Parameters
    ----------
    y
        One list of labels per sequence; or, with a stacked matrix, a flat list of all labels.
    lengths
        The lengths of the sequences.
    stacked
        Whether y may be flat.
    partial
        Whether labels may be None, and sets of labels, which are returned as frozensets.
    missing
        A label that is returned as None, if labels may be None.
    """
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise DataError(f"y is of type {type(y).__name__}; give one list of labels per sequence")
    items = list(y)
    if stacked and items and all(_is_label(item) or _is_set(item) for item in items):
        if len(items) != int(lengths.sum()):
            raise DataError(f"y has {len(items)} labels where X has {int(lengths.sum())} rows")
        flat = items
    else:
        flat = _joined(items, lengths)
    kinds = set(map(type, flat))
    if partial and missing is not None:
        flat = [None if is_missing(item, missing) else item for item in flat]
    if len(kinds) > 1 or not kinds <= {str, int}:
        flat = _normalised(flat, lengths, partial)
    return flat


def is_missing(label: Any, missing: Any) -> bool:
    """Return whether a label is the mark of a missing one; 0 is not False, and 1 is not True."""
    plain = label.item() if isinstance(label, np.generic) else label
    same = isinstance(plain, bool) == isinstance(missing, bool)
    return same and not _is_set(plain) and bool(plain == missing)


def _is_set(item: Any) -> bool:
    return isinstance(item, (set, frozenset))


def _is_label(item: Any) -> bool:
    return item is None or isinstance(item, (str, bytes, int, float, np.generic))


def check_label_lists(items: Sequence[Any], n: int, n_tokens: int | None = None) -> None:
    """Raise a DataError unless there is one list of labels per sequence, as far as numbers show.

    Parameters
    ----------
    items
        The labels of each sequence.
    n, n_tokens
        The number of sequences, and of all their tokens if it is known.
    """
    if len(items) == n:
        return
    if items and all(map(_is_label, items)):
        also = ", which is the number of all tokens" if len(items) == n_tokens else ""
        raise DataError(
            f"y is one flat list of {len(items)} labels{also}, and X has {n} sequences; give one "
            "list of labels per sequence: [[label, label], [label]]"
        )
    raise DataError(f"y has {len(items)} sequences where X has {n}")


def _joined(items: Sequence[Any], lengths: Ints) -> list[Any]:
    check_label_lists(items, len(lengths), int(lengths.sum()))
    flat: list[Any] = []
    for s, (item, length) in enumerate(zip(items, lengths.tolist(), strict=True)):
        if _is_label(item) or not isinstance(item, Iterable):
            raise DataError(
                f"is the single label {item!r}; give a list of labels for each sequence: "
                "[[label, label], [label]]",
                place=Place.item("y", s),
                subject=True,
            )
        labels = item.tolist() if isinstance(item, np.ndarray) else list(item)
        if len(labels) != length:
            raise DataError(
                f"has {length} tokens in X and {len(labels)} labels "
                "in y; give one label for each token",
                place=Place.nth("sequence", s),
                subject=True,
            )
        flat.extend(labels)
    return flat


def _normalised(flat: list[Any], lengths: Ints, partial: bool) -> list[Any]:
    """Convert numpy scalars to Python values, and raise a DataError for the first invalid label."""
    plain = [item.item() if isinstance(item, np.generic) else item for item in flat]
    if partial:
        plain = [_frozen(item) if _is_set(item) else item for item in plain]
    first = _first_label(plain)
    for position, item in enumerate(plain):
        several = item if partial and isinstance(item, frozenset) else (item,)
        why = "" if several else "no label is allowed; give at least one, or None for any"
        for label in several:
            if not (partial and label is None and item is None):
                why = why or _fault(label, first)
        if why:
            s, t = _place(position, lengths)
            raise DataError(why, place=Place.nth("sequence", s, "position", t))
    return plain


def _frozen(labels: Iterable[Any]) -> frozenset[Any]:
    return frozenset(item.item() if isinstance(item, np.generic) else item for item in labels)


def _first_label(plain: Sequence[Any]) -> Any:
    """Return the first label that is there, to compare the types of others with."""
    for item in plain:
        if item is not None and not (isinstance(item, frozenset) and not item):
            return min(item, key=repr) if isinstance(item, frozenset) else item
    return ""


def _fault(label: Any, first: Any) -> str:
    """Return what is wrong with a label, or an empty string."""
    if label is None or label != label:
        return "the label is missing; give one, or None in the labels to train on"
    if not isinstance(label, (str, int, float, bool)):
        return f"a label of type {type(label).__name__}; use strings or whole numbers"
    if type(label) is not type(first):
        return (
            f"the label {label!r} is of type {type(label).__name__} where the first label, "
            f"{first!r}, is of type {type(first).__name__}; use one type for all labels"
        )
    return ""


def without_marks(labels: list[Any], missing: Any) -> list[Any]:
    """Return the labels with None in the place of a mark; the list itself without a mark."""
    if missing is None:
        return labels
    return [None if is_missing(label, missing) else label for label in labels]


def read_fixed(
    fixed: Any, lengths: Ints, numbers: Mapping[Any, int]
) -> list[list[tuple[int, list[int]]]]:
    """Read labels that are known before prediction.

    Parameters
    ----------
    fixed
        One item per sequence: None; a dict from positions to one or several labels; or a
        list with one item per token: a label, several labels, or None if nothing is known.
    lengths, numbers
        The lengths of the sequences, and the number of each label.
    """
    items = list(fixed)
    if len(items) != len(lengths):
        raise DataError(f"fixed has {len(items)} entries where X has {len(lengths)} sequences")
    return [
        _fixed_positions(item, s, length, numbers)
        for s, (item, length) in enumerate(zip(items, lengths.tolist(), strict=True))
    ]


def _fixed_positions(
    item: Any, s: int, length: int, numbers: Mapping[Any, int]
) -> list[tuple[int, list[int]]]:
    allowed = []
    for t, labels in by_place(item, s, length, "tokens").items():
        if labels is None:
            continue
        if not isinstance(t, (int, np.integer)) or not 0 <= t < length:
            raise DataError(
                f"names position {t!r}; there are 0 to {length - 1}",
                place=Place.item("fixed", s),
                subject=True,
            )
        several = [labels] if _is_label(labels) else list(labels)
        if not several:
            raise DataError(
                f"allows no label at position {t}; give at least one",
                place=Place.item("fixed", s),
                subject=True,
            )
        unknown = [label for label in several if label not in numbers]
        if unknown:
            raise DataError(
                f"the label {unknown[0]!r} was not seen in training",
                place=Place.item("fixed", s, "position", int(t)),
            )
        allowed.append((int(t), [numbers[label] for label in several]))
    return allowed
