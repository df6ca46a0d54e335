"""The loop around the solvers: the certificate, the schedule, the trace, warm starts."""

from __future__ import annotations

import copy
import warnings
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import entr
from support.instances import Instance, make_instance, variants

from partwise.errors import DataError
from partwise.problem.evaluation import Evaluator
from partwise.problem.matrix_evaluation import by_matrix
from partwise.solvers.automatic import Automatic
from partwise.solvers.base import Epoch, Evaluation
from partwise.solvers.dual_points import gold_marginals
from partwise.solvers.eg.online import OnlineEG
from partwise.training.certificate import ConvergenceWarning
from partwise.training.course import EVERY, TraceRow
from partwise.training.loop import train
from partwise.training.result import Fit, Progress

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]


def tol_of(instance: Instance) -> float:
    return 1e-6 if instance.loss.tau else 2e-3


def quietly(*args: Any, **more: Any) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(*args, **more)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
@pytest.mark.parametrize("solver", ["auto", "online-eg", "batch-eg"])
def test_the_certificate_from_scratch(
    kind: str, loss: str, options: Any, _name: str, solver: str
) -> None:
    instance = make_instance(kind, loss, 11, **options)
    problem, tol, l2 = instance.problem, tol_of(instance), 0.7
    fit = train(problem, l2, tol=tol, solver=solver, max_passes=5000)
    evaluator = Evaluator(problem)
    mu, entropy = np.empty(problem.n_parts), np.empty(problem.n_examples)
    evaluator.marginals(fit.dual_point.theta, mu, entropy)
    if fit.dual_point.mu is not None:
        mu, entropy = fit.dual_point.mu, np.zeros(problem.n_examples)  # the hinge has no entropy
    dual = evaluator.dual(mu, entropy, evaluator.dual_sum(mu), l2)
    primal = evaluator.primal(problem.storage.scatter(fit.weights), l2)
    done = fit.certificate
    assert primal == pytest.approx(done.primal, rel=1e-9)
    if by_matrix(problem) and solver == "auto":
        # Newton's method certifies the best point between the gold labels and the one it returns.
        gold = gold_marginals(problem)

        def lost(share: float) -> float:
            u = (1.0 - share) * gold + share * mu
            spread = entr(u).reshape(problem.n_examples, -1).sum(axis=1)
            return -float(evaluator.dual(u, spread, evaluator.dual_sum(u), l2))

        dual = -minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded").fun
    assert dual == pytest.approx(done.dual, rel=1e-9)
    assert (primal - dual) / primal <= tol * (1 + 1e-6)
    assert done.converged
    assert done.verdict.startswith("converged")
    check_trace(fit.trace)
    last = fit.trace[-1]
    assert (last.certified, last.primal, last.dual) == (True, done.primal, done.dual)
    assert last.relative_gap == done.relative_gap


def check_trace(trace: tuple[TraceRow, ...]) -> None:
    assert [row.epoch for row in trace] == list(range(1, len(trace) + 1))
    assert all(b.passes >= a.passes and b.seconds >= a.seconds for a, b in pairwise(trace))
    certified = [row for row in trace if row.certified]
    lowest = min(row.primal for row in certified)
    for row in certified:
        assert row.dual <= lowest + 1e-9 * abs(lowest)


@pytest.mark.parametrize("solver", [Automatic, OnlineEG])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_certifying_costs_a_fifth_at_most(
    loss: str, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    evaluate = solver.evaluate
    monkeypatch.setattr(solver, "evaluate", lambda self: calls.append(1) or evaluate(self))
    instance = make_instance("chain", loss, n=30)
    for tol in (1e-2, 1e-7, 1e-300):
        calls.clear()
        fit = quietly(instance.problem, 0.01, solver=solver.name, tol=tol, max_passes=200)
        cost = 0.8 * (len(calls) - 1)  # the first one is free
        assert cost <= 0.2 * (fit.certificate.passes + cost)
        assert len(calls) == sum(row.certified for row in fit.trace)


def test_a_gap_that_is_not_estimated_is_certified_as_often_as_a_fifth_allows() -> None:
    problem = make_instance("multiclass", "log", n=30).problem
    fit = quietly(problem, 1.0, solver="adagrad", tol=1e-300, max_passes=30)
    assert all(np.isinf(row.gap_estimate) for row in fit.trace if not row.certified)
    done = 0
    for before, row in pairwise(fit.trace[:-1]):
        done += before.certified
        cost = 0.8 * (done + 1)
        assert row.certified == (cost <= 0.2 * (row.passes + cost))
    assert done > 5


def test_the_estimate_finds_the_end() -> None:
    problem = make_instance("chain", n=30).problem
    fit = train(problem, 1.0, tol=1e-5)
    longer = train(problem, 1.0, tol=1e-12)
    exact = [row for row in longer.trace if row.certified and row.relative_gap <= 1e-5]
    assert fit.certificate.passes <= exact[0].passes + 5.0


def test_the_warning_speaks_in_units_of_tol() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        fit = train(make_instance("chain", n=20).problem, 1e-3, tol=1e-9, max_passes=3)
    text = str(caught[0].message)
    assert len(caught) == 1
    assert f"relative gap {fit.certificate.relative_gap:.3g} > tol 1e-09" in text
    for word in ("max_passes (now 3)", "warm_start=True", "larger l2 or tol", "above the optimum"):
        assert word in text


@pytest.mark.parametrize("max_passes", [1.0, 2.5, 7.0, 13.0])
@pytest.mark.parametrize("solver", ["auto", "online-eg", "batch-eg"])
def test_max_passes(solver: str, max_passes: float) -> None:
    problem = make_instance("chain", n=20).problem
    fit = quietly(problem, 1e-3, tol=1e-12, max_passes=max_passes, solver=solver)
    done = fit.certificate
    assert done.verdict == f"stopped at max_passes = {max_passes:g}"
    assert done.passes == fit.trace[-1].passes >= max_passes
    assert all(row.passes < max_passes for row in fit.trace[:-1])
    assert done.dual <= done.primal
    # While l2 is annealed the primal may be poor, but never worse than without weights.
    zero = problem.storage.zeros()
    assert done.primal <= Evaluator(problem).primal(zero, 1e-3)
    stored = problem.storage.scatter(fit.weights)
    assert done.primal == pytest.approx(Evaluator(problem).primal(stored, 1e-3), rel=1e-9)


def test_callbacks() -> None:
    problem = make_instance("chain", n=10).problem
    seen: list[Progress] = []
    shapes = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        shapes.append(progress.weights().shape)

    fit = train(problem, 0.1, tol=1e-6, max_passes=500.0, callbacks=[watch, watch])
    assert tuple(p.row for p in seen[::2]) == tuple(p.row for p in seen[1::2]) == fit.trace
    assert {(p.tol, p.max_passes) for p in seen} == {(1e-6, 500.0)}
    assert set(shapes) == {(problem.layout.n_weights,)}


def test_watching_changes_nothing() -> None:
    problem = make_instance("chain", n=10).problem
    watched = train(problem, 0.1, tol=1e-6, callbacks=[lambda p: p.weights().sum() * 0])
    np.testing.assert_array_equal(watched.weights, train(problem, 0.1, tol=1e-6).weights)


def test_a_callback_stops_with_a_certificate() -> None:
    problem = make_instance("chain", n=10).problem
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        fit = train(
            problem, 0.01, tol=1e-12, callbacks=[lambda p: p.row.epoch == 4, lambda p: None]
        )
    assert len(fit.trace) == 4
    assert fit.certificate.dual <= fit.certificate.primal
    assert fit.certificate.verdict == "stopped by a callback"


def test_the_time_of_callbacks_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0

    def later(seconds: float) -> None:
        nonlocal now
        now += seconds

    epoch = OnlineEG.epoch

    def one_second(machine: OnlineEG) -> Epoch:
        later(1.0)
        return epoch(machine)

    clock = SimpleNamespace(perf_counter=lambda: now)
    monkeypatch.setattr("partwise.training.loop.time", clock)
    monkeypatch.setattr(OnlineEG, "epoch", one_second)
    fit = train(
        make_instance().problem,
        1.0,
        solver="online-eg",
        tol=1e-2,
        callbacks=[lambda p: later(64.0), lambda p: later(256.0)],
    )
    assert [row.seconds for row in fit.trace] == list(range(1, len(fit.trace) + 1))
    assert fit.certificate.seconds == len(fit.trace)


def goes_on(again: Fit, cold: Fit) -> None:
    """Whether a fit began near where the other ended, and not where that began.

    By how many passes it is shorter is up to rounding: a certificate is made now and then only.
    """
    assert again.trace[0].dual > (1.0 - 1e-3) * cold.certificate.dual
    assert cold.trace[0].dual < 0.5 * cold.certificate.dual
    assert again.certificate.passes < cold.certificate.passes


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
def test_a_dual_point_is_a_warm_start(loss: str) -> None:
    instance = make_instance("chain", loss, n=30)
    tol = tol_of(instance)
    cold = train(instance.problem, 0.3, tol=tol, max_passes=3000)
    kept = copy.deepcopy(cold.dual_point)
    again = train(instance.problem, 0.3, tol=tol, start=cold.dual_point)
    goes_on(again, cold)
    assert again.certificate.primal == pytest.approx(cold.certificate.primal, rel=2 * tol)
    np.testing.assert_array_equal(cold.dual_point.theta, kept.theta)
    if kept.mu is not None:
        np.testing.assert_array_equal(cold.dual_point.mu, kept.mu)


def test_a_dual_point_for_a_neighbouring_l2() -> None:
    problem = make_instance("chain", n=30).problem
    first = train(problem, 0.3, tol=1e-8)
    cold = train(problem, 0.25, tol=1e-8)
    warm = train(problem, 0.25, tol=1e-8, start=first.dual_point)
    assert warm.certificate.passes < cold.certificate.passes
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
def test_weights_are_a_warm_start(loss: str) -> None:
    problem = make_instance("chain", loss, n=30).problem
    cold = train(problem, 0.3, tol=1e-6)
    again = train(problem, 0.3, tol=1e-6, initial_weights=cold.weights)
    goes_on(again, cold)
    assert again.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-6)


@pytest.mark.parametrize(("name", "value"), [("l2", 0), ("l2", -1), ("tol", 0), ("tol", np.nan)])
def test_numbers_that_make_no_sense(name: str, value: float) -> None:
    arguments = {"l2": 1.0, "tol": 1e-3, name: value}
    with pytest.raises(DataError, match=f"{name} is {value}; give a positive number"):
        train(make_instance().problem, **arguments)


def test_more_that_make_no_sense() -> None:
    problem = make_instance().problem
    with pytest.raises(DataError, match="max_passes is -1"):
        train(problem, 1.0, max_passes=-1)
    with pytest.raises(DataError, match="l2 is inf"):
        train(problem, np.inf)
    assert train(problem, 1.0, max_passes=np.inf).certificate.converged


def test_huge_features_are_named() -> None:
    problem = make_instance("multiclass").problem

    def grow(*_: Any) -> None:  # behind the check that is made before the first epoch
        problem.arrays.design.value[:] = 1e300

    with pytest.raises(DataError, match=r"example \d \(counted from 0\) has no finite score"):
        train(problem, 1e-8, solver="online-eg", callbacks=[grow])


@pytest.mark.parametrize("kind", ["chain", "untied"])
@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_short_sequences(kind: str, loss: str) -> None:
    instance = make_instance(kind, loss, lengths=[0, 1, 2, 0, 1, 3])
    assert train(instance.problem, 0.5, tol=tol_of(instance)).certificate.converged


def test_one_example_and_one_label() -> None:
    assert train(make_instance(n=1).problem, 1.0, tol=1e-9).certificate.converged
    sole = train(make_instance(n_labels=1).problem, 1.0, tol=1e-9)
    assert (sole.certificate.primal, sole.certificate.dual) == (0.0, 0.0)
    assert not sole.weights.any()


@pytest.mark.parametrize(("primal", "dual"), [(-42.29, 0.0), (1.0, 1.001)])
def test_rounding_that_shows_ends_training(
    monkeypatch: pytest.MonkeyPatch, primal: float, dual: float
) -> None:
    def false(self: OnlineEG) -> Evaluation:
        return Evaluation(self.current_weights(), primal, dual)

    monkeypatch.setattr(OnlineEG, "evaluate", false)
    problem = make_instance("multiclass", "log", 0).problem
    with pytest.warns(ConvergenceWarning, match=r"rounding exceeds tol.*scale the features"):
        fit = train(problem, 1.0, solver="online-eg", tol=0.5)
    assert not fit.certificate.converged
    assert fit.certificate.verdict == "stopped: rounding exceeds tol"
    assert sum(row.certified for row in fit.trace) == 1


def test_a_solver_that_no_longer_moves_ends_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnlineEG, "epoch", lambda self: Epoch(1.0, 0.5, 0.5, self.l2))
    monkeypatch.setattr(OnlineEG, "settled", True)
    problem = make_instance("multiclass", "log", 0).problem
    with pytest.warns(ConvergenceWarning, match="no longer moves"):
        fit = train(problem, 1.0, solver="online-eg", max_passes=1e6)
    assert fit.certificate.passes <= 10 * EVERY
