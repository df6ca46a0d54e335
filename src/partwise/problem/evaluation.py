"""Primal and dual values from scratch: one implementation for all solvers and structures.

Threads split the examples, or the weights, into runs; every number is computed by one thread in a
fixed order, so the result does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from ..arrays import Floats
from ..compiled.jit import FAST, njit
from ..compiled.threads import run
from ..compiled.vectors import absolute_sum, inner, shrunk, shrunk_square
from ..errors import DataError
from .design import scatter_between, score
from .problem import Problem, example_marginals, example_maximum

_Result = TypeVar("_Result")

#: Parts whose marginals are kept at a time while a slope is computed.
_STRETCH: Final = 1 << 20
#: Half the distance from 1 to the next number: what one rounding may add.
_ROUNDING: Final = 2.0**-53
#: What the error of the marginals may add to an entropy, in nats, without being counted.
_SEEN: Final = 1e-6


class Dial(NamedTuple):
    """The theta that weights w stand for: score F_i w + cost cost_i + gold [gold_i].

    [gold_i] is 1 on the parts of the gold label. (1/tau, 1/tau, 0) is p(.|x_i; w).
    """

    score: float
    cost: float
    gold: float


class Slope(NamedTuple):
    """The results of one pass at some weights, for the gradient and for a certificate.

    The gradient of P is l2 w - v where l1 = 0; the dual point is u_i = p(.|x_i; w).
    """

    weights: Floats
    losses: Floats  # loss_i(w); for another dial (t, t, 0), the maximum smoothed at temperature 1/t
    linear: Floats  # tau H(u_i) + cost_i.mu_i
    v: Floats  # v(u)


@njit(fastmath=FAST)
def lowest_entropy(log_z: float, theta: Any, mu: Any) -> Any:
    """Compute H = logZ - theta.mu, less what rounding may have added, and at least 0.

    Where theta is huge, so are both terms, and their difference is rounding, by which a dual value
    must not gain. The error of mu, which grows with log Z, counts where it can be seen in a loss.
    """
    mean = size = 0.0
    for r in range(theta.size):
        mean += theta[r] * mu[r]
        size += abs(theta[r]) * mu[r]
    noise = _ROUNDING * (abs(log_z) + size)
    if noise * abs(log_z) > _SEEN:
        noise *= abs(log_z)
    return max(log_z - mean - noise, 0.0)


@njit(fastmath=FAST)
def _marginals_of(
    a: Any, theta: Any, mu: Any, entropy: Any, begin: int, end: int, work: Any
) -> Any:
    """Compute mu_i = marginals of theta_i and H_i = logZ_i - theta_i.mu_i for i in [begin, end).

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
        entropy[i] = lowest_entropy(log_z, theta[lo:hi], mu[lo:hi])
    return -1


@njit(fastmath=FAST)
def _dual_sum(
    a: Any, mu: Any, v: Any, first: int, last: int, begin: int, end: int, delta: Any
) -> None:
    """Add c_i F_i^T (gold_i - mu_i) to v for examples [first, last) and blocks in [begin, end).

    mu begins with the parts of example first.
    """
    for i in range(first, last):
        c = a.weight[i]
        lo, n = a.part_ptr[i] - a.part_ptr[first], a.part_ptr[i + 1] - a.part_ptr[i]
        for r in range(n):
            delta[r] = -c * mu[lo + r]
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            delta[a.gold_part[g]] += c * a.gold_count[g]
        scatter_between(a.design, i, delta, v, begin, end)


@njit(fastmath=FAST)
def _losses(a: Any, w: Any, out: Any, begin: int, end: int, q: Any, work: Any) -> None:
    """Compute the losses of the examples in [begin, end).

    out_i = tau log sum_y exp((F_i w + cost_i).y / tau) - gold_i.F_i w
    """
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
def _cost_sum(a: Any, mu: Any, begin: int, end: int, total: float) -> Any:
    """Add c_i cost_i.mu_i to the total for i in [begin, end)."""
    for i in range(begin, end):
        own = 0.0
        for r in range(a.part_ptr[i], a.part_ptr[i + 1]):
            own += a.cost[r] * mu[r]
        total += a.weight[i] * own
    return total


@njit(fastmath=FAST)
def _turn(a: Any, i: int, dial: Any, q: Any) -> None:
    """Turn q = F_i w into theta_i."""
    for r in range(q.size):
        q[r] *= dial.score
    if a.cost.size > 0:
        cost = a.cost[a.part_ptr[i] : a.part_ptr[i + 1]]
        for r in range(q.size):
            q[r] += dial.cost * cost[r]
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        q[a.gold_part[g]] += dial.gold


@njit(fastmath=FAST)
def _slopes(
    a: Any,
    w: Any,
    dial: Any,
    mu: Any,
    losses: Any,
    linear: Any,
    begin: int,
    end: int,
    first: int,
    work: Any,
) -> Any:
    """Compute the marginals mu_i of theta_i, the loss and tau H_i + cost_i.mu_i in [begin, end).

    The loss is logZ_i / score - gold_i.F_i w: the loss of p(.|x_i; w) for its dial, and a smoothed
    one for others. mu begins with the parts of example first. Returns the first example whose logZ
    is not finite, or -1.
    """
    size = (a.part_ptr[begin + 1 : end + 1] - a.part_ptr[begin:end]).max()
    q, masked = np.empty(size), np.empty(size if a.mask.size > 0 else 0)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        at = lo - a.part_ptr[first]
        own = mu[at : at + n]
        score(a.design, i, w, q)
        gold = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            gold += a.gold_count[g] * q[a.gold_part[g]]
        _turn(a, i, dial, q[:n])
        log_z = example_marginals(a, i, q[:n], own, masked, work)
        if not np.isfinite(log_z):
            return i
        cost = 0.0
        if a.cost.size > 0:
            for r in range(n):
                cost += a.cost[lo + r] * own[r]
        losses[i] = log_z / dial.score - gold
        linear[i] = a.tau * lowest_entropy(log_z, q[:n], own) + cost
    return -1


@njit(fastmath=FAST)
def _scores(a: Any, w: Any, dial: Any, theta: Any, begin: int, end: int) -> None:
    """Compute theta_i for i in [begin, end)."""
    for i in range(begin, end):
        own = theta[a.part_ptr[i] : a.part_ptr[i + 1]]
        score(a.design, i, w, own)
        _turn(a, i, dial, own)


@njit(fastmath=FAST)
def _conditional(
    a: Any, of_marginals: Any, mu: Any, least: float, theta: Any, entropy: Any, begin: int,
    end: int, work: Any,
) -> None:  # fmt: skip
    """Compute theta_i = -grad H at max(mu_i, least), and H there, for i in [begin, end)."""
    size = (a.part_ptr[begin + 1 : end + 1] - a.part_ptr[begin:end]).max()
    kept = np.empty(size)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = theta[lo : lo + n]
        for r in range(n):
            kept[r] = max(mu[lo + r], least)
        topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
        entropy[i] = of_marginals(a.spec, topo, kept[:n], own, work)
        for r in range(n):
            own[r] = -own[r]


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

    def run(self, size: int, task: Callable[[int, int], _Result]) -> list[_Result]:
        """Split range(size) into one run per thread."""
        return run(size, self.n_jobs, task)

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

            def shifted(begin: int, end: int, first: int = first) -> _Result:
                return task(begin + first, end + first)

            found += self.run(last - first, shifted)
        return found

    def marginals(self, theta: Floats, mu: Floats, entropy: Floats) -> None:
        """Fill mu and entropy from theta."""
        problem = self.problem

        def task(begin: int, end: int) -> int:
            work = np.empty(problem.work_size)
            found = _marginals_of(problem.arrays, theta, mu, entropy, begin, end, work)
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
                _dual_sum(arrays, own, v, first, last, begin, end, delta)

            self.run(len(v), task)
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
                run = (begin + first, end + first, first)
                return int(_slopes(arrays, weights, dial, mu, losses, linear, *run, work))

            def gather(begin: int, end: int, first: int = first, last: int = last) -> None:
                delta = np.empty(problem.max_parts)
                _dual_sum(arrays, mu, v, first, last, begin, end, delta)

            bad = [i for i in self.run(last - first, marginals) if i >= 0]
            if bad:
                raise not_finite(bad[0])
            self.run(len(v), gather)
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
            _scores(self.problem.arrays, weights, dial, theta, begin, end)

        self._sweep(task, changed=theta)
        return theta

    def conditional(self, mu: Floats, least: float = 1e-12) -> tuple[Floats, Floats]:
        """Compute a theta that has these marginals, and the entropies, if the structure can.

        theta = -grad H(mu), the logarithms of conditional probabilities. Marginals below ``least``
        are raised to it, as the rounding of one part must not make another part likely.
        """
        problem = self.problem
        theta = problem.room.parts("theta", problem.n_parts)
        entropy = np.empty(problem.n_examples)

        def task(begin: int, end: int) -> None:
            of_marginals = problem.structure.marginal_entropy
            work = np.empty(problem.work_size)
            _conditional(problem.arrays, of_marginals, mu, least, theta, entropy, begin, end, work)

        self._sweep(task, changed=theta)
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
            _losses(problem.arrays, weights, out, begin, end, q, work)

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
                total = _cost_sum(arrays, mu, first, last, total)
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
        f"example {example} (counted from 0) has no finite score: its features hold huge values "
        "or its constraints allow no label; scale the features or relax the constraints"
    )
