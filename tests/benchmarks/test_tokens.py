"""Maximum entropy models of tokens: their features, and labels predicted from left to right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from benchmarks.papers.documents import SHAPES, documents
from benchmarks.papers.tokens import CUTOFF, Tokens, tagged, tokens, word_attributes
from partwise.problem.evaluation import Evaluator

TEXT = tagged(40, 5, seed=1)


def few(joint: bool = True) -> Tokens:
    return tokens(TEXT[:30], TEXT[30:], word_attributes, 1, joint)


def used(made: Tokens, features: Any, before: int, last: int) -> list[int]:
    """The features of a token, one table after the other."""
    own = [int(f) for f in features if f >= 0]
    numbers = [*own, made.history.last[last], made.history.both[before, last]]
    if len(made.history.joint):
        numbers += [made.history.joint[f, last] for f in own]
    return [int(f) for f in numbers if f >= 0]


@pytest.mark.parametrize("joint", [True, False])
def test_labels_are_predicted_one_after_the_other(joint: bool) -> None:
    made = few(joint)
    w = np.random.default_rng(0).normal(size=made.problem.layout.n_weights)
    dense = made.problem.layout.dense(w, 0)
    n_labels = dense.shape[1]
    wrong, begin = 0, 0
    for end in made.ends:
        before = last = n_labels
        for t in range(begin, end):
            label = int(dense[used(made, made.features[t], before, last)].sum(axis=0).argmax())
            wrong += label != made.gold[t]
            before, last = last, label
        begin = end
    assert made.error(w) == wrong / len(made.gold)
    assert 0.0 < made.error(w) < 1.0


def test_labels_before_a_token_are_features() -> None:
    """In training these are the labels of the data; what is rare is left out."""
    made = few()
    design = made.problem.arrays.design
    of_block = {int(first): f for f, first in enumerate(made.problem.storage.first)}
    seen = dict.fromkeys(row[1] for sentence in TEXT[:30] for row in sentence)
    names = {name: k for k, name in enumerate(seen)}
    n_static = len(made.history.joint) - 1
    counts: Counter[int] = Counter()
    i = 0
    for sentence in TEXT[:30]:
        before = last = len(names)
        for _, label in sentence:
            at = design.start[design.entry_ptr[i] : design.entry_ptr[i + 1]]
            features = {of_block[int(start)] for start in at}
            static = [f for f in features if f < n_static]
            assert features == set(used(made, static, before, last))
            counts.update(features)
            before, last = last, names[label]
            i += 1
    assert min(counts.values()) == CUTOFF
    assert set(counts) == set(range(max(counts) + 1))
    assert max(counts) > n_static + 20


def test_sigma_squared_is_10_l() -> None:
    made = few()
    assert made.problem.n_examples / made.l2 == 10.0 * made.n_contexts


def test_the_gradient_of_one_vector() -> None:
    found = documents(SHAPES[1], quick=True)
    w = np.random.default_rng(0).normal(size=found.x.shape[1])
    halves = found.problem.layout.dense(np.arange(2 * len(w)).astype(float), 0).astype(int)
    weights = np.empty(2 * len(w))
    weights[halves[:, 0]], weights[halves[:, 1]] = -w / 2, w / 2
    np.testing.assert_allclose(found.difference(weights), w)
    scores = np.stack([-found.x @ w / 2, found.x @ w / 2], axis=1)
    p = softmax(scores, axis=1)[:, 1] - found.y
    own = found.l2 * w / 2 + found.x.T @ p  # of the second of two vectors
    np.testing.assert_allclose(found.gradient(weights), found.c * np.linalg.norm(own))
    primal = Evaluator(found.problem).primal(found.problem.storage.scatter(weights), found.l2)
    signs = 2.0 * found.y - 1.0
    losses = np.logaddexp(0.0, -signs * (found.x @ w)).sum()
    np.testing.assert_allclose(found.c * primal, found.c * losses + 0.5 * w @ w)
