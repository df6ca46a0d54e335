"""A loss is a temperature and a cost; its value is that of the sum, or the maximum, over labels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.instances import LOSSES, STRUCTURES, Explicit, make_instance

from partwise.errors import DataError
from partwise.problem.evaluation import Evaluator
from partwise.problem.losses import LOSS_NAMES, Loss, make_loss
from partwise.structures.base import label_costs

COSTS = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 3.0], [0.25, 1.5, 0.0]])


def test_names() -> None:
    assert LOSS_NAMES == ("log", "hinge", "softmax-margin")
    made = [make_loss(name, 3) for name in LOSS_NAMES]
    assert [(loss.tau, loss.has_cost) for loss in made] == [(1, False), (0, True), (1, True)]
    assert [loss.name for loss in made] == list(LOSS_NAMES)


def test_an_unknown_name() -> None:
    with pytest.raises(
        DataError, match="unknown loss 'logistic'; use one of log, hinge, softmax-m"
    ):
        make_loss("logistic", 3)


def test_the_log_loss_has_no_cost() -> None:
    with pytest.raises(DataError, match="the log loss has no cost; cost_matrix needs hinge"):
        make_loss("log", 3, COSTS)


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (9,), (3, 3, 1)])
def test_the_shape_of_the_costs(shape: tuple[int, ...]) -> None:
    said = re.escape(f"cost_matrix has shape {shape}; expected (3, 3)")
    with pytest.raises(DataError, match=said):
        make_loss("hinge", 3, np.zeros(shape))


@pytest.mark.parametrize(
    ("at", "value"), [((0, 1), -1), ((1, 2), np.nan), ((2, 0), np.inf), ((1, 1), 1)]
)
def test_costs_that_make_no_sense(at: tuple[int, int], value: float) -> None:
    bad = COSTS.copy()
    bad[at] = value
    with pytest.raises(DataError, match="finite, non-negative, and zero on its diagonal"):
        make_loss("softmax-margin", 3, bad)


def test_costs_may_be_a_list() -> None:
    loss = make_loss("hinge", 2, [[0, 1], [2, 0]])  # type: ignore[arg-type]
    costs = label_costs(np.array([1, 0]), 2, loss.cost_matrix)
    np.testing.assert_array_equal(costs, [[2, 0], [0, 1]])


def test_one_for_each_wrong_label() -> None:
    costs = label_costs(np.array([2, 0]), 3, LOSSES["hinge"].cost_matrix)
    np.testing.assert_array_equal(costs, [[1, 1, 0], [0, 1, 1]])


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("tau", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("costs", [None, COSTS], ids=["hamming", "matrix"])
@pytest.mark.parametrize("constrained", [False, True])
def test_values_by_enumeration(kind: str, tau: float, costs: Any, constrained: bool) -> None:
    loss = Loss("some", tau, True, costs)
    instance = make_instance(kind, loss, 3, n=4, constrained=constrained)
    evaluator = Evaluator(instance.problem)
    explicit = Explicit(instance, 0.7)
    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0, 30.0):
        w = scale * rng.normal(size=instance.problem.layout.n_weights)
        np.testing.assert_allclose(evaluator.losses(w), explicit.losses(w), rtol=1e-10, atol=1e-10)
        assert evaluator.primal(w, 0.7) == pytest.approx(explicit.primal(w), rel=1e-11)


def test_the_hinge_is_the_limit_of_small_temperatures() -> None:
    w = np.random.default_rng(1).normal(size=make_instance("chain").problem.layout.n_weights)
    hinge = Evaluator(make_instance("chain", "hinge").problem).losses(w)
    for tau in (1e-2, 1e-4):
        cool = Evaluator(make_instance("chain", Loss("cool", tau, True)).problem).losses(w)
        assert (cool >= hinge - 1e-12).all()
        assert (cool <= hinge + tau * np.log(81) + 1e-12).all()
