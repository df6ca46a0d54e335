"""How long the steps of EG are: a number, found by a search, or always those of a proof.

Steps that are proven to improve the dual (Lemmas 2, 3, 4 and 7 of Collins et al. 2008): an EG step
of 1/t does where B_Q[p||q] <= t D[p||q], with D[p||q] = sum_i c_i KL(p_i, q_i). For the dual B_Q is
tau D[p||q] + |sum_i c_i F_i^T d_i|^2 / (2 l2), d_i = p_i - q_i, and |d_i|_1^2 <= 2 KL(p_i, q_i).

    Theorem 1 (batch)    t = tau + n max_i c_i reach_i^2 / l2
    Theorem 2 (online)   t = tau + max_i c_i reach_i^2 / l2
    safe (batch)         t = tau + sum_i c_i diameter_i^2 / (4 l2)
    safe (online)        t = tau + c_i diameter_i^2 / (4 l2)

The first two are as published: reach_i^2 / l2 bounds |A_ii| = max_y |F_i^T (gold_i - y)|^2 / l2.
The others are longer, with a proof of our own: d_i takes |d_i|_1 / 2 from some labels and gives it
to others, so |F_i^T d_i| <= diameter_i |d_i|_1 / 2, and a diameter is at most twice the reach. The
sum over the examples then follows from the inequality of Cauchy and Schwarz.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...errors import MismatchError
from ...problem.problem import Problem
from ..options import OneOf, Positive

#: How long the steps are: a number, always that of a proof, or found by a search.
Eta: TypeAlias = Positive | Annotated[str, OneOf(("search", "theorem", "safe"))]


def searched(eta: Eta, **search: Any) -> bool:
    """Return whether eta is found by a search; refuse what only a search uses where it is not."""
    if eta != "search":
        for name, value in search.items():
            if value is not None:
                raise MismatchError(
                    f"{name} is for steps that are searched for, and eta is {eta!r}; leave one of "
                    "the two out"
                )
    return eta == "search"


def first_batch_step(problem: Problem, l2: float, eta: Eta, first_step: float | None) -> float:
    """Return the step of all examples that eta stands for, or the first one of a search."""
    if eta == "search":
        return 0.5 if first_step is None else first_step
    if eta == "theorem":
        return theorem_step(problem, l2, problem.n_examples)
    if eta == "safe":
        size = 0.25 * float(inner(problem.arrays.weight, problem.diameter**2)) / l2
        return 1.0 / max(problem.loss.tau + size, 1e-300)
    return float(eta)


def fixed_steps(problem: Problem, l2: float, eta: Eta) -> Floats | float:
    """Return the fixed steps of single examples that eta stands for."""
    if eta == "theorem":
        return theorem_step(problem, l2)
    return safe_steps(problem, l2) if eta == "safe" else float(eta)


def theorem_step(problem: Problem, l2: float, together: int = 1) -> float:
    """Return the longest step of Theorem 2, or of Theorem 1 for n examples that move together."""
    size = float((problem.arrays.weight * problem.reach**2).max(initial=0.0)) / l2
    return 1.0 / max(problem.loss.tau + together * size, 1e-300)


def safe_steps(problem: Problem, l2: float) -> Floats:
    """Return steps that improve the dual, one for each example."""
    size = 0.25 * problem.arrays.weight * problem.diameter**2 / l2
    return 1.0 / np.maximum(problem.arrays.tau + size, 1e-300)
