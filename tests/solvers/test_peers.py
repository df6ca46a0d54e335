"""The same objective has the same optimum, whoever finds it."""

from __future__ import annotations

import dataclasses
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
import scipy.sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from partwise import LinearClassifier, SequenceTagger
from partwise.datasets import tagged_text
from partwise.models.transfer import places


def digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X[:400] / 16.0, y[:400]


def sparse_noise() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 50), density=0.1, rng=rng, data_sampler=rng.normal).tocsr()
    return X, rng.integers(4, size=300)


def log_objective(coef: Any, X: Any, y: Any, l2: float) -> float:
    scores = X @ coef.T
    shift = scores.max(axis=1)
    log_z = shift + np.log(np.exp(scores - shift[:, None]).sum(axis=1))
    loss = log_z - scores[np.arange(len(y)), y]
    return float(loss.sum() + 0.5 * l2 * (coef**2).sum())


def hinge_objective(coef: Any, X: Any, y: Any, l2: float) -> float:
    scores = X @ coef.T
    true = scores[np.arange(len(y)), y]
    margins = scores + 1.0
    margins[np.arange(len(y)), y] = true
    return float((margins.max(axis=1) - true).sum() + 0.5 * l2 * (coef**2).sum())


@pytest.mark.parametrize("data", [digits, sparse_noise], ids=["digits", "sparse"])
@pytest.mark.parametrize("l2", [0.3, 3.0])
def test_logistic_regression(data: Any, l2: float) -> None:
    X, y = data()
    peer = LogisticRegression(C=1.0 / l2, fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs = peer.fit(X, y).coef_
    made = LinearClassifier(l2=l2, tol=1e-9, fit_intercept=False).fit(X, y)
    best = log_objective(theirs, X, y, l2)
    assert log_objective(made.coef_, X, y, l2) == pytest.approx(made.certificate_.primal, rel=1e-12)
    assert made.certificate_.primal == pytest.approx(best, rel=1e-8)
    assert made.certificate_.dual <= best * (1 + 1e-12)
    np.testing.assert_allclose(made.coef_, theirs, atol=2e-3)


def test_logistic_regression_with_sample_weights() -> None:
    X, y = digits()
    weight = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    peer = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000)
    theirs = peer.fit(X, y, sample_weight=weight).coef_
    made = LinearClassifier(tol=1e-9, fit_intercept=False).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(made.coef_, theirs, atol=2e-3)


def test_crammer_singer() -> None:
    X, y = digits()
    l2 = 10.0
    peer = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=1.0 / l2, tol=1e-6, max_iter=100_000,
        random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        # Some releases of scikit-learn read the number of iterations from memory that was not set.
        warnings.simplefilter("ignore", ConvergenceWarning)
        best = hinge_objective(peer.fit(X, y).coef_, X, y, l2)
    made = LinearClassifier(loss="hinge", l2=l2, tol=1e-4, fit_intercept=False)
    made.fit(X, y)
    certificate = made.certificate_
    assert hinge_objective(made.coef_, X, y, l2) == pytest.approx(certificate.primal, rel=1e-12)
    assert certificate.dual <= best * (1 + 1e-9)
    assert certificate.primal == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
def test_weight_two_is_an_example_twice(loss: str) -> None:
    X, y = sparse_noise()
    twice = np.arange(len(y)) % 3 == 0
    weighted = LinearClassifier(loss=loss, tol=1e-9).fit(X, y, sample_weight=1.0 + twice)
    repeated = LinearClassifier(loss=loss, tol=1e-9).fit(
        scipy.sparse.vstack([X, X[twice]]), np.concatenate([y, y[twice]])
    )
    a, b = weighted.certificate_, repeated.certificate_
    assert a.primal == pytest.approx(b.primal, rel=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


def sentences(number: int) -> tuple[list[Any], list[Any]]:
    columns = tagged_text(number)
    X, y = [], []
    for a, b in pairwise([0, *np.cumsum(columns.lengths).tolist()]):
        words, tags = columns.fields[0][a:b], columns.fields[1][a:b]
        X.append([[f"w={w}", f"p={p}"] for w, p in zip(words, tags, strict=True)])
        y.append(columns.labels[a:b])
    return X, y


def crfsuite(X: Any, y: Any, l2: float, all_weights: bool, path: Path) -> Any:
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for xs, ys in zip(X, y, strict=True):
        trainer.append(xs, ys)
    trainer.set_params(
        {
            "c2": l2 / 2.0,
            "feature.possible_states": int(all_weights),
            "feature.possible_transitions": int(all_weights),
            "epsilon": 1e-9,
            "delta": 1e-12,
            "max_iterations": 5000,
        }
    )
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger.info()


@pytest.mark.parametrize("l2", [0.5, 2.0])
@pytest.mark.parametrize("weights", ["all", "observed"])
def test_crfsuite(tmp_path: Path, weights: str, l2: float) -> None:
    X, y = sentences(60)
    made = SequenceTagger(l2=l2, tol=1e-8, weights=weights).fit(X, y)
    peer = crfsuite(X, y, l2, weights == "all", tmp_path / "crfsuite")
    model = made.model_
    count = len(peer.state_features) + len(peer.transitions)
    assert count == model.layout.n_weights

    assert made.vocabulary_ is not None
    names, labels = made.vocabulary_.names, model.labels
    theirs = np.zeros(model.layout.n_weights)
    used = 0
    for place, (feature, slot) in enumerate(zip(*places(model.layout), strict=True)):
        if feature < len(names):
            value = peer.state_features.get((names[feature], labels[slot]))
        else:
            pair = (labels[slot // len(labels)], labels[slot % len(labels)])
            value = peer.transitions.get(pair)
        if value is not None:
            theirs[place] = value
            used += 1
    assert used == count

    def objective(weights: Any) -> float:
        other = SequenceTagger.from_model(dataclasses.replace(model, weights=weights))
        return float(-other.log_proba(X, y).sum() + 0.5 * l2 * (weights @ weights))

    best = objective(theirs)
    assert objective(model.weights) == pytest.approx(made.certificate_.primal, rel=1e-10)
    assert made.certificate_.primal == pytest.approx(best, rel=1e-7)
    assert made.certificate_.dual <= best
    np.testing.assert_allclose(model.weights, theirs, atol=5e-3)
