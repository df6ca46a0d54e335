"""Block-coordinate Frank-Wolfe for the hinge loss.

Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013); sampling by gap, cached labels and pairwise
steps as in Osokin et al. (2016). The block of example i moves towards the label y that the weights
find worst, all of it, or only the weight of the best label a that it already has:

    q = F_i w + cost_i,    y = argmax q.y,    gap_i = c_i q.(y - mu_i)
    mu_i <- mu_i + g (y - mu_i)     or     mu_i <- mu_i + g (y - a),  g <= alpha_a
    d = c_i F_i^T (the way),    g = min(l2 c_i q.(the way) / |d|^2, the end of the way)

The weight that is on none of the labels that the example keeps, because they made room for others
or because the fit began elsewhere, counts as one label more: it is a point of the same set.

A visit takes y from the labels that the example has met if one of them still promises enough of
the gap that the last call of the oracle found.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import numpy as np

from ..design import scatter, score
from ..dual_point import DualPoint
from ..evaluation import Evaluator, not_finite
from ..jit import FAST, njit
from ..problem import Problem, example_maximum
from ..structures.base import Floats, Ints
from ..vectors import inner
from .atoms import add_atom, atom_score, gold_atoms, grown, keep_atom
from .base import Epoch, Evaluation, Solver
from .exponentiated_gradient import Average

#: Positions in the running totals: |v|^2, and sum_i c_i cost_i.mu_i.
NORM, LINEAR = range(2)
#: In place of a slot: no label, the weight on no kept label, no room in the pool, scores that are
#: not finite.
NONE, REST, FULL, INVALID = -4, -3, -1, -2
#: A rest that is smaller may be rounding.
LEAST = 1e-9


@njit(fastmath=FAST)
def _move(design: Any, i: int, d: Any, g: float, v: Any) -> None:
    """v -= g d and d = 0, in the blocks of example i."""
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        n = design.site_width[s]
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            at = design.start[e]
            size = design.size[e] if e >= design.sparse_ptr[s] else n
            for k in range(at, at + size):
                v[k] -= g * d[k]
                d[k] = 0.0


@njit(fastmath=FAST)
def _choose(
    a: Any, i: int, q: Any, mean: float, gap: Any, atoms: Any, room: int, trust: float, scratch: Any
) -> Any:
    """Give the slots of the worst label and of the best one with weight, and their scores.

    The first slot is FULL if the pool of labels is, INVALID if scores are not finite. The second
    may be REST, and is NONE if there is no way from one label to the other.
    """
    y, masked, work = scratch
    c = a.weight[i]
    top, bottom = NONE, NONE
    high, low = -math.inf, math.inf
    rest, rest_value = 1.0, mean
    for slot in range(i * room, i * room + atoms.used[i]):
        value = atom_score(atoms, slot, q)
        if value > high:
            top, high = slot, value
        if atoms.alpha[slot] > 0.0:
            rest -= atoms.alpha[slot]
            rest_value -= atoms.alpha[slot] * value
            if value < low:
                bottom, low = slot, value
    if rest > LEAST and rest_value < low * rest:
        bottom, low = REST, rest_value / rest
    # Not ">" with a gap of 0, or of nothing known: only the oracle can tell.
    if not c * (high - mean) > trust * gap[i]:
        found = example_maximum(a, i, q, y, masked, work)
        if not math.isfinite(found):
            return INVALID, bottom, high, low
        gap[i] = c * max(found - mean, 0.0)
        # A label that scores as well as a known one is that one, but for rounding.
        if found > high + 1e-12 * (1.0 + abs(found)):
            crowded = atoms.used[i] == room
            top, high = keep_atom(atoms, i, room, y), found
            if top == bottom or (crowded and bottom == REST):
                bottom, low = NONE, math.inf
    return top, bottom, high, low


@njit(fastmath=FAST)
def _towards(
    i: int, c: float, atoms: Any, room: int, top: int, bottom: int, own: Any, way: Any
) -> Any:
    """way = c (y_top - y_bottom), or c (y_top - mu_i) without a bottom; how far it leads."""
    slots = range(i * room, i * room + atoms.used[i])
    most = 1.0
    if bottom >= 0:
        most = atoms.alpha[bottom]
    elif bottom == REST:
        for slot in slots:
            most -= atoms.alpha[slot]
    for r in range(own.size):
        way[r] = 0.0 if bottom >= 0 else -c * own[r] / most
    if bottom == REST:
        for slot in slots:
            if atoms.alpha[slot] > 0.0:
                add_atom(atoms, slot, c * atoms.alpha[slot] / most, way)
    if bottom >= 0:
        add_atom(atoms, bottom, -c, way)
    add_atom(atoms, top, c, way)
    return most


@njit(fastmath=FAST)
def frank_wolfe_epoch(
    a: Any, order: Any, first: int, l2: float, room: int, trust: float, pairwise: bool, mu: Any,
    gap: Any, atoms: Any, v: Any, d: Any, totals: Any, buffers: Any,
) -> Any:  # fmt: skip
    """Visit order[first:]; returns where it had to stop, and the example with bad scores or -1."""
    q, way, y, masked, work = buffers
    for t in range(first, order.size):
        i = order[t]
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = mu[lo : lo + n]
        score(a.design, i, v, q)
        mean = 0.0
        for r in range(n):
            q[r] /= l2
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        for r in range(n):
            mean += q[r] * own[r]
        top, bottom, high, low = _choose(
            a, i, q[:n], mean, gap, atoms, room, trust, (y[:n], masked, work)
        )
        if top < 0:
            return t, (i if top == INVALID else -1)
        if not (pairwise and low < mean):
            bottom, low = NONE, mean
        most = _towards(i, c, atoms, room, top, bottom, own, way[:n])
        rise = c * (high - low)
        cost = 0.0
        if a.cost.size > 0:
            for r in range(n):
                cost += a.cost[lo + r] * way[r]
        square = scatter(a.design, i, way, d)
        g = most
        if square > 0.0:
            g = max(min(most, l2 * rise / square), 0.0)
        _move(a.design, i, d, g, v)
        totals[NORM] += g * g * square - 2.0 * g * l2 * (rise - cost)
        totals[LINEAR] += g * cost
        for r in range(n):
            own[r] += g / c * way[r]
        if bottom >= 0:
            atoms.alpha[bottom] -= g
        elif bottom == NONE:
            for slot in range(i * room, i * room + atoms.used[i]):
                atoms.alpha[slot] *= 1.0 - g
        atoms.alpha[top] += g
    return order.size, -1


def gold_marginals(problem: Problem) -> Floats:
    """Give the marginals of the gold labels."""
    arrays = problem.arrays
    mu = np.zeros(problem.n_parts)
    offset = np.repeat(arrays.part_ptr[:-1], np.diff(arrays.gold_ptr))
    mu[offset + arrays.gold_part] = arrays.gold_count
    return mu


@final
class FrankWolfe(Solver):
    """Block-coordinate Frank-Wolfe.

    Parameters
    ----------
    problem, l2, evaluator
        What to solve.
    rng : numpy.random.Generator
        Draws the examples.
    sampling : {"gap", "uniform"}
        Draw half of the examples in proportion to their share of the gap, or visit all in turn.
    pairwise : bool
        Move weight from one label to another where that promises more than to move all.
    room : int
        How many labels an example keeps.
    trust : float
        Use a kept label if it promises this part of the gap that the oracle found last; inf: ask
        the oracle at every visit.
    marginals : ndarray or None
        Those of a dual point to start from; without it, the gold labels.
    """

    name: ClassVar[str] = "bcfw"
    needs = frozenset({"maximum", "tau=0"})

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        sampling: str = "gap",
        pairwise: bool = True,
        room: int = 20,
        trust: float = math.inf,
        marginals: Floats | None = None,
    ) -> None:
        super().__init__(problem, l2, evaluator)
        self.rng, self.sampling = rng, sampling
        self.pairwise, self.room, self.trust = pairwise, room, trust
        self.atoms = gold_atoms(problem, room)
        self.gap = np.where(problem.arrays.weight > 0.0, np.inf, 0.0)
        self.v, self.d = problem.storage.zeros(), problem.storage.zeros()
        self.totals = np.zeros(2)
        if marginals is None:
            self.mu = gold_marginals(problem)
        else:
            self.mu = marginals.copy()
            self.atoms.alpha[:] = 0.0
            self._rebuild()
        self.average = Average()
        size = problem.max_parts
        self.buffers = (*(np.empty(size) for _ in range(4)), np.empty(problem.work_size))

    @property
    def settled(self) -> bool:
        """Always: there is one l2."""
        return True

    def _draw(self) -> Ints:
        n = self.problem.n_examples
        total = self.gap.sum()
        if self.sampling == "uniform" or not 0.0 < total < np.inf:
            return self.rng.permutation(n)
        return self.rng.choice(n, size=n, p=0.5 * self.gap / total + 0.5 / n)

    def epoch(self) -> Epoch:
        """Visit as many examples as there are."""
        order, at = self._draw(), 0
        while True:
            at, bad = frank_wolfe_epoch(
                self.problem.arrays,
                order,
                at,
                self.l2,
                self.room,
                self.trust,
                self.pairwise,
                self.mu,
                self.gap,
                self.atoms,
                self.v,
                self.d,
                self.totals,
                self.buffers,
            )
            if bad >= 0:
                raise not_finite(int(bad))
            if at == len(order):
                break
            self.atoms = grown(self.atoms, self.problem.max_parts)
        self.average.add(self.v)
        return Epoch(1.0, self._dual(), float(self.gap.sum()), self.l2)

    def _rebuild(self) -> None:
        """Compute v and the totals from mu: the running ones drift."""
        self.v = self.evaluator.dual_sum(self.mu)
        self.totals[NORM] = inner(self.v, self.v)
        none = np.zeros(self.problem.n_examples)
        self.totals[LINEAR] = self.evaluator.dual_linear(self.mu, none)

    def _dual(self) -> float:
        return float(self.totals[LINEAR] - self.totals[NORM] / (2.0 * self.l2))

    def evaluate(self) -> Evaluation:
        """Compute v and both sides from mu; the primal at w(u) or at the mean of the iterates."""
        self._rebuild()
        weights = self.current_weights()
        primal = self.evaluator.primal(weights, self.l2)
        if self.average.v is not None:
            averaged = self.average.v / self.l2
            other = self.evaluator.primal(averaged, self.l2)
            if other < primal:
                weights, primal = averaged, other
        return Evaluation(weights, primal, self._dual())

    def current_weights(self) -> Floats:
        """Give w(u)."""
        return self.v / self.l2

    def dual_point(self) -> DualPoint:
        """Give the marginals, and the scores at w."""
        return DualPoint(self.evaluator.scores(self.current_weights()), self.mu)
