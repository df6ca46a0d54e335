"""The iterates of the conjugate gradient method, against the formula of Polak and Ribiere."""

from __future__ import annotations

import numpy as np
from support.instances import Explicit, make_instance
from support.plain_descent import chances
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.problem.evaluation import Slope
from partwise.solvers.batch.conjugate_gradient import ConjugateGradient


def test_steps_go_along_conjugate_directions() -> None:
    """d = -g + b d, b = max(0, g.(g - g')/|g'|^2) with the gradient g' and direction of before."""
    instance = make_instance("chain", n=8)
    explicit, l2 = Explicit(instance, 0.5), 0.5

    def gradient(w: Floats) -> Floats:
        pulls = [chances(explicit, i, w) @ explicit.g[i] for i in range(8)]
        return np.asarray(l2 * w - np.sum(pulls, axis=0))

    machine = solver_of(ConjugateGradient, instance.problem, l2)
    w, before, d = machine.current_weights().copy(), None, np.zeros(0)
    values = [explicit.primal(w)]
    for _ in range(6):
        g = gradient(w)
        b = 0.0 if before is None else max(0.0, g @ (g - before) / (before @ before))
        d = -g + b * d if before is not None else -g
        machine.epoch()
        step = machine.current_weights() - w
        cosine = step @ d / np.sqrt((step @ step) * (d @ d))
        assert cosine > 1.0 - 1e-9
        w, before = w + step, g
        values.append(explicit.primal(w))
    assert (np.diff(values) < 0.0).all()


def test_every_slope_counts_as_a_pass() -> None:
    machine = solver_of(ConjugateGradient, make_instance("chain", n=8).problem, 0.5)
    slope, calls = machine.evaluator.slope, 0

    def counted(weights: Floats) -> Slope:
        nonlocal calls
        calls += 1
        return slope(weights)

    machine.evaluator.slope = counted  # type: ignore[method-assign, assignment]
    passes = sum(machine.epoch().passes for _ in range(5))
    assert passes == calls >= 5
