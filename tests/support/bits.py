"""A structure that is not in the package: every subset of T things is a label."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.compiled.jit import cfunc
from partwise.structures.base import ORACLE, Sites, Structure


@cfunc(ORACLE)
def bits_marginals(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """logZ = sum_t log(1 + exp(theta_t)), mu_t = 1 / (1 + exp(-theta_t))."""
    log_z = 0.0
    for t in range(topo[0]):
        if math.isnan(theta[t]) or theta[t] == np.inf:
            return np.nan
        small = math.exp(-abs(theta[t]))
        log_z += max(theta[t], 0.0) + math.log1p(small)
        if mu.size > 0:
            mu[t] = (1.0 if theta[t] > 0.0 else small) / (1.0 + small)
    return log_z


@cfunc(ORACLE)
def bits_maximum(spec: Any, topo: Any, theta: Any, mu: Any, work: Any) -> Any:
    """Take what has a positive score."""
    best = 0.0
    for t in range(topo[0]):
        if math.isnan(theta[t]) or theta[t] == np.inf:
            return np.nan
        best += max(theta[t], 0.0)
        if mu.size > 0:
            mu[t] = 1.0 if theta[t] > 0.0 else 0.0
    return best


class Bits(Structure):
    """A label is a vector of T zeros and ones; the ones are parts, each with a score of its own."""

    name: ClassVar[str] = "bits"
    kinds = ("on",)
    marginals: ClassVar[Any] = bits_marginals
    maximum: ClassVar[Any] = bits_maximum

    def constants(self) -> dict[str, Any]:
        return {}

    @property
    def spec(self) -> Ints:
        return np.zeros(0, dtype=np.int64)

    @property
    def widths(self) -> tuple[int, ...]:
        return (1,)

    def topology(self, shape: int) -> Ints:
        return np.array([shape], dtype=np.int64)

    def n_parts(self, topo: Ints) -> int:
        return int(topo[0])

    def work_size(self, topo: Ints) -> int:
        return 0

    def sites(self, topo: Ints) -> Sites:
        ones = np.ones(int(topo[0]), dtype=np.int64)
        return Sites(np.arange(topo[0]), ones, ones * 0, ones)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        parts = np.flatnonzero(label).astype(np.int64)
        return parts, np.ones(len(parts))

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        return (mu > 0.5).astype(np.int64)

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        # What is missing cannot be charged to a part; what is too much can.
        return 1.0 - np.asarray(label, dtype=np.float64)

    def mask(self, topo: Ints, constraints: Iterable[int]) -> Floats:
        mask = np.zeros(int(topo[0]))
        mask[list(constraints)] = -np.inf
        return mask

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        found = [np.array(y, dtype=np.int64) for y in subsets(self, topo)]
        scores = np.array([theta[y > 0].sum() for y in found])
        order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > -np.inf][:k]
        return scores[order], [found[i] for i in order]

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        log_z, mu = self.expected_parts(theta, topo)
        self._check_drawable(log_z)
        return list((rng.random((size, len(mu))) < mu).astype(np.int64))


def subsets(structure: Structure, topo: Ints) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=int(topo[0])))


def ones(structure: Structure, topo: Ints, label: Any) -> list[int]:
    return [t for t, bit in enumerate(label) if bit]
