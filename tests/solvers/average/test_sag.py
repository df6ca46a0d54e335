"""SAG and SAGA as solvers: one optimum, certified, from any start."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from support.dense_gradients import CASES, build
from support.instances import Explicit, make_instance
from support.solvers import goal_of

from partwise.arrays import Floats
from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.solvers.average.average_gradient import sag_epoch
from partwise.solvers.average.memory import SAMPLINGS, SEEN
from partwise.solvers.average.mini_batches import BatchSAG
from partwise.solvers.average.sag import SAG, SAGA, SAGNUS, gradient_memory
from partwise.solvers.average.svrg import SVRG
from partwise.solvers.registry import make_solver
from partwise.structures.chain.structure import Chain
from partwise.training.certificate import relative_gap
from partwise.training.loop import train


@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [("multiclass", {}), ("chain", {}), ("chain", {"constrained": True}), ("untied", {})],
)
def test_one_optimum(kind: str, loss: str, more: Any) -> None:
    problem = make_instance(kind, loss, 6, n=12, weighted=True, **more).problem
    exact = train(problem, 1.0, solver="online-eg", tol=1e-10, max_passes=5000)
    forms: list[tuple[str, dict[str, Any]]] = [
        (name, {"sampling": sampling})
        for name, sampling in itertools.product(("sag", "saga", "sag-nus"), SAMPLINGS)
    ]
    forms += [
        ("saga", {"preset": "schmidt2015-proposition1b"}),
        ("svrg", {}),
        ("sag", {"eta": 0.05}),
    ]
    forms += [("svrg", {"sampling": "proportional", "eta": "theorem"})]
    forms += [("sag-nus", {"eta": "bound"}), ("saga", {"preset": "schmidt2015-proposition1a"})]
    for name, options in forms:
        fit = train(problem, 1.0, solver=name, tol=1e-9, max_passes=20_000, options=options)
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-8)


def elastic_net(explicit: Explicit, l2: float, l1: float) -> tuple[float, Floats]:
    """The optimum and its weights by L-BFGS-B over w = a - b, a and b >= 0."""
    size = explicit.g[0].shape[1]

    def value(ab: Floats) -> tuple[float, Floats]:
        w = ab[:size] - ab[size:]
        total, slope = 0.5 * l2 * w @ w + l1 * ab.sum(), l2 * w
        for c, g, cost in zip(explicit.weight, explicit.g, explicit.costs, strict=True):
            q = (cost - g @ w) / explicit.tau
            p = np.exp(q - q.max())
            total += c * explicit.tau * (np.log(p.sum()) + q.max())
            slope = slope - c * (p / p.sum()) @ g
        return total, np.concatenate([slope + l1, l1 - slope])

    settings = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(
        value,
        np.zeros(2 * size),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * size),
        options=settings,
    )
    return float(found.fun), found.x[:size] - found.x[size:]


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_the_elastic_net(sampling: str, case: Any) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 5, n=12, **options)
    fit = train(
        instance.problem,
        0.5,
        l1=0.6,
        solver="saga",
        tol=1e-9,
        max_passes=5000,
        options={"sampling": sampling},
    )
    assert fit.certificate.converged
    best, weights = elastic_net(Explicit(instance, 0.5), 0.5, 0.6)
    assert fit.certificate.primal == pytest.approx(best, rel=1e-8)
    weights = instance.problem.storage.gather(weights)
    np.testing.assert_allclose(fit.weights, weights, atol=1e-3)
    assert not fit.weights[np.abs(weights) == 0.0].any()


@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_certificate_holds(sampling: str, l1: float) -> None:
    instance = make_instance("chain", "softmax-margin", 7, weighted=True, constrained=True)
    explicit = Explicit(instance, 0.05)
    machine = build(SAGA, instance, 0.05, sampling=sampling, l1=l1)
    duals, primals = [], []
    for _ in range(25):
        machine.epoch()
        value = machine.evaluate()
        duals.append(value.dual)
        primals.append(value.primal)
        own = explicit.primal(value.weights) + l1 * np.abs(value.weights).sum()
        assert value.primal == pytest.approx(own, rel=1e-10)
    assert max(duals) <= min(primals) + 1e-12 * min(primals)


@pytest.mark.parametrize("name", ["sag", "saga", "sag-nus", "sag-batch", "svrg"])
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_the_same_seed_gives_the_same_model(name: str, l1: float) -> None:
    if l1 and name != "saga":
        return
    problem = make_instance("chain", "log", 8, n=15).problem
    fits = [
        train(problem, 0.5, l1=l1, solver=name, tol=1e-6, seed=seed, n_jobs=jobs)
        for seed, jobs in ((1, 1), (1, 2), (2, 1))
    ]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
    assert (fits[0].weights != fits[2].weights).any()


@pytest.mark.parametrize(
    ("l1", "options"),
    [(0.0, {}), (0.2, {}), (0.0, {"preset": "schmidt2015-proposition1b"})],
)
def test_the_free_estimate_is_the_gap_of_what_is_kept(l1: float, options: dict[str, Any]) -> None:
    instance = make_instance("multiclass", "log", 9, n=60, weighted=True)
    evaluator = Evaluator(instance.problem)
    machine = build(SAGA, instance, 0.5, l1=l1, **options)
    ratios = []
    for _ in range(12):
        epoch = machine.epoch()
        gap = evaluator.primal(machine.current_weights(), 0.5, l1) - epoch.dual
        assert gap > 0.0
        ratios.append(epoch.gap_estimate / gap)
    assert 0.4 < min(ratios) <= max(ratios) < 2.5
    assert np.median(ratios) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
def test_a_start_knows_the_values_of_all_examples(loss: str) -> None:
    instance = make_instance("chain", loss, 10, n=20, weighted=True)
    problem = instance.problem
    w = problem.storage.zeros()
    places = problem.storage.places()
    w[places] = np.random.default_rng(0).normal(size=len(places))
    machine = build(SAG, instance, 2.0, initial_weights=w)
    slope = Evaluator(problem).slope(w)
    np.testing.assert_allclose(machine.memory.loss, slope.losses, atol=1e-12)
    np.testing.assert_allclose(machine.memory.linear, slope.linear, atol=1e-12)
    np.testing.assert_allclose(machine.memory.d, -slope.v, atol=1e-12)


def test_a_start_knows_all_gradients() -> None:
    instance = make_instance("chain", "log", 10, n=20, weighted=True)
    problem = instance.problem
    fit = train(problem, 2.0, solver="sag-nus", tol=1e-8)
    warm = build(SAGNUS, instance, 1.5, point=fit.dual_point)
    live = np.count_nonzero(problem.arrays.weight)
    assert warm.memory.totals[SEEN] == live
    v = -warm.memory.d
    np.testing.assert_allclose(warm.current_weights(), v / 1.5)
    np.testing.assert_allclose(problem.storage.gather(v) / 2.0, fit.weights, atol=1e-3)
    also = build(SAGNUS, instance, 1.5, initial_weights=problem.storage.scatter(fit.weights))
    np.testing.assert_allclose(also.memory.d, warm.memory.d, atol=1e-9)
    again = train(problem, 1.5, solver="sag-nus", tol=1e-8, start=fit.dual_point)
    cold = train(problem, 1.5, solver="sag-nus", tol=1e-8)
    assert again.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-8)


def test_examples_without_weight_are_not_visited() -> None:
    instance = make_instance("chain", "log", weighted=True, n=8)
    machine = build(SAGNUS, instance, 0.5)
    last = instance.problem.arrays.part_ptr[-2]
    before = machine.memory.mu[last:].copy()
    for _ in range(5):
        machine.epoch()
    np.testing.assert_array_equal(machine.memory.mu[last:], before)
    assert machine.memory.totals[SEEN] == 7


def test_the_stopping_rule_of_algorithm_1() -> None:
    """The fit ends where every example was seen and |d/n + lambda w|_inf < delta, not before."""
    instance = make_instance("chain", "log", 3, n=10)
    problem, delta = instance.problem, 0.02
    machine = build(SAG, instance, 2.0, delta=delta)
    sizes, ended = [], ""
    while not ended:
        ended = machine.epoch().ended
        slope = machine.memory.d + 2.0 * machine.current_weights()
        seen = machine.memory.totals[SEEN] == 10
        sizes.append(float(np.abs(slope).max()) / 10.0 if seen else np.inf)
    assert sizes[-1] < delta <= min(sizes[:-1])
    options = {"delta": delta}
    fit = train(problem, 2.0, solver="sag", tol=1e-12, options=options, quiet=True)
    assert fit.certificate.verdict == (
        "stopped: no entry of the estimated gradient reaches delta = 0.02"
    )
    assert fit.trace[-1].epoch == len(sizes)
    w = fit.certificate
    assert w.primal - w.dual < 0.1 * w.primal
    # An estimate of 0 says nothing before all gradients are known.
    big = build(SAG, instance, 2.0, delta=1e3)
    seen = 0
    while seen < 10:
        epoch = big.epoch()
        seen = int(big.memory.totals[SEEN])
        assert bool(epoch.ended) == (seen == 10)


def test_features_of_any_size() -> None:
    # L_g starts at 1 however large the features are; rounding must not keep a search going.
    for scale in (1e-4, 1e4):
        instance = make_instance("multiclass", "log", 11, n=10)
        design = instance.problem.arrays.design
        design.value[:] *= scale
        fit = train(instance.problem, scale**2, solver="sag-nus", tol=1e-8, max_passes=500)
        assert fit.certificate.converged


REFUSED: list[tuple[type[Any], dict[str, Any], str]] = [
    (SAG, {"sampling": "nus-2013", "eta": "theorem"}, "finds the L_i by its searches"),
    (SAG, {"sampling": "nus", "eta": "theorem"}, r"no step is proven .* Proposition 1 \(a\)"),
    (SAGNUS, {"eta": "theorem"}, "no step is proven for SAG with sampling='nus'"),
    (SAG, {"eta": "theorem", "first_curvature": 1.0}, "are for eta='search'; leave them out"),
    (SAG, {"eta": 0.1, "skipping": True}, "are for eta='search'; leave them out"),
    (SAG, {"skipping": False}, "give sampling='nus'"),
    (SAG, {"eta": 10.0}, r"steps of n / l2 = 6 or more"),
    (SAGA, {"eta": "theorem", "share": 0.5}, "share is for eta='search' and 'bound'"),
    (SAGA, {"sampling": "proportional"}, "give eta='theorem' or a number"),
    (SAGA, {"sampling": "proportional", "eta": "bound"}, "takes eta='theorem' or a number"),
    (SVRG, {"sampling": "proportional"}, "give eta='theorem' or a number"),
    (BatchSAG, {"eta": 4.0, "batch": 2}, r"steps of n / l2 = 3 or more"),
    (SVRG, {"eta": 10.0}, r"steps of n / l2 = 6 or more"),
]


def test_refusals() -> None:
    instance = make_instance("multiclass", "log")
    with pytest.raises(DataError, match="is 'all'; give 'uniform' or 'nus'"):
        build(SAG, instance, 1.0, sampling="all")
    for kind, options, words in REFUSED:
        with pytest.raises(DataError, match=words):
            build(kind, instance, 1.0, **options)
    for options in ({"delta": 0.1}, {"sampling": "proportional", "eta": 0.1}):
        with pytest.raises(DataError, match="l1 > 0"):
            build(SAGA, instance, 1.0, l1=0.1, **options)
    with pytest.raises(MismatchError, match=r"sag cannot take l1 > 0; use .*saga"):
        train(instance.problem, 1.0, l1=0.1, solver="sag")
    hinge = make_instance("multiclass", "hinge").problem
    with pytest.raises(MismatchError, match="sag-nus needs the log"):
        make_solver("sag-nus", goal_of(hinge))


def test_one_compilation_serves_all() -> None:
    for (structure, loss, options), sampling in itertools.product(CASES, SAMPLINGS):
        for l1 in (0.0, 0.1):
            problem = make_instance(structure, loss, **options).problem
            # Numbers may be whole, as on the command line.
            more = {"sampling": sampling, "first_curvature": 1, "share": 1}
            if sampling != "uniform":
                more["skipping"] = np.bool_(True)
            fit = train(problem, 1.0, l1=l1, solver="saga", tol=0.1, options=more)
            assert relative_gap(fit.certificate.primal, fit.certificate.dual) <= 0.1
    assert len(sag_epoch.signatures) == 1


def test_a_variance_reduced_epoch() -> None:
    """Two gradients per step and all of them once; the dual is that at the anchor."""
    instance = make_instance("chain", "log", 3, n=10, weighted=True)
    problem = instance.problem
    machine = build(SVRG, instance, 2.0, eta=0.02, inner=1.5)
    live = np.count_nonzero(problem.arrays.weight)
    assert live == 9
    for _ in range(3):
        anchor = machine.current_weights()
        epoch = machine.epoch()
        assert epoch.passes == pytest.approx(1.0 + 2.0 * round(1.5 * live) / 10.0)
        value = machine.certify(anchor)
        assert epoch.dual >= value.dual
        assert epoch.gap_estimate <= value.gap
        np.testing.assert_allclose(machine.memory.d, -machine.evaluator.slope(anchor).v, atol=1e-12)
    assert build(SVRG, instance, 2.0).rule.share == 0.25
    # One step at least.
    assert build(SVRG, instance, 2.0, eta=0.02, inner=1e-3).epoch().passes == pytest.approx(1.2)


def test_memory_of_the_gradients() -> None:
    instance = make_instance("chain", "log", n=5, n_labels=3, n_features=5)
    got = gradient_memory(instance.problem)
    assert isinstance(instance.structure, Chain)
    lengths = instance.lengths
    explicit = Explicit(instance, 1.0)
    assert got.dense == 5 * instance.problem.layout.n_weights
    assert got.mixed == sum(3 * n + 9 + 3 for n in lengths) == instance.problem.n_parts
    assert got.marginals == sum(3 * n + 9 * (n - 1) + 3 for n in lengths)
    touched = [np.any(f != 0, axis=0) for f in explicit.features]
    assert got.sparse == sum(np.count_nonzero(one) for one in touched)
    assert build(BatchSAG, instance, 1.0, batch=1).kept.size == got.sparse
    together = np.count_nonzero(np.any(touched[:3], axis=0)) + np.count_nonzero(
        np.any(touched[3:], axis=0)
    )
    assert build(BatchSAG, instance, 1.0, batch=3).kept.size == together < got.sparse
