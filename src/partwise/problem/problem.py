"""The training problem: structure, design and loss as the arrays that solvers run on.

    P(w) = l2/2 |w|^2 + sum_i c_i [ tau log sum_y exp((w.f_i(y) + cost_i(y))/tau) - w.f_i(y_i) ]
    D(u) = sum_i c_i [ tau H(u_i) + cost_i.mu_i ] - |v(u)|^2 / (2 l2)
    v(u) = sum_i c_i F_i^T (gold_i - mu_i),   w(u) = v(u) / l2

All arrays have one dtype and order each, so that every solver is compiled once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.jit import njit, typed_by_looks
from ..errors import DataError, MismatchError
from ..memory import BYTES_A_FEATURE, check_memory
from ..structures.base import ORACLE_WORDS, Structure, no_oracle
from .design import Design, make_design, site_rows
from .footprint import held_bytes
from .layout import Layout
from .losses import Loss
from .masks import make_masks, pointers
from .partial import PartialLabels, encode_partial
from .room import Room
from .rows import Rows
from .storage import Storage
from .weight_rule import WeightRule


@typed_by_looks
class Arrays(NamedTuple):
    """What compiled functions see. The parts of example i are part_ptr[i] : part_ptr[i+1]."""

    marginals: Any  # the structure's oracles; `no_oracle` in the place of one that is not there
    maximum: Any
    spec: Ints
    topo: Ints
    topo_ptr: Ints
    part_ptr: Ints
    design: Design
    tau: float
    cost: Floats  # one number per part; empty if there is no cost
    mask: Floats  # 0 or -inf per part; examples of one shape share it; empty without constraints
    mask_ptr: Ints
    gold_ptr: Ints  # the parts of the gold label and their counts, which may be expected ones
    gold_part: Ints
    gold_count: Floats
    weight: Floats  # c_i


@dataclass(frozen=True)
class Problem:
    """A training problem, ready for a solver."""

    structure: Structure
    storage: Storage
    loss: Loss
    arrays: Arrays
    work_size: int
    max_parts: int
    reach: Floats  # for each example, a bound on |F_i^T (gold_i - y)| over all labels y
    build_bytes: int = 0  # the memory while it was built, with the features that it is made of
    partial: PartialLabels | None = None  # the labels that are known in part, if there are any
    gold_entropy: Floats | None = None  # then, the entropy of the gold label of each example
    room: Room = field(default_factory=Room)  # where solvers keep one number per part

    @property
    def layout(self) -> Layout:
        """Which weights there are."""
        return self.storage.layout

    def with_oracle(self, name: str) -> Problem:
        """Return the problem with an oracle of its structure, which is compiled if need be."""
        if getattr(self.arrays, name) is not no_oracle.compiled:
            return self
        oracle = self.structure.oracle(name)
        return replace(self, arrays=self.arrays._replace(**{name: oracle}))

    @property
    def n_examples(self) -> int:
        """How many examples there are."""
        return len(self.arrays.weight)

    @property
    def n_parts(self) -> int:
        """How many parts all examples have together."""
        return int(self.arrays.part_ptr[-1])


def build_problem(
    structure: Structure,
    shapes: Sequence[Any] | Ints,
    features: Sequence[Rows],
    gold: Sequence[Ints],
    loss: Loss,
    *,
    weights: str | WeightRule = "all",
    sample_weight: Floats | None = None,
    constraints: Any = None,
    own_constraints: Sequence[Any] | None = None,
    allowed: Sequence[Any] | None = None,
) -> Problem:
    """Build a training problem.

    Parameters
    ----------
    structure : Structure
        What a label is made of.
    shapes : sequence
        What `structure.topology` takes, for each example: as a rule its number of positions.
    features : sequence of Rows
        For each kind of site, its features (see :func:`partwise.problem.design.site_rows`).
    gold : sequence of ndarray
        The label of each example, as `structure.encode` takes it.
    loss : Loss
        Temperature and cost.
    weights : {"all", "observed"} or WeightRule
        Whether a feature has a weight for every part of its site, or only for those it was seen
        with in the gold labels; or a rule for each kind of site.
    sample_weight : ndarray or None
        The weight c_i of each example.
    constraints : Constraints or None
        Hard constraints on all examples, as `structure.mask` takes them.
    own_constraints : sequence or None
        For each example, further constraints of its own or None.
    allowed : sequence or None
        For each example None if its label is known, or what its label may be, in the form of
        constraints; its entry in `gold` is then not looked at. See :mod:`partwise.problem.partial`.
    """
    n = len(shapes)
    if n == 0:
        raise DataError("there is no example to train on; check that the data are not empty")
    _check_loss(structure, loss)
    rule = weights if isinstance(weights, WeightRule) else WeightRule(weights)
    _check_size(structure, features, rule)
    topologies = make_topologies(structure, shapes)
    site_ptr, sites, rows = site_rows(structure, topologies, features)
    partial, gold_entropy = None, None
    if allowed is None:
        gold_ptr, gold_part, gold_count = structure.encode_all(gold, topologies)
    else:
        _check_partial(loss, allowed)
        (gold_ptr, gold_part, gold_count), partial, gold_entropy = encode_partial(
            structure, topologies, gold, allowed, constraints, own_constraints
        )
    part_ptr = pointers([structure.n_parts(topo) for topo in topologies])

    counts = [r.counts() * (1 if len(r) > 1 or n == 1 else n) for r in features]
    layout = Layout.full(structure.widths, counts)
    if rule.leaves_out:
        gold_sites = (site_ptr, sites.part, gold_ptr, gold_part, gold_count)
        layout, rows = rule.restrict(layout, structure.kinds, gold_sites, rows)

    storage = Storage.spread(layout)

    cost = np.zeros(0)
    if loss.has_cost:
        cost = structure.part_costs(gold, topologies, loss.cost_matrix)
    mask, mask_ptr = make_masks(structure, topologies, constraints, own_constraints)
    if mask.size:
        _check_gold(mask, mask_ptr, gold_ptr, gold_part)
    arrays = Arrays(
        marginals=_oracle(structure, "marginals"),
        # Hardly a solver asks for best labels where the loss is smooth: see `Problem.with_oracle`.
        maximum=_oracle(structure, "maximum") if loss.tau == 0.0 else no_oracle.compiled,
        spec=structure.spec,
        topo=np.concatenate([*topologies, np.zeros(0, dtype=np.int64)]),
        topo_ptr=pointers([len(topo) for topo in topologies]),
        part_ptr=part_ptr,
        design=make_design(storage, site_ptr, sites, rows),
        tau=loss.tau,
        cost=cost,
        mask=mask,
        mask_ptr=mask_ptr,
        gold_ptr=gold_ptr,
        gold_part=gold_part,
        gold_count=gold_count,
        weight=np.ones(n) if sample_weight is None else np.ascontiguousarray(sample_weight, float),
    )
    return Problem(
        structure=structure,
        storage=storage,
        loss=loss,
        arrays=arrays,
        work_size=max((structure.work_size(t) for t in _distinct(topologies)), default=0),
        max_parts=int(np.diff(part_ptr).max(initial=0)),
        reach=_reach(site_ptr, sites.uses, rows),
        build_bytes=held_bytes(storage, arrays, *features, rows, sites),
        partial=partial,
        gold_entropy=gold_entropy,
    )


def _check_loss(structure: Structure, loss: Loss) -> None:
    """Raise a MismatchError if the structure lacks the oracle that the loss is computed from."""
    oracle, others = ("marginals", "hinge") if loss.tau > 0.0 else ("maximum", "log")
    if not structure.has_oracle(oracle):
        raise MismatchError(
            f"the {loss.name} loss needs {ORACLE_WORDS[oracle]}; for {structure.name} labels use "
            f"the {others} loss"
        )


def _check_partial(loss: Loss, allowed: Sequence[Any]) -> None:
    """Raise a MismatchError if the loss is not defined for labels that are known in part."""
    if loss.tau == 1.0 and not loss.has_cost:
        return
    first = next((i for i, mine in enumerate(allowed) if mine is not None), None)
    if first is not None:
        raise MismatchError(
            f"the label of example {first} (counted from 0) is known in part only, and the "
            f"{loss.name} loss has no cost for a set of labels; use the log loss"
        )


def _oracle(structure: Structure, name: str) -> Any:
    return structure.oracle(name) if structure.has_oracle(name) else no_oracle.compiled


def _check_size(structure: Structure, features: Sequence[Rows], rule: WeightRule) -> None:
    """Raise a DataError if there is not enough memory.

    What is needed is the layout, and then v and w, or what is noted per weight before some
    are left out.
    """
    n_features = sum(rows.n_features for rows in features)
    # The number of kinds is checked where the sites are made.
    n_weights = sum(
        rows.n_features * width for rows, width in zip(features, structure.widths, strict=False)
    )
    needed = max(BYTES_A_FEATURE * n_features, rule.bytes_per_weight * n_weights)
    check_memory(needed, f"training with {n_features:,} features and {n_weights:,} weights")


def make_topologies(
    structure: Structure, shapes: Sequence[Any] | Ints, first: int = 0
) -> list[Ints]:
    """Describe the shape of every example; equal shapes share one description.

    Parameters
    ----------
    structure : Structure
        The structure.
    shapes : sequence
        The shape of each example.
    first : int
        The number of the first example, to name one that the structure refuses.
    """
    known: dict[Any, Ints] = {}
    topologies = []
    plain = shapes.tolist() if isinstance(shapes, np.ndarray) else shapes
    for i, shape in enumerate(plain, first):
        if shape not in known:
            try:
                topo = structure.topology(shape)
            except DataError as why:
                raise DataError(f"example {i} (counted from 0): {why}") from why
            known[shape] = np.ascontiguousarray(topo, dtype=np.int64)
        topologies.append(known[shape])
    return topologies


def _distinct(topologies: Sequence[Ints]) -> list[Ints]:
    return list({t.tobytes(): t for t in topologies}.values())


def _check_gold(mask: Floats, mask_ptr: Ints, gold_ptr: Ints, gold_part: Ints) -> None:
    owner = np.repeat(np.arange(len(mask_ptr)), np.diff(gold_ptr))
    broken = owner[np.isneginf(mask[mask_ptr[owner] + gold_part])]
    if len(broken):
        raise DataError(
            f"the gold labels of example {broken[0]} (counted from 0) break the constraints; "
            "correct the labels or relax the constraints"
        )


def _reach(site_ptr: Ints, uses: Ints, rows: Rows) -> Floats:
    """Bound |F_i^T (gold_i - y)| by the sum over sites of sqrt(2) uses |features of the site|.

    A site's count vectors of gold_i and y have non-negative entries that add up to at most
    ``uses``, so they are at most sqrt(2) uses apart.
    """
    if rows.values is None:
        norm = np.sqrt(np.diff(rows.indptr))
    else:
        norm = np.empty(len(rows))
        _row_norms(rows.indptr, rows.values, norm)
    # Summed run by run, so that large numbers in one run do not cost another its digits.
    owner = np.repeat(np.arange(len(site_ptr) - 1), np.diff(site_ptr))
    sums: Any = np.bincount(owner, math.sqrt(2.0) * uses * norm, minlength=len(site_ptr) - 1)
    return np.asarray(sums, dtype=np.float64)


@njit
def _row_norms(indptr: Any, values: Any, out: Any) -> None:
    """Set out_i to the Euclidean norm of row i."""
    for i in range(out.size):
        square = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            square += values[e] * values[e]
        out[i] = math.sqrt(square)


@njit
def _allowed_scores(a: Any, i: int, theta: Any, masked: Any) -> Any:
    """Return theta plus the mask of example i, in the scratch masked; just theta without a mask."""
    if a.mask.size == 0:
        return theta
    out = masked[: theta.size]
    at = a.mask_ptr[i]
    for r in range(theta.size):
        out[r] = theta[r] + a.mask[at + r]
    return out


@njit
def example_marginals(a: Any, i: int, theta: Any, mu: Any, masked: Any, work: Any) -> Any:
    """Call the marginal oracle for example i under its mask."""
    topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
    return a.marginals(a.spec, topo, _allowed_scores(a, i, theta, masked), mu, work)


@njit
def example_maximum(a: Any, i: int, theta: Any, mu: Any, masked: Any, work: Any) -> Any:
    """Call the maximum oracle for example i under its mask."""
    topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
    return a.maximum(a.spec, topo, _allowed_scores(a, i, theta, masked), mu, work)
