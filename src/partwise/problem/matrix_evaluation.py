"""Primal and dual values of classifiers, by products of the matrix X of the features.

The scores of all examples are X W, and v is X^T S with S_i = c_i (gold_i - mu_i), one row per
example. For two classes only the difference of the scores matters, so one vector does the work of
two: z = X (w_1 - w_0), and v_1 = -v_0 = X^T s. With D the derivatives of the marginals by the
scores, the products of the Hessian of the losses are exact:

    sum_i c_i F_i^T D_i F_i d,    D_i = (diag(mu_i) - mu_i mu_i^T) / tau

X is in compressed rows, also where few of its entries are 0: ten numbers per feature leave hardly
anything to gain by blocks as BLAS has them, and its sums depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..compiled.exponential import exp_into
from ..compiled.jit import FAST, njit
from ..compiled.lanes import LINE
from .evaluation import Evaluator, Slope, not_finite
from .matrix_products import Matrix, add_rows, add_squares, multiply, squares_cost
from .problem import Problem
from .sweeps import Dial

__all__ = ["MatrixEvaluator", "make_evaluator"]

#: Scores that are kept at a time: they stay in the cache until they are summed up.
_SCORES: Final = 1 << 15


def by_matrix(problem: Problem) -> bool:
    """Return whether a problem is a classifier that matrix products can evaluate.

    That needs a smooth loss, a weight for every feature and label, no forbidden labels, and all
    examples in memory.
    """
    arrays = problem.arrays
    return (
        problem.structure.name == "multiclass"
        and problem.max_parts > 1
        and arrays.tau > 0.0
        and not arrays.mask.size
        and not arrays.design.slot.size
        and not problem.room.on_disk
    )


def make_evaluator(problem: Problem, n_jobs: int = 1) -> Evaluator:
    """Return the evaluator that is fastest for a problem.

    Parameters
    ----------
    problem : Problem
        What to evaluate.
    n_jobs : int
        How many threads; -1 means one per core.
    """
    kind = MatrixEvaluator if by_matrix(problem) else Evaluator
    return kind(problem, n_jobs)


class MatrixEvaluator(Evaluator):
    """Computes primal and dual values of a classifier by matrix products.

    Parameters
    ----------
    problem : Problem
        What to evaluate; `by_matrix` says whether it can be.
    n_jobs : int
        How many threads; -1 means one per core.
    """

    def __init__(self, problem: Problem, n_jobs: int = 1) -> None:
        super().__init__(problem, n_jobs)
        design, self.n_labels = problem.arrays.design, problem.max_parts
        self.block = problem.storage.n_places // max(1, problem.layout.n_features[0])
        lines = (self.n_labels + LINE - 1) // LINE
        self.x = Matrix(
            design.entry_ptr,
            design.start // np.uint32(self.block),
            design.value,
            problem.layout.n_features[0],
            1 if self.n_labels == 2 else lines * LINE,
        )

    def _factor(self, weights: Floats, width: int = 0) -> Floats:
        """Return W; for two classes the second vector minus the first, unless width is given."""
        table, width = weights.reshape(-1, self.block), width or self.x.width
        if width == 1:
            with np.errstate(over="ignore"):  # scores that are not finite are found later
                return table[:, 1] - table[:, 0]
        out = np.zeros((len(table), width))
        out[:, : self.n_labels] = table[:, : self.n_labels]
        return out.ravel()

    def _room(self, n: int, width: int = 0) -> tuple[Floats, int]:
        """Return room for the scores of a stretch of n examples, and how many that has."""
        width = width or self.x.width
        most = max(1, _SCORES // width)
        return np.empty(min(n, most) * width), most

    def _stored(self, sums: Floats) -> Floats:
        """Return sums of `width` numbers per feature in the places of the weights."""
        v = self.problem.storage.zeros()
        table = v.reshape(-1, self.block)
        if self.x.width == 1:
            table[:, 1] = sums
            np.negative(sums, out=table[:, 0])
        else:
            table[:, : self.n_labels] = sums.reshape(-1, self.x.width)[:, : self.n_labels]
        return v

    def _gather(self, rows: Floats, first: int, last: int, sums: Floats) -> None:
        """Add X^T S to the sums for the rows of some examples; each thread adds to some columns."""

        def task(begin: int, end: int) -> None:
            add_rows(self.x, rows, first, last, sums, begin, end)

        self.run(0, self.x.n_columns, task)

    def slope(self, weights: Floats, dial: Dial | None = None, into: Floats | None = None) -> Slope:
        problem, x, n = self.problem, self.x, self.problem.n_examples
        dial = dial or self._own_dial()
        w, mu = self._factor(weights), np.empty(0) if into is None else into
        losses, linear = np.empty(n), np.empty(n)
        sums = np.zeros(x.n_columns * x.width)
        rows, most = self._room(n)
        for first in range(0, n, most):
            last = min(first + most, n)

            def task(begin: int, end: int, first: int = first) -> int:
                run = first, begin, end
                multiply(x, w, rows, *run)
                return int(_settle(problem.arrays, x, dial, rows, *run, mu, losses, linear))

            bad = [i for i in self.run(first, last, task) if i >= 0]
            if bad:
                raise not_finite(bad[0])
            self._gather(rows, first, last, sums)
        return Slope(weights, losses, linear, self._stored(sums))

    def losses(self, weights: Floats) -> Floats:
        problem, x, n = self.problem, self.x, self.problem.n_examples
        w, losses, nothing = self._factor(weights), np.empty(n), np.empty(0)
        dial = self._own_dial()

        def task(begin: int, end: int) -> None:
            rows, most = self._room(end - begin, x.width)
            while begin < end:
                run = begin, begin, min(begin + most, end)
                multiply(x, w, rows, *run)
                bad = _settle(problem.arrays, x, dial, rows, *run, nothing, losses, nothing)
                if bad >= 0:
                    losses[bad] = np.nan
                begin = run[2]

        self.run(0, n, task)
        return losses

    def scores(self, weights: Floats, dial: Dial | None = None) -> Floats:
        problem, lines = self.problem, (self.n_labels + LINE - 1) // LINE
        theta = problem.room.parts("theta", problem.n_parts)
        x, dial = self.x._replace(width=lines * LINE), dial or self._own_dial()
        w = self._factor(weights, x.width)

        def task(begin: int, end: int) -> None:
            rows, most = self._room(end - begin, x.width)
            while begin < end:
                run = begin, begin, min(begin + most, end)
                multiply(x, w, rows, *run)
                _turn(problem.arrays, x.width, dial, rows, *run, theta)
                begin = run[2]

        self.run(0, problem.n_examples, task)
        return theta

    def dual_sum(self, mu: Floats) -> Floats:
        problem, x, n = self.problem, self.x, self.problem.n_examples
        rows, most = self._room(n)
        v = problem.storage.zeros()
        # mu may be any numbers, so that two classes have two vectors.
        for label in range(2 if x.width == 1 else 1):
            sums = np.zeros(x.n_columns * x.width)
            for first in range(0, n, most):
                last = min(first + most, n)
                _differences(problem.arrays, x.width, mu, label, rows, first, last)
                self._gather(rows, first, last, sums)
            some = slice(label, label + 1) if x.width == 1 else slice(self.n_labels)
            table = sums.reshape(-1, x.width)
            v.reshape(-1, self.block)[:, some] = table[:, : self.n_labels]
        return v

    def curvature(self, mu: Floats, direction: Floats) -> Floats:
        """Compute sum_i c_i F_i^T D_i F_i d, with D_i the derivatives of mu_i by the scores.

        Parameters
        ----------
        mu : ndarray
            The marginals of all examples.
        direction : ndarray
            Stored numbers d, one per weight.
        """
        problem, x, n = self.problem, self.x, self.problem.n_examples
        d, sums = self._factor(direction), np.zeros(x.n_columns * x.width)
        rows, most = self._room(n)
        for first in range(0, n, most):
            last = min(first + most, n)

            def task(begin: int, end: int, first: int = first) -> None:
                run = first, begin, end
                multiply(x, d, rows, *run)
                _bend(problem.arrays, x, mu, rows, *run)

            self.run(first, last, task)
            self._gather(rows, first, last, sums)
        return self._stored(sums)

    def newton_step(self, mu: Floats, gradient: Floats, l2: float) -> Floats | None:
        """Solve (l2 + sum_i c_i F_i^T D_i F_i) d = -gradient by a Cholesky decomposition.

        Returns None where rounding leaves no positive definite matrix: l2 is lost beside features
        that are huge. Products with the matrix are of use even then.

        Parameters
        ----------
        mu : ndarray
            The marginals of all examples.
        gradient : ndarray
            Stored numbers, one per weight.
        l2 : float
            The regulariser.
        """
        from scipy.linalg import cho_factor, cho_solve  # slow to import

        squares = add_squares(self.problem.arrays, self.x, mu)
        squares[np.diag_indices_from(squares)] += l2
        table = gradient.reshape(-1, self.block)
        two = self.x.width == 1
        right = (table[:, 1] - table[:, 0]) / math.sqrt(2.0) if two else table[:, : self.n_labels]
        try:
            factor = cho_factor(squares, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        d = -cho_solve(factor, right.ravel())
        step = self.problem.storage.zeros()
        out = step.reshape(-1, self.block)
        if two:
            # What the vectors of both classes share has only the regulariser.
            shared = (table[:, 0] + table[:, 1]) / (-2.0 * l2)
            out[:, 0], out[:, 1] = shared - d / math.sqrt(2.0), shared + d / math.sqrt(2.0)
        else:
            out[:, : self.n_labels] = d.reshape(-1, self.n_labels)
        return step

    def newton_cost(self) -> float:
        """Return how many calls of `curvature` take about as long as a `newton_step`."""
        return squares_cost(self.x, self.n_labels)


# A dial stands for theta = score (q + r_cost cost + r_gold [gold]) with q = F_i w, so that
# log Z / score is log Z of what is in the brackets, at the temperature 1/score.


@njit(fastmath=FAST)
def _settle(
    a: Any, x: Any, dial: Any, rows: Any, first: int, begin: int, end: int, mu: Any, losses: Any,
    linear: Any,
) -> Any:  # fmt: skip
    """Turn scores into c_i (gold_i - mu_i), and fill in mu_i, losses and tau H_i + cost_i.mu_i.

    mu and linear are left out where they are empty. The terms of losses and entropies are positive,
    so that nothing cancels. Returns the first example whose scores are not finite, or -1.
    """
    if x.width == 1:
        return _settle_two(a, dial, rows, first, begin, end, mu, losses, linear)
    return _settle_many(a, x.width, dial, rows, first, begin, end, mu, losses, linear)


@njit(fastmath=FAST)
def _settle_two(
    a: Any, dial: Any, rows: Any, first: int, begin: int, end: int, mu: Any, losses: Any,
    linear: Any,
) -> Any:  # fmt: skip
    """Do the work of `_settle` for two classes, whose scores are 0 and z.

    u = theta_1 - theta_0,    log Z - max_k theta_k = log(1 + exp(-|u|)),
    H = log(1 + exp(-|u|)) + |u| / (1 + exp(|u|))
    """
    costly, r_cost, r_gold = a.cost.size > 0, dial.cost / dial.score, dial.gold / dial.score
    lead, small = np.empty(end - begin), np.empty(end - begin)
    for i in range(begin, end):
        ahead = rows[i - first]
        if costly:
            ahead += r_cost * (a.cost[2 * i + 1] - a.cost[2 * i])
        if r_gold != 0.0:
            for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
                ahead += r_gold if a.gold_part[g] == 1 else -r_gold
        if not math.isfinite(ahead):
            return i
        lead[i - begin], small[i - begin] = ahead, -abs(dial.score * ahead)
    exp_into(small, small, 0.0)
    for i in range(begin, end):
        z, ahead, e, one = rows[i - first], lead[i - begin], small[i - begin], 0.0
        up = 0.0  # the larger theta / score, less gold.q
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            if a.gold_part[g] == 1:
                one += a.gold_count[g]
            if (a.gold_part[g] == 1) == (ahead > 0.0):
                up += r_gold
        zero = 1.0 - one
        log_z, less, more = math.log1p(e), e / (1.0 + e), 1.0 / (1.0 + e)
        m0, m1 = (less, more) if ahead > 0.0 else (more, less)
        cost0, cost1 = (a.cost[2 * i], a.cost[2 * i + 1]) if costly else (0.0, 0.0)
        up += zero * z + r_cost * cost1 if ahead > 0.0 else r_cost * cost0 - one * z
        losses[i] = log_z / dial.score + up
        if linear.size > 0:
            linear[i] = a.tau * (log_z + abs(dial.score * ahead) * less) + m0 * cost0 + m1 * cost1
        if mu.size > 0:
            mu[2 * i], mu[2 * i + 1] = m0, m1
        rows[i - first] = a.weight[i] * (one * m0 - zero * m1)
    return -1


@njit(fastmath=FAST)
def _settle_many(
    a: Any, width: int, dial: Any, rows: Any, first: int, begin: int, end: int, mu: Any,
    losses: Any, linear: Any,
) -> Any:  # fmt: skip
    """Do the work of `_settle` for three classes or more.

    With m = max_k theta_k:  log Z - m = log sum_k exp(theta_k - m),
    H = log Z - m + sum_k mu_k (m - theta_k)
    """
    n_labels, costly = a.spec[0], a.cost.size > 0
    r_cost, r_gold = dial.cost / dial.score, dial.gold / dial.score
    far = np.empty(width)
    far[n_labels:] = -np.inf
    for i in range(begin, end):
        at, c = (i - first) * width, a.weight[i]
        q = rows[at : at + width]
        gold, most = 0.0, -np.inf
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            gold += a.gold_count[g] * q[a.gold_part[g]]
        if costly:
            for k in range(n_labels):
                q[k] += r_cost * a.cost[n_labels * i + k]
        if r_gold != 0.0:
            for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
                q[a.gold_part[g]] += r_gold
        finite = True
        for k in range(n_labels):
            finite = finite and math.isfinite(q[k])
            most = max(most, q[k])
        if not finite:
            return i
        for k in range(n_labels):
            far[k] = dial.score * (q[k] - most)
        exp_into(q, far, 0.0)
        z = spread = cost = 0.0
        for k in range(width):
            z += q[k]
        log_z = math.log(z)
        losses[i] = log_z / dial.score + (most - gold)
        for k in range(width):
            q[k] /= z
        if linear.size > 0:
            for k in range(n_labels):
                spread -= q[k] * far[k]
            if costly:
                for k in range(n_labels):
                    cost += q[k] * a.cost[n_labels * i + k]
            linear[i] = a.tau * (log_z + spread) + cost
        if mu.size > 0:
            for k in range(n_labels):
                mu[n_labels * i + k] = q[k]
        for k in range(width):
            q[k] *= -c
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            q[a.gold_part[g]] += c * a.gold_count[g]
    return -1


@njit(fastmath=FAST)
def _turn(
    a: Any, width: int, dial: Any, rows: Any, first: int, begin: int, end: int, theta: Any
) -> None:
    """Turn scores into theta_i, for the examples in [begin, end)."""
    n_labels = a.spec[0]
    for i in range(begin, end):
        at, own = (i - first) * width, theta[n_labels * i : n_labels * (i + 1)]
        for k in range(n_labels):
            own[k] = dial.score * rows[at + k]
        if a.cost.size > 0:
            for k in range(n_labels):
                own[k] += dial.cost * a.cost[n_labels * i + k]
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            own[a.gold_part[g]] += dial.gold


@njit(fastmath=FAST)
def _differences(a: Any, width: int, mu: Any, label: int, rows: Any, first: int, last: int) -> None:
    """Set the rows to c_i (gold_i - mu_i) for examples in [first, last), or to that of a label."""
    n_labels = a.spec[0]
    for i in range(first, last):
        at, c = (i - first) * width, a.weight[i]
        if width == 1:
            rows[at] = -c * mu[2 * i + label]
        else:
            for k in range(n_labels):
                rows[at + k] = -c * mu[n_labels * i + k]
            for k in range(n_labels, width):
                rows[at + k] = 0.0
        for g in range(a.gold_ptr[i], a.gold_ptr[i + 1]):
            if width > 1:
                rows[at + a.gold_part[g]] += c * a.gold_count[g]
            elif a.gold_part[g] == label:
                rows[at] += c * a.gold_count[g]


@njit(fastmath=FAST)
def _bend(a: Any, x: Any, mu: Any, rows: Any, first: int, begin: int, end: int) -> None:
    """Turn the scores of a direction into c_i/tau (diag(mu_i) - mu_i mu_i^T) times them."""
    n_labels, width = a.spec[0], x.width
    for i in range(begin, end):
        at, c = (i - first) * width, a.weight[i] / a.tau
        if width == 1:
            rows[at] *= c * mu[2 * i] * mu[2 * i + 1]
            continue
        q, own = rows[at : at + n_labels], mu[n_labels * i : n_labels * (i + 1)]
        mean = 0.0
        for k in range(n_labels):
            mean += own[k] * q[k]
        for k in range(n_labels):
            q[k] = c * own[k] * (q[k] - mean)
