from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from support.class_data import drawn
from support.kernel_data import words

from partwise import (
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    SequenceTagger,
    load_model,
    save_model,
)


def hinges(scores: Any, y: Any) -> float:
    """The losses of Crammer and Singer."""
    high = scores + 1.0
    gold = scores[np.arange(len(y)), y]
    high[np.arange(len(y)), y] -= 1.0
    return float((high.max(axis=1) - gold).sum())


def logs(scores: Any, y: Any) -> float:
    return float((np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]).sum())


def squares(x: Any, gamma: float, coef0: float) -> Any:
    """The features of (gamma x.z + coef0)^2."""
    n, d = x.shape
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    columns = [gamma * x[:, i] * x[:, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in pairs]
    columns += [np.sqrt(2.0 * gamma * coef0) * x[:, i] for i in range(d)]
    return np.stack([*columns, np.full(n, coef0)], axis=1)


# Classifiers


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_the_linear_classifier(loss: str, intercept: bool) -> None:
    x, y = drawn(0, 60, 5, 3)
    shared: dict[str, Any] = {
        "loss": loss, "tol": 1e-9, "max_passes": 1e5, "fit_intercept": intercept, "l2": 2.0,
    }  # fmt: skip
    linear = LinearClassifier(**shared).fit(x, y)
    kernel = KernelClassifier(kernel="linear", **shared).fit(x, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=2e-9)
    np.testing.assert_allclose(kernel.decision_function(x), linear.decision_function(x), atol=2e-3)
    other = np.random.default_rng(9).normal(size=(100, 5))
    np.testing.assert_array_equal(kernel.predict(other), linear.predict(other))
    # Five columns are enough, and say the same.
    assert kernel.n_support_ <= 5
    coef = kernel.dual_coef_ @ x[kernel.support_]
    np.testing.assert_allclose(coef, linear.coef_, atol=2e-3)


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
def test_polynomial_kernel_is_its_features(loss: str) -> None:
    x, y = drawn(1, 80, 3, 3)
    x_test = np.random.default_rng(5).normal(size=(40, 3))
    shared: dict[str, Any] = {
        "loss": loss, "tol": 1e-9, "max_passes": 1e5, "fit_intercept": False, "l2": 3.0,
    }  # fmt: skip
    explicit = LinearClassifier(**shared).fit(squares(x, 0.5, 1.5), y)
    kernel = KernelClassifier(kernel="poly", degree=2, gamma=0.5, coef0=1.5, **shared).fit(x, y)
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=2e-9)
    np.testing.assert_allclose(
        kernel.decision_function(x_test),
        explicit.decision_function(squares(x_test, 0.5, 1.5)),
        atol=5e-3,
    )


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("hinge", "auto"), ("hinge", "online-eg"), ("log", "auto"), ("log", "lbfgs")],
)
@pytest.mark.parametrize("gram_tol", [1e-10, 1e-2])
def test_certificate_is_that_of_the_sums_over_rows(loss: str, solver: str, gram_tol: float) -> None:
    x, y = drawn(2, 90, 4, 3)
    found = KernelClassifier(
        loss=loss, solver=solver, l2=0.5, gram_tol=gram_tol, fit_intercept=False, tol=1e-3,
        gamma=0.2, max_passes=3000,
    ).fit(x, y)  # fmt: skip
    beta, held = found.dual_coef_.T, x[found.support_]
    norm = np.einsum("jk,jl,lk->", beta, rbf_kernel(held, gamma=0.2), beta)
    scores = rbf_kernel(x, held, gamma=0.2) @ beta
    np.testing.assert_allclose(found.decision_function(x), scores, rtol=1e-9, atol=1e-9)
    primal = 0.25 * norm + (hinges if loss == "hinge" else logs)(scores, y)
    assert primal == pytest.approx(found.certificate_.primal, rel=1e-8)
    assert found.certificate_.converged


def test_two_classes_are_scikit_learns_machine() -> None:
    # Of points and their mirror images, so that the free intercept of SVC is 0.
    half = np.random.default_rng(0).normal(size=(60, 2))
    side = np.where(half[:, 0] * np.cos(half[:, 1]) + 0.2 > 0, 1, -1)
    x, y = np.concatenate([half, -half]), np.concatenate([side, -side])
    l2 = 0.25
    found = KernelClassifier(
        loss="hinge", l2=l2, gamma=0.7, fit_intercept=False, tol=1e-8, max_passes=1e5
    ).fit(x, y)
    svc = SVC(C=2.0 / l2, gamma=0.7, tol=1e-8).fit(x, y)
    assert abs(svc.intercept_[0]) < 1e-6
    other = np.random.default_rng(1).normal(size=(50, 2))
    np.testing.assert_allclose(
        found.decision_function(other), svc.decision_function(other), atol=1e-3
    )
    # The machine is made of few rows, those of SVC.
    assert found.n_support_ < 0.8 * len(x)
    assert set(svc.support_) <= set(found.support_)
    assert len(found.support_) <= len(svc.support_) + 4


def test_three_classes_are_the_dual_program() -> None:
    x, y = drawn(3, 12, 2, 3)
    l2, n, k = 0.5, len(x), 3
    gram, gold = rbf_kernel(x, gamma=1.0), np.eye(k)[y]

    def negative_dual(flat: Any) -> tuple[float, Any]:
        mu = flat.reshape(n, k)
        pull = gram @ (gold - mu)
        value = (1.0 - gold).ravel() @ flat - ((gold - mu) * pull).sum() / (2.0 * l2)
        return -float(value), -((1.0 - gold) + pull / l2).ravel()

    sums = {"type": "eq", "fun": lambda f: f.reshape(n, k).sum(axis=1) - 1.0,
            "jac": lambda f: np.kron(np.eye(n), np.ones(k))}  # fmt: skip
    best = scipy.optimize.minimize(
        negative_dual, gold.ravel(), jac=True, bounds=[(0.0, 1.0)] * (n * k), constraints=[sums],
        method="SLSQP", options={"ftol": 1e-13, "maxiter": 2000},
    )  # fmt: skip
    found = KernelClassifier(
        loss="hinge", l2=l2, gamma=1.0, fit_intercept=False, tol=1e-9, max_passes=1e5
    ).fit(x, y)
    assert found.certificate_.dual == pytest.approx(-best.fun, rel=1e-7)
    beta = np.zeros((n, k))
    beta[found.support_] = found.dual_coef_.T
    np.testing.assert_allclose(beta, (gold - best.x.reshape(n, k)) / l2, atol=1e-3)


def test_weights_of_examples() -> None:
    x, y = drawn(4, 40, 3, 3)
    weight = np.repeat([1.0, 2.0, 0.0, 1.0], 10)
    shared: dict[str, Any] = {"loss": "hinge", "tol": 1e-7, "max_passes": 1e5, "gamma": 0.5}
    weighted = KernelClassifier(**shared).fit(x, y, sample_weight=weight)
    copies = np.repeat(np.arange(40), weight.astype(int))
    repeated = KernelClassifier(**shared).fit(x[copies], y[copies])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=2e-7)
    assert not set(weighted.support_) & set(range(20, 30))
    np.testing.assert_allclose(
        weighted.decision_function(x), repeated.decision_function(x), atol=5e-3
    )


def test_sparse_rows_and_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = drawn(5, 50, 6, 3)
    x[np.abs(x) < 1.6] = 0.0
    dense = KernelClassifier(loss="hinge", coef0=1.0, kernel="poly").fit(x, y)
    scores = dense.decision_function(x)
    monkeypatch.setattr("partwise.tasks.kernels.kernel._BLOCK", 40)
    monkeypatch.setattr("partwise.tasks.kernels.support._HELD", 100)
    monkeypatch.setattr("partwise.tasks.kernels.gram.BLOCK", 7)
    sparse = KernelClassifier(loss="hinge", coef0=1.0, kernel="poly", tol=1e-5, max_passes=1e5)
    sparse.fit(scipy.sparse.csr_matrix(x), y)
    dense.set_params(tol=1e-5, max_passes=1e5).fit(x, y)
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-5)
    monkeypatch.undo()
    assert dense.decision_function(x) == pytest.approx(scores, abs=0.1)


# Taggers


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("order", [1, 2])
def test_tagger_with_a_polynomial_kernel_is_its_features(loss: str, order: int) -> None:
    x, y = words(0, 30)
    shared: dict[str, Any] = {
        "loss": loss, "tol": 1e-6, "max_passes": 1e5, "l2": 4.0, "start": True, "order": order,
    }  # fmt: skip
    mapped = [squares(item, 1.0, 1.0) for item in x]
    explicit = SequenceTagger(**shared).fit(mapped, y)
    kernel = KernelTagger(kernel="poly", degree=2, gamma=1.0, coef0=1.0, **shared).fit(x, y)
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=2e-6)
    assert kernel.certificate_.converged
    np.testing.assert_allclose(kernel.transitions_, explicit.transitions_, atol=2e-2)
    np.testing.assert_allclose(kernel.start_, explicit.start_, atol=2e-2)
    coef = kernel.dual_coef_ @ squares(np.concatenate(x)[kernel.support_], 1.0, 1.0)
    np.testing.assert_allclose(coef, explicit.coef_, atol=2e-2)
    x_test, y_test = words(1, 30)
    test = [squares(item, 1.0, 1.0) for item in x_test]
    assert abs(kernel.score(x_test, y_test) - explicit.score(test, y_test)) < 0.03


def test_tagger_with_a_kernel_is_better_where_labels_are_products() -> None:
    x, y = words(0, 150)
    x_test, y_test = words(1, 100)
    linear = SequenceTagger(loss="hinge", tol=1e-2).fit(x, y)
    kernel = KernelTagger(loss="hinge", gamma=0.5, tol=1e-2).fit(x, y)
    assert kernel.score(x_test, y_test) > linear.score(x_test, y_test) + 0.1


def test_one_matrix_with_lengths_is_the_same() -> None:
    x, y = words(0, 20)
    tagger = KernelTagger(tol=1e-3).fit(x, y)
    lengths = [len(item) for item in x]
    stacked = clone(tagger).fit(scipy.sparse.csr_matrix(np.concatenate(x)), y, lengths=lengths)
    assert stacked.certificate_.primal == pytest.approx(tagger.certificate_.primal)
    for a, b in zip(tagger.predict_marginals(x), stacked.predict_marginals(x), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def steps_of(x: list[Any]) -> list[Any]:
    """Features of transitions: products of the first inputs of both tokens, and their sum."""
    return [np.stack([a[:-1, 0] * a[1:, 0], a[:-1, 1] + a[1:, 1]], axis=1) for a in x]


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_transitions_with_a_kernel_are_those_with_its_features(loss: str) -> None:
    x, y = words(0, 25)
    shared: dict[str, Any] = {"loss": loss, "tol": 1e-7, "max_passes": 1e5, "l2": 3.0}
    explicit = SequenceTagger(**shared).fit(
        [squares(a, 0.5, 1.5) for a in x],
        y,
        X_transitions=[squares(a, 0.5, 1.5) for a in steps_of(x)],
    )
    kernel = KernelTagger(kernel="poly", degree=2, gamma=0.5, coef0=1.5, **shared)
    kernel.fit(x, y, X_transitions=steps_of(x))
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=2e-7)
    other, _ = words(1, 20)
    found = kernel.model_.candidates(
        kernel.model_.features.read(kernel.model_.structure, other, X_transitions=steps_of(other)),
        2,
    )
    known = explicit.predict(
        [squares(a, 0.5, 1.5) for a in other],
        k=2,
        X_transitions=[squares(a, 0.5, 1.5) for a in steps_of(other)],
    )
    for mine, theirs in zip(found, known, strict=True):
        assert mine[0].score == pytest.approx(theirs[0][1], abs=2e-2)
    plain = KernelTagger(kernel="poly", degree=2, gamma=0.5, coef0=1.5, **shared).fit(x, y)
    assert kernel.certificate_.primal < 0.99 * plain.certificate_.primal


def test_transitions_with_a_kernel_are_saved_and_are_a_start(tmp_path: Any) -> None:
    x, y = words(0, 20)
    tagger = KernelTagger(tol=1e-5, warm_start=True).fit(x, y, X_transitions=steps_of(x))
    save_model(tagger, tmp_path / "a.model")
    again = KernelTagger.from_model(load_model(tmp_path / "a.model"))
    more, labels = words(3, 3)
    x, y = [*x, *more], [*y, *labels]
    assert again.predict(x, X_transitions=steps_of(x)) == tagger.predict(
        x, X_transitions=steps_of(x)
    )
    tagger.fit(x, y, X_transitions=steps_of(x))
    cold = KernelTagger(tol=1e-5).fit(x, y, X_transitions=steps_of(x))
    assert tagger.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-5)
    assert tagger.trace_[0].dual > cold.trace_[0].dual
    short = [item[:1] for item in x]
    none = KernelTagger(tol=1e-3).fit(
        short, [item[:1] for item in y], X_transitions=steps_of(short)
    )
    assert len(none.predict(x, X_transitions=steps_of(x))) == len(x)


@pytest.mark.parametrize("solver", ["online-eg", "batch-eg", "bcfw", "excessive-gap"])
def test_any_solver_trains_kernels(solver: str) -> None:
    x, y = words(0, 12)
    found = KernelTagger(loss="hinge", solver=solver, l2=2.0, tol=1e-3, max_passes=1e4).fit(x, y)
    auto = KernelTagger(loss="hinge", l2=2.0, tol=1e-5, max_passes=1e4).fit(x, y)
    assert found.certificate_.converged
    assert found.certificate_.primal == pytest.approx(auto.certificate_.primal, rel=1e-3)
