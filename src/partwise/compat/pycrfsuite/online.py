"""Averaged perceptron, passive-aggressive learning and AROW, as CRFsuite has them.

They take one sequence at a time, label it by Viterbi's algorithm with the current weights, and
change the weights where that is wrong. With d wrong labels, delta = f(x, y) - f(x, y') for the
right labels y and the found ones y', and the violation err = w.f(x, y') - w.f(x, y):

    perceptron   w += delta
    PA           w += tau delta,  cost = err + sqrt(d)  (err + 1 if it is not sensitive to errors),
                 tau = cost / |delta|^2;  PA-I: min(c, that);  PA-II: cost / (|delta|^2 + 1/(2 c))
    AROW         w_k += alpha s_k delta_k,  alpha = (err + d) / (gamma + sum_k s_k delta_k^2),
                 1 / s_k += delta_k^2 / gamma

They are not solvers of the package, because they minimise no objective of it: there is no bound to
certify, only a rule to follow. They run on the arrays of a problem, though, like solvers do. What
they learn depends on the order of the sequences.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...problem.design import score
from ...problem.problem import Problem, example_maximum

__all__ = ["OnlinePass", "learn_online", "shuffled"]

_PERCEPTRON, _PASSIVE_AGGRESSIVE, _AROW = 0, 1, 2
_RULES: Final = {
    "averaged-perceptron": _PERCEPTRON,
    "passive-aggressive": _PASSIVE_AGGRESSIVE,
    "arow": _AROW,
}


@dataclass(frozen=True)
class OnlinePass:
    """What one pass over the data did.

    Attributes
    ----------
    number : int
        The number of the pass, from 1.
    loss : float
        The sum of the costs, or for the perceptron of the ratios of wrong labels.
    norm : float
        The Euclidean norm that CRFsuite reports: of the averaged weights for the perceptron,
        otherwise of the weights before averaging.
    weights : ndarray
        The weights that training would return now, in the order of the layout.
    seconds : float
        The time that it took.
    """

    number: int
    loss: float
    norm: float
    weights: Floats
    seconds: float


def shuffled(n: int, seed: int = 0) -> Iterator[Ints]:
    """Yield random orders of n sequences, without end."""
    draw = np.random.default_rng(seed)
    while True:
        yield draw.permutation(n)


def learn_online(
    problem: Problem,
    algorithm: str,
    values: Mapping[str, Any],
    orders: Iterable[Ints],
    report: Callable[[OnlinePass], None],
) -> tuple[Floats, bool]:
    """Learn weights by an online algorithm.

    Parameters
    ----------
    problem : Problem
        The sequences and the weights that exist; its loss is not used.
    algorithm : {"averaged-perceptron", "passive-aggressive", "arow"}
        The algorithm.
    values : mapping
        The parameters of the algorithm.
    orders : iterable of ndarray
        The order of the sequences in each pass.
    report : callable
        Called after each pass.

    Returns
    -------
    weights, stopped
        The weights in the order of the layout, and whether the stopping criterion was met.
    """
    problem = problem.with_oracle("maximum")
    rule, n = _RULES[algorithm], problem.n_examples
    w, total = problem.storage.zeros(), problem.storage.zeros()
    spread = np.full(len(w) if rule == _AROW else 0, float(values.get("variance", 1.0)))
    averages = rule == _PERCEPTRON or (rule == _PASSIVE_AGGRESSIVE and values["averaging"])
    room = (np.zeros(len(w)), np.zeros(len(w), np.bool_), np.empty(len(w), np.int64))
    parts = (np.empty(problem.max_parts), np.empty(problem.max_parts), np.empty(problem.max_parts))
    work = np.empty(problem.work_size)
    constants = (
        int(values.get("type", 0)),
        float(values.get("c", 1.0)),
        bool(values.get("error_sensitive", True)),
        float(values.get("gamma", 1.0)),
    )
    found, stopped, count = w, False, 1
    for number, order in zip(range(1, values["max_iterations"] + 1), orders, strict=False):
        began = time.perf_counter()
        loss = _epoch(
            problem.arrays, rule, constants, order, w, total, spread, count, room, parts, work
        )
        count += n
        found = w - total / count if averages else w
        norm = float(np.linalg.norm(found if rule == _PERCEPTRON else w))
        weights = problem.storage.gather(found)
        report(OnlinePass(number, loss, norm, weights, time.perf_counter() - began))
        # CRFsuite stops AROW at the threshold, and the other two below it.
        mean, epsilon = loss / n, values["epsilon"]
        stopped = mean <= epsilon if rule == _AROW else mean < epsilon
        if stopped:
            break
    return problem.storage.gather(found), stopped


@njit
def _add(at: int, change: float, delta: Any, used: Any, active: Any, n: int) -> Any:
    """Add to one entry of delta, and return how many entries it has."""
    delta[at] += change
    if not used[at]:
        used[at] = True
        active[n] = at
        n += 1
    return n


@njit
def _collect(design: Any, i: int, change: Any, delta: Any, used: Any, active: Any) -> Any:
    """Compute delta = F_i^T change; fill active with its entries and return how many there are."""
    valued, masked = design.value.size > 0, design.live.size > 0
    n = 0
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        first = design.site_part[s]
        for k in range(design.site_width[s]):
            if change[first + k] == 0.0:
                continue
            for e in range(design.entry_ptr[s], design.sparse_ptr[s]):
                at: Any = np.int64(design.start[e]) + k
                if not masked or design.live[at]:
                    x = design.value[e] if valued else 1.0
                    n = _add(at, x * change[first + k], delta, used, active, n)
            for e in range(design.sparse_ptr[s], design.entry_ptr[s + 1]):
                begin = np.int64(design.start[e])
                for at in range(begin, begin + np.int64(design.size[e])):
                    if design.slot[at] == k:
                        x = design.value[e] if valued else 1.0
                        n = _add(at, x * change[first + k], delta, used, active, n)
    return n


@njit
def _epoch(
    a: Any,
    rule: int,
    constants: Any,
    order: Any,
    w: Any,
    total: Any,
    spread: Any,
    count: int,
    room: Any,
    parts: Any,
    work: Any,
) -> Any:
    """Take all sequences in an order and return the loss.

    total is the sum of count times the change of w, for the average; spread is s of AROW. delta
    and used are 0 and False between the sequences.
    """
    delta, used, active = room
    q, mu, masked = parts
    loss = 0.0
    for i in order:
        n_parts = a.part_ptr[i + 1] - a.part_ptr[i]
        theta, found = q[:n_parts], mu[:n_parts]
        score(a.design, i, w, theta)
        best = example_maximum(a, i, theta, found, masked, work)
        right, same = 0.0, 0.0
        length = a.topo[a.topo_ptr[i]]
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            r = a.gold_part[g]
            right += a.gold_count[g] * theta[r]
            # The parts of the positions come first.
            if r < length * a.spec[0]:
                same += found[r]
        wrong = length - same
        if wrong > 0:
            for r in range(n_parts):
                found[r] = -found[r]
            for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
                found[a.gold_part[g]] += a.gold_count[g]
            n = _collect(a.design, i, found, delta, used, active)
            loss += _update(
                rule, constants, wrong, length, best - right, count,
                w, total, spread, delta, active[:n],
            )  # fmt: skip
            for at in active[:n]:
                delta[at], used[at] = 0.0, False
        count += 1
    return loss


@njit(fastmath=FAST)
def _update(
    rule: int,
    constants: Any,
    wrong: float,
    length: int,
    violation: float,
    count: int,
    w: Any,
    total: Any,
    spread: Any,
    delta: Any,
    active: Any,
) -> Any:
    """Change the weights for a sequence with wrong labels, and return its loss."""
    kind, c, sensitive, gamma = constants
    if rule == 2:
        cost = violation + wrong
        size = gamma
        for k in active:
            size += delta[k] * delta[k] * spread[k]
        alpha = cost / size
        for k in active:
            w[k] += alpha * spread[k] * delta[k]
            spread[k] = 1.0 / (1.0 / spread[k] + delta[k] * delta[k] / gamma)
        return cost
    tau = 1.0
    cost = wrong / length
    if rule == 1:
        cost = violation + (math.sqrt(wrong) if sensitive else 1.0)
        norm = 0.0
        for k in active:
            norm += delta[k] * delta[k]
        if kind == 2:
            tau = cost / (norm + 0.5 / c)
        else:
            # Without any weight that could change there is nothing to divide by.
            tau = cost / norm if norm > 0.0 else 0.0
            if kind == 1:
                tau = min(c, tau)
    for k in active:
        w[k] += tau * delta[k]
        total[k] += tau * count * delta[k]
    return cost
