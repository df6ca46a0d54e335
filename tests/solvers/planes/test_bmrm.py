from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import LOSSES, make_instance, variants
from support.solvers import solver_of

from partwise.solvers.planes.bmrm import BMRM
from partwise.training.loop import train


def make(kind: str, loss: str, l2: float, **options: Any) -> BMRM:
    problem = make_instance(kind, loss, n=12, weighted=True, constrained=True).problem
    return solver_of(BMRM, problem, l2, **options)


@pytest.mark.parametrize(
    ("kind", "loss", "options"),
    [v[:3] for v in variants() if v[1] != "hinge"],
    ids=[v[3] for v in variants() if v[1] != "hinge"],
)
def test_smooth_losses_reach_the_optimum_of_newton(
    kind: str, loss: str, options: dict[str, Any]
) -> None:
    problem = make_instance(kind, loss, **options).problem
    best = train(problem, 0.7, solver="newton", tol=1e-10).certificate
    found = train(problem, 0.7, solver="bmrm", tol=1e-8).certificate
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=1.1e-8)
    assert found.dual <= best.primal * (1.0 + 1e-12)


@pytest.mark.parametrize("kind", ["multiclass", "chain", "untied"])
def test_the_hinge_reaches_the_optimum_of_frank_wolfe(kind: str) -> None:
    problem = make_instance(kind, "hinge", n=12, weighted=True, constrained=True).problem
    best = train(problem, 0.7, solver="bcfw", tol=1e-6, max_passes=20_000).certificate
    found = train(problem, 0.7, solver="bmrm", tol=1e-8).certificate
    assert found.converged
    assert best.dual * (1.0 - 1e-8) <= found.primal <= best.primal * (1.0 + 1e-8)


@pytest.mark.parametrize("loss", list(LOSSES))
def test_the_bounds_close_from_both_sides(loss: str) -> None:
    machine = make("chain", loss, 0.2)
    last, primal = 0.0, np.inf
    for _ in range(15):
        epoch = machine.epoch()
        assert epoch.passes == 1.0
        assert epoch.dual >= last
        value = machine.evaluate()
        assert value.dual == epoch.dual
        assert value.dual <= value.primal * (1.0 + 1e-12)
        assert value.primal <= primal
        evaluated = machine.evaluator.primal(value.weights, 0.2)
        assert value.primal == pytest.approx(evaluated, rel=1e-12)
        last, primal = epoch.dual, value.primal


@pytest.mark.parametrize("loss", list(LOSSES))
def test_planes_lie_below_the_risk_and_touch_it(loss: str) -> None:
    """R(w) >= b_k - a_k.w for any w, and equal where the plane was made."""
    machine = make("untied", loss, 0.2, patience=99)
    met = []
    for _ in range(6):
        met.append(machine.current_weights())
        machine.epoch()
    rng = np.random.default_rng(0)
    weight, evaluator = machine.problem.arrays.weight, machine.evaluator
    storage = machine.problem.storage
    others = [storage.scatter(rng.normal(size=machine.problem.layout.n_weights)) for _ in range(5)]
    for plane, offset, where in zip(machine.planes, machine.known.offset, met, strict=True):
        at = evaluator.losses(where) @ weight
        assert offset - plane @ where == pytest.approx(at, rel=1e-9)
        for w in (*others, *met):
            assert offset - plane @ w <= evaluator.losses(w) @ weight + 1e-9


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_a_fit_goes_on_where_another_ended(loss: str) -> None:
    problem = make_instance("chain", loss, n=12).problem
    fit = train(problem, 1.0, solver="bmrm", tol=1e-6)
    for begin in ({"start": fit.dual_point}, {"initial_weights": fit.weights}):
        again = train(problem, 1.0, solver="bmrm", tol=1e-3, **begin)
        if loss == "log" or "start" in begin:
            assert again.certificate.passes <= 2.0
        assert again.certificate.converged
    smooth = train(problem, 1.0, solver="online-eg", tol=1e-2, start=fit.dual_point)
    assert smooth.certificate.converged


def test_planes_without_weight_are_dropped() -> None:
    machine = make("chain", "log", 0.05, patience=1)
    for _ in range(20):
        machine.epoch()
    assert (machine.known.alpha > 0.0).all()
    assert len(machine.planes) == len(machine.known) < 20


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_threads_do_not_change_the_model(loss: str) -> None:
    problem = make_instance("chain", loss, n=12).problem
    fits = [train(problem, 1.0, solver="bmrm", tol=1e-4, n_jobs=jobs) for jobs in (1, 2)]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
