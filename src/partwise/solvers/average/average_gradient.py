"""Stochastic average gradient: SAG and SAGA, with uniform or with non-uniform sampling.

    f(w) = P(w) / n = 1/n sum_i f_i(w) + lambda/2 |w|^2,    f_i = c_i loss_i,    lambda = l2 / n

Schmidt, Babanezhad, Ahmed, Defazio, Clifton and Sarkar (2015), Algorithms 1 and 2 and section 5. A
visit to example i replaces its gradient g_i in the sum d of all gradients, and moves all weights:

    SAG    w <- w - alpha [d / m + lambda w]                          m examples seen so far
    SAGA   w <- w - alpha [(g - g_i) / (n p_i) + d / m + lambda w]    d before the visit

g_i = c_i F_i^T (mu_i - gold_i) is kept as the marginals mu_i of the parts, which are also a dual
point: d = -v(u). Examples that were not yet seen have mu_i = gold_i, whose gradient is 0.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...arrays import Floats
from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from ...problem.problem import example_marginals
from ...problem.sweeps import lowest_entropy
from .lazy import catch_up, catch_up_all, clear, settle
from .memory import (
    BETA,
    CHOSEN,
    CROSS,
    LARGEST,
    LINEAR,
    LONGEST,
    NORM,
    NUS,
    NUS_2013,
    SEARCHES,
    SEEN,
    SLIDE,
    SQUARE,
    STALE,
    STEP,
    STEPS,
    UNIFORM,
    VISITS,
    Memory,
    Rule,
    find,
    put,
)
from .two_vectors import scatter_both, score_both

#: L need not go below this fraction of lambda, where 1 / (L + lambda) hardly depends on it.
NEGLIGIBLE: Final = 1e-6


@njit
def draw(memory: Any, rule: Any, coins: Any) -> Any:
    """Choose an example; return its place in ``order`` and p_i."""
    order, tree, n = memory.order, memory.tree, memory.order.size
    seen = int(memory.totals[SEEN])
    anyone = int(coins[1] * n)
    if rule.sampling == UNIFORM or (rule.sampling == NUS and tree[1] == 0.0):
        return anyone, 1.0 / n
    if rule.sampling == NUS:
        # Half of the time uniformly, half of the time in proportion to L_i.
        k = memory.place[find(tree, coins[1])] if coins[0] < 0.5 else anyone
        return k, 0.5 / n + 0.5 * memory.curvature[order[k]] / tree[1]
    # An unseen example with probability 1 - m/n, else in proportion to L_i + mean L + 2 lambda.
    if coins[0] * n >= seen:
        return seen + int(coins[1] * (n - seen)), 1.0 / n
    even = tree[1] / seen + 2.0 * rule.l2 / n
    total = tree[1] + seen * even
    steep = coins[2] * total < tree[1]
    k = memory.place[find(tree, coins[1])] if steep else int(coins[1] * seen)
    return k, seen / n * (memory.curvature[order[k]] + even) / total


def all_chances(memory: Memory, rule: Rule) -> Floats:
    """Return the chance of every example to be the next one, as `draw` chooses it."""
    n, seen, total = len(memory.order), int(memory.totals[SEEN]), float(memory.tree[1])
    chances: Floats = np.zeros(len(memory.place))
    if rule.sampling == UNIFORM or (rule.sampling == NUS and total == 0.0):
        chances[memory.order] = 1.0
    elif rule.sampling == NUS:
        chances[memory.order] = 1.0 / n + memory.curvature[memory.order] / total
    else:
        chances[memory.order] = 1.0 / n
        if seen:
            known = memory.order[:seen]
            even = total / seen + 2.0 * rule.l2 / n
            chances[known] = seen / n * (memory.curvature[known] + even) / (total + seen * even)
    chances /= chances.sum()
    return chances


@njit
def see(memory: Any, k: int) -> None:
    """Move the example at place k to the examples that were seen."""
    order, place, totals = memory.order, memory.place, memory.totals
    seen = int(totals[SEEN])
    if k >= seen:
        order[k], order[seen] = order[seen], order[k]
        place[order[k]], place[order[seen]] = k, seen
        totals[SEEN] += 1.0


@njit(fastmath=FAST)
def value_after(a: Any, i: int, L: float, buffers: Any) -> Any:
    """Return f_i(w - g / L) by a forward pass; q and change hold F_i w and F_i g."""
    q, change, theta, _, _, masked, work = buffers
    lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
    gold = 0.0
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        r = a.gold_part[g]
        gold += a.gold_count[g] * (q[r] - change[r] / L)
    for r in range(n):
        theta[r] = q[r] - change[r] / L
    if a.cost.size > 0:
        for r in range(n):
            theta[r] += a.cost[lo + r]
    for r in range(n):
        theta[r] /= a.tau
    log_z = example_marginals(a, i, theta[:n], theta[:0], masked, work)
    return a.weight[i] * (a.tau * log_z - gold)


@njit(fastmath=FAST)
def line_search(
    a: Any, i: int, f: float, noise: float, gradient: Any, L: float, memory: Any, buffers: Any
) -> Any:
    """Double L until f_i(w - g / L) <= f_i(w) - |g|^2 / (2 L): Algorithm 2.

    gradient: c_i (mu_i - gold_i), so that g is its image under F_i^T. Rounding may raise the value
    by noise. Where no search was made so far, L does not depend on the features, so it is also
    halved. About 2,100 doublings or halvings lead from any number to the end of float64; if no
    value is finite L becomes inf, which makes no step.

    Returns (L, trials); there is no trial where g is almost 0.
    """
    change = buffers[1]
    trials = 0
    square = scatter(a.design, i, gradient, memory.room)
    if square > memory.least[i]:
        score(a.design, i, memory.room, change)
        down = memory.totals[SEARCHES] == 0.0
        while 0.0 < L < math.inf:
            trials += 1
            # The negation also catches a value that is not finite.
            if not value_after(a, i, L, buffers) <= f - square / (2.0 * L) + noise:
                L *= 2.0
                down = False
            elif down:
                L *= 0.5
            else:
                break
        memory.totals[SEARCHES] += 1.0
    clear(a.design, i, memory.room)
    return L, trials


@njit
def new_curvature(
    a: Any, i: int, f: float, noise: float, gradient: Any, memory: Any, rule: Any, buffers: Any
) -> None:
    """Update L_i and L_g at a visit to example i."""
    totals, n = memory.totals, memory.order.size
    alone = rule.sampling != UNIFORM  # whether the example has an L of its own
    if alone and memory.skip[i] > 0:
        memory.skip[i] -= 1
        totals[LARGEST] = max(totals[LARGEST], memory.curvature[i])
        return
    L = memory.curvature[i] if alone else totals[LARGEST]
    trial = L
    if alone and L > 0.0:
        trial *= 0.9 if rule.sampling == NUS else 0.5
    elif alone:
        L = trial = rule.first
        if rule.sampling == NUS and totals[CHOSEN] > 0.0:
            L = trial = 0.5 * memory.tree[1] / totals[CHOSEN]
        totals[CHOSEN] += 1.0
    found, trials = line_search(a, i, f, noise, gradient, trial, memory, buffers)
    totals[VISITS] += trials
    if trials > 0:
        L = found
    if not alone:
        totals[LARGEST] = L
        return
    if trials > 0:
        memory.streak[i] = min(memory.streak[i] + 1, LONGEST) if trials == 1 else 0
        if rule.skipping and memory.streak[i] > 0:
            memory.skip[i] = 1 << (memory.streak[i] - 1)
    memory.curvature[i] = max(L, NEGLIGIBLE * rule.l2 / n)
    put(memory.tree, i, memory.curvature[i])
    totals[LARGEST] = max(totals[LARGEST], memory.curvature[i])


@njit
def step_size(memory: Any, rule: Any) -> Any:
    """Return the step alpha for the present L_g and the mean of the L_i."""
    if rule.fixed > 0.0:
        return rule.fixed
    totals, n = memory.totals, memory.order.size
    lam = rule.l2 / n
    alpha = 1.0 / (totals[LARGEST] + lam)
    if rule.sampling != UNIFORM:
        even = 0.5 * (alpha + 1.0 / (memory.tree[1] / totals[CHOSEN] + lam))
        # The scheme of 2013 moves to that step as more examples are seen.
        part = totals[SEEN] / n if rule.sampling == NUS_2013 else 1.0
        alpha += part * (even - alpha)
    return rule.share * alpha


@njit
def next_step(memory: Any, rule: Any) -> Any:
    """Return alpha for this step.

    With l1 it stays the same until it is too large, since lazy steps need the same T.
    """
    alpha, totals = step_size(memory, rule), memory.totals
    if rule.l1 == 0.0:
        return alpha
    if alpha < 0.8 * totals[STEP]:
        shrink_all(memory, rule, alpha)
    return totals[STEP]


@njit
def shrink_all(memory: Any, rule: Any, alpha: float) -> None:
    """Take the steps that are due for all weights; later steps have this alpha."""
    totals, n = memory.totals, memory.order.size
    step, now = totals[STEP], int(totals[STEPS])
    numbers = (step / n, step * rule.l2 / n, step * rule.l1 / n)
    catch_up_all(memory.edges, memory.z, memory.d, memory.stamp, now, *numbers)
    totals[STEP], totals[STEPS] = alpha, 0.0


@njit(fastmath=FAST)
def move(
    a: Any, i: int, delta: Any, products: Any, alpha: float, k: float, memory: Any, rule: Any
) -> None:
    """d += x, x = F_i^T delta; then w <- (1 - alpha lambda) w - alpha [d / m + (k - 1/m) x].

    products: w.x and d.x with the old d, from which those of the new w and d follow. With l1 only
    the jump along x is made; the rest of the step is left to the next ``catch_up``.
    """
    totals = memory.totals
    m = totals[SEEN]
    rho = 1.0 - alpha * rule.l2 / memory.order.size
    b, jump = alpha / m, alpha * (k - 1.0 / m)
    beta, s = rho * totals[BETA], totals[SLIDE]
    change = scatter_both(a.design, i, delta, memory.d, memory.z, s - jump / beta)
    totals[NORM] += change
    totals[STEPS] += 1.0
    if rule.l1 > 0.0:
        return
    wx, dx = products
    xx = change - 2.0 * dx
    dx += xx
    wd, dd, ww = totals[CROSS] + wx, totals[NORM], totals[SQUARE]
    totals[CROSS] = rho * wd - b * dd - jump * dx
    totals[SQUARE] = rho * (rho * ww - 2.0 * (b * wd + jump * wx)) + b * (b * dd + 2.0 * jump * dx)
    totals[SQUARE] += jump * jump * xx
    totals[BETA], totals[SLIDE] = beta, s + b / beta
    if beta < 1e-100:
        settle(memory.z, memory.d, beta, totals[SLIDE])
        totals[BETA], totals[SLIDE] = 1.0, 0.0


@njit(fastmath=FAST)
def scores(a: Any, i: int, memory: Any, rule: Any, q: Any, pull: Any) -> None:
    """Compute q = F_i w and pull = F_i d; with l1, pull is not needed."""
    totals, n = memory.totals, memory.order.size
    if rule.l1 > 0.0:
        step, now = totals[STEP], int(totals[STEPS])
        numbers = (step / n, step * rule.l2 / n, step * rule.l1 / n)
        catch_up(a.design, i, memory.z, memory.d, memory.stamp, now, *numbers)
        score(a.design, i, memory.z, q)
        return
    score_both(a.design, i, memory.z, memory.d, q, pull)
    beta, s = totals[BETA], totals[SLIDE]
    for r in range(a.part_ptr[i + 1] - a.part_ptr[i]):
        q[r] = beta * (q[r] - s * pull[r])


@njit(fastmath=FAST)
def respond(a: Any, i: int, q: Any, theta: Any, mu: Any, masked: Any, work: Any) -> Any:
    """Compute the marginals mu of u_i = p(.|x_i; w) from q = F_i w.

    Returns (log Z, tau H(u_i) + cost_i.mu, F_i w.gold_i).
    """
    lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
    for r in range(n):
        theta[r] = q[r]
    if a.cost.size > 0:
        for r in range(n):
            theta[r] += a.cost[lo + r]
    for r in range(n):
        theta[r] /= a.tau
    log_z = example_marginals(a, i, theta[:n], mu[:n], masked, work)
    linear = gold = 0.0
    if math.isfinite(log_z):
        linear = a.tau * lowest_entropy(log_z, theta[:n], mu[:n])
    if a.cost.size > 0:
        for r in range(n):
            linear += a.cost[lo + r] * mu[r]
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        gold += a.gold_count[g] * q[a.gold_part[g]]
    return log_z, linear, gold


@njit
def from_gold(a: Any, i: int, mu: Any, delta: Any) -> None:
    """Compute delta = c_i (mu - gold_i), the gradient before F_i^T."""
    c = a.weight[i]
    for r in range(a.part_ptr[i + 1] - a.part_ptr[i]):
        delta[r] = c * mu[r]
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        delta[a.gold_part[g]] -= c * a.gold_count[g]


@njit(fastmath=FAST)
def sag_epoch(
    a: Any, memory: Any, rule: Any, coins: Any, chosen: Any, chances: Any, buffers: Any
) -> Any:
    """Visit as many examples as coins has rows; adds to STALE what is its mean in the end.

    Or else visit those that are chosen already, each with the chance that it had.

    Returns the first example without a finite logZ, or -1.
    """
    q, pull, theta, mu, delta, masked, work = buffers
    tau, totals, n = a.tau, memory.totals, memory.order.size
    decay = 2.0 ** (-1.0 / n)
    for t in range(max(coins.shape[0], chosen.size)):
        if chosen.size > 0:
            at, p = memory.place[chosen[t]], chances[t]
        else:
            at, p = draw(memory, rule, coins[t])
        i = memory.order[at]
        c = a.weight[i]
        lo, size = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        old = memory.mu[lo : lo + size]
        scores(a, i, memory, rule, q, pull)
        totals[VISITS] += 1.0
        log_z, linear, gold = respond(a, i, q, theta, mu, masked, work)
        if not math.isfinite(log_z):
            return i
        past = present = dx = 0.0
        for r in range(size):
            past += q[r] * old[r]
            present += q[r] * mu[r]
            dx += c * pull[r] * (mu[r] - old[r])
        # tau KL(u_i, p_i) = tau logZ - linear_i - F_i w.mu(u_i), and 0 for the new u_i. Dividing
        # by p makes the mean unbiased.
        totals[STALE] += c * (tau * log_z - memory.linear[i] - past) / p
        totals[LINEAR] += c * (linear - memory.linear[i])
        memory.linear[i], memory.loss[i] = linear, tau * log_z - gold
        first = at >= totals[SEEN]
        see(memory, at)
        if rule.fixed == 0.0:
            from_gold(a, i, mu, delta)
            noise = 1e-15 * c * (tau * abs(log_z) + abs(gold))
            new_curvature(a, i, c * memory.loss[i], noise, delta, memory, rule, buffers)
        for r in range(size):
            delta[r] = c * (mu[r] - old[r])
            old[r] = mu[r]
        k = 1.0 / totals[SEEN]
        if rule.saga and not first:
            k = 1.0 / (n * p)
        move(a, i, delta, (c * (present - past), dx), next_step(memory, rule), k, memory, rule)
        totals[LARGEST] = max(decay * totals[LARGEST], NEGLIGIBLE * rule.l2 / n)
    return -1
