"""Algorithm 7 of Yu, Huang and Lin (2011): dual coordinate descent for maximum entropy.

The block of a context is solved for all its duals, by the multiplier of their sum or by pairs of
labels (both in :mod:`.multiplier`). The weights change only at the end: v <- v - F^T (Z - alpha).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...errors import MismatchError
from ...problem.design import scatter, score
from ...problem.evaluation import Evaluator
from ...problem.problem import Problem
from ..options import Within
from .multiplier import PAIRS, solve_by_multiplier, solve_by_pairs
from .subproblem import Contexts, Newton

# The duals that dual coordinate descent starts from, since 0 is none of them.
#
# Section 3.4 and (51) of Yu, Huang and Lin (2011). alpha = C of the paper is the weight of an
# example here, so a part of C is the same part of that weight.


STARTS: Final = ("near-gold", "keerthi", "uniform")


class Epsilons(NamedTuple):
    """How close to the gold labels "near-gold" is."""

    #: Two classes: alpha is at most this part of C ...
    part: Annotated[float, Within("a number between 0 and 1", 0.0, 1.0, True, True)] = 1e-3
    #: ... and at most this (36).
    most: Annotated[float, Within("a positive number", above=True)] = 1e-8
    #: More classes: what the labels that were not seen with a context share (51).
    unseen: Annotated[float, Within("a number between 0 and 1", 0.0, 1.0, True, True)] = 1e-10


def starting_point(
    contexts: Contexts, start: str, epsilons: Epsilons, c: float | None = None
) -> Floats:
    """Return alpha, X x L.

    c: the C of the paper for an example of weight 1 if one vector stands for two classes.
    """
    counts, total = contexts.counts, contexts.total
    n_labels = counts.shape[1]
    if start == "uniform":
        return np.repeat(total[:, None] / n_labels, n_labels, axis=1)
    if start == "keerthi":
        if n_labels != 2:
            raise MismatchError(
                f"start='keerthi' is for two classes, and there are {n_labels}; use "
                "start='near-gold' or start='uniform'"
            )
        # C / l+ and C / l-, counted in examples of mean weight; C itself, with one, is no dual.
        mean = total.sum() / contexts.size.sum()
        wrong = counts / np.maximum(counts.sum(axis=0) / mean, 2.0)
        moved: Floats = counts - wrong + wrong[:, ::-1]
        return moved
    unseen = counts == 0.0
    n_unseen = unseen.sum(axis=1, keepdims=True)
    if c is not None:
        small = np.minimum(epsilons.part * total, epsilons.most / c)[:, None]
    else:
        small = epsilons.unseen * total[:, None]
    seen_part = np.where(n_unseen > 0, 1.0 - small / total[:, None], 1.0)
    return np.where(unseen, small / np.maximum(n_unseen, 1), seen_part * counts)


#: The ways to solve a block, by name; the position of a pair here is that in PAIRS.
BLOCKS: Final = (*PAIRS, "multiplier")
_MULTIPLIER: Final = len(PAIRS)


@njit
def _squares(design: Any, first: Any, out: Any) -> None:
    """Compute out[x, y] = |f(x, y)|^2; a single column serves all labels."""
    for k in range(first.size):
        i = first[k]
        for e in range(design.entry_ptr[i], design.entry_ptr[i + 1]):
            square = design.value[e] * design.value[e] if design.value.size > 0 else 1.0
            at = design.start[e]
            if out.shape[1] == 1:
                out[k, 0] += square
            elif e < design.sparse_ptr[i]:
                for y in range(out.shape[1]):
                    out[k, y] += square * design.live[at + y]
            else:
                for j in range(at, at + design.size[e]):
                    out[k, design.slot[j]] += square


@njit(fastmath=FAST)
def entropy_epoch(
    design: Any,
    first: Any,
    total: Any,
    k: Any,
    alpha: Any,
    v: Any,
    l2: float,
    order: Any,
    tol: float,
    newton: Any,
    block: int,
    share: Any,
) -> Any:
    """Visit the contexts in order: Algorithm 7.

    block: how a block is solved, a position in BLOCKS.
    share: X, the share of each context in the gap at its last visit, s KL(u, p(.|x; w)).

    Returns (the first context without a finite score or -1, Newton steps).
    """
    n_labels = alpha.shape[1]
    q, z, g = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
    room, heap = np.empty((3, n_labels)), np.empty((4, n_labels), dtype=np.int64)
    steps = 0
    for i in order:
        mine = alpha[i]
        s = total[i]
        score(design, first[i], v, q)
        largest = -np.inf
        for y in range(n_labels):
            q[y] /= l2
            largest = max(largest, q[y])
            g[y] = math.log(mine[y]) - q[y]
        exp_into(z, q, largest)
        sum_z = inner_g = 0.0
        for y in range(n_labels):
            sum_z += z[y]
            inner_g += mine[y] * g[y]
            z[y] = mine[y]
        log_z = largest + math.log(sum_z)
        # Not isfinite, which is a subtraction that reassociation may fold.
        if not abs(log_z) < np.inf:
            return i, steps
        share[i] = max(0.0, inner_g + s * (log_z - math.log(s)))
        if block == _MULTIPLIER:
            made = solve_by_multiplier(k[i], l2, s, tol, q, z, g, room)
        else:
            made = solve_by_pairs(mine, q, k[i], l2, tol, newton, block, z, g, room, heap)
        if made > 0:
            steps += made
            for y in range(n_labels):
                q[y] = mine[y] - z[y]
                mine[y] = z[y]
            scatter(design, first[i], q, v)
    return -1, steps


class EntropyBlocks:
    """The contexts of a problem with any number of classes."""

    remade: ClassVar[tuple[str, ...]] = ("k", "l2", "contexts", "design", "newton", "block")

    def __init__(
        self, problem: Problem, l2: float, contexts: Contexts, start: Floats, newton: Newton,
        block: str, evaluator: Evaluator,
    ) -> None:  # fmt: skip
        storage = problem.storage
        self.l2 = l2
        self.newton, self.block = newton, BLOCKS.index(block)
        self.evaluator = evaluator
        self.design = problem.arrays.design
        self.contexts = contexts
        shared = storage.slot.size == 0
        self.k = np.zeros((len(contexts.first), 1 if shared else problem.max_parts))
        _squares(self.design, contexts.first, self.k)
        self.alpha = start
        self.share = np.full(len(contexts.first), np.inf)
        self.v = storage.zeros()

    def rebuild(self) -> None:
        """Compute v from the duals alone, since the running one drifts."""
        u = self.alpha / self.contexts.total[:, None]
        self.v = self.evaluator.dual_sum(self.contexts.spread(u, 0.0).ravel())

    def weights(self) -> Floats:
        """Return the weights, as stored."""
        return self.v / self.l2

    def penalty(self) -> float:
        """Return l2/2 |w|^2."""
        return float(inner(self.v, self.v)) / (2.0 * self.l2)

    def epoch(self, order: Ints, tol: float) -> tuple[int, int]:
        """Visit the contexts in order."""
        return entropy_epoch(  # type: ignore[no-any-return]
            self.design,
            self.contexts.first,
            self.contexts.total,
            self.k,
            self.alpha,
            self.v,
            self.l2,
            order,
            tol,
            self.newton,
            self.block,
            self.share,
        )
