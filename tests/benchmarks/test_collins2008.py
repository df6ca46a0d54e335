"""What the figures of Collins et al. (2008) are drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")

from benchmarks.papers.collins2008.data import images, trees
from benchmarks.papers.collins2008.images import EG
from benchmarks.papers.collins2008.runs import (
    chosen_eta,
    overtakes,
    run,
    settled_at,
    to_excess,
    to_gap,
)
from benchmarks.papers.collins2008.tables import TABLE_2, TABLE_3, bounds
from benchmarks.papers.courses import Descent, Point
from partwise.problem.evaluation import Evaluator
from partwise.training.loop import train


def course(*objectives: float, dual: float = 0.0, errors: tuple[float, ...] = ()) -> Descent:
    """A run with a point per pass."""
    errors = errors or (math.nan,) * len(objectives)
    pairs = zip(objectives, errors, strict=True)
    return Descent(EG, [Point(float(k), k / 10.0, x, dual, e) for k, (x, e) in enumerate(pairs)])


def test_what_is_read_from_a_run() -> None:
    found = course(100.0, 20.0, 11.0, 10.0, dual=9.9, errors=(50.0, 9.0, 7.1, 7.0))
    assert to_excess(found, 0.1, 10.0) == 2.0
    assert to_excess(found, 0.1, 10.0, "seconds") == pytest.approx(0.2)
    assert to_excess(found, 0.01, 9.0) == math.inf
    assert to_gap(found, 1.0, 10.0) == 3.0
    assert settled_at(found, 0.5) == 1.0


def test_when_a_run_overtakes_another() -> None:
    first, steady = course(100.0, 20.0, 11.0, 10.0), course(40.0, 14.0, 13.0, 12.0)
    assert overtakes(first, steady) == 2.0
    assert overtakes(first, steady, within=6.0) == 1.0
    assert overtakes(steady, first) == math.inf
    assert overtakes(course(1.0, 1.0), course(2.0, 2.0)) == 0.0


def test_the_tables_of_the_paper_add_up() -> None:
    # Up to the rounding of each number.
    assert sum(passes for passes, _ in TABLE_2) == pytest.approx(211.17, abs=0.13)
    assert sum(passes for passes, _ in TABLE_3) == pytest.approx(389.65, abs=0.13)
    assert min(error for _, error in TABLE_2) == TABLE_2[18][1]  # C = 1.62841
    assert max(score for _, score in TABLE_3) == TABLE_3[12][1]  # C = 13.841


def test_both_losses_share_the_features_of_a_task() -> None:
    for task in (images(True), trees(True)):
        fits = [
            train(problem, 10.0, solver=solver, tol=1e-3)
            for problem, solver in ((task.log, "lbfgs"), (task.hinge, "bcfw"))
        ]
        errors = [task.error(fit.weights) for fit in fits]
        zero = task.error(np.zeros(task.log.layout.n_weights))
        assert max(errors) < 0.3 * zero
        assert task.log.arrays.design is task.hinge.arrays.design


def test_the_error_of_images_is_that_of_the_scores() -> None:
    from benchmarks.data import digits

    task, (pixels, labels) = images(True), digits()
    weights = np.random.default_rng(0).normal(size=task.log.layout.n_weights)
    w = task.log.storage.scatter(weights)
    scores = Evaluator(task.log).scores(w).reshape(300, 10)
    block = weights[task.log.layout.first[:, None] + np.arange(10)]
    np.testing.assert_allclose(pixels[:300] @ block, scores, atol=1e-12)
    wrong = (pixels[300:400] @ block).argmax(axis=1) != labels[300:400]
    assert task.error(weights) == pytest.approx(100.0 * wrong.mean())


def test_runs_are_made_once_and_the_grid_chooses_one_of_its_steps() -> None:
    task = images(True)
    assert run(task, True, 10.0, EG) is run(task, True, 10.0, EG)
    assert chosen_eta(task, 10.0) in (1.0, 0.1, 0.01, 0.001, 0.0001)


def test_the_bounds_of_table_1() -> None:
    found, a = bounds(images(True), 10, 200.0)
    named = {one.name: one for one in found}
    assert a == pytest.approx(float((images(True).log.reach[:10] ** 2).max()) / 200.0)
    for kind in ("MM", "LL"):
        batch, online = named[f"Q_{kind}, batch"], named[f"Q_{kind}, online"]
        assert 0.0 < online.took <= online.bound < batch.bound
        assert 0.0 < batch.took <= batch.bound
