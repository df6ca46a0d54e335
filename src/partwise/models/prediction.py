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
from ..problem.design import all_sites, by_shape, make_design, rows_of_sites, score
from ..problem.evaluation import not_finite
from ..problem.example_arrays import make_masks, make_topologies, pointers
from ..problem.problem import Arrays, example_marginals, example_maximum
from ..problem.rows import Rows
from ..problem.storage import Layout, Storage
from ..structures.base import Sites, Structure, no_oracle

#: The number of part counts that are held at a time: 32 MB.
_STRETCH: Final = 1 << 22
#: A single example with at most so many sites is small, and its shape is kept.
_SMALL: Final = 1 << 11
#: How many shapes are kept.
_MOST_KEPT: Final = 128
_NO_INTS: Final[Ints] = np.zeros(0, dtype=np.int64)
_NO_FLOATS: Final[Floats] = np.zeros(0)


class Shapes(NamedTuple):
    """What follows from the shapes of some examples alone."""

    topologies: Sequence[Ints]
    topo: Ints
    topo_ptr: Ints
    part_ptr: Ints
    site_ptr: Ints
    sites: Sites
    work_size: int
    max_parts: int

    @classmethod
    def of(cls, structure: Structure, shapes: Sequence[Any] | Ints, first: int) -> Shapes:
        """Describe examples, the first of which has the number `first` in messages."""
        topologies = make_topologies(structure, shapes, first)
        site_ptr, sites = all_sites(structure, topologies)
        distinct, which = by_shape(topologies)
        parts = np.array([structure.n_parts(topo) for topo in distinct], dtype=np.int64)
        # All shapes of a classifier are empty, and joining them would take long.
        filled = topologies if any(map(len, distinct)) else ()
        return cls(
            topologies,
            np.concatenate([*filled, _NO_INTS]),
            pointers(np.array([len(topo) for topo in distinct], dtype=np.int64)[which]),
            pointers(parts[which]),
            site_ptr,
            sites,
            max((structure.work_size(topo) for topo in distinct), default=0),
            int(parts.max(initial=0)),
        )


class Stored:
    """What all predictions of a model share: its weights in the form of compiled code, and shapes.

    It takes a pass over the whole layout, and is made once per model. Threads may share it.

    Parameters
    ----------
    structure
        The structure of the model.
    layout, weights
        Its weights.
    """

    def __init__(self, structure: Structure, layout: Layout, weights: Floats) -> None:
        self.structure, self.spec = structure, structure.spec
        self.storage = Storage.plain(layout)
        self.weights = np.require(weights, requirements=["C", "W"])
        self.no_oracle = no_oracle.compiled
        self._oracles: dict[str, Any] = {}
        self._single: dict[Any, Shapes] = {}

    def oracle(self, name: str) -> Any:
        """Return an oracle of the structure, which is compiled if necessary."""
        if name not in self._oracles:
            self._oracles[name] = self.structure.oracle(name)
        return self._oracles[name]

    def shapes(self, shapes: Sequence[Any] | Ints, first: int) -> Shapes:
        """Describe examples; what is known of a single small one is kept for others of its shape.

        Parameters are those of `Shapes.of`.
        """
        if len(shapes) != 1:
            return Shapes.of(self.structure, shapes, first)
        shape = shapes[0]
        found = self._single.get(shape)
        if found is None:
            found = Shapes.of(self.structure, shapes, first)
            if len(found.sites.part) <= _SMALL:
                if len(self._single) >= _MOST_KEPT:
                    self._single.clear()
                self._single[shape] = found
        return found


@dataclass(frozen=True)
class OracleBatch:
    """Examples to predict, as arrays for compiled code."""

    stored: Stored
    arrays: Arrays  # without oracles
    shapes: Shapes
    weights: Floats
    unknown: npt.NDArray[np.bool_]  # examples whose gold label is None
    first: int  # the number of the first example, for messages

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self.shapes.topologies)

    def scores(self, i: int, q: Floats) -> Floats | None:
        """Return the masked scores of the parts of example i; None if some are nan or inf."""
        a = self.arrays
        n = int(a.part_ptr[i + 1] - a.part_ptr[i])
        score(a.design, i, self.weights, q)
        theta = q[:n]
        if a.mask.size:
            theta = theta + a.mask[a.mask_ptr[i] : a.mask_ptr[i] + n]
        return None if np.isnan(theta).any() or np.isposinf(theta).any() else theta


def make_batch(
    stored: Stored,
    features: Sequence[Rows],
    shapes: Sequence[Any] | Ints,
    *,
    constraints: Any = None,
    own_constraints: Sequence[Any] | None = None,
    gold: Sequence[Ints | None] | None = None,
    first: int = 0,
) -> OracleBatch:
    """Put examples together for prediction.

    Parameters
    ----------
    stored
        The weights and the structure of the model.
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
    structure, held = stored.structure, stored.shapes(shapes, first)
    rows = rows_of_sites(structure, held.sites, features)
    n = len(held.topologies)
    mask, mask_ptr = _NO_FLOATS, np.zeros(n, dtype=np.int64)
    if constraints is not None or own_constraints is not None:
        mask, mask_ptr = make_masks(structure, held.topologies, constraints, own_constraints)
    gold_ptr, gold_part, gold_count = np.zeros(n + 1, dtype=np.int64), _NO_INTS, _NO_FLOATS
    if gold is not None:
        gold_ptr, gold_part, gold_count = _encoded(structure, held.topologies, gold)
    arrays = Arrays(
        marginals=stored.no_oracle,
        maximum=stored.no_oracle,
        spec=stored.spec,
        topo=held.topo,
        topo_ptr=held.topo_ptr,
        part_ptr=held.part_ptr,
        design=make_design(stored.storage, held.site_ptr, held.sites, rows),
        tau=1.0,
        cost=_NO_FLOATS,
        mask=mask,
        mask_ptr=mask_ptr,
        gold_ptr=gold_ptr,
        gold_part=gold_part,
        gold_count=gold_count,
        weight=np.ones(n),
    )
    unknown = np.array([y is None for y in gold or ()], dtype=bool)
    return OracleBatch(stored, arrays, held, stored.weights, unknown, first)


def _encoded(
    structure: Structure, topologies: Sequence[Ints], gold: Sequence[Ints | None]
) -> tuple[Ints, Ints, Floats]:
    """Return the parts of every label, none for None, after checking that the parts exist.

    Returns where the parts of each label begin and end, the parts, and their counts.
    """
    nothing = (_NO_INTS, _NO_FLOATS)
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


def best_labels(batch: OracleBatch, n_jobs: int | None = 1, partial: bool = False) -> list[Any]:
    """Return the best label of every example.

    Parameters
    ----------
    batch : OracleBatch
        The examples.
    n_jobs : int or None
        The number of threads.
    partial : bool
        Whether to return None for an example without a label instead of raising a DataError.
    """
    labels: list[Any] = []
    for begin, end, mu, values in _counts(batch, True, n_jobs, partial):
        structure, topologies = batch.stored.structure, batch.shapes.topologies[begin:end]
        if len(topologies) == 1:
            found = [structure.decode(mu, topologies[0])]
        else:
            found = structure.decode_all(mu, topologies)
        labels += [y if v > -np.inf else None for y, v in zip(found, values, strict=True)]
    return labels


def part_marginals(
    batch: OracleBatch, n_jobs: int | None = 1, partial: bool = False
) -> Iterator[Floats]:
    """Yield the expected count of every part, one array per example.

    Parameters are those of `best_labels`. An example without a label has counts of 0.
    """
    ptr = batch.arrays.part_ptr
    for begin, end, mu, _ in _counts(batch, False, n_jobs, partial):
        yield from np.split(mu, ptr[begin + 1 : end] - ptr[begin])


def _counts(
    batch: OracleBatch, best: bool, n_jobs: int | None, partial: bool
) -> Iterator[tuple[int, int, Floats, Floats]]:
    """Run an oracle over all examples, a stretch of them at a time.

    Yields the first example of the stretch and the one after its last, the counts of the parts of
    all its examples, and the value of each example: its best score, or its log Z.
    """
    name = "maximum" if best else "marginals"
    arrays = batch.arrays._replace(**{name: batch.stored.oracle(name)})
    ptr = arrays.part_ptr
    begin, n = 0, len(ptr) - 1
    while begin < n:
        end = n
        if ptr[end] - ptr[begin] > _STRETCH:
            end = max(int(np.searchsorted(ptr, ptr[begin] + _STRETCH, "right")) - 1, begin + 1)
        mu, values = np.empty(int(ptr[end] - ptr[begin])), np.empty(end - begin)

        def task(
            first: int, last: int, begin: int = begin, mu: Floats = mu, values: Floats = values
        ) -> None:
            mine = mu[ptr[first + begin] - ptr[begin] :]
            work, size = np.empty(batch.shapes.work_size), batch.shapes.max_parts
            where = (first + begin, last + begin, size, work)
            _part_counts(arrays, batch.weights, best, mine, values[first:], *where)

        run(0, end - begin, n_jobs, task)
        if not np.isfinite(values).all():
            _check_values(values, batch.first + begin, partial)
        yield begin, end, mu, values
        begin = end


def log_probabilities(batch: OracleBatch, n_jobs: int | None = 1, partial: bool = False) -> Floats:
    """Return log p(gold_i | x_i) for every example; -inf if the constraints forbid gold_i.

    Parameters are those of `best_labels`.
    """
    gold, log_z = _log_sums(batch, n_jobs, partial)
    known = ~batch.unknown & (log_z > -np.inf)
    out = np.full(batch.n_examples, -np.inf)
    # Rounding may lift a probability that is nearly 1 above 1.
    out[known] = np.minimum(gold[known] - log_z[known], 0.0)
    return out


def log_partitions(batch: OracleBatch, n_jobs: int | None = 1) -> Floats:
    """Return log Z for every example, -inf for one without a label."""
    return _log_sums(batch, n_jobs, True)[1]


def _log_sums(batch: OracleBatch, n_jobs: int | None, partial: bool) -> tuple[Floats, Floats]:
    """Return the score of the gold label and log Z for every example."""
    gold, log_z = np.empty(batch.n_examples), np.empty(batch.n_examples)
    arrays = batch.arrays._replace(marginals=batch.stored.oracle("marginals"))

    def task(begin: int, end: int) -> None:
        work, size = np.empty(batch.shapes.work_size), batch.shapes.max_parts
        _sums(arrays, batch.weights, gold, log_z, begin, end, size, work)

    run(0, batch.n_examples, n_jobs, task)
    if not np.isfinite(log_z).all():
        _check_values(log_z, batch.first, partial)
    return gold, log_z


def _check_values(values: Floats, begin: int, partial: bool) -> None:
    """Raise a DataError for the first example whose value is nan or inf, or that has no label."""
    bad = np.isnan(values) | np.isposinf(values)
    if not partial:
        bad |= np.isneginf(values)
    if bad.any():
        raise not_finite(begin + int(bad.argmax()))


def k_best_labels(
    batch: OracleBatch, k: int, n_jobs: int | None = 1, partial: bool = False
) -> list[tuple[Floats, list[Ints]]]:
    """Return the k best labels of every example, best first, and their scores.

    Other parameters are those of `best_labels`. An example without a label gets no labels.
    """
    results: list[tuple[Floats, list[Ints]]] = [(np.zeros(0), [])] * batch.n_examples

    def task(begin: int, end: int) -> int:
        q = np.empty(batch.shapes.max_parts)
        for i in range(begin, end):
            theta = batch.scores(i, q)
            if theta is None:
                return i
            results[i] = batch.stored.structure.k_best(theta, batch.shapes.topologies[i], k)
            if not results[i][1] and not partial:
                return i
        return -1

    _complain(batch, run(0, batch.n_examples, n_jobs, task))
    return results


def part_scores(batch: OracleBatch) -> Iterator[tuple[Floats, Ints]]:
    """Yield the masked scores of the parts of every example, and its shape."""
    q = np.empty(batch.shapes.max_parts)
    for i in range(batch.n_examples):
        theta = batch.scores(i, q)
        if theta is None:
            raise not_finite(batch.first + i)
        yield theta.copy(), batch.shapes.topologies[i]


def draw_labels(
    batch: OracleBatch, size: int, rng: np.random.Generator, n_jobs: int | None = 1
) -> list[list[Ints]]:
    """Draw labels of every example with their probabilities."""
    # One generator per example, so that the number of threads does not change what is drawn.
    generators = rng.spawn(batch.n_examples)
    results: list[list[Ints]] = [[]] * batch.n_examples

    def task(begin: int, end: int) -> int:
        q = np.empty(batch.shapes.max_parts)
        for i in range(begin, end):
            theta, topo = batch.scores(i, q), batch.shapes.topologies[i]
            if theta is None or not np.isfinite(batch.stored.structure.log_partition(theta, topo)):
                return i
            results[i] = batch.stored.structure.sample(theta, topo, size, generators[i])
        return -1

    _complain(batch, run(0, batch.n_examples, n_jobs, task))
    return results


def _complain(batch: OracleBatch, bad: list[int]) -> None:
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
