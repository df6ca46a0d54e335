"""The k best labels of any structure whose label is a vector of choices.

Lawler's partition: once the best label y of a set is known, the rest of the set falls into
disjoint sets, one a position t,

    { y' : y'_s = y_s for s < t,  y'_t != y_t },

each described by a mask and searched by the maximum oracle. A heap holds the best label of every
set that is left. Sets are split only when their best label is taken, so k labels of T positions
ask for at most (k - 1) T + 1 maxima; as the sets are disjoint, no label comes twice.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError
from .base import Structure, call


class _Found(NamedTuple):
    """The best label of a set of labels; sorted by score, then by age."""

    minus_score: float
    age: int
    choices: Ints  # the part held at each position
    label: Ints
    free: int  # positions before this one are fixed to `choices`
    excluded: tuple[int, ...]  # parts that the set forbids at position `free`


def k_best_choices(
    structure: Structure, theta: Floats, topo: Ints, k: int, bounds: Ints
) -> tuple[Floats, list[Ints]]:
    """Give the k best labels, best first, and their scores (fewer if there are fewer).

    Parameters
    ----------
    structure : Structure
        Its maximum oracle is all that is used.
    theta : ndarray of float64
        A score a part; -inf forbids it.
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
        As ``structure.decode`` gives them.
    """
    search = _Search(structure, theta, topo, bounds)
    scores: list[float] = []
    labels: list[Ints] = []
    search.look(np.zeros(0, dtype=np.int64), ())
    while search.heap and len(labels) < k:
        found = heapq.heappop(search.heap)
        scores.append(-found.minus_score)
        labels.append(found.label)
        if len(labels) < k:
            search.split(found)
    return np.array(scores), labels


class _Search:
    """The sets that are left, each with its best label."""

    def __init__(self, structure: Structure, theta: Floats, topo: Ints, bounds: Ints) -> None:
        self.structure = structure
        self.theta = np.ascontiguousarray(theta, dtype=np.float64)
        self.topo = topo
        self.bounds = bounds
        self.heap: list[_Found] = []
        self._age = 0
        self._masked = self.theta.copy()
        self._mu = np.zeros(len(self.theta))
        self._work = np.empty(structure.work_size(topo))

    def split(self, found: _Found) -> None:
        """Put in the sets into which the set of `found` falls without its label."""
        for t in range(found.free, len(self.bounds) - 1):
            excluded = found.excluded if t == found.free else ()
            self.look(found.choices[:t], (*excluded, int(found.choices[t])))

    def look(self, fixed: Ints, excluded: tuple[int, ...]) -> None:
        """Find the best label that begins with `fixed` and holds no part of `excluded` next."""
        theta, masked, bounds = self.theta, self._masked, self.bounds
        t = len(fixed)
        n_positions = len(bounds) - 1
        if excluded:
            here = slice(bounds[t], bounds[t + 1])
            masked[list(excluded)] = -np.inf
            nothing_left = not (masked[here] > -np.inf).any()
            if nothing_left:
                masked[here] = theta[here]
                return
        masked[bounds[0] : bounds[t]] = -np.inf
        masked[fixed] = theta[fixed]
        score = call(
            self.structure.maximum, self.structure.spec, self.topo, masked, self._mu, self._work
        )
        if np.isnan(score):
            raise DataError(
                "the scores hold nan or +inf, so labels have no order; give scores that are "
                "finite or -inf"
            )
        if score > -np.inf:
            choices = np.array(
                [
                    bounds[s] + self._mu[bounds[s] : bounds[s + 1]].argmax()
                    for s in range(n_positions)
                ],
                dtype=np.int64,
            )
            label = self.structure.decode(self._mu, self.topo)
            heapq.heappush(self.heap, _Found(-score, self._age, choices, label, t, excluded))
            self._age += 1
        end = bounds[min(t + 1, n_positions)]
        masked[bounds[0] : end] = theta[bounds[0] : end]
