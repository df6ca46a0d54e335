"""Block-coordinate Frank-Wolfe for the hinge loss.

Lacoste-Julien, Jaggi, Schmidt and Pletscher (2013); sampling by gap, cached labels and pairwise
steps as in Osokin et al. (2016). The block of example i moves towards the label y that is worst for
the weights: either all of it, or only the weight of the best label a that the example has:

    q = F_i w + cost_i,    y = argmax q.y,    gap_i = c_i q.(y - mu_i)
    mu_i <- mu_i + g (y - mu_i)     or     mu_i <- mu_i + g (y - a),  g <= alpha_a
    d = c_i F_i^T (the way),    g = min(l2 c_i q.(the way) / |d|^2, the end of the way)

Some weight may be on none of the labels that the example keeps, because a label made room for
another one or because the fit has a start. It is a point of the same set, and counts as one label.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import njit
from ...errors import DataError
from ...problem.evaluation import not_finite
from ...problem.footprint import Footprint
from ...problem.problem import Problem, example_maximum
from ...problem.room import RoomBlock
from ..goal import Goal
from ..options import Count, NotNegative, OneOf
from ..papers import LACOSTE_JULIEN_2013, OSOKIN_2016
from .atoms import (
    Atoms,
    add_atom,
    atom_score,
    atoms_bytes,
    check_atoms,
    gold_atoms,
    grown,
    join,
    keep_atom,
    split,
)
from .marginal_ascent import MarginalAscent, score_with_cost, step

#: Used in place of a slot: no label; the weight that is on no kept label.
NONE, REST = -2, -3
#: A smaller rest may be rounding.
LEAST = 1e-9
#: How many labels all examples keep together, but at least 20 per example.
_SLOTS: Final = 1 << 22


@njit
def _choose(i: int, q: Any, mean: float, atoms: Any, room: int) -> Any:
    """Return the slots of the worst kept label and of the best one with weight, and their scores.

    The second may be REST, and is NONE if no kept label has weight.
    """
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
    return top, bottom, high, low


@njit
def _towards(
    i: int, c: float, atoms: Any, room: int, top: int, bottom: int, own: Any, way: Any
) -> Any:
    """Compute way = c (y_top - y_bottom), or c (y_top - mu_i) without a bottom.

    Returns how far one can go that way.
    """
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


@njit
def frank_wolfe_epoch(
    a: Any, order: Any, first: int, l2: float, room: int, pairwise: bool, mu: Any,
    gap: Any, atoms: Any, place: Any, v: Any, d: Any, totals: Any, buffers: Any,
) -> Any:  # fmt: skip
    """Visit order[first:]; return where it had to stop, and the example with bad scores or -1.

    place: for each example, where its labels are among those in atoms.
    """
    q, way, y, masked, work = buffers
    for t in range(first, order.size):
        i = order[t]
        k = place[i]
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        own = mu[lo : lo + n]
        mean = score_with_cost(a, i, v, l2, own, q)
        found = example_maximum(a, i, q[:n], y[:n], masked, work)
        if not math.isfinite(found):
            return t, i
        gap[i] = c * max(found - mean, 0.0)
        top, bottom, high, low = _choose(k, q[:n], mean, atoms, room)
        # A label that scores as well as a known one is that one, up to rounding.
        if found > high + 1e-12 * (1.0 + abs(found)):
            crowded = atoms.used[k] == room
            top, high = keep_atom(atoms, k, room, y[:n]), found
            if top < 0:
                return t, -1
            if crowded:  # the label that had to make room is now part of the rest
                _, bottom, _, low = _choose(k, q[:n], mean, atoms, room)
        if not (pairwise and low < mean):
            bottom, low = NONE, mean
        rise = c * (high - low)
        most = _towards(k, c, atoms, room, top, bottom, own, way[:n])
        g = step(a, i, way[:n], rise, most, l2, own, d, v, totals)
        if bottom >= 0:
            atoms.alpha[bottom] -= g
        elif bottom == NONE:
            for slot in range(k * room, k * room + atoms.used[k]):
                atoms.alpha[slot] *= 1.0 - g
        atoms.alpha[top] += g
    return order.size, -1


@final
class FrankWolfe(MarginalAscent):
    """Block-coordinate Frank-Wolfe with pairwise steps, kept labels and sampling by gap.

    Parameters
    ----------
    goal, nearness
        As in :class:`MarginalAscent`.
    sampling : {"gap", "uniform"}
        Draw half of the examples in proportion to their share of the gap, or visit all in turn.
    pairwise : bool
        Move weight from one label to another where that promises more than to move all.
    room : int or None
        How many labels an example keeps; None: 100, or fewer where there are many examples.
    """

    name: ClassVar[str] = "bcfw"
    on_disk = True
    papers = (LACOSTE_JULIEN_2013, OSOKIN_2016)
    remade = ("place",)
    grows = ("window", *(f"atoms.{field}" for field in Atoms._fields))

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # The labels that were met and a direction come on top of the marginals.
        size = super().footprint(problem, l2, l1, options)
        labels = atoms_bytes(problem, _room(problem, options.get("room")))
        return replace(size, vectors=size.vectors + 1, other=labels)

    def __init__(
        self,
        goal: Goal,
        *,
        sampling: Annotated[str, OneOf(("gap", "uniform"))] = "gap",
        pairwise: bool = True,
        room: Count | None = None,
        nearness: NotNegative | None = 0.0,
    ) -> None:
        super().__init__(goal, nearness=nearness)
        self.sampling, self.pairwise = sampling, pairwise
        self.room = _room(goal.problem, room)
        self.begun = goal.start is not None
        # On disk only the labels of the present window are in memory.
        whole = RoomBlock(0, 0, 0 if goal.problem.room.on_disk else goal.problem.n_examples)
        self.window: Ints = np.array([whole], dtype=np.int64)
        self.place = np.arange(goal.problem.n_examples)
        self.atoms = self._gold_atoms(whole)
        self.d = goal.problem.storage.zeros()
        self.buffers = goal.problem.scratch(4)

    def draw(self) -> Ints:
        n = self.problem.n_examples
        total = self.gap.sum()
        if self.sampling == "uniform" or not 0.0 < total < np.inf:
            return self.problem.room.order(self.rng, n)
        drawn = self.rng.choice(n, size=n, p=0.5 * self.gap / total + 0.5 / n)
        return self.problem.room.grouped(self.rng, drawn)

    def _gold_atoms(self, block: RoomBlock) -> Atoms:
        """Return the gold labels of a block."""
        atoms = gold_atoms(self.problem, self.room, block.first, block.last)
        if self.begun:
            atoms.alpha[:] = 0.0
        return atoms

    def _enter(self) -> None:
        """Bring the labels of the present window into memory, in place of those before."""
        room = self.problem.room
        window = room.window(self.problem.n_examples)
        if np.array_equal(window, self.window):
            return
        before = [RoomBlock(*row) for row in self.window.tolist()]
        sizes = [block.last - block.first for block in before]
        held = dict(zip(before, split(self.atoms, sizes, self.room), strict=True))
        for block in before:
            if block not in window and block.last > block.first:
                room.put("atoms", block.number, held[block]._asdict())
        for block in window:
            if block not in held:
                found = room.take("atoms", block.number)
                held[block] = self._gold_atoms(block) if found is None else Atoms(**found)
        self.window = np.array(window, dtype=np.int64)
        self.atoms = join([held[block] for block in window])
        self._find()

    def _find(self) -> None:
        """Note where the labels of each example of the window are."""
        at = 0
        for _, first, last in self.window.tolist():
            self.place[first:last] = np.arange(at, at + last - first)
            at += last - first

    def visit(self, order: Ints, l2: float, v: Floats) -> int:
        if self.problem.room.on_disk:
            self._enter()
        at = 0
        while True:
            at, bad = frank_wolfe_epoch(
                self.problem.arrays,
                order,
                at,
                l2,
                self.room,
                self.pairwise,
                self.mu,
                self.gap,
                self.atoms,
                self.place,
                v,
                self.d,
                self.totals,
                self.buffers,
            )
            if bad >= 0:
                raise not_finite(int(bad))
            if at == len(order):
                break
            self.atoms = grown(self.atoms, self.problem.max_parts)
        return len(order)

    def restored(self) -> None:
        super().restored()
        n, ends = self.problem.n_examples, self.problem.arrays.part_ptr
        window = self.window.tolist() if self.window.shape[1:] == (3,) else [[0, -1, 0]]
        if not all(0 <= first <= last <= n for _, first, last in window):
            raise DataError("the window of a Frank-Wolfe method is none of the problem")
        sizes = [np.diff(ends[first : last + 1]) for _, first, last in window]
        check_atoms(self.atoms, self.room, np.concatenate(sizes))
        self._find()


def _room(problem: Problem, room: int | None) -> int:
    """Return how many labels an example keeps."""
    return room or min(max(_SLOTS // problem.n_examples, 20), 100)
