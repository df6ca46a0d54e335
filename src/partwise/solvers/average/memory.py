"""What SAG, SAGA and their relatives keep from one visit to the next, and how they differ."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...errors import DataError
from ...problem.evaluation import Evaluator
from ...problem.problem import Problem
from ..dual_points import gold_places, set_gold

# A binary tree of sums, which draws an index in proportion to its number in O(log n).
#
# Leaf k of a tree for n numbers is ``tree[size + k]`` with size the next power of two. Every other
# node is the sum of its two children, and is always computed from them, never by differences, so
# the sums stay those of the leaves after any number of changes. ``tree[1]`` is the sum of all
# numbers.


def make_tree(numbers: Floats) -> Floats:
    """Build the tree of numbers that are not negative."""
    size = 1 << max(0, len(numbers) - 1).bit_length()
    tree = np.zeros(2 * size)
    tree[size : size + len(numbers)] = numbers
    while size > 1:
        half = size // 2
        tree[half:size] = tree[size : 2 * size : 2] + tree[size + 1 : 2 * size : 2]
        size = half
    return tree


@njit
def put(tree: Any, k: int, number: float) -> None:
    """Replace one number."""
    node = tree.size // 2 + k
    tree[node] = number
    while node > 1:
        node //= 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@njit
def find(tree: Any, share: float) -> Any:
    """Return the index k whose run of the sum holds ``share`` of it, 0 <= share < 1.

    An index whose number is 0 is never found, unless all are.
    """
    node, size = 1, tree.size // 2
    rest = share * tree[1]
    while node < size:
        node *= 2
        # Rounding may leave a rest as large as all that follows; avoid a side that has nothing.
        if rest >= tree[node] and tree[node + 1] > 0.0:
            rest -= tree[node]
            node += 1
    return node - size


#: How the next example is drawn: uniformly; half of the time in proportion to L_i; or by the scheme
#: of Schmidt, Le Roux and Bach (2013, section 5.5), less uniformly the more examples were seen.
SAMPLINGS: Final = ("uniform", "nus", "nus-2013")
#: How they may also be drawn by ``two_gradients.py``: in proportion to bounds on the L_i.
WORDS: Final = (*SAMPLINGS, "proportional")
UNIFORM, NUS, NUS_2013, PROPORTIONAL = range(4)

#: Streaks do not count beyond this: no example is visited 2^30 times.
LONGEST: Final = 31


class Memory(NamedTuple):
    """What is kept from one visit to the next."""

    mu: Floats  # one per part: marginals at the last visit
    loss: Floats  # one per example: -tau log u_i(gold_i)
    linear: Floats  # one per example: tau H(u_i) + cost_i.mu_i
    curvature: Floats  # one per example: L_i; 0 if it was never chosen
    streak: Ints  # one per example: xi, searches in a row that found L_i large enough at once
    skip: Ints  # one per example: how many visits without a search are left
    order: Ints  # the examples with a weight, those that were seen first
    place: Ints  # one per example: its place in order
    least: Floats  # one per example: no search where |g|^2 is at most this
    tree: Floats  # sums of L_i
    z: Floats  # one per weight: w = beta (z - s d)
    d: Floats  # one per weight: sum of all g_i
    room: Floats  # one per weight: 0 between visits
    stamp: Ints  # one per weight: steps taken by the block that begins there; empty without l1
    edges: Ints  # where blocks begin, and the end
    totals: Floats


#: Positions in ``Memory.totals``: beta, s; L_g; how many were seen (m), how many have an L_i;
#: |d|^2, w.d, |w|^2; sum_i c_i (tau H_i + cost_i.mu_i); calls of the oracle; estimate of
#: sum_i c_i tau KL(u_i, p_i); the step with l1, and how many were taken; searches.
#: N_TOTALS is how many there are.
BETA, SLIDE, LARGEST, SEEN, CHOSEN, NORM, CROSS, SQUARE = range(8)
LINEAR, VISITS, STALE, STEP, STEPS, SEARCHES, N_TOTALS = range(8, 15)


class Rule(NamedTuple):
    """How the variants differ."""

    sampling: int
    saga: bool
    share: float  # of the step of SAG
    skipping: bool
    first: float  # where the first search of an L begins
    fixed: float  # alpha; 0: found by the search
    l2: float
    l1: float


def make_memory(
    problem: Problem,
    l1: float,
    kept: tuple[Floats, Floats, Floats],
    curvature: Floats,
) -> Memory:
    """Allocate what is kept, with w = d = 0; vectors from the storage are aligned.

    Parameters
    ----------
    problem : Problem
        What to solve.
    l1 : float
        Weight of |w|_1.
    kept : tuple of ndarray
        mu, loss and linear.
    curvature : ndarray
        L_i, as far as it is known.
    """
    storage, n = problem.storage, problem.n_examples
    examples = np.flatnonzero(problem.arrays.weight)
    place = np.zeros(n, dtype=np.int64)
    place[examples] = np.arange(len(examples))
    mu, loss, linear = kept
    memory = Memory(
        mu=mu,
        loss=loss,
        linear=linear,
        curvature=curvature,
        streak=np.zeros(n, dtype=np.int64),
        skip=np.zeros(n, dtype=np.int64),
        order=examples,
        place=place,
        # 1e-8 as in the paper, or in proportion where all gradients are small.
        least=1e-8 * np.minimum(1.0, (problem.arrays.weight * problem.diameter) ** 2),
        tree=make_tree(curvature),
        z=storage.zeros(),
        d=storage.zeros(),
        room=storage.zeros(),
        stamp=np.zeros(storage.n_places if l1 else 0, dtype=np.int64),
        edges=np.unique(np.append(storage.first, storage.n_places)),
        totals=np.zeros(N_TOTALS),
    )
    memory.totals[BETA] = 1.0
    memory.totals[CHOSEN] = np.count_nonzero(curvature)
    return memory


def check_memory(memory: Memory, problem: Problem) -> None:
    """Raise a DataError unless what a file has can be the memory of a solver of a problem."""
    used = np.flatnonzero(problem.arrays.weight)
    sound = (
        np.array_equal(np.sort(memory.order), used)
        and np.array_equal(memory.place[memory.order], np.arange(len(used)))
        and 0.0 <= memory.totals[SEEN] <= len(used)
        and ((memory.streak >= 0) & (memory.streak <= LONGEST)).all()
    )
    if not sound:
        raise DataError("the order of the examples is not that of the problem")


def distributions(
    problem: Problem, evaluator: Evaluator, theta: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Return mu, -tau log u(gold) and tau H + cost.mu of u ~ exp(theta), or of the gold labels."""
    arrays, n = problem.arrays, problem.n_examples
    mu, loss, linear = problem.room.parts("mu", problem.n_parts), np.zeros(n), np.zeros(n)
    if theta is None:
        set_gold(problem, mu, arrays.gold_count)
        return mu, loss, linear
    entropy = np.empty(n)
    evaluator.marginals(theta, mu, entropy)
    for first, last in problem.room.sweep(n):
        some, size = slice(first, last), last - first
        ends, gold_ends = arrays.part_ptr[first : last + 1], arrays.gold_ptr[first : last + 1]
        owner = np.repeat(np.arange(size), np.diff(gold_ends))
        part_owner = np.repeat(np.arange(size), np.diff(ends))
        own = mu[ends[0] : ends[-1]]
        log_z = entropy[some] + np.bincount(part_owner, theta[ends[0] : ends[-1]] * own, size)
        count = arrays.gold_count[gold_ends[0] : gold_ends[-1]]
        gold = theta[gold_places(problem, first, last)] * count
        loss[some] = arrays.tau * (log_z - np.bincount(owner, gold, size))
        linear[some] = arrays.tau * entropy[some]
        if arrays.cost.size:
            linear[some] += np.bincount(part_owner, arrays.cost[ends[0] : ends[-1]] * own, size)
    return mu, loss, linear
