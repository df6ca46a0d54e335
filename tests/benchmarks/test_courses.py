"""The courses of methods, which the figures of the papers are drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")

from benchmarks import sequences
from benchmarks.papers.courses import (
    FLOOR,
    Descent,
    Limits,
    Method,
    Point,
    descend,
    follow,
    tuned,
)
from partwise.arrays import Floats
from partwise.problem.problem import Problem
from partwise.training.loop import train

EG, SAG, SGD = (Method(name, "", name) for name in ("online-eg", "sag", "sgd"))
TUNED = Method("sgd", "SG", "sgd", {"schedule": "constant"}, tuned=True)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return sequences.demo_text().build()


def test_a_descent_is_read_between_its_points() -> None:
    points = [Point(0.0, 0.0, 102.0), Point(2.0, 1.0, 101.0), Point(4.0, 2.0, 100.01)]
    descent = Descent(EG, points)
    assert descent.excess_at(2.0, 100.0) == pytest.approx(1.0)
    assert descent.excess_at(3.0, 100.0) == pytest.approx(0.1)
    assert descent.excess_at(5.0, 100.0) is None
    assert descent.seconds_to(1e-2, 100.0) == 1.0
    assert descent.seconds_to(1e-6, 100.0) is None
    assert descent.curve(100.01)[-1] == pytest.approx(FLOOR * 100.01)


def test_points_are_the_objective_of_the_weights(problem: Problem) -> None:
    certificate = train(problem, 1.0, tol=1e-8).certificate
    best = certificate.primal
    descent = follow(problem, 1.0, EG, Limits(60.0, math.inf, best))
    assert descent.dual <= best
    points = descent.points
    passes, seconds, objective, dual, _ = (np.array(column) for column in zip(*points, strict=True))
    assert (np.diff(passes) > 0.0).all()
    assert (np.diff(seconds) >= 0.0).all()
    assert (objective >= best * (1.0 - 1e-8)).all()
    assert objective[-1] == pytest.approx(best, rel=1e-4)
    assert dual[0] == -math.inf
    assert (np.diff(dual[1:]) >= -1e-9 * best).all()
    assert dual[-1] == pytest.approx(certificate.dual, rel=1e-4)


def test_a_budget_ends_a_descent(problem: Problem) -> None:
    assert len(follow(problem, 1.0, SAG, Limits(1e9, 0.0)).points) == 1


def test_a_divergence_is_infinite(problem: Problem) -> None:
    points = follow(problem, 1.0, SGD, Limits(20.0, math.inf), eta=1e200).points
    assert not math.isfinite(points[-1].objective)


def test_the_best_power_of_ten_is_taken(problem: Problem) -> None:
    descent = descend(problem, 1.0, TUNED, Limits(2.0, math.inf))
    assert descent.eta in descent.tried
    assert descent.tried[descent.eta] == min(descent.tried.values())


def test_runs_with_powers_of_ten_are_sorted(problem: Problem) -> None:
    runs = tuned(problem, 1.0, TUNED, Limits(2.0, math.inf))
    ends = [run.points[-1].objective for run in runs]
    assert len(runs) >= 3
    assert ends == sorted(ends)
    assert [run.tried[run.eta] for run in runs if run.eta] == ends
    # The neighbours of the best were tried.
    assert {round(math.log10(runs[0].eta or 1.0)) + k for k in (-1, 1)} <= {
        round(math.log10(run.eta or 1.0)) for run in runs
    }


def test_points_have_the_error_of_the_weights_of_the_model(problem: Problem) -> None:
    seen: list[Floats] = []

    def error(weights: Floats) -> float:
        seen.append(weights)
        return float(len(seen))

    points = follow(problem, 1.0, EG, Limits(3.0, error=error)).points
    assert [point.error for point in points] == [1.0, 2.0, 3.0, 4.0]
    assert {len(weights) for weights in seen} == {problem.layout.n_weights}


def test_points_may_be_few_and_include_the_last(problem: Problem) -> None:
    all_points = follow(problem, 1.0, EG, Limits(20.0)).points
    points = follow(problem, 1.0, EG, Limits(20.0, spacing=0.5)).points
    passes = np.array([point.passes for point in points])
    assert (passes[2:-1] >= 1.5 * passes[1:-2]).all()
    assert len(points) < len(all_points)
    assert points[-1][2:4] == all_points[-1][2:4]  # what is not looked at changes nothing
