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
    """The features of the labels before a token: of the last, and of the last two.

    Their numbers follow those of ``n`` other features; label ``n_labels`` stands before the first
    token. A number for features that were seen too rarely is -1.
    """

    number: Ints  # (n_labels + 1)^2 + n_labels + 1

    def of(self, before: Ints, last: Ints, n_labels: int) -> Ints:
        """Return the two features of tokens, with the labels of the two tokens before them."""
        wide = n_labels + 1
        return np.stack([self.number[last], self.number[wide + wide * before + last]], axis=1)


@dataclass(frozen=True)
class Tokens:
    """A problem, and the sentences that it is tested on."""

    problem: Problem
    l2: float
    n_contexts: int
    entries: int  # weights that are used, over all contexts
    static: Any  # CSR: the features of the tokens of the test without history
    history: History
    gold: Ints  # of the test
    ends: Ints  # where its sentences end

    def error(self, weights: Floats) -> float:
        """Return the share of wrong labels when every sentence is labelled from left to right."""
        w = self.problem.layout.dense(weights, 0)
        n_labels = w.shape[1]
        scores = np.asarray(self.static @ w[: self.static.shape[1]])
        padded = np.vstack([w, np.zeros(n_labels)])  # the number -1
        begins = np.concatenate([[0], self.ends[:-1]])
        order = np.argsort(begins - self.ends, kind="stable")  # the longest first
        begins, ends = begins[order], self.ends[order]
        before = np.full(len(begins), n_labels, dtype=np.int64)
        last = before.copy()
        found = np.empty(len(self.gold), dtype=np.int64)
        for t in range(int((ends - begins).max())):
            n = int(np.count_nonzero(ends - begins > t))
            own = self.history.of(before[:n], last[:n], n_labels)
            label = (scores[begins[:n] + t] + padded[own].sum(axis=1)).argmax(axis=1)
            found[begins[:n] + t] = label
            before, last = last[:n], label
        return float(np.mean(found != self.gold))


def tokens(
    train: Sequence[Sentence],
    test: Sequence[Sentence],
    attributes: Callable[[Sentence], Attributes],
    label: int,
) -> Tokens:
    """Make the problem of some sentences; ``label`` is the column of the labels.

    sigma^2 = 10 l as in the paper, so l2 = N / (10 l) for N tokens in l contexts.
    """
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.solvers.coordinate.contexts import find_contexts
    from partwise.structures.multiclass import Multiclass

    made = [token for rows in train for token in attributes(rows)]
    counts = Counter(attribute for token in made for attribute in token)
    kept = (attribute for attribute, count in counts.items() if count >= CUTOFF)
    index = {attribute: number for number, attribute in enumerate(kept)}
    names = {row[label]: 0 for rows in train for row in rows}
    labels = {name: number for number, name in enumerate(names)}
    n_labels, lengths = len(labels), [len(rows) for rows in train]
    gold = np.array([labels[row[label]] for rows in train for row in rows], dtype=np.int64)
    before, last = previous(gold, lengths, n_labels)
    every = History(np.arange((n_labels + 1) * (n_labels + 2)))
    seen = np.bincount(every.of(before, last, n_labels).ravel(), minlength=len(every.number))
    number = np.where(seen >= CUTOFF, len(index) + np.cumsum(seen >= CUTOFF) - 1, -1)
    history = History(number)
    own = history.of(before, last, n_labels)
    entries = [
        [*(index[a] for a in token if a in index), *(f for f in mine if f >= 0)]
        for token, mine in zip(made, own.tolist(), strict=True)
    ]
    rows = numbered(entries, len(index) + int(np.count_nonzero(seen >= CUTOFF)))
    problem = build_problem(
        Multiclass(n_labels),
        np.ones(len(gold), dtype=np.int64),
        [Rows(rows.indptr.astype(np.int64), rows.indices, None, rows.shape[1])],
        list(gold[:, None]),
        make_loss("log", n_labels),
        weights="observed",
    )
    contexts = find_contexts(problem, True)
    sizes = problem.layout.sizes()
    sums = np.concatenate([[0], np.cumsum(sizes[rows.indices])])
    used = int(np.diff(sums[rows.indptr])[contexts.first].sum())
    others = [[index[a] for a in token if a in index] for s in test for token in attributes(s)]
    return Tokens(
        problem,
        len(gold) / (10.0 * len(contexts.first)),
        len(contexts.first),
        used,
        numbered(others, len(index)),
        history,
        np.array([labels.get(row[label], -1) for s in test for row in s], dtype=np.int64),
        np.array(list(accumulate(map(len, test))), dtype=np.int64),
    )


def previous(gold: Ints, lengths: Sequence[int], n_labels: int) -> tuple[Ints, Ints]:
    """Return the labels two and one tokens before each token."""
    before, last = np.full_like(gold, n_labels), np.full_like(gold, n_labels)
    for begin, end in pairwise(accumulate(lengths, initial=0)):
        last[begin + 1 : end] = gold[begin : end - 1]
        before[begin + 2 : end] = gold[begin : max(begin, end - 2)]
    return before, last


def numbered(entries: list[list[int]], n_features: int) -> Any:
    """Return binary rows as CSR; 32-bit numbers."""
    from scipy import sparse

    ptr = np.array([0, *accumulate(map(len, entries))], dtype=np.int32)
    indices = np.array([f for row in entries for f in row], dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(indices)), indices, ptr), (len(entries), n_features))


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
