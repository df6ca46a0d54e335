"""Lazy weights: any number of steps at once, two vectors at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.instances import make_instance, variants

from partwise.problem.design import scatter, score
from partwise.solvers.average.lazy import catch_up, catch_up_all, clear, settle, shrink_block
from partwise.solvers.average.two_vectors import scatter_both, score_both

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]
WEIGHT = st.floats(-3.0, 3.0) | st.just(0.0)


def one_step(w: float, pull: float, rest: float, kappa: float) -> float:
    moved = (1.0 - rest) * w - pull
    return float(np.sign(moved) * max(abs(moved) - kappa, 0.0))


def steps_of(w: float, pull: float, rest: float, kappa: float, steps: int) -> float:
    block = np.array([w])
    shrink_block(block, np.array([pull]), 1.0, rest, math.log1p(-rest), kappa, steps)
    return float(block[0])


@given(
    WEIGHT,
    st.floats(-0.2, 0.2) | st.just(0.0),
    st.sampled_from([1e-9, 1e-4, 0.03, 0.6, 0.99]),
    st.sampled_from([1e-6, 0.01, 0.1]),
    st.integers(1, 200),
)
@example(1.0, 0.1, 1e-9, 0.1, 5)  # reaches 0 and stays
@example(1.0, 0.3, 0.03, 0.1, 50)  # goes through to the other side
@example(0.0, -0.3, 0.03, 0.1, 50)  # leaves 0
@example(1.0, 1e3, 0.03, 0.1, 1)  # jumps over 0 in one step
def test_steps_in_closed_form(w: float, pull: float, rest: float, kappa: float, n: int) -> None:
    expected = w
    for _ in range(n):
        expected = one_step(expected, pull, rest, kappa)
    got = steps_of(w, pull, rest, kappa, n)
    assert got == pytest.approx(expected, rel=1e-9, abs=1e-12 * (abs(w) + n * abs(pull) + 1.0))


@given(WEIGHT, st.floats(-0.2, 0.2), st.integers(1, 50), st.integers(1, 50))
def test_steps_compose(w: float, pull: float, first: int, second: int) -> None:
    half = steps_of(w, pull, 0.02, 0.05, first)
    both = steps_of(w, pull, 0.02, 0.05, first + second)
    assert steps_of(half, pull, 0.02, 0.05, second) == pytest.approx(both, abs=1e-12)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS[::4], ids=NAMES[::4])
def test_blocks_catch_up(kind: str, loss: str, options: Any, _name: str) -> None:
    problem = make_instance(kind, loss, 3, **options).problem
    storage, design = problem.storage, problem.arrays.design
    rng = np.random.default_rng(0)
    w, d = storage.zeros(), storage.zeros()
    places = storage.places()
    w[places], d[places] = rng.normal(size=(2, len(places)))
    expected = w.copy()
    stamp = np.zeros(storage.n_places, dtype=np.int64)
    edges = np.unique(np.append(storage.first, storage.n_places))
    numbers = (0.01, 0.02, 0.005)
    for now in range(1, 13):
        moved = 0.98 * expected - 0.01 * d
        expected = np.sign(moved) * np.maximum(np.abs(moved) - 0.005, 0.0)
        if now % 3 == 0:
            i = int(rng.integers(problem.n_examples))
            catch_up(design, i, w, d, stamp, now, *numbers)
            q, mine = np.empty((2, problem.max_parts))
            score(design, i, w, q)
            score(design, i, expected, mine)
            n = np.diff(problem.arrays.part_ptr)[i]
            np.testing.assert_allclose(q[:n], mine[:n], atol=1e-12)
    catch_up_all(edges, w, d, stamp, 12, *numbers)
    np.testing.assert_allclose(w, expected, atol=1e-12)
    assert not stamp.any()


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_two_vectors_at_once(kind: str, loss: str, options: Any, _name: str) -> None:
    problem = make_instance(kind, loss, 3, **options).problem
    storage, design = problem.storage, problem.arrays.design
    rng = np.random.default_rng(1)
    x, y = storage.zeros(), storage.zeros()
    places = storage.places()
    x[places], y[places] = rng.normal(size=(2, len(places)))
    for i, n in enumerate(np.diff(problem.arrays.part_ptr)):
        p, q, alone = np.zeros((3, problem.max_parts))
        score_both(design, i, x, y, p, q)
        score(design, i, x, alone)
        np.testing.assert_allclose(p[:n], alone[:n], atol=1e-14)
        score(design, i, y, alone)
        np.testing.assert_allclose(q[:n], alone[:n], atol=1e-14)
        delta = rng.normal(size=problem.max_parts)
        x2, y2 = x.copy(), y.copy()
        norm = scatter_both(design, i, delta, x, y, -0.3)
        assert norm == pytest.approx(scatter(design, i, delta, x2), abs=1e-10)
        scatter(design, i, -0.3 * delta, y2)
        np.testing.assert_allclose(x, x2, atol=1e-14)
        np.testing.assert_allclose(y, y2, atol=1e-14)


def test_clear_empties_the_places_of_an_example() -> None:
    problem = make_instance("chain", "log", 2, weights="observed").problem
    x = problem.storage.zeros()
    for i in range(problem.n_examples):
        delta = np.random.default_rng(i).normal(size=problem.max_parts)
        scatter(problem.arrays.design, i, delta, x)
        assert x.any()
        clear(problem.arrays.design, i, x)
        assert not x.any()


def test_settle() -> None:
    z, d = np.random.default_rng(0).normal(size=(2, 9))
    expected = 0.3 * (z - 0.7 * d)
    settle(z, d, 0.3, 0.7)
    np.testing.assert_allclose(z, expected)
