"""What the oracles of a grammar share: how spec and topo are read, and the chart they fill.

A *cell* is a word or an allowed span: word t is cell t, span number n is cell T + n. The chart has
a row for each cell and a number for each of the N symbols. For tied rules it is held twice more, by
the symbols that occur as left children B and as right children C: left[i] has a(i, k, B) and
right[j-1] has a(k, j, C), four k side by side, at [k // 4, B or C, k % 4]. So the splits of a
span are done four at a time, for all its pairs (B, C) within a small piece of memory.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ...compiled.jit import njit

#: Numbers at the beginning of spec, before its arrays.
HEAD: Final = 10


class Rules(NamedTuple):
    """The content of spec. Rules that share their children (B, C) form a group, a *pair*."""

    n_symbols: int
    n_lexical: int
    n_classes: int
    n_rules: int
    n_starts: int
    anchored: int
    split: int
    lexical: Any  # symbol of each lexical number
    classes: Any  # class of each symbol
    starts: Any  # symbol of each start number
    parent: Any  # A, B, C of each rule
    left: Any
    right: Any
    left_symbol: Any  # the symbols that are a left child of some rule, and their pairs
    left_ptr: Any
    right_symbol: Any
    pair_right: Any  # C of each pair, as an index of right_symbol
    pair_ptr: Any
    grouped: Any  # the rules of each pair, and their parents
    grouped_parent: Any


@njit
def read_spec(spec: Any) -> Any:
    """Name the arrays in spec."""
    n, p, r, s = spec[0], spec[1], spec[3], spec[4]
    n_left, n_right, n_pairs = spec[7], spec[8], spec[9]
    a = HEAD
    b = a + p + n + s
    c = b + 3 * r
    d = c + 2 * n_left + 1 + n_right
    e = d + 2 * n_pairs + 1
    return Rules(
        n, p, spec[2], r, s, spec[5], spec[6],
        spec[a : a + p], spec[a + p : a + p + n], spec[a + p + n : b],
        spec[b : b + r], spec[b + r : b + 2 * r], spec[b + 2 * r : c],
        spec[c : c + n_left], spec[c + n_left : c + 2 * n_left + 1], spec[d - n_right : d],
        spec[d : d + n_pairs], spec[d + n_pairs : e],
        spec[e : e + r], spec[e + r : e + 2 * r],
    )  # fmt: skip


@njit
def triangle(length: int, i: int, j: int) -> Any:
    """Return the place of the span i..j among all spans of two words or more."""
    return i * (length - 1) - i * (i - 1) // 2 + j - i - 2


@njit
def cell_of(topo: Any, i: int, j: int) -> Any:
    """Return the cell of words i .. j-1, or -1 for a span that is not allowed."""
    length = topo[0]
    if j == i + 1:
        return i
    n = topo[3 + triangle(length, i, j)]
    return length + n if n >= 0 else -1


@njit
def first_split(topo: Any, i: int, j: int) -> Any:
    """Return how many splits (i', k, j') come before those of an allowed span."""
    length = topo[0]
    return topo[3 + length * (length - 1) // 2 + triangle(length, i, j)]


@njit
def part_offsets(spec: Any, topo: Any) -> Any:
    """Return where the spans, splits, rules and roots begin, and the number of parts."""
    span = topo[0] * spec[1]
    split = span + topo[1] * spec[2]
    rule = split + (topo[2] if spec[6] else 0)
    root = rule + (topo[2] if spec[5] else 1) * spec[3]
    return span, split, rule, root, root + spec[4]


class Chart(NamedTuple):
    """The work space, with H = T // 4 + 1 groups of four k; B, C and pairs are those of Rules."""

    cells: Any  # (T + spans) x N: a
    left: Any  # T x H x B x 4
    right: Any  # T x H x C x 4
    b_left: Any  # outside, as left and right
    b_right: Any
    left_first: Any  # T x B: the first k with anything, int64
    right_last: Any  # T x C: the last k
    s: Any  # one number per cell: exponent, 1 / c, what is missing, log of the smallest a
    inverse: Any
    missing: Any
    low: Any
    w: Any  # rules, grouped
    psi: Any  # classes
    raw: Any  # symbols
    out: Any
    v: Any  # H x 4
    flow: Any
    x: Any  # pairs that matter for a span: X, y, their numbers and right children
    y: Any
    pair: Any
    pair_right: Any
    group: Any  # B: the left children of those pairs, and where the pairs of each begin
    group_ptr: Any


@njit
def _cut(work: Any, at: int, size: int) -> Any:
    """Return the next piece of the work space, and where it ends."""
    return work[at : at + size], at + size


@njit
def carve_chart(spec: Any, topo: Any, work: Any) -> Any:
    """Cut the work space into arrays."""
    length, n = topo[0], spec[0]
    n_left, n_right, n_pairs = spec[7], spec[8], spec[9]
    n_cells, h = length + topo[1], length // 4 + 1
    cells, at = _cut(work, 0, n_cells * n)
    left, at = _cut(work, at, length * h * n_left * 4)
    right, at = _cut(work, at, length * h * n_right * 4)
    b_left, at = _cut(work, at, length * h * n_left * 4)
    b_right, at = _cut(work, at, length * h * n_right * 4)
    first, at = _cut(work, at, length * n_left)
    last, at = _cut(work, at, length * n_right)
    s, at = _cut(work, at, n_cells)
    inverse, at = _cut(work, at, n_cells)
    missing, at = _cut(work, at, n_cells)
    low, at = _cut(work, at, n_cells)
    w, at = _cut(work, at, spec[3])
    psi, at = _cut(work, at, spec[2])
    raw, at = _cut(work, at, n)
    out, at = _cut(work, at, n)
    v, at = _cut(work, at, h * 4)
    flow, at = _cut(work, at, h * 4)
    x, at = _cut(work, at, n_pairs)
    y, at = _cut(work, at, n_pairs)
    pair, at = _cut(work, at, n_pairs)
    pair_right, at = _cut(work, at, n_pairs)
    group, at = _cut(work, at, n_left)
    group_ptr, at = _cut(work, at, n_left + 1)
    return Chart(
        cells.reshape((n_cells, n)),
        left.reshape((length, h, n_left, 4)), right.reshape((length, h, n_right, 4)),
        b_left.reshape((length, h, n_left, 4)), b_right.reshape((length, h, n_right, 4)),
        first.view(np.int64).reshape((length, n_left)),
        last.view(np.int64).reshape((length, n_right)),
        s, inverse, missing, low, w, psi, raw, out, v.reshape((h, 4)), flow.reshape((h, 4)),
        x, y, pair.view(np.int64), pair_right.view(np.int64),
        group.view(np.int64), group_ptr.view(np.int64),
    )  # fmt: skip


def work_numbers(spec: Any, topo: Any) -> int:
    """Return how many numbers the oracles need, in log space or not."""
    length, n_cells = int(topo[0]), int(topo[0] + topo[1])
    head: list[int] = spec[:HEAD].tolist()
    n, _, n_classes, n_rules, _, anchored, _, n_left, n_right, n_pairs = head
    log_space = 2 * (n_cells + 1) * n + 3 * length
    if anchored:
        return log_space
    four = length // 4 * 4 + 4
    fast = n_cells * (n + 4) + length * (n_left + n_right) * (2 * four + 1) + 2 * four
    fast += n_rules + n_classes + 2 * n + 4 * n_pairs + 2 * n_left + 1
    return max(fast, log_space)


@njit
def empty_chart(chart: Any, nothing: float) -> None:
    """Mark all cells as empty."""
    chart.left[:] = nothing
    chart.right[:] = nothing
    chart.left_first[:] = chart.left.shape[0] + 1
    chart.right_last[:] = -1


@njit
def place_row(g: Any, chart: Any, row: Any, i: int, j: int, nothing: float) -> None:
    """Copy the finished row of the span i..j to where it can be a left or a right child.

    Rows must come with j rising and, for the same j, with i falling.
    """
    left, first = chart.left[i, j // 4], chart.left_first[i]
    for b in range(g.left_symbol.size):
        x = row[g.left_symbol[b]]
        if x > nothing:
            left[b, j % 4] = x
            first[b] = min(first[b], j)
    right, last = chart.right[j - 1, i // 4], chart.right_last[j - 1]
    for c in range(g.right_symbol.size):
        x = row[g.right_symbol[c]]
        if x > nothing:
            right[c, i % 4] = x
            last[c] = max(last[c], i)


@njit
def live_pairs(g: Any, chart: Any, i: int, j: int) -> Any:
    """List the pairs whose children can meet inside i..j; return how many groups there are."""
    first, last = chart.left_first[i], chart.right_last[j - 1]
    found = groups = 0
    chart.group_ptr[0] = 0
    for b in range(g.left_symbol.size):
        k = first[b]
        if k >= j:
            continue
        for p in range(g.left_ptr[b], g.left_ptr[b + 1]):
            c = g.pair_right[p]
            if k <= last[c]:
                chart.pair[found] = p
                chart.pair_right[found] = c
                found += 1
        chart.group[groups] = b
        groups += found > chart.group_ptr[groups]
        chart.group_ptr[groups] = found
    return groups
