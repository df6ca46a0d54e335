"""Dual coordinate descent for classifiers: solves for the duals of one context at a time.

    min_alpha  |v|^2 / (2 l2) + sum_xy alpha_xy log alpha_xy,    sum_y alpha_xy = total_x, alpha > 0
    v(alpha) = sum_xy (counts_xy - alpha_xy) f(x, y)

Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy
models" (2011): Algorithm 5 for two classes, Algorithms 6 and 7 for more. The tolerance to which the
problem of a block is solved begins at 1e-2, and falls to 1e-8 as the blocks need fewer steps.

The paper solves the block of more than two classes by pairs of labels. By default this is done in
one go here, with the same result: the first sweep over 3,479 tokens of CoNLL-2000 with 17 labels
takes 199 Newton steps per visit with pairs, and 3 with the multiplier of the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, NamedTuple, TypeAlias, final

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.jit import FAST, njit
from ...compiled.vectors import inner
from ...errors import MismatchError
from ...problem.evaluation import DualPoint, not_finite
from ..base import Epoch, Evaluation, Solver
from ..goal import Goal
from ..options import Factor, NotNegative, OneOf, Positive, Preset, Share, Within
from ..papers import YU_2011
from .entropy_blocks import BLOCKS, STARTS, EntropyBlocks, Epsilons, starting_point
from .logistic_blocks import LogisticBlocks
from .subproblem import METHODS, SMALLEST, Newton, find_contexts

ORDERS: Final = ("permutation", "focused", "sequence")

Inside: TypeAlias = Annotated[float, Within("a number between 0 and 1", 0.0, 1.0, True, True)]
Half: TypeAlias = Annotated[float, Within("a number above 0 and up to 0.5", 0.0, 0.5, True)]


class Tolerance(NamedTuple):
    """How exactly the problem of a block is solved, as a bound of |g'|.

    It begins at first, and is multiplied by factor, down to last, after every epoch that took no
    more Newton steps per visit than steps.
    """

    first: Positive = 1e-2
    last: Share = 1e-8
    factor: Factor = 0.1
    steps: NotNegative = 0.1


_PUBLISHED: Final = {
    "newton": "modified",
    "xi": 0.1,
    "xi_0": 0.1,
    "tolerance": Tolerance(),
    "start": "near-gold",
    "epsilons": Epsilons(),
    "once": True,
}
_CONTEXTS: Final = {**_PUBLISHED, "block": "violating", "group": True}
_INSTANCES: Final = {**_PUBLISHED, "block": "violating", "group": False}

#: "focused" leaves a context out while its share of the gap is below this part of the mean ...
_FOCUS: Final = 0.3
#: ... but visits it at least every so many epochs.
_WAIT: Final = 3


@final
class DualCoordinateDescent(Solver):
    """Dual coordinate descent, with Newton steps that are safe against cancellation.

    A context of m examples is visited m times per epoch. If it were visited once, the heaviest
    contexts would hold up all others: they would be solved for weights that have changed much by
    their next visit.

    Parameters
    ----------
    goal : Goal
        What to solve.
    newton : {"modified", "line-search", "bisection", "plain"}
        How the sub-problem in one variable, a pair of labels, is solved: Algorithm 4; one Newton
        step with a line search (CDdual-ls); halving until Newton steps are safe (Algorithm 9); or
        Algorithm 3, which is Algorithm 4 without its care of cancellation.
    xi : float
        A Newton step that leaves the bounds goes to this part of the distance that is left (26).
    xi_0 : float
        A minimum across the middle is looked for from this part of the distance to its bound (35).
    beta, gamma : float
        The line search (21): each trial is the part beta of the one before, and must gain the part
        gamma of what the slope promises.
    block : {"multiplier", "violating", "heap", "cyclic"}
        How the block of more than two labels is solved: for all labels at once, by a Newton method
        for the multiplier of their sum; or by pairs, the maximal violating one, found by a
        scan (Algorithm 6) or kept in heaps, or all pairs in turn. The options above are those of
        pairs.
    tolerance : Tolerance
        How exactly blocks are solved.
    start : {"near-gold", "keerthi", "uniform"}
        Where the duals begin: close to the gold labels, by (36) for two classes and (51) for more;
        at C/l+ and C/l- for two classes; or at the uniform distribution, C/2 for two classes.
    epsilons : Epsilons
        The constants of "near-gold": epsilon_1 and epsilon_2 of (36), epsilon of (51).
    order : {"permutation", "focused", "sequence"}
        A new random permutation each epoch, as in the experiments of the paper; the same, but
        contexts whose share of the gap was small at their last visit are left out for up to two
        epochs; or the order of the data, as in its Algorithms 5 and 7.
    once : bool
        Visit every context once per epoch, however many examples it has.
    group : bool
        Whether examples with the same features are one context.
    """

    name: ClassVar[str] = "dual-cd"
    papers = (YU_2011,)
    presets: ClassVar[Mapping[str, Preset]] = {
        "yu2011-algorithm3": Preset(
            "Algorithm 5 with the sub-problem solved by Algorithm 3, in sequence.",
            {**_INSTANCES, "newton": "plain", "order": "sequence"},
        ),
        "yu2011-algorithm5": Preset(
            "Algorithms 4 and 5: an instance after the other, in sequence.",
            {**_INSTANCES, "order": "sequence"},
        ),
        "yu2011-algorithm7": Preset(
            "Algorithms 6 and 7: a context after the other, in sequence.",
            {**_CONTEXTS, "order": "sequence"},
        ),
        "yu2011-cddual": Preset(
            "CDdual of section 6.1: Algorithm 5 with random permutations.",
            {**_INSTANCES, "order": "permutation"},
        ),
        "yu2011-cddual-me": Preset(
            "CDdual of section 6.2: Algorithm 7 with random permutations.",
            {**_CONTEXTS, "order": "permutation"},
        ),
        "yu2011-cddual-ls": Preset(
            "CDdual-ls of section 6.1: one Newton step with a line search.",
            {
                **{k: v for k, v in _INSTANCES.items() if k not in ("xi", "xi_0")},
                "newton": "line-search",
                "beta": 0.5,
                "gamma": 0.01,
                "order": "permutation",
            },
        ),
        "yu2011-bn": Preset(
            "BN of section 6.3: Algorithm 9 in the place of Algorithm 4.",
            {
                **{k: v for k, v in _INSTANCES.items() if k != "xi"},
                "newton": "bisection",
                "order": "permutation",
            },
        ),
    }
    needs = frozenset({"multiclass", "log loss", "unconstrained labels", "whole labels"})
    remade = ("contexts", "visits", "order", "tolerance")

    def __init__(
        self,
        goal: Goal,
        *,
        newton: Annotated[str, OneOf(METHODS)] = "modified",
        xi: Inside = 0.1,
        xi_0: Half = 0.1,
        beta: Inside = 0.5,
        gamma: Inside = 0.01,
        block: Annotated[str, OneOf(BLOCKS)] = "multiplier",
        tolerance: Tolerance = Tolerance(),  # noqa: B008 - it cannot change
        start: Annotated[str, OneOf(STARTS)] = "near-gold",
        epsilons: Epsilons = Epsilons(),  # noqa: B008
        order: Annotated[str, OneOf(ORDERS)] = "focused",
        once: bool = False,
        group: bool = True,
    ) -> None:
        super().__init__(goal)
        problem = goal.problem
        halved = problem.max_parts == 2 and not problem.storage.slot.size
        pairs = halved or block != "multiplier"
        steps = Newton(METHODS.index(newton), float(xi), float(xi_0), float(beta), float(gamma))
        _refuse_idle(newton, steps, start, epsilons, pairs)
        self.tolerance = Tolerance(*tolerance)
        if self.tolerance.last > self.tolerance.first:
            raise MismatchError(
                f"the tolerance of dual-cd falls from {self.tolerance.first:g} to "
                f"{self.tolerance.last:g}, which is more; give the larger number first"
            )
        self.focused, self.sequence = order == "focused", order == "sequence"
        self.contexts = find_contexts(problem, group)
        self.blocks: LogisticBlocks | EntropyBlocks
        if halved:
            alpha = starting_point(self.contexts, start, Epsilons(*epsilons), 2.0 / goal.l2)
            self.blocks = LogisticBlocks(problem, goal.l2, self.contexts, alpha, steps)
        else:
            alpha = starting_point(self.contexts, start, Epsilons(*epsilons))
            self.blocks = EntropyBlocks(
                problem, goal.l2, self.contexts, alpha, steps, block, goal.evaluator
            )
        theta = goal.theta()
        if theta is not None:
            self._start_from(theta)
        self.blocks.rebuild()
        # sum_x total_x H(alpha_x / total_x) is this minus sum alpha log alpha.
        self.most = float(inner(self.contexts.total, np.log(self.contexts.total)))
        self.tol = self.tolerance.first
        self.made = self.steps = 0  # visits of this epoch, and those that changed something
        n = len(self.contexts.first)
        self.visits = np.arange(n) if once else np.repeat(np.arange(n), self.contexts.size)
        self.order = np.empty_like(self.visits)
        self.age = np.zeros(n, dtype=np.int64)  # epochs since the last visit

    def _start_from(self, theta: Floats) -> None:
        """Start from theta: alpha_x is the sum of c_i u_i over the examples of a context.

        v is then that of the examples, and D is no lower than theirs.
        """
        mu = np.empty_like(theta)
        self.evaluator.marginals(theta, mu, np.empty(self.problem.n_examples))
        used = self.contexts.member >= 0
        mass = (mu.reshape(-1, self.problem.max_parts).T * self.problem.arrays.weight).T
        alpha = np.zeros_like(self.contexts.counts)
        np.add.at(alpha, self.contexts.member[used], mass[used])
        self.blocks.alpha[:] = np.maximum(alpha, SMALLEST)

    def _draw(self) -> Ints:
        if self.sequence:
            return self.visits
        n = len(self.visits)
        if self.focused:
            share = self.blocks.share
            least = _FOCUS * float(share.sum()) / n
            n = _due(self.visits, share, self.contexts.size, least, self.age, self.order)
        else:
            self.order[:] = self.visits
        _shuffle(self.order[:n], self.rng.random(n))
        order: Ints = self.order[:n].copy()
        return order

    @property
    def n_items(self) -> int:
        return len(self.contexts.first)

    def epoch(self) -> Epoch:
        """Visit every context, unless it is left out."""
        if not self.under_way:
            self.made = self.steps = 0
        for order in self.stretches(self._draw):
            bad, steps = self.blocks.epoch(order, self.tol)
            if bad >= 0:
                raise not_finite(int(self.contexts.first[bad]))
            self.made, self.steps = self.made + len(order), self.steps + int(steps)
        if self.steps <= self.tolerance.steps * self.made:
            self.tol = max(self.tolerance.factor * self.tol, self.tolerance.last)
        passes = self.made / self.problem.n_examples
        return Epoch(passes, self._dual(), float(self.blocks.share.sum()), self.l2)

    def _dual(self) -> float:
        """Return D(u) from the duals and the running weights."""
        return self.most - float(_negative_entropy(self.blocks.alpha)) - self.blocks.penalty()

    def evaluate(self) -> Evaluation:
        alpha = self.blocks.alpha
        # Each visit may change the sum by a rounding error.
        alpha *= (self.contexts.total / alpha.sum(axis=1))[:, None]
        self.blocks.rebuild()
        weights = self.current_weights()
        return Evaluation(weights, self.evaluator.primal(weights, self.l2), self._dual())

    def current_weights(self) -> Floats:
        return self.blocks.weights()

    def dual_point(self) -> DualPoint:
        alpha = self.blocks.alpha
        theta = np.log(alpha) - np.log(alpha.sum(axis=1, keepdims=True))
        return DualPoint(self.contexts.spread(theta, 0.0).ravel())


def _refuse_idle(newton: str, given: Newton, start: str, epsilons: Epsilons, pairs: bool) -> None:
    """Refuse options that would change nothing."""
    usual = Newton()
    kinds = {
        "xi": ("modified", "plain"),
        "xi_0": ("modified", "plain", "bisection"),
        "beta": ("line-search",),
        "gamma": ("line-search",),
    }
    if not pairs and given != usual:
        raise MismatchError(
            "newton, xi, xi_0, beta and gamma of dual-cd are about pairs of labels, and "
            "block='multiplier' solves for all labels at once; give block='violating' too"
        )
    for name, methods in kinds.items():
        if newton not in methods and getattr(given, name) != getattr(usual, name):
            raise MismatchError(
                f"newton={newton!r} of dual-cd has no {name}; leave it out, or give "
                f"newton={methods[0]!r}"
            )
    if start != "near-gold" and tuple(epsilons) != Epsilons():
        raise MismatchError(
            f"the epsilons of dual-cd are those of start='near-gold', and start is {start!r}; "
            "leave one of the two out"
        )


@njit
def _due(visits: Ints, share: Any, size: Any, least: float, age: Ints, out: Ints) -> Any:
    """Write the visits of the contexts whose turn it is into out; return how many there are.

    These are the contexts whose share of the gap is at least ``least`` per example, and those that
    have waited.
    """
    for i in range(age.size):
        age[i] = 0 if share[i] >= least * size[i] or age[i] + 1 >= _WAIT else age[i] + 1
    n = 0
    for i in visits:
        out[n] = i
        n += age[i] == 0
    return n


@njit
def _shuffle(items: Ints, uniform: Floats) -> None:
    """Shuffle the items, given as many random numbers in [0, 1)."""
    for k in range(items.size):
        j = int(uniform[k] * (k + 1))
        items[k], items[j] = items[j], items[k]


@njit(fastmath=FAST)
def _negative_entropy(alpha: Floats) -> float:
    """Return sum_x sum_y alpha_xy log alpha_xy."""
    value = 0.0
    for i in range(alpha.shape[0]):
        for y in range(alpha.shape[1]):
            value += alpha[i, y] * np.log(alpha[i, y])
    return value
