"""The places that examples touch, and sums over them, against whole vectors."""

from __future__ import annotations

import numpy as np
import pytest
from support.structure_cases import problem_of

from partwise.problem.design import scatter
from partwise.problem.problem import Problem
from partwise.solvers.blocks.places import Marks, Places, add_at, gather, subtract_at, take
from partwise.solvers.blocks.plan import Pass, Update
from partwise.solvers.blocks.vectors import Vectors

NAMES = ("chain", "multiclass", "projective", "grammar")


def every_place(places: Places) -> np.ndarray:
    runs = [np.arange(b, b + n) for b, n in zip(places.begin, places.size, strict=True)]
    return np.concatenate([*runs, np.zeros(0, np.int64)]).astype(np.int64)


@pytest.mark.parametrize("name", NAMES)
def test_a_visit_changes_only_what_is_touched(name: str) -> None:
    problem = problem_of(name, "log")
    design, n = problem.arrays.design, problem.storage.n_places
    marks = Marks(n)
    for examples in (np.array([0]), np.array([7, 2, 2]), np.arange(10)):
        places = marks.touched(design, examples)
        touched = every_place(places)
        assert len(np.unique(touched)) == len(touched) == places.total
        v = problem.storage.zeros()
        for i in examples:
            scatter(design, i, np.random.default_rng(i).normal(size=problem.max_parts), v)
        assert set(np.flatnonzero(v)) <= set(touched)


def test_places_of_no_example() -> None:
    problem = problem_of("chain", "log")
    none = np.zeros(0, dtype=np.int64)
    places = Marks(problem.storage.n_places).touched(problem.arrays.design, none)
    assert places.total == 0
    assert gather(places, problem.storage.zeros()).size == 0


def some_places(problem: Problem, examples: list[int]) -> Places:
    marks = Marks(problem.storage.n_places)
    return marks.touched(problem.arrays.design, np.array(examples))


def test_numbers_at_places() -> None:
    problem = problem_of("chain", "log")
    rng = np.random.default_rng(0)
    places = some_places(problem, [3, 4])
    where = every_place(places)
    v = rng.normal(size=problem.storage.n_places)
    before = v.copy()
    assert (gather(places, v) == before[where]).all()
    values = rng.normal(size=places.total)
    add_at(places, values, v, 2.0)
    expected = before.copy()
    expected[where] += 2.0 * values
    assert (v == expected).all()
    change = subtract_at(places, before[where], v, 4.0)
    assert (change == (expected[where] - before[where]) / 4.0).all()
    assert (v == before).all()
    assert (take(places, v) == before[where]).all()
    assert (v[where] == 0.0).all()
    assert np.count_nonzero(v != before) == np.count_nonzero(before[where])


def test_changes_are_added_in_their_order() -> None:
    problem = problem_of("chain", "log")
    vectors = Vectors(problem.storage, 0.0, False, False)
    lists = [some_places(problem, some) for some in ([0, 1], [1, 2], [5])]
    huge = [1e16, -1e16, 1.0]  # the sum depends on the order
    several = [(p, np.full(p.total, x)) for p, x in zip(lists, huge, strict=True)]
    places, sums = vectors.sum_of(several)
    expected = np.zeros(problem.storage.n_places)
    for p, values in several:
        expected[every_place(p)] += values
    assert (sums == expected[every_place(places)]).all()
    assert set(every_place(places)) == set(np.concatenate([every_place(p) for p in lists]))
    assert not vectors.room.any()


@pytest.mark.parametrize("l1", [0.0, 0.3])
@pytest.mark.parametrize("proximal", [False, True])
def test_the_average_is_that_of_the_rounds(l1: float, proximal: bool) -> None:
    problem = problem_of("chain", "log")
    rng = np.random.default_rng(0)
    vectors = Vectors(problem.storage, l1, proximal, False)
    vectors.v[:] = rng.normal(size=len(vectors.v))
    if proximal:
        vectors.centre[:] = rng.normal(size=len(vectors.v))
    k = 2.0 if proximal else 0.0
    vectors.begin(Pass(0, 1.5, k, False, 0, 4))
    near = vectors.v + (k * vectors.centre if proximal else 0.0)
    seen = []
    for r in range(4):
        places = some_places(problem, [r, r + 3])
        values = rng.normal(size=places.total)
        change = np.zeros(len(near))
        change[every_place(places)] = values
        old = shrunk_square(near, l1)
        assert vectors.norm_change(places, values) == pytest.approx(
            shrunk_square(near + change, l1) - old, rel=1e-9
        )
        vectors.apply(Update(places, values))
        near = near + change
        seen.append(near)
    mean = np.mean(seen, axis=0)
    expected = np.sign(mean) * np.maximum(np.abs(mean) - l1, 0.0) / (1.5 + k)
    np.testing.assert_allclose(vectors.averaged(), expected, rtol=1e-12, atol=1e-14)
    shrunk = np.sign(near) * np.maximum(np.abs(near) - l1, 0.0)
    np.testing.assert_allclose(vectors.w, shrunk, rtol=1e-12, atol=1e-14)
    vectors.begin(Pass(1, 1.5, k, proximal, 0, 4))
    if proximal:
        np.testing.assert_allclose(vectors.centre, expected, rtol=1e-12, atol=1e-14)


def shrunk_square(v: np.ndarray, by: float) -> float:
    return float((np.maximum(np.abs(v) - by, 0.0) ** 2).sum())
