"""Problems, the weights that result from training, and their objectives and test scores.

The benchmark computes every final objective and every test score itself, from the weights, so that
contestants do not evaluate themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LinearLoss = Literal["softmax", "logistic", "hinge"]


@dataclass(frozen=True)
class LinearProblem:
    """A classifier of rows of ``x`` (CSR, float64) without an intercept; classes are 0..k-1.

    ``softmax`` has one weight vector per class. ``logistic`` has two classes and one weight vector,
    that of class 1: the softmax of two classes with w = w1 - w0 and twice the l2. ``hinge`` is
    Crammer and Singer's: the maximum over y of (w_y.x + [y != gold]) - w_gold.x.
    """

    loss: LinearLoss
    l2: float
    x: Any
    y: Ints
    x_test: Any
    y_test: Ints
    n_classes: int


@dataclass(frozen=True)
class Sentence:
    """One sequence: the attributes of each token, and the labels."""

    attributes: list[list[str]]
    labels: list[str]


@dataclass(frozen=True)
class ChainProblem:
    """A first-order chain with tied transitions, trained with log loss.

    ``l1`` adds l1 |w|_1 to the objective.

    With ``all_weights``, every attribute has a weight for every label, and every pair of labels has
    a transition weight. Otherwise only combinations seen in the training data have one.
    The columns are kept, and the attributes are made again on demand: as Python strings they would
    take more memory than any contestant.
    """

    l2: float
    all_weights: bool
    train_columns: Sequence[Sequence[tuple[str, ...]]]
    test_columns: Sequence[Sequence[tuple[str, ...]]]
    l1: float = 0.0

    def train(self) -> Iterator[Sentence]:
        """Yield the training sentences."""
        return sentences(self.train_columns)

    def test(self) -> Iterator[Sentence]:
        """Yield the test sentences."""
        return sentences(self.test_columns)


Problem = LinearProblem | ChainProblem


def sentences(columns: Iterable[Sequence[tuple[str, ...]]]) -> Iterator[Sentence]:
    """Turn rows of (word, tag, ..., label) into sentences with the chunking attributes."""
    from .features import chunking_attributes

    for rows in columns:
        yield Sentence(chunking_attributes(rows), [row[-1] for row in rows])


@dataclass(frozen=True)
class LinearWeights:
    """``coef`` has one row per class; for ``logistic`` it has one row."""

    coef: Floats

    @property
    def count(self) -> int:
        """How many weights were trained."""
        return int(self.coef.size)

    @property
    def nonzero(self) -> int:
        """How many of them are not 0."""
        return int(np.count_nonzero(self.coef))


@dataclass(frozen=True)
class ChainWeights:
    """``state[attributes[a], l]`` and ``transitions[from, to]``; absent weights are zero."""

    attributes: dict[str, int]
    labels: list[str]
    state: Floats
    transitions: Floats
    count: int

    @property
    def nonzero(self) -> int:
        """How many weights are not 0."""
        return int(np.count_nonzero(self.state) + np.count_nonzero(self.transitions))


Weights = LinearWeights | ChainWeights


def objective(problem: Problem, weights: Weights) -> float:
    """Return P(w) on the training data."""
    if isinstance(problem, LinearProblem) and isinstance(weights, LinearWeights):
        return linear_objective(problem, weights.coef)
    if isinstance(problem, ChainProblem) and isinstance(weights, ChainWeights):
        return chain_objective(problem, weights)
    raise TypeError(f"{type(weights).__name__} does not fit {type(problem).__name__}.")


def score_on_test(problem: Problem, weights: Weights) -> tuple[str, float]:
    """Return the name and value of the test score of the task, in per cent."""
    if isinstance(problem, LinearProblem) and isinstance(weights, LinearWeights):
        scores = problem.x_test @ weights.coef.T
        if problem.loss == "logistic":
            found = (scores[:, 0] > 0).astype(np.int64)
        else:
            found = np.argmax(scores, axis=1)
        return "accuracy", 100.0 * float(np.mean(found == problem.y_test))
    if isinstance(problem, ChainProblem) and isinstance(weights, ChainWeights):
        return "F1", chunk_f1(problem, weights)
    raise TypeError(f"{type(weights).__name__} does not fit {type(problem).__name__}.")


def linear_objective(problem: LinearProblem, coef: Floats) -> float:
    """Return P(w) of a classifier."""
    penalty = 0.5 * problem.l2 * float(np.vdot(coef, coef))
    scores = problem.x @ coef.T
    if problem.loss == "logistic":
        margin = np.where(problem.y == 1, scores[:, 0], -scores[:, 0])
        return penalty + float(np.logaddexp(0.0, -margin).sum())
    rows = np.arange(len(problem.y))
    gold = scores[rows, problem.y]
    if problem.loss == "hinge":
        scores += 1.0
        scores[rows, problem.y] -= 1.0
        return penalty + float((scores.max(axis=1) - gold).sum())
    top = scores.max(axis=1)
    log_z = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return penalty + float((log_z - gold).sum())


def _unary(weights: ChainWeights, sentence: Sentence) -> Floats:
    """Return scores of shape (tokens, labels); attributes without weights score 0."""
    scores = np.zeros((len(sentence.labels), len(weights.labels)))
    known = weights.attributes
    for t, attributes in enumerate(sentence.attributes):
        rows = [known[a] for a in attributes if a in known]
        scores[t] = weights.state[rows].sum(axis=0)
    return scores


def chain_objective(problem: ChainProblem, weights: ChainWeights) -> float:
    """Return P(w) of a chain, by a scaled forward recursion in log space."""
    trans = weights.transitions
    shift = float(trans.max())
    # The entries of exp(trans - shift) are above 0 and at most 1, so no forward message vanishes.
    exp_trans = np.exp(trans - shift)
    index = {label: i for i, label in enumerate(weights.labels)}
    total = 0.0
    for sentence in problem.train():
        unary = _unary(weights, sentence)
        gold = np.array([index[label] for label in sentence.labels])
        alpha = unary[0]
        for t in range(1, len(gold)):
            top = alpha.max()
            alpha = top + shift + np.log(np.exp(alpha - top) @ exp_trans) + unary[t]
        top = alpha.max()
        log_z = float(top + np.log(np.exp(alpha - top).sum()))
        score = float(unary[np.arange(len(gold)), gold].sum() + trans[gold[:-1], gold[1:]].sum())
        total += log_z - score
    norm2 = float(np.vdot(weights.state, weights.state) + np.vdot(trans, trans))
    norm1 = float(np.abs(weights.state).sum() + np.abs(trans).sum())
    return 0.5 * problem.l2 * norm2 + problem.l1 * norm1 + total


def _viterbi(unary: Floats, trans: Floats) -> list[int]:
    best = unary[0]
    back: list[Ints] = []
    for t in range(1, len(unary)):
        scores = best[:, None] + trans
        back.append(scores.argmax(axis=0))
        best = scores.max(axis=0) + unary[t]
    path = [int(best.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1]


def chunk_f1(problem: ChainProblem, weights: ChainWeights) -> float:
    """Return chunk F1 in per cent on the test sentences, by the rules of conlleval."""
    from seqeval.metrics import f1_score

    gold: list[list[str]] = []
    found: list[list[str]] = []
    for sentence in problem.test():
        path = _viterbi(_unary(weights, sentence), weights.transitions)
        gold.append(sentence.labels)
        found.append([weights.labels[i] for i in path])
    return 100.0 * float(f1_score(gold, found))
