"""Ties, and numbers from the smallest to the largest: every fit ends, with a result or an error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from support.class_data import classes
from support.instances import make_instance
from support.solvers import goal_of
from support.structure_cases import problem_of

from partwise import KernelClassifier, LinearClassifier, SequenceTagger
from partwise.errors import DataError
from partwise.problem.losses import Loss
from partwise.problem.problem import build_problem, example_marginals, example_maximum
from partwise.problem.rows import Rows
from partwise.solvers.registry import SOLVERS, make_solver
from partwise.structures.multiclass import Multiclass
from partwise.training.certificate import Certificate, ConvergenceWarning
from partwise.training.loop import train

HINGE = (
    *("auto", "online-eg", "batch-eg", "primal-eg", "bcfw", "crammer-singer", "smo", "smo-eg"),
    *("excessive-gap", "extragradient", "svm-struct", "bmrm", "sgd", "pegasos"),
)
SMOOTH = (
    *("auto", "online-eg", "proximal-eg", "primal-eg", "sag", "saga", "sag-nus", "sdca", "lbfgs"),
    *(
        "newton",
        "cg",
        "owl-qn",
        "hybrid",
        "dual-cd",
        "primal-cd",
        "asgd",
        "adagrad",
        "smd",
        "sgd-nus",
    ),
)


def certified(kind: str, x: Any, y: Any, **options: Any) -> Certificate | None:
    """Fit; None if the features are said to be too large."""
    model = LinearClassifier(**options) if kind == "classes" else SequenceTagger(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            certificate: Certificate = model.fit(x, y).certificate_
        except DataError as error:
            if "scale the features" not in str(error):
                raise
            return None
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    return certificate


@pytest.mark.parametrize("seed", range(28))
def test_small_whole_numbers(seed: int) -> None:
    """Rows that repeat, labels that contradict each other, scores that tie."""
    rng = np.random.default_rng(seed)
    solver = HINGE[seed % len(HINGE)]
    n, n_classes, width = rng.integers(2, 9), rng.integers(2, 6), rng.integers(1, 4)
    y = np.append(rng.integers(0, n_classes, n - 1), n_classes)  # two classes at least
    x = rng.integers(-3, 4, (n, width)).astype(float)[rng.integers(0, n, n)]
    l2 = float(rng.choice([0.1, 1.0, 10.0]))
    for name in ("auto", solver):
        certificate = certified("classes", x, y, loss="hinge", l2=l2, solver=name, max_passes=60)
        assert certificate is not None
        assert certificate.dual <= certificate.primal + 1e-9
    if solver in ("smo", "smo-eg", "crammer-singer"):
        return
    sentences = [x[: 1 + i % 3] for i in range(n)]
    tags = [rng.integers(0, n_classes, len(sentence)).tolist() for sentence in sentences]
    chain = certified("chains", sentences, tags, loss="hinge", l2=l2, solver=solver, max_passes=60)
    assert chain is not None
    assert chain.dual <= chain.primal + 1e-9


@pytest.mark.parametrize("seed", range(36))
def test_huge_and_tiny_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss = ("log", "hinge", "softmax-margin")[seed % 3]
    solver = HINGE[seed % len(HINGE)] if loss == "hinge" else SMOOTH[seed // 2 % len(SMOOTH)]
    if loss == "softmax-margin" and solver in ("dual-cd", "primal-cd"):
        solver = "auto"
    n, width = 6, 2
    middle = (-300, -150, -80, -10, 10, 40, 72, 90, 200, 300)[seed % 10]
    spread = (0, 3, 60)[seed // 3 % 3]
    power = np.clip(rng.uniform(middle - spread, middle + spread, (n, width)), -300, 300)
    x, y = rng.uniform(-9.0, 9.0, (n, width)) * 10.0**power, np.arange(n) % 3
    l2 = float(10.0 ** rng.uniform(-6, 6))
    for name in ("auto", solver):
        certificate = certified("classes", x, y, loss=loss, l2=l2, solver=name, max_passes=40)
        if certificate is None:
            continue
        # Rounding alone may put the dual above the primal, by less than was asked for.
        assert certificate.dual <= certificate.primal * (1.0 + certificate.tol) + 1e-9


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("scale", [1e100, 1e200, 1e300])
def test_what_would_overflow_is_refused(loss: str, scale: float) -> None:
    problem = make_instance("chain", loss, scale=scale).problem
    for name, solver in SOLVERS.items():
        if solver.needs <= {"marginals", "maximum", "tau>0" if loss == "log" else "tau=0"}:
            with pytest.raises(DataError, match=r"features are too large for l2 = 2: .*example \d"):
                train(problem, 2.0, solver=name)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("gamma", ["scale", 1.0])
def test_similarities_that_overflow_are_refused(kernel: str, gamma: Any) -> None:
    x = 1e200 * np.arange(8.0).reshape(4, 2)
    with pytest.raises(DataError, match="scale the features"):
        KernelClassifier(kernel=kernel, gamma=gamma).fit(x, [0, 1, 0, 1])


def test_the_example_with_the_largest_features_is_named() -> None:
    x = np.ones((4, 2))
    x[2] = 1e80
    with pytest.raises(
        DataError, match=r"example 2 \(counted from 0\) have a norm of about 2e\+80"
    ):
        train(classes(x, [0, 1, 0, 1], 2), 1.0)
    x[2] = 1.0
    with pytest.raises(DataError, match="too large for l2 = 1e-200"):
        train(classes(x, [0, 1, 0, 1], 2), 1e-200)


def test_large_features_beside_small_ones_do_not_hide_them() -> None:
    """The bound of one example owes nothing to the rounding of another's."""
    x = np.array([[1e12, 0.0], [1e-3, 2e-3], [0.0, 0.0], [3.0, 4.0]])
    problem = classes(x, [0, 1, 0, 1], 2)
    norms = np.sqrt(2.0) * np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(problem.reach, norms, rtol=1e-14)


@pytest.mark.parametrize("name", ["online-eg", "batch-eg", "lbfgs", "pegasos", "sag"])
def test_rounding_does_not_raise_the_dual(name: str) -> None:
    """log Z - theta.mu of a theta of 1e40 is no entropy."""
    x = np.array([[1e20], [-3.0], [2e20], [1.0]])
    problem = classes(x, [0, 1, 2, 0], 3)
    machine = make_solver(name, goal_of(problem))
    best = 4.0 * np.log(3.0)  # P(0)
    for _ in range(20):
        machine.epoch()
        assert machine.evaluate().dual <= best
    machine.close()


@pytest.mark.parametrize("name", ["excessive-gap", "extragradient"])
def test_smoothing_does_not_run_out_of_numbers(name: str) -> None:
    """Without features every step could be longer than the last, for ever."""
    for x in (np.zeros((4, 1)), 1e-153 * np.ones((4, 1)), 1e-170 * np.ones((4, 1))):
        gold = [np.array([k % 2]) for k in range(4)]
        one, rows, loss = np.ones(4, np.int64), [Rows.from_dense(x)], Loss("hinge", 0.0, True)
        problem = build_problem(Multiclass(2), one, rows, gold, loss)
        machine = make_solver(name, goal_of(problem))
        least = machine.least  # type: ignore[attr-defined]
        for _ in range(100):
            machine.epoch()
            guess = machine.lipschitz if name == "excessive-gap" else machine.m  # type: ignore
            assert guess >= least > 0.0
        value = machine.evaluate()
        assert value.dual == pytest.approx(4.0)
        assert value.primal == pytest.approx(4.0)


STRUCTURES = (
    *("multiclass", "chain", "second-order-chain", "semi-markov"),
    *("projective", "spanning-tree", "grammar", "graph"),
)
#: Ties, what is hardly a number, what is hardly finite, and what is neither.
SCORES = (
    0.0,
    -0.0,
    1.0,
    5e-324,
    -2e-308,
    8e307,
    -8e307,
    1.7e308,
    -1.7e308,
    np.inf,
    -np.inf,
    np.nan,
)


@pytest.mark.parametrize("name", STRUCTURES)
def test_oracles_end_whatever_the_scores_are(name: str) -> None:
    problem = problem_of(name, "hinge")
    a, work, rng = problem.arrays, np.empty(problem.work_size), np.random.default_rng(0)
    for draw in range(80):
        i = draw % problem.n_examples
        n = int(a.part_ptr[i + 1] - a.part_ptr[i])
        some = rng.choice(SCORES[: len(SCORES) if draw % 4 == 0 else -3], size=4)
        theta, mu, masked = rng.choice(some, size=n), np.empty(n), np.empty(n)
        example_marginals(a, i, theta, mu, masked, work)
        top = example_maximum(a, i, theta, mu, masked, work)
        if np.isfinite(top):
            assert (mu >= 0.0).all()
            assert np.isfinite(theta[mu > 0.0]).all()
