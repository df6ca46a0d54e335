"""Values from scratch do not depend on the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import Explicit, Instance, make_instance, variants

from partwise.arrays import Floats
from partwise.errors import DataError
from partwise.problem.evaluation import Evaluator

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]


def values(instance: Instance, n_jobs: int) -> list[Floats]:
    problem = instance.problem
    evaluator = Evaluator(problem, n_jobs)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=problem.n_parts)
    mu, entropy = np.empty_like(theta), np.empty(problem.n_examples)
    evaluator.marginals(theta, mu, entropy)
    v = evaluator.dual_sum(mu)
    dual = evaluator.dual(mu, entropy, v, 0.5)
    losses = evaluator.losses(v)
    primal = evaluator.primal(v, 0.5)
    return [theta, mu, entropy, v, losses, evaluator.scores(v), np.array([dual, primal])]


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_threads_change_no_bit(kind: str, loss: str, options: Any, _name: str) -> None:
    instance = make_instance(kind, loss, n=17, **options)
    alone = values(instance, 1)
    for n_jobs in (2, 3, 5, 40):
        for a, b in zip(alone, values(instance, n_jobs), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_values_by_enumeration(kind: str, loss: str, options: Any, _name: str) -> None:
    instance = make_instance(kind, loss, 5, **options)
    explicit = Explicit(instance, 0.5)
    theta, _, entropy, v, losses, scores, both = values(instance, 1)
    u = explicit.distributions(theta)
    np.testing.assert_allclose(v, explicit.dual_sum(u), atol=1e-11)
    np.testing.assert_allclose(losses, explicit.losses(v), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(entropy, [-(p @ np.log(p)) for p in u], atol=1e-11)
    np.testing.assert_allclose(both, [explicit.dual(u), explicit.primal(v)], rtol=1e-11)
    # The scores are those of p(.|x_i; w).
    tau = instance.loss.tau or 1.0
    for p, f, cost in zip(
        explicit.distributions(scores), explicit.features, explicit.costs, strict=True
    ):
        q = (f @ v + cost) / tau
        np.testing.assert_allclose(p, np.exp(q - q.max()) / np.exp(q - q.max()).sum(), atol=1e-10)


def test_short_sequences() -> None:
    for kind in ("chain", "untied"):
        instance = make_instance(kind, "softmax-margin", lengths=[0, 1, 2, 0, 1])
        explicit = Explicit(instance, 1.0)
        theta, _, _, v, losses, _, both = values(instance, 2)
        u = explicit.distributions(theta)
        np.testing.assert_allclose(v, explicit.dual_sum(u), atol=1e-12)
        np.testing.assert_allclose(losses, explicit.losses(v), atol=1e-12)
        assert losses[0] == losses[3] == 0.0
        assert both[0] < both[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_example_without_a_finite_score_is_named(bad: float, n_jobs: int) -> None:
    problem = make_instance("chain", n=6).problem
    theta = np.zeros(problem.n_parts)
    theta[problem.arrays.part_ptr[4] : problem.arrays.part_ptr[5]] = bad
    with pytest.raises(DataError, match=r"example 4 \(counted from 0\) has no finite score"):
        Evaluator(problem, n_jobs).marginals(theta, np.empty_like(theta), np.empty(6))
