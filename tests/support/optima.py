"""Optima by methods that have nothing to do with the package, and instances with a known one.

They are what the statements of the papers are tested with: problems on which a bound nearly holds
with equality, so that a step that is too long or too short breaks it.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp
from scipy.linalg import block_diag

from partwise.arrays import Floats
from partwise.problem.losses import Loss
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.structures.base import Constraints
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from support.instances import LOSSES, Explicit, Instance, divergence


def bregman(explicit: Explicit, p: list[Floats], q: list[Floats]) -> float:
    """B_Q[p||q] of Q = -D, for examples of weight 1: tau D[p||q] + (p - q)'A(p - q) / 2."""
    d = explicit.dual_sum(p) - explicit.dual_sum(q)
    return explicit.tau * divergence(p, q) + float(d @ d) / (2.0 * explicit.l2)


def step_residual(
    explicit: Explicit, eta: float, before: list[Floats], after: list[Floats], z: list[Floats]
) -> float:
    """What is left of Lemma 10 of Collins et al. (2008) when both sides are subtracted.

    eta [Q(u) - Q(z)] = D[z||u] - D[z||u'] + D[u||u'] - eta B_Q[z||u]    (9)

    holds for every z if u' is the step with eta from u, and with no other eta unless Q is flat.
    """
    fall = explicit.dual(z) - explicit.dual(before)
    way = divergence(z, before) - divergence(z, after) + divergence(before, after)
    return eta * fall - way + eta * bregman(explicit, z, before)


def near_balance(instance: Instance, explicit: Explicit) -> Floats:
    """A theta for ``opposed``: next to no gold label, and a little more of one wrong label."""
    theta = np.zeros((len(instance.lengths), explicit.counts[0].shape[1]))
    counts = explicit.counts[0]  # of 0 0, 0 1 and 1 1
    alone = counts.sum(axis=0) == 1.0  # parts that only one label has
    theta[:, np.flatnonzero(alone & (counts[1] == 1.0))[0]] = -15.0
    theta[:, np.flatnonzero(alone & (counts[0] == 1.0))[0]] = 0.2
    return theta.ravel()


def optimal_duals(explicit: Explicit) -> tuple[list[Floats], float]:
    """Return u* and a bound on max D - D(u*): the gap to the primal at w(u*)."""
    u = _smooth_optimum(explicit) if explicit.tau else _hinge_optimum(explicit)
    gap = explicit.primal(explicit.dual_sum(u) / explicit.l2) - explicit.dual(u)
    assert gap <= 1e-8
    return u, gap


def _smooth_optimum(explicit: Explicit) -> list[Floats]:
    """Newton's method for the primal; u* is the distribution at its minimum."""
    size = explicit.g[0].shape[1]
    w = np.zeros(size)
    for _ in range(100):
        u = conditional(explicit, w)
        slope = explicit.l2 * w - explicit.dual_sum(u)
        if np.abs(slope).max() <= 1e-12:
            break
        curve = explicit.l2 * np.eye(size)
        for c, p, g in zip(explicit.weight, u, explicit.g, strict=True):
            mean = p @ g
            curve += c / explicit.tau * ((g.T * p) @ g - np.outer(mean, mean))
        way = np.linalg.solve(curve, slope)
        step = 1.0
        while explicit.primal(w - step * way) > explicit.primal(w) and step > 1e-6:
            step /= 2
        w = w - step * way
    return conditional(explicit, w)


def conditional(explicit: Explicit, w: Floats) -> list[Floats]:
    """p(y | x_i; w) for all labels y, the cost added."""
    out = []
    for g, cost in zip(explicit.g, explicit.costs, strict=True):
        q = (cost - g @ w) / explicit.tau
        p = np.exp(q - q.max())
        out.append(p / p.sum())
    return out


def quadratic_program(explicit: Explicit) -> tuple[Floats, Floats, list[int]]:
    """-D(u) = b.u + u'Au / 2 of the hinge: A, b and how many labels each example has."""
    g = np.concatenate([c * g for c, g in zip(explicit.weight, explicit.g, strict=True)])
    b = np.concatenate([-c * q for c, q in zip(explicit.weight, explicit.costs, strict=True)])
    return g @ g.T / explicit.l2, b, [len(q) for q in explicit.costs]


def _hinge_optimum(explicit: Explicit) -> list[Floats]:
    a, b, sizes = quadratic_program(explicit)
    return np.split(simplex_minimum(a, b, sizes), np.cumsum(sizes)[:-1])


def simplex_minimum(a: Floats, b: Floats, sizes: list[int]) -> Floats:
    """The minimum of b.x + x'Ax / 2 over a product of simplices, by an interior-point method."""
    m = len(b)
    sums = block_diag(*[np.ones((1, k)) for k in sizes])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(a)),
        b,
        sp.csc_matrix(np.vstack([sums, -np.eye(m)])),
        np.concatenate([np.ones(len(sizes)), np.zeros(m)]),
        [clarabel.ZeroConeT(len(sizes)), clarabel.NonnegativeConeT(m)],
        settings,
    )
    x = np.maximum(np.asarray(solver.solve().x), 0.0)
    return np.concatenate([p / p.sum() for p in np.split(x, np.cumsum(sizes)[:-1])])


def apart(n: int, size: float, loss: str | Loss) -> Instance:
    """A classifier whose examples share no feature: D is a sum over them."""
    rows = Rows.from_dense(size * np.eye(n))
    gold = [np.array([i % 3]) for i in range(n)]
    kind = LOSSES[loss] if isinstance(loss, str) else loss
    lengths = np.ones(n, dtype=np.int64)
    problem = build_problem(Multiclass(3), lengths, [rows], gold, kind)
    return Instance(Multiclass(3), lengths, gold, None, kind, problem)


def opposed(n: int, loss: str | Loss) -> Instance:
    """n equal examples with two wrong labels that pull the weights in opposite ways.

    Gold is 0 1, the labels 0 0 and 1 1 are as far from it as can be, each on its side: here the
    bounds |A| on the curvature hold with equality. The label 1 0, which has the features of the
    gold one, is forbidden.
    """
    structure = Chain(2, tied=True)
    rules = Constraints(transitions=[(1, 0)])
    none = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), None, 0)  # one row for all
    rows = Rows.from_dense(np.ones((2 * n, 1)))
    gold = [np.array([0, 1])] * n
    kind = LOSSES[loss] if isinstance(loss, str) else loss
    lengths = np.full(n, 2, dtype=np.int64)
    problem = build_problem(
        structure, lengths, [rows, none, none, none], gold, kind, constraints=rules
    )
    return Instance(structure, lengths, gold, rules, kind, problem)
