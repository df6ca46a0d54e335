"""Algorithm 7 of Yu, Huang and Lin (2011): dual coordinate descent for maximum entropy.

The block of a context is solved for all its duals, by the multiplier of their sum
(:mod:`.multiplier`) or by pairs of labels (:mod:`.pairs`). The weights change only at the end:
v <- v - F^T (Z - alpha).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.exponential import exp_into
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...problem.design import scatter, score
from ...problem.evaluation import Evaluator
from ...problem.problem import Problem
from .contexts import Contexts
from .multiplier import solve_by_multiplier
from .pairs import PAIRS, solve_by_pairs
from .subproblem import Newton

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
