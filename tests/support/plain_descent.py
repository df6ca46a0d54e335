"""Stochastic gradients written out over all labels, for comparison with the sparse methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from support.instances import LOSSES, Explicit, Instance, variants
from support.solvers import solver_of

#: The variants with a smooth loss, and their names.
SMOOTH = [variant for variant in variants() if LOSSES[variant[1]].tau > 0.0]
SMOOTH_NAMES = [name for *_, name in SMOOTH]


def make(solver: Any, instance: Instance, l2: float, seed: int = 0, **options: Any) -> Any:
    """Build a stochastic solver."""
    return solver_of(solver, instance.problem, l2, seed, **options)


def first_weights(instance: Instance, seed: int = 5) -> Floats:
    """Draw stored weights."""
    storage = instance.problem.storage
    rng = np.random.default_rng(seed)
    return storage.scatter(rng.normal(size=storage.layout.n_weights))


def orders(instance: Instance, epochs: int) -> list[Ints]:
    """Draw orders of the examples that have a weight."""
    rng = np.random.default_rng(9)
    used = np.flatnonzero(instance.problem.arrays.weight)
    return [rng.permutation(used) for _ in range(epochs)]


def chances(explicit: Explicit, i: int, w: Floats) -> Floats:
    """p(y|x_i; w), or all on the best label where tau = 0."""
    q = explicit.costs[i] - explicit.g[i] @ w
    if explicit.tau == 0.0:
        return np.asarray(np.arange(len(q)) == np.argmax(q), dtype=np.float64)
    p = np.exp((q - q.max()) / explicit.tau)
    return np.asarray(p / p.sum())


def pull(explicit: Explicit, i: int, w: Floats) -> Floats:
    """c_i F_i^T (gold_i - mu_i(w))."""
    return np.asarray(explicit.weight[i] * (chances(explicit, i, w) @ explicit.g[i]))


def curvature(explicit: Explicit, i: int, w: Floats, v: Floats) -> Floats:
    """c_i times the Hessian of loss_i times v: the covariance of the features, over tau."""
    p, g = chances(explicit, i, w), explicit.g[i]
    spread = g - p @ g
    return np.asarray(explicit.weight[i] / explicit.tau * ((p * (spread @ v)) @ spread))
