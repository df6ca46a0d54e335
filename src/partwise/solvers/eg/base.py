"""What batch and online exponentiated gradient have in common: the duals and their evaluation.

Collins, Globerson, Koo, Carreras and Bartlett (2008), sections 3 and 4. The dual variables of
example i are a distribution over its labels, represented by one number per part:

    u_i(y) ~ exp(theta_i.y),    theta_i <- theta_i + eta (F_i w + cost_i - tau theta_i)
    w = v / l2,                 v = sum_i c_i F_i^T (gold_i - mu_i)

v is the paper's w; kept without the factor 1/l2, it does not change when l2 does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import numpy as np

from ...arrays import Floats
from ...compiled.vectors import inner
from ...errors import DataError, MismatchError
from ...problem.evaluation import DualPoint
from ...problem.footprint import Footprint
from ...problem.matrix_evaluation import by_matrix
from ...problem.problem import Problem
from ..base import Evaluation, Solver
from ..dual_points import gold_places, set_gold, set_parts
from ..goal import Goal
from ..iterate_average import IterateAverage
from ..options import CountFrom0, Factor, NotNegative, OneOf, Positive, Preset

# How long the steps of EG are: a number, found by a search, or always those of a proof.
#
# Steps that are proven to improve the dual (Lemmas 2, 3, 4 and 7 of Collins et al. 2008): an EG
# step of 1/t does where B_Q[p||q] <= t D[p||q], with D[p||q] = sum_i c_i KL(p_i, q_i). For the dual
# B_Q is tau D[p||q] + |sum_i c_i F_i^T d_i|^2 / (2 l2), d_i = p_i - q_i, and |d_i|_1^2 <= 2 KL(p_i,
# q_i).
#
#     Theorem 1 (batch)    t = tau + n max_i c_i reach_i^2 / l2
#     Theorem 2 (online)   t = tau + max_i c_i reach_i^2 / l2
#     safe (batch)         t = tau + sum_i c_i diameter_i^2 / (4 l2)
#     safe (online)        t = tau + c_i diameter_i^2 / (4 l2)
#
# The first two are as published: reach_i^2 / l2 bounds |A_ii| = max_y |F_i^T (gold_i - y)|^2 / l2.
# The others are longer, with a proof of our own: d_i takes |d_i|_1 / 2 from some labels and gives
# it to others, so |F_i^T d_i| <= diameter_i |d_i|_1 / 2, and a diameter is at most twice the reach.
# The sum over the examples then follows from the inequality of Cauchy and Schwarz.


#: How long the steps are: a number, always that of a proof, or found by a search.
Eta: TypeAlias = Positive | Annotated[str, OneOf(("search", "theorem", "safe"))]


def searched(eta: Eta, **search: Any) -> bool:
    """Return whether eta is found by a search; refuse what only a search uses where it is not."""
    if eta != "search":
        for name, value in search.items():
            if value is not None:
                raise MismatchError(
                    f"{name} is for steps that are searched for, and eta is {eta!r}; leave one of "
                    "the two out"
                )
    return eta == "search"


def first_batch_step(problem: Problem, l2: float, eta: Eta, first_step: float | None) -> float:
    """Return the step of all examples that eta stands for, or the first one of a search."""
    if eta == "search":
        return 0.5 if first_step is None else first_step
    if eta == "theorem":
        return theorem_step(problem, l2, problem.n_examples)
    if eta == "safe":
        size = 0.25 * float(inner(problem.arrays.weight, problem.diameter**2)) / l2
        return 1.0 / max(problem.loss.tau + size, 1e-300)
    return float(eta)


def fixed_steps(problem: Problem, l2: float, eta: Eta) -> Floats | float:
    """Return the fixed steps of single examples that eta stands for."""
    if eta == "theorem":
        return theorem_step(problem, l2)
    return safe_steps(problem, l2) if eta == "safe" else float(eta)


def theorem_step(problem: Problem, l2: float, together: int = 1) -> float:
    """Return the longest step of Theorem 2, or of Theorem 1 for n examples that move together."""
    size = float((problem.arrays.weight * problem.reach**2).max(initial=0.0)) / l2
    return 1.0 / max(problem.loss.tau + together * size, 1e-300)


def safe_steps(problem: Problem, l2: float) -> Floats:
    """Return steps that improve the dual, one for each example."""
    size = 0.25 * problem.arrays.weight * problem.diameter**2 / l2
    return 1.0 / np.maximum(problem.arrays.tau + size, 1e-300)


class Annealing(NamedTuple):
    """l2 begins at start, stays for hold epochs, then decays towards the target.

    Epoch t (from 0) uses ``target + (start - target) factor^(t - hold + 1)``, the schedule of
    section 7.1.1, whose t is the number of the epoch counted from 1. With a cutoff it uses the
    target itself once l2 is above it by no more than this part of it.
    """

    start: Positive
    hold: CountFrom0 = 0
    factor: Factor = 0.7
    cutoff: NotNegative = 0.0

    def at(self, target: float, t: int) -> float:
        """Return the l2 of epoch t."""
        l2 = target + (self.start - target) * self.factor ** max(0, t - self.hold + 1)
        return l2 if l2 > (1.0 + self.cutoff) * target else target


class Duals(NamedTuple):
    """The dual variables and what is kept beside them."""

    theta: Floats  # one per part
    mu: Floats  # one per part: expected counts under theta
    entropy: Floats  # one per example
    eta: Floats  # one per example: its step
    gap: Floats  # one per example: estimate of its share of the gap, at its last visit
    v: Floats  # one per weight
    totals: Floats  # |v|^2, sum_i c_i (tau H_i + cost_i.mu_i), visits

    def copy(self) -> Duals:
        """Copy every array."""
        return Duals(*(array.copy() for array in self))


#: With this theta on its parts a gold label has all the probability, to more than 16 digits.
VERTEX: Final = 50.0
#: Marginals of gold labels differ by less.
_NEAR_GOLD: Final = 1e-3
#: An annealing has settled once its l2 is above the target by at most this part of it, which is
#: the cutoff of `default_annealing` too.
NEAR: Final = 0.1
#: Positions in ``Duals.totals``.
NORM, LINEAR, VISITS = range(3)


class ExponentiatedGradient(Solver):
    """The state of an EG solver and its certificate.

    It starts from the theta of the goal if the goal has a start.

    Parameters
    ----------
    goal : Goal
        What to solve.
    start : float or None
        Otherwise this is the first theta of the parts of the gold labels, and theta is 0
        elsewhere; 0 is the uniform distribution. None: 10, or 3 for the hinge, the values that
        worked best. Too small a number saturates examples; too large a number is slow for the
        hinge, whose steps do not grow with theta. From ``VERTEX`` on, the distributions are the
        gold labels, where w = 0.
    annealing : Annealing, tuple or None
        How l2 approaches its target; a tuple holds the fields of an :class:`Annealing`.
    """

    needs = frozenset({"marginals"})

    @classmethod
    def footprint(
        cls, problem: Problem, l2: float, l1: float, options: dict[str, Any]
    ) -> Footprint:
        # theta and mu, v and w; for the hinge also the mean of v, and w of that.
        vectors = 2 if problem.loss.tau > 0.0 else 4
        # The factor of a product of matrices, while a classifier is evaluated.
        vectors += by_matrix(problem)
        return Footprint(vectors=vectors, parts=2, examples=7)

    def __init__(
        self,
        goal: Goal,
        *,
        start: NotNegative | None = None,
        annealing: Annealing | None = None,
    ) -> None:
        super().__init__(goal)
        problem, n = goal.problem, goal.problem.n_examples
        self.annealing = None if annealing is None else Annealing(*annealing)
        if self.annealing is not None and self.annealing.at(self.l2, 0) == self.l2:
            raise MismatchError(
                f"an annealing from {self.annealing.start:g} never leaves the l2 of {self.l2:g}; "
                "give a larger start, or leave it out"
            )
        if start is None:
            start = first_theta(problem)
        given = goal.theta()
        vertices = given is None and start >= VERTEX
        if given is not None and given.shape != (problem.n_parts,):
            raise DataError(
                f"start has shape {given.shape}; give one number for each of the "
                f"{problem.n_parts} parts"
            )
        theta = problem.room.parts("theta", problem.n_parts)
        mu = problem.room.parts("mu", problem.n_parts)
        if given is not None:
            set_parts(problem, theta, given)
        else:
            set_gold(problem, theta, start)
        if vertices and problem.loss.tau == 0.0 and not self._at_gold(theta, mu):
            vertices = False
            set_gold(problem, theta, first_theta(problem))
        if vertices:
            set_gold(problem, mu, problem.arrays.gold_count)
        self.duals = Duals(
            theta=theta,
            mu=mu,
            entropy=np.zeros(n),
            eta=np.zeros(n),
            gap=np.where(problem.arrays.weight > 0.0, np.inf, 0.0),
            v=np.empty(0),
            totals=np.zeros(3),
        )
        self.epochs = 0
        self.average = IterateAverage(goal.l2)
        if vertices:
            self.rebuild()
        else:
            self.refresh()

    def _at_gold(self, theta: Floats, mu: Floats) -> bool:
        """Return whether theta makes the gold label of every example the best; mu is overwritten.

        Where labels have more or fewer parts and parts are tied, as those of segments, another
        label may use the parts of the gold label more often than that does. Then no theta on them
        comes near the gold label, and all examples are in w from the beginning.
        """
        problem, arrays = self.problem, self.problem.arrays
        self.evaluator.marginals(theta, mu, np.empty(problem.n_examples))
        for first, last in problem.room.sweep(problem.n_examples, problem.room.keeps(mu)):
            count = arrays.gold_count[arrays.gold_ptr[first] : arrays.gold_ptr[last]]
            own = mu[arrays.part_ptr[first] : arrays.part_ptr[last]]
            far = np.abs(mu[gold_places(problem, first, last)] - count).max(initial=0.0)
            if max(far, abs(float(own.sum() - count.sum()))) > _NEAR_GOLD:
                return False
        return True

    @property
    def current_l2(self) -> float:
        """The l2 of the next epoch."""
        return self.annealing.at(self.l2, self.epochs) if self.annealing else self.l2

    @property
    def settled(self) -> bool:
        return self.epochs > 0 and self.last_l2 <= (1.0 + NEAR) * self.l2

    @property
    def last_l2(self) -> float:
        """The l2 of the epoch before."""
        return self.annealing.at(self.l2, self.epochs - 1) if self.annealing else self.l2

    def refresh(self) -> None:
        """Compute mu, H and v from theta alone."""
        self.evaluator.marginals(self.duals.theta, self.duals.mu, self.duals.entropy)
        self.rebuild()

    def rebuild(self) -> None:
        """Compute v and the totals from mu and H, since the running ones drift."""
        v = self.evaluator.dual_sum(self.duals.mu)
        self.duals = self.duals._replace(v=v)
        self.duals.totals[NORM] = inner(v, v)
        self.duals.totals[LINEAR] = self.evaluator.dual_linear(self.duals.mu, self.duals.entropy)

    def running_dual(self, l2: float) -> float:
        """Return D(u) from the running totals."""
        return float(self.duals.totals[LINEAR] - self.duals.totals[NORM] / (2.0 * l2))

    def evaluate(self) -> Evaluation:
        self.refresh()
        weights = self.current_weights()
        weights, primal = self.average.better_weights(self.evaluator, self.l2, weights)
        return Evaluation(weights, primal, self.running_dual(self.l2))

    def current_weights(self) -> Floats:
        # While annealing v / l2 is far off, so the l2 of the last epoch is taken.
        return self.duals.v / self.last_l2

    def dual_point(self) -> DualPoint:
        return DualPoint(self.duals.theta)


def first_theta(problem: Problem) -> float:
    """Return the first theta of the parts of the gold labels that served best."""
    return 10.0 if problem.loss.tau > 0.0 else 3.0


def sum_of_squares(problem: Problem) -> float:
    """Return the sum of the squared values of the features of all sites."""
    value = problem.arrays.design.value
    return float(inner(value, value) if value.size else len(problem.arrays.design.start))


def easy_l2(problem: Problem) -> float:
    """Return half the mean squared norm of a position's features, an l2 for which EG is fast."""
    return 0.5 * sum_of_squares(problem) / max(1, len(problem.arrays.design.site_part))


def is_small(l2: float, easy: float, n_weights: int, n_sites: int) -> bool:
    """Return whether l2 is so small that the proximal form of EG is faster.

    The smaller l2 is, the fewer passes it needs. Where there are four or more positions per weight,
    the weights couple the examples, and the plain form becomes slow at a much larger l2.
    """
    return easy > (3.0 if 4 * n_weights <= n_sites else 50.0) * l2


def refuse_l1_with_hinge(l1: float, tau: float) -> None:
    """Raise a MismatchError if the loss is the hinge and l1 > 0."""
    if l1 > 0.0 and tau == 0.0:
        raise MismatchError(
            "no solver takes l1 > 0 with the hinge loss; use the log or the softmax-margin loss"
        )


def default_annealing(easy: float, l2: float) -> Annealing | None:
    """Return an annealing from an l2 for which EG is fast, or None if the target is near that."""
    return Annealing(easy, cutoff=NEAR) if easy > 2.0 * l2 else None


# The forms of EG that four papers describe.


#: Section 7: every step is halved until the dual improves, then multiplied by 1.05.
_SEARCH: Final = {"start": 0.0, "first_step": 0.5, "halvings": "any"}
#: Their footnote 9, by the code of Collins et al.; untied chains are theirs.
_OEG: Final = {"first_step": 0.5, "halvings": "few", "eta": "search"}

#: Bartlett et al. leave eta to the user; their eta is eta / l2 here.
_BARTLETT: Final = "the eta of 1 of its Figure 4 (b), for C = l2 = 1."

BATCH: Final[Mapping[str, Preset]] = {
    "bartlett2004-figure2": Preset(
        f"Figure 2 of Bartlett et al. (2004): from uniform distributions, with {_BARTLETT}",
        {"start": 0.0, "eta": 1.0},
    ),
    "collins2008-figure1": Preset(
        "Figure 1 of Collins et al. (2008): from uniform distributions, with the longest fixed "
        "step of Theorem 1.",
        {"start": 0.0, "eta": "theorem"},
    ),
}
PRIMAL: Final[Mapping[str, Preset]] = {
    "bartlett2004-primal": Preset(
        f"The primal form of Bartlett et al. (2004), section 3: from z = 0, with {_BARTLETT}",
        {"gold": 0.0, "eta": 1.0},
    )
}
ONLINE: Final[Mapping[str, Preset]] = {
    "bartlett2004-online": Preset(
        "The online form of Bartlett et al. (2004), footnote 1: in the order of the data, from "
        f"uniform distributions, with {_BARTLETT}",
        {"start": 0.0, "order": "deterministic", "eta": 1.0},
    ),
    "collins2008-figure2": Preset(
        "Figures 2 and 3 of Collins et al. (2008): draws with replacement, from uniform "
        "distributions, with the longest fixed step of Theorem 2.",
        {"start": 0.0, "order": "replacement", "eta": "theorem"},
    ),
    "collins2008-mnist": Preset(
        "Section 7.1 of Collins et al. (2008): draws with replacement, every step halved until the "
        "dual improves, then multiplied by 1.05; 0.5 at first.",
        {**_SEARCH, "order": "replacement"},
    ),
    "collins2008-permutation": Preset(
        "The same with a new permutation in each epoch, which is near the counts of Table 2.",
        {**_SEARCH, "order": "permutation"},
    ),
    "collins2008-deterministic": Preset(
        "The same in the order of the data: the deterministic form of section 3 and Figure 7.",
        {**_SEARCH, "order": "deterministic"},
    ),
    "collins2008-annealing": Preset(
        "Section 7.1.1 of Collins et al. (2008), for an l2 of 1: 10 in the first five epochs, then "
        "1 + 9 0.7^(t - 5).",
        {**_SEARCH, "order": "replacement", "annealing": Annealing(10.0, hold=5, factor=0.7)},
    ),
    "collins2008-parsing": Preset(
        "Sections 7.2 and 8 of Collins et al. (2008): as in section 7.1, but the first step is "
        "found by trial on a tenth of the examples.",
        {**_SEARCH, "order": "replacement", "first_step": "trial"},
    ),
    "schmidt2015-oeg": Preset(
        "OEG of Schmidt et al. (2015), footnote 9: a permutation in the first pass and draws with "
        "replacement after it, from a theta of 3 on the parts of the gold labels.",
        {**_OEG, "start": 3.0, "order": "permutation-then-draws"},
    ),
    "schmidt2015-oeg-norp": Preset(
        "OEG-noRP of their appendix D: the same without the permutation.",
        {**_OEG, "start": 3.0, "order": "replacement"},
    ),
    "schmidt2015-oeg-10": Preset(
        "OEG-10 of their appendix D: as OEG, from a theta of 10.",
        {**_OEG, "start": 10.0, "order": "permutation-then-draws"},
    ),
    "yu2011-algorithm8": Preset(
        "Algorithm 8 of Yu, Huang and Lin (2011), with a maxTrial of 10, which they leave to the "
        "user; every label but the gold one starts with 1e-10 of it, as in (51).",
        {**_SEARCH, "start": 10.0 * math.log(10.0), "order": "replacement", "halvings": 10},
    ),
}
