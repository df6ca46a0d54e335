"""Inside-outside in log space, for scores of any size and for anchored rules.

    I(t, t+1, A) = theta_word(t, A)
    I(i, j, A)   = theta_span(i, j, class A) + log sum_{k, A -> B C} exp(
                       I(i, k, B) + I(k, j, C) + theta_split(i, k, j) + theta_rule(A -> B C))

or the same with max in place of log sum exp. Expected counts come from the top down, as
probabilities: p(i, j, A) is shared among its (k, A -> B C) by exp(their term - I(i, j, A)).
There is one exp for each rule and split; ``oracles.py`` is faster where it can be used.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled.exponential import exp
from ...compiled.jit import njit
from .chart import cell_of, first_split, part_offsets, read_spec


@njit
def fill_words(g: Any, length: int, theta: Any, cells: Any) -> None:
    """Fill I(t, t+1, A), with -inf for a symbol that is not lexical."""
    for t in range(length):
        row = cells[t]
        row[:] = -np.inf
        for p in range(g.n_lexical):
            row[g.lexical[p]] = theta[t * g.n_lexical + p]


@njit
def _raise(g: Any, lower: Any, upper: Any, theta: Any, base: int, more: float, high: Any) -> None:
    """Raise high(A) to the largest term of one split; the children are two rows of the chart."""
    for b in range(g.left_symbol.size):
        first = lower[g.left_symbol[b]] + more
        if first == -np.inf:
            continue
        for p in range(g.left_ptr[b], g.left_ptr[b + 1]):
            both = first + upper[g.right_symbol[g.pair_right[p]]]
            if both == -np.inf:
                continue
            for r in range(g.pair_ptr[p], g.pair_ptr[p + 1]):
                s = both + theta[base + g.grouped[r]]
                a = g.grouped_parent[r]
                high[a] = max(s, high[a])


@njit
def _add(
    g: Any, lower: Any, upper: Any, theta: Any, base: int, more: float, high: Any, total: Any
) -> None:
    """Add the terms of one split to total(A), as exp(term - high(A))."""
    for b in range(g.left_symbol.size):
        first = lower[g.left_symbol[b]] + more
        if first == -np.inf:
            continue
        for p in range(g.left_ptr[b], g.left_ptr[b + 1]):
            both = first + upper[g.right_symbol[g.pair_right[p]]]
            if both == -np.inf:
                continue
            for r in range(g.pair_ptr[p], g.pair_ptr[p + 1]):
                a = g.grouped_parent[r]
                if high[a] > -np.inf:
                    total[a] += exp(both + theta[base + g.grouped[r]] - high[a])


@njit
def fill_chart(spec: Any, topo: Any, theta: Any, cells: Any, scratch: Any, sums: bool) -> None:
    """Fill cells with the inside chart: log sums, or best scores if sums is False.

    cells is (T + spans) x N, and scratch has 2 N numbers.
    """
    g = read_spec(spec)
    length, n = topo[0], g.n_symbols
    span_at, split_at, rule_at, _, _ = part_offsets(spec, topo)
    high, total = scratch[:n], scratch[n : 2 * n]
    fill_words(g, length, theta, cells)
    for j in range(2, length + 1):
        for i in range(j - 2, -1, -1):
            c = cell_of(topo, i, j)
            if c < 0:
                continue
            high[:] = -np.inf
            total[:] = 1.0
            for step in range(2 if sums else 1):
                if step == 1:
                    total[:] = 0.0
                m = first_split(topo, i, j)
                for k in range(i + 1, j):
                    below, above = cell_of(topo, i, k), cell_of(topo, k, j)
                    if below < 0 or above < 0:
                        continue
                    more = theta[split_at + m] if g.split else 0.0
                    base = rule_at + (m * g.n_rules if g.anchored else 0)
                    m += 1
                    if step == 0:
                        _raise(g, cells[below], cells[above], theta, base, more, high)
                    else:
                        _add(g, cells[below], cells[above], theta, base, more, high, total)
            at = span_at + (c - length) * g.n_classes
            for a in range(n):
                s = theta[at + g.classes[a]] + high[a]
                cells[c, a] = s + math.log(total[a]) if s > -np.inf else -np.inf


@njit
def _share(
    g: Any, rows: Any, below: int, above: int, theta: Any, base: int, more: float,
    out: Any, given: Any, counts: Any,
) -> Any:  # fmt: skip
    """Add the share that one split has in the probabilities out(A); return its probability.

    given(A) is I(i, j, A) without the score of the span's class.
    """
    cells, p_cells = rows
    whole = 0.0
    for b in range(g.left_symbol.size):
        first = cells[below, g.left_symbol[b]] + more
        if first == -np.inf:
            continue
        for p in range(g.left_ptr[b], g.left_ptr[b + 1]):
            c = g.right_symbol[g.pair_right[p]]
            both = first + cells[above, c]
            if both == -np.inf:
                continue
            mass = 0.0
            for r in range(g.pair_ptr[p], g.pair_ptr[p + 1]):
                a = g.grouped_parent[r]
                if out[a] > 0.0:
                    q = out[a] * exp(both + theta[base + g.grouped[r]] - given[a])
                    counts[base + g.grouped[r]] += q
                    mass += q
            p_cells[below, g.left_symbol[b]] += mass
            p_cells[above, c] += mass
            whole += mass
    return whole


@njit
def _descend(spec: Any, topo: Any, theta: Any, mu: Any, cells: Any, out: Any, scratch: Any) -> None:
    """Fill the expected counts from the inside chart.

    out holds p(0, T, A) and receives all p(i, j, A).
    """
    g = read_spec(spec)
    length, n = topo[0], g.n_symbols
    span_at, split_at, rule_at, _, _ = part_offsets(spec, topo)
    given = scratch[:n]
    for j in range(length, 1, -1):
        for i in range(j - 1):
            c = cell_of(topo, i, j)
            if c < 0:
                continue
            at = span_at + (c - length) * g.n_classes
            live = False
            for a in range(n):
                if out[c, a] > 0.0:
                    live = True
                    mu[at + g.classes[a]] += out[c, a]
                    given[a] = cells[c, a] - theta[at + g.classes[a]]
            if not live:
                continue
            m = first_split(topo, i, j)
            for k in range(i + 1, j):
                below, above = cell_of(topo, i, k), cell_of(topo, k, j)
                if below < 0 or above < 0:
                    continue
                more = theta[split_at + m] if g.split else 0.0
                base = rule_at + (m * g.n_rules if g.anchored else 0)
                rows = (cells, out)
                p = _share(g, rows, below, above, theta, base, more, out[c], given, mu)
                if g.split:
                    mu[split_at + m] = p
                m += 1
    for t in range(length):
        for p in range(g.n_lexical):
            mu[t * g.n_lexical + p] = out[t, g.lexical[p]]


@njit
def log_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Run inside-outside in log space, which is slower and right for any valid scores."""
    g = read_spec(spec)
    n, length = g.n_symbols, topo[0]
    n_cells = length + topo[1]
    root_at = part_offsets(spec, topo)[3]
    cells = work[: n_cells * n].reshape((n_cells, n))
    out = work[n_cells * n : 2 * n_cells * n].reshape((n_cells, n))
    scratch = work[2 * n_cells * n : 2 * n_cells * n + 2 * n]
    fill_chart(spec, topo, theta, cells, scratch, True)
    top = cells[cell_of(topo, 0, length)]
    high, total = -np.inf, 0.0
    for s in range(g.n_starts):
        high = max(high, top[g.starts[s]] + theta[root_at + s])
    if high > -np.inf:
        for s in range(g.n_starts):
            total += exp(top[g.starts[s]] + theta[root_at + s] - high)
    for p in range(mu.size):
        mu[p] = 0.0
    if high == -np.inf:
        return high
    log_z = high + math.log(total)
    if mu.size > 0:
        out[:] = 0.0
        for s in range(g.n_starts):
            share = exp(top[g.starts[s]] + theta[root_at + s] - high) / total
            mu[root_at + s] = share
            out[cell_of(topo, 0, length), g.starts[s]] = share
        _descend(spec, topo, theta, mu, cells, out, scratch)
    return log_z
