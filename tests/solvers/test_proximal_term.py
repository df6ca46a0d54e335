from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of

from partwise.solvers.dual_points import gold_marginals
from partwise.solvers.margin.crammer_singer import CrammerSinger
from partwise.solvers.margin.frank_wolfe import FrankWolfe
from partwise.solvers.margin.marginal_ascent import MarginalAscent
from partwise.solvers.proximal_term import ProximalTerm, holding_factor
from partwise.training.certificate import ConvergenceWarning
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")


def make(kind: str, l2: float = 0.3, solver: Any = FrankWolfe, **options: Any) -> MarginalAscent:
    problem = make_instance(kind, "hinge", n=30, weighted=True).problem
    return solver_of(solver, problem, l2, **options)  # type: ignore[no-any-return]


def test_the_centre_waits_while_the_duals_are_behind() -> None:
    z, w = np.zeros(3), np.ones(3)
    near = ProximalTerm(2.0, z, 0.1, 0.1)
    near.own = 1.0
    for waited in range(1, 6):
        near.steer(2.0, 3.0, w)
        assert (near.waited, near.k) == (waited, 2.0)
        assert near.centre is z
    near.steer(2.0, 3.0, w)
    assert near.centre is w
    assert (near.waited, near.own, near.k) == (0, 2.0, pytest.approx(2.2))
    near.steer(2.0, 2000.0, w)
    assert near.k == pytest.approx(1.76)


def test_a_small_factor_is_none() -> None:
    near = ProximalTerm(1.0, np.zeros(3), 9.0, 0.1)
    near.steer(1e-9, 1.0, np.zeros(3))
    assert near.k == 0.0
    # A tenth of l2 is small; both parts in their proportion leave the factor as it is.
    for k, left in ((0.11, 0.11), (0.09, 0.0)):
        near = ProximalTerm(k, np.zeros(3), 1.0, 0.25)
        near.steer(1.0, 4.0, np.zeros(3))
        assert near.k == pytest.approx(left)


def test_weights_are_left_by_a_factor_that_falls() -> None:
    z, w = np.zeros(3), np.ones(3)
    term = ProximalTerm(8.0, z, 1.0, 0.1, leaves=True)
    term.steer(4.0, 1.0, w)  # mostly the examples' part
    assert (term.k, term.centre is w) == (8.0, True)
    term.steer(0.64, 1.0, z)  # the weights' part
    assert (term.k, term.centre is z) == (pytest.approx(6.4), True)
    term.steer(0.01, 0.5, w)  # at most by half
    assert term.k == pytest.approx(3.2)
    term.steer(0.4, 0.1, w)  # the gap hardly falls
    assert term.k == pytest.approx(2.24)
    term.steer(0.0, 0.1, w)
    assert term.k == pytest.approx(2.24)
    term = ProximalTerm(0.12, z, 1.0, 0.1, leaves=True)
    term.steer(0.25, 1.0, w)
    assert term.k == 0.0


def test_the_first_factor_for_some_weights() -> None:
    w, v = np.array([3.0, 0.0, -4.0]), np.array([0.0, 2.0, 0.0])
    # The slope is 2 w - v = (6, -2, -8), and |w| = 5.
    assert holding_factor(w, v, 2.0, 0.0) == pytest.approx(np.sqrt(104.0) / 1.5)
    # With l1 = 0.5 it is (6.5, -1.5, -8.5).
    assert holding_factor(w, v, 2.0, 0.5) == pytest.approx(np.sqrt(116.75) / 1.5)
    assert holding_factor(np.zeros(3), v, 2.0, 0.0) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_solves_the_problem_near_the_last_weights(kind: str) -> None:
    machine = make(kind, nearness=2.0)
    for _ in range(20):
        k, z = machine.proximal_term.k, machine.proximal_term.centre.copy()
        epoch = machine.epoch()
        near = machine.evaluator.dual_sum(machine.mu) + k * z
        np.testing.assert_allclose(machine.weights, near / (machine.l2 + k), atol=1e-9)
        value = machine.evaluate()
        assert value.dual == pytest.approx(epoch.dual, rel=1e-9, abs=1e-9)
        assert value.dual <= value.primal + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_value_is_that_of_the_dual_point(kind: str) -> None:
    machine, shares = make(kind, l2=0.01, nearness=20.0), []
    for _ in range(6):
        machine.epoch()
        value, point = machine.evaluate(), machine.dual_point()
        assert point.mu is not None
        fresh = make(kind, l2=0.01, point=point)
        assert fresh.evaluate().dual == pytest.approx(value.dual, rel=1e-9, abs=1e-9)
        shares.append(float(np.abs(point.mu - machine.mu).max()))
    assert max(shares) > 0.0  # the way from the gold labels is not always gone to its end


def test_at_the_gold_labels_there_is_no_way_to_go() -> None:
    machine = make("chain", nearness=None)
    np.testing.assert_array_equal(machine.mu, gold_marginals(machine.problem))
    assert machine.evaluate().dual == 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
def test_one_optimum_with_and_without(kind: str, l2: float) -> None:
    problem = make_instance(kind, "hinge", n=30, weighted=True).problem
    solvers = ["bcfw"] + ["crammer-singer"] * (kind == "multiclass")
    for solver in solvers:
        far, near = (
            train(
                problem, l2, solver=solver, tol=1e-5, max_passes=50_000, options={"nearness": k}
            ).certificate
            for k in (0.0, None)
        )
        assert far.converged
        assert near.converged
        assert near.primal == pytest.approx(far.primal, rel=2e-5)


def test_a_fit_goes_on_near_its_weights() -> None:
    problem = make_instance("chain", "hinge", n=30).problem
    first = train(problem, 0.1, tol=1e-2)
    with pytest.warns(ConvergenceWarning):
        second = train(
            problem,
            0.1,
            tol=1e-9,
            max_passes=1.0,
            start=first.dual_point,
            initial_weights=first.weights,
        )
    assert second.certificate.dual >= 0.9 * first.certificate.dual
    assert second.certificate.primal <= 1.1 * first.certificate.primal


def test_auto_takes_it_for_the_hinge_and_users_may_not() -> None:
    problem = make_instance("multiclass", "hinge", n=30).problem
    fits = [
        train(problem, 0.001, tol=1e-4, max_passes=50_000, options=options).certificate
        for options in ({}, {"nearness": 0.0})
    ]
    plain = train(problem, 0.001, tol=1e-4, max_passes=50_000, solver="crammer-singer").certificate
    assert fits[1].passes == plain.passes
    assert fits[0].passes != plain.passes


def test_classifiers_by_name() -> None:
    machine = make("multiclass", solver=CrammerSinger, nearness=None)
    assert machine.proximal_term.k > 0.0
    assert make("multiclass", solver=CrammerSinger).proximal_term.k == 0.0


def test_a_term_that_does_not_help_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    machine = make("chain", nearness=2.0)
    machine.epoch()
    for _ in range(60):
        machine._watch(1.0)
        if machine.proximal_term.k == 0.0:
            break
    assert machine.proximal_term.k == 0.0
    with caplog.at_level("INFO", "partwise"):
        again = make("chain", nearness=2.0)
        for k in range(200):
            again._watch(0.98**k)
        assert again.proximal_term.k == 2.0
        assert not caplog.records
        for _ in range(60):
            again._watch(0.98**199)
        assert "without a proximal term" in caplog.text
    for _ in range(3):
        before = machine.evaluate().dual
        machine.epoch()
        assert machine.evaluate().dual >= before - 1e-10  # plain coordinate ascent
