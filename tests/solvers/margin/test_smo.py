from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of
from support.structure_cases import problem_of

from partwise.errors import MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.goal import Goal
from partwise.solvers.margin.smo import SMO, SMOThenEG
from partwise.structures import steps
from partwise.structures.registry import STRUCTURES
from partwise.training.loop import train

KINDS = ("multiclass", "untied", "chain")


def make(method: type, kind: str, l2: float = 1.0, **options: Any) -> Any:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    return solver_of(method, problem, l2, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_rises_and_the_totals_are_true(kind: str) -> None:
    machine = make(SMO, kind, 0.3)
    last = 0.0
    for _ in range(15):
        dual = machine.epoch().dual
        assert dual >= last - 1e-10
        value = machine.evaluate()
        assert value.dual == pytest.approx(dual, rel=1e-9)
        assert value.dual <= value.primal + 1e-9
        last = dual


def test_marginals_stay_marginals() -> None:
    """The pairs of neighbours agree with the positions, and these add up to one."""
    instance = make_instance("untied", "hinge", n=15)
    problem, n = instance.problem, 3
    machine = solver_of(SMO, problem, 0.1)
    for _ in range(30):
        machine.epoch()
    for i, length in enumerate(instance.lengths):
        own = machine.mu[slice(*problem.arrays.part_ptr[i : i + 2])]
        single = own[: length * n].reshape(length, n)
        pairs = own[length * n : length * n + (length - 1) * n * n].reshape(length - 1, n, n)
        np.testing.assert_allclose(single.sum(axis=1), 1.0, atol=1e-11)
        np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], atol=1e-11)
        np.testing.assert_allclose(pairs.sum(axis=1), single[1:], atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.3, 5.0])
def test_the_optimum_is_that_of_frank_wolfe(kind: str, l2: float) -> None:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    best = train(problem, l2, solver="bcfw", tol=1e-6, max_passes=20_000).certificate
    found = train(problem, l2, solver="smo", tol=1e-5, max_passes=20_000).certificate
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=2e-5)


@pytest.mark.parametrize("name", [name for name in STRUCTURES if name != "spanning-tree"])
def test_every_structure_that_is_built_in_steps(name: str) -> None:
    problem = problem_of(name, "hinge")
    best = train(problem, 3.0, solver="bcfw", tol=1e-6, max_passes=20_000).certificate
    for solver in ("smo", "smo-eg"):
        fit = train(problem, 3.0, solver=solver, tol=1e-4, max_passes=20_000)
        assert fit.certificate.primal == pytest.approx(best.primal, rel=2e-4)
        # The point that another solver gets is a point of the problem itself.
        point = fit.dual_point
        assert point.theta.shape == (problem.n_parts,)
        mu = Goal(problem, 3.0, Evaluator(problem), np.random.default_rng(0), start=point)
        marginals = mu.marginals()
        assert marginals is not None
        value = Evaluator(problem).dual(
            marginals, np.zeros(problem.n_examples), Evaluator(problem).dual_sum(marginals), 3.0
        )
        assert value == pytest.approx(fit.certificate.dual, rel=1e-6)


def test_a_fit_goes_on_with_the_steps_of_another() -> None:
    problem = problem_of("chain", "hinge")
    for first in ("smo", "smo-eg"):
        fit = train(problem, 3.0, solver=first, tol=1e-4, max_passes=5000)
        again = train(problem, 3.0, solver="smo", tol=1e-3, start=fit.dual_point)
        assert again.certificate.passes <= 2.0
    # Without steps those of theta are taken: a fit that goes on from other solvers still ends.
    other = train(problem, 3.0, solver="bcfw", tol=1e-4)
    again = train(problem, 3.0, solver="smo", tol=1e-3, start=other.dual_point, max_passes=5000)
    assert again.certificate.converged


def test_trees_that_may_cross_are_refused() -> None:
    with pytest.raises(MismatchError, match="the marginals of their arcs do not tell which trees"):
        train(problem_of("spanning-tree", "hinge"), 1.0, solver="smo")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (3e3, "the steps that build the labels of one example would take"),
        (1e5, "a dual with 1,225 parts and steps would take .* use a solver that does without"),
    ],
)
def test_more_steps_than_memory(
    limit: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "memory_limit", lambda: limit)
    with pytest.raises(MismatchError, match=message):
        train(problem_of("projective", "hinge"), 1.0, solver="smo")


@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_of_both_never_falls(kind: str) -> None:
    machine = make(SMOThenEG, kind, 2.0)
    last, seen = 0.0, []
    for _ in range(300):
        epoch = machine.epoch()
        assert epoch.dual >= last - 1e-8 * abs(last)
        last = epoch.dual
        if not seen or seen[-1] is not type(machine.machine):
            seen.append(type(machine.machine))
    assert seen == [SMO, OnlineEG]
    value = machine.evaluate()
    assert value.dual == pytest.approx(last, rel=1e-9)
    assert 0.0 <= value.primal - value.dual <= 5e-3 * value.primal


def test_when_eg_takes_over() -> None:
    """After an epoch that raises the dual by less than a fifth, and two that soften the point."""
    machine, duals = make(SMOThenEG, "untied", 0.5), [0.0]
    while isinstance(machine.machine, SMO):
        softened = machine.softened
        duals.append(machine.epoch().dual)
        if machine.softened == 1 and softened == 0:
            plain = len(duals) - 1
    rises = np.diff(duals) / np.array(duals[1:])
    assert plain > 2
    assert (rises[: plain - 2] > 0.2).all()
    assert rises[plain - 2] <= 0.2
    assert len(duals) - 1 - plain == 2
    fixed = make(SMOThenEG, "untied", 0.5, smo_epochs=1)
    for _ in range(3):
        fixed.epoch()
        assert isinstance(fixed.machine, SMO)
    fixed.epoch()
    assert isinstance(fixed.machine, OnlineEG)


@pytest.mark.parametrize("kind", KINDS)
def test_the_share_of_the_soft_labels(kind: str) -> None:
    """Step by step: the distribution, how often it is sharpened, and the share of a line search."""
    machine, l2 = make(SMO, kind, 0.4), 0.4
    for _ in range(2):
        machine.epoch()
    problem, a = machine.problem, machine.problem.arrays
    own = problem.folded or problem
    mu, order = machine.mu.copy(), np.array([3, 7, 0, 3, 14])
    gap = machine.gap.copy()
    gap[7] *= 40.0  # of an earlier visit, and too large by now
    machine.gap[:] = gap
    machine.softening = True
    before = machine.evaluate().dual
    calls = machine.visit(order, l2, machine.v)

    evaluator, none = Evaluator(problem), np.zeros(problem.n_examples)
    even = np.empty_like(mu)
    log_labels = np.empty(problem.n_examples)
    evaluator.marginals(np.zeros_like(mu), even, log_labels)

    def dual(mu: Any) -> float:
        return evaluator.dual(mu, none, evaluator.dual_sum(mu), l2)

    assert before == pytest.approx(dual(mu), rel=1e-9)
    expected, counted = 0, []
    for i in order[:4]:
        part = slice(*a.part_ptr[i : i + 2])
        q = evaluator.scores(evaluator.dual_sum(mu) / l2)  # with cost
        beta, tries = a.weight[i] * log_labels[i] / (2.0 * gap[i]), 0
        while True:
            tries += 1
            p = np.empty_like(mu)
            evaluator.marginals(beta * q, p, np.empty(problem.n_examples))
            if q[part] @ (p[part] - mu[part]) > 0.0 or tries == 6:
                break
            beta *= 2.0
        counted.append(tries)
        expected += tries
        way = np.zeros_like(mu)
        way[part] = p[part] - mu[part]
        shares = np.linspace(0.0, 1.0, 3)
        bend = np.polyfit(shares, [dual(mu + s * way) for s in shares], 2)
        if q[part] @ way[part] > 0.0:
            mu += way * min(1.0, -bend[1] / (2.0 * bend[0]) if bend[0] < 0.0 else 1.0)
    assert calls == expected
    assert max(counted) > 1  # the example whose gap was too large
    np.testing.assert_allclose(machine.mu, mu, atol=1e-8)
    assert own.n_examples == 15


def test_an_example_with_nothing_to_gain_stays() -> None:
    """Its soft labels would be so sharp that their marginals were rounding errors."""
    machine = make(SMO, "untied", 0.4)
    machine.epoch()
    machine.gap[:] = 1e-13
    machine.softening, before = True, machine.mu.copy()
    machine.epoch()
    np.testing.assert_array_equal(machine.mu, before)


def test_a_fit_goes_on_from_either() -> None:
    problem = make_instance("untied", "hinge", n=15).problem
    fit = train(problem, 2.0, solver="smo", tol=1e-4, max_passes=5000)
    again = train(problem, 2.0, solver="smo", tol=1e-3, start=fit.dual_point)
    assert again.certificate.passes <= 2.0
    hybrid = train(problem, 2.0, solver="smo-eg", tol=1e-2, max_passes=3000)
    assert hybrid.certificate.converged
