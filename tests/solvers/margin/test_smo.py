from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of

from partwise.errors import MismatchError
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.margin.smo import SMO
from partwise.solvers.margin.smo_eg import SMOThenEG
from partwise.training.loop import train

KINDS = ("multiclass", "untied")


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


@pytest.mark.parametrize("kind", KINDS)
def test_eg_goes_on_near_where_smo_ended(kind: str) -> None:
    machine = make(SMOThenEG, kind, 2.0, smo_epochs=3)
    for _ in range(3):
        before = machine.epoch().dual
    assert isinstance(machine.machine, SMO)
    after = machine.epoch().dual
    assert isinstance(machine.machine, OnlineEG)
    assert after >= before - 0.05 * abs(before)
    for _ in range(300):
        machine.epoch()
    value = machine.evaluate()
    assert 0.0 <= value.primal - value.dual <= 5e-3 * value.primal


def test_a_fit_goes_on_from_either() -> None:
    problem = make_instance("untied", "hinge", n=15).problem
    fit = train(problem, 2.0, solver="smo", tol=1e-4, max_passes=5000)
    again = train(problem, 2.0, solver="smo", tol=1e-3, start=fit.dual_point)
    assert again.certificate.passes <= 2.0
    hybrid = train(problem, 2.0, solver="smo-eg", tol=1e-2, max_passes=3000)
    assert hybrid.certificate.converged


def test_tied_transitions_do_not_determine_a_distribution() -> None:
    with pytest.raises(MismatchError, match="smo needs labels whose entropy"):
        train(make_instance("chain", "hinge").problem, 1.0, solver="smo")
