"""Fits that go on from each other's dual points."""

from __future__ import annotations

import numpy as np
import pytest
from support.instances import LOSSES, constant, make_instance

from partwise.problem.evaluation import DualPoint, Evaluator
from partwise.problem.problem import build_problem
from partwise.solvers.dual_points import gold_marginals
from partwise.structures.base import Constraints
from partwise.structures.chain.structure import Chain
from partwise.training.loop import train


@pytest.mark.parametrize("structure", ["multiclass", "untied"])
@pytest.mark.parametrize("seed", range(3))
def test_marginals_have_a_theta(structure: str, seed: int) -> None:
    problem = make_instance(structure, seed=seed).problem
    evaluator = Evaluator(problem)
    theta = np.random.default_rng(seed).normal(scale=3.0, size=problem.n_parts)
    mu, entropy = np.empty_like(theta), np.empty(problem.n_examples)
    evaluator.marginals(theta, mu, entropy)
    again, same = evaluator.conditional(mu)
    # A share of 1e-10 of the uniform distribution is mixed in.
    np.testing.assert_allclose(same, entropy, atol=1e-8)
    other = np.empty_like(mu)
    evaluator.marginals(again, other, entropy)
    np.testing.assert_allclose(other, mu, atol=1e-9)


def test_the_marginals_of_one_label_have_a_theta() -> None:
    """Without help from any other label: most paths of a long chain have no marginals at all."""
    lengths = np.array([40, 1, 2])
    features = [constant(), constant(), constant(), constant()]
    gold = [np.arange(length) % 2 for length in lengths]
    rules = Constraints(transitions=[(2, 1), (3, 3)], starts=[3])
    chain = Chain(4, tied=False)
    problem = build_problem(chain, lengths, features, gold, LOSSES["log"], constraints=rules)
    evaluator, mu = Evaluator(problem), gold_marginals(problem)
    theta, entropy = evaluator.conditional(mu)
    other = np.empty_like(mu)
    evaluator.marginals(theta, other, np.empty(3))
    np.testing.assert_allclose(other, mu, atol=1e-9)
    assert entropy.max() < 1e-6
    # What is missing is not forbidden: its probability is the share of the uniform distribution.
    even = np.empty_like(mu)
    evaluator.marginals(np.zeros_like(mu), even, np.empty(3))
    rare = (mu == 0.0) & (even > 0.0)
    np.testing.assert_allclose(other[rare], 1e-10 * even[rare], rtol=1e-3)


def test_rounded_marginals_make_no_label_likely() -> None:
    problem = make_instance("untied").problem
    evaluator = Evaluator(problem)
    theta = 60.0 * np.random.default_rng(0).normal(size=problem.n_parts)
    mu, entropy = np.empty_like(theta), np.empty(problem.n_examples)
    evaluator.marginals(theta, mu, entropy)
    mu[mu < 1e-14] *= np.random.default_rng(1).integers(0, 2, (mu < 1e-14).sum())
    other = np.empty_like(mu)
    evaluator.marginals(evaluator.conditional(mu)[0], other, entropy)
    np.testing.assert_allclose(other, mu, atol=1e-9)


@pytest.mark.parametrize(
    ("structure", "loss", "first", "second"),
    [
        ("untied", "log", "sdca", "online-eg"),
        ("untied", "log", "online-eg", "sdca"),
        ("untied", "log", "sdca", "lbfgs"),
        ("untied", "hinge", "online-eg", "bcfw"),
        ("chain", "hinge", "online-eg", "bcfw"),
        ("multiclass", "hinge", "bcfw", "bcfw"),
        ("chain", "hinge", "bcfw", "bcfw"),
    ],
)
def test_one_solver_goes_on_where_another_ended(
    structure: str, loss: str, first: str, second: str
) -> None:
    problem = make_instance(structure, loss, n=30).problem
    tol = 1e-6 if loss == "log" else 2e-3
    fit = train(problem, 0.3, solver=first, tol=tol, max_passes=3000)
    again = train(problem, 0.3, solver=second, tol=2.0 * tol, start=fit.dual_point)
    most = 3.0
    if second == "lbfgs":  # which has to prove with its weights what the duals of the other proved
        most = train(problem, 0.3, solver=second, tol=2.0 * tol).certificate.passes / 3.0
    assert again.certificate.passes <= most
    assert again.certificate.dual >= fit.certificate.dual - 1e-6 * abs(fit.certificate.dual)


def test_a_step_beyond_a_point() -> None:
    before, now = DualPoint(np.array([1.0, 2.0])), DualPoint(np.array([2.0, 2.0]))
    np.testing.assert_array_equal(now.beyond(before, 2.0).theta, [4.0, 2.0])
    known = DualPoint(now.theta, np.array([0.5, 0.5]))
    assert known.beyond(before, 2.0) is known
