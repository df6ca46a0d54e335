"""Prediction for many examples at once: score, then one oracle call an example.

Threads split the examples into runs. Every example is computed by one thread on its own, so the
results do not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .design import Layout, make_design, score, site_rows
from .errors import DataError
from .evaluation import not_finite
from .jit import FAST, njit
from .problem import Arrays, example_marginals, example_maximum
from .rows import Rows
from .structures.base import Constraints, Floats, Ints, Structure
from .threads import run

#: For an example, the labels that are allowed at some of its positions.
Allowed = Sequence[tuple[int, Sequence[int]]]


@dataclass(frozen=True)
class Batch:
    """Examples to predict, as the arrays that the kernels run on."""

    structure: Structure
    weights: Floats
    arrays: Arrays
    position_ptr: Ints  # the positions of example i are position_ptr[i] : position_ptr[i+1]
    work_size: int
    max_parts: int

    @property
    def n_examples(self) -> int:
        """How many examples there are."""
        return len(self.position_ptr) - 1

    def topology(self, i: int) -> Ints:
        """The shape of example i."""
        a = self.arrays
        return a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]


def make_batch(
    structure: Structure,
    layout: Layout,
    weights: Floats,
    features: Sequence[Rows],
    lengths: Ints,
    *,
    constraints: Constraints | None = None,
    allowed: Sequence[Allowed | None] | None = None,
    gold: Sequence[Ints] | None = None,
) -> Batch:
    """Put examples together for prediction.

    Parameters
    ----------
    structure, layout, weights
        The model's.
    features : sequence of Rows
        For each kind of site, its features (see :func:`partwise.design.site_rows`).
    lengths : ndarray of int64
        The number of positions of each example.
    constraints : Constraints or None
        What holds for all examples.
    allowed : sequence or None
        For each example the labels allowed at some positions, or None.
    gold : sequence of ndarray or None
        Labels to be scored, for :func:`log_probabilities`.
    """
    distinct, shape = np.unique(lengths, return_inverse=True)
    topos = [structure.topology(int(length)) for length in distinct]
    topologies = [topos[s] for s in shape.tolist()]
    site_ptr, sites, rows = site_rows(structure, topologies, features)
    mask, mask_ptr = _masks(structure, topologies, constraints, allowed)
    encoded = [
        structure.encode(y, t) for y, t in zip(gold or (), topologies, strict=gold is not None)
    ]
    parts = np.array([structure.n_parts(topo) for topo in topos], dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    arrays = Arrays(
        marginals=structure.marginals,
        maximum=structure.maximum,
        spec=structure.spec,
        topo=np.concatenate([*topologies, empty]),
        topo_ptr=_pointers(np.array([len(topo) for topo in topos], dtype=np.int64)[shape]),
        part_ptr=_pointers(parts[shape]),
        design=make_design(layout, site_ptr, sites, rows),
        tau=1.0,
        cost=np.zeros(0),
        mask=mask,
        mask_ptr=mask_ptr,
        gold_ptr=_pointers(np.array([len(p) for p, _ in encoded], dtype=np.int64)),
        gold_part=np.concatenate([*(p for p, _ in encoded), empty]),
        gold_count=np.concatenate([*(c for _, c in encoded), np.zeros(0)]),
        weight=np.ones(len(lengths)),
    )
    return Batch(
        structure=structure,
        weights=_writeable(weights),
        arrays=arrays,
        position_ptr=_pointers(lengths),
        work_size=max((structure.work_size(topo) for topo in topos), default=0),
        max_parts=int(parts.max(initial=0)),
    )


def best_labels(batch: Batch, n_jobs: int | None = 1) -> Ints:
    """Give the best label of every position, the examples one after the other."""
    labels = np.empty(int(batch.position_ptr[-1]), dtype=np.int64)

    def task(begin: int, end: int) -> int:
        work = np.empty(batch.work_size)
        size = batch.max_parts
        return int(_best_labels(batch.arrays, batch.weights, batch.position_ptr, labels, begin, end,
                                size, work))  # fmt: skip

    _complain(run(batch.n_examples, n_jobs, task))
    return labels


def position_marginals(batch: Batch, n_jobs: int | None = 1) -> Floats:
    """Give the probability of every (position, label), the examples one after the other."""
    table = np.empty((int(batch.position_ptr[-1]), batch.structure.n_labels))

    def task(begin: int, end: int) -> int:
        work = np.empty(batch.work_size)
        size = batch.max_parts
        return int(_position_marginals(batch.arrays, batch.weights, batch.position_ptr, table,
                                       begin, end, size, work))  # fmt: skip

    _complain(run(batch.n_examples, n_jobs, task))
    return table


def log_probabilities(batch: Batch, n_jobs: int | None = 1) -> Floats:
    """Give log p(gold_i | x_i) for every example; -inf where the constraints forbid it."""
    out = np.empty(batch.n_examples)

    def task(begin: int, end: int) -> int:
        work = np.empty(batch.work_size)
        size = batch.max_parts
        return int(_log_probabilities(batch.arrays, batch.weights, out, begin, end, size, work))

    _complain(run(batch.n_examples, n_jobs, task))
    return out


def k_best_labels(batch: Batch, k: int, n_jobs: int | None = 1) -> list[tuple[Floats, list[Ints]]]:
    """Give the k best labels of every example, best first, and their scores."""
    a = batch.arrays
    results: list[tuple[Floats, list[Ints]]] = [(np.zeros(0), [])] * batch.n_examples

    def task(begin: int, end: int) -> int:
        q = np.empty(batch.max_parts)
        for i in range(begin, end):
            n = int(a.part_ptr[i + 1] - a.part_ptr[i])
            score(a.design, i, batch.weights, q)
            theta = q[:n]
            if a.mask.size:
                theta = theta + a.mask[a.mask_ptr[i] : a.mask_ptr[i] + n]
            if np.isnan(theta).any() or np.isposinf(theta).any():
                return i
            results[i] = batch.structure.k_best(theta, batch.topology(i), k)
            if not results[i][1]:
                return i
        return -1

    _complain(run(batch.n_examples, n_jobs, task))
    return results


def split(flat: npt.NDArray[Any], position_ptr: Ints) -> list[Any]:
    """Cut what belongs to all positions into one array an example."""
    return [flat[a:b] for a, b in pairwise(position_ptr.tolist())]


def _complain(bad: list[int]) -> None:
    for i in bad:
        if i >= 0:
            raise not_finite(i)


def _writeable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.require(array, requirements=["C", "W"])


def _pointers(sizes: Ints) -> Ints:
    pointers = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=pointers[1:])
    return pointers


def _masks(
    structure: Structure,
    topologies: Sequence[Ints],
    constraints: Constraints | None,
    allowed: Sequence[Allowed | None] | None,
) -> tuple[Floats, Ints]:
    """One mask a shape, shared, and one for each example with constraints of its own."""
    own = allowed is not None and any(allowed)
    if constraints is None and not own:
        return np.zeros(0), np.zeros(len(topologies), dtype=np.int64)
    if allowed is not None and len(allowed) != len(topologies):
        raise DataError(
            f"allowed labels for {len(allowed)} examples where there are {len(topologies)}"
        )
    begins: dict[bytes, int] = {}
    masks = [np.zeros(0)]
    pointers = np.empty(len(topologies), dtype=np.int64)
    at = 0
    for i, topo in enumerate(topologies):
        mine = allowed[i] if allowed is not None else None
        key = topo.tobytes()
        if not mine and key in begins:
            pointers[i] = begins[key]
            continue
        if not mine:
            begins[key] = at
        pointers[i] = at
        whole = (constraints or Constraints())._replace(allowed=list(mine or ()))
        masks.append(structure.mask(topo, whole))
        at += len(masks[-1])
    return np.concatenate(masks), pointers


@njit(fastmath=FAST)
def _best_labels(
    a: Any, w: Any, position_ptr: Any, labels: Any, begin: int, end: int, size: int, work: Any
) -> Any:
    """The label with the largest count at every position of the maximiser.

    Returns the first example whose best score is not finite, or -1.
    """
    q, mu, masked = np.empty(size), np.empty(size), np.empty(size)
    n_labels = a.spec[0]
    for i in range(begin, end):
        n = a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, w, q)
        if not np.isfinite(example_maximum(a, i, q[:n], mu[:n], masked, work)):
            return i
        for t in range(position_ptr[i + 1] - position_ptr[i]):
            counts = mu[t * n_labels : (t + 1) * n_labels]
            best = 0
            for k in range(n_labels):
                if counts[k] > counts[best]:
                    best = k
            labels[position_ptr[i] + t] = best
    return -1


@njit(fastmath=FAST)
def _position_marginals(
    a: Any, w: Any, position_ptr: Any, table: Any, begin: int, end: int, size: int, work: Any
) -> Any:
    """table[position, k] = p(y_position = k | x); returns as `_best_labels`."""
    q, mu, masked = np.empty(size), np.empty(size), np.empty(size)
    n_labels = a.spec[0]
    for i in range(begin, end):
        n = a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, w, q)
        if not np.isfinite(example_marginals(a, i, q[:n], mu[:n], masked, work)):
            return i
        for t in range(position_ptr[i + 1] - position_ptr[i]):
            for k in range(n_labels):
                table[position_ptr[i] + t, k] = mu[t * n_labels + k]
    return -1


@njit(fastmath=FAST)
def _log_probabilities(a: Any, w: Any, out: Any, begin: int, end: int, size: int, work: Any) -> Any:
    """out_i = gold_i.theta_i - logZ(theta_i) with theta_i = F_i w; returns as `_best_labels`."""
    q, masked = np.empty(size), np.empty(size)
    nothing = np.empty(0)
    for i in range(begin, end):
        n = a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, w, q)
        log_z = example_marginals(a, i, q[:n], nothing, masked, work)
        if not np.isfinite(log_z):
            return i
        total = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            r = a.gold_part[g]
            total += a.gold_count[g] * (masked[r] if a.mask.size > 0 else q[r])
        # Rounding may lift the probability of a near certainty above 1.
        out[i] = min(total - log_z, 0.0)
    return -1
