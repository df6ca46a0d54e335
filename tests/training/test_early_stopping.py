"""Held-out scores while a fit runs: what is kept, what it is worth, and what does not change."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_extraction import DictVectorizer
from support.instances import make_instance
from support.sentences import sentences
from support.solvers import goal_of

from partwise import (
    KernelClassifier,
    LinearClassifier,
    LinearClassifierCV,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.arrays import Floats
from partwise.errors import DataError, MismatchError
from partwise.solvers.base import Evaluation
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.facts import facts_of
from partwise.solvers.registry import SOLVERS, make_solver
from partwise.training import EarlyStopping
from partwise.training.certificate import ConvergenceWarning
from partwise.training.early_stopping import Watch, passes_between
from partwise.training.loop import train
from partwise.training.result import Fit


class Scripted:
    """Gives scores from a list, and remembers the weights that it was shown."""

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)
        self.shown: list[Floats] = []

    def __call__(self, weights: Floats) -> float:
        self.shown.append(weights.copy())
        return self.scores[min(len(self.shown), len(self.scores)) - 1]


def quietly(*given: Any, **more: Any) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return train(*given, **more)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_scoring_changes_no_bit_of_the_result(name: str) -> None:
    loss = facts_of(SOLVERS[name]).losses[0]
    problem = make_instance("multiclass", loss, n=12).problem
    how: Any = {"solver": name, "tol": 1e-9, "max_passes": 12}
    plain = quietly(problem, 1.0, **how)
    score = Scripted(0.5)
    watched = quietly(problem, 1.0, watch=Watch(score), **how)
    assert len(score.shown) > 1 or len(plain.trace) == 1
    assert np.array_equal(plain.weights, watched.weights)
    assert plain.certificate.primal == watched.certificate.primal
    assert plain.certificate.dual == watched.certificate.dual
    assert watched.kept_passes is None


@pytest.mark.parametrize("solver", ["online-eg", "lbfgs", "sag", "sgd", "bmrm"])
def test_the_best_weights_are_kept_with_their_certificate(solver: str) -> None:
    problem = make_instance("chain", "log", n=12).problem
    score = Scripted(0.1, 0.4, 0.9, 0.9, 0.2, 0.3)
    watch = Watch(score, patience=3)
    fit = train(problem, 0.1, solver=solver, tol=1e-12, watch=watch)  # no ConvergenceWarning
    assert len(score.shown) == 6
    assert np.array_equal(fit.weights, score.shown[2])
    scored = [row for row in fit.trace if not math.isnan(row.score)]
    assert [row.score for row in scored] == score.scores
    assert fit.kept_passes == scored[2].passes
    done = fit.certificate
    assert not done.converged
    assert done.verdict.startswith("stopped: 3 scorings without a better held-out score; kept the")
    best = train(problem, 0.1, tol=1e-9).certificate
    assert done.dual <= best.primal
    assert done.primal >= best.dual
    goal = goal_of(problem, 0.1)
    assert done.primal == goal.evaluator.primal(problem.storage.scatter(fit.weights), 0.1)
    assert done.dual >= max(row.dual for row in fit.trace if row.certified or row is scored[-1]) - (
        1e-9 * done.primal
    )


def test_the_best_dual_value_is_kept() -> None:
    """The kept weights are those of pass 1; the lower bound is that of the last evaluation."""
    problem = make_instance("chain", "log", n=12).problem
    early = train(problem, 0.1, tol=1e-12, watch=Watch(Scripted(1.0, 0.0), patience=1))
    late = train(problem, 0.1, tol=1e-12, watch=Watch(Scripted(1.0, 0.0), patience=12))
    assert np.array_equal(early.weights, late.weights)
    assert early.certificate.primal == late.certificate.primal
    assert early.certificate.dual < late.certificate.dual


def test_lower_bounds_that_fall_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dual value is a lower bound, so the certificate has the best of them."""
    duals = []

    class Falling(OnlineEG):  # type: ignore[misc]
        name = "falling"

        def evaluate(self) -> Evaluation:
            found = super().evaluate()
            duals.append(found.dual / (2 + len(duals)))
            return Evaluation(found.weights, found.primal, duals[-1])

    monkeypatch.setitem(SOLVERS, "falling", Falling)
    problem = make_instance("chain", "log", n=12).problem
    watch = Watch(Scripted(*range(40), 0), patience=3)
    fit = train(problem, 9.0, solver="falling", tol=1e-3, watch=watch)
    assert len(duals) > 1
    assert fit.certificate.dual == max(duals) > duals[-1]


def test_a_gap_that_is_reached_first_ends_the_fit_at_the_optimum() -> None:
    problem = make_instance("chain", "log", n=12).problem
    plain = train(problem, 1.0, tol=1e-4)
    fit = train(problem, 1.0, tol=1e-4, watch=Watch(Scripted(1.0, 0.5), patience=1000))
    assert fit.certificate.converged
    assert np.array_equal(fit.weights, plain.weights)
    assert fit.kept_passes is None
    assert fit.trace[-1].score == 0.5


def test_a_fit_that_ends_for_another_reason_keeps_the_best_too() -> None:
    problem = make_instance("chain", "log", n=12).problem
    score = Scripted(0.3, 0.2)
    with pytest.warns(ConvergenceWarning):
        fit = train(problem, 9.0, tol=1e-12, max_passes=5, watch=Watch(score, patience=1000))
    assert np.array_equal(fit.weights, score.shown[0])
    assert "stopped at max_passes = 5; kept the weights of pass 1.0" in fit.certificate.verdict


def test_scores_that_are_no_numbers_are_never_kept() -> None:
    problem = make_instance("chain", "log", n=12).problem
    fit = train(problem, 9.0, tol=1e-12, watch=Watch(Scripted(math.nan), patience=2))
    assert fit.kept_passes is None
    assert len(fit.trace) == 2


@pytest.mark.parametrize("slack", ["one", "each"])
def test_slack_rescaling_is_another_objective(slack: str) -> None:
    pytest.importorskip("clarabel")
    problem = make_instance("chain", "hinge", n=8).problem
    options = {"slack": slack, "rescaling": "slack"}
    how: Any = {"solver": "svm-struct", "options": options, "tol": 1e-12}
    fit = train(problem, 1.0, watch=Watch(Scripted(1.0, 0.0), patience=2), **how)
    stored = problem.storage.scatter(fit.weights)
    machine = make_solver("svm-struct", goal_of(problem), options)
    assert fit.certificate.primal == machine.primal(stored)
    assert machine.primal(stored) != machine.evaluator.primal(stored, 1.0)
    best = quietly(problem, 1.0, max_passes=200, **how).certificate
    assert fit.certificate.dual <= best.primal
    assert fit.certificate.primal >= best.dual


def test_threads_do_not_change_the_model() -> None:
    problem = make_instance("chain", "log", n=12).problem
    fits = [
        train(problem, 0.1, tol=1e-12, n_jobs=n, watch=Watch(lambda w: -float(w @ w), patience=3))
        for n in (1, 2)
    ]
    assert np.array_equal(fits[0].weights, fits[1].weights)
    assert fits[0].certificate.primal == fits[1].certificate.primal


def test_the_cost_of_scorings_is_bounded() -> None:
    assert passes_between(10, 1000) == 1.0
    assert passes_between(1000, 1000) == 5.0
    problem = make_instance("chain", "log", n=12).problem
    score = Scripted(0.5)
    fit = quietly(problem, 0.1, tol=1e-12, max_passes=20, watch=Watch(score, every=5.0))
    gaps = np.diff([row.passes for row in fit.trace if not math.isnan(row.score)])
    assert len(gaps) >= 2
    assert (gaps[:-1] >= 5.0).all()


def test_a_classifier_stops_early(tmp_path: Any) -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    stopping = EarlyStopping(X[1200:], y[1200:], patience=2)
    made = LinearClassifier(l2=1e-3, tol=1e-9, callbacks=stopping).fit(X[:1200], y[:1200])
    assert "scorings without a better held-out score" in made.certificate_.verdict
    scores = [row.score for row in made.trace_ if not math.isnan(row.score)]
    assert made.score(X[1200:], y[1200:]) == max(scores)
    assert scores.index(max(scores)) == len(scores) - 3
    again = clone(made).fit(X[:1200], y[:1200])
    assert np.array_equal(made.coef_, again.coef_)
    save_model(made.model_, tmp_path / "m")
    assert load_model(tmp_path / "m").certificate.verdict == made.certificate_.verdict


def test_a_tagger_takes_what_score_takes() -> None:
    X, y = sentences(30)
    held, gold = sentences(10, seed=1)
    names = DictVectorizer().fit(token for sequence in X for token in sequence)
    matrices = [names.transform(sequence) for sequence in X]
    flat = names.transform(token for sequence in held for token in sequence)
    lengths = [len(sequence) for sequence in held]
    stopping = EarlyStopping(flat, [t for s in gold for t in s], patience=1, lengths=lengths)
    made = SequenceTagger(l2=0.01, tol=1e-12, callbacks=[stopping]).fit(matrices, y)
    scores = [row.score for row in made.trace_ if not math.isnan(row.score)]
    assert made.score([names.transform(sequence) for sequence in held], gold) == max(scores)


def test_a_scoring_of_scikit_learn() -> None:
    X, y = load_digits(return_X_y=True)
    stopping = EarlyStopping(X[400:600], y[400:600], scoring="neg_log_loss", every=2.0, patience=1)
    made = LinearClassifier(l2=1e-3, tol=1e-9, callbacks=stopping).fit(X[:400], y[:400])
    scores = [row.score for row in made.trace_ if not math.isnan(row.score)]
    assert all(score < 0.0 for score in scores)


def test_what_is_refused() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:60], y[:60]
    stopping = EarlyStopping(X, y, patience=2)
    with pytest.raises(MismatchError, match="EarlyStopping is for the fit of one l2"):
        LinearClassifierCV(callbacks=stopping, steps=2, cv=2).fit(X, y)
    with pytest.raises(MismatchError, match="a model with a kernel gets its final form"):
        KernelClassifier(callbacks=stopping).fit(X, y)
    shown = KernelClassifier(callbacks=EarlyStopping(X, y)).fit(X, y)
    assert all(math.isnan(row.score) for row in shown.trace_)
    with pytest.raises(DataError, match="more than one EarlyStopping"):
        LinearClassifier(callbacks=[stopping, stopping]).fit(X, y)
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(DataError, match=r"patience is .*; give a whole number from 1, or None"):
            EarlyStopping(X, y, patience=wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="every is 0; give a positive number"):
        EarlyStopping(X, y, every=0)


def test_the_score_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from partwise.training.progress import ProgressLine

    problem = make_instance("chain", "log", n=12).problem
    line = ProgressLine(scored=True, interval=0.0)
    quietly(problem, 0.1, tol=1e-12, max_passes=4, watch=Watch(Scripted(0.25)), callbacks=[line])
    head, *rows = capsys.readouterr().err.splitlines()
    assert head.endswith("score")
    assert rows[-1].endswith("0.2500")
