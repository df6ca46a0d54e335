from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq
from support.instances import Explicit, make_instance
from support.optima import conditional
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.errors import MismatchError
from partwise.solvers.coordinate.sdca import SDCA
from partwise.training.loop import train

KINDS = ("multiclass", "untied")


def make(kind: str, loss: str = "log", l1: float = 0.0, seed: int = 0) -> SDCA:
    problem = make_instance(kind, loss, seed, n=12, weighted=True, constrained=True).problem
    return solver_of(SDCA, problem, 0.5, seed, l1=l1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
def test_the_optimum_is_that_of_eg(kind: str, loss: str) -> None:
    problem = make_instance(kind, loss, n=12, weighted=True, constrained=True).problem
    fits = [train(problem, 0.5, solver=name, tol=1e-9) for name in ("online-eg", "sdca")]
    primal = [fit.certificate.primal for fit in fits]
    assert primal[0] == pytest.approx(primal[1], rel=2e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
def test_a_visit_goes_where_the_dual_stops_rising(
    kind: str, loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fraction g of the way to p(.|x; w) with D'(g) = 0, from below and to 0.1%."""
    instance = make_instance(kind, loss, 4, weighted=True, constrained=True)
    problem = instance.problem
    explicit = Explicit(instance, 0.5)
    machine = solver_of(SDCA, problem, 0.5)
    arrays, tau = problem.arrays, explicit.tau

    def entropy_slope(i: int, mu: Floats) -> Floats:
        topo = arrays.topo[arrays.topo_ptr[i] : arrays.topo_ptr[i + 1]]
        slope, work = np.empty_like(mu), np.empty(problem.work_size)
        problem.structure.marginal_entropy(arrays.spec, topo, mu.copy(), slope, work)
        return slope

    matrices = [
        np.linalg.lstsq(counts, features, rcond=None)[0]
        for counts, features in zip(explicit.counts, explicit.features, strict=True)
    ]

    def rise(i: int, before: Floats, way: Floats, w: Floats, g: float) -> float:
        """D'(g)."""
        own = slice(*arrays.part_ptr[i : i + 2])
        q = matrices[i] @ w + (arrays.cost[own] if arrays.cost.size else 0.0)
        d = explicit.weight[i] * way @ matrices[i]
        turn = tau * entropy_slope(i, before + g * way) @ way
        return float(explicit.weight[i] * (turn + q @ way) - g * (d @ d) / 0.5)

    seen = 0
    for i in np.tile(np.flatnonzero(arrays.weight), 4):
        own = slice(*arrays.part_ptr[i : i + 2])
        before, w = machine.mu[own].copy(), machine.w.copy()
        way = conditional(explicit, w)[i] @ explicit.counts[i] - before
        monkeypatch.setattr(machine, "_draw", lambda i=i: np.array([i]))
        machine.epoch()
        if np.abs(way).max() < 1e-3:  # rounding moves the place where D' is 0
            continue
        seen += 1
        slope = partial(rise, i, before, way, w)
        exact = brentq(slope, 1e-9, 1.0 - 1e-9, xtol=1e-12) if slope(1.0 - 1e-9) < 0.0 else 1.0
        g = float((machine.mu[own] - before) @ way / (way @ way))
        assert exact * (1.0 - 1.1e-3) <= g <= exact * (1.0 + 1e-6)
    assert seen >= 10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_the_dual_rises_and_stays_below_the_primal(kind: str, l1: float) -> None:
    machine = make(kind, l1=l1)
    last = -np.inf
    for _ in range(20):
        epoch = machine.epoch()
        value = machine.evaluate()
        assert epoch.dual == pytest.approx(value.dual, rel=1e-10)
        assert value.dual >= last - 1e-10
        assert value.dual <= value.primal + 1e-10
        last = value.dual


@pytest.mark.parametrize("kind", KINDS)
def test_the_entropy_of_marginals_is_that_of_the_distribution(kind: str) -> None:
    machine = make(kind)
    arrays, structure = machine.problem.arrays, machine.problem.structure
    theta = np.random.default_rng(1).normal(size=machine.problem.n_parts)
    mu, entropy = np.empty_like(theta), np.empty(machine.problem.n_examples)
    machine.evaluator.marginals(theta, mu, entropy)
    work = np.empty(machine.problem.work_size)
    for i, expected in enumerate(entropy):
        own = slice(arrays.part_ptr[i], arrays.part_ptr[i + 1])
        topo = arrays.topo[arrays.topo_ptr[i] : arrays.topo_ptr[i + 1]]
        slope = np.empty(own.stop - own.start)
        found = structure.marginal_entropy(arrays.spec, topo, mu[own].copy(), slope, work)
        assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_the_gap_add_up(kind: str) -> None:
    machine = make(kind, "softmax-margin")
    for _ in range(200):
        machine.epoch()
    value = machine.evaluate()
    assert machine.gap.sum() == pytest.approx(value.primal - value.dual, abs=1e-9)


def test_l1_makes_zeros_that_the_orthant_wise_method_makes_too() -> None:
    problem = make_instance("untied", "log", n=30, n_features=8).problem
    fits = [train(problem, 0.1, l1=1.0, solver=name, tol=1e-10) for name in ("owl-qn", "sdca")]
    assert fits[0].certificate.primal == pytest.approx(fits[1].certificate.primal, rel=1e-9)
    zero = [fit.weights == 0.0 for fit in fits]
    assert zero[0].any()
    np.testing.assert_array_equal(*zero)


def test_tied_transitions_hide_the_entropy() -> None:
    with pytest.raises(MismatchError, match="sdca needs labels whose entropy is a sum"):
        train(make_instance("chain").problem, 1.0, solver="sdca")
