"""The tokens of a file in the form that all formats of tokens share, and what is beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.wording import counted

__all__ = ["Attributes", "Columns", "Layout"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    r"""The tokens of a file, column by column.

    Attributes
    ----------
    path
        The source of the tokens, for messages.
    fields
        One flat list of strings per input column, without the labels.
    labels
        The label of every token, or None if the file has no label column.
    lengths
        The number of tokens in every sentence; never 0.
    lines
        The line of every token, counted from 1.
    separator
        The separator of the columns: a tab, a blank, or the one that was named.
    names
        The names of the input columns, if the format has names for them.
    attributes
        The features of the tokens, for formats that hold features and no columns.
    weights
        The weight of every sentence, if the format has weights.
    layout
        What the file holds beside all this.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_columns
    >>> _ = Path("t.txt").write_text("the DT B-NP\ndog NN I-NP\n")
    >>> text = read_columns("t.txt")
    >>> text
    <Columns of t.txt: 1 sentence, 2 tokens, 2 columns and a label>
    >>> text.sentences(), text.split(text.labels)
    ([[['the', 'DT'], ['dog', 'NN']]], [['B-NP', 'I-NP']])
    """

    path: str
    fields: tuple[list[str], ...]
    labels: list[str] | None
    lengths: NDArray[np.int64]
    lines: NDArray[np.int64]
    separator: str = " "
    names: tuple[str, ...] | None = None
    attributes: Attributes | None = None
    weights: NDArray[np.float64] | None = None
    layout: Layout | None = None

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.lines)

    def __repr__(self) -> str:
        """Say in a line what there is: a file may have millions of tokens."""
        held = "features by name" if self.attributes else counted(len(self.fields), "column")
        return (
            f"<Columns of {self.path}: {counted(len(self.lengths), 'sentence')}, "
            f"{counted(len(self), 'token')}, {held} and {'no' if self.labels is None else 'a'} "
            "label>"
        )

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """Refuse to be an array, which scikit-learn makes of what it cannot cut into folds."""
        raise DataError(
            f"{self!r} is no array; give scikit-learn sentences() as X, split(labels) as y, and "
            "SequenceTagger templates='default', which makes the features that a file gets"
        )

    def layout_of(self, *formats: str) -> Layout | None:
        """Return the layout if it is one of some formats."""
        return self.layout if self.layout is not None and self.layout.format in formats else None

    def place(self, sentence: int, token: int) -> Place:
        """Return the file and the line of a token of a sentence, both counted from 0."""
        return Place(self.path, int(self.lines[int(self.lengths[:sentence].sum()) + token]))

    def take(self, which: Sequence[int]) -> Columns:
        """Return some of the sentences, by their numbers from 0."""
        ends = np.cumsum(self.lengths)
        lengths = self.lengths[which]
        tokens: Sequence[int]
        if isinstance(which, range) and which.step == 1 and len(which):
            begin, end = int(ends[which[0]] - self.lengths[which[0]]), int(ends[which[-1]])
            tokens, some = range(begin, end), slice(begin, end)
            fields = tuple(field[some] for field in self.fields)
            labels = None if self.labels is None else self.labels[some]
        else:
            tokens = [t for s in which for t in range(ends[s] - self.lengths[s], ends[s])]
            fields = tuple([field[t] for t in tokens] for field in self.fields)
            labels = None if self.labels is None else [self.labels[t] for t in tokens]
        return replace(
            self,
            fields=fields,
            labels=labels,
            lengths=lengths,
            lines=self.lines[tokens],
            attributes=None if self.attributes is None else self.attributes.take(tokens),
            weights=None if self.weights is None else self.weights[which],
            layout=None if self.layout is None else self.layout.take(which),
        )

    def sentences(self) -> list[list[list[str]]]:
        """Return the tokens of every sentence, each as the list of its input columns."""
        if self.attributes is not None:
            raise DataError(
                "the tokens have features by name and no columns; read a file of "
                "columns, or use `attributes`",
                place=Place(self.path),
            )
        tokens = [list(values) for values in zip(*self.fields, strict=True)]
        return self._by_sentence(tokens)

    def split(self, flat: Sequence[str]) -> list[list[str]]:
        """Split a flat list of one string per token into one list per sentence."""
        if len(flat) != len(self):
            raise DataError(
                f"{len(flat)} values for {len(self)} tokens; give one per token",
                place=Place(self.path),
            )
        return self._by_sentence(flat)

    def _by_sentence(self, flat: Sequence[T]) -> list[list[T]]:
        ends = np.cumsum(self.lengths).tolist()
        return [list(flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


@dataclass(frozen=True, eq=False)
class Attributes:
    """The attributes of all tokens, one after the other.

    Attributes
    ----------
    names : list of str
        The names. A name may occur several times in a token; its values are then added up.
    values : ndarray of float
        The value of each.
    ends : ndarray of int
        Where the attributes of each token begin, and where the last ones end.
    """

    names: list[str]
    values: NDArray[np.float64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ends) - 1

    def of(self, token: int) -> list[tuple[str, float]]:
        """Return the names and values of a token, counted from 0."""
        begin, end = self.ends[token], self.ends[token + 1]
        return list(zip(self.names[begin:end], self.values[begin:end].tolist(), strict=True))

    def take(self, tokens: Sequence[int]) -> Attributes:
        """Return the attributes of some of the tokens."""
        if isinstance(tokens, range) and tokens.step == 1 and len(tokens):
            ends = self.ends[tokens[0] : tokens[-1] + 2]
            begin, end = int(ends[0]), int(ends[-1])
            return Attributes(self.names[begin:end], self.values[begin:end], ends - begin)
        pairs = [pair for token in tokens for pair in self.of(token)]
        counts = np.diff(self.ends)[tokens] if len(tokens) else np.zeros(0, np.int64)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return Attributes(
            [name for name, _ in pairs], np.array([value for _, value in pairs], np.float64), ends
        )


@dataclass(frozen=True, eq=False)
class Layout:
    """The parts of a file around its tokens.

    Attributes
    ----------
    format : str
        The name of the format that understands the layout.
    sentences : sequence
        For each sentence, what the writer of the format needs to write it as it was.
    tail
        What follows the last sentence.
    settings : mapping
        The options that the file was read with.
    extras : mapping of str to int
        The names and numbers of the things that only this layout holds, such as comments. Another
        format cannot carry them.
    """

    format: str
    sentences: Sequence[Any]
    tail: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[str, int] = field(default_factory=dict)

    def take(self, which: Sequence[int]) -> Layout:
        """Return the layout of some of the sentences; what follows the last one is left out."""
        return replace(self, sentences=[self.sentences[s] for s in which], tail=None)
