"""Dual coordinate descent as published: its problem, its theorems, and its constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.class_data import classes, drawn
from support.solvers import solver_of

from partwise.errors import MismatchError, OptionError
from partwise.problem.problem import Problem
from partwise.solvers.coordinate.dual import DualCoordinateDescent, Tolerance
from partwise.solvers.coordinate.subproblem import Newton, find_contexts
from partwise.solvers.margin.crammer_singer import CrammerSinger
from partwise.training.loop import train

PRESETS = DualCoordinateDescent.presets


def descent(problem: Problem, l2: float, **options: Any) -> DualCoordinateDescent:
    return solver_of(DualCoordinateDescent, problem, l2, **options)


def solved(problem: Problem, l2: float, passes: int = 400, **options: Any) -> DualCoordinateDescent:
    machine = descent(problem, l2, **options)
    for _ in range(passes):
        machine.epoch()
    return machine


def test_logistic_regression_has_c_2_by_l2() -> None:
    """(1), (2) and (22): one vector w = w_1 - w_0, C = 2 / l2, and alpha C of the wrong label."""
    x, y = drawn(0, 30, 4, 2)
    l2, sign = 0.4, 2 * y - 1
    c = 2.0 / l2
    machine = solved(classes(x, y, 2), l2, group=False)
    value = machine.evaluate()
    storage = machine.problem.storage
    halves = storage.gather(value.weights)[storage.layout.first[:, None] + np.arange(2)]
    w = halves[:, 1] - halves[:, 0]
    alpha = c * machine.blocks.alpha[np.arange(30), 1 - y]
    np.testing.assert_allclose(w, (sign * alpha) @ x, rtol=1e-10)  # (22)
    primal = c * np.logaddexp(0.0, -sign * (x @ w)).sum() + 0.5 * w @ w
    assert primal == pytest.approx(c * value.primal, rel=1e-12)
    dual = 0.5 * w @ w + (alpha * np.log(alpha) + (c - alpha) * np.log(c - alpha)).sum()
    assert -dual + 30 * c * np.log(c) == pytest.approx(c * value.dual, rel=1e-12)
    # At the optimum alpha_i = C exp(-y_i w.x_i) / (1 + exp(-y_i w.x_i)).
    np.testing.assert_allclose(alpha, c / (1.0 + np.exp(sign * (x @ w))), rtol=1e-5)


def test_maximum_entropy_has_sigma_squared_n_by_l2() -> None:
    """(5), (38), (39) and (79), with the empirical distribution of the contexts."""
    x, y = drawn(1, 12, 4, 3, repeats=4)
    l2, n = 0.3, 48
    s2 = n / l2
    machine = solved(classes(x, y, 3), l2)
    value = machine.evaluate()
    w = machine.problem.layout.dense(machine.problem.storage.gather(value.weights), 0).T
    contexts = machine.contexts
    rows, p = x[contexts.first], contexts.counts / n
    scores = rows @ w.T
    primal = p.sum(axis=1) @ np.logaddexp.reduce(scores, axis=1) - (p * scores).sum()
    primal += np.vdot(w, w) / (2.0 * s2)
    assert n * primal == pytest.approx(value.primal, rel=1e-12)
    alpha = machine.blocks.alpha / n
    np.testing.assert_allclose(w, s2 * (p - alpha).T @ rows, rtol=1e-10)  # (39)
    total = p.sum(axis=1)
    dual = np.vdot(w, w) / (2.0 * s2) + (alpha * np.log(alpha)).sum()  # (38)
    assert -n * (dual - (total * np.log(total)).sum()) == pytest.approx(value.dual, rel=1e-12)
    # (75)
    soft = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    np.testing.assert_allclose(alpha, total[:, None] * soft, rtol=1e-5)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_theorems_1_and_7(n_labels: int) -> None:
    """There is one optimum, inside the bounds, and every start leads there.

    Lemma 1 is why: towards a bound the dual falls at once.
    """
    x, y = drawn(2, 40, 3, n_labels)
    problem = classes(x, y, n_labels)
    best = solved(problem, 0.3, group=False)
    alpha, optimum = best.blocks.alpha.copy(), best.evaluate().dual
    assert alpha.min() > 0.0
    starts: list[dict[str, Any]] = [{"start": "uniform"}, {"epsilons": (0.5, 10.0, 0.5)}]
    for options in starts:
        found = solved(problem, 0.3, group=False, **options).blocks.alpha
        np.testing.assert_allclose(found, alpha, rtol=1e-6)
    for label in range(n_labels):
        for rest in (1e-300, 1e-3 * float(alpha[0, label])):
            blocks = best.blocks
            blocks.alpha[:] = alpha
            blocks.alpha[0] *= (1.0 - rest) / (1.0 - alpha[0, label])
            blocks.alpha[0, label] = rest
            assert best.evaluate().dual < optimum - 1e-6 * alpha[0, label]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_published_forms_converge(preset: str, n_labels: int) -> None:
    """Theorems 6 and 9."""
    problem = classes(*drawn(4, 20, 3, n_labels, repeats=2), n_labels)
    best = train(problem, 0.5, solver="dual-cd", tol=1e-9).certificate.primal
    tol = 1e-6 if preset == "yu2011-algorithm3" else 1e-8
    fit = train(
        problem, 0.5, solver="dual-cd", tol=tol, max_passes=3000, options={"preset": preset}
    )
    assert fit.certificate.converged
    assert fit.certificate.primal == pytest.approx(best, rel=2.0 * tol)


def test_the_presets_have_the_constants_of_the_paper() -> None:
    problem = classes(*drawn(4, 10, 3, 3, repeats=2), 3)
    for preset in PRESETS:
        machine = descent(problem, 0.5, preset=preset)
        newton = machine.blocks.newton
        assert newton[1:] == Newton(0, 0.1, 0.1, 0.5, 0.01)[1:]
        assert machine.tolerance == Tolerance(1e-2, 1e-8, 0.1, 0.1)
        grouped = preset in ("yu2011-algorithm7", "yu2011-cddual-me")
        assert len(machine.contexts.first) == (10 if grouped else 20)
        visits = machine._draw()
        assert sorted(visits) == list(range(10 if grouped else 20))
        in_sequence = "algorithm" in preset
        assert (visits.tolist() == sorted(visits)) == in_sequence


def test_a_context_is_visited_once_or_as_often_as_it_has_examples() -> None:
    x = np.repeat(np.eye(4), [1, 2, 3, 6], axis=0)
    problem = classes(x, np.arange(12) % 3, 3)
    for once, order, expected in [
        (True, "sequence", [0, 1, 2, 3]),
        (False, "sequence", [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3]),
    ]:
        machine = descent(problem, 1.0, once=once, order=order)
        assert machine._draw().tolist() == expected
        assert machine.epoch().passes == len(expected) / 12
    machine = descent(problem, 1.0, once=True, order="permutation")
    orders = {tuple(machine._draw()) for _ in range(20)}
    assert len(orders) > 10
    assert {tuple(sorted(order)) for order in orders} == {(0, 1, 2, 3)}


@pytest.mark.parametrize(
    ("tolerance", "steps", "expected"),
    [
        (Tolerance(), 100, 1e-3),
        (Tolerance(), 101, 1e-2),
        ((1e-1, 1e-5, 0.5, 0.3), 300, 5e-2),
        ((1e-1, 1e-5, 0.5, 0.3), 301, 1e-1),
        ((1e-2, 5e-3, 0.1, 0.1), 0, 5e-3),
    ],
)
def test_the_tolerance_falls_after_an_epoch_of_few_steps(
    tolerance: Any, steps: int, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = descent(
        classes(*drawn(5, 1000, 3, 2), 2), 1.0, tolerance=tolerance, order="permutation"
    )
    asked = []

    def visit(order: Any, tol: float) -> tuple[int, int]:
        asked.append(tol)
        return -1, steps

    monkeypatch.setattr(machine.blocks, "epoch", visit)
    machine.epoch()
    assert asked == [machine.tolerance.first]
    assert machine.tol == pytest.approx(expected, rel=1e-12)


def test_algorithm_1_is_crammer_and_singers_method_for_two_classes() -> None:
    """(10): alpha + z = min(max(alpha - slope / Q_ii, 0), C), in parts of C = 2 / l2."""
    x, y = drawn(6, 25, 4, 2)
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.structures.multiclass import Multiclass

    problem = build_problem(
        Multiclass(2), np.ones(25, dtype=np.int64), [Rows.from_dense(x)],
        list(y[:, None]), make_loss("hinge", 2),
    )  # fmt: skip
    l2, sign, c = 0.3, 2 * y - 1, 2.0 / 0.3
    machine = solver_of(CrammerSinger, problem, l2)
    v = machine.problem.storage.zeros()
    alpha = np.zeros(25)
    mu = machine.mu.reshape(25, 2)
    v[:] = machine.evaluator.dual_sum(machine.mu)
    for i in range(25):
        alpha[i] = c * mu[i, 1 - y[i]]
    for i in [*range(25), *range(25)]:
        slope = sign[i] * ((sign * alpha) @ x) @ x[i] - 1.0
        alpha[i] = min(max(alpha[i] - slope / (x[i] @ x[i]), 0.0), c)
        machine.visit(np.array([i]), l2, v)
        np.testing.assert_allclose(c * mu[np.arange(25), 1 - y], alpha, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"newton": "bisection"}, "give block='violating' too"),
        ({"xi": 0.5}, "are about pairs of labels"),
        ({"tolerance": (1e-4, 1e-3)}, "falls from 0.0001 to 0.001, which is more"),
        ({"newton": "line-search", "block": "heap", "xi": 0.5}, "newton='line-search'.*has no xi"),
        ({"block": "cyclic", "gamma": 0.2}, "newton='modified' of dual-cd has no gamma; .*line-"),
        ({"newton": "bisection", "block": "heap", "xi": 0.2}, "newton='bisection'.*has no xi"),
    ],
)
def test_options_that_would_do_nothing(options: dict[str, Any], match: str) -> None:
    with pytest.raises(MismatchError, match=match):
        descent(classes(*drawn(7, 10, 3, 3), 3), 1.0, **options)


def test_two_classes_are_one_pair_whatever_the_block() -> None:
    problem = classes(*drawn(7, 10, 3, 2), 2)
    descent(problem, 1.0, newton="bisection")
    descent(problem, 1.0, xi=0.5, xi_0=0.5)
    with pytest.raises(OptionError, match="xi_0 of dual-cd is"):
        descent(problem, 1.0, xi_0=0.6)


def test_xi_changes_the_first_sweep_and_not_the_optimum() -> None:
    problem = classes(*drawn(8, 200, 5, 2), 2)
    steps, optima = [], []
    for xi in (0.1, 0.5, 0.9):
        machine = descent(problem, 0.01, xi=xi, order="permutation")
        machine.epoch()
        steps.append(machine.steps)
        for _ in range(400):
            machine.epoch()
        optima.append(machine.evaluate().dual)
    assert steps[0] < steps[1] < steps[2]
    np.testing.assert_allclose(optima, optima[0], rtol=1e-6)
    assert len(find_contexts(problem, True).first) == 200
