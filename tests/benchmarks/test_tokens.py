"""Maximum entropy models of tokens: their features, and labels predicted from left to right."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from benchmarks.papers.documents import SHAPES, documents
from benchmarks.papers.tokens import Tokens, tagged, tokens, word_attributes
from partwise.problem.evaluation import Evaluator

TEXT = tagged(40, 5, seed=1)


def few() -> Tokens:
    return tokens(TEXT[:30], TEXT[30:], word_attributes, 1)


def test_labels_are_predicted_one_after_the_other() -> None:
    made = few()
    w = np.random.default_rng(0).normal(size=made.problem.layout.n_weights)
    dense = made.problem.layout.dense(w, 0)
    n_labels = dense.shape[1]
    wrong, begin = 0, 0
    for end in made.ends:
        before = last = n_labels
        for t in range(begin, end):
            features = made.static[t].indices.tolist()
            features += made.history.number[[last, (n_labels + 1) * (before + 1) + last]].tolist()
            label = int(sum(dense[f] for f in features if f >= 0).argmax())
            wrong += label != made.gold[t]
            before, last = last, label
        begin = end
    assert made.error(w) == wrong / len(made.gold)
    assert 0.0 < made.error(w) < 1.0


def test_labels_before_a_token_are_features() -> None:
    """A model of these two features alone learns which label follows which."""
    made = few()
    numbers = set(made.history.number[made.history.number >= 0].tolist())
    design = made.problem.arrays.design
    of_block = {int(first): f for f, first in enumerate(made.problem.storage.first)}
    names = {
        name: k for k, name in enumerate(dict.fromkeys(row[1] for s in TEXT[:30] for row in s))
    }
    i = 0
    for sentence in TEXT[:30]:
        before = last = len(names)
        for _, label in sentence:
            used = {of_block[int(at)] for at in
                    design.start[design.entry_ptr[i] : design.entry_ptr[i + 1]]}  # fmt: skip
            own = made.history.number[[last, (len(names) + 1) * (before + 1) + last]]
            assert used & numbers == {f for f in own.tolist() if f >= 0}
            before, last = last, names[label]
            i += 1


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
