"""Stochastic gradient descent: decreasing, constant and Pegasos steps, and the averaged method.

    w <- (1 - alpha_k lam) w + alpha_k c_i F_i^T (gold_i - mu_i(w)),   lam = l2 / n
    alpha_k = first / (1 + k rate)^power,   k = 0, 1, ... counts the steps

With a batch of several examples, the mean of their gradients at the same w takes the place of the
gradient of one.

With w = beta v, shrinking w takes one product, and v changes only where example i has features. The
average of the iterates (Xu 2010) needs one more vector u and the sum B of all beta:

    sum_s beta_s v_s = B v - u,    u <- u + B d where v <- v + d

Every step makes w a sum of terms (coef / l2) c_i F_i^T (gold_i - mu), whose coefficients shrink
with w. As long as those of each example add up to at most 1 this is a point of the dual, the rest
being the gold label; the entropy is concave, so with coef as weights

    D >= s sum coef c_i (tau H + cost_i.mu) - s^2 l2/2 |w|^2,    s max_i coef_i <= 1

This bound costs nothing, and it holds for the hinge, where mu is a maximiser. For tau > 0 the
marginals at the last w are another dual point, which is usually better.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...errors import OptionError
from ...problem.design import scatter, score
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import by_matrix
from ...problem.problem import Problem, example_marginals, example_maximum
from ...problem.sweeps import lowest_entropy
from ..base import Evaluation
from ..goal import Goal
from ..options import Count, NotNegative, OneOf, Preset
from ..papers import COLLINS_2008, SCHMIDT_2015, SHALEV_SHWARTZ_2011, XU_2010, Paper
from .base import SEARCH, Eta, Order, StochasticSolver

SCHEDULES: Final = ("decreasing", "constant", "sqrt", "inverse")
Schedule: TypeAlias = Annotated[str, OneOf(SCHEDULES)]

#: beta is multiplied into v below this, since B v - u would lose as many digits.
_SMALL: Final = 1e-3


def _published(short: str, title: str) -> dict[str, Preset]:
    """Return the presets of a method of Schmidt et al. (2015): section 6 and their footnote 7."""
    shown = {
        "constant": ("", "a constant step"),
        "sqrt": ("-sqrt", "steps eta / sqrt(t)"),
        "inverse": ("-inverse", "steps eta / (delta + t)"),
    }
    return {
        f"schmidt2015-{short}{suffix}": Preset(
            f"{title} of Schmidt et al. (2015) with {words}; eta is the best power of 10.",
            {"schedule": schedule, "order": "replacement", "batch": 1},
        )
        for schedule, (suffix, words) in shown.items()
    }


class SGDState(NamedTuple):
    """The iterate, and what is kept beside it."""

    w: Floats  # one per weight
    u: Floats  # one per weight: minus the sum of the iterates between epochs; empty: no average
    coef: Floats  # one per example: sum of the coefficients of its terms in w
    totals: Floats


#: Positions in ``SGDState.totals``: steps; iterates in the average; what is left of the first w;
#: sum coef c_i (tau H + cost_i.mu); sum of c_i loss_i at the visits of the last epoch.
STEPS, COUNT, KEPT, LINEAR, LOSS = range(5)


@njit(fastmath=FAST)
def _fold(s: Any, beta: float, total: float) -> None:
    """Multiply beta into v and add B v to u, so that both start anew."""
    if s.u.size > 0:
        for k in range(s.u.size):
            s.u[k] -= total * s.w[k]
    for k in range(s.w.size):
        s.w[k] *= beta
    for i in range(s.coef.size):
        s.coef[i] *= beta


@njit(fastmath=FAST)
def pull(a: Any, i: int, beta: float, v: Any, delta: Any, buffers: Any) -> Any:
    """Compute delta = gold_i - mu_i(w) for w = beta v.

    Returns (loss_i(w), tau H_i + cost_i.mu_i); both are nan if a score is not finite.
    """
    q, mu, masked, work = buffers
    tau = a.tau
    lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
    score(a.design, i, v, q)
    gold = 0.0
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        gold += a.gold_count[g] * q[a.gold_part[g]]
    gold *= beta
    for r in range(n):
        q[r] *= beta
    if a.cost.size > 0:
        for r in range(n):
            q[r] += a.cost[lo + r]
    if tau > 0.0:
        for r in range(n):
            q[r] /= tau
        top = tau * example_marginals(a, i, q[:n], mu[:n], masked, work)
    else:
        top = example_maximum(a, i, q[:n], mu[:n], masked, work)
    if not math.isfinite(top):
        return math.nan, math.nan
    linear = tau * lowest_entropy(top / tau, q[:n], mu[:n]) if tau > 0.0 else 0.0
    for r in range(n):
        delta[r] = -mu[r]
    if a.cost.size > 0:
        for r in range(n):
            linear += a.cost[lo + r] * mu[r]
    for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
        delta[a.gold_part[g]] += a.gold_count[g]
    return top - gold, linear


@njit(fastmath=FAST)
def sgd_epoch(
    a: Any, s: Any, order: Any, l2: float, lam: float, steps: Any, deltas: Any, buffers: Any
) -> Any:
    """Visit the examples in order, as many at a time as deltas has rows.

    steps: first, rate and power of alpha_k.

    Returns the first example whose scores were not finite, or -1.
    """
    first, rate, power = steps
    beta, total, loss = 1.0, 0.0, 0.0
    bad = -1
    for begin in range(0, order.size, deltas.shape[0]):
        batch = order[begin : begin + deltas.shape[0]]
        linear = 0.0
        for k in range(batch.size):
            i = batch[k]
            own, there = pull(a, i, beta, s.w, deltas[k], buffers)
            if math.isnan(own):
                bad = i
                break
            loss += a.weight[i] * own
            linear += a.weight[i] * there / batch.size
        if bad >= 0:
            break

        alpha = first / (1.0 + s.totals[STEPS] * rate) ** power
        s.totals[STEPS] += 1.0
        shrink = 1.0 - alpha * lam
        beta *= shrink
        if abs(beta) < _SMALL:
            _fold(s, beta, total)
            beta, total = 1.0, 0.0
        s.totals[LINEAR] = shrink * s.totals[LINEAR] + l2 * alpha * linear
        s.totals[KEPT] *= shrink
        for k in range(batch.size):
            i, delta = batch[k], deltas[k]
            n = a.part_ptr[i + 1] - a.part_ptr[i]
            for r in range(n):
                delta[r] *= a.weight[i] * alpha / (beta * batch.size)
            scatter(a.design, i, delta, s.w)
            s.coef[i] += l2 * alpha / (beta * batch.size)
            if s.u.size > 0:
                for r in range(n):
                    delta[r] *= total
                scatter(a.design, i, delta, s.u)
        if s.u.size > 0:
            total += beta
            s.totals[COUNT] += 1.0
    _fold(s, beta, total)
    s.totals[LOSS] += loss
    return bad


class _PlainSGD(StochasticSolver):
    """What the solvers of this file have in common: one compiled epoch, and the certificate.

    Parameters
    ----------
    goal, eta, order
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    batch : int
        How many examples a step has, whose mean gradient it takes.
    average : bool
        Whether the weights are the mean of all iterates.
    """

    needs = frozenset[str]()

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        batch = min(int(options.get("batch", 1)), problem.n_examples)
        # The factor and the result of a product of matrices, while a classifier is evaluated.
        vectors = cls.occupies.vectors + (2 if by_matrix(problem) else 0)
        return replace(cls.occupies, vectors=vectors, other=8.0 * batch * problem.max_parts)

    def __init__(self, goal: Goal, *, eta: Eta, order: Order, batch: Count, average: bool) -> None:
        super().__init__(goal, eta=eta, order=order)
        problem = goal.problem
        # Weights from an earlier fit are not a sum of terms, so they are kept apart.
        self.origin = self.weights if self.weights.any() else None
        self.state = SGDState(
            w=self.weights.copy(),
            u=problem.storage.zeros() if average else np.zeros(0),
            coef=np.zeros(problem.n_examples),
            totals=np.zeros(5),
        )
        self.state.totals[KEPT] = 1.0
        self.batch = min(batch, max(1, len(self.examples)))
        self.buffers = problem.scratch(3), np.empty((self.batch, problem.max_parts))

    def begin(self) -> None:
        self.state.totals[LOSS] = 0.0

    @abstractmethod
    def steps(self, eta: float) -> tuple[float, float, float]:
        """Return first, rate and power of the steps."""

    def visit(self, order: Ints, eta: float) -> int:
        s, arrays, (buffers, deltas) = self.state, self.problem.arrays, self.buffers
        bad = sgd_epoch(arrays, s, order, self.l2, self.lam, self.steps(eta), deltas, buffers)
        self.visits += len(order)
        self.weights = -s.u / s.totals[COUNT] if s.u.size else s.w
        return int(bad)

    def running_dual(self) -> float:
        """Return D of the terms that make up the last iterate, scaled to where D is largest."""
        s = self.state
        made = s.w if self.origin is None else s.w - s.totals[KEPT] * self.origin
        norm, linear = self.l2 * inner(made, made), float(s.totals[LINEAR])
        if s.coef.min() < 0.0 or linear <= 0.0 or norm == 0.0:
            return 0.0  # that of the gold labels
        scale = min(linear / norm, 1.0 / s.coef.max())
        return float(scale * (linear - 0.5 * scale * norm))

    def values(self) -> tuple[float, float]:
        # The losses were summed up on the way, each at the iterate of its visit.
        s, dual = self.state, self.running_dual()
        return dual, float(s.totals[LOSS] + 0.5 * self.l2 * inner(s.w, s.w)) - dual

    def evaluate(self) -> Evaluation:
        # For tau > 0 the better of two dual points is taken.
        if self.problem.loss.tau > 0.0:
            value = super().evaluate()
            return Evaluation(value.weights, value.primal, max(value.dual, self.running_dual()))
        weights = self.current_weights()
        return Evaluation(weights, self.evaluator.primal(weights, self.l2), self.running_dual())


class SGD(_PlainSGD):
    """Stochastic gradient descent with decreasing steps, or with a constant step.

    The steps eta / (1 + k/n) are those of Collins et al. (2008), section 7.1.3. In the long run
    they are (eta l2) / (lam k): the objective approaches the optimum as 1/k if eta l2 > 1/2, and
    as k^(-2 eta l2) otherwise. A constant step approaches it geometrically, but only to a
    distance that shrinks with eta.

    Parameters
    ----------
    goal, eta, order
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    schedule : {"decreasing", "constant", "sqrt", "inverse"}
        The steps: eta / (1 + k/n) after k visits, eta, eta / sqrt(t) for step t = 1, 2, ..., or
        eta / (delta + t).
    delta : float or None
        For the schedule "inverse"; None is 1.
    batch : int
        How many examples a step has, whose mean gradient it takes.
    """

    name: ClassVar[str] = "sgd"
    papers: ClassVar[tuple[Paper, ...]] = (COLLINS_2008, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = {
        "collins2008-sgd": Preset(
            "SGD of Collins et al. (2008), section 7.1.3; eta is the best of their grid after one "
            "pass.",
            {"eta": "grid", "schedule": "decreasing", "order": "replacement", "batch": 1},
        ),
        **_published("sg", "SG"),
    }
    averaged: ClassVar[bool] = False

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = SEARCH,
        schedule: Schedule = "decreasing",
        delta: NotNegative | None = None,
        order: Order = "permutation",
        batch: Count = 1,
    ) -> None:
        if delta is not None and schedule != "inverse":
            raise OptionError(
                f"delta is {delta:g}, but the schedule {schedule!r} has none; leave it out, or use "
                "schedule='inverse'"
            )
        super().__init__(goal, eta=eta, order=order, batch=batch, average=self.averaged)
        self.schedule = schedule
        self.delta = 1.0 if delta is None else float(delta)

    def with_step(self, goal: Goal, eta: float) -> SGD:
        delta = self.delta if self.schedule == "inverse" else None
        return type(self)(goal, eta=eta, schedule=self.schedule, delta=delta, batch=self.batch)

    def steps(self, eta: float) -> tuple[float, float, float]:
        if self.schedule == "inverse":  # t = k + 1
            return eta / (self.delta + 1.0), 1.0 / (self.delta + 1.0), 1.0
        if self.schedule == "sqrt":
            return eta, 1.0, 0.5
        return eta, self.batch / len(self.examples) if self.schedule == "decreasing" else 0.0, 1.0


@final
class AveragedSGD(SGD):
    """Stochastic gradient descent with a constant step; the weights are the mean of all iterates.

    The mean forgets the start as 1/k. What the constant step leaves of the noise averages out as
    1/k too; where the loss is not quadratic a distance of order eta stays. Other schedules are
    those of :class:`SGD`.
    """

    name: ClassVar[str] = "asgd"
    papers = (XU_2010, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = _published("asg", "ASG")
    averaged = True

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = SEARCH,
        schedule: Schedule = "constant",
        delta: NotNegative | None = None,
        order: Order = "permutation",
        batch: Count = 1,
    ) -> None:
        super().__init__(goal, eta=eta, schedule=schedule, delta=delta, order=order, batch=batch)


@final
class Pegasos(_PlainSGD):
    """Stochastic gradient descent with steps eta / (lam k), k = 1, 2, ...; lam = l2 / n.

    With eta = 1 the first step forgets where it started, and after every epoch w is v(u) / l2 of
    a point u of the dual, the mean of all marginals or maximisers of an example. The objective
    approaches the optimum as log k / k, from very far away where lam is small; smaller eta start
    nearer and end slower, as k^(-2 eta) for eta < 1/2. A search looks at the start only, so eta
    is 1 unless another one is asked for.

    Parameters
    ----------
    goal, eta, order
        As in :class:`partwise.solvers.stochastic.base.StochasticSolver`.
    average : bool
        Whether the weights are the mean of all iterates.
    batch : int
        How many examples a step has, whose mean gradient it takes.
    """

    name: ClassVar[str] = "pegasos"
    papers = (SHALEV_SHWARTZ_2011, SCHMIDT_2015)
    presets: ClassVar[Mapping[str, Preset]] = {
        "schmidt2015-pegasos": Preset(
            "Pegasos of Schmidt et al. (2015), section 6; eta is the best power of 10.",
            {"order": "replacement", "average": False, "batch": 1},
        ),
        "schmidt2015-pegasos-averaged": Preset(
            "Pegasos with averaging, their footnote 6; eta is the best power of 10.",
            {"order": "replacement", "average": True, "batch": 1},
        ),
    }

    def __init__(
        self,
        goal: Goal,
        *,
        eta: Eta = 1.0,
        average: bool = False,
        order: Order = "permutation",
        batch: Count = 1,
    ) -> None:
        super().__init__(goal, eta=eta, order=order, batch=batch, average=average)
        self.average = average

    def with_step(self, goal: Goal, eta: float) -> Pegasos:
        return Pegasos(goal, eta=eta, average=self.average, batch=self.batch)

    def steps(self, eta: float) -> tuple[float, float, float]:
        return eta / self.lam, 1.0, 1.0
