"""SAG and SAGA as solvers: where they start, what an epoch tells, and their certificate.

The kernels are in ``average_gradient.py``.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.vectors import absolute_sum, inner, shrunk, shrunk_square
from ...errors import DataError
from ...problem.evaluation import Evaluator, Slope, not_finite
from ...problem.footprint import Footprint
from ...problem.problem import Problem
from ..base import Epoch, Evaluation
from ..options import OneOf, Share
from ..primal import PrimalSolver, certified
from .average_gradient import (
    BETA,
    CHOSEN,
    CROSS,
    LARGEST,
    LINEAR,
    N_TOTALS,
    NORM,
    SAMPLINGS,
    SEEN,
    SLIDE,
    SQUARE,
    STALE,
    STEP,
    VISITS,
    Memory,
    Rule,
    sag_epoch,
    shrink_all,
    step_size,
)
from .lazy import settle
from .sum_tree import make_tree

#: How examples are drawn.
Sampling: TypeAlias = Annotated[str, OneOf(SAMPLINGS)]


class _AverageGradient(PrimalSolver):
    """What SAG and SAGA share.

    Parameters
    ----------
    problem, l2, evaluator, l1, start, initial_weights
        As in :class:`PrimalSolver`. From a start the gradients of all examples are known.
    rng : numpy.random.Generator
        Draws the examples.
    saga : bool
        Whether the direction is SAGA's.
    sampling : {"uniform", "nus", "nus-2013"}
        How examples are drawn.
    safe : bool
        Use the fixed step of the convergence proofs, with bounds on the curvature.
    share : float
        Which part of the step of SAG is taken.
    """

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        """Say what z, d and v take, and copies of them; the marginals, and theta at the end."""
        return Footprint(vectors=8 if l1 else 7, parts=2, examples=14)

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        l1: float,
        start: Floats | None,
        initial_weights: Floats | None,
        saga: bool,
        sampling: Sampling,
        safe: bool,
        share: Share = 1.0,
    ) -> None:
        if safe and sampling == "nus-2013":
            raise DataError("no safe step is known for sampling='nus-2013'; use 'uniform' or 'nus'")
        # Steps with l1 are lazy only if m stays: they begin with the gradients at w = 0.
        if l1 > 0.0 and start is None and initial_weights is None:
            initial_weights = problem.storage.zeros()
        if initial_weights is not None:
            start = evaluator.scores(initial_weights)
        mu, loss, linear = _distributions(problem, evaluator, start)
        v = problem.storage.zeros() if start is None else evaluator.dual_sum(mu)
        if initial_weights is None:
            initial_weights = shrunk(v, l1) / l2
        super().__init__(problem, l2, evaluator, l1=l1, initial_weights=initial_weights)
        self.rng = rng
        self.unpaid = 0.0 if start is None else 1.0  # the pass that found the first gradients
        examples = np.flatnonzero(problem.arrays.weight)
        curvature = np.zeros(problem.n_examples)
        if safe:
            curvature = problem.arrays.weight * problem.reach**2 / problem.arrays.tau
        elif start is not None and sampling == "nus-2013":
            curvature[examples] = 1.0
        self.rule = Rule(
            sampling=SAMPLINGS.index(sampling),
            saga=saga,
            share=share,
            skipping=sampling == "nus",
            fixed=self._fixed(curvature[examples], sampling, saga) if safe else 0.0,
            l2=l2,
            l1=l1,
        )
        self.memory = self._memory(mu, loss, linear, curvature, examples)
        self.memory.z[:], self.memory.d[:] = self.weights, -v
        totals = self.memory.totals
        totals[BETA] = 1.0
        totals[LARGEST] = 1.0 if sampling == "uniform" else 0.0
        totals[SEEN] = 0.0 if start is None else len(examples)
        totals[CHOSEN] = np.count_nonzero(curvature)
        totals[STEP] = self.rule.fixed or np.inf
        size = problem.max_parts
        self.buffers = (*(np.empty(size) for _ in range(6)), np.empty(problem.work_size))
        self._measure()

    def _memory(
        self, mu: Floats, loss: Floats, linear: Floats, curvature: Floats, examples: Ints
    ) -> Memory:
        """Make room for what is kept, with w = d = 0; all of it from the storage is aligned."""
        problem, storage, n = self.problem, self.problem.storage, self.problem.n_examples
        place = np.zeros(n, dtype=np.int64)
        place[examples] = np.arange(len(examples))
        return Memory(
            mu=mu,
            loss=loss,
            linear=linear,
            curvature=curvature,
            streak=np.zeros(n, dtype=np.int64),
            skip=np.zeros(n, dtype=np.int64),
            order=examples,
            place=place,
            # 1e-8 as in the paper; in proportion where all gradients are small.
            least=1e-8 * np.minimum(1.0, (problem.arrays.weight * problem.reach) ** 2),
            tree=make_tree(curvature),
            z=storage.zeros(),
            d=storage.zeros(),
            room=storage.zeros(),
            stamp=np.zeros(storage.n_places if self.l1 else 0, dtype=np.int64),
            edges=np.unique(np.append(storage.first, storage.n_places)),
            totals=np.zeros(N_TOTALS),
        )

    def _fixed(self, bound: Floats, sampling: str, saga: bool) -> float:
        """SAGA: n min(p) / (4 L + n mu), Proposition 1 (a); SAG: 1 / (16 L)."""
        n = len(bound)
        mu = self.l2 / n
        largest = bound.max() + mu
        if not saga:
            return float(1.0 / (16.0 * largest))
        p = np.full(n, 1.0 / n)
        if sampling == "nus":
            p = 0.5 * p + 0.5 * bound / bound.sum()
        return float(n * p.min() / (4.0 * largest + n * mu))

    def _settle(self) -> None:
        """Make z the weights."""
        totals = self.memory.totals
        if self.l1 > 0.0:
            shrink_all(self.memory, self.rule, totals[STEP])
        else:
            settle(self.memory.z, self.memory.d, totals[BETA], totals[SLIDE])
            totals[BETA], totals[SLIDE] = 1.0, 0.0

    def _measure(self) -> None:
        """Compute from scratch what is kept up to date."""
        memory, totals = self.memory, self.memory.totals
        totals[NORM] = inner(memory.d, memory.d)
        totals[CROSS] = inner(memory.z, memory.d)
        totals[SQUARE] = inner(memory.z, memory.z)
        totals[LINEAR] = inner(self.problem.arrays.weight, memory.linear)

    def _dual(self) -> float:
        """D at the marginals that are kept."""
        totals = self.memory.totals
        norm = shrunk_square(self.memory.d, self.l1) if self.l1 > 0.0 else totals[NORM]
        return float(totals[LINEAR] - norm / (2.0 * self.l2))

    def epoch(self) -> Epoch:
        """Visit as many examples as there are."""
        totals = self.memory.totals
        coins = self.rng.random((len(self.memory.order), 3))
        bad = sag_epoch(self.problem.arrays, self.memory, self.rule, coins, self.buffers)
        if bad >= 0:
            raise not_finite(int(bad))
        passes = float(totals[VISITS]) / self.problem.n_examples + self.unpaid
        totals[VISITS] = self.unpaid = 0.0
        return Epoch(passes, self._dual(), self._gap_estimate(), self.l2)

    def _gap_estimate(self) -> float:
        """P(w) - D(u) = sum_i c_i tau KL(u_i, p_i) + R(w) + R*(v) - w.v, the first part sampled."""
        l2, totals = self.l2, self.memory.totals
        if self.l1 == 0.0:
            apart = totals[NORM] + 2.0 * l2 * totals[CROSS] + l2 * l2 * totals[SQUARE]
            return float(totals[STALE] + max(apart, 0.0) / (2.0 * l2))
        shrink_all(self.memory, self.rule, step_size(self.memory, self.rule))
        w, d = self.memory.z, self.memory.d
        apart = 0.5 * l2 * inner(w, w) + self.l1 * absolute_sum(w) + inner(w, d)
        apart += shrunk_square(d, self.l1) / (2.0 * l2)
        return float(totals[STALE] + apart)

    def evaluate(self) -> Evaluation:
        """Compute P at the weights and D at the marginals that are kept, or between them and gold.

        They come from different visits, and yet are a better dual point than p(.|x_i; w): d is an
        average over them that the weights follow.
        """
        weights = self.current_weights()
        memory = self.memory
        v = self.evaluator.dual_sum(memory.mu)
        memory.d[:] = -v
        self._measure()
        kept = Slope(weights, memory.loss, memory.linear, v)
        dual = certified(self.problem, kept, self.l2, self.l1).dual
        return Evaluation(weights, self.evaluator.primal(weights, self.l2, self.l1), dual)

    def current_weights(self) -> Floats:
        """Give w."""
        self._settle()
        weights: Floats = self.memory.z.copy()
        return weights


def _distributions(
    problem: Problem, evaluator: Evaluator, theta: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Give mu, -tau log u(gold) and tau H + cost.mu of u ~ exp(theta), or of the gold labels."""
    arrays, n = problem.arrays, problem.n_examples
    mu, loss, linear = np.zeros(problem.n_parts), np.zeros(n), np.zeros(n)
    owner = np.repeat(np.arange(n), np.diff(arrays.gold_ptr))
    gold = arrays.part_ptr[owner] + arrays.gold_part
    if theta is None:
        mu[gold] = arrays.gold_count
        return mu, loss, linear
    entropy = np.empty(n)
    evaluator.marginals(theta, mu, entropy)
    part_owner = np.repeat(np.arange(n), np.diff(arrays.part_ptr))
    log_z = entropy + np.bincount(part_owner, theta * mu, n)
    loss = arrays.tau * (log_z - np.bincount(owner, theta[gold] * arrays.gold_count, n))
    linear = arrays.tau * entropy
    if arrays.cost.size:
        linear += np.bincount(part_owner, arrays.cost * mu, n)
    return mu, loss, linear


class SAG(_AverageGradient):
    """SAG.

    Parameters
    ----------
    problem, l2, evaluator, start, initial_weights
        As in :class:`partwise.solvers.primal.PrimalSolver`.
    rng : numpy.random.Generator
        Draws the examples.
    sampling : {"uniform", "nus", "nus-2013"}
        How examples are drawn: all alike; half of the time in proportion to L_i, the estimate of
        their curvature; or as Schmidt, Le Roux and Bach (2013, section 5.5) do.
    safe : bool
        Use the fixed step of the convergence proofs, with bounds on the curvature.
    """

    name: ClassVar[str] = "sag"

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        start: Floats | None = None,
        initial_weights: Floats | None = None,
        sampling: Sampling = "uniform",
        safe: bool = False,
    ) -> None:
        super().__init__(
            problem,
            l2,
            evaluator,
            rng,
            l1=0.0,
            start=start,
            initial_weights=initial_weights,
            saga=False,
            sampling=sampling,
            safe=safe,
        )


@final
class SAGNUS(SAG):
    """SAG with sampling in proportion to the curvature, half of the time."""

    name: ClassVar[str] = "sag-nus"

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        start: Floats | None = None,
        initial_weights: Floats | None = None,
        sampling: Sampling = "nus",
    ) -> None:
        super().__init__(
            problem,
            l2,
            evaluator,
            rng,
            start=start,
            initial_weights=initial_weights,
            sampling=sampling,
        )


@final
class SAGA(_AverageGradient):
    """SAGA; with l1 > 0 its proximal variant.

    Parameters
    ----------
    problem, l2, evaluator, l1, start, initial_weights
        As in :class:`partwise.solvers.primal.PrimalSolver`.
    rng, sampling, safe
        As in :class:`SAG`.
    share : float
        Which part of the step of SAG is taken. It can bear 1 / (3 max_i L_i / (n p_i)), and
        L_i / (n p_i) is at most 1 / alpha: a third is safe. Schmidt et al. (2015) took all of it,
        which is faster where there are many examples and may diverge where there are few.
    """

    name: ClassVar[str] = "saga"

    def __init__(
        self,
        problem: Problem,
        l2: float,
        evaluator: Evaluator,
        rng: np.random.Generator,
        *,
        l1: float = 0.0,
        start: Floats | None = None,
        initial_weights: Floats | None = None,
        sampling: Sampling = "uniform",
        safe: bool = False,
        share: Share = 1.0 / 3.0,
    ) -> None:
        super().__init__(
            problem,
            l2,
            evaluator,
            rng,
            l1=l1,
            start=start,
            initial_weights=initial_weights,
            saga=True,
            sampling=sampling,
            safe=safe,
            share=share,
        )
