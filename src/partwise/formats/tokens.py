"""The tokens of a file, in the one form that all formats of tokens are read into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from partwise.counted import counted
from partwise.errors import DataError, Place
from partwise.formats.attributes import Attributes
from partwise.formats.layout import Layout

__all__ = ["Columns"]

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
    >>> from partwise.formats.columns import read_columns
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
