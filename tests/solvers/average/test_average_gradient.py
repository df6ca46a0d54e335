"""The steps of SAG and SAGA: lazily, the same as with every weight written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dense_gradients import CASES, Dense, build
from support.instances import Explicit, make_instance

from partwise.problem.design import scatter
from partwise.solvers.average.average_gradient import line_search
from partwise.solvers.average.lazy import clear
from partwise.solvers.average.memory import (
    BETA,
    CHOSEN,
    CROSS,
    LARGEST,
    LINEAR,
    NORM,
    SAMPLINGS,
    SEARCHES,
    SQUARE,
)
from partwise.solvers.average.mini_batches import BatchSAG
from partwise.solvers.average.sag import SAG, SAGA
from partwise.solvers.average.svrg import SVRG


def follow(machine: Any, explicit: Explicit, epochs: int) -> None:
    """Compare the weights with the dense version after every epoch."""
    dense = Dense(machine, explicit)
    coins = np.random.default_rng(0)
    for k in range(epochs):
        calls = dense.calls
        first = 1.0 if k == 0 and dense.g else 0.0  # the pass that found all gradients
        epoch = machine.epoch()
        for row in coins.random((dense.n, 3)):
            dense.visit(row)
        if dense.rule.l1:
            dense.step = dense.alpha()
        w = machine.current_weights()
        np.testing.assert_allclose(w, dense.w, atol=1e-10 * max(1.0, np.abs(dense.w).max()))
        paid = (dense.calls - calls) / machine.problem.n_examples
        assert epoch.passes == pytest.approx(first + paid)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", [SAG, SAGA])
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_lazy_steps_are_those_of_the_algorithm(kind: type[Any], sampling: str, case: Any) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    machine = build(kind, instance, 0.7, sampling=sampling)
    follow(machine, Explicit(instance, 0.7), 12)


@pytest.mark.parametrize(
    ("sampling", "options"),
    [
        ("uniform", {"first_curvature": 1.0}),
        ("uniform", {"first_curvature": 1e-3}),
        ("uniform", {"eta": 0.02}),
        ("uniform", {"eta": "bound"}),
        ("nus", {"first_curvature": 1.0}),
        ("nus", {"first_curvature": 1e-3, "skipping": False}),
        ("nus", {"eta": 0.02}),
        ("nus", {"eta": "bound"}),
        ("nus-2013", {"first_curvature": 1.0}),
        ("nus-2013", {"first_curvature": 0.1, "skipping": True}),
    ],
)
@pytest.mark.parametrize("kind", [SAG, SAGA])
def test_published_steps_are_those_of_the_algorithm(
    kind: type[Any], sampling: str, options: dict[str, Any]
) -> None:
    instance = make_instance("chain", "softmax-margin", 4, n=7, weighted=True, constrained=True)
    machine = build(kind, instance, 0.7, sampling=sampling, **options)
    follow(machine, Explicit(instance, 0.7), 12)


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_steps_with_two_gradients_are_those_of_appendix_b(case: Any, warm: bool) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    start = instance.problem.storage.zeros() if warm else None
    more = {"sampling": "proportional", "initial_weights": start}
    for eta in ("theorem", 0.03):
        machine = build(SAGA, instance, 0.7, eta=eta, **more)
        explicit = Explicit(instance, 0.7)
        dense = Dense(machine, explicit)
        coins = np.random.default_rng(0)
        for epoch in range(5):
            found = machine.epoch()
            for row in coins.random((dense.n, 3)):
                dense.two_gradients(row, None)
            w = machine.current_weights()
            np.testing.assert_allclose(w, dense.w, atol=1e-10 * max(1.0, np.abs(dense.w).max()))
            paid = 2.0 * dense.n / machine.problem.n_examples + (epoch == 0 and warm)
            assert found.passes == pytest.approx(paid)


@pytest.mark.parametrize(
    "options", [{}, {"share": 1.0}, {"eta": 0.05, "inner": 0.6}, {"sampling": "proportional"}]
)
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_variance_reduced_steps_are_those_of_the_algorithm(
    case: Any, options: dict[str, Any]
) -> None:
    structure, loss, more = case
    instance = make_instance(structure, loss, 4, n=7, **more)
    if "sampling" in options:
        options = {**options, "eta": "theorem"}
    machine = build(SVRG, instance, 0.7, **options)
    dense = Dense(machine, Explicit(instance, 0.7))
    dense.L_g = 1.0
    coins = np.random.default_rng(0)
    for _ in range(4):
        calls = dense.calls
        found = machine.epoch()
        anchor = dense.all_gradients()
        for row in coins.random((round(options.get("inner", 2.0) * dense.n), 3)):
            dense.two_gradients(row, anchor)
        w = machine.current_weights()
        np.testing.assert_allclose(w, dense.w, atol=1e-10 * max(1.0, np.abs(dense.w).max()))
        assert found.passes == pytest.approx((dense.calls - calls) / machine.problem.n_examples)


@pytest.mark.parametrize(
    "options",
    [{"batch": 1}, {"batch": 3}, {"batch": 9}, {"batch": 2, "first_curvature": 0.01},
     {"batch": 2, "eta": 0.05}],
)  # fmt: skip
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_steps_of_mini_batches_are_those_of_algorithm_1(case: Any, options: dict[str, Any]) -> None:
    """Algorithm 1 where a term of the mean is the loss of a mini-batch."""
    structure, loss, more = case
    instance = make_instance(structure, loss, 4, n=7, **more)
    machine = build(BatchSAG, instance, 0.7, **options)
    dense = Dense(machine, Explicit(instance, 0.7))
    dense.L_g = options.get("first_curvature", 1.0)
    size = options["batch"]
    batches = [dense.live[k : k + size] for k in range(0, len(dense.live), size)]
    n = dense.n = len(batches)
    lam, kept = 0.7 / n, {}
    dense.value = lambda k, w: float(  # type: ignore[method-assign,assignment]
        (dense.explicit.weight * dense.explicit.losses(w))[batches[k]].sum()
    )
    single = Dense(machine, dense.explicit)
    coins = np.random.default_rng(0)
    for _ in range(12):
        found, calls = machine.epoch(), 0.0
        for row in coins.random((n, 3)):
            k = int(row[0] * n)
            dense.calls = 0
            single.w = dense.w
            g = np.sum([single.gradient(i)[1] for i in batches[k]], axis=0)
            if not dense.rule.fixed:
                dense.L_g, _ = dense.search(k, dense.value(k, dense.w), g, dense.L_g)
            calls += (1 + dense.calls) * len(batches[k])
            alpha = dense.rule.fixed or 1.0 / (dense.L_g + lam)
            kept[k] = g
            d = np.sum(list(kept.values()), axis=0)
            dense.w = (1.0 - alpha * lam) * dense.w - alpha * d / len(kept)
            dense.L_g *= 2 ** (-1 / n)
        w = machine.current_weights()
        np.testing.assert_allclose(w, dense.w, atol=1e-10 * max(1.0, np.abs(dense.w).max()))
        assert found.passes == pytest.approx(calls / machine.problem.n_examples)


@pytest.mark.parametrize("kind", [SAG, SVRG])
def test_L_does_not_fall_without_end(kind: type[Any]) -> None:
    """Not below 1e-6 lambda, where 1 / (L + lambda) hardly depends on it."""
    machine = build(kind, make_instance(n=7), 700.0)
    machine.memory.least[:] = np.inf  # no searches
    for _ in range(15):
        machine.epoch()
    assert machine.memory.totals[LARGEST] == pytest.approx(1e-6 * 100.0, rel=1e-12)
    alone = build(SAG, make_instance(n=7), 700.0, sampling="nus")
    alone.memory.least[:] = np.inf
    alone.memory.curvature[:] = 1e-12
    alone.memory.totals[CHOSEN] = 7.0
    for _ in range(5):
        alone.epoch()
    assert alone.memory.curvature.max() == pytest.approx(1e-6 * 100.0, rel=1e-12)


@pytest.mark.parametrize("scale", [30.0, 1e-3])
def test_no_search_where_the_gradient_is_almost_0(scale: float) -> None:
    """Algorithm 1, line 12: |g|^2 > 1e-8, or in proportion where features are small."""
    instance = make_instance("multiclass", "log", n=3)
    instance.problem.arrays.design.value[:] *= scale
    machine = build(SAG, instance, 0.7)
    memory, arrays = machine.memory, machine.problem.arrays
    delta = np.array([1.0, -0.5, -0.5])
    for i in range(3):
        square = scatter(arrays.design, i, delta, memory.room)
        clear(arrays.design, i, memory.room)
        x = instance.problem.diameter[i] ** 2
        gate = 1e-8 * min(1.0, x)
        assert (x > 1.0) == (scale > 1.0)
        for share, searched in ((0.98, False), (1.02, True)):
            given = delta * np.sqrt(share * gate / square)
            _, trials = line_search(arrays, i, 1.0, 0.0, given, 1.0, memory, machine.buffers)
            assert (trials > 0) == searched


@pytest.mark.parametrize(
    ("sampling", "eta"),
    [
        ("uniform", "theorem"),
        ("nus", "theorem"),
        ("nus", 0.01),
        *((sampling, "search") for sampling in SAMPLINGS),
    ],
)
@pytest.mark.parametrize("case", CASES, ids=[c[0] + "-" + c[1] for c in CASES])
def test_lazy_proximal_steps_are_those_of_the_algorithm(sampling: str, case: Any, eta: Any) -> None:
    structure, loss, options = case
    instance = make_instance(structure, loss, 4, n=7, **options)
    machine = build(SAGA, instance, 0.7, sampling=sampling, l1=0.4, eta=eta)
    follow(machine, Explicit(instance, 0.7), 12)


def test_the_scale_is_reset_before_it_vanishes() -> None:
    # With so large an l2 a step leaves little of the weights.
    instance = make_instance("chain", "log", 2, n=8)
    machine = build(SAG, instance, 1e5)
    dense = Dense(machine, Explicit(instance, 1e5))
    scales = []
    coins = np.random.default_rng(0)
    for _ in range(30):
        machine.epoch()
        scales.append(machine.memory.totals[BETA])
        for row in coins.random((dense.n, 3)):
            dense.visit(row)
    assert min(scales) > 0.0
    assert (np.diff(scales) > 0.0).any()  # it began anew
    scale = np.abs(dense.w).max()
    np.testing.assert_allclose(machine.current_weights(), dense.w, atol=1e-10 * scale)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("kind", [SAG, SAGA])
def test_running_values_do_not_drift(kind: type[Any], sampling: str) -> None:
    instance = make_instance("chain", "softmax-margin", 8, n=20, weighted=True)
    machine = build(kind, instance, 0.05, sampling=sampling)
    for _ in range(100):
        machine.epoch()
    running = machine.memory.totals.copy()
    d = machine.memory.d.copy()
    machine.evaluate()
    np.testing.assert_allclose(machine.memory.d, d, atol=1e-11)
    for total in (NORM, CROSS, SQUARE, LINEAR):
        assert running[total] == pytest.approx(machine.memory.totals[total], rel=1e-9)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, 1e300, 0.0])
@pytest.mark.parametrize("start", [5e-324, 1.0, 1.7e308])
def test_the_search_for_a_curvature_ends(value: float, first: bool, start: float) -> None:
    """Whatever the value is said to be: there are some 2,100 powers of two."""
    machine = build(SAG, make_instance(n=3), 0.7)
    machine.epoch()
    memory, arrays = machine.memory, machine.problem.arrays
    memory.totals[SEARCHES] = 0.0 if first else 1.0
    gradient = np.array([1.0, -0.5, -0.5])
    found, trials = line_search(arrays, 0, value, 0.0, gradient, start, memory, machine.buffers)
    assert 1 <= trials <= 4200
    assert found >= 0.0
    assert not np.any(memory.room)
