from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from support.instances import make_instance
from support.solvers import solver_of

from partwise import LinearClassifier
from partwise.errors import MismatchError
from partwise.problem.evaluation import DualPoint
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.solvers.automatic import Automatic
from partwise.solvers.batch.newton import TrustRegionNewton
from partwise.solvers.eg.base import Annealing, default_annealing, easy_l2
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.eg.proximal import ProximalEG
from partwise.solvers.margin.frank_wolfe import FrankWolfe
from partwise.structures.multiclass import Multiclass
from partwise.training.loop import train


def make(problem: Problem | None = None, l2: float = 1.0, **more: Any) -> Automatic:
    problem = problem or make_instance().problem
    return solver_of(Automatic, problem, l2, **more)


def observed(**options: Any) -> Problem:
    """Return a classifier with the observed weights only, whose passes visit the examples."""
    return make_instance(weights="observed", **options).problem


def test_it_says_what_it_chose(caplog: pytest.LogCaptureFixture) -> None:
    problem = observed()
    with caplog.at_level(logging.INFO, logger="partwise"):
        machine = make(problem, 0.1 * easy_l2(problem)).machine
    assert type(machine) is OnlineEG
    assert machine.annealing is not None
    assert "solver auto: online-eg" in caplog.text


def test_a_classifier_gets_newtons_method(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="partwise"):
        machine = make().machine
    assert type(machine) is TrustRegionNewton
    assert "solver auto: newton (a classifier" in caplog.text
    # Not where labels are forbidden, where some weights are left out, or for other structures.
    for problem in (make_instance(constrained=True).problem, observed()):
        assert type(make(problem).machine) is OnlineEG
    assert type(make(make_instance("chain").problem).machine) is OnlineEG


@pytest.mark.parametrize(("n_labels", "expected"), [(24, TrustRegionNewton), (26, OnlineEG)])
def test_many_features_and_labels_get_eg(n_labels: int, expected: type) -> None:
    x = Rows.from_dense(np.ones((30, 40)))
    gold = np.arange(30)[:, None] % n_labels
    loss = make_loss("log", n_labels)
    ones = np.ones(30, dtype=np.int64)
    problem = build_problem(Multiclass(n_labels), ones, [x], list(gold), loss)
    assert type(make(problem, 1e3).machine) is expected


def test_newtons_method_goes_on_from_good_weights_only() -> None:
    problem = make_instance(n=40).problem
    fit = train(problem, 1.0, tol=1e-3)
    stored = problem.storage.scatter(fit.weights)
    assert make(problem, 0.9, initial_weights=stored).machine.weights.any()
    assert not make(problem, 0.9, initial_weights=-9.0 * stored).machine.weights.any()


def test_a_tiny_l2_gets_the_proximal_form() -> None:
    problem = observed()
    l2 = 0.01 * easy_l2(problem)
    assert isinstance(make(problem, l2).machine, ProximalEG)
    start = DualPoint(np.zeros(problem.n_parts))
    warm = make(problem, l2, point=start).machine
    assert isinstance(warm, ProximalEG)
    assert warm.proximal_term.k == 10.0 * l2


@pytest.mark.parametrize(("n", "expected"), [(12, OnlineEG), (400, ProximalEG)])
def test_many_examples_for_each_weight_get_it_sooner(n: int, expected: type) -> None:
    problem = observed(n=n)
    assert type(make(problem, 0.1 * easy_l2(problem)).machine) is expected


def test_options_are_left_alone() -> None:
    options = {"order": "deterministic", "annealing": None}
    machine = make(l2=1e-3, **options).machine
    assert isinstance(machine, OnlineEG)
    assert (machine.order, machine.annealing) == ("deterministic", None)


def test_a_warm_start_is_not_annealed() -> None:
    problem = observed()
    machine = make(problem, 1e-3, point=DualPoint(np.zeros(problem.n_parts))).machine
    assert isinstance(machine, OnlineEG)
    assert machine.annealing is None


def test_annealing_where_l2_is_small() -> None:
    problem = make_instance().problem
    small = default_annealing(easy_l2(problem), 1e-4)
    assert isinstance(small, Annealing)
    assert small.start > 1e-4
    assert default_annealing(easy_l2(problem), 1e4) is None


def test_the_hinge_and_l1_have_solvers_of_their_own() -> None:
    assert isinstance(make(make_instance("chain", "hinge").problem).machine, FrankWolfe)
    assert isinstance(make(l1=0.5).machine, ProximalEG)
    fit = train(make_instance("chain").problem, 0.1, l1=0.5, tol=1e-6)
    assert fit.certificate.converged


def test_no_solver_takes_l1_with_the_hinge() -> None:
    with pytest.raises(MismatchError, match="no solver takes l1 > 0 with the hinge"):
        train(make_instance("chain", "hinge").problem, 1.0, l1=0.5)


def test_a_method_with_curvature_takes_over_where_eg_is_slow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Features that are not scaled: from 0.1 to 1,700."""
    x, y = load_wine(return_X_y=True)
    with caplog.at_level(logging.INFO, logger="partwise"):
        model = LinearClassifier(l2=1.0, tol=1e-4, weights="observed").fit(x, y)
    assert model.certificate_.converged
    assert "solver auto: newton (proximal-eg would need about" in caplog.text
    assert model.score(x, y) > 0.95


def test_the_orthant_wise_method_takes_over_where_l1_is_positive(
    caplog: pytest.LogCaptureFixture,
) -> None:
    x, y = load_wine(return_X_y=True)
    with caplog.at_level(logging.INFO, logger="partwise"):
        model = LinearClassifier(l2=1.0, l1=1.0, tol=1e-3, max_passes=3000).fit(x, y)
    assert model.certificate_.converged
    assert "solver auto: owl-qn (proximal-eg would need about" in caplog.text
