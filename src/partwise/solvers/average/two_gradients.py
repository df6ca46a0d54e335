"""Steps that evaluate two gradients: Proposition 1 (b) of Schmidt et al. (2015), and SVRG.

    w <- w - alpha [(g_j(w) - s_j) / (n p_j) + d / n + lambda w],    d = sum_i s_i

Schmidt et al. (2015), appendix B (Algorithm 3): s_i is kept for every example; after a step with
the old ones s_r becomes g_r(w), at the w before the step, for another example r drawn uniformly.
Stochastic variance reduced gradient (Johnson and Zhang 2013): s_i = g_i(anchor) is computed again
at every visit, so that nothing is kept for an example, and d does not change.
"""

from __future__ import annotations

import math
from typing import Any

from ...compiled.jit import FAST, njit
from ...problem.design import scatter, score
from .average_gradient import NEGLIGIBLE, from_gold, new_curvature, respond, scores, see, step_size
from .lazy import settle
from .memory import BETA, LARGEST, PROPORTIONAL, SLIDE, STALE, VISITS, find
from .two_vectors import scatter_both


@njit(fastmath=FAST)
def two_gradient_epoch(
    a: Any, memory: Any, anchor: Any, rule: Any, coins: Any, buffers: Any, other: Any
) -> Any:
    """Take one step per row of coins; adds to STALE what is its mean in the end.

    The other running totals are not kept up to date.

    anchor: w of the gradients s_i; empty if their marginals are kept in ``memory.mu``. other: room
    for the marginals of the second gradient, that of r at w or of j at the anchor.

    Returns the first example without a finite log Z, or -1.
    """
    q, pull, theta, mu, delta, masked, work = buffers
    tau, totals, tree, n = a.tau, memory.totals, memory.tree, memory.order.size
    lam, decay = rule.l2 / n, 2.0 ** (-1.0 / n)
    keeps = anchor.size == 0
    for t in range(coins.shape[0]):
        j, p = memory.order[int(coins[t, 0] * n)], 1.0 / n
        if rule.sampling == PROPORTIONAL:
            j = find(tree, coins[t, 0])
            p = tree[tree.size // 2 + j] / tree[1]
        second = memory.order[int(coins[t, 1] * n)] if keeps else j
        if keeps:
            scores(a, second, memory, rule, q, pull)
        else:
            score(a.design, second, anchor, q)
        totals[VISITS] += 2.0
        log_z, linear, gold = respond(a, second, q, theta, other, masked, work)
        if not math.isfinite(log_z):
            return second
        lo, c = a.part_ptr[second], a.weight[second]
        if keeps:
            past = 0.0
            for r in range(a.part_ptr[second + 1] - lo):
                past += q[r] * memory.mu[lo + r]
            totals[STALE] += n * c * (tau * log_z - memory.linear[second] - past)
            memory.linear[second], memory.loss[second] = linear, tau * log_z - gold

        scores(a, j, memory, rule, q, pull)
        log_z, _, gold = respond(a, j, q, theta, mu, masked, work)
        if not math.isfinite(log_z):
            return j
        f, at, size = a.weight[j], a.part_ptr[j], a.part_ptr[j + 1] - a.part_ptr[j]
        if rule.fixed == 0.0:
            from_gold(a, j, mu, delta)
            noise = 1e-15 * f * (tau * abs(log_z) + abs(gold))
            loss = f * (tau * log_z - gold)
            new_curvature(a, j, loss, noise, delta, memory, rule, buffers)
        alpha = step_size(memory, rule)
        beta = (1.0 - alpha * lam) * totals[BETA]
        jump = alpha * f / (n * p * beta)
        for r in range(size):
            delta[r] = jump * ((memory.mu[at + r] if keeps else other[r]) - mu[r])
        scatter(a.design, j, delta, memory.z)
        totals[BETA] = beta
        totals[SLIDE] += alpha / (n * beta)
        if keeps:
            for r in range(a.part_ptr[second + 1] - lo):
                delta[r] = c * (other[r] - memory.mu[lo + r])
                memory.mu[lo + r] = other[r]
            scatter_both(a.design, second, delta, memory.d, memory.z, totals[SLIDE])
            see(memory, memory.place[second])
        if beta < 1e-100:
            settle(memory.z, memory.d, beta, totals[SLIDE])
            totals[BETA], totals[SLIDE] = 1.0, 0.0
        totals[LARGEST] = max(decay * totals[LARGEST], NEGLIGIBLE * lam)
    return -1
