"""Tokens as the contexts of a maximum entropy model, and labels that are predicted in sequence.

Yu, Huang and Lin (2011), section 6.2: a context is a token with its surroundings and the labels of
the two tokens before it, which are those of the data in training and those that were predicted in
a test (Ratnaparkhi 1998, here with the best label only). A feature has weights for the labels that
it was seen with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Rows as Sentence
from ..problems import Floats, Ints

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

Attributes = list[list[tuple[Any, ...]]]
#: Features that occur less often are left out, as by default in OpenNLP.
CUTOFF = 5


def chunk_attributes(rows: Sentence) -> Attributes:
    """Return the attributes of a sentence of (word, part of speech, ...) for its chunks."""
    from ..features import TEMPLATES
    from ..sequences import window

    return [list(token) for token in window(rows, TEMPLATES)]


def word_attributes(rows: Sentence) -> Attributes:
    """Return the attributes of a sentence of (word, ...) for its parts of speech."""
    words = ["<2", "<1", *(row[0] for row in rows), ">1", ">2"]
    found: Attributes = []
    for t, word in enumerate(words[2:-2]):
        token: list[tuple[Any, ...]] = [(k, words[t + k]) for k in range(5)]
        token += [(5 + k, word[:k]) for k in range(1, 5)]
        token += [(9 + k, word[-k:]) for k in range(1, 5)]
        marks = ("-" in word, any(map(str.isupper, word)), any(map(str.isdigit, word)))
        found.append([*token, *((14 + k,) for k, mark in enumerate(marks) if mark)])
    return found


@dataclass(frozen=True)
class History:
    """The features of the labels before a token, by number; -1 was seen too rarely.

    Label L stands before the first token.
    """

    last: Ints  # L + 1: of the last label
    both: Ints  # L + 1 x L + 1: of the last two, the earlier first
    joint: Ints  # features + 1 x L + 1: of a feature with the last label, or empty

    def of(self, before: Ints, last: Ints, features: Ints) -> Ints:
        """Return the numbers for tokens, given their other features, padded with -1."""
        own = np.stack([self.last[last], self.both[before, last]], axis=1)
        if not len(self.joint):
            return own
        return np.hstack([own, self.joint[features, last[:, None]]])


@dataclass(frozen=True)
class Tokens:
    """A problem, and the sentences that it is tested on."""

    problem: Problem
    l2: float
    n_contexts: int
    entries: int  # weights that are used, over all contexts
    features: Ints  # of each token of the test, without its history, padded with -1
    history: History
    gold: Ints  # of the test
    ends: Ints  # where its sentences end

    def error(self, weights: Floats) -> float:
        """Return the share of wrong labels when every sentence is labelled from left to right."""
        w = self.problem.layout.dense(weights, 0)
        n_labels = w.shape[1]
        w = np.vstack([w, np.zeros(n_labels)])  # the number -1
        begins = np.concatenate([[0], self.ends[:-1]])
        order = np.argsort(begins - self.ends, kind="stable")  # the longest first
        begins, ends = begins[order], self.ends[order]
        before = np.full(len(begins), n_labels, dtype=np.int64)
        last = before.copy()
        found = np.empty(len(self.gold), dtype=np.int64)
        for t in range(int((ends - begins).max())):
            at = begins[: np.count_nonzero(ends - begins > t)] + t
            before, last = before[: len(at)], last[: len(at)]
            used = self.features[at]
            every = np.hstack([used, self.history.of(before, last, used)])
            found[at] = w[every].sum(axis=1).argmax(axis=1)
            before, last = last, found[at]
        return float(np.mean(found != self.gold))


def tokens(
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    attributes: Callable[[Sentence], Attributes],
    label: int,
    joint: bool = False,
) -> Tokens:
    """Make the problem of some sentences; ``label`` is the column of the labels.

    If ``joint``, every feature is there with the last label too. sigma^2 = 10 l as in the paper,
    so l2 = N / (10 l) for N tokens in l contexts.
    """
    from partwise.solvers.coordinate.subproblem import find_contexts

    made = [token for rows in train for token in attributes(rows)]
    counts = Counter(attribute for token in made for attribute in token)
    kept = (attribute for attribute, count in counts.items() if count >= CUTOFF)
    index = {attribute: number for number, attribute in enumerate(kept)}
    names = dict.fromkeys(row[label] for rows in train for row in rows)
    labels = {name: number for number, name in enumerate(names)}
    gold = np.array([labels[row[label]] for rows in train for row in rows], dtype=np.int64)
    before, last = previous(gold, [len(rows) for rows in train], len(labels))
    features = padded(made, index)
    history = frequent(features, before, last, len(index), len(labels), joint)
    every = np.hstack([features, history.of(before, last, features)])
    problem = problem_of(every, gold, len(labels))
    contexts = find_contexts(problem, True)
    sizes = np.append(problem.layout.sizes(), 0)
    return Tokens(
        problem,
        len(gold) / (10.0 * len(contexts.first)),
        len(contexts.first),
        int(sizes[every[contexts.first]].sum()),
        padded([token for rows in test for token in attributes(rows)], index),
        history,
        np.array([labels.get(row[label], -1) for rows in test for row in rows], dtype=np.int64),
        np.array(list(accumulate(map(len, test))), dtype=np.int64),
    )


def padded(made: Attributes, index: dict[tuple[Any, ...], int]) -> Ints:
    """Return the numbers of attributes, a row per token, with -1 for what has none."""
    widest = max(map(len, made))
    rows = [[index.get(a, -1) for a in token] + [-1] * (widest - len(token)) for token in made]
    return np.array(rows, dtype=np.int64)


def frequent(
    features: Ints, before: Ints, last: Ints, n_features: int, n_labels: int, joint: bool
) -> History:
    """Number the features of the history that occur often enough, after ``n_features`` others."""
    wide = n_labels + 1
    numbers = []
    # The last row of the third table stays -1: it is that of no feature.
    with_last = (features * wide + last[:, None])[features >= 0] if joint else features[:0]
    for seen, rows in (
        (last, 1),
        (before * wide + last, wide),
        (with_last, n_features + 1 if joint else 0),
    ):
        often = np.bincount(seen.ravel(), minlength=rows * wide) >= CUTOFF
        number = np.where(often, n_features + np.cumsum(often) - 1, -1)
        numbers.append(number.reshape(rows, wide))
        n_features += int(np.count_nonzero(often))
    return History(numbers[0][0], numbers[1], numbers[2])


def problem_of(every: Ints, gold: Ints, n_labels: int) -> Problem:
    """Return the problem of tokens with these features; -1 is none."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.structures.multiclass import Multiclass

    used = every >= 0
    ptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    rows = Rows(ptr, every[used].astype(np.int32), None, int(every.max()) + 1)
    loss = make_loss("log", n_labels)
    ones = np.ones(len(gold), dtype=np.int64)
    return build_problem(
        Multiclass(n_labels), ones, [rows], list(gold[:, None]), loss, weights="observed"
    )


def previous(gold: Ints, lengths: Sequence[int], n_labels: int) -> tuple[Ints, Ints]:
    """Return the labels two and one tokens before each token."""
    before, last = np.full_like(gold, n_labels), np.full_like(gold, n_labels)
    for begin, end in pairwise(accumulate(lengths, initial=0)):
        last[begin + 1 : end] = gold[begin : end - 1]
        before[begin + 2 : end] = gold[begin : max(begin, end - 2)]
    return before, last


def tagged(n_sentences: int, n_labels: int, seed: int) -> list[Sentence]:
    """Generate sentences of (word, label): words by Zipf's law, with one to three labels each."""
    rng = np.random.default_rng(seed)
    n_words = 100 * n_labels
    first = rng.zipf(1.4, size=(n_words, 3)) % n_labels  # the labels of a word
    jumps = rng.dirichlet(np.full(n_labels, 0.1), size=n_labels)  # of the labels of neighbours
    found = []
    for length in rng.integers(5, 40, size=n_sentences).tolist():
        words = (np.exp(rng.random(length) * np.log(n_words)) - 1.0).astype(np.int64)
        label = 0
        rows: Sentence = []
        for word in words.tolist():
            own = first[word]
            p = jumps[label, own] + 0.02
            label = int(rng.choice(own, p=p / p.sum()))
            rows.append((f"{word % 97:02d}{word}{first[word, 0] % 40:02d}", str(label)))
        found.append(rows)
    return found
