"""Yu, Huang and Lin 2011 (002): the sub-problem of one variable, and the claims in words."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problems import Floats
from .courses import Limits, Method, follow
from .documents import SHAPES, Documents, documents, problem_of
from .figure import Claim, Curve, Figure, Outcome, Panel, compare

if TYPE_CHECKING:
    from partwise.problem.problem import Problem
    from partwise.solvers.coordinate.dual import DualCoordinateDescent

#: a, b, c1 and c2 of a sub-problem whose minimum is close to c2.
EXAMPLE = (1.0, -4.0, 1.0, 1.0)


def slope(z: Floats) -> Floats:
    """Return g' of the example (20)."""
    a, b, c1, c2 = EXAMPLE
    found: Floats = a * z + b + np.log((c1 + z) / (c2 - z))
    return found


def newton_path(z: float, steps: int) -> tuple[list[float], list[float]]:
    """Return the path of plain Newton steps (19): down the tangent, up to the curve."""
    a, _, c1, c2 = EXAMPLE
    x, y = [z], [float(slope(np.array(z)))]
    for _ in range(steps):
        z -= y[-1] / (a + (c1 + c2) / ((c1 + z) * (c2 - z)))
        x.append(z)
        y.append(0.0)
        if not -c1 < z < c2:
            break
        x.append(z)
        y.append(float(slope(np.array(z))))
    return x, y


def _figure_1(quick: bool) -> Outcome:
    _, _, c1, c2 = EXAMPLE
    z = np.linspace(-c1 + 1e-3, c2 - 1e-3, 400)
    panels, ends = [], []
    for title, start in (("from the correct side", 0.98), ("from the wrong side", -0.3)):
        path = newton_path(start, 5)
        ends.append(path[0][-1])
        curves = [Curve("g'(z)", list(z), list(slope(z))), Curve("Newton steps", *path, True)]
        panels.append(Panel(title, "z", "g'(z)", curves))
    claims = [
        compare("From the correct side Newton steps stay inside and converge.",
                f"after 5 steps z = {ends[0]:.6f}, g' = {slope(np.array(ends[0])):.1e}",
                bool(-c1 < ends[0] < c2 and abs(slope(np.array(ends[0]))) < 1e-6)),
        compare("From the wrong side a step may walk outside the interval.",
                f"the interval ends at {c2:g}, a step at {ends[1]:.3g}", ends[1] >= c2),
    ]  # fmt: skip
    a, b, *_ = EXAMPLE
    return Outcome(f"One sub-problem: a = {a:g}, b = {b:g}, c1 = c2 = 1.", panels, claims)


def _machine(problem: Problem, l2: float, **options: Any) -> DualCoordinateDescent:
    from partwise.problem.evaluation import Evaluator
    from partwise.solvers.coordinate.dual import DualCoordinateDescent
    from partwise.solvers.goal import Goal

    goal = Goal(problem, l2, Evaluator(problem), np.random.default_rng(0), tol=1e-12)
    return DualCoordinateDescent(goal, **options)


def _sweep(problem: Problem, tol: float, **options: Any) -> tuple[float, float]:
    """Return the seconds and the Newton steps of a visit in the first sweep; the best of 5."""
    best, steps = math.inf, 0
    for _ in range(5):
        machine = _machine(problem, 1e-3, group=False, start="uniform", **options)
        order = np.arange(len(machine.contexts.first))
        began = time.process_time()
        steps = machine.blocks.epoch(order, tol)[1]
        # The clock of the process may stand still for a few milliseconds.
        best = min(best, max(time.process_time() - began, 1e-9))
    return best / len(order), steps / len(order)


def _table_1(quick: bool) -> Outcome:
    """With a larger xi the same sub-problems take more Newton steps."""
    rng = np.random.default_rng(0)
    rows, looks, steps = [], [], []
    for features in (10, 100, 1000):
        m = 2_000_000 // features // (100 if quick else 1)
        problem = problem_of_dense(rng.normal(size=(m, features)) / math.sqrt(features), rng)
        looks.append(_sweep(problem, math.inf)[0])
        few, many = (_sweep(problem, 1e-2, xi=xi) for xi in (0.1, 0.9))
        steps.append((many[0] - few[0]) / (many[1] - few[1]))
        rows.append([f"{features:,}", f"{1e9 * looks[-1]:.0f}", f"{1e9 * steps[-1]:.1f}"])
    claims = [
        compare("Constructing the sub-problem costs O(n).",
                f"from n = 100 to 1,000 the cost grows {looks[2] / looks[1]:.1f} times",
                None if quick else 4.0 < looks[2] / looks[1] < 15.0, "too small to measure"),
        compare("Finding a Newton direction costs O(1).",
                ", ".join(f"{row[2]} ns with n = {row[0]}" for row in rows),
                None if quick else max(steps) < 2.0 * min(steps), "too small to measure"),
    ]  # fmt: skip
    header = ["n", "ns for the sub-problem", "ns for a Newton step"]
    return Outcome("Dense random rows, two classes.", (), claims, header, rows)


def problem_of_dense(x: Floats, rng: np.random.Generator) -> Problem:
    """Return two random classes of dense rows."""
    from scipy import sparse

    return problem_of(sparse.csr_matrix(x), rng.integers(0, 2, size=len(x)))


def _passes(found: Documents, optimum: float, **options: Any) -> float:
    """Return the passes to a relative difference of 0.01."""
    options = {"order": "permutation", "once": True, "group": False, **options}
    limits = Limits(1000.0, 30.0, optimum=optimum * 1.01)
    return (
        follow(found.problem, found.l2, Method("", "", "dual-cd", options), limits)
        .points[-1]
        .passes
    )


def _claims(quick: bool) -> Outcome:
    found = documents(SHAPES[0], quick)
    machine = _machine(found.problem, found.l2, group=False)
    while (epoch := machine.epoch()).gap_estimate > 1e-8 * abs(epoch.dual):
        pass
    value = machine.evaluate()
    alpha = machine.blocks.alpha[np.arange(len(found.y)), 1 - found.y]
    small = float(np.mean(alpha < 0.1))
    starts = {}
    for start in ("near-gold", "keerthi", "uniform"):
        at = _machine(found.problem, found.l2, group=False, start=start).evaluate()
        starts[start] = (value.dual - at.dual) / value.primal
    words = ", ".join(f"{k} {v:.3g}" for k, v in starts.items())
    orders = {order: _passes(found, value.primal, order=order)
              for order in ("sequence", "permutation")}  # fmt: skip
    claims = [
        compare("Many alpha_i are close to 0 at the optimum.",
                f"{100 * small:.0f}% are below C / 10", small > 0.5),
        compare("The start C/2 is far away from the optimum; that of (36) is closer.",
                f"how much the dual is below its optimum, relative to that: {words}",
                starts["near-gold"] < starts["uniform"]),
        compare("Random permutations converge better than sequential updates.",
                ", ".join(f"{k}: {v:g} passes to 0.01" for k, v in orders.items()),
                orders["permutation"] <= orders["sequence"]),
        _large_c(found, quick),
        _cancellation(),
        *_heaps(quick),
    ]  # fmt: skip
    data = "Small generated documents" if quick else "a9a"
    return Outcome(f"{data}; heaps: random blocks; cancellation: one sub-problem.", (), claims)


def _large_c(found: Documents, quick: bool) -> Claim:
    """With a large C the products (Q alpha)_i are far smaller than C."""
    c = 1e5
    machine = _machine(found.problem, 2.0 / c, group=False)
    for _ in range(20 if quick else 200):
        machine.epoch()
    w = found.difference(found.problem.storage.gather(machine.evaluate().weights))
    largest = float(np.abs(found.x @ w).max())
    return compare(
        "With C = 1e5 the (Q alpha)_i are a few hundreds or thousands, not as large as C.",
        f"the largest is {largest:.3g}",
        largest < 1e4,
    )


def _cancellation() -> Claim:
    """Algorithm 3 loses a distance that Algorithm 4 keeps."""
    from partwise.solvers.coordinate.subproblem import METHODS, Newton, solve_subproblem

    a, b, c1, c2 = 1e-3, 150.0, 1e5 - 1e-3, 1e-3
    found = {}
    for name in ("plain", "modified"):
        newton = Newton(METHODS.index(name))
        z1, z2, _ = solve_subproblem(a, b, c1, c2, b + math.log(c1 / c2), 1e-8, newton)
        found[name] = abs(math.log(z1 / z2) + a * (z1 - c1) + b)
    return compare(
        "Where alpha_i + z is close to 0, Algorithm 3 ends in a catastrophic cancellation, which "
        "Algorithm 4 avoids.",
        f"C = 1e5: |g'| = {found['plain']:.1e} with Algorithm 3, {found['modified']:.1e} with 4",
        found["plain"] > 1.0 > 1e-6 > found["modified"],
    )


def _heaps(quick: bool) -> list[Claim]:
    """Seconds of a block with heaps beside those with a scan, by the number of labels."""
    rng = np.random.default_rng(0)
    claims = []
    for n_labels in (20, 2_000):
        n = 5 if quick else max(20, 20_000 // n_labels)
        taken = {}
        for block in ("violating", "heap"):
            taken[block] = min(_block_seconds(block, n_labels, n, rng) for _ in range(3))
        ratio = taken["heap"] / taken["violating"]
        few = n_labels == 20
        says = "do not pay with few labels" if few else "are useful if |Y| is large"
        claims.append(
            compare(
                f"Heaps {says} (footnote 9).",
                f"|Y| = {n_labels:,}: {ratio:.2f} of the seconds of a scan",
                None if quick else (ratio > 1.0) == few,
                "too small to measure",
            )
        )
    return claims


def _block_seconds(block: str, n_labels: int, n: int, rng: np.random.Generator) -> float:
    from partwise.solvers.coordinate.multiplier import PAIRS, solve_by_pairs
    from partwise.solvers.coordinate.subproblem import Newton

    room, heap = np.empty((3, n_labels)), np.empty((4, n_labels), dtype=np.int64)
    k, total = np.array([20.0]), 0.0
    for _ in range(n):
        alpha, q = rng.dirichlet(np.ones(n_labels)), 3.0 * rng.normal(size=n_labels)
        z, g = alpha.copy(), np.log(alpha) - q
        began = time.perf_counter()
        solve_by_pairs(alpha, q, k, 0.1, 1e-2, Newton(), PAIRS.index(block), z, g, room, heap)
        total += time.perf_counter() - began
    return total


FIGURES: tuple[Figure, ...] = (
    Figure("002", "table 1", "the cost of operations at a Newton iteration", _table_1),
    Figure("002", "figure 1", "Newton steps for a root of g'", _figure_1),
    Figure("002", "claims", "logistic regression and its sub-problem", _claims),
)
