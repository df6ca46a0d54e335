"""Primal and dual values from scratch: one implementation for all solvers and structures.

Threads split the examples, or the weights, into runs; every number is computed by one thread in a
fixed order, so the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np

from ..arrays import Floats
from ..compiled.threads import run
from ..compiled.vectors import absolute_sum, inner, shrunk, shrunk_square
from ..errors import DataError, Place
from .problem import Problem
from .sweeps import (
    Dial,
    conditional_of,
    cost_sum,
    dual_sum,
    losses_of,
    marginals_of,
    scores_of,
    slopes_of,
)  # fmt: skip

# Where a fit stands in the dual, so that another can go on from there.


@dataclass(frozen=True)
class DualPoint:
    """A point u of the dual, for all examples.

    Attributes
    ----------
    theta : ndarray
        Scores of the parts: u_i = p(.; theta_i), or near it.
    mu : ndarray or None
        The marginals of u where they are not those of theta, as not every point has a theta.
    steps : ndarray or None
        The steps of the examples that the fit ended with, if each has one of its own.
    unfolded : ndarray or None
        The marginals of the parts and steps of u, where those of the parts alone do not determine
        it: see ``problem/unfold.py``.
    """

    theta: Floats
    mu: Floats | None = None
    steps: Floats | None = None
    unfolded: Floats | None = None

    def beyond(self, before: DualPoint, a: float) -> DualPoint:
        """Extrapolate: go on by a times the way from an earlier point to this one.

        Marginals cannot leave their set.
        """
        if self.mu is not None or before.mu is not None:
            return self
        theta = self.theta + a * (self.theta - before.theta)
        return DualPoint(theta, steps=self.steps)


_Result = TypeVar("_Result")

#: Parts whose marginals are kept at a time while a slope is computed.
_STRETCH: Final = 1 << 20


class Slope(NamedTuple):
    """The results of one pass at some weights, for the gradient and for a certificate.

    The gradient of P is l2 w - v where l1 = 0; the dual point is u_i = p(.|x_i; w).
    """

    weights: Floats
    losses: Floats  # loss_i(w); for another dial (t, t, 0), the maximum smoothed at temperature 1/t
    linear: Floats  # tau H(u_i) + cost_i.mu_i
    v: Floats  # v(u)


class Evaluator:
    """Computes primal and dual values of a problem with a number of threads.

    Parameters
    ----------
    problem : Problem
        What to evaluate.
    n_jobs : int
        How many threads; -1 means one per core.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        self.problem = problem
        self.n_jobs = n_jobs

    def run(self, first: int, last: int, task: Callable[[int, int], _Result]) -> list[_Result]:
        """Split range(first, last) into one run per thread."""
        return run(first, last, self.n_jobs, task)

    def _sweep(
        self, task: Callable[[int, int], _Result], changed: Floats | None = None
    ) -> list[_Result]:
        """Run a task on all examples, block by block, each split into one run per thread.

        Parameters
        ----------
        task : callable
            Takes the first example of a run and the one after the last.
        changed : ndarray or None
            An array of duals that the task changes.
        """
        found: list[_Result] = []
        room, n = self.problem.room, self.problem.n_examples
        for first, last in room.sweep(n, changed is not None and room.keeps(changed)):
            found += run(first, last, self.n_jobs, task)
        return found

    def marginals(self, theta: Floats, mu: Floats, entropy: Floats) -> None:
        """Fill mu and entropy from theta."""
        problem = self.problem

        def task(begin: int, end: int) -> int:
            work = np.empty(problem.work_size)
            found = marginals_of(problem.arrays, theta, mu, entropy, begin, end, work)
            return int(found)

        bad = [i for i in self._sweep(task, changed=mu) if i >= 0]
        if bad:
            raise not_finite(bad[0])

    def dual_sum(self, mu: Floats) -> Floats:
        """Compute v = sum_i c_i F_i^T (gold_i - mu_i)."""
        problem, arrays = self.problem, self.problem.arrays
        v = problem.storage.zeros()
        for first, last in problem.room.sweep(problem.n_examples):
            own = mu[arrays.part_ptr[first] : arrays.part_ptr[last]]

            def task(
                begin: int, end: int, own: Floats = own, first: int = first, last: int = last
            ) -> None:
                delta = np.empty(problem.max_parts)
                dual_sum(arrays, own, v, first, last, begin, end, delta)

            self.run(0, len(v), task)
        return v

    def slope(self, weights: Floats, dial: Dial | None = None, into: Floats | None = None) -> Slope:
        """Compute losses and marginals at some weights, and v of these marginals.

        Only the marginals of some examples are kept at a time, unless all are asked for.

        Parameters
        ----------
        weights : ndarray
            Stored weights w.
        dial : Dial or None
            Which theta_i they stand for; None means that of p(.|x_i; w).
        into : ndarray or None
            Where to leave the marginals of all examples.
        """
        problem, arrays = self.problem, self.problem.arrays
        n = problem.n_examples
        dial = dial or self._own_dial()
        losses, linear, v = np.empty(n), np.empty(n), problem.storage.zeros()
        mu = np.empty(self.stretch()) if into is None else into
        for first, last in self._stretches(len(mu)):

            def marginals(begin: int, end: int, first: int = first) -> int:
                work = np.empty(problem.work_size)
                run = (begin, end, first)
                return int(slopes_of(arrays, weights, dial, mu, losses, linear, *run, work))

            def gather(begin: int, end: int, first: int = first, last: int = last) -> None:
                delta = np.empty(problem.max_parts)
                dual_sum(arrays, mu, v, first, last, begin, end, delta)

            bad = [i for i in self.run(first, last, marginals) if i >= 0]
            if bad:
                raise not_finite(bad[0])
            self.run(0, len(v), gather)
        return Slope(weights, losses, linear, v)

    def _stretches(self, room: int) -> Iterator[tuple[int, int]]:
        """Go through all examples in runs of at most so many parts."""
        part_ptr = self.problem.arrays.part_ptr
        for first, end in self.problem.room.sweep(self.problem.n_examples):
            while first < end:
                most = int(np.searchsorted(part_ptr, part_ptr[first] + room, "right")) - 1
                last = min(most, end)
                yield first, last
                first = last

    def stretch(self) -> int:
        """Return for how many parts the marginals are kept at a time."""
        return min(max(_STRETCH, self.problem.max_parts), self.problem.n_parts)

    def _own_dial(self) -> Dial:
        """Return the dial of p(.|x_i; w); for tau = 0, of the scores themselves."""
        scale = 1.0 / (self.problem.loss.tau or 1.0)
        return Dial(scale, scale, 0.0)

    def scores(self, weights: Floats, dial: Dial | None = None) -> Floats:
        """Compute theta_i for all examples; by default that of p(.|x_i; w)."""
        theta = self.problem.room.parts("theta", self.problem.n_parts)
        dial = dial or self._own_dial()

        def task(begin: int, end: int) -> None:
            scores_of(self.problem.arrays, weights, dial, theta, begin, end)

        self._sweep(task, changed=theta)
        return theta

    def conditional(self, mu: Floats, share: float = 1e-10) -> tuple[Floats, Floats]:
        """Compute a theta that has these marginals, and the entropies, if the structure can.

        theta = -grad H(mu), the logarithms of conditional probabilities. Where marginals are 0,
        these are not known, and those that are raised one by one may make up a distribution that
        is nowhere near: a chain of T positions has n^T paths through its n labels that have
        none. So a share of the uniform distribution is mixed in, larger than what rounding does.
        """
        problem = self.problem
        theta = problem.room.parts("theta", problem.n_parts)
        entropy = np.empty(problem.n_examples)

        def task(begin: int, end: int) -> int:
            work = np.empty(problem.work_size)
            run = (theta, entropy, begin, end, work)
            return int(conditional_of(problem.arrays, problem.marginal_entropy, mu, share, *run))

        bad = [i for i in self._sweep(task, changed=theta) if i >= 0]
        if bad:
            raise not_finite(bad[0])
        return theta, entropy

    def weights(self, theta: Floats, l2: float, l1: float = 0.0) -> Floats:
        """Compute w(u) for the dual point of theta."""
        mu = self.problem.room.parts("mu", len(theta))
        self.marginals(theta, mu, np.empty(self.problem.n_examples))
        return shrunk(self.dual_sum(mu), l1) / l2

    def losses(self, weights: Floats) -> Floats:
        """Compute the loss of every example at some weights."""
        problem = self.problem
        out = np.empty(problem.n_examples)

        def task(begin: int, end: int) -> None:
            q, work = np.empty(problem.max_parts), np.empty(problem.work_size)
            losses_of(problem.arrays, weights, out, begin, end, q, work)

        self._sweep(task)
        return out

    def primal(self, weights: Floats, l2: float, l1: float = 0.0) -> float:
        """Compute P(w)."""
        losses = inner(self.losses(weights), self.problem.arrays.weight)
        return float(losses) + penalty(weights, l2, l1)

    def dual_linear(self, mu: Floats, entropy: Floats) -> float:
        """Compute D(u) without the norm: sum_i c_i (tau H_i + cost_i.mu_i)."""
        arrays = self.problem.arrays
        value = arrays.tau * inner(arrays.weight, entropy)
        if arrays.cost.size:
            total = 0.0
            for first, last in self.problem.room.sweep(self.problem.n_examples):
                total = cost_sum(arrays, mu, first, last, total)
            value += total
        return float(value)

    def dual(self, mu: Floats, entropy: Floats, v: Floats, l2: float, l1: float = 0.0) -> float:
        """Compute D(u) from the marginals, the entropies and v(u)."""
        return self.dual_linear(mu, entropy) - float(shrunk_square(v, l1)) / (2.0 * l2)


def penalty(weights: Floats, l2: float, l1: float = 0.0) -> float:
    """Compute l2/2 |w|^2 + l1 |w|_1."""
    return float(0.5 * l2 * inner(weights, weights) + l1 * absolute_sum(weights))


def not_finite(example: int) -> DataError:
    """Return the error for an example whose scores have no finite log-partition."""
    return DataError(
        "has no finite score: its features hold huge values "
        "or its constraints allow no label; scale the features or relax the constraints",
        place=Place.nth("example", example),
        subject=True,
    )
