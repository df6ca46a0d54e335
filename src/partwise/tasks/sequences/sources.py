"""The data of classifiers and taggers: matrices, sequences and column files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...models.tally import Tally
from ...problem.rows import Rows
from ..labels import order_of_labels
from ..source import Source
from .column_file import given_columns
from .examples import (
    check_label_lists,
    check_sequences,
    read_features,
    read_labels,
    read_lengths,
    read_matrix,
    read_transitions,
    without_marks,
)
from .extraction import ColumnTemplates
from .token_text import shown_tokens
from .tokens import Tokens, bare_tokens, made_tokens

if TYPE_CHECKING:
    from .features import PositionFeatures

__all__ = ["Sequences", "Table"]


@dataclass(frozen=True, eq=False)
class Sequences(Source):
    """Sequences of tokens from Python.

    Attributes
    ----------
    X
        A list of sequences of tokens or, with `lengths`, one matrix of all tokens.
    lengths : ndarray of int or None
        The number of tokens of each sequence.
    transitions
        The features of neighbouring tokens, in the same form; None if there are none.
    y
        The labels; None if they are not known.
    templates : ColumnTemplates or None
        How features are made from the columns of the tokens in training. If None, tokens hold their
        features.
    separator : str
        What stands between key and value in the names of features of dicts, in training.
    """

    X: Any
    lengths: Ints | None = None
    transitions: Any = None
    y: Any = None
    templates: ColumnTemplates | None = None
    separator: str = "="

    @classmethod
    def of(cls, X: Any, lengths: Any = None, transitions: Any = None, y: Any = None) -> Sequences:
        """Make sequences from the arguments of a user, after checking the lengths."""
        if lengths is None and isinstance(X, Iterable) and not hasattr(X, "__len__"):
            X = list(X)  # an iterator has no length
        return cls(X, None if lengths is None else read_lengths(lengths), transitions, y)

    def __len__(self) -> int:
        if self.lengths is not None:
            return len(self.lengths)
        check_sequences(self.X, "X")
        return len(self.X)

    def checked(self) -> Sequences:
        if self.lengths is None:
            parts = {"X": self.X, "transitions": self.transitions, "y": self.y}
            lists = {name: None if part is None else list(part) for name, part in parts.items()}
        else:
            steps = np.maximum(self.lengths - 1, 0)
            labels = None
            if self.y is not None:
                labels = (
                    list(self.y)
                    if _holds_segments(self.y)
                    else _cut(read_labels(self.y, self.lengths, True, True), self.lengths)
                )
            transitions = None
            if self.transitions is not None:
                transitions = _cut(self.transitions, steps)
            lists = {"X": _cut(self.X, self.lengths), "transitions": transitions, "y": labels}
        n = len(lists["X"] or ())
        X, transitions, y = (lists[name] for name in ("X", "transitions", "y"))
        if y is not None:
            check_label_lists(y, n)
        if transitions is not None and len(transitions) != n:
            raise DataError(f"X_transitions has {len(transitions)} sequences where X has {n}")
        return replace(self, X=X, lengths=None, transitions=transitions, y=y)

    def take(self, which: Sequence[int]) -> Sequences:
        whole = self if self.lengths is None else self.checked()
        parts = (whole.X, whole.transitions, whole.y)
        X, transitions, y = (None if part is None else [part[i] for i in which] for part in parts)
        return replace(self, X=X, lengths=None, transitions=transitions, y=y)

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        more = {"lengths": self.lengths, "X_transitions": self.transitions}
        return self.X, self.y, {name: held for name, held in more.items() if held is not None}

    def tokens(self, known: PositionFeatures | None = None) -> Tokens:
        """Read the features of all tokens; `known` are the features of a model, if there is one."""
        if self.templates is not None and known is None:
            return made_tokens(given_columns(self.X, self.templates), self.templates)
        tally = Tally()
        stacked = self.lengths is not None
        names, wanted, templates = None, None, None
        if known is not None:
            names, templates = known.vocabulary, known.templates
            wanted = known.n_inputs if names is None else None
        rows, lengths, names = read_features(
            self.X, self.lengths, "X", names, wanted, tally, self.separator
        )
        found = Tokens(
            rows, lengths, rows.n_features, names, templates, stacked=stacked, tally=tally
        )
        return found if self.transitions is None else self._with_transitions(found, known)

    def _with_transitions(self, found: Tokens, known: PositionFeatures | None) -> Tokens:
        names, wanted = None, None
        if known is not None:
            names = known.transition_vocabulary
            wanted = known.n_transition_features if names is None else None
        steps, names = read_transitions(
            self.transitions, found.lengths, found.stacked, names, wanted, found.tally,
            self.separator,
        )  # fmt: skip
        return replace(found, transitions=steps, transition_vocabulary=names)

    def words(self) -> list[list[str]]:
        """Return a text for every token, see `shown_tokens`."""
        return [shown_tokens(sequence) for sequence in self.checked().X]

    def sentences(self) -> list[list[Any]]:
        """Return the labels of every sequence."""
        return [list(labels) for labels in self.checked().y]

    def like(self, first: PositionFeatures | None) -> Sequences:
        """Return the sequences, with the names of features spelled as those of a first model."""
        if first is None or first.vocabulary is None:
            return self
        return replace(self, separator=first.vocabulary.separator)

    def untouched(self) -> Tokens:
        """Return the tokens without features, for a look at their labels."""
        whole = self.checked()
        lengths = self.lengths if self.lengths is not None else _lengths(whole.X)
        return bare_tokens(lengths)

    def labels(self, tokens: Tokens, missing: Any = None) -> list[Any]:
        """Return the labels of all tokens, one after the other; None and sets may be among them."""
        return read_labels(self.y, tokens.lengths, tokens.stacked, True, missing)

    def ordered(self, labels: set[Any]) -> list[Any]:
        """Return distinct labels in the order of their numbers."""
        return sorted(labels)

    def place(self, s: int, t: int) -> Place:
        """Return the place of token t of sequence s."""
        return Place.nth("sequence", s, "position", t)


def _lengths(X: Any) -> Ints:
    """Return the number of tokens of each sequence."""
    sizes = (item.shape[0] if hasattr(item, "shape") else len(item) for item in X)
    return np.fromiter(sizes, np.int64, len(X))


def _holds_segments(y: Any) -> bool:
    """Return whether labels are lists of segments (start, end, label), and not of labels."""
    several = (list, tuple, np.ndarray)
    return isinstance(y, several) and any(
        isinstance(item, several) and len(item) and isinstance(item[0], several) for item in y
    )


def _cut(stacked: Any, counts: Ints) -> list[Any]:
    """Split data with one entry per token into one piece per sequence."""
    from sklearn.utils import _safe_indexing

    ends = np.cumsum(counts).tolist()
    total = ends[-1] if ends else 0
    n = stacked.shape[0] if hasattr(stacked, "shape") else len(stacked)
    if n != total:
        raise DataError(f"{n} rows where the lengths add up to {total}")
    stacked = stacked.tocsr() if hasattr(stacked, "tocsr") else stacked
    return [_safe_indexing(stacked, slice(a, b)) for a, b in pairwise([0, *ends])]


@dataclass(frozen=True, eq=False)
class Table(Source):
    """Rows of numbers with one label each, for classifiers.

    Attributes
    ----------
    X : Rows, ndarray or sparse matrix
        The features of every example.
    y : sequence or None
        The label of every example.
    path : str or None
        The file that they were read from.
    """

    X: Any
    y: Any = None
    path: str | None = None

    def given(self) -> tuple[Any, Any, dict[str, Any]]:
        return self.X, self.y, {}

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, Rows) else int(self.X.shape[0])

    def take(self, which: Sequence[int] | Ints) -> Table:
        some = np.asarray(which, dtype=np.int64)
        y = None if self.y is None else np.asarray(self.y)[some]
        return Table(self.X.take(some) if isinstance(self.X, Rows) else self.X[some], y, self.path)

    def tokens(self, known: PositionFeatures | None = None) -> Tokens:
        """Return every row as a sequence of one token."""
        rows = self.X if isinstance(self.X, Rows) else read_matrix(self.X, "X")
        tally = Tally()
        if known is not None and self.path is not None:
            # Only indices above those of training are unknown; a matrix has none.
            kept = rows.indices < (known.n_inputs if not known.n_hashed else rows.n_features)
            tally.add(len(rows.indices), int(kept.sum()))
        return Tokens(rows, np.ones(len(rows), dtype=np.int64), rows.n_features, tally=tally)

    def like(self, first: PositionFeatures | None) -> Table:
        """Return the rows: there is nothing to choose."""
        return self

    def untouched(self) -> Tokens:
        """Return the examples without features, for a look at their labels."""
        return bare_tokens(np.ones(len(self), dtype=np.int64))

    def labels(self, tokens: Tokens, missing: Any = None) -> list[Any]:
        """Return the labels of all examples; None and sets may be among them."""
        assert self.y is not None
        labels = self.y.tolist() if isinstance(self.y, np.ndarray) else list(self.y)
        return without_marks(labels, missing)

    def ordered(self, labels: set[Any]) -> list[Any]:
        """Return distinct labels in the order of their numbers."""
        return sorted(labels, key=None if self.path is None else order_of_labels)

    def place(self, s: int, t: int) -> Place:
        """Return the place of example s."""
        return Place.nth("example", s)
