"""Every solver on every structure: one optimum, certified."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.structure_cases import problem_of

from partwise.errors import MismatchError
from partwise.solvers.registry import SOLVERS, offered
from partwise.structures.registry import STRUCTURES
from partwise.training.loop import train

#: What the theory of a method with falling steps gives in a few hundred passes; the others reach
#: the optimum.
LOOSE = {"sgd": 5e-2, "sgd-nus": 1e-1, "asgd": 5e-2, "pegasos": 1e-1, "adagrad": 1e-2, "smd": 1e-1}


#: The hinge is not smooth: what the methods reach in 3000 passes of these problems by their rates,
#: O(1/k) for exponentiated gradient, O(1/k^2) for excessive gap; the others reach 1e-5.
HINGE = {
    "online-eg": 1e-3,
    "batch-eg": 2e-3,
    "primal-eg": 2e-3,
    "excessive-gap": 5e-4,
    "extragradient": 5e-4,
    "smo": 1e-4,
    "smo-eg": 1e-3,
    "pegasos": 1e-1,
}
#: Methods whose steps suit a smooth loss; with the hinge their gap stays large.
SMOOTH = {"sgd", "asgd"}


@cache
def optimum(structure: str) -> float:
    return train(problem_of(structure, "log"), 1.0, solver="newton", tol=1e-12).certificate.primal


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_one_optimum(solver: str, structure: str) -> None:
    problem = problem_of(structure, "log")
    if not SOLVERS[solver].needs <= offered(problem):
        with pytest.raises(MismatchError, match=f"{solver} needs"):
            train(problem, 1.0, solver=solver)
        return
    tol = LOOSE.get(solver, 1e-8)
    fit = train(problem, 1.0, solver=solver, tol=tol, max_passes=3000, seed=1)
    assert fit.certificate.converged
    best = optimum(structure)
    assert best * (1.0 - 1e-11) <= fit.certificate.primal <= best * (1.0 + 1.01 * tol)
    assert fit.certificate.dual <= best * (1.0 + 1e-11)
    assert np.isfinite(fit.weights).all()


@cache
def hinge_optimum(structure: str) -> tuple[float, float]:
    best = train(problem_of(structure, "hinge"), 1.0, solver="bcfw", tol=1e-6, max_passes=20_000)
    return best.certificate.dual, best.certificate.primal


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in SMOOTH])
def test_one_optimum_of_the_hinge(solver: str, structure: str) -> None:
    problem = problem_of(structure, "hinge")
    if not SOLVERS[solver].needs <= offered(problem):
        with pytest.raises(MismatchError, match=f"{solver} needs"):
            train(problem, 1.0, solver=solver)
        return
    tol = HINGE.get(solver, 1e-5)
    fit = train(problem, 1.0, solver=solver, tol=tol, max_passes=3000, seed=1)
    assert fit.certificate.converged
    low, high = hinge_optimum(structure)
    assert low * (1.0 - 1e-11) <= fit.certificate.primal <= high * (1.0 + 1.01 * tol)
    assert fit.certificate.dual <= high * (1.0 + 1e-11)
    assert np.isfinite(fit.weights).all()
