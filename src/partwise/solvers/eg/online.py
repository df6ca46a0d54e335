"""Online exponentiated gradient: one example's duals at a time.

Primal   min_w  l2/2 |w|^2 + sum_i c_i loss_i(w)
Dual     max_u  sum_i c_i [tau H(u_i) + cost_i.mu_i] - |v(u)|^2 / (2 l2)
Update   theta_i <- theta_i + eta_i (F_i w + cost_i - tau theta_i),  v kept up to date

Figures 2, 3 and 16 of Collins et al. (2008). Each example has a step eta_i of its own: it is
halved until the dual improves, then multiplied by 1.05. The change of the norm in the dual costs
nothing extra, since scatter returns the change of |v|^2. Or the steps are fixed (`steps`).

An example stays at its gold label, and does not count in w, until its first visit. So w begins at 0
and never holds errors that were made without it. For tau > 0 that visit starts from a theta of 3 on
the parts of the gold label; if it does not improve the dual, this theta is doubled: close enough to
the gold label the dual always improves. For the hinge the gold label has an infinite theta, and it
may be where an example stays: so it does as long as no label has a larger score. The visit that
moves it then looks for the theta from which its step gains most. For a small share s of the step
the dual gains s slope - s^2 bend / 2, most at s = slope / bend, and a theta that is smaller by
log s gives the other labels s times their probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...errors import MismatchError
from ...problem.design import score
from ...problem.evaluation import DualPoint, not_finite
from ...problem.problem import example_marginals, example_maximum
from ..base import Epoch
from ..goal import Goal
from ..options import NotNegative, OneOf, Positive, Preset, Within
from ..papers import BARTLETT_2004, COLLINS_2008, SCHMIDT_2015, YU_2011, Paper
from .base import (
    LINEAR,
    NORM,
    ONLINE,
    VERTEX,
    VISITS,
    Annealing,
    Duals,
    Eta,
    ExponentiatedGradient,
    fixed_steps,
    safe_steps,
    searched,
)
from .shrinking import scatter_shrunk

ORDERS = ("permutation", "focused", "replacement", "permutation-then-draws", "deterministic")
#: The first eta: a number, found by trial, or that of the fit before.
FirstStep: TypeAlias = Positive | Annotated[str, OneOf(("trial", "carried"))]
HALVINGS = ("few", "any")
Trials: TypeAlias = Annotated[int, Within("a whole number from 2", low=2.0)]

#: "focused" leaves an example out while its share of the gap is below this part of the mean ...
_FOCUS = 0.3
#: ... but visits it at least every so many epochs.
_WAIT = 3
#: The theta of the parts of the gold label that a first visit starts from ...
_ENTRY: Final = 3.0
#: ... and how often it may change.
_CHANGES: Final = 6
#: The first step, and the one with which examples enter before a trial.
_FIRST_STEP: Final = 0.5
#: How often a step may be halved at a visit in the first epoch, and later ...
_FEW: Final = (2, 5)
#: ... and where only underflow ends it.
_ANY: Final = 1100
#: Entering with the hinge: shares of the step between these gain at least three quarters of what
#: the best does ...
_SHARES: Final = (2.0 / 3.0, 2.0)
#: ... no theta is smaller than this ...
_LEAST: Final = 0.5
#: ... and no label moves more than this many times as fast.
_FASTEST: Final = 20.0
#: What is smaller, beside the scores, is rounding.
_ROUNDING: Final = 1e-13


@njit(fastmath=FAST)
def can_gain(a: Any, i: int, q: Any, mu: Any, masked: Any, work: Any) -> Any:
    """Return max_y q.y - q.mu, the share of example i in the gap for tau = 0; 0 within rounding."""
    high = example_maximum(a, i, q, mu[:0], masked, work)
    mean = 0.0
    for r in range(q.size):
        mean += q[r] * mu[r]
    return high - mean if high - mean > _ROUNDING * (1.0 + abs(high)) else 0.0


@njit(fastmath=FAST)
def entry_factor(
    tau: float, at: float, q: Any, mu: Any, old_mu: Any, gain: float, fails: bool, before: Any
) -> Any:
    """Return what a first visit multiplies its theta by, which is `at` on the gold label.

    1 if it is good, 0 if the step has to be longer. q, mu, old_mu and gain are those of an example
    of weight 1; fails: whether the dual has not improved. before: the theta that was tried before,
    or 0, and the logarithm of its share. A label that differs in several parts moves so many times
    as fast as theta, and two trials tell how fast.
    """
    if tau > 0.0:
        return 2.0 if fails else 1.0
    slope = 0.0
    for r in range(q.size):
        slope += q[r] * (mu[r] - old_mu[r])
    if slope <= 0.0:
        before[0] = 0.0
        return 0.0
    share = slope / max(2.0 * (slope - gain), 1e-12 * slope)
    if _SHARES[0] <= share <= _SHARES[1]:
        return 1.0
    wanted, speed = math.log(share), 1.0
    if before[0] > 0.0 and before[0] != at:
        speed = min(max((wanted - before[1]) / (at - before[0]), 1.0), _FASTEST)
    before[0], before[1] = at, wanted
    return max(at - wanted / speed, _LEAST) / at


@njit(fastmath=FAST)
def online_eg_epoch(
    a: Any,
    duals: Any,
    w: Any,
    order: Any,
    l2: float,
    l1: float,
    halvings: int,
    growth: float,
    least: Any,
    most: float,
    entry: float,
    buffers: Any,
) -> Any:
    """Visit the examples in order.

    halvings: how often a step may be halved at one visit (0: the step is fixed and every change
    is taken); growth: the factor after a visit; least: the smallest eta of each example; most:
    the largest eta; entry: what theta is multiplied by before an example's first visit. w:
    shrunk(v, l1), which is v itself where l1 = 0; NORM is that of |w|^2.

    The share of example i in the gap is tau KL(u_i, p_i), p_i = p(.|x_i; w). A step that goes a
    fraction eta tau of the way to p_i has KL(u_i, u_i') of about (eta tau)^2 KL(u_i, p_i), and
    KL(u_i, u_i') + KL(u_i', u_i) = (theta' - theta).(mu' - mu). For tau = 0 the share is at least
    (F_i w + cost_i).(mu' - mu).

    Returns (the first example without a finite logZ or -1, how many steps improved as they were).
    """
    q, theta, mu, delta, masked, work = buffers
    tau = a.tau
    scale = 1.0 / l2
    improved = 0
    before = np.zeros(2)
    for i in order:
        c = a.weight[i]
        if c == 0.0:
            continue
        lo, n = a.part_ptr[i], a.part_ptr[i + 1] - a.part_ptr[i]
        old = duals.theta[lo : lo + n]
        old_mu = duals.mu[lo : lo + n]
        score(a.design, i, w, q)
        for r in range(n):
            q[r] *= scale
            delta[r] = 0.0
        if a.cost.size > 0:
            for r in range(n):
                q[r] += a.cost[lo + r]
        eta = duals.eta[i]
        gold, enters = 0, entry < 1.0 and duals.gap[i] == np.inf
        if tau == 0.0:
            enters = entry < 1.0 and a.gold_ptr[i] < a.gold_ptr[i + 1]  # not without any label
            gold = a.gold_part[a.gold_ptr[i]] if enters else 0
            enters = enters and old[gold] == VERTEX
        if enters and tau == 0.0:
            duals.gap[i] = c * can_gain(a, i, q[:n], old_mu, masked, work)
            if duals.gap[i] == 0.0:
                duals.totals[VISITS] += 1.0
                improved += 1
                continue
        if enters:
            before[0] = 0.0
            for r in range(n):
                old[r] *= entry
        norm = 0.0
        trial = 0
        while True:
            duals.totals[VISITS] += 1.0
            for r in range(n):
                theta[r] = old[r] + eta * (q[r] - tau * old[r])
            log_z = example_marginals(a, i, theta[:n], mu[:n], masked, work)
            if not math.isfinite(log_z):
                return i, improved
            inner = spread = cost = size = 0.0
            for r in range(n):
                inner += theta[r] * mu[r]
                size += abs(q[r]) * mu[r]
                change = mu[r] - old_mu[r]
                spread += (theta[r] - old[r]) * change  # KL(u, u') + KL(u', u)
                # delta: the change of v that is still to be made after the trials so far
                delta[r] = -c * change - delta[r]
            if a.cost.size > 0:
                for r in range(n):
                    cost += a.cost[lo + r] * (mu[r] - old_mu[r])
            entropy = log_z - inner
            norm += scatter_shrunk(a.design, i, delta, duals.v, w, l1)
            linear = c * (tau * (entropy - duals.entropy[i]) + cost)
            gain = linear - norm / (2.0 * l2)
            # What rounding may do to the gain; the error of mu grows with theta.
            noise = tau * (abs(log_z) + abs(inner)) + (1.0 + abs(log_z)) * size
            noise = 1e-15 * (c * noise + abs(norm) / l2)
            if enters:
                spread = max(spread, 0.0)  # old_mu is not that of old
            duals.gap[i] = c * spread / (2.0 * tau * eta * eta if tau > 0.0 else eta)
            if gain >= -noise and (trial == 0 or enters):
                improved += 1
            stay = False
            if tau == 0.0 and halvings > 0 and abs(gain) <= noise and not enters:
                # Rounding hides whether the step was good, so eta does not grow. If the example
                # can still gain, the step is taken all the same; and if it changed nothing, theta
                # is far out and has to come back, so eta doubles. If the example has nothing to
                # gain, theta would run off to infinity, so it stays.
                stay = can_gain(a, i, q[:n], old_mu, masked, work) <= 0.0
                moved = 0.0
                for r in range(n):
                    moved = max(moved, abs(mu[r] - old_mu[r]))
                lost = not stay and moved <= 1e-14 * (1.0 + abs(log_z))
                eta *= 2.0 if lost else 1.0 / growth
            factor = 1.0
            if enters and trial < _CHANGES:
                fails, at = gain < -noise, old[gold] if tau == 0.0 else 0.0
                factor = entry_factor(tau, at, q[:n], mu[:n], old_mu, gain / c, fails, before)
            if factor != 1.0:
                trial += 1
                if tau * eta >= 1.0:  # a whole step forgets where it leaves from
                    eta *= 0.5
                if factor == 0.0:
                    eta, factor = 2.0 * eta, 1.0
                for r in range(n):
                    old[r] *= factor
                    delta[r] = -c * (mu[r] - old_mu[r])
                continue
            if (gain >= -noise and not stay) or halvings == 0 or (enters and tau > 0.0):
                duals.totals[LINEAR] += linear
                duals.totals[NORM] += norm
                duals.entropy[i] = entropy
                for r in range(n):
                    old[r] = theta[r]
                    old_mu[r] = mu[r]
                break
            trial += 1
            give_up = stay or enters or trial > halvings or duals.eta[i] <= least[i]
            for r in range(n):
                delta[r] = -c * (mu[r] - old_mu[r])
                if give_up:
                    delta[r] = -delta[r]
            if give_up:
                scatter_shrunk(a.design, i, delta, duals.v, w, l1)
            if enters:  # the hinge stays at its gold label
                for r in range(n):
                    old[r] = VERTEX if old[r] != 0.0 else 0.0
            elif not stay:
                eta = max(0.5 * eta, least[i])
            if give_up:
                if least[i] == 0.0 and not stay:  # as published: a step grows only if it was taken
                    eta /= growth
                break
        duals.eta[i] = min(eta * growth, most)
    return -1, improved


def _halvings(given: int | str | None) -> tuple[int, int]:
    """Return how often a step is halved at most, in the first epoch and later."""
    if isinstance(given, str) or given is None:
        return (_ANY, _ANY) if given == "any" else _FEW
    return int(given) - 1, int(given) - 1


class OnlineEG(ExponentiatedGradient):
    """Exponentiated gradient on the dual, one example at a time, with one step per example.

    Parameters
    ----------
    goal, annealing
        As in :class:`ExponentiatedGradient`.
    start : float or None
        None: examples enter w at their first visit. A number: all examples are in w from the
        beginning, with this theta on the parts of their gold labels; 0 is the uniform distribution.
        None is 3 where eta is not searched for.
    order : {"permutation", "focused", "replacement", "permutation-then-draws", "deterministic"}
        A new random permutation each epoch; the same, but examples whose share of the gap was
        small at their last visit are left out for up to two epochs (for tau > 0); sampling with
        replacement, which the convergence proofs are about; one permutation, and sampling after it;
        or the order of the data.
    eta : float or {"search", "theorem", "safe"}
        A fixed step; steps that are searched for, one per example; or fixed steps that are proven
        to improve the dual: that of Theorem 2 for all examples, or a longer one for each.
    first_step : float, "trial", "carried" or None
        Where the search begins. "trial" halves 1 until at least 95% of the steps improve the dual,
        on a tenth of the examples, all of which count in w by then; "carried" takes the steps of
        the fit that this one starts from, if there are any; None: 0.5.
    halvings : int, {"few", "any"} or None
        "few", the default, gives a visit up after 2 halvings in the first epoch or 5 later, keeps
        steps above the safe ones and below 1/tau. "any" halves until the dual improves; a number
        gives a visit up after so many trials, each with half the step of the one before.
    """

    name: ClassVar[str] = "online-eg"
    on_disk = True
    papers: ClassVar[tuple[Paper, ...]] = (
        COLLINS_2008,
        BARTLETT_2004,
        SCHMIDT_2015,
        YU_2011,
    )
    presets: ClassVar[Mapping[str, Preset]] = ONLINE

    def __init__(
        self,
        goal: Goal,
        *,
        start: NotNegative | None = None,
        order: Annotated[str, OneOf(ORDERS)] = "permutation",
        eta: Eta = "search",
        first_step: FirstStep | None = None,
        halvings: Trials | Annotated[str, OneOf(HALVINGS)] | None = None,
        annealing: Annealing | None = None,
    ) -> None:
        problem, tau = goal.problem, goal.problem.loss.tau
        if order == "focused" and tau == 0.0:
            raise MismatchError(
                "the focused order needs a smooth loss, whose shares of the gap are known; use "
                "order='permutation' with the hinge"
            )
        search = searched(eta, first_step=first_step, halvings=halvings)
        trial = first_step == "trial"
        if trial and problem.room.on_disk:
            raise MismatchError(
                "a first step that is found by trial needs copies of all duals in memory; give a "
                "number, such as first_step=0.5"
            )
        self.entry = 1.0
        # With the hinge the fit before may have left examples at their gold labels.
        if start is None and search and (tau == 0.0 or not goal.warm):
            start, self.entry = VERTEX, _ENTRY / VERTEX
        elif start is None and not search:
            start = _ENTRY
        super().__init__(goal, start=start, annealing=annealing)
        if tau == 0.0 and not np.any(self.duals.theta == VERTEX):
            self.entry = 1.0  # none is left to enter
        self.order = order
        self.fixed = not search
        self.halvings = (0, 0) if self.fixed else _halvings(halvings)
        self.buffers = problem.scratch(5)
        self.age = np.zeros(problem.n_examples, dtype=np.int64)  # epochs since the last visit
        bounded = halvings in ("few", None)
        # A safe step always improves the dual, so there is no need to go below it.
        self.least = np.minimum(1e-3, safe_steps(problem, goal.l2)) * bounded
        # Beyond 1/tau a step goes too far; the hinge has no such bound, but theta is finite.
        self.most = 1e6 if tau == 0.0 else 1.0 / tau if bounded else math.inf
        if self.fixed:
            self.duals.eta[:] = fixed_steps(problem, goal.l2, eta)
        elif trial:
            self._trial()
        elif first_step == "carried":
            before = None if goal.start is None else goal.start.steps
            self.duals.eta[:] = _FIRST_STEP if before is None else before
        else:
            self.duals.eta[:] = _FIRST_STEP if first_step is None else float(first_step)

    def _draw(self) -> Ints:
        n = self.problem.n_examples
        draws = self.order == "permutation-then-draws" and self.epochs > 0
        if self.order == "replacement" or draws:
            return self.problem.room.grouped(self.rng, self.rng.integers(n, size=n))
        if self.order == "deterministic":
            return np.arange(n)
        order = self.problem.room.order(self.rng, n)
        if self.order == "focused" and self.epochs > 1:
            self.age += 1
            gap = self.duals.gap
            wanted = (gap >= _FOCUS * gap.mean()) | (self.age >= _WAIT)
            order = order[wanted[order]]
            self.age[order] = 0
        return order

    def _visit(
        self, order: Ints, duals: Duals, l2: float, halvings: int, w: Floats | None = None
    ) -> int:
        """Visit some examples; w is shrunk(v, l1) where l1 > 0."""
        bad, improved = online_eg_epoch(
            self.problem.arrays,
            duals,
            duals.v if w is None else w,
            order,
            l2,
            0.0 if w is None else self.l1,
            halvings,
            1.0 if halvings == 0 else 1.05,
            self.least,
            self.most,
            self.entry,
            self.buffers,
        )
        if bad >= 0:
            raise not_finite(int(bad))
        return int(improved)

    def _trial(self) -> None:
        """Find the first step on a tenth of the examples, then restore the duals.

        A first visit nearly always improves the dual, however long its step, so examples that have
        not entered w do so before the trials. A safe step improves the dual for all examples.
        """
        examples = np.flatnonzero(self.problem.arrays.weight)
        sample = self.rng.permutation(examples)[: max(1, len(examples) // 10)]
        before, self.duals = self.duals, self.duals.copy()
        if self.entry < 1.0:
            self.duals.eta[:] = _FIRST_STEP
            self._visit(sample, self.duals, self.current_l2, 0)
        entered, least = self.duals, self.least[sample].min()
        eta = 1.0
        while True:
            self.duals = entered.copy()
            self.duals.eta[:] = eta
            improved = self._visit(sample, self.duals, self.current_l2, 0)
            entered.totals[VISITS] = self.duals.totals[VISITS]
            if improved >= 0.95 * len(sample) or eta <= least:
                break
            eta *= 0.5
        before.totals[VISITS] = entered.totals[VISITS]
        self.duals = before
        self.duals.eta[:] = eta

    def epoch(self) -> Epoch:
        totals = self.duals.totals
        l2 = self.current_l2
        halvings = self.halvings[self.epochs > 0]
        for order in self.stretches(self._draw):
            self._visit(order, self.duals, l2, halvings)
        self.epochs += 1
        passes = float(totals[VISITS]) / self.problem.n_examples
        totals[VISITS] = 0.0
        if self.problem.loss.tau == 0.0:
            self.average.add(self.duals.v)
        return Epoch(passes, self.running_dual(l2), float(self.duals.gap.sum()), l2)

    def dual_point(self) -> DualPoint:
        return DualPoint(self.duals.theta, steps=self.duals.eta)
