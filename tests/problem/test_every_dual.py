"""The dual of the hinge written out, a variable for every label, for an interior-point solver."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.structure_cases import LENGTHS, problem_of

from partwise.errors import MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.problem import Problem
from partwise.problem.subset import subset
from partwise.solvers.dual_points import gold_marginals
from partwise.solvers.planes.bmrm import bundle_gap, bundle_optimum
from partwise.solvers.registry import SOLVERS, offered
from partwise.structures.registry import STRUCTURES
from partwise.training.loop import train

#: What they reach within the passes of this test by their rates; the others reach 1e-8.
SLOW = {"online-eg", "batch-eg", "primal-eg", "excessive-gap", "extragradient", "smo-eg"}
SLOW |= {"sgd", "asgd", "pegasos"}


def small(structure: str) -> Problem:
    """The examples of the usual problem whose labels can be listed."""
    return subset(problem_of(structure, "hinge"), np.flatnonzero(np.array(LENGTHS) <= 3))


@cache
def written_out(structure: str) -> float:
    """The optimum for l2 = 1."""
    problem = small(structure)
    arrays, evaluator = problem.arrays, Evaluator(problem)
    gold = gold_marginals(problem)
    planes, linear, group = [], [], []
    for i in range(problem.n_examples):
        lo, hi = arrays.part_ptr[i], arrays.part_ptr[i + 1]
        topo = arrays.topo[arrays.topo_ptr[i] : arrays.topo_ptr[i + 1]]
        _, labels = problem.structure.k_best(np.zeros(hi - lo), topo, 100_000)
        assert len({label.tobytes() for label in labels}) == len(labels)
        for label in labels:
            parts, counts = problem.structure.encode(label, topo)
            mu = gold.copy()
            mu[lo:hi] = 0.0
            mu[lo + parts] = counts
            planes.append(evaluator.dual_sum(mu))
            linear.append(evaluator.dual_linear(mu, np.zeros(problem.n_examples)))
            group.append(i)
    gram = np.array(planes) @ np.array(planes).T
    program = (gram, np.array(linear), np.array(group))
    alpha = bundle_optimum(*program, np.zeros(len(linear)))
    value = float(program[1] @ alpha - alpha @ gram @ alpha / 2.0)
    assert bundle_gap(*program, alpha) <= 1e-9 * value
    return value


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in SLOW])
def test_the_dual_is_that_of_the_quadratic_program(solver: str, structure: str) -> None:
    problem = small(structure)
    if not SOLVERS[solver].needs <= offered(problem):
        with pytest.raises(MismatchError, match=f"{solver} needs"):
            train(problem, 1.0, solver=solver)
        return
    found = train(problem, 1.0, solver=solver, tol=1e-8, max_passes=50_000).certificate
    assert found.converged
    assert found.dual == pytest.approx(written_out(structure), rel=1e-7)
