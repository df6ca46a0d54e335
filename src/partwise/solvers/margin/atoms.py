"""The labels that a Frank-Wolfe method has met: mu_i = rest_i + sum_a alpha_a y_a.

A label is stored as its parts and their counts, in a pool that grows when it is full. An example
keeps a few labels. The one with the least weight makes room for a new one and becomes part of the
rest, which is known only as the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...errors import DataError
from ...problem.problem import Problem

#: Labels per example that the pool usually has room for in the end.
_MET: Final = 16


class Atoms(NamedTuple):
    """The labels of all examples; example i has the slots i K .. i K + used[i] - 1."""

    used: Ints  # one per example
    alpha: Floats  # one per slot
    begin: Ints  # one per slot: where its parts begin in the pool
    size: NDArray[np.int32]  # one per slot: how many parts it holds
    space: NDArray[np.int32]  # one per slot: how many it can hold
    part: NDArray[np.int32]  # the pool, in few bytes: to read it is what a step mostly waits for
    times: NDArray[np.float32]  # how often the label holds each part, a small whole number
    end: Ints  # one number: how much of the pool is taken


def gold_atoms(problem: Problem, room: int, first: int = 0, last: int | None = None) -> Atoms:
    """Return the gold labels of examples [first, last), with weight 1, and room for other labels.

    Parameters
    ----------
    problem : Problem
        The problem.
    room : int
        How many labels an example keeps.
    first, last : int
        The first example and the one after the last; by default all.
    """
    last = problem.n_examples if last is None else last
    arrays, n = problem.arrays, last - first
    ends = arrays.gold_ptr[first : last + 1]
    sizes, gold = np.diff(ends), slice(ends[0], ends[-1])
    begin, size, alpha = (
        np.zeros((n, room), np.int64),
        np.zeros((n, room), np.int32),
        np.zeros(n * room),
    )
    begin[:, 0], size[:, 0] = ends[:-1] - ends[0], sizes
    alpha[::room] = 1.0
    taken = int(ends[-1] - ends[0])
    return Atoms(
        used=np.ones(n, dtype=np.int64),
        alpha=alpha,
        begin=begin.ravel(),
        size=size.ravel(),
        space=size.ravel().copy(),
        part=np.concatenate([arrays.gold_part[gold], np.zeros(taken, np.int64)]).astype(np.int32),
        times=np.concatenate([arrays.gold_count[gold], np.zeros(taken)]).astype(np.float32),
        end=np.array([taken], dtype=np.int64),
    )


def atoms_bytes(problem: Problem, room: int) -> float:
    """Estimate how many bytes the labels take once the pool has grown as it usually does."""
    return 24.0 * problem.n_examples * room + 8.0 * _MET * len(problem.arrays.gold_part)


def grown(atoms: Atoms, least: int) -> Atoms:
    """Return a pool with a quarter more room, and at least ``least`` more places."""
    size = len(atoms.part)
    room = size + max(size // 4, least)
    part, times = np.zeros(room, np.int32), np.zeros(room, np.float32)
    part[:size], times[:size] = atoms.part, atoms.times
    return atoms._replace(part=part, times=times)


def split(atoms: Atoms, sizes: Sequence[int], room: int) -> list[Atoms]:
    """Take the labels of some runs of examples apart, with no more of the pool than they need.

    Parameters
    ----------
    atoms : Atoms
        The labels of all runs.
    sizes : sequence of int
        How many examples each run has.
    room : int
        How many labels an example keeps.
    """
    found, at = [], 0
    for size in sizes:
        own, slots = slice(at, at + size), slice(at * room, (at + size) * room)
        space = atoms.space[slots].astype(np.int64)
        ends = np.cumsum(space)
        taken = int(ends[-1]) if len(ends) else 0
        entries = np.arange(taken) + np.repeat(atoms.begin[slots] - (ends - space), space)
        found.append(
            Atoms(
                used=atoms.used[own],
                alpha=atoms.alpha[slots],
                begin=ends - space,
                size=atoms.size[slots],
                space=atoms.space[slots],
                part=atoms.part[entries],
                times=atoms.times[entries],
                end=np.array([taken], dtype=np.int64),
            )
        )
        at += size
    return found


def join(several: Sequence[Atoms]) -> Atoms:
    """Put the labels of some runs of examples one after the other, with room for more."""
    ends = np.cumsum([0, *(atoms.end[0] for atoms in several)])
    pool = max(2 * int(ends[-1]), 1)
    part, times = np.zeros(pool, np.int32), np.zeros(pool, np.float32)
    for atoms, begin, end in zip(several, ends, ends[1:], strict=False):
        part[begin:end], times[begin:end] = atoms.part[: end - begin], atoms.times[: end - begin]
    begins = [atoms.begin + at for atoms, at in zip(several, ends, strict=False)]
    return Atoms(
        used=np.concatenate([atoms.used for atoms in several]),
        alpha=np.concatenate([atoms.alpha for atoms in several]),
        begin=np.concatenate(begins),
        size=np.concatenate([atoms.size for atoms in several]),
        space=np.concatenate([atoms.space for atoms in several]),
        part=part,
        times=times,
        end=ends[-1:].copy(),
    )


def check_atoms(atoms: Atoms, room: int, n_parts: Ints) -> None:
    """Raise a DataError if labels from a file do not lie within the pool and the examples.

    Parameters
    ----------
    atoms : Atoms
        The labels.
    room : int
        How many labels an example keeps.
    n_parts : ndarray
        How many parts each example has.
    """
    begin, size, space = atoms.begin, atoms.size.astype(np.int64), atoms.space.astype(np.int64)
    pool, slots = len(atoms.part), len(n_parts) * room
    sound = (
        len(atoms.times) == pool
        and len(atoms.used) == len(n_parts)
        and len(atoms.end) == 1
        and all(len(held) == slots for held in (atoms.alpha, begin, size, space))
        and bool(((atoms.used >= 1) & (atoms.used <= room)).all())
        and bool(((begin >= 0) & (size >= 0) & (size <= space) & (begin <= pool - space)).all())
        and 0 <= int(atoms.end[0]) <= pool
        and bool((begin + space <= atoms.end[0]).all())
    )
    if sound:
        owner = np.repeat(np.arange(len(begin)) // room, size)
        ends = np.cumsum(size)
        entries = np.arange(ends[-1]) + np.repeat(begin - (ends - size), size)
        part = atoms.part[entries]
        sound = bool(((part >= 0) & (part < n_parts[owner])).all())
    if not sound:
        raise DataError("the labels of a Frank-Wolfe method do not fit the examples")


@njit
def atom_score(atoms: Any, slot: int, q: Any) -> Any:
    """Return q.y of the label in a slot."""
    total = 0.0
    for e in range(atoms.begin[slot], atoms.begin[slot] + atoms.size[slot]):
        total += atoms.times[e] * q[atoms.part[e]]
    return total


@njit
def add_atom(atoms: Any, slot: int, by: float, out: Any) -> None:
    """Add by y to out for the label in a slot."""
    for e in range(atoms.begin[slot], atoms.begin[slot] + atoms.size[slot]):
        out[atoms.part[e]] += by * atoms.times[e]


@njit
def keep_atom(atoms: Any, i: int, room: int, y: Any) -> Any:
    """Put a label into a slot of example i, with weight 0.

    Returns the slot, or -1 if the pool is full.
    """
    size = 0
    for r in range(y.size):
        if y[r] != 0.0:
            size += 1
    first = i * room
    slot = first + atoms.used[i]
    if atoms.used[i] == room:
        slot = first
        for k in range(first, first + room):
            if atoms.alpha[k] < atoms.alpha[slot]:
                slot = k
    if atoms.space[slot] < size:
        if atoms.end[0] + size > atoms.part.size:
            return -1
        atoms.begin[slot] = atoms.end[0]
        atoms.space[slot] = size
        atoms.end[0] += size
    if atoms.used[i] < room:
        atoms.used[i] += 1
    e = atoms.begin[slot]
    for r in range(y.size):
        if y[r] != 0.0:
            atoms.part[e] = r
            atoms.times[e] = y[r]
            e += 1
    atoms.size[slot] = size
    atoms.alpha[slot] = 0.0
    return slot
