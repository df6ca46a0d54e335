"""The tokens of some sequences with their features, whatever they were read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np

from ...arrays import Ints
from ...formats.columns import Columns
from ...models.hashed_names import HashedNames
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from .extraction import ColumnTemplates, number_features

__all__ = ["Tokens", "bare_tokens", "cut", "made_tokens"]


@dataclass(frozen=True, eq=False)
class Tokens:
    """The features of the tokens of some sequences.

    Attributes
    ----------
    rows : Rows
        The features of every token, the sequences one after the other.
    lengths : ndarray of int
        The number of tokens of each sequence.
    n_inputs : int
        The number of input columns of a column file, or of features of a matrix.
    vocabulary : Vocabulary or None
        The names of the features; None if they have numbers.
    templates : ColumnTemplates or None
        How the features were made from the columns of a file.
    transitions : Rows or None
        The features of every pair of neighbours, if there are any.
    transition_vocabulary : Vocabulary or None
        The names of the features of transitions.
    plain_transition : bool
        Whether transitions have a weight that holds everywhere.
    stacked : bool
        Whether the tokens were given as one matrix, so that labels may be one flat list.
    tally : Tally
        How many features of the tokens are known; empty for tokens to train on.
    """

    rows: Rows
    lengths: Ints
    n_inputs: int
    vocabulary: Vocabulary | None = None
    templates: ColumnTemplates | None = None
    transitions: Rows | None = None
    transition_vocabulary: Vocabulary | None = None
    plain_transition: bool = True
    stacked: bool = False
    tally: Tally = field(default_factory=Tally)

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.lengths)

    def hashed(self, n: int) -> Tokens:
        """Return the tokens with the hashes of the names of their features as features.

        Features that only have numbers are hashed where they are laid out.
        """
        if self.vocabulary is None:
            return self
        names = HashedNames(n, self.vocabulary.separator)
        # Names that are not listed are not counted either.
        n_inputs = n if self.templates is None else self.n_inputs
        found = replace(
            self,
            rows=names.rows(self.rows, self.vocabulary),
            vocabulary=names,
            n_inputs=n_inputs,
        )
        if self.transitions is None or self.transition_vocabulary is None:
            return found
        steps = names.rows(self.transitions, self.transition_vocabulary)
        return replace(found, transitions=steps, transition_vocabulary=names)


def made_tokens(columns: Columns, templates: ColumnTemplates) -> Tokens:
    """Apply templates to columns, and number the features."""
    templates.check(columns)
    rows, names = number_features(columns, templates.positions)
    steps, step_names = None, None
    if templates.transitions is not None:
        steps, step_names = number_features(columns, templates.transitions)
    return Tokens(
        rows, columns.lengths, len(columns.fields), names, templates, steps, step_names,
        templates.plain_transition,
    )  # fmt: skip


def bare_tokens(lengths: Ints) -> Tokens:
    """Return tokens without any features."""
    n = int(lengths.sum())
    rows = Rows(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), None, 0)
    return Tokens(rows, lengths, 0)


def cut(flat: Ints, lengths: Ints) -> Sequence[Ints]:
    """Cut one array of all positions into one array per example.

    Where each has one position, these are the rows of one array, as classifiers have many.
    """
    if (lengths == 1).all():
        rows: Any = flat[:, None]
        return cast("Sequence[Ints]", rows)
    return [flat[a:b] for a, b in pairwise([0, *np.cumsum(lengths).tolist()])]
