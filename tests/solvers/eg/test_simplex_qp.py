"""Exponentiated gradient for quadratic programs, and Bartlett et al. (2004) about it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse.linalg import aslinearoperator
from support.instances import Explicit, batch, make_instance
from support.optima import quadratic_program, simplex_minimum

from partwise import minimise_quadratic
from partwise.arrays import Floats
from partwise.errors import DataError
from partwise.solvers.eg.simplex_qp import theorem_step
from partwise.training.loop import train


def drawn(seed: int, sizes: Any, rank: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    g = rng.normal(size=(int(np.sum(sizes)), rank))
    return g @ g.T / rank, rng.normal(size=len(g))


def quadratic(a: Floats, b: Floats, x: Floats) -> float:
    return float(b @ x + 0.5 * (x @ a @ x))


def solved(a: Floats, b: Floats, sizes: Any) -> Floats:
    """The minimum by another method."""
    sums = block_diag(*[np.ones((1, k)) for k in sizes])
    middle = np.concatenate([np.full(k, 1.0 / k) for k in sizes])
    found = minimize(
        lambda x: quadratic(a, b, x),
        middle,
        jac=lambda x: b + a @ x,
        bounds=[(0.0, 1.0)] * len(b),
        constraints=[LinearConstraint(sums, 1.0, 1.0)],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    x = np.maximum(found.x, 0.0)
    return np.concatenate([p / p.sum() for p in np.split(x, np.cumsum(sizes)[:-1])])


@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    rank=st.integers(1, 30),
)
def test_the_minimum_is_that_of_another_method(seed: int, sizes: list[int], rank: int) -> None:
    a, b = drawn(seed, sizes, rank)
    other = solved(a, b, sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    slope = b + a @ other
    best, rest = quadratic(a, b, other), slope @ other - np.minimum.reduceat(slope, first).sum()
    assert rest <= 1e-4  # how far the other method may be from the minimum
    result = minimise_quadratic(a, b, sizes, tol=1e-7, max_iter=50_000)
    assert result.value == pytest.approx(quadratic(a, b, result.x), abs=1e-10)
    assert result.value - result.gap - 1e-9 <= best
    assert best - rest - 1e-9 <= result.value <= best + 1e-7 * max(1.0, abs(result.value))
    assert result.converged
    assert result.x.min() >= 0.0
    np.testing.assert_allclose(np.add.reduceat(result.x, first), 1.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_gap_is_a_millionth_unless_another_is_asked_for(seed: int) -> None:
    a, b = drawn(seed, [4, 4, 4], 4)
    result = minimise_quadratic(a, b, [4, 4, 4])
    assert result.converged
    assert result.gap <= 1e-6 * max(1.0, abs(result.value))
    assert result.iterations < minimise_quadratic(a, b, [4, 4, 4], tol=1e-8).iterations


@pytest.mark.parametrize("seed", range(4))
def test_the_steps_of_figure_3(seed: int) -> None:
    sizes = [3, 1, 4]
    a, b = drawn(seed, sizes, 5)
    start = np.array([0.2, 0.3, 0.5, 1.0, 0.1, 0.2, 0.3, 0.4])
    x = start.copy()
    for t in range(1, 8):
        s = b + a @ x
        x = np.concatenate(
            [
                p * np.exp(-0.3 * q)
                for p, q in zip(np.split(x, [3, 4]), np.split(s, [3, 4]), strict=True)
            ]
        )
        x = np.concatenate([p / p.sum() for p in np.split(x, [3, 4])])
        result = minimise_quadratic(a, b, sizes, step=0.3, start=start, tol=1e-15, max_iter=t)
        np.testing.assert_allclose(result.x, x, atol=1e-13)
        assert result.iterations == t


def begins(sizes: Any) -> Any:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]])


def widest(a: Floats, b: Floats, sizes: Any) -> float:
    """B: how far two parts of the slope are apart at most; the slope is largest at corners."""
    most = -np.inf
    for corner in itertools.product(*[range(k) for k in sizes]):
        slope = b + a[:, begins(sizes) + np.array(corner)].sum(axis=1)
        most = max(most, float(slope.max() - slope.min()))
    return most


def kl(p: Floats, q: Floats) -> float:
    used = p > 0.0
    return float(p[used] @ np.log(p[used] / q[used]))


def iterates(a: Floats, b: Floats, sizes: Any, x: Floats, step: Any, count: int) -> list[Floats]:
    """x_1 to x_count+1 of minimise_quadratic, which gives the last one only."""
    return [x] + [
        minimise_quadratic(a, b, sizes, step=step, start=x, tol=1e-300, max_iter=t).x
        for t in range(1, count + 1)
    ]


def bound_of_theorem_2(eta: float, b: float, largest: float, away: float, fall: float) -> float:
    """T times the right side less Q(u), for any step that the theorem is about."""
    left = 1.0 - eta * (b + largest) * np.exp(eta * b)
    assert left > 0.0
    x = eta * b
    factor = (np.exp(x) - 1.0 - x) / x**2 if x else 0.5
    return float(away / eta + factor / left * fall)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [[6], [3, 1, 4], [2] * 8])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.55])
def test_theorem_2(seed: int, sizes: list[int], share: float) -> None:
    """The mean of Q(x_1) to Q(x_T) is below its bound, for u the minimum and any other."""
    a, b = drawn(seed, sizes, 4)
    bend, most = float(np.linalg.eigvalsh(a)[-1]), widest(a, b, sizes)
    eta = share / (most + bend)
    middle = np.concatenate([np.full(k, 1.0 / k) for k in sizes])
    x = iterates(a, b, sizes, middle, eta, 40)
    q = [quadratic(a, b, p) for p in x]
    best = simplex_minimum(a, b, sizes)
    other = np.concatenate([p[::-1] for p in np.split(x[5], np.cumsum(sizes)[:-1])])
    for u in (best, other):
        at, away = quadratic(a, b, u), kl(u, middle)
        for t in range(1, len(x)):
            mean = float(np.mean(q[:t]))
            room = bound_of_theorem_2(eta, most, bend, away, q[0] - q[t])
            assert mean <= at + room / t + 1e-12
            assert q[t] <= mean + 1e-12
            if share == 0.4:
                room = 2.5 * (most + bend) * away + 1.5 * (q[0] - q[t])
                assert mean <= at + room / t + 1e-12
        # Lemma 1 with its slack, half of (u - x)'A(u - x): an equality that no other step has.
        for before, after in itertools.pairwise(x):
            d = u - before
            way = kl(u, before) - kl(u, after) + kl(before, after)
            fall = quadratic(a, b, before) - at
            assert eta * (fall + 0.5 * d @ a @ d) == pytest.approx(way, abs=1e-12)


def variance(x: Floats, slope: Floats, sizes: Any) -> float:
    """The variances of the slope within each simplex, added up."""
    first = begins(sizes)
    mean = np.add.reduceat(x * slope, first)
    return float((np.add.reduceat(x * slope**2, first) - mean**2).sum())


def tilted(x: Floats, by: Floats, sizes: Any) -> Floats:
    """x_ij exp(by_ij) / Z_i."""
    pieces = np.split(np.log(x) + by, np.cumsum(sizes)[:-1])
    return np.concatenate([np.exp(p - p.max()) / np.exp(p - p.max()).sum() for p in pieces])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [[6], [3, 1, 4], [2] * 8])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.567])
def test_lemmas_2_and_3(seed: int, sizes: list[int], share: float) -> None:
    a, b = drawn(seed, sizes, 4)
    bend, most = float(np.linalg.eigvalsh(a)[-1]), widest(a, b, sizes)
    eta = share / (most + bend)
    x = iterates(a, b, sizes, np.concatenate([np.full(k, 1.0 / k) for k in sizes]), eta, 15)
    for before, after in itertools.pairwise(x):
        slope = b + a @ before
        np.testing.assert_allclose(after, tilted(before, -eta * slope, sizes), atol=1e-12)
        spread = variance(before, slope, sizes)
        # Lemma 2: an equality, and the bound by the variance.
        centred = slope - np.repeat(np.add.reduceat(before * slope, begins(sizes)), sizes)
        logs = np.log(np.add.reduceat(before * np.exp(-eta * centred), begins(sizes))).sum()
        assert kl(before, after) == pytest.approx(logs, abs=1e-14)
        y = eta * most
        assert logs <= (np.exp(y) - 1.0 - y) / most**2 * spread + 1e-15
        # Lemma 3: what a step gains, and the variances on the way.
        ways = [
            variance(tilted(before, -s * eta * slope, sizes), slope, sizes)
            for s in np.linspace(0.0, 1.0, 21)
        ]
        gain = quadratic(a, b, before) - quadratic(a, b, after)
        assert eta * spread - eta**2 * (most + bend) * max(ways) <= gain + 1e-14
        assert max(ways) <= np.exp(y) * spread + 1e-14
        left = 1.0 - eta * (most + bend) * np.exp(y)
        assert eta * left * spread <= gain + 1e-14
        assert gain >= -1e-14


def test_lemmas_2_and_3_where_they_are_tight() -> None:
    """A rare label that is B better than another: both bounds are reached."""
    most, rare = 2.0, 1e-9
    x, slope = np.array([rare, 1.0 - rare]), np.array([-most, 0.0])
    spread = variance(x, slope, [2])
    for eta in (0.2, 0.5, 1.0):
        y = eta * most
        after = minimise_quadratic(
            np.zeros((2, 2)), slope, [2], step=eta, start=x, tol=1e-300, max_iter=1
        ).x
        expected = (np.exp(y) - 1.0 - y) / most**2 * spread
        # The sum of terms of both signs and of size 1e-9 has lost half of the digits.
        assert kl(x, after) == pytest.approx(expected, rel=1e-5)
        assert variance(after, slope, [2]) == pytest.approx(np.exp(y) * spread, rel=1e-6)
    # The limit of lemma 3, where lambda vanishes beside B: y exp(y) = 1.
    limit = 0.567
    assert limit * np.exp(limit) < 1.0 < (limit + 0.001) * np.exp(limit + 0.001)


def test_the_factor_of_lemma_3() -> None:
    """Of B + lambda, nearly half of B is needed: where the worse of two labels is rare."""
    slope, sizes, needed = np.array([0.0, 2.0]), [2], []
    for share in (0.05, 0.2, 0.567):
        eta, before = share / 2.0, np.array([1.0 - 1e-4, 1e-4])
        ways = [
            variance(tilted(before, -s * eta * slope, sizes), slope, sizes)
            for s in np.linspace(0.0, 1.0, 21)
        ]
        gain = slope @ (before - tilted(before, -eta * slope, sizes))
        needed.append((eta * ways[0] - gain) / (eta**2 * max(ways)))
    assert 0.45 * 2.0 < max(needed) <= 2.0


@pytest.mark.parametrize("kind", ["multiclass", "chain", "untied"])
def test_theorem_1(kind: str) -> None:
    """Figure 2 on parts takes the steps of Figure 3 on labels, for the same eta."""
    instance = make_instance(kind, "hinge", 2, n=4)
    explicit = Explicit(instance, 0.7)
    a, b, sizes = quadratic_program(explicit)
    machine = batch(instance, 0.7, start=1.5, eta=0.05)
    first = np.concatenate(explicit.distributions(machine.duals.theta))
    for t in range(1, 9):
        machine.epoch()
        labels = np.concatenate(explicit.distributions(machine.duals.theta))
        result = minimise_quadratic(a, b, sizes, step=0.05, start=first, tol=1e-300, max_iter=t)
        np.testing.assert_allclose(labels, result.x, atol=1e-12)
        assert machine.running_dual(0.7) == pytest.approx(-result.value, rel=1e-11)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_theorem_2_on_structured_labels(kind: str) -> None:
    """With its step, whose B and lambda are those of all labels written out."""
    instance = make_instance(kind, "hinge", 4, n=3, lengths=[2, 3, 2])
    explicit = Explicit(instance, 2.0)
    a, b, sizes = quadratic_program(explicit)
    eta = theorem_step(a, b, begins(sizes))
    machine = batch(instance, 2.0, start=0.0, eta=eta)
    u = np.concatenate(explicit.distributions(machine.duals.theta))
    best = simplex_minimum(a, b, sizes)
    away, value, q = kl(best, u), quadratic(a, b, best), [-machine.running_dual(2.0)]
    for t in range(1, 60):
        q.append(-machine.epoch().dual)
        room = (2.5 * 0.4 / eta * away + 1.5 * (q[0] - q[-1])) / t
        assert q[-1] <= np.mean(q[:-1]) + 1e-12
        assert np.mean(q[:-1]) <= value + room + 1e-12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [[6], [3, 1, 4], [2] * 8])
def test_the_step_of_theorem_2(seed: int, sizes: list[int]) -> None:
    a, b = drawn(seed, sizes, 4)
    bend = float(np.linalg.eigvalsh(a)[-1])
    # The bound on B takes the largest part of the slope at one corner, the smallest at another.
    split = [np.split(row, np.cumsum(sizes)[:-1]) for row in a]
    high = max(c + sum(p.max() for p in row) for c, row in zip(b, split, strict=True))
    low = min(c + sum(p.min() for p in row) for c, row in zip(b, split, strict=True))
    assert widest(a, b, sizes) <= high - low <= 2.0 * (len(sizes) * np.abs(a).max() + max(abs(b)))
    eta = 0.4 / (high - low + bend)
    assert theorem_step(a, b, begins(sizes)) == pytest.approx(eta, rel=1e-12)
    middle = np.concatenate([np.full(k, 1.0 / k) for k in sizes])
    by_name, by_number = (iterates(a, b, sizes, middle, step, 10) for step in ("theorem", eta))
    np.testing.assert_allclose(by_name, by_number, atol=1e-12)


def test_theorem_2_where_it_is_tight() -> None:
    """A linear program from far away: the mean stays at its bound until x is there.

    With 0.8 or 0.3 of the step the bound is broken.
    """
    a, b, sizes = np.zeros((4, 4)), np.array([0.0, 1.0, 0.0, 1.0]), [2, 2]
    far = 1e-16
    start = np.array([far, 1.0 - far] * 2)
    u = np.array([1.0, 0.0, 1.0, 0.0])
    assert theorem_step(a, b, begins(sizes)) == pytest.approx(0.4)

    def tightest(step: float | str) -> float:
        q = [quadratic(a, b, p) for p in iterates(a, b, sizes, start, step, 120)]
        parts = []
        for t in range(1, len(q)):
            room = (2.5 * kl(u, start) + 1.5 * (q[0] - q[t])) / t
            parts.append(float(np.mean(q[:t])) / room)
        return max(parts)

    assert 0.9 < tightest("theorem") <= 1.0
    assert tightest(0.8 * 0.4) > 1.05
    assert tightest(0.3 * 0.4) > 1.2


def test_steps_that_are_too_long_rise() -> None:
    """Two parts that pull apart: beyond 8 / (B + lambda) the values rise, up to 0.4 they fall."""
    a, b, sizes = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.zeros(2), [2]
    step = theorem_step(a, b, begins(sizes))
    assert step == pytest.approx(0.4 / 4.0)
    start = np.array([0.6, 0.4])
    for times, rises in ((1.0, False), (19.0, False), (21.0, True)):
        q = [quadratic(a, b, p) for p in iterates(a, b, sizes, start, times * step, 3)]
        assert all(after > before for before, after in itertools.pairwise(q)) == rises
        assert all(after < before for before, after in itertools.pairwise(q)) != rises


@pytest.mark.parametrize("step", ["search", "theorem", 0.05])
def test_every_kind_of_matrix(step: float | str) -> None:
    sizes = [4] * 5
    a, b = drawn(3, sizes, 8)
    a[np.abs(a) < 0.2] = 0.0
    a += 2.0 * len(a) * 0.2 * np.eye(len(a))
    dense = minimise_quadratic(a, b, sizes, step=step, max_iter=300)
    for other in (sp.csr_matrix(a), sp.coo_array(a), a.tolist()):
        found = minimise_quadratic(other, b, sizes, step=step, max_iter=300)
        np.testing.assert_allclose(found.x, dense.x, atol=1e-12)
    if step == "theorem":
        with pytest.raises(DataError, match="needs the entries of A"):
            minimise_quadratic(aslinearoperator(a), b, sizes, step=step)
    else:
        found = minimise_quadratic(aslinearoperator(a), b, sizes, step=step, max_iter=300)
        np.testing.assert_allclose(found.x, dense.x, atol=1e-12)


def test_a_large_matrix_has_a_smaller_step() -> None:
    m = 1200
    a, b = sp.eye_array(m, format="csr") * 2.0, np.arange(m) / m
    first = np.arange(0, m, 2)
    # Parts of the slope lie between b_i and b_i + 2, rows add up to 2.
    assert theorem_step(a, b, first) == pytest.approx(0.4 / (2.0 + b[-1] + 2.0))


def test_a_linear_program_ends_in_a_corner() -> None:
    b = np.array([3.0, 1.0, 2.0, 0.5, 0.1])
    result = minimise_quadratic(np.zeros((5, 5)), b, [3, 2], tol=1e-12)
    assert result.converged
    np.testing.assert_allclose(result.x, [0, 1, 0, 0, 1], atol=1e-11)
    assert result.value == pytest.approx(1.1)


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
def test_the_dual_of_the_hinge(kind: str) -> None:
    """Theorem 1: the max-margin dual is such a program."""
    instance = make_instance(kind, "hinge", 3, n=4, weighted=True)
    explicit = Explicit(instance, 2.0)
    result = minimise_quadratic(*quadratic_program(explicit), tol=1e-7)
    assert result.converged
    best = train(instance.problem, 2.0, solver="bcfw", tol=1e-7, max_passes=5000).certificate
    assert best.dual == pytest.approx(-result.value, rel=1e-6)


def test_what_is_refused() -> None:
    a, b = np.eye(3), np.zeros(3)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((np.eye(2), b), {}, r"A has shape \(2, 2\); expected \(3, 3\)"),
        ((a, [[1.0]]), {}, r"b has shape \(1, 1\)"),
        ((a, [0.0, np.nan, 0.0]), {}, "expected finite numbers"),
        ((np.diag([1.0, np.inf, 1.0]), b), {}, "A holds a number that is not finite"),
        ((np.triu(np.ones((3, 3))), b), {}, "A is not symmetric"),
        ((a, b, [2, 2]), {}, r"sizes \[2, 2\] do not split 3 variables"),
        ((a, b), {"start": [1.0, 0.0, 0.0]}, "finite numbers above 0"),
        ((a, b), {"start": [1.0, 1.0, 1.0]}, "does not add up to 1"),
        ((a, b), {"step": "big"}, "step is 'big'"),
        ((a, b), {"step": -1.0}, "step is -1.0"),
        ((np.diag([1.0, -2.0, 1.0]), np.arange(3.0)), {}, "negative curvature"),
    ]
    for arguments, options, message in wrong:
        with pytest.raises(DataError, match=message):
            minimise_quadratic(*arguments, **options)


@pytest.mark.parametrize(("scale", "step"), [(1e200, 1e300), (1e307, "theorem"), (1e307, 1e-3)])
def test_numbers_that_are_too_large(scale: float, step: Any) -> None:
    g = scale * np.array([[3.0, -1.0, 2.0], [-1.0, 5.0, 1.0], [2.0, 1.0, 9.0]])
    with pytest.raises(DataError, match="scale A and b, or use a smaller step"):
        minimise_quadratic(g, scale * np.array([9.0, -9.0, 3.0]), step=step, max_iter=50)


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1e-150, 1e100, 1e150, 1e300])
def test_tied_numbers_of_any_size_end(scale: float) -> None:
    """Steps are halved until float64 or the iterations end."""
    result = minimise_quadratic(
        scale * np.ones((6, 6)),
        scale * np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0]),
        [3, 3],
        max_iter=200,
    )
    assert result.converged or scale > 1.0
    np.testing.assert_allclose([result.x[:3].sum(), result.x[3:].sum()], 1.0, rtol=1e-12)
