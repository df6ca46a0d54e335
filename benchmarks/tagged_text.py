"""Tagged text that is drawn at random: a Zipf vocabulary, and labels that follow each other.

Every batch is drawn from a seed of its own, so the text may be as long as one likes, and any part
of it can be made again. A word carries the label that it mostly has, a suffix that says the same
less reliably, and its neighbours; so the labels can be learnt, but not perfectly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.arrays import Ints

if TYPE_CHECKING:
    from partwise.problem.batches import Batch
    from partwise.structures.chain.structure import Chain

N_LABELS = 10
#: What each word is described by, from its own number and those of its neighbours.
TEMPLATES = ("word", "last word", "next word", "suffix", "last suffix", "next suffix", "stem", "on")
#: How often a word has the label that it is made for, and a suffix that tells it.
_HOME, _TOLD = 0.85, 0.6
_SUFFIXES, _STEMS = 4000, 20000


@dataclass(frozen=True)
class TaggedText:
    """A text of so many tokens.

    Attributes
    ----------
    tokens : int
        About how many tokens there are.
    ranks : int
        How many frequencies words have; there are ten words of each.
    exponent : float
        The frequency of rank r is r to the power of minus this.
    batch_tokens : int
        About how many tokens are drawn at a time.
    seed : int
        What else the text depends on.
    """

    tokens: int
    ranks: int = 60_000
    exponent: float = 1.05
    batch_tokens: int = 50_000
    seed: int = 0
    mean_length: int = 20
    _cumulative: Any = field(init=False, repr=False)
    _steps: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the frequencies of words and of pairs of labels."""
        weight = np.arange(1, self.ranks + 1) ** -self.exponent
        object.__setattr__(self, "_cumulative", np.cumsum(weight) / weight.sum())
        steps = np.random.default_rng(self.seed).dirichlet(np.full(N_LABELS, 0.5), N_LABELS)
        object.__setattr__(self, "_steps", np.cumsum(steps, axis=1))

    @property
    def n_batches(self) -> int:
        """How many batches there are."""
        return -(-self.tokens // self.batch_tokens)

    @property
    def n_features(self) -> int:
        """How many features positions may have."""
        return 3 * (self.ranks * N_LABELS + 1) + 3 * (_SUFFIXES + 1) + _STEMS + 1

    def draw(self, number: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the lengths of the sentences of a batch, and words, suffixes and labels."""
        rng = np.random.default_rng([self.seed, number])
        n = max(1, self.batch_tokens // self.mean_length)
        lengths = 1 + rng.poisson(self.mean_length - 1, n)
        ends = np.cumsum(lengths)
        labels = np.empty(ends[-1], dtype=np.int64)
        labels[ends - lengths] = rng.integers(N_LABELS, size=n)
        for t in range(1, int(lengths.max())):
            at = (ends - lengths + t)[lengths > t]
            chances = self._steps[labels[at - 1]]
            drawn = (rng.random(len(at))[:, None] > chances).sum(axis=1)
            labels[at] = np.minimum(drawn, N_LABELS - 1)
        rank = np.searchsorted(self._cumulative, rng.random(len(labels)))
        rank = np.minimum(rank, self.ranks - 1)
        home = self._blurred(labels, _HOME, rng)
        told = self._blurred(labels, _TOLD, rng)
        suffix = rank * 7919 % (_SUFFIXES // N_LABELS) * N_LABELS + told
        return lengths, rank * N_LABELS + home, suffix, labels

    @staticmethod
    def _blurred(labels: Ints, share: float, rng: np.random.Generator) -> Ints:
        other = rng.integers(N_LABELS, size=len(labels))
        return np.where(rng.random(len(labels)) < share, labels, other)

    def batch(self, number: int) -> Batch:
        """Return a batch as a problem takes it."""
        from partwise.problem.batches import Batch
        from partwise.problem.rows import Rows

        lengths, words, suffixes, labels = self.draw(number)
        ends = np.cumsum(lengths)
        first, last = ends - lengths, ends - 1
        n_words = self.ranks * N_LABELS
        columns = [
            (words, n_words + 1),
            (_shifted(words, 1, first, n_words), n_words + 1),
            (_shifted(words, -1, last, n_words), n_words + 1),
            (suffixes, _SUFFIXES + 1),
            (_shifted(suffixes, 1, first, _SUFFIXES), _SUFFIXES + 1),
            (_shifted(suffixes, -1, last, _SUFFIXES), _SUFFIXES + 1),
            (words * 31 % _STEMS, _STEMS),
            (np.zeros_like(words), 1),
        ]
        offset, numbered = 0, []
        for column, size in columns:
            numbered.append(column + offset)
            offset += size
        indices = np.stack(numbered, axis=1).astype(np.int32)
        indptr = np.arange(len(words) + 1) * len(columns)
        rows = Rows(indptr, indices.ravel(), None, self.n_features)
        one = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
        none = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
        return Batch(lengths, [rows, one, none, none], np.split(labels, ends[:-1]))

    def batches(self) -> Iterator[Batch]:
        """Return all batches."""
        return map(self.batch, range(self.n_batches))

    @property
    def structure(self) -> Chain:
        """What the labels are made of."""
        from partwise.structures.chain.structure import Chain

        return Chain(N_LABELS)

    @property
    def feature_counts(self) -> list[int]:
        """How many features each kind of site has."""
        return [self.n_features, 1, 0, 0]


def _shifted(column: Ints, by: int, edge: Ints, nobody: int) -> Ints:
    """Return the numbers of neighbours; at the edges of sentences there is nobody."""
    moved = np.roll(column, by)
    moved[edge] = nobody
    return moved
