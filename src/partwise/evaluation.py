"""Primal and dual values from scratch: one implementation for all solvers and structures.

Threads split the examples, or the weights, into runs; every number is computed by one thread in a
fixed order, so the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .design import scatter_between, score
from .errors import DataError
from .jit import FAST, njit
from .problem import Problem, example_marginals, example_maximum
from .structures.base import Floats
from .threads import run

_Result = TypeVar("_Result")


@njit(fastmath=FAST)
def _marginals_of(
    a: Any, theta: Any, mu: Any, entropy: Any, begin: int, end: int, work: Any
) -> Any:
    """mu_i = marginals of theta_i and H_i = logZ_i - theta_i.mu_i for i in [begin, end).

    Returns the first example whose logZ is not finite, or -1.
    """
    masked = np.empty(0)
    if a.mask.size > 0:
        masked = np.empty((a.part_ptr[1:] - a.part_ptr[:-1]).max())
    for i in range(begin, end):
        lo, hi = a.part_ptr[i], a.part_ptr[i + 1]
        log_z = example_marginals(a, i, theta[lo:hi], mu[lo:hi], masked, work)
        if not np.isfinite(log_z):
            return i
        total = 0.0
        for r in range(lo, hi):
            total += theta[r] * mu[r]
        entropy[i] = log_z - total
    return -1


@njit(fastmath=FAST)
def _dual_sum(a: Any, mu: Any, v: Any, begin: int, end: int, delta: Any) -> None:
    """v = sum_i c_i F_i^T (gold_i - mu_i), for the blocks that begin in [begin, end)."""
    for i in range(a.weight.size):
        c = a.weight[i]
        lo, hi = a.part_ptr[i], a.part_ptr[i + 1]
        for r in range(hi - lo):
            delta[r] = -c * mu[lo + r]
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            delta[a.gold_part[g]] += c * a.gold_count[g]
        scatter_between(a.design, i, delta, v, begin, end)


@njit(fastmath=FAST)
def _losses(a: Any, w: Any, out: Any, begin: int, end: int, q: Any, work: Any) -> None:
    """out_i = tau log sum_y exp((F_i w + cost_i).y / tau) - gold_i.F_i w for i in [begin, end)."""
    tau = a.tau
    masked = np.empty(q.size) if a.mask.size > 0 else np.empty(0)
    nothing = np.empty(0)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, w, q)
        gold = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            gold += a.gold_count[g] * q[a.gold_part[g]]
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        if tau > 0.0:
            for r in range(n):
                q[r] /= tau
            out[i] = tau * example_marginals(a, i, q[:n], nothing, masked, work) - gold
        else:
            out[i] = example_maximum(a, i, q[:n], nothing, masked, work) - gold


@njit(fastmath=FAST)
def _scores(a: Any, w: Any, theta: Any, begin: int, end: int) -> None:
    """theta_i = (F_i w + cost_i) / tau for i in [begin, end): the dual point of p(.|x_i; w)."""
    for i in range(begin, end):
        lo, hi = a.part_ptr[i], a.part_ptr[i + 1]
        score(a.design, i, w, theta[lo:hi])
        for r in range(lo, hi):
            if a.cost.size > 0:
                theta[r] += a.cost[r]
            if a.tau > 0.0:
                theta[r] /= a.tau


@njit(fastmath=FAST)
def inner(x: Any, y: Any) -> Any:
    """x.y in one thread and one order, which BLAS does not promise."""
    total = 0.0
    for k in range(x.size):
        total += x[k] * y[k]
    return total


class Evaluator:
    """Evaluates a problem with a number of threads.

    Parameters
    ----------
    problem : Problem
        What to evaluate.
    n_jobs : int
        How many threads; -1: one a core.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        self.problem = problem
        self.n_jobs = n_jobs

    def run(self, size: int, task: Callable[[int, int], _Result]) -> list[_Result]:
        """Split range(size) into one run a thread."""
        return run(size, self.n_jobs, task)

    def marginals(self, theta: Floats, mu: Floats, entropy: Floats) -> None:
        """Fill mu and entropy from theta."""
        problem = self.problem

        def task(begin: int, end: int) -> int:
            work = np.empty(problem.work_size)
            found = _marginals_of(problem.arrays, theta, mu, entropy, begin, end, work)
            return int(found)

        bad = [i for i in self.run(problem.n_examples, task) if i >= 0]
        if bad:
            raise not_finite(bad[0])

    def dual_sum(self, mu: Floats) -> Floats:
        """Compute v = sum_i c_i F_i^T (gold_i - mu_i)."""
        problem = self.problem
        v = problem.storage.zeros()

        def task(begin: int, end: int) -> None:
            _dual_sum(problem.arrays, mu, v, begin, end, np.empty(problem.max_parts))

        self.run(len(v), task)
        return v

    def scores(self, weights: Floats) -> Floats:
        """Compute theta_i = (F_i w + cost_i) / tau for all examples."""
        theta = np.empty(self.problem.n_parts)

        def task(begin: int, end: int) -> None:
            _scores(self.problem.arrays, weights, theta, begin, end)

        self.run(self.problem.n_examples, task)
        return theta

    def losses(self, weights: Floats) -> Floats:
        """Compute the loss of every example at some weights."""
        problem = self.problem
        out = np.empty(problem.n_examples)

        def task(begin: int, end: int) -> None:
            q, work = np.empty(problem.max_parts), np.empty(problem.work_size)
            _losses(problem.arrays, weights, out, begin, end, q, work)

        self.run(problem.n_examples, task)
        return out

    def primal(self, weights: Floats, l2: float) -> float:
        """Compute P(w)."""
        losses = inner(self.losses(weights), self.problem.arrays.weight)
        return float(losses + 0.5 * l2 * inner(weights, weights))

    def dual_linear(self, mu: Floats, entropy: Floats) -> float:
        """Compute the part of D(u) beside the norm: sum_i c_i (tau H_i + cost_i.mu_i)."""
        arrays = self.problem.arrays
        value = arrays.tau * inner(arrays.weight, entropy)
        if arrays.cost.size:
            weight = np.repeat(arrays.weight, np.diff(arrays.part_ptr))
            value += inner(arrays.cost * mu, weight)
        return float(value)

    def dual(self, mu: Floats, entropy: Floats, v: Floats, l2: float) -> float:
        """Compute D(u) from the marginals, the entropies and v(u)."""
        return self.dual_linear(mu, entropy) - float(inner(v, v)) / (2.0 * l2)


def not_finite(example: int) -> DataError:
    """Say which example has scores without a finite log-partition."""
    return DataError(
        f"example {example} (counted from 0) has no finite score: its features hold huge values "
        "or its constraints allow no label; scale the features or relax the constraints"
    )
