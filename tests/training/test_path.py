"""The regularisation path: values, warm starts, tables, and the estimators along it."""

from __future__ import annotations

import math
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from support.grammar_of_arcs import treebank
from support.instances import make_instance

import partwise
from partwise import ConvergenceWarning, DataError, DependencyParser, LinearClassifier
from partwise.arrays import Floats
from partwise.plots import path_picture
from partwise.training.certificate import Certificate
from partwise.training.loop import train
from partwise.training.path import Descent, train_path
from partwise.training.path_table import BestModel, PathRow, choose, l2_values, pooled
from partwise.training.result import Progress


def row(l2: float, score: float, passes: float = 1.0, gap: float = 1e-4) -> PathRow:
    return PathRow(l2=l2, passes=passes, seconds=0.5, relative_gap=gap, score=score)


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any, Any, Any]:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    return X[:300], y[:300], X[300:600], y[300:600]


# Values


def test_values_fall_by_the_factor() -> None:
    values = l2_values()
    assert len(values) == 24
    assert values[0] == 1000.0
    # The ends of Tables 2 and 3 of Collins et al. (2008).
    assert values[23] == pytest.approx(0.273687, rel=1e-5)
    assert values[20] == pytest.approx(0.797923, rel=1e-5)
    assert all(b / a == pytest.approx(0.7) for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"l2_max": 0.0}, "l2_max is 0.0"),
        ({"l2_max": math.inf}, "l2_max is inf"),
        ({"l2_max": "1"}, "l2_max is '1'"),
        ({"factor": 1.0}, "factor is 1.0"),
        ({"factor": 0.0}, "factor is 0.0"),
        ({"steps": 0}, "steps is 0"),
        ({"steps": 2.5}, "steps is 2.5"),
        ({"factor": 1e-200, "steps": 3}, "must be positive and fall; 0.0 comes after"),
    ],
)
def test_values_are_checked(given: dict[str, Any], what: str) -> None:
    with pytest.raises(DataError, match=what):
        l2_values(**given)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [1.0, 1.0], [1.0, -1.0]])
def test_other_values_are_refused(values: list[float]) -> None:
    with pytest.raises(DataError, match="values of l2"):
        next(train_path(make_instance().problem, values))


# Training


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
def test_every_fit_is_the_optimum_of_its_l2(kind: str, loss: str) -> None:
    problem = make_instance(kind, loss, n=12).problem
    values = l2_values(10.0, 0.5, 7)
    fits = list(train_path(problem, values, tol=1e-10))
    assert len(fits) == 7
    for l2, fit in zip(values, fits, strict=True):
        alone = train(problem, l2, tol=1e-10)
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-9)
        assert fit.certificate.primal >= alone.certificate.dual * (1.0 - 1e-12)


@pytest.mark.parametrize("solver", ["batch-eg", "lbfgs", "newton"])
def test_other_solvers_go_along(solver: str) -> None:
    problem = make_instance("chain", n=12).problem
    values = l2_values(4.0, 0.5, 4)
    fits = list(train_path(problem, values, tol=1e-8, solver=solver))
    for l2, fit in zip(values, fits, strict=True):
        assert fit.certificate.primal == pytest.approx(
            train(problem, l2, tol=1e-8).certificate.primal, rel=2e-8
        )


def test_a_plain_warm_start_is_where_the_last_fit_ended() -> None:
    """Section 7.1.2 of Collins et al. (2008); by default the third fit is extrapolated."""
    problem, values = make_instance("chain", n=12).problem, [4.0, 2.0, 1.0]
    how: dict[str, Any] = {"tol": 1e-3, "solver": "online-eg"}
    plain = list(train_path(problem, values, warm_start="plain", **how))
    for last, fit, l2 in zip(plain, plain[1:], values[1:], strict=False):
        start = {"start": last.dual_point, "initial_weights": last.weights}
        alone = train(problem, l2, **start, **how)
        np.testing.assert_array_equal(fit.weights, alone.weights)
    third = list(train_path(problem, values, **how))[2]
    assert not np.array_equal(third.weights, plain[2].weights)


def test_steps_are_carried_along_a_path_if_asked_for() -> None:
    problem, values = make_instance("chain", n=12).problem, [0.02, 0.01]
    how: dict[str, Any] = {"tol": 1e-3, "solver": "online-eg", "warm_start": "plain"}
    carried, fresh = (
        list(train_path(problem, values, options={"first_step": step}, **how))
        for step in ("carried", 0.5)
    )
    np.testing.assert_array_equal(carried[0].weights, fresh[0].weights)
    assert not np.array_equal(carried[1].weights, fresh[1].weights)


def test_the_hinge_starts_from_the_last_duals() -> None:
    problem = make_instance("multiclass", "hinge", n=12).problem
    first, second = train_path(problem, [4.0, 2.0], tol=1e-2)
    alone = train(problem, 2.0, tol=1e-2, start=first.dual_point, initial_weights=first.weights)
    assert second.certificate.primal == alone.certificate.primal
    assert second.certificate.passes == alone.certificate.passes


def test_starts_lie_ahead_on_the_line_through_the_last_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[Floats | None, Floats | None]] = []

    def recorded(*given: Any, **more: Any) -> Any:
        seen.append((more["start"], more["initial_weights"]))
        return train(*given, **more)

    monkeypatch.setattr("partwise.training.path.train", recorded)
    # log 8 - log 4 = log 2, log 4 - log 1 = 2 log 2, log 1 - log 0.5 = log 2
    fits = list(train_path(make_instance("chain").problem, [8.0, 4.0, 1.0, 0.5], tol=1e-6))
    assert seen[0] == (None, None)
    for a, k in ((2.0, 2), (0.5, 3)):
        start, weights = seen[k]
        now, then = fits[k - 1], fits[k - 2]
        np.testing.assert_allclose(weights, now.weights + a * (now.weights - then.weights))
        theta, before = now.dual_point.theta, then.dual_point.theta
        np.testing.assert_allclose(start.theta, theta + a * (theta - before), rtol=1e-12)


def test_the_path_costs_less_than_its_parts(digits: tuple[Any, ...]) -> None:
    X, y, X_dev, y_dev = digits
    rows, _ = partwise.path(LinearClassifier(), X, y, dev=(X_dev, y_dev), l2_max=100.0, steps=15)
    carried = sum(r["passes"] for r in rows)
    alone = sum(LinearClassifier(l2=r["l2"], tol=1e-3).fit(X, y).certificate_.passes for r in rows)
    assert carried < 0.5 * alone


def test_the_path_is_the_same_every_time() -> None:
    problem = make_instance("chain", n=10).problem
    values = l2_values(10.0, 0.5, 5)
    first, second = (list(train_path(problem, values, tol=1e-5)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_fits_come_one_by_one() -> None:
    fits = train_path(make_instance().problem, [2.0, 1.0], tol=1e-6)
    assert next(fits).certificate.converged
    fits.close()


def test_the_path_ends_at_a_fit_that_is_not_certified() -> None:
    problem = make_instance("chain", n=12).problem
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        fits = list(train_path(problem, [100.0, 1e-4, 1e-5], tol=1e-9, max_passes=12))
    assert [fit.certificate.converged for fit in fits] == [True, False]


# Ctrl-C


def test_ctrl_c_between_fits_keeps_the_model_at_hand() -> None:
    problem = make_instance().problem
    seen = []

    def receive(model: Any, fit: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        seen.append(model)

    before = signal.getsignal(signal.SIGINT)
    descent = Descent([4.0, 2.0, 1.0], receive)
    fits = train_path(problem, descent.values, tol=1e-4)
    last = descent.follow((k, fit) for k, fit in enumerate(fits))
    assert seen == [0]
    assert last[0] == 0
    assert descent.interrupted
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_ends_the_path_even_if_the_fit_converged() -> None:
    def press(progress: Progress) -> None:
        if progress.row.certified and progress.row.relative_gap <= progress.tol:
            signal.raise_signal(signal.SIGINT)

    descent = Descent([4.0, 2.0, 1.0])
    fits = train_path(make_instance().problem, descent.values, tol=1e-4, callbacks=[press])
    _, fit = descent.follow((k, fit) for k, fit in enumerate(fits))
    assert fit.certificate.converged
    assert fit.interrupted
    assert descent.interrupted


def test_ctrl_c_keeps_what_is_done(digits: tuple[Any, ...]) -> None:
    X, y, X_dev, y_dev = digits
    steps: list[float] = []

    def press(progress: Progress) -> None:
        if len(steps) == 3:
            signal.raise_signal(signal.SIGINT)

    def each(row: PathRow, model: Any) -> None:
        steps.append(row["l2"])

    estimator = LinearClassifier(callbacks=press)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        rows, best = partwise.path(
            estimator, X, y, dev=(X_dev, y_dev), l2_max=10.0, factor=0.1, tol=1e-9, each=each
        )
    assert len(rows) == 4
    assert best.certificate_.converged
    assert best.l2 in steps[:3]


# The table


def certificate(gap: float, tol: float = 1e-3) -> Certificate:
    return Certificate(1.0, 1.0 - gap, tol, 2.0, 0.1, "made up")


class Made:
    def __init__(self, l2: float, score: float, gap: float = 0.0) -> None:
        self.l2, self.score, self.certificate = l2, score, certificate(gap)
        self.trace = (l2,)


def kept(*models: Made) -> BestModel:
    best = BestModel(lambda model: model.score)
    for model in models:
        assert best(model, model) is False
    return best


def test_the_best_is_the_first_of_equal_ones() -> None:
    models = [Made(4.0, 0.5), Made(2.0, 0.9), Made(1.0, 0.9), Made(0.5, 0.8)]
    best = kept(*models)
    assert best.model is models[1]
    assert best.trace == (2.0,)
    assert [r["score"] for r in best.rows] == [0.5, 0.9, 0.9, 0.8]
    assert best.total_passes == 8.0


def test_a_model_that_is_not_certified_is_a_last_resort() -> None:
    good, bad = Made(2.0, 0.5), Made(1.0, 0.9, gap=0.1)
    assert kept(good, bad).model is good
    assert kept(bad).model is bad


def test_a_score_that_is_no_number_is_the_worst() -> None:
    odd, good = Made(2.0, math.nan), Made(1.0, 0.1)
    assert kept(odd, good).model is good


def test_without_a_score_the_last_is_the_best() -> None:
    best = BestModel()
    for model in (Made(2.0, 0.0), Made(1.0, 0.0)):
        best(model, model)
    assert best.model is model


def test_pooled_rows() -> None:
    rows = pooled([[row(2.0, 0.6, 3.0), row(1.0, 0.9)], [row(2.0, 0.8, 4.0, 1e-3)]])
    assert len(rows) == 1
    assert rows[0]["passes"] == 7.0
    assert rows[0]["seconds"] == 1.0
    assert rows[0]["relative_gap"] == 1e-3
    assert rows[0]["score"] == pytest.approx(0.7)
    assert rows[0]["scores"] == [0.6, 0.8]
    # std of two is |a - b| / sqrt 2, and its error that over sqrt 2
    assert rows[0]["standard_error"] == pytest.approx(0.1)


def test_the_rules() -> None:
    folds = [[row(8.0, a), row(4.0, b), row(2.0, c), row(1.0, 0.5)] for a, b, c in
             [(0.6, 0.78, 0.9), (0.6, 0.78, 0.7)]]  # fmt: skip
    table = pooled(folds)
    assert choose(table, "best") == 2
    assert table[2]["standard_error"] == pytest.approx(0.1)
    assert choose(table, "one-se") == 1
    with pytest.raises(DataError, match="two folds or more"):
        choose(pooled(folds[:1]), "one-se")


# Pictures


@pytest.mark.parametrize("folds", [1, 2])
def test_a_picture(tmp_path: Path, folds: int) -> None:
    rows = [row(4.0, 0.5), row(2.0, 0.8), row(1.0, 0.7)]
    table = rows if folds == 1 else pooled([rows, rows])
    path_picture(table, tmp_path / "path.png", 2.0, "accuracy", "a title")
    assert (tmp_path / "path.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert [item.name for item in tmp_path.iterdir()] == ["path.png"]


def test_the_picture_shows_which_l2_was_chosen(tmp_path: Path) -> None:
    rows = [row(4.0, 0.5), row(2.0, 0.8), row(1.0, 0.7)]
    pictures = []
    for chosen in (4.0, 2.0, 2.0):
        path_picture(rows, tmp_path / "path.png", chosen)
        pictures.append((tmp_path / "path.png").read_bytes())
    assert pictures[0] != pictures[1] == pictures[2]


def test_odd_pictures(tmp_path: Path) -> None:
    path_picture([row(4.0, math.nan)], tmp_path / "path.png", 4.0)
    with pytest.raises(DataError, match="without rows"):
        path_picture([], tmp_path / "none.png", 1.0)


# Estimators


def test_path_of_a_classifier(digits: tuple[Any, ...]) -> None:
    X, y, X_dev, y_dev = digits
    estimator = LinearClassifier(l2=77.0)
    rows, best = partwise.path(estimator, X, y, dev=(X_dev, y_dev), l2_max=100.0, steps=12)
    assert [r["l2"] for r in rows] == list(l2_values(100.0, 0.7, 12))
    assert set(rows[0]) == {"l2", "passes", "seconds", "relative_gap", "score"}
    assert all(r["relative_gap"] <= 1e-3 for r in rows)
    at = max(rows, key=lambda r: r["score"])
    assert best.score(X_dev, y_dev) == at["score"]
    assert best.l2 == best.model_.l2 == at["l2"]
    assert best.certificate_.tol == 1e-3
    assert best.trace_[-1].l2 == at["l2"]
    assert best.classes_.dtype == y.dtype
    assert estimator.l2 == 77.0
    assert not hasattr(estimator, "model_")
    assert "_descent" not in vars(best)
    alone = LinearClassifier(l2=best.l2, tol=1e-6).fit(X, y)
    assert best.certificate_.dual <= alone.certificate_.primal
    assert alone.certificate_.dual <= best.certificate_.primal


def test_path_of_a_parser() -> None:
    train_set, dev = treebank(30), treebank(10, seed=1)
    rows, best = partwise.path(
        DependencyParser(), train_set, dev=(dev,), l2_max=10.0, factor=0.3, steps=4
    )
    assert best.score(dev) == max(r["score"] for r in rows)
    assert best.predict(dev[:1])


def test_each_can_end_the_path(digits: tuple[Any, ...]) -> None:
    X, y, *dev = digits
    rows, best = partwise.path(
        LinearClassifier(), X, y, dev=tuple(dev), each=lambda row, model: row["l2"] < 500.0
    )
    assert len(rows) == 3
    assert best.certificate_.converged


def test_scoring(digits: tuple[Any, ...]) -> None:
    X, y, *dev = digits
    rows, best = partwise.path(
        LinearClassifier(), X, y, dev=tuple(dev), scoring="neg_log_loss", steps=3, factor=0.01
    )
    assert all(r["score"] < 0.0 for r in rows)
    assert best.l2 == rows[-1]["l2"]


@pytest.mark.parametrize("dev", [None, [1, 2], (), (1, 2, 3), (1, 2, {}, 4)])
def test_dev_must_be_a_tuple(digits: tuple[Any, ...], dev: Any) -> None:
    with pytest.raises(DataError, match="give a tuple"):
        partwise.path(LinearClassifier(), *digits[:2], dev=dev)


def test_other_estimators_are_refused(digits: tuple[Any, ...]) -> None:
    with pytest.raises(DataError, match="give one of partwise"):
        partwise.path("LinearClassifier", *digits[:2], dev=(1, 2))


def test_path_is_a_function_whatever_is_imported() -> None:
    import partwise.training.path

    assert callable(partwise.path)


def test_the_path_of_an_estimator_may_start_plainly(digits: tuple[Any, Any, Any, Any]) -> None:
    X, y, X_dev, y_dev = digits
    grid = {"l2_max": 10.0, "steps": 3, "dev": (X_dev, y_dev)}
    estimator = LinearClassifier(solver="online-eg")
    plain, extrapolated = (
        partwise.path(estimator, X, y, warm_start=kind, **grid).rows
        for kind in ("plain", "extrapolated")
    )
    assert plain[1]["relative_gap"] == extrapolated[1]["relative_gap"]
    assert plain[2]["relative_gap"] != extrapolated[2]["relative_gap"]
    with pytest.raises(DataError, match="warm_start is 'cold'"):
        partwise.path(estimator, X, y, warm_start="cold", **grid)
