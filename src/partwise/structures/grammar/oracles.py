"""Inside-outside for tied rules with linear weights: no exponential or logarithm per rule.

For the span i..j, with w(A -> B C) = exp(theta_rule - M), psi(q) = exp(theta_span(i, j, q) - m_ij),
a the inside weights I in units of e^s, one exponent s per span, and c what makes the largest a one:

    v(k)       = exp(s(i, k) + s(k, j) + theta_split(i, k, j) - m)        m: the largest of them
    X(B, C)    = sum_k a(i, k, B) v(k) a(k, j, C)
    a(i, j, A) = psi(class A) sum_{A -> B C} w X(B, C) / c,     s(i, j) = m + M + m_ij + log c

From the top down, with b the outside weights and y(B, C) = sum_{A -> B C} w psi(class A) b / c,

    b(i, k, B) += v(k) sum_C y(B, C) a(k, j, C)        b(k, j, C) += v(k) sum_B y(B, C) a(i, k, B)

and a part is expected as often as a.b says. These weights may underflow. Every factor is at most
one but 1 / c, so a term that is lost was below 1e-295 before it was divided by c; no term is lost
if the smallest positive ones multiply to more. What may be lost is accounted for: e(i, j) bounds
what is missing in each a(i, j, A),

    e(i, j) <= (W sum_k v(k) (e(i, k) + e(k, j) + e(i, k) e(k, j)) + terms 1e-295) / c

with W = max_A psi(class A) sum_{A -> ..} w. If what is missing at the root is below 1e-18 of Z,
so is the probability of all derivations that were lost anywhere, and the result is right. Otherwise
the example is done again in log space. Nothing can overflow on the way down: y X is a probability,
and where X is below 1e-295 the account says that the probability is below 1e-18. What is lost there
is below 1e-295, as a probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp, exp_into
from ...compiled.jit import FAST, cfunc, njit
from ..base import ORACLE
from ..logspace import any_bad
from .chart import (
    carve_chart,
    cell_of,
    empty_chart,
    first_split,
    live_pairs,
    part_offsets,
    place_row,
    read_spec,
)
from .logspace import log_marginals

_LOST = 1e-295  # e^-679: products above it are normal numbers
_LOG_LOST = -679.0
_SMALLEST = 1e-280  # a c below it is not divided by
_MISSING = 1e-18


@njit
def _finite_range(x: Any) -> Any:
    """Return the largest score, and the smallest one that is not -inf."""
    high, low = -np.inf, np.inf
    for p in range(x.size):
        high = max(x[p], high)
        if x[p] > -np.inf:
            low = min(x[p], low)
    return high, low


@njit
def _splits(g: Any, topo: Any, chart: Any, i: int, j: int, theta: Any, split_at: int) -> Any:
    """Fill v.

    Returns its shift m, the log of the smallest product of v and two a, and what is missing.
    """
    m = first_split(topo, i, j)
    v = chart.v.reshape(chart.v.size)
    v[(i + 1) // 4 * 4 : (j + 3) // 4 * 4] = 0.0
    high = -np.inf
    for k in range(i + 1, j):
        below, above = cell_of(topo, i, k), cell_of(topo, k, j)
        v[k] = -np.inf
        if below < 0 or above < 0:
            continue
        v[k] = chart.s[below] + chart.s[above] + (theta[split_at + m] if g.split else 0.0)
        m += 1
        high = max(v[k], high)
    low, missing = 0.0, 0.0
    if high == -np.inf:
        return high, low, missing
    for k in range(i + 1, j):
        if v[k] == -np.inf:
            v[k] = 0.0
            continue
        below, above = cell_of(topo, i, k), cell_of(topo, k, j)
        low = min(low, v[k] - high + chart.low[below] + chart.low[above])
        v[k] = exp(v[k] - high)
        e, f = chart.missing[below], chart.missing[above]
        missing += max(v[k], _LOST) * (e + f + e * f)
    return high, low, missing


@njit(fastmath=FAST)
def _inside_span(g: Any, chart: Any, i: int, j: int) -> None:
    """Compute raw(A) = sum_{A -> B C} w X(B, C)."""
    raw, w, x_pair, right_of = chart.raw, chart.w, chart.x, chart.pair_right
    raw[:] = 0.0
    groups = live_pairs(g, chart, i, j)
    n_pairs = chart.group_ptr[groups]
    x_pair[:n_pairs] = 0.0
    for h in range((i + 1) // 4, (j - 1) // 4 + 1):
        left, right = chart.left[i, h], chart.right[j - 1, h]
        v0, v1, v2, v3 = chart.v[h, 0], chart.v[h, 1], chart.v[h, 2], chart.v[h, 3]
        for q in range(groups):
            b = chart.group[q]
            x0, x1, x2, x3 = left[b, 0] * v0, left[b, 1] * v1, left[b, 2] * v2, left[b, 3] * v3
            if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0:
                continue
            for p in range(chart.group_ptr[q], chart.group_ptr[q + 1]):
                c = np.uint64(right_of[p])  # unsigned: not tested for wrapping
                x_pair[p] += (x0 * right[c, 0] + x1 * right[c, 1]) + (
                    x2 * right[c, 2] + x3 * right[c, 3]
                )
    for p in range(n_pairs):
        if x_pair[p] > 0.0:
            for r in range(g.pair_ptr[chart.pair[p]], g.pair_ptr[chart.pair[p] + 1]):
                raw[g.grouped_parent[r]] += w[r] * x_pair[p]


@njit
def _wanted_pairs(g: Any, chart: Any, groups: int) -> Any:
    """Keep the live pairs with y > 0, as far as out goes; return how many groups are left."""
    kept = kept_groups = begin = 0
    for q in range(groups):
        end = chart.group_ptr[q + 1]
        for p in range(begin, end):
            pair = chart.pair[p]
            y = 0.0
            for r in range(g.pair_ptr[pair], g.pair_ptr[pair + 1]):
                y += chart.w[r] * chart.out[g.grouped_parent[r]]
            if y > 0.0:
                chart.y[kept] = y
                chart.pair[kept] = pair
                chart.pair_right[kept] = chart.pair_right[p]
                kept += 1
        begin = end
        chart.group[kept_groups] = chart.group[q]
        kept_groups += kept > chart.group_ptr[kept_groups]
        chart.group_ptr[kept_groups] = kept
    return kept_groups


@njit(fastmath=FAST)
def _outside_span(g: Any, chart: Any, i: int, j: int, counts: Any) -> None:
    """Add to b of all children of i..j, from out(A) = psi b / c; count rules and splits."""
    out, w, x_pair, y_pair, right_of = chart.out, chart.w, chart.x, chart.y, chart.pair_right
    groups = _wanted_pairs(g, chart, live_pairs(g, chart, i, j))
    n_pairs = chart.group_ptr[groups]
    x_pair[:n_pairs] = 0.0
    for h in range((i + 1) // 4, (j - 1) // 4 + 1):
        left, right = chart.left[i, h], chart.right[j - 1, h]
        b_left, b_right, flow = chart.b_left[i, h], chart.b_right[j - 1, h], chart.flow[h]
        v0, v1, v2, v3 = chart.v[h, 0], chart.v[h, 1], chart.v[h, 2], chart.v[h, 3]
        flow[:] = 0.0
        for q in range(groups):
            b = chart.group[q]
            x0, x1, x2, x3 = left[b, 0] * v0, left[b, 1] * v1, left[b, 2] * v2, left[b, 3] * v3
            if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0:
                continue
            u0 = u1 = u2 = u3 = 0.0
            for p in range(chart.group_ptr[q], chart.group_ptr[q + 1]):
                c, y = np.uint64(right_of[p]), y_pair[p]
                # All is read before anything is written, so that four numbers make a vector.
                a0, a1, a2, a3 = right[c, 0], right[c, 1], right[c, 2], right[c, 3]
                z0, z1 = b_right[c, 0] + y * x0, b_right[c, 1] + y * x1
                z2, z3 = b_right[c, 2] + y * x2, b_right[c, 3] + y * x3
                x_pair[p] += (x0 * a0 + x1 * a1) + (x2 * a2 + x3 * a3)
                u0 += y * a0
                u1 += y * a1
                u2 += y * a2
                u3 += y * a3
                b_right[c, 0], b_right[c, 1], b_right[c, 2], b_right[c, 3] = z0, z1, z2, z3
            b_left[b, 0] += v0 * u0
            b_left[b, 1] += v1 * u1
            b_left[b, 2] += v2 * u2
            b_left[b, 3] += v3 * u3
            flow[0] += x0 * u0
            flow[1] += x1 * u1
            flow[2] += x2 * u2
            flow[3] += x3 * u3
    for p in range(n_pairs):
        for r in range(g.pair_ptr[chart.pair[p]], g.pair_ptr[chart.pair[p] + 1]):
            counts[g.grouped[r]] += w[r] * out[g.grouped_parent[r]] * x_pair[p]


@njit
def _inside_words(g: Any, length: int, theta: Any, chart: Any) -> Any:
    """Fill the cells of words; return whether every word has a symbol."""
    n = g.n_lexical
    for t in range(length):
        scores = theta[t * n : t * n + n]
        high, low = _finite_range(scores)
        if high == -np.inf:
            return False
        row = chart.cells[t]
        row[:] = 0.0
        for p in range(n):
            row[g.lexical[p]] = exp(scores[p] - high)
        chart.s[t] = high
        chart.low[t] = low - high
        chart.missing[t] = _LOST if low - high < _LOG_LOST else 0.0
        place_row(g, chart, row, t, t + 1, 0.0)
    return True


@njit
def _rule_weights(g: Any, theta: Any, chart: Any, sums: Any) -> Any:
    """Fill w and sums(A), the sum of w over the rules of A; return M and the smallest log w."""
    high, low = _finite_range(theta)
    if high == -np.inf:
        return high, low
    sums[:] = 0.0
    for r in range(g.n_rules):
        chart.w[r] = exp(theta[g.grouped[r]] - high)
        sums[g.grouped_parent[r]] += chart.w[r]
    return high, low - high


@njit
def _inside(spec: Any, topo: Any, theta: Any, chart: Any, sums: Any) -> Any:
    """Fill the chart; return False if a word, all rules or the whole sentence is forbidden."""
    g = read_spec(spec)
    length, n = topo[0], g.n_symbols
    span_at, split_at, rule_at, _, _ = part_offsets(spec, topo)
    empty_chart(chart, 0.0)
    if not _inside_words(g, length, theta, chart):
        return False
    shift, low_w = _rule_weights(g, theta[rule_at : rule_at + g.n_rules], chart, sums)
    if shift == -np.inf:
        return length == 1
    for j in range(2, length + 1):
        for i in range(j - 2, -1, -1):
            cell = cell_of(topo, i, j)
            if cell < 0:
                continue
            row = chart.cells[cell]
            row[:] = 0.0
            chart.s[cell] = -np.inf
            chart.inverse[cell] = chart.missing[cell] = chart.low[cell] = 0.0
            at = span_at + (cell - length) * g.n_classes
            high, low = _finite_range(theta[at : at + g.n_classes])
            m, low_v, missing = _splits(g, topo, chart, i, j, theta, split_at)
            if high == -np.inf or m == -np.inf:
                continue
            exp_into(chart.psi, theta[at : at + g.n_classes], high)
            _inside_span(g, chart, i, j)
            top, least = 0.0, np.inf
            for a in range(n):
                row[a] = chart.raw[a] * chart.psi[g.classes[a]]
                top = max(row[a], top)
                if row[a] > 0.0:
                    least = min(row[a], least)
            if missing > 0.0:
                widest = 0.0
                for a in range(n):
                    widest = max(widest, (chart.psi[g.classes[a]] + _LOST) * (sums[a] + _LOST))
                missing *= widest
            if low_v + low_w + low - high < _LOG_LOST:
                missing += _LOST * (j - i) * g.n_rules
            if top == 0.0 and missing == 0.0:
                continue
            chart.s[cell] = m + shift + high
            if top < _SMALLEST:
                row[:] = 0.0
                chart.missing[cell] = missing + _SMALLEST
                continue
            inverse = 1.0 / top
            for a in range(n):
                row[a] *= inverse
            chart.s[cell] += math.log(top)
            chart.inverse[cell] = inverse
            chart.missing[cell] = missing * inverse
            chart.low[cell] = math.log(least * inverse)
            place_row(g, chart, row, i, j, 0.0)
    return chart.s[cell_of(topo, 0, length)] > -np.inf


@njit
def _outside(spec: Any, topo: Any, theta: Any, mu: Any, chart: Any) -> None:
    """Fill the expected counts from the inside chart; out holds b of the whole sentence."""
    g = read_spec(spec)
    length, n = topo[0], g.n_symbols
    span_at, split_at, rule_at, _, _ = part_offsets(spec, topo)
    chart.b_left[:] = 0.0
    chart.b_right[:] = 0.0
    b = chart.raw
    for j in range(length, 0, -1):
        for i in range(j):
            cell = cell_of(topo, i, j)
            if cell < 0 or (cell >= length and chart.inverse[cell] == 0.0):
                continue
            b[:] = 0.0
            if j - i == length:
                b[:] = chart.out
            for x in range(g.left_symbol.size):
                b[g.left_symbol[x]] += chart.b_left[i, j // 4, x, j % 4]
            for x in range(g.right_symbol.size):
                b[g.right_symbol[x]] += chart.b_right[j - 1, i // 4, x, i % 4]
            row = chart.cells[cell]
            if cell < length:
                for p in range(g.n_lexical):
                    a = g.lexical[p]
                    mu[cell * g.n_lexical + p] = row[a] * b[a]
                continue
            at = span_at + (cell - length) * g.n_classes
            high, _ = _finite_range(theta[at : at + g.n_classes])
            exp_into(chart.psi, theta[at : at + g.n_classes], high)
            live = False
            for a in range(n):
                chart.out[a] = 0.0
                if row[a] * b[a] > 0.0:
                    live = True
                    mu[at + g.classes[a]] += row[a] * b[a]
                    chart.out[a] = chart.psi[g.classes[a]] * chart.inverse[cell] * b[a]
            if not live:
                continue
            _splits(g, topo, chart, i, j, theta, split_at)
            _outside_span(g, chart, i, j, mu[rule_at : rule_at + g.n_rules])
            if g.split:
                m = first_split(topo, i, j)
                for k in range(i + 1, j):
                    if cell_of(topo, i, k) >= 0 and cell_of(topo, k, j) >= 0:
                        mu[split_at + m] = chart.flow[k // 4, k % 4]
                        m += 1


@njit
def _root(g: Any, top: Any, theta: Any, chart: Any, cell: int, mu: Any) -> Any:
    """Return log Z without the exponent of the top cell, or nan if too much is missing; fill b."""
    high, low = _finite_range(theta)
    if high == -np.inf:
        return np.nan
    total, rho = 0.0, 0.0
    for s in range(g.n_starts):
        total += exp(theta[s] - high) * top[g.starts[s]]
        rho += exp(theta[s] - high)
    missing = (rho + _LOST) * chart.missing[cell]
    if low - high + chart.low[cell] < _LOG_LOST:
        missing += _LOST * g.n_starts
    if not (total > 0.0 and missing <= _MISSING * total):
        return np.nan
    chart.out[:] = 0.0
    for s in range(mu.size):
        b = exp(theta[s] - high) / total
        chart.out[g.starts[s]] = b
        mu[s] = b * top[g.starts[s]]
    return high + math.log(total)


@njit
def _scaled(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run inside-outside with linear weights; nan asks for log space."""
    g = read_spec(spec)
    chart = carve_chart(spec, topo, work)
    root_at = part_offsets(spec, topo)[3]
    if not _inside(spec, topo, theta, chart, chart.out):
        return np.nan
    cell = cell_of(topo, 0, topo[0])
    for p in range(mu.size):
        mu[p] = 0.0
    log_z = _root(g, chart.cells[cell], theta[root_at:], chart, cell, mu[root_at:])
    if mu.size > 0 and math.isfinite(log_z):
        _outside(spec, topo, theta, mu, chart)
    return chart.s[cell] + log_z


@cfunc(ORACLE)
def grammar_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run inside-outside with linear weights, or in log space where they may underflow."""
    if any_bad(theta):
        return np.nan
    if spec[5]:
        return log_marginals(spec, topo, theta, mu, work)
    log_z = _scaled(spec, topo, theta, mu, work)
    if math.isfinite(log_z):
        return log_z
    return log_marginals(spec, topo, theta, mu, work)
