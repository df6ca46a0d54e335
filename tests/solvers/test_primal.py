"""Solvers that keep weights: their certificate, and the methods of scipy."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from scipy.optimize import minimize
from support.instances import make_instance
from support.solvers import solver_of

from partwise.compiled.vectors import shrunk
from partwise.problem.evaluation import Evaluator, Slope
from partwise.solvers.batch.conjugate_gradient import ConjugateGradient, _Iterations
from partwise.solvers.batch.lbfgs import OrthantWise, pseudo_gradient
from partwise.solvers.batch.newton import TrustRegionNewton
from partwise.solvers.primal import certified, primal_value
from partwise.training.loop import train

STEPPED = ("lbfgs", "cg", "newton", "owl-qn")


def draw(kind: str, loss: str, seed: int = 0, scale: float = 1.0) -> tuple[Evaluator, Slope]:
    problem = make_instance(kind, loss, seed, n=8, weighted=True, constrained=True).problem
    weights = problem.storage.scatter(
        scale * np.random.default_rng(seed).normal(size=problem.layout.n_weights)
    )
    evaluator = Evaluator(problem)
    return evaluator, evaluator.slope(weights)


@pytest.mark.parametrize("kind", ["multiclass", "chain", "untied"])
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
def test_a_slope_is_the_gradient(kind: str, loss: str) -> None:
    evaluator, slope = draw(kind, loss)
    problem = evaluator.problem
    np.testing.assert_allclose(slope.losses, evaluator.losses(slope.weights), rtol=1e-12)
    places = np.flatnonzero(problem.storage.scatter(np.ones(problem.layout.n_weights)))
    for place in places[:: max(1, len(places) // 7)]:
        step = np.zeros_like(slope.weights)
        step[place] = 1e-5
        ends = [
            primal_value(problem, evaluator.slope(slope.weights + s), 0.3) for s in (step, -step)
        ]
        found = (ends[0] - ends[1]) / 2e-5
        assert 0.3 * slope.weights[place] - slope.v[place] == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_the_gap_is_at_most_the_squared_gradient(kind: str, loss: str) -> None:
    for scale in (0.01, 1.0, 10.0):
        evaluator, slope = draw(kind, loss, scale=scale)
        for l2 in (0.01, 1.0, 100.0):
            value = certified(evaluator.problem, slope, l2)
            gradient = l2 * slope.weights - slope.v
            bound = gradient @ gradient / (2.0 * l2)
            assert -1e-9 <= value.primal - value.dual <= bound * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize("l1", [0.0, 0.2, 2.0])
def test_the_mixture_with_the_gold_labels_is_a_dual_point(l1: float) -> None:
    evaluator, slope = draw("chain", "softmax-margin", scale=3.0)
    optimum = train(evaluator.problem, 0.05, l1=l1, solver="owl-qn", tol=1e-10).certificate
    value = certified(evaluator.problem, slope, 0.05, l1)
    assert value.dual <= optimum.primal <= value.primal
    # At s = 0, the gold labels themselves, D is 0.
    assert value.dual >= 0.0


@pytest.mark.parametrize("solver", STEPPED)
@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_the_optimum_is_that_of_eg(solver: str, kind: str) -> None:
    problem = make_instance(kind, "softmax-margin", n=12, weighted=True, constrained=True).problem
    expected = train(problem, 0.5, solver="online-eg", tol=1e-9).certificate
    fit = train(problem, 0.5, solver=solver, tol=1e-9)
    assert fit.certificate.primal == pytest.approx(expected.primal, rel=2e-9)
    again = train(problem, 0.5, solver=solver, tol=1e-9, initial_weights=fit.weights)
    assert again.certificate.passes < fit.certificate.passes


@pytest.mark.parametrize("solver", STEPPED)
def test_a_small_l2(solver: str) -> None:
    problem = make_instance("chain", "log", n=12).problem
    assert train(problem, 1e-3, solver=solver, tol=1e-6, max_passes=5000).certificate.converged


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "newton"])
def test_no_thread_is_left_behind(solver: str) -> None:
    problem = make_instance().problem
    before = set(threading.enumerate())
    for _ in range(5):
        train(problem, 1.0, solver=solver, tol=1e-3)
    # They end by themselves, soon; one that waited for ever would be met by the limit of a test.
    for thread in set(threading.enumerate()) - before:
        thread.join()


def test_errors_within_scipy_reach_the_caller() -> None:
    problem = make_instance().problem
    machine = solver_of(ConjugateGradient, problem, 1.0)
    machine.evaluator.slope = lambda weights: 1 / 0  # type: ignore[assignment]
    with pytest.raises(ZeroDivisionError):
        machine.epoch()


def test_newton_products_are_those_of_the_hessian() -> None:
    problem = make_instance("chain", "softmax-margin").problem
    machine = solver_of(TrustRegionNewton, problem, 0.7)
    rng = np.random.default_rng(3)
    n = problem.layout.n_weights
    w, d, e = (problem.storage.scatter(rng.normal(size=n)) for _ in range(3))
    machine.slope = machine.evaluator.slope(w)
    step = 1e-5
    slopes = [machine.evaluator.slope(w + s * d).v for s in (step, -step)]
    central = 0.7 * d - (slopes[0] - slopes[1]) / (2.0 * step)
    np.testing.assert_allclose(machine.product(w, d), central, atol=1e-5)
    assert e @ machine.product(w, d) == pytest.approx(d @ machine.product(w, e), rel=1e-5)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
@pytest.mark.parametrize("l1", [0.3, 3.0, 1e3])
def test_elastic_net_against_a_split_into_signs(kind: str, l1: float) -> None:
    """w = a - b with a, b >= 0 makes |w|_1 linear, and scipy's bounds do the rest."""
    problem = make_instance(kind, "log", n=20, n_features=6).problem
    evaluator = Evaluator(problem)
    size = problem.storage.n_places

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        w = x[:size] - x[size:]
        slope = evaluator.slope(w)
        value = primal_value(problem, slope, 0.1) + l1 * x.sum()
        gradient = 0.1 * w - slope.v
        return value, np.concatenate([gradient + l1, l1 - gradient])

    expected = minimize(
        objective, np.zeros(2 * size), jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2 * size,
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 5000, "maxfun": 10000},
    )  # fmt: skip
    fit = train(problem, 0.1, l1=l1, solver="owl-qn", tol=1e-9)
    assert fit.certificate.primal == pytest.approx(expected.fun, rel=1e-8)
    if l1 == 1e3:
        assert not fit.weights.any()


def test_pseudo_gradient() -> None:
    w = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    g = np.array([0.5, 0.5, 0.5, 2.0, -2.0])
    np.testing.assert_array_equal(pseudo_gradient(w, g, 1.0), [1.5, -0.5, 0.0, 1.0, -1.0])
    np.testing.assert_array_equal(shrunk(g, 1.0), [0.0, 0.0, 0.0, 1.0, -1.0])


def test_orthant_wise_steps_never_rise() -> None:
    problem = make_instance("chain", "log", n=20, n_features=6).problem
    machine = solver_of(OrthantWise, problem, 1e-3, l1=0.5)
    last = np.inf
    for _ in range(40):
        machine.epoch()
        primal = machine.evaluate().primal
        assert primal <= last * (1.0 + 1e-12)  # the rounding of P itself
        last = primal


def test_an_end_is_told_once_and_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread may outlive its last answer; nobody must wait for another one."""
    steps = _Iterations(lambda reached: reached(np.zeros(2)))
    release, done = steps._answered.release, threading.Event()

    def outlived(n: int = 1) -> None:
        release(n)
        if steps._ended:
            done.wait()

    monkeypatch.setattr(steps._answered, "release", outlived)
    found = [steps.next() for _ in range(4)]
    done.set()
    assert [point is None for point in found] == [False, True, True, True]
