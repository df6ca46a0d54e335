"""The k best labels of any structure whose label is a vector of choices.

Lawler's partition: once the best label y of a set is known, the rest of the set falls into
disjoint sets, one per position t,

    { y' : y'_s = y_s for s < t,  y'_t != y_t },

each of which is searched for its best label. A heap holds the best label of every set that is
left. Sets are split only when their best label is taken, so k labels of T positions ask for at most
(k - 1) T + 1 searches; as the sets are disjoint, no label comes twice.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from .base import Structure, call


class Best(NamedTuple):
    """The best label of a set of labels; a score of -inf says that the set is empty."""

    score: float
    choices: Ints  # one number per position
    label: Ints


#: ``find(fixed, excluded)`` returns the best label that begins with the choices `fixed` and makes
#: none of the choices `excluded` at the next position.
Find: TypeAlias = Callable[[Ints, tuple[int, ...]], Best]


class _Candidate(NamedTuple):
    """A set of labels with its best one; sorted by score, then by age."""

    minus_score: float
    age: int
    best: Best
    free: int  # positions before this one are fixed to the choices of the best label
    excluded: tuple[int, ...]  # choices that the set forbids at position `free`


def lawler_k_best(find: Find, n_positions: int, k: int) -> tuple[Floats, list[Ints]]:
    """Return the k best labels, best first, and their scores (fewer if there are fewer).

    Parameters
    ----------
    find : callable
        Searches one set of labels; see ``Find``.
    n_positions : int
        How many choices make a label. No two labels choose alike at all positions.
    k : int
        How many labels.

    Returns
    -------
    scores : ndarray of float64
    labels : list of ndarray
    """
    heap: list[_Candidate] = []
    scores: list[float] = []
    labels: list[Ints] = []
    age = 0

    def look(fixed: Ints, excluded: tuple[int, ...]) -> None:
        nonlocal age
        best = find(fixed, excluded)
        if np.isnan(best.score):
            raise DataError(
                "the scores hold nan or +inf, so labels have no order; give scores that are "
                "finite or -inf"
            )
        if best.score > -np.inf:
            heapq.heappush(heap, _Candidate(-best.score, age, best, len(fixed), excluded))
            age += 1

    look(np.zeros(0, dtype=np.int64), ())
    while heap and len(labels) < k:
        _, _, best, free, excluded = heapq.heappop(heap)
        scores.append(best.score)
        labels.append(best.label)
        wanted = k - len(labels)
        if wanted == 0:
            break
        for t in range(free, n_positions):
            before = excluded if t == free else ()
            look(best.choices[:t], (*before, int(best.choices[t])))
        if len(heap) > 4 * wanted:
            heap = heapq.nsmallest(wanted, heap)
    return np.array(scores), labels


def k_best_choices(
    structure: Structure, theta: Floats, topo: Ints, k: int, bounds: Ints
) -> tuple[Floats, list[Ints]]:
    """Return the k best labels of a structure that chooses one part per position.

    Parameters
    ----------
    structure : Structure
        Its maximum oracle is all that is used.
    theta : ndarray of float64
        One score per part; -inf forbids it.
    topo : ndarray of int64
        The shape of the example.
    k : int
        How many labels.
    bounds : ndarray of int64
        Parts ``bounds[t]`` to ``bounds[t+1] - 1`` are the choices at position t: every label holds
        exactly one of them, and no two labels choose alike at all positions. Parts outside all
        positions are allowed.

    Returns
    -------
    scores : ndarray of float64
    labels : list of ndarray
        As ``structure.decode`` returns them.
    """
    search = _MaskedSearch(structure, theta, topo, bounds)
    return lawler_k_best(search.find, len(bounds) - 1, k)


class _MaskedSearch:
    """Searches a set of labels by the maximum oracle, with a mask that leaves only the set."""

    def __init__(self, structure: Structure, theta: Floats, topo: Ints, bounds: Ints) -> None:
        self.structure = structure
        self.theta = np.ascontiguousarray(theta, dtype=np.float64)
        self.topo = topo
        self.bounds = bounds
        self._masked = self.theta.copy()
        self._mu = np.zeros(len(self.theta))
        self._work = np.empty(structure.work_size(topo))

    def find(self, fixed: Ints, excluded: tuple[int, ...]) -> Best:
        """Search the labels that begin with `fixed` and hold no part of `excluded` next."""
        theta, masked, bounds = self.theta, self._masked, self.bounds
        t = len(fixed)
        masked[list(excluded)] = -np.inf
        masked[bounds[0] : bounds[t]] = -np.inf
        masked[fixed] = theta[fixed]
        score = -np.inf
        if not excluded or (masked[bounds[t] : bounds[t + 1]] > -np.inf).any():
            structure = self.structure
            oracle, spec = structure.oracle("maximum"), structure.spec
            score = call(oracle, spec, self.topo, masked, self._mu, self._work)
        end = bounds[min(t + 1, len(bounds) - 1)]
        masked[bounds[0] : end] = theta[bounds[0] : end]
        if not score > -np.inf:
            return Best(score, fixed, fixed)
        choices = [a + self._mu[a:b].argmax() for a, b in pairwise(bounds)]
        return Best(score, np.array(choices, np.int64), self.structure.decode(self._mu, self.topo))
