from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.instances import make_instance
from support.solvers import solver_of

from partwise import LinearClassifier
from partwise.errors import MismatchError
from partwise.problem.losses import Loss
from partwise.solvers.margin.crammer_singer import LONGEST, CrammerSinger, project, who_is_due
from partwise.training.certificate import ConvergenceWarning
from partwise.training.loop import train

OPTIONS = (
    {},
    {"weighted": True},
    {"constrained": True, "real": True},
    {"weights": "observed"},
)


def make(l2: float = 1.0, **options: Any) -> CrammerSinger:
    problem = make_instance("multiclass", "hinge", n=40, **options).problem
    return solver_of(CrammerSinger, problem, l2)


@given(arrays(np.float64, st.integers(1, 8), elements=st.floats(-5.0, 5.0)))
def test_the_projection_is_the_nearest_point(z: np.ndarray) -> None:
    mu = np.empty_like(z)
    project(z, mu)
    assert mu.min() >= 0.0
    assert mu.sum() == pytest.approx(1.0, abs=1e-12)
    # (z - mu).(p - mu) <= 0 for every corner p
    assert (z - mu).max() - (z - mu) @ mu <= 1e-12


def nearest(z: list[float]) -> list[Fraction]:
    """The projection onto the simplex by sorting, in exact numbers."""
    exact = [Fraction(number) for number in z]
    total, level = Fraction(0), Fraction(0)
    for k, number in enumerate(sorted(exact, reverse=True), 1):
        total += number
        if number > (total - 1) / k:
            level = (total - 1) / k
    return [max(number - level, Fraction(0)) for number in exact]


#: Ties, duplicates, whole numbers, what is hardly a number, what is hardly finite.
AWKWARD = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 1.0 - 2.0**-53, 1.0 / 3.0, 5e-324, -2.2e-308, 1e-17]),
    st.sampled_from([1e15, 1e16 + 2.0, -1e16, 1e300, -1e300, 8e307, -8e307]),
    st.floats(-8e307, 8e307),
    st.floats(-2.0, 2.0),
)


@settings(max_examples=400)
@given(st.lists(AWKWARD, min_size=1, max_size=9))
@example([0.0, 0.9999999999999999, 0.0, -3.7e-17, -1.1e-16])
@example([1e300, 1e300, -1e300])
@example([1.0 / 3.0] * 3)
def test_the_projection_ends_and_is_exact_but_for_rounding(z: list[float]) -> None:
    mu = np.empty(len(z))
    project(np.array(z), mu)
    assert (mu >= 0.0).all()
    assert mu.sum() == pytest.approx(1.0, abs=1e-15 * len(z))
    np.testing.assert_allclose(mu, [float(x) for x in nearest(z)], rtol=0.0, atol=2e-15)


def test_fits_that_did_not_end() -> None:
    tied = LinearClassifier(loss="hinge").fit([[2], [2], [-2], [-1], [0]], [1, 0, 2, 0, 2])
    assert tied.certificate_.converged
    rng = np.random.default_rng(0)
    x, y = 1e12 * rng.normal(size=(20, 5)), rng.integers(0, 3, 20)
    with pytest.warns(ConvergenceWarning):
        far = LinearClassifier(loss="hinge", max_passes=50).fit(x, y)
    assert far.certificate_.passes < 53
    assert far.certificate_.dual <= far.certificate_.primal < np.inf


def test_rounds_end_where_few_examples_count() -> None:
    """Examples of weight 0 are never due, and the others wait for long."""
    problem = make_instance("multiclass", "hinge", n=12, weighted=True).problem
    problem.arrays.weight[1:] = 0.0
    machine = solver_of(CrammerSinger, problem, 1.0)
    for _ in range(300):
        machine.epoch()
    assert (machine.due[1:] == np.iinfo(np.int64).max).all()
    assert 0 < machine.clock[0] < 300 * 12 * (LONGEST + 1)


def test_the_projection_leaves_out_what_is_forbidden() -> None:
    mu = np.empty(4)
    project(np.array([-np.inf, 0.5, 0.5, -np.inf]), mu)
    np.testing.assert_allclose(mu, [0.0, 0.5, 0.5, 0.0])
    project(np.array([-np.inf, -7.0, -np.inf, -np.inf]), mu)
    np.testing.assert_array_equal(mu, [0.0, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_optimum_is_that_of_frank_wolfe(options: dict[str, Any]) -> None:
    problem = make_instance("multiclass", "hinge", n=40, **options).problem
    for l2 in (0.1, 1.0, 10.0):
        fits = [
            train(problem, l2, solver=solver, tol=1e-6, max_passes=20_000).certificate
            for solver in ("crammer-singer", "bcfw")
        ]
        assert all(fit.converged for fit in fits)
        assert fits[0].primal == pytest.approx(fits[1].primal, rel=2e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_dual_rises_and_the_totals_are_true(options: dict[str, Any]) -> None:
    machine = make(0.3, **options)
    last = 0.0
    for _ in range(20):
        epoch = machine.epoch()
        assert epoch.dual >= last - 1e-10
        value = machine.evaluate()
        assert value.dual == pytest.approx(epoch.dual, rel=1e-9)
        assert value.dual <= value.primal + 1e-9
        last = epoch.dual


def test_one_step_is_the_best_of_an_example() -> None:
    """With one example, one step is the optimum."""
    problem = make_instance("multiclass", "hinge", n=1).problem
    fit = train(problem, 0.5, solver="crammer-singer", tol=1e-12, max_passes=2)
    assert fit.certificate.converged


def test_examples_that_do_not_move_wait() -> None:
    machine = make(0.1)
    passes = [machine.epoch().passes for _ in range(300)]
    settled = machine.wait == LONGEST
    assert settled.any()
    np.testing.assert_allclose(machine.gap[settled], 0.0, atol=1e-12)
    assert passes[0] == 1.0
    assert all(1.0 <= p < 2.0 for p in passes)
    assert machine.clock[0] >= sum(passes) / (1.0 - 0.5 * settled.mean())  # rounds are shorter


def test_all_examples_are_looked_at_again() -> None:
    machine = make(0.1)
    while not (machine.wait == LONGEST).any():
        machine.epoch()
    first, seen = int(machine.clock[0]), np.zeros(len(machine.due), dtype=bool)
    due = machine.due.copy()
    while machine.clock[0] <= first + LONGEST + 1:
        machine.epoch()
        seen |= machine.due != due
    assert seen.all()


def test_the_order_is_a_permutation_of_those_that_are_due() -> None:
    rng = np.random.default_rng(0)
    due, order, seen = np.array([3, 0, 1, 9, 2, 0]), np.empty(6, dtype=np.int64), set()
    for _ in range(200):
        assert who_is_due(due, 2, rng.random(6), order) == 4
        assert sorted(order[:4]) == [1, 2, 4, 5]
        seen.add(tuple(order[:4]))
    assert len(seen) == 24


def test_a_matrix_of_costs() -> None:
    loss = Loss("hinge", 0.0, True, np.array([[0.0, 3.0, 1.0], [0.5, 0.0, 2.0], [1.0, 1.0, 0.0]]))
    problem = make_instance("multiclass", loss, n=30).problem
    first, second = (
        train(problem, 0.5, solver=solver, tol=1e-6, max_passes=20_000).certificate
        for solver in ("crammer-singer", "online-eg")
    )
    assert first.converged
    assert first.dual <= second.primal
    assert second.dual <= first.primal


def test_only_for_classifiers() -> None:
    with pytest.raises(MismatchError, match="crammer-singer needs a classifier"):
        train(make_instance("chain", "hinge").problem, 1.0, solver="crammer-singer")
