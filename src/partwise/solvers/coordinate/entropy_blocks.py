"""Algorithms 6 and 7 of Yu, Huang and Lin (2011): dual coordinate descent for maximum entropy.

The block of a context x is solved by pairs of labels. With K_y = |f(x, y)|^2, scores q = F w and
Z = alpha + z the gradient of the block's problem (42) is, up to a constant,

    G_y = log Z_y + (Z_y - alpha_y) K_y / l2 - q_y

and the pair of the largest and the smallest G is problem (18) with

    c1 = Z_1,  c2 = Z_2,  a = (K_1 + K_2) / l2,
    b = ((Z_1 - alpha_1) K_1 - (Z_2 - alpha_2) K_2) / l2 - q_1 + q_2,     g'(0) = G_1 - G_2

until all G agree to a tolerance. Labels share no weights, so K is diagonal (property (48)). The
weights change only at the end: v <- v - F^T (Z - alpha).
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
from .subproblem import SMALLEST, solve_subproblem

#: Starting point (51): labels that were not seen share this fraction of a context.
EPSILON: Final = 1e-10
#: A block that needs more pairs per label than this continues at its next visit.
_MOST_PAIRS: Final = 20


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


@njit
def solve_block(
    alpha: Any, q: Any, k: Any, l2: float, tol: float, method: int, z: Any, g: Any
) -> Any:
    """Algorithm 6, in place: z holds alpha, g holds log alpha - q.

    Returns the Newton steps of all pairs.
    """
    n_labels = z.size
    steps = 0
    for _ in range(_MOST_PAIRS * n_labels):
        y1, y2 = -1, 0
        for y in range(n_labels):
            # A label at the smallest number is left out: it would be chosen for ever.
            if z[y] > SMALLEST and (y1 < 0 or g[y] > g[y1]):
                y1 = y
            if g[y] < g[y2]:
                y2 = y
        if y1 < 0 or g[y1] - g[y2] <= tol:
            break
        k1, k2 = (k[y1], k[y2]) if k.size > 1 else (k[0], k[0])
        moved = ((z[y1] - alpha[y1]) * k1 - (z[y2] - alpha[y2]) * k2) / l2
        old1, old2 = z[y1], z[y2]
        z[y1], z[y2], made = solve_subproblem(
            (k1 + k2) / l2, moved - q[y1] + q[y2], old1, old2, g[y1] - g[y2], tol, method
        )
        steps += made
        if z[y1] == old1 and z[y2] == old2:
            break
        g[y1] = math.log(z[y1]) + (z[y1] - alpha[y1]) * k1 / l2 - q[y1]
        g[y2] = math.log(z[y2]) + (z[y2] - alpha[y2]) * k2 / l2 - q[y2]
    return steps


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
    method: int,
    share: Any,
) -> Any:
    """Visit the contexts in order: Algorithm 7.

    share: X, the share of each context in the gap at its last visit, s KL(u, p(.|x; w)).

    Returns (the first context without a finite score or -1, Newton steps).
    """
    n_labels = alpha.shape[1]
    q, z, g = np.empty(n_labels), np.empty(n_labels), np.empty(n_labels)
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
        made = solve_block(mine, q, k[i], l2, tol, method, z, g)
        if made > 0:
            steps += made
            for y in range(n_labels):
                q[y] = mine[y] - z[y]
                mine[y] = z[y]
            scatter(design, first[i], q, v)
    return -1, steps


class EntropyBlocks:
    """The contexts of a problem with any number of classes."""

    remade: ClassVar[tuple[str, ...]] = ("k", "l2", "contexts", "design")

    def __init__(
        self, problem: Problem, l2: float, contexts: Contexts, evaluator: Evaluator
    ) -> None:
        storage = problem.storage
        self.l2 = l2
        self.evaluator = evaluator
        self.design = problem.arrays.design
        self.contexts = contexts
        shared = storage.slot.size == 0
        self.k = np.zeros((len(contexts.first), 1 if shared else problem.max_parts))
        _squares(self.design, contexts.first, self.k)
        self.alpha = self.start(contexts)
        self.share = np.full(len(contexts.first), np.inf)
        self.v = storage.zeros()

    def start(self, contexts: Contexts) -> Floats:
        """Return the starting point (51)."""
        unseen = contexts.counts == 0.0
        n_unseen = unseen.sum(axis=1, keepdims=True)
        part = EPSILON * contexts.total[:, None] / np.maximum(n_unseen, 1)
        seen = np.where(n_unseen > 0, 1.0 - EPSILON, 1.0) * contexts.counts
        return np.where(unseen, part, seen)

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

    def epoch(self, order: Ints, tol: float, method: int) -> tuple[int, int]:
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
            method,
            self.share,
        )
