from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import Explicit, make_instance
from support.optima import optimal_duals

from partwise.errors import DataError
from partwise.training.loop import train
from partwise.training.path import best_of_runs
from partwise.training.result import Fit

#: Theorem 2: some visits with its longest step, drawn with replacement.
HOW: dict[str, Any] = {
    "solver": "online-eg",
    "options": {"preset": "collins2008-figure2"},
    "tol": 1e-300,
    "max_passes": 3.0,
    "quiet": True,
}


@pytest.mark.parametrize(("delta", "runs"), [(0.5, 1), (0.25, 2), (0.24, 3), (0.125, 3), (0.1, 4)])
def test_the_best_of_as_many_runs_as_it_takes(delta: float, runs: int) -> None:
    problem = make_instance("multiclass", n=9).problem
    found = best_of_runs(problem, 1.0, delta, seed=4, **HOW)
    generators = np.random.default_rng(4).spawn(runs)
    fits = [train(problem, 1.0, seed=generator, **HOW) for generator in generators]
    best = max(fits, key=lambda fit: fit.certificate.dual)
    np.testing.assert_array_equal(found.weights, best.weights)
    assert found.certificate.dual == best.certificate.dual
    assert found.certificate.passes == 3.0 * runs
    assert len({fit.certificate.dual for fit in fits}) == runs


def test_the_runs_are_independent() -> None:
    """The best of three misses a limit as often as three runs do, and twice the mean rarely."""
    instance = make_instance("multiclass", n=4, seed=3)
    explicit = Explicit(instance, 1.0)
    best = explicit.dual(optimal_duals(explicit)[0])
    how = {**HOW, "max_passes": 1.0}

    def missed(fit: Fit) -> float:
        return best - fit.certificate.dual

    alone = np.array([missed(train(instance.problem, 1.0, seed=s, **how)) for s in range(150)])
    three = np.array(
        [missed(best_of_runs(instance.problem, 1.0, 0.125, seed=s, **how)) for s in range(60)]
    )
    mean = alone.mean()
    assert 0.3 < np.mean(alone >= mean) < 0.8
    assert np.mean(three >= mean) == pytest.approx(np.mean(alone >= mean) ** 3, abs=0.08)
    assert np.mean(three >= 2.0 * mean) <= 0.125


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.5, "0.1", True])
def test_other_probabilities_are_refused(delta: Any) -> None:
    with pytest.raises(DataError, match=r"delta is .*; give a number between 0 and 1"):
        best_of_runs(make_instance().problem, 1.0, delta)
