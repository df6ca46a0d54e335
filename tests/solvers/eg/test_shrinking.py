from __future__ import annotations

import numpy as np
import pytest
from support.instances import make_instance

from partwise.compiled.vectors import shrunk
from partwise.problem.design import scatter
from partwise.solvers.eg.shrinking import scatter_shrunk


@pytest.mark.parametrize("kind", ["multiclass", "chain", "untied"])
@pytest.mark.parametrize("weights", ["all", "observed"])
@pytest.mark.parametrize("n_labels", [3, 8, 15])
@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("by", [0.0, 0.4])
def test_weights_are_kept_up_to_date(
    kind: str, weights: str, n_labels: int, real: bool, by: float
) -> None:
    """Blocks below, at and above eight places; dense and sparse; with values and without."""
    problem = make_instance(kind, n=10, n_labels=n_labels, real=real, weights=weights).problem
    design, rng = problem.arrays.design, np.random.default_rng(1)
    plain, v = problem.storage.zeros(), problem.storage.zeros()
    w = problem.storage.zeros() if by else v
    for i in range(problem.n_examples):
        delta = rng.normal(size=problem.max_parts) * (rng.random(problem.max_parts) < 0.7)
        before = w @ w
        scatter(design, i, delta, plain)
        change = scatter_shrunk(design, i, delta, v, w, by)
        np.testing.assert_allclose(v, plain, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(w, shrunk(v, by))
        assert change == pytest.approx(w @ w - before, abs=1e-11)


def test_no_change_leaves_everything() -> None:
    problem = make_instance("chain").problem
    v = problem.storage.zeros()
    w = problem.storage.zeros()
    assert scatter_shrunk(problem.arrays.design, 0, np.zeros(problem.max_parts), v, w, 0.5) == 0.0
    assert not v.any()
    assert not w.any()
