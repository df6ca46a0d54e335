"""Compiled sweeps over a run of examples: marginals, losses, slopes and sums."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ..compiled.jit import FAST, njit
from .design import scatter_between, score
from .problem import example_marginals, example_maximum

__all__ = [
    "Dial", "conditional_of", "cost_sum", "dual_sum", "losses_of", "lowest_entropy", "marginals_of",
    "scores_of", "slopes_of",
]  # fmt: skip

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
def marginals_of(a: Any, theta: Any, mu: Any, entropy: Any, begin: int, end: int, work: Any) -> Any:
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
def dual_sum(
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
def losses_of(a: Any, w: Any, out: Any, begin: int, end: int, q: Any, work: Any) -> None:
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
def cost_sum(a: Any, mu: Any, begin: int, end: int, total: float) -> Any:
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
def slopes_of(
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
def scores_of(a: Any, w: Any, dial: Any, theta: Any, begin: int, end: int) -> None:
    """Compute theta_i for i in [begin, end)."""
    for i in range(begin, end):
        own = theta[a.part_ptr[i] : a.part_ptr[i + 1]]
        score(a.design, i, w, own)
        _turn(a, i, dial, own)


@njit(fastmath=FAST)
def conditional_of(
    a: Any, of_marginals: Any, mu: Any, share: float, theta: Any, entropy: Any, begin: int,
    end: int, work: Any,
) -> Any:  # fmt: skip
    """Compute theta_i = -grad H at (1 - share) mu_i + share even_i, and H there, in [begin, end).

    even_i: the marginals of the uniform distribution over the labels of example i. Returns the
    first example that has no label, or -1.
    """
    size = (a.part_ptr[begin + 1 : end + 1] - a.part_ptr[begin:end]).max()
    kept, even, masked = np.empty(size), np.zeros(size), np.empty(size)
    for i in range(begin, end):
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = theta[lo : lo + n]
        if share > 0.0:
            for r in range(n):
                own[r] = 0.0
            if not np.isfinite(example_marginals(a, i, own, even[:n], masked, work)):
                return i
        for r in range(n):
            kept[r] = max((1.0 - share) * mu[lo + r] + share * even[r], 0.0)
        topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
        entropy[i] = of_marginals(a.spec, topo, kept[:n], own, work)
        for r in range(n):
            own[r] = -own[r]
    return -1
