"""The starts by name, and how far each is from the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.class_data import classes, drawn
from support.solvers import solver_of

from partwise.errors import MismatchError, OptionError
from partwise.problem.problem import Problem
from partwise.solvers.coordinate.dual import DualCoordinateDescent
from partwise.solvers.coordinate.entropy_blocks import Epsilons


def alpha(problem: Problem, l2: float = 0.5, **options: Any) -> Any:
    return solver_of(DualCoordinateDescent, problem, l2, **options).blocks.alpha


def test_uniform_is_c_halves_for_two_classes() -> None:
    x, y = drawn(0, 12, 3, 2)
    c = np.linspace(0.5, 3.0, 12)
    found = alpha(classes(x, y, 2, c), start="uniform", group=False)
    np.testing.assert_allclose(found, np.stack([c / 2, c / 2], axis=1), rtol=1e-15)
    x, y = drawn(0, 12, 3, 4)
    found = alpha(classes(x, y, 4, c), start="uniform", group=False)
    np.testing.assert_allclose(found, np.repeat(c[:, None] / 4, 4, axis=1), rtol=1e-15)


def test_the_start_of_keerthi() -> None:
    # alpha_i = C / l+ or C / l-, on the wrong label, as a part of C.
    x = np.arange(30.0).reshape(10, 3)
    y = np.array([1, 1, 0, 1, 1, 1, 0, 1, 1, 0])
    found = alpha(classes(x, y, 2), start="keerthi")
    wrong = np.where(y == 1, 1.0 / 7.0, 1.0 / 3.0)
    np.testing.assert_allclose(found[np.arange(10), 1 - y], wrong, rtol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-14)
    # y'alpha = 0, which is why it was chosen for kernels with a bias.
    assert np.dot(2 * y - 1, found[np.arange(10), 1 - y]) == pytest.approx(0.0, abs=1e-14)
    # One example of a class would have alpha = C.
    y = np.array([1] + [0] * 9)
    found = alpha(classes(x, y, 2), start="keerthi")
    assert (found > 0.0).all()
    assert found[0, 0] == 0.5


def test_the_epsilons_are_options() -> None:
    x, y = drawn(1, 10, 3, 2)
    rows = np.arange(10)
    for l2, epsilons, expected in [
        (0.5, (0.2, 1e-3, 1e-10), 1e-3 * 0.5 / 2.0),  # epsilon_2 / C
        (0.5, (1e-5, 1.0, 1e-10), 1e-5),  # epsilon_1 C / C
    ]:
        found = alpha(classes(x, y, 2), l2, epsilons=epsilons)
        np.testing.assert_allclose(found[rows, 1 - y], expected, rtol=1e-12)
        np.testing.assert_allclose(found[rows, y], 1.0 - expected, rtol=1e-12)
    x, y = drawn(1, 10, 3, 4)
    found = alpha(classes(x, y, 4), epsilons=(0.5, 0.5, 0.03))
    np.testing.assert_allclose(np.sort(found, axis=1), [[0.01, 0.01, 0.01, 0.97]] * 10, rtol=1e-12)
    assert Epsilons() == (1e-3, 1e-8, 1e-10)


def test_the_start_near_zero_is_closer_than_the_others() -> None:
    """Section 3.4: C/2 is far away from the optimum."""
    x, y = drawn(2, 200, 5, 2)
    problem = classes(3.0 * x, y, 2)
    duals = {}
    for start in ("near-gold", "keerthi", "uniform"):
        machine = solver_of(DualCoordinateDescent, problem, 0.1, start=start)
        duals[start] = machine.evaluate().dual
    assert duals["near-gold"] > duals["keerthi"] > duals["uniform"]


def test_starts_that_do_not_fit() -> None:
    problem = classes(*drawn(3, 10, 3, 3), 3)
    with pytest.raises(MismatchError, match="keerthi' is for two classes, and there are 3"):
        alpha(problem, start="keerthi")
    with pytest.raises(MismatchError, match="epsilons of dual-cd are those of start='near-gold'"):
        alpha(problem, start="uniform", epsilons=(1e-2, 1e-8, 1e-10))
    with pytest.raises(OptionError, match="epsilons of dual-cd is"):
        alpha(problem, epsilons=(2.0, 1e-8, 1e-10))
