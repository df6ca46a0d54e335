"""Compiled loops over arcs: the keys of their features, and the numbers of those keys.

A key is 63 bits wide and exact, so that no two features share one:

    template (7 bits) | values of its atoms (52 bits) | direction and distance, 0 for none (4 bits)

A feature is counted on its own and conjoined with direction and distance. The table has one entry
for both: the number of the plain feature, and a mask of the conjunctions that exist, which are
numbered right after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...compiled.jit import njit
from .templates import BETWEEN, DISTANCE_BITS, HEAD, PAD, TEMPLATE_SHIFT

__all__ = ["Table", "arc_keys", "arc_numbers", "fill_table"]

#: Bits of an entry of the table that hold the mask of conjunctions.
MASK_BITS = 12

_ONE = np.uint64(1)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)


class Table(NamedTuple):
    """From keys to numbers: open addressing with linear probing, or hashing without a table."""

    slots: npt.NDArray[np.int64]  # 2^k, 2: plain key, or -1; number << MASK_BITS | mask
    n_hashed: int  # a power of two: number = mix(key) mod n_hashed; 0 for the table


@njit
def _mix(key: Any) -> Any:
    """Spread a key over 64 bits: the finaliser of splitmix64, a bijection."""
    z = np.uint64(key)
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit
def fill_table(keys: Any, slots: Any) -> None:
    """Enter sorted keys, the number of a key being its place; slots[:, 0] must be -1."""
    last = np.uint64(slots.shape[0] - 1)
    at = np.uint64(0)
    for number in range(keys.size):
        distance = keys[number] & ((1 << DISTANCE_BITS) - 1)
        if distance > 0:
            slots[at, 1] |= 1 << (distance - 1)
            continue
        at = _mix(keys[number]) & last
        while slots[at, 0] != -1:
            at = (at + _ONE) & last
        slots[at, 0] = keys[number]
        slots[at, 1] = number << MASK_BITS


@njit
def _find(table: Any, keys: Any, n: Any, place: Any, first: Any, entry: Any) -> None:
    """entry[j] = what the table has for keys[j], or -1; with hashing, the key itself.

    The loads of the first loop do not wait for each other, so that their cache misses overlap;
    the table is far larger than the cache, and this is where the time goes.
    """
    if table.n_hashed > 0:
        entry[:n] = keys[:n]
        return
    slots = table.slots
    last = np.uint64(slots.shape[0] - 1)
    for j in range(n):
        place[j] = _mix(keys[j]) & last
        first[j] = slots[place[j], 0]
    for j in range(n):
        at, there = place[j], first[j]
        while there != keys[j] and there != -1:
            at = (at + _ONE) & last
            there = slots[at, 0]
        entry[j] = slots[at, 1] if there == keys[j] else -1


@njit
def _ones(mask: Any) -> Any:
    """The number of bits set among the lowest 16."""
    mask = mask - ((mask >> 1) & 0x5555)
    mask = (mask & 0x3333) + ((mask >> 2) & 0x3333)
    mask = (mask + (mask >> 4)) & 0x0F0F
    return (mask + (mask >> 8)) & 0x1F


@njit
def _bin(h: Any, m: Any) -> Any:
    """1 to 6 for a head on the left at distance 1, 2, 3, 4, 5-10, >10; 7 to 12 on the right."""
    distance = abs(h - m)
    if distance > 4:
        distance = 5 if distance <= 10 else 6
    return distance if h < m else distance + 6


@njit
def _look(plan: Any, tokens: Any, at: Any, m: Any, heads: Any, value: Any) -> None:
    """value[a, i] = what atom a sees on the arc from heads[i] to m; at: position of the root."""
    for a in range(plan.atom_place.size):
        column, offset = plan.atom_column[a], plan.atom_offset[a]
        if column == tokens.code.shape[0] or plan.atom_place[a] == BETWEEN:
            continue
        code, row = tokens.code[column], value[a]
        if plan.atom_place[a] == HEAD:
            for i in range(heads.size):
                row[i] = code[at + heads[i] + offset]
        else:
            row[: heads.size] = code[at + m + offset]


@njit
def _look_between(
    plan: Any, tokens: Any, low: Any, high: Any, stamp: Any, mark: Any, found: Any
) -> None:
    """found[column] = how many distinct values at low < position < high, and these."""
    for column in plan.between:
        code, seen, values = tokens.code[column], stamp[column], found[column]
        n = 0
        for p in range(low + 1, high):
            if seen[code[p]] != mark:
                seen[code[p]] = mark
                n += 1
                values[n] = code[p]
        values[0] = n


@njit
def _choices(plan: Any, tokens: Any, a: Any, position: Any, found: Any) -> Any:
    """The values that atom a takes; without an atom, one value that nobody reads."""
    if a < 0:
        return found[0, :1]
    column = plan.atom_column[a]
    if column < tokens.code.shape[0]:
        return found[column, 1 : 1 + found[column, 0]]
    return tokens.feat[tokens.feat_ptr[position] : tokens.feat_ptr[position + 1]]


@njit
def _key(plan: Any, k: Any, value: Any, i: Any) -> Any:
    """The key of template k on arc i without distance, or -1 if a value is missing."""
    key = np.int64(0)
    complete = True
    for j in range(plan.atoms_ptr[k], plan.atoms_ptr[k + 1]):
        a = plan.atoms[j]
        complete &= value[a, i] != 0
        key = (key << plan.atom_bits[a]) | value[a, i]
    return (np.int64(k) << TEMPLATE_SHIFT) | (key << DISTANCE_BITS) if complete else np.int64(-1)


@njit
def _append(
    plan: Any,
    tokens: Any,
    k: Any,
    h: Any,
    m: Any,
    found: Any,
    value: Any,
    i: Any,
    keys: Any,
    n: Any,
) -> Any:
    """Append the keys of template k on arc i, at the positions h and m, to keys[:n].

    Returns the new n. The entry after the last is overwritten.
    """
    a, b = plan.outer[k], plan.inner[k]
    for x in _choices(plan, tokens, a, h, found):
        value[a, i] = x
        for y in _choices(plan, tokens, b, m, found):
            value[b, i] = y
            keys[n] = _key(plan, k, value, i)
            n += keys[n] >= 0
    return n


@njit
def arc_keys(plan: Any, tokens: Any, heads: Any, first: Any, last: Any, out: Any) -> Any:
    """Write the keys, with distance, of the arcs from the given heads of some sentences.

    ``heads`` has an entry a position; words whose head is negative have no arc. Returns how many
    keys were written; ``out`` must have room for one more.
    """
    value = np.zeros((plan.atom_place.size + 1, 1), np.int64)  # the last stands for no atom
    found = np.zeros((tokens.code.shape[0], tokens.longest + 1), np.int32)
    stamp = np.zeros((tokens.code.shape[0], tokens.most_codes), np.int64)
    n, mark = 0, 0
    for s in range(first, last):
        at = tokens.start[s] + PAD
        for m in range(1, tokens.start[s + 1] - PAD - at):
            h = heads[at + m]
            if h < 0:
                continue
            _look(plan, tokens, at, m, heads[at + m : at + m + 1], value)
            mark += 1
            _look_between(plan, tokens, at + min(h, m), at + max(h, m), stamp, mark, found)
            begin = n
            for k in range(plan.outer.size):
                n = _append(plan, tokens, k, at + h, at + m, found, value, 0, out, n)
            for j in range(begin, n):
                out[j] |= _bin(h, m)
    return n


@njit
def _enter(table: Any, entry: Any, distance: Any, bucket: Any, mark: Any, out: Any, n: Any) -> Any:
    """Write the numbers of a feature, plain and with distance, to out[n:]; return the end."""
    if entry < 0:
        return n
    if table.n_hashed > 0:
        for d in (0, distance):
            number = _mix(entry | d) & np.uint64(table.n_hashed - 1)
            # Two features of an arc may share a number, which is then entered once.
            if bucket[number] != mark:
                bucket[number] = mark
                out[n] = number
                n += 1
        return n
    bit = 1 << (distance - 1)
    out[n] = entry >> MASK_BITS
    n += 1
    if entry & bit:
        out[n] = (entry >> MASK_BITS) + 1 + _ones(entry & (bit - 1))
        n += 1
    return n


@njit
def arc_numbers(
    plan: Any,
    tokens: Any,
    table: Any,
    most: int,
    first: Any,
    last: Any,
    arcs: Any,
    bucket: Any,
    indptr: Any,
    indices: Any,
) -> None:
    """Write rows of the features of all arcs of some sentences, ``arcs`` rows being there already.

    An arc has at most ``most`` features without distance. ``bucket`` has the last row, counted
    from 1, that had each hashed feature.
    """
    hashed = table.n_hashed > 0
    value = np.zeros((plan.atom_place.size + 1, tokens.longest), np.int64)
    entry = np.full((plan.outer.size + 1, tokens.longest), -1, np.int64)
    entry[-1] = 0  # the last stands for no parent
    size = max(most, tokens.longest) + 1
    keys, first_key, result = np.empty((3, size), np.int64)
    place, arc = np.empty(size, np.uint64), np.empty(size, np.int64)
    heads = np.empty(tokens.longest, np.int64)
    found = np.zeros((tokens.code.shape[0], tokens.longest + 1), np.int32)
    stamp = np.zeros((tokens.code.shape[0], tokens.most_codes), np.int64)
    mark, n = arcs, indptr[arcs]
    for s in range(first, last):
        at = tokens.start[s] + PAD
        length = tokens.start[s + 1] - PAD - 1 - at
        for m in range(1, length + 1):
            for i in range(length):
                heads[i] = i if i < m else i + 1
            _look(plan, tokens, at, m, heads[:length], value)
            for k in plan.single:
                c = 0
                for i in range(length):
                    entry[k, i] = -1
                    if hashed or entry[plan.parent[k], i] >= 0:
                        keys[c] = _key(plan, k, value, i)
                        arc[c] = i
                        c += keys[c] >= 0
                _find(table, keys, c, place, first_key, result)
                for j in range(c):
                    entry[k, arc[j]] = result[j]
            for i in range(length):
                h = heads[i]
                mark += 1
                _look_between(plan, tokens, at + min(h, m), at + max(h, m), stamp, mark, found)
                c = 0
                for k in plan.several:
                    if hashed or entry[plan.parent[k], i] >= 0:
                        c = _append(plan, tokens, k, at + h, at + m, found, value, i, keys, c)
                _find(table, keys, c, place, first_key, result)
                distance = _bin(h, m)
                for k in plan.single:
                    n = _enter(table, entry[k, i], distance, bucket, mark, indices, n)
                for j in range(c):
                    n = _enter(table, result[j], distance, bucket, mark, indices, n)
                indptr[mark] = n
