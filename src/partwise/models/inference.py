"""Prediction for many examples at once: scores, then one oracle call per example.

Each thread gets a run of examples. Every example is computed by a single thread, so the results do
not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..compiled.jit import FAST, njit
from ..compiled.threads import run
from ..errors import DataError
from ..problem.design import make_design, score, site_rows
from ..problem.evaluation import not_finite
from ..problem.layout import Layout
from ..problem.masks import make_masks, pointers
from ..problem.problem import Arrays, example_marginals, example_maximum, make_topologies
from ..problem.rows import Rows
from ..problem.storage import Storage
from ..structures.base import Structure, no_oracle

#: The number of part counts that are held at a time: 32 MB.
_STRETCH: Final = 1 << 22


@dataclass(frozen=True)
class Batch:
    """Examples to predict, as arrays for compiled code."""

    structure: Structure
    weights: Floats
    arrays: Arrays  # without oracles; see `with_oracle`
    work_size: int
    max_parts: int
    unknown: npt.NDArray[np.bool_]  # examples whose gold label is None
    first: int  # the number of the first example, for messages

    def with_oracle(self, name: str) -> Arrays:
        """Return the arrays with one oracle of the structure, which is compiled if necessary."""
        return self.arrays._replace(**{name: self.structure.oracle(name)})

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self.arrays.weight)

    def topology(self, i: int) -> Ints:
        """Return the shape of example i."""
        a = self.arrays
        return a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]

    def scores(self, i: int, q: Floats) -> Floats | None:
        """Return the masked scores of the parts of example i; None if some are nan or inf."""
        a = self.arrays
        n = int(a.part_ptr[i + 1] - a.part_ptr[i])
        score(a.design, i, self.weights, q)
        theta = q[:n]
        if a.mask.size:
            theta = theta + a.mask[a.mask_ptr[i] : a.mask_ptr[i] + n]
        return None if np.isnan(theta).any() or np.isposinf(theta).any() else theta


class Stored(NamedTuple):
    """The weights of a model in the form of compiled code, shared by all its predictions."""

    storage: Storage
    weights: Floats

    @classmethod
    def of(cls, layout: Layout, weights: Floats) -> Stored:
        """Convert the weights, which takes a pass over the whole layout: done once per model."""
        return cls(Storage.plain(layout), np.require(weights, requirements=["C", "W"]))


def make_batch(
    structure: Structure,
    stored: Stored,
    features: Sequence[Rows],
    shapes: Sequence[Any] | Ints,
    *,
    constraints: Any = None,
    own_constraints: Sequence[Any] | None = None,
    gold: Sequence[Ints | None] | None = None,
    first: int = 0,
) -> Batch:
    """Put examples together for prediction.

    Parameters
    ----------
    structure
        The structure of the model.
    stored
        The weights of the model.
    features : sequence of Rows
        The features of each kind of site (see :func:`partwise.problem.design.site_rows`).
    shapes : sequence
        The shape of each example, as `structure.topology` takes it.
    constraints : Constraints or None
        The constraints of all examples, as `structure.mask` takes them.
    own_constraints : sequence or None
        For each example, its own constraints or None.
    gold : sequence or None
        Labels to score, for :func:`log_probabilities`; None for an impossible label.
    first : int
        The number of the first example, for messages.
    """
    topologies = make_topologies(structure, shapes, first)
    site_ptr, sites, rows = site_rows(structure, topologies, features)
    mask, mask_ptr = make_masks(structure, topologies, constraints, own_constraints)
    gold_ptr, gold_part, gold_count = _encoded(structure, topologies, gold)
    distinct = {topo.tobytes(): topo for topo in topologies}
    sizes = {key: structure.n_parts(topo) for key, topo in distinct.items()}
    parts = np.array([sizes[topo.tobytes()] for topo in topologies], dtype=np.int64)
    empty = np.zeros(0, dtype=np.int64)
    arrays = Arrays(
        marginals=no_oracle.compiled,
        maximum=no_oracle.compiled,
        spec=structure.spec,
        topo=np.concatenate([*topologies, empty]),
        topo_ptr=pointers([len(topo) for topo in topologies]),
        part_ptr=pointers(parts),
        design=make_design(stored.storage, site_ptr, sites, rows),
        tau=1.0,
        cost=np.zeros(0),
        mask=mask,
        mask_ptr=mask_ptr,
        gold_ptr=gold_ptr,
        gold_part=gold_part,
        gold_count=gold_count,
        weight=np.ones(len(topologies)),
    )
    return Batch(
        structure=structure,
        weights=stored.weights,
        arrays=arrays,
        work_size=max((structure.work_size(topo) for topo in distinct.values()), default=0),
        max_parts=int(parts.max(initial=0)),
        unknown=np.array([y is None for y in gold or ()], dtype=bool),
        first=first,
    )


def _encoded(
    structure: Structure, topologies: Sequence[Ints], gold: Sequence[Ints | None] | None
) -> tuple[Ints, Ints, Floats]:
    """Return the parts of every label, none for None, after checking that the parts exist.

    Returns where the parts of each label begin and end, the parts, and their counts.
    """
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    if gold is None:
        return np.zeros(len(topologies) + 1, dtype=np.int64), *nothing
    if len(gold) != len(topologies):
        raise DataError(f"labels for {len(gold)} examples where there are {len(topologies)}")
    encoded = []
    for i, (label, topo) in enumerate(zip(gold, topologies, strict=True)):
        parts, counts = nothing if label is None else structure.encode(label, topo)
        if len(parts) and not (parts.min() >= 0 and parts.max() < structure.n_parts(topo)):
            raise DataError(
                f"the label of example {i} (counted from 0) is none of its shape: {label}; give "
                f"labels as a {structure.name} has them"
            )
        encoded.append((parts, counts))
    ends = pointers([len(parts) for parts, _ in encoded])
    all_parts, all_counts = zip(nothing, *encoded, strict=True)
    return ends, np.concatenate(all_parts), np.concatenate(all_counts)


def best_labels(batch: Batch, n_jobs: int | None = 1, partial: bool = False) -> list[Any]:
    """Return the best label of every example.

    Parameters
    ----------
    batch : Batch
        The examples.
    n_jobs : int or None
        The number of threads.
    partial : bool
        Whether to return None for an example without a label instead of raising a DataError.
    """
    labels: list[Any] = []
    for begin, end, mu, values in _counts(batch, True, n_jobs, partial):
        topologies = [batch.topology(i) for i in range(begin, end)]
        found = batch.structure.decode_all(mu, topologies)
        labels += [y if v > -np.inf else None for y, v in zip(found, values, strict=True)]
    return labels


def part_marginals(batch: Batch, n_jobs: int | None = 1, partial: bool = False) -> Iterator[Floats]:
    """Yield the expected count of every part, one array per example.

    Parameters are those of `best_labels`. An example without a label has counts of 0.
    """
    ptr = batch.arrays.part_ptr
    for begin, end, mu, _ in _counts(batch, False, n_jobs, partial):
        yield from np.split(mu, ptr[begin + 1 : end] - ptr[begin])


def _counts(
    batch: Batch, best: bool, n_jobs: int | None, partial: bool
) -> Iterator[tuple[int, int, Floats, Floats]]:
    """Run an oracle over all examples, a stretch of them at a time.

    Yields the first example of the stretch and the one after its last, the counts of the parts of
    all its examples, and the value of each example: its best score, or its log Z.
    """
    arrays = batch.with_oracle("maximum" if best else "marginals")
    ptr = arrays.part_ptr
    begin = 0
    while begin < batch.n_examples:
        end = int(np.searchsorted(ptr, ptr[begin] + _STRETCH, "right")) - 1
        end = min(max(end, begin + 1), batch.n_examples)
        mu, values = np.empty(int(ptr[end] - ptr[begin])), np.empty(end - begin)

        def task(
            first: int, last: int, begin: int = begin, mu: Floats = mu, values: Floats = values
        ) -> None:
            mine = mu[ptr[first + begin] - ptr[begin] :]
            work, size = np.empty(batch.work_size), batch.max_parts
            where = (first + begin, last + begin, size, work)
            _part_counts(arrays, batch.weights, best, mine, values[first:], *where)

        run(end - begin, n_jobs, task)
        _check_values(values, batch.first + begin, partial)
        yield begin, end, mu, values
        begin = end


def log_probabilities(batch: Batch, n_jobs: int | None = 1, partial: bool = False) -> Floats:
    """Return log p(gold_i | x_i) for every example; -inf if the constraints forbid gold_i.

    Parameters are those of `best_labels`.
    """
    gold, log_z = _log_sums(batch, n_jobs, partial)
    known = ~batch.unknown & (log_z > -np.inf)
    out = np.full(batch.n_examples, -np.inf)
    # Rounding may lift a probability that is nearly 1 above 1.
    out[known] = np.minimum(gold[known] - log_z[known], 0.0)
    return out


def log_partitions(batch: Batch, n_jobs: int | None = 1) -> Floats:
    """Return log Z for every example, -inf for one without a label."""
    return _log_sums(batch, n_jobs, True)[1]


def _log_sums(batch: Batch, n_jobs: int | None, partial: bool) -> tuple[Floats, Floats]:
    """Return the score of the gold label and log Z for every example."""
    gold, log_z = np.empty(batch.n_examples), np.empty(batch.n_examples)
    arrays = batch.with_oracle("marginals")

    def task(begin: int, end: int) -> None:
        work, size = np.empty(batch.work_size), batch.max_parts
        _sums(arrays, batch.weights, gold, log_z, begin, end, size, work)

    run(batch.n_examples, n_jobs, task)
    _check_values(log_z, batch.first, partial)
    return gold, log_z


def _check_values(values: Floats, begin: int, partial: bool) -> None:
    """Raise a DataError for the first example whose value is nan or inf, or that has no label."""
    if np.isfinite(values).all():
        return
    bad = np.isnan(values) | np.isposinf(values)
    if not partial:
        bad |= np.isneginf(values)
    if bad.any():
        raise not_finite(begin + int(bad.argmax()))


def k_best_labels(
    batch: Batch, k: int, n_jobs: int | None = 1, partial: bool = False
) -> list[tuple[Floats, list[Ints]]]:
    """Return the k best labels of every example, best first, and their scores.

    Other parameters are those of `best_labels`. An example without a label gets no labels.
    """
    results: list[tuple[Floats, list[Ints]]] = [(np.zeros(0), [])] * batch.n_examples

    def task(begin: int, end: int) -> int:
        q = np.empty(batch.max_parts)
        for i in range(begin, end):
            theta = batch.scores(i, q)
            if theta is None:
                return i
            results[i] = batch.structure.k_best(theta, batch.topology(i), k)
            if not results[i][1] and not partial:
                return i
        return -1

    _complain(batch, run(batch.n_examples, n_jobs, task))
    return results


def part_scores(batch: Batch) -> Iterator[tuple[Floats, Ints]]:
    """Yield the masked scores of the parts of every example, and its shape."""
    q = np.empty(batch.max_parts)
    for i in range(batch.n_examples):
        theta = batch.scores(i, q)
        if theta is None:
            raise not_finite(batch.first + i)
        yield theta.copy(), batch.topology(i)


def draw_labels(
    batch: Batch, size: int, rng: np.random.Generator, n_jobs: int | None = 1
) -> list[list[Ints]]:
    """Draw labels of every example with their probabilities."""
    # One generator per example, so that the number of threads does not change what is drawn.
    generators = rng.spawn(batch.n_examples)
    results: list[list[Ints]] = [[]] * batch.n_examples

    def task(begin: int, end: int) -> int:
        q = np.empty(batch.max_parts)
        for i in range(begin, end):
            theta, topo = batch.scores(i, q), batch.topology(i)
            if theta is None or not np.isfinite(batch.structure.log_partition(theta, topo)):
                return i
            results[i] = batch.structure.sample(theta, topo, size, generators[i])
        return -1

    _complain(batch, run(batch.n_examples, n_jobs, task))
    return results


def _complain(batch: Batch, bad: list[int]) -> None:
    for i in bad:
        if i >= 0:
            raise not_finite(batch.first + i)


@njit(fastmath=FAST)
def _part_counts(
    a: Any, w: Any, best: bool, out: Any, values: Any, begin: int, end: int, size: int, work: Any
) -> None:
    """Fill out with the counts of the best label or the expected counts of each example.

    Fills values with the best score or log Z of each example.
    """
    q, masked = np.empty(size), np.empty(size)
    at = a.part_ptr[begin]
    for i in range(begin, end):
        n = a.part_ptr[i + 1] - a.part_ptr[i]
        mu = out[a.part_ptr[i] - at : a.part_ptr[i + 1] - at]
        score(a.design, i, w, q)
        if best:
            values[i - begin] = example_maximum(a, i, q[:n], mu, masked, work)
        else:
            values[i - begin] = example_marginals(a, i, q[:n], mu, masked, work)


@njit(fastmath=FAST)
def _sums(
    a: Any, w: Any, gold: Any, log_z: Any, begin: int, end: int, size: int, work: Any
) -> None:
    """Compute gold_i = gold label . theta_i and log_z_i = logZ(theta_i), with theta_i = F_i w."""
    q, masked = np.empty(size), np.empty(size)
    nothing = np.empty(0)
    for i in range(begin, end):
        n = a.part_ptr[i + 1] - a.part_ptr[i]
        score(a.design, i, w, q)
        log_z[i] = example_marginals(a, i, q[:n], nothing, masked, work)
        total = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            r = a.gold_part[g]
            total += a.gold_count[g] * (masked[r] if a.mask.size > 0 else q[r])
        gold[i] = total
