"""One label out of L: the parts are the labels themselves.

logZ = log sum_k exp(theta_k),    mu_k = exp(theta_k - logZ)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.exponential import exp_into
from ..compiled.jit import cfunc
from .base import ORACLE, Constraints, Sites, Structure, label_costs, only_allowed
from .logspace import add_entropy


@cfunc(ORACLE)
def multiclass_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Compute the softmax of the scores, shifted by the largest score."""
    n_labels = spec[0]
    m = -np.inf
    for k in range(n_labels):
        if math.isnan(theta[k]):
            return np.nan
        m = max(m, theta[k])
    out = mu if mu.size > 0 else work
    if not math.isfinite(m):
        for k in range(n_labels):
            out[k] = 0.0
        return m if m < 0 else np.nan
    exp_into(out[:n_labels], theta, m)
    z = 0.0
    for k in range(n_labels):
        z += out[k]
    if mu.size > 0:
        for k in range(n_labels):
            mu[k] /= z
    return m + math.log(z)


@cfunc(ORACLE)
def multiclass_entropy(spec: Any, topo: Any, mu: Any, slope: Any, work: Any) -> Any:
    """Return the entropy of the marginals, and fill in its derivatives."""
    return add_entropy(mu, slope, 1.0)


@cfunc(ORACLE)
def multiclass_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Find the first label with the largest score."""
    best = 0
    for k in range(spec[0]):
        if math.isnan(theta[k]) or theta[k] == np.inf:
            return np.nan
        if theta[k] > theta[best]:
            best = k
    for k in range(mu.size):
        mu[k] = 0.0
    if mu.size > 0 and theta[best] > -np.inf:
        mu[best] = 1.0
    return theta[best]


@final
class Multiclass(Structure):
    """One label per example, from 0 to n_labels - 1."""

    name: ClassVar[str] = "multiclass"
    kinds = ("label",)
    marginals: ClassVar[Any] = multiclass_marginals
    maximum: ClassVar[Any] = multiclass_maximum
    marginal_entropy: ClassVar[Any] = multiclass_entropy

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels

    def constants(self) -> dict[str, Any]:
        return {"n_labels": self.n_labels}

    def match_slots(self, other: Structure, labels: Ints) -> tuple[Ints, ...]:
        return (labels,) if isinstance(other, Multiclass) else super().match_slots(other, labels)

    @property
    def spec(self) -> Ints:
        return np.array([self.n_labels], dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.n_labels,)

    def topology(self, shape: int = 1) -> Ints:
        """Return an empty array, as all examples have the same shape."""
        return np.zeros(0, dtype=np.int64)

    def n_parts(self, topo: Ints) -> int:
        return self.n_labels

    def work_size(self, topo: Ints) -> int:
        """Count the exponentials, which need room when mu is not wanted."""
        return self.n_labels

    def sites(self, topo: Ints) -> Sites:
        zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
        return Sites(zero, one * self.n_labels, zero, one)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        return np.asarray(label, dtype=np.int64).reshape(1), np.ones(1)

    def encode_all(
        self, labels: Sequence[Ints], topologies: Sequence[Ints]
    ) -> tuple[Ints, Ints, Floats]:
        n = len(topologies)
        return np.arange(n + 1), self._joined(labels, n), np.ones(n)

    def _joined(self, labels: Sequence[Ints], n: int) -> Ints:
        given = labels.ravel() if isinstance(labels, np.ndarray) else np.concatenate(labels)
        parts = np.asarray(given if len(labels) else (), dtype=np.int64)
        if len(labels) != n or len(parts) != n:
            raise ValueError("a multiclass example has one label")
        return parts

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        return np.array([int(np.argmax(mu))], dtype=np.int64)

    def decode_all(self, mu: Floats, topologies: Sequence[Ints]) -> list[Ints]:
        return list(mu.reshape(-1, self.n_labels).argmax(axis=1).astype(np.int64)[:, None])

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        return label_costs(np.asarray(label).reshape(1), self.n_labels, matrix).ravel()

    def part_costs(
        self, labels: Sequence[Ints], topologies: Sequence[Ints], matrix: Floats | None
    ) -> Floats:
        return label_costs(self._joined(labels, len(topologies)), self.n_labels, matrix).ravel()

    def mask(self, topo: Ints, constraints: Constraints) -> Floats:
        """Forbid labels; constraints on transitions have no meaning here."""
        mask = np.zeros(self.n_labels)
        mask[list(constraints.labels)] = -np.inf
        for _, labels in constraints.allowed:
            mask += only_allowed(labels, self.n_labels)
        return mask

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        order = np.argsort(-theta, kind="stable")[:k]
        order = order[theta[order] > -np.inf]
        return theta[order], [np.array([j], dtype=np.int64) for j in order]

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        log_z, mu = self.expected_parts(theta, topo)
        self._check_drawable(log_z)
        cumulative = np.cumsum(mu)
        drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        return [np.array([j], dtype=np.int64) for j in drawn]
