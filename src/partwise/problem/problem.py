"""The training problem: structure, design and loss as the arrays that solvers run on.

    P(w) = l2/2 |w|^2 + sum_i c_i [ tau log sum_y exp((w.f_i(y) + cost_i(y))/tau) - w.f_i(y_i) ]
    D(u) = sum_i c_i [ tau H(u_i) + cost_i.mu_i ] - |v(u)|^2 / (2 l2)
    v(u) = sum_i c_i F_i^T (gold_i - mu_i),   w(u) = v(u) / l2

All arrays have one dtype and order each, so that every solver is compiled once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.jit import njit, typed_by_looks
from ..errors import DataError, MismatchError
from ..memory import BYTES_A_FEATURE, check_memory
from ..structures.base import ORACLE_WORDS, Structure, no_oracle
from ..structures.steps import steps_entropy
from .design import Design, site_rows
from .example_arrays import Encoded, ExampleArrays, lay_out, make_topologies, most_work
from .footprint import held_bytes
from .losses import Loss
from .partial_labels import PartialLabels, encode_partial
from .reach import diameters, reaches
from .room import Room
from .rows import Rows
from .storage import Layout, Storage
from .weight_rule import WeightRule, without_bare

__all__ = [
    "Arrays",
    "Problem",
    "assemble",
    "build_problem",
    "check_loss",
    "check_size",
    "example_marginals",
    "example_maximum",
]


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
    """A training problem, ready for a solver.

    Attributes
    ----------
    structure : Structure
        What a label is made of.
    storage : Storage
        Where the weights are stored while they are trained; ``layout`` says which there are.
    loss : Loss
        Temperature and cost.
    arrays : Arrays
        Features, gold labels, costs, masks and weights of the examples, for compiled code.
    work_size, max_parts : int
        The scratch that oracles need, and the most parts of an example.
    build_bytes : int
        The memory while it was built, with the features that it is made of.
    partial : PartialLabels or None
        The labels that are known in part, if there are any.
    gold_entropy : ndarray or None
        Then, the entropy of the gold label of each example.
    room : Room
        Where solvers keep one number per part.
    folded : Problem or None
        The problem without steps, if there are steps behind its parts: see ``problem/unfold.py``.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem import Rows, build_problem, make_loss
    >>> from partwise.structures.multiclass import Multiclass
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, make_loss("log", 2))
    >>> problem.n_examples, problem.layout.n_weights
    (2, 4)
    """

    structure: Structure
    storage: Storage
    loss: Loss
    arrays: Arrays
    work_size: int
    max_parts: int
    build_bytes: int = 0
    partial: PartialLabels | None = None
    gold_entropy: Floats | None = None
    room: Room = field(default_factory=Room)
    folded: Problem | None = None

    @property
    def has_entropy(self) -> bool:
        """Whether the marginals of the parts determine the entropy."""
        return self.folded is not None or self.structure.has_entropy

    @property
    def marginal_entropy(self) -> Any:
        """The compiled oracle of the entropy as a function of the marginals."""
        return self.structure.marginal_entropy if self.folded is None else steps_entropy.compiled

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

    def scratch(self, rows: int) -> tuple[Any, ...]:
        """Return `rows` buffers as long as the parts of one example, and one for the oracles."""
        return (*(np.empty(self.max_parts) for _ in range(rows)), np.empty(self.work_size))

    @cached_property
    def reach(self) -> Floats:
        """For each example, a bound on ``|F_i^T (gold_i - y)|`` over all labels y."""
        return reaches(self) if self.folded is None else self.folded.reach

    @cached_property
    def diameter(self) -> Floats:
        """For each example, a bound on ``|F_i^T (y - z)|`` over all pairs of labels."""
        return diameters(self) if self.folded is None else self.folded.diameter

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
        For each kind of site, its features (see ``site_rows`` in ``problem/design.py``).
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
        constraints; its entry in `gold` is then not looked at. See ``problem/partial_labels.py``.

    Returns
    -------
    Problem
        What solvers and `partwise.training.train` take.

    Raises
    ------
    DataError
        If there are no examples, or the parts do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.problem import Rows, build_problem, make_loss
    >>> from partwise.structures.multiclass import Multiclass
    >>> rows = Rows.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> gold = [np.array([0]), np.array([1])]
    >>> problem = build_problem(Multiclass(2), [1, 1], [rows], gold, make_loss("log", 2))
    >>> problem.structure.name, problem.n_parts
    ('multiclass', 4)
    """
    n = len(shapes)
    if n == 0:
        raise DataError("there is no example to train on; check that the data are not empty")
    check_loss(structure, loss)
    rule = WeightRule.of(weights)
    check_size(structure, [rows.n_features for rows in features], rule)
    topologies = make_topologies(structure, shapes)
    sites = site_rows(structure, topologies, features)
    partial, gold_entropy = None, None
    if allowed is None:
        gold_parts = structure.encode_all(gold, topologies)
    else:
        _check_partial(loss, allowed)
        gold_parts, partial, gold_entropy = encode_partial(
            structure, topologies, gold, allowed, constraints, own_constraints
        )
    encoded = Encoded(topologies, *sites, *gold_parts)
    del sites  # which would keep the rows
    counts = [r.counts() * (1 if len(r) > 1 or n == 1 else n) for r in features]
    layout, bare = rule.layout(
        structure, counts, lambda observed: observed.add(encoded.gold_sites, encoded.rows)
    )
    if bare is not None:
        encoded = encoded.with_rows(without_bare(encoded.rows, bare))
    storage = Storage.spread(layout)
    found = lay_out(structure, encoded, storage, loss, gold, constraints, own_constraints)
    weight = np.ones(n) if sample_weight is None else np.ascontiguousarray(sample_weight, float)
    problem = assemble(structure, storage, loss, found, weight, most_work(structure, topologies))
    held = held_bytes(storage, problem.arrays, *features, encoded.rows, encoded.sites)
    # Features are copied once when they get a constant or their final numbers.
    held = max(held, 2 * held_bytes(*features))
    return replace(problem, build_bytes=held, partial=partial, gold_entropy=gold_entropy)


def assemble(
    structure: Structure,
    storage: Storage,
    loss: Loss,
    found: ExampleArrays,
    weight: Floats,
    work_size: int,
) -> Problem:
    """Make a problem of the arrays of all its examples.

    Parameters
    ----------
    structure, storage, loss
        What a label is made of, the places of the weights, temperature and cost.
    found : ExampleArrays
        The arrays of all examples.
    weight : ndarray
        The weight c_i of each example.
    work_size : int
        How many numbers the oracles need as scratch.
    """
    marginals = structure.has_oracle("marginals")
    arrays = Arrays(
        marginals=structure.oracle("marginals") if marginals else no_oracle.compiled,
        # Hardly a solver asks for best labels where the loss is smooth: see `Problem.with_oracle`.
        maximum=structure.oracle("maximum") if loss.tau == 0.0 else no_oracle.compiled,
        spec=structure.spec,
        tau=loss.tau,
        weight=weight,
        **found._asdict(),
    )
    return Problem(
        structure=structure,
        storage=storage,
        loss=loss,
        arrays=arrays,
        work_size=work_size,
        max_parts=int(np.diff(found.part_ptr).max(initial=0)),
    )


def check_loss(structure: Structure, loss: Loss) -> None:
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


def check_size(structure: Structure, n_features: Sequence[int], rule: WeightRule) -> None:
    """Raise a DataError if there is not enough memory for the weights of so many features.

    What is needed is the layout, and then v and w, or what is noted per weight before some
    are left out.
    """
    # The number of kinds is checked where the sites are made.
    n_weights = sum(n * width for n, width in zip(n_features, structure.widths, strict=False))
    total = sum(n_features)
    bytes_a_weight = 16
    if rule.leaves_out:
        bytes_a_weight = 1 if rule.min_frequency is None else 9
    needed = max(BYTES_A_FEATURE * total, bytes_a_weight * n_weights)
    check_memory(needed, f"training with {total:,} features and {n_weights:,} weights")


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
