"""Online exponentiated gradient: one example's duals at a time.

Primal   min_w  l2/2 |w|^2 + sum_i c_i loss_i(w)
Dual     max_u  sum_i c_i [tau H(u_i) + cost_i.mu_i] - |v(u)|^2 / (2 l2)
Update   theta_i <- theta_i + eta_i (F_i w + cost_i - tau theta_i),  v kept up to date

Figures 2, 3 and 16 of Collins et al. (2008). Each example has a step eta_i of its own: it is
halved until the dual improves, then multiplied by 1.05. The change of the norm in the dual costs
nothing extra, since scatter returns the change of |v|^2.

For tau > 0 an example stays at its gold label, and does not count in w, until its first visit. That
visit starts from a theta of 3 on the parts of the gold label. So w begins at 0 and never holds
errors that were made without it. A first visit that does not improve the dual doubles this theta
instead of halving the step: close enough to the gold label the dual always improves.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...errors import MismatchError
from ...problem.design import score
from ...problem.evaluation import not_finite
from ...problem.problem import Problem, example_marginals, example_maximum
from ..base import Epoch
from ..goal import Goal
from ..options import NotNegative, OneOf, Positive
from ..papers import COLLINS_2008, Paper
from ..scratch import scratch
from .base import LINEAR, NORM, VERTEX, VISITS, Annealing, Duals, ExponentiatedGradient
from .shrinking import scatter_shrunk

ORDERS = ("permutation", "focused", "replacement", "deterministic")
#: The first eta: a number, or found by trial.
FirstStep: TypeAlias = Positive | Annotated[str, OneOf(("trial",))]

#: "focused" leaves an example out while its share of the gap is below this part of the mean ...
_FOCUS = 0.3
#: ... but visits it at least every so many epochs.
_WAIT = 3
#: The theta of the parts of the gold label that a first visit starts from ...
_ENTRY: Final = 3.0
#: ... and how often it may double.
_DOUBLINGS: Final = 6
#: The step with which examples enter before a trial.
_ENTRY_STEP: Final = 0.5
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
        enters = entry < 1.0 and duals.gap[i] == np.inf
        if enters:
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
            if tau == 0.0 and halvings > 0 and abs(gain) <= noise:
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
            if enters and gain < -noise and trial < _DOUBLINGS:
                trial += 1
                if tau * eta >= 1.0:  # a whole step forgets where it leaves from
                    eta *= 0.5
                for r in range(n):
                    old[r] *= 2.0
                    delta[r] = -c * (mu[r] - old_mu[r])
                continue
            if (gain >= -noise and not stay) or halvings == 0 or enters:
                duals.totals[LINEAR] += linear
                duals.totals[NORM] += norm
                duals.entropy[i] = entropy
                for r in range(n):
                    old[r] = theta[r]
                    old_mu[r] = mu[r]
                break
            trial += 1
            give_up = stay or trial > halvings or duals.eta[i] <= least[i]
            for r in range(n):
                delta[r] = -c * (mu[r] - old_mu[r])
                if give_up:
                    delta[r] = -delta[r]
            if give_up:
                scatter_shrunk(a.design, i, delta, duals.v, w, l1)
            if not stay:
                eta = max(0.5 * eta, least[i])
            if give_up:
                break
        duals.eta[i] = min(eta * growth, most)
    return -1, improved


class OnlineEG(ExponentiatedGradient):
    """Exponentiated gradient on the dual, one example at a time, with one step per example.

    Parameters
    ----------
    goal, annealing
        As in :class:`ExponentiatedGradient`.
    start : float or None
        None: for tau > 0, examples enter w at their first visit; for the hinge it is 3. A number:
        all examples are in w from the beginning, with this theta on the parts of their gold labels;
        0 is the uniform distribution.
    order : {"permutation", "focused", "replacement", "deterministic"}
        A new random permutation each epoch; the same, but examples whose share of the gap was
        small at their last visit are left out for up to two epochs (for tau > 0); sampling with
        replacement, which the convergence proofs are about; or the order of the data.
    first_step : float or "trial"
        The first eta; "trial" halves it from 1 until at least 95% of the steps improve the dual,
        on a tenth of the examples, all of which count in w by then.
    safe : bool
        Use the fixed step of Theorem 2, 1 / (tau + |A|), with a bound on |A| for each example,
        instead of the search.
    """

    name: ClassVar[str] = "online-eg"
    on_disk = True
    papers: ClassVar[tuple[Paper, ...]] = (COLLINS_2008,)

    def __init__(
        self,
        goal: Goal,
        *,
        start: NotNegative | None = None,
        order: Annotated[str, OneOf(ORDERS)] = "permutation",
        first_step: FirstStep = 0.5,
        safe: bool = False,
        annealing: Annealing | None = None,
    ) -> None:
        problem, tau = goal.problem, goal.problem.loss.tau
        if order == "focused" and tau == 0.0:
            raise MismatchError(
                "the focused order needs a smooth loss, whose shares of the gap are known; use "
                "order='permutation' with the hinge"
            )
        trial = first_step == "trial"
        if trial and problem.room.on_disk:
            raise MismatchError(
                "a first step that is found by trial needs copies of all duals in memory; give a "
                "number, such as first_step=0.5"
            )
        eta = 1.0 if trial else float(first_step)
        self.entry = 1.0
        if start is None and tau > 0.0 and not goal.warm:
            start, self.entry = VERTEX, _ENTRY / VERTEX
        super().__init__(goal, start=start, first_step=eta, annealing=annealing)
        self.order = order
        self.safe = safe
        self.buffers = scratch(problem, 5)
        self.age = np.zeros(problem.n_examples, dtype=np.int64)  # epochs since the last visit
        # A safe step always improves the dual, so there is no need to go below it.
        self.least = np.minimum(1e-3, safe_steps(problem, goal.l2))
        if safe:
            self.duals.eta[:] = safe_steps(problem, goal.l2)
        elif trial:
            self._trial()

    def _draw(self) -> Ints:
        n = self.problem.n_examples
        if self.order == "replacement":
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
        tau = self.problem.loss.tau
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
            1.0 / tau if tau else 1e6,
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
            self.duals.eta[:] = _ENTRY_STEP
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
        halvings = 0 if self.safe else (2 if self.epochs == 0 else 5)
        for order in self.stretches(self._draw):
            self._visit(order, self.duals, l2, halvings)
        self.epochs += 1
        passes = float(totals[VISITS]) / self.problem.n_examples
        totals[VISITS] = 0.0
        if self.problem.loss.tau == 0.0:
            self.average.add(self.duals.v)
        return Epoch(passes, self.running_dual(l2), float(self.duals.gap.sum()), l2)


def safe_steps(problem: Problem, l2: float) -> Floats:
    """Return 1 / (tau + c_i |A_ii|), |A_ii| <= max_y |F_i^T (gold_i - y)|^2 / l2: Theorem 2."""
    size = problem.arrays.weight * problem.reach**2 / l2
    return 1.0 / np.maximum(problem.arrays.tau + size, 1e-300)
