"""Online EG: the same steps as over all labels, an improving dual, one optimum."""

from __future__ import annotations

import itertools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support.instances import (
    LOSSES,
    STRUCTURES,
    Explicit,
    constant,
    divergence,
    make_instance,
    online,
    variants,
)
from support.optima import apart, near_balance, opposed, optimal_duals, step_residual
from support.solvers import solver_of

from partwise.errors import MismatchError
from partwise.problem.evaluation import DualPoint, Evaluator
from partwise.problem.problem import build_problem
from partwise.problem.rows import Rows
from partwise.solvers.dual_points import gold_parts
from partwise.solvers.eg import online as online_eg
from partwise.solvers.eg.base import LINEAR, NORM, VERTEX, VISITS, Annealing, safe_steps
from partwise.solvers.eg.online import ORDERS, OnlineEG, online_eg_epoch
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from partwise.training.loop import train

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_parts_and_labels_take_the_same_steps(
    kind: str, loss: str, options: Any, _name: str
) -> None:
    instance = make_instance(kind, loss, 1, **options)
    explicit = Explicit(instance, 0.8)
    machine = online(instance, 0.8, start=2.0, eta="safe", order="deterministic")
    eta = np.linspace(0.1, 0.4, len(instance.lengths))
    machine.duals.eta[:] = eta
    u = explicit.distributions(machine.duals.theta)
    for _ in range(8):
        epoch = machine.epoch()
        u = explicit.online(u, eta, range(len(u)))
        for got, expected in zip(explicit.distributions(machine.duals.theta), u, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-9)
        np.testing.assert_allclose(machine.duals.v, explicit.dual_sum(u), atol=1e-9)
        assert epoch.dual == pytest.approx(explicit.dual(u), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_values_by_enumeration(kind: str, loss: str, options: Any, _name: str) -> None:
    instance = make_instance(kind, loss, 7, **options)
    explicit = Explicit(instance, 0.4)
    machine = online(instance, 0.4)
    for _ in range(6):
        machine.epoch()
        value = machine.evaluate()
        u = explicit.distributions(machine.dual_point().theta)
        assert value.dual == pytest.approx(explicit.dual(u), rel=1e-10, abs=1e-10)
        assert value.primal == pytest.approx(explicit.primal(value.weights), rel=1e-10)
        assert value.dual <= value.primal + 1e-10 * abs(value.primal)


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
@pytest.mark.parametrize("eta", ["theorem", "safe", "search"])
def test_the_dual_improves(kind: str, loss: str, options: Any, _name: str, eta: str) -> None:
    instance = make_instance(kind, loss, 2, **options)
    machine = online(instance, 0.3, start=1.0, eta=eta)
    duals = [machine.running_dual(0.3)]
    for _ in range(30):
        duals.append(machine.epoch().dual)
        value = machine.evaluate()
        assert value.dual == pytest.approx(duals[-1], rel=1e-10, abs=1e-10)
        assert value.dual <= value.primal + 1e-10 * abs(value.primal)
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))
    assert duals[-1] > duals[0]


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
@pytest.mark.parametrize("entry", [3.0, 0.5])
def test_examples_enter_at_their_first_visit(
    kind: str,
    loss: str,
    options: Any,
    _name: str,
    entry: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(online_eg, "_ENTRY", entry)
    instance = make_instance(kind, loss, 2, **options)
    machine = online(instance, 0.3, order="replacement")
    assert not machine.current_weights().any()
    assert machine.evaluate().dual == pytest.approx(0.0, abs=1e-12)
    duals = [0.0]
    for _ in range(12):
        duals.append(machine.epoch().dual)
        value = machine.evaluate()
        assert value.dual == pytest.approx(duals[-1], rel=1e-10, abs=1e-10)
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))
    assert np.isfinite(machine.duals.gap).all()


@pytest.mark.parametrize("l2", [1.0, 0.01])
@pytest.mark.parametrize(("kind", "share"), [("multiclass", 0.6), ("chain", 0.3)])
def test_a_first_visit_with_the_hinge_gains_what_it_can(kind: str, share: float, l2: float) -> None:
    """No theta on the gold label would let its step gain much more."""
    instance = make_instance(kind, "hinge", 5, n=8)
    explicit = Explicit(instance, l2)
    gold = gold_parts(instance.problem, 1.0)
    for i in range(8):
        machine = online(instance, l2)
        before = machine.duals.copy()
        visit(machine, i, 5)
        eta = machine.duals.eta[i] / 1.05
        found = explicit.dual(explicit.distributions(machine.duals.theta))
        own = slice(*instance.problem.arrays.part_ptr[i : i + 2])
        best = 0.0
        for at in np.linspace(0.5, 20.0, 100):
            theta = before.theta.copy()
            theta[own] = at * gold[own] + eta * instance.problem.arrays.cost[own]
            best = max(best, explicit.dual(explicit.distributions(theta)))
        assert found > share * best > 0.0


def test_an_example_stays_at_its_gold_label_while_that_is_best() -> None:
    """Large weights separate: the other example is visited, and nothing of it changes."""
    rows = Rows.from_dense(np.array([[4.0], [4.0]]))
    gold = [np.array([0]), np.array([0])]
    problem = build_problem(Multiclass(2), [1, 1], [rows], gold, LOSSES["hinge"])
    machine = solver_of(OnlineEG, problem, 0.1)
    for _ in range(400):
        visit(machine, 0, 5)
    visit(machine, 1, 5)
    theta = machine.duals.theta[2:]
    np.testing.assert_array_equal(theta, [VERTEX, 0.0])
    assert machine.duals.gap[1] == 0.0
    # It enters in the next fit, which needs it.
    point = DualPoint(np.concatenate([[VERTEX, 0.0], theta]))
    again = solver_of(OnlineEG, problem, 0.1, point=point)
    assert np.abs(again.current_weights()).max() < 1e-18
    visit(again, 1, 5)
    assert 0.0 < again.duals.theta[2] < VERTEX
    assert np.abs(again.current_weights()).max() > 1e-3


def visit(machine: OnlineEG, i: int, halvings: int = 0) -> None:
    """One visit, by default with the step that the example has."""
    machine._visit(np.array([i]), machine.duals, machine.l2, halvings)


@pytest.mark.parametrize("loss", LOSSES)
def test_theorem_2_on_average(loss: str) -> None:
    instance = make_instance("multiclass", loss, 3)
    n = len(instance.lengths)
    explicit = Explicit(instance, 2.0)
    tau = instance.loss.tau
    eta = 1.0 / (tau + explicit.largest())
    optimum, gap = optimal_duals(explicit)
    best = explicit.dual(optimum)

    behind = []
    for seed in range(20):
        machine = online(instance, 2.0, seed, start=0.0, eta="safe", order="replacement")
        machine.duals.eta[:] = eta
        first = explicit.distributions(machine.duals.theta)
        behind.append([best - machine.epoch().dual for _ in range(30)])
    visits = n * np.arange(1, 31)
    constant = divergence(optimum, first) / eta + best - explicit.dual(first)
    assert np.min(behind) >= -gap - 1e-12
    assert (np.mean(behind, axis=0) <= n / visits * constant).all()
    if tau:
        allowed = np.exp(-eta * tau * visits / n) * constant
        assert (np.mean(behind, axis=0) <= allowed + 1e-12).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_steps_of_figure_2(loss: str) -> None:
    """Lemmas 2 and 10 hold for the function of one example that a visit moves."""
    instance = make_instance("multiclass", loss, 4)
    n = len(instance.lengths)
    explicit = Explicit(instance, 2.0)
    eta = 1.0 / (instance.loss.tau + explicit.largest())
    machine = online(instance, 2.0, start=0.0, eta="safe")
    machine.duals.eta[:] = eta
    u = explicit.distributions(machine.duals.theta)
    for i in np.random.default_rng(0).integers(n, size=60):
        visit(machine, i)
        before, u = u, explicit.distributions(machine.duals.theta)
        plain = explicit.online(before, np.full(n, eta), [i])
        for got, expected in zip(u, plain, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-10)
        z = list(before)
        z[i] = before[i][::-1]
        assert abs(step_residual(explicit, eta, before, u, z)) <= 1e-11
        assert explicit.dual(u) - explicit.dual(before) >= divergence(before, u) / eta - 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_theorem_2_where_it_is_tight(loss: str) -> None:
    """Examples that share no feature: the mean over all orders is known.

    An example has been visited k of T times with the probability of a binomial distribution. From
    next to the gold labels, with next to no features, the bounds are nearly reached; steps of
    0.3 eta, the bounds still those of eta, break them.
    """
    n = 3
    instance = apart(n, 1e-3, loss)
    explicit = Explicit(instance, 1.0)
    tau = instance.loss.tau
    eta = 0.5
    assert eta <= 1.0 / (tau + explicit.largest())
    optimum, _ = optimal_duals(explicit)
    best = explicit.dual(optimum)

    def tightest(share: float) -> float:
        """The largest part of its bound that is left to be done on average after T visits."""
        machine = online(instance, 1.0, start=20.0, eta="safe", order="deterministic")
        machine.duals.eta[:] = share * eta
        first = explicit.distributions(machine.duals.theta)
        constant = divergence(optimum, first) / eta + best - explicit.dual(first)
        behind = np.empty((n, 181))  # what each example lacks after k visits
        for k in range(behind.shape[1]):
            for i, p in enumerate(explicit.distributions(machine.duals.theta)):
                behind[i, k] = best - explicit.dual([*optimum[:i], p, *optimum[i + 1 :]])
            machine.epoch()
        parts = []
        for t in range(1, behind.shape[1]):
            chance = binom.pmf(np.arange(t + 1), t, 1.0 / n)
            bound = n / t * constant
            if tau:
                bound = min(bound, np.exp(-eta * tau * t / n) * constant)
            parts.append(float((behind[:, : t + 1] @ chance).sum()) / bound)
        return max(parts)

    assert tightest(1.0) <= 1.0
    assert tightest(0.3) > 1.1


@pytest.mark.parametrize("loss", LOSSES)
def test_the_largest_step_of_theorem_2(loss: str) -> None:
    """Where |A| is attained, Lemma 2 fails for steps that are a third too long."""
    instance = opposed(3, loss)
    explicit = Explicit(instance, 0.01)
    eta = 1.0 / (instance.loss.tau + explicit.largest())
    theta = near_balance(instance, explicit).reshape(3, -1)
    theta[1:, theta[0] == 0.2] = 0.0  # the others are in balance

    def holds(share: float) -> bool:
        machine = online(instance, 0.01, point=DualPoint(theta.ravel()), eta="safe")
        machine.duals.eta[:] = share * eta
        before = explicit.distributions(theta.ravel())
        visit(machine, 0)
        after = explicit.distributions(machine.duals.theta)
        gain = explicit.dual(after) - explicit.dual(before)
        return gain >= divergence(before, after) / (share * eta)

    assert [holds(share) for share in (0.3, 1.0, 1.33, 3.0, 10.0)] == [True] * 2 + [False] * 3


@pytest.mark.parametrize("loss", LOSSES)
def test_the_steps_that_are_proven(loss: str) -> None:
    # A classifier attains both bounds: of |A_ii| it is 2 |x_i|^2 / l2, and half the diameter's.
    instance = make_instance("multiclass", loss, 3, weighted=True)
    explicit = Explicit(instance, 0.7)
    tau = instance.loss.tau
    size = explicit.weight * np.array([np.abs(g @ g.T).max() / 0.7 for g in explicit.g])
    steps = {eta: online(instance, 0.7, eta=eta).duals.eta for eta in ("theorem", "safe")}
    np.testing.assert_allclose(steps["theorem"], 1.0 / (tau + size.max()), rtol=1e-12)
    apart = [max(np.sum((a - b) ** 2) for a in g for b in g) / 0.7 for g in explicit.g]
    expected = 1.0 / np.maximum(tau + explicit.weight * np.array(apart) / 4.0, 1e-300)
    np.testing.assert_allclose(steps["safe"], expected, rtol=1e-12)
    assert (steps["safe"] >= 1.0 / np.maximum(tau + size, 1e-300)).all()


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_lemma_7(kind: str, loss: str, seed: int) -> None:
    """B_Q of one example, by enumeration, between mu and tau times the divergence."""
    instance = make_instance(kind, loss, seed, weighted=seed % 2 == 0, constrained=seed > 1)
    explicit = Explicit(instance, 0.2)
    rng = np.random.default_rng(seed)
    steps = {eta: online(instance, 0.2, eta=eta).duals.eta for eta in ("theorem", "safe")}
    for i, (c, g) in enumerate(zip(explicit.weight, explicit.g, strict=True)):
        for _ in range(20):
            p, q = rng.dirichlet(np.full(len(g), 0.3), 2) + 1e-12
            p, q = p / p.sum(), q / q.sum()
            d = divergence([p], [q])
            bend = explicit.tau * d + c * float(((p - q) @ g) @ ((p - q) @ g)) / (2.0 * 0.2)
            assert explicit.tau * d <= bend + 1e-12
            for eta in steps.values():
                assert bend <= d / eta[i] + 1e-9


def test_a_fixed_eta_takes_every_change() -> None:
    """Figure 3 with a number: the same steps as over all labels, even where the dual falls."""
    instance = make_instance("chain", "log", 4)
    explicit = Explicit(instance, 0.2)
    machine = online(instance, 0.2, start=0.0, order="deterministic", eta=0.9)
    u = explicit.distributions(machine.duals.theta)
    duals = []
    for _ in range(5):
        epoch = machine.epoch()
        u = explicit.online(u, np.full(len(u), 0.9), range(len(u)))
        assert epoch.dual == pytest.approx(explicit.dual(u), rel=1e-7)
        assert epoch.passes == 1.0
        duals.append(epoch.dual)
    assert min(np.diff(duals)) < 0.0
    np.testing.assert_array_equal(machine.duals.eta, 0.9)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"eta": 0.5, "first_step": 0.5}, "first_step"),
        ({"eta": "safe", "halvings": "few"}, "halvings"),
    ],
)
def test_what_only_a_search_uses_is_refused_without_one(options: Any, name: str) -> None:
    with pytest.raises(MismatchError, match=f"{name} is for steps that are searched for, and eta"):
        online(make_instance(), 1.0, **options)


@pytest.mark.parametrize("loss", LOSSES)
def test_halving_without_a_cap(loss: str) -> None:
    """Section 7: halved until the dual improves, then times 1.05, with no bounds on the steps."""
    instance = make_instance("chain", loss, 9, n=10)
    machine = online(instance, 1e-3, start=10.0, halvings="any", order="deterministic")
    machine.duals.eta[:] = first = 2.0**40
    before = machine.running_dual(1e-3)
    epoch = machine.epoch()
    assert epoch.dual >= before
    halved = first * 1.05 / machine.duals.eta
    np.testing.assert_allclose(np.log2(halved), np.round(np.log2(halved)), atol=1e-9)
    assert np.log2(halved).max() > 5.0  # "few" would have given this visit up
    assert epoch.passes == pytest.approx(1.0 + np.log2(halved).mean())


def test_a_visit_is_given_up_after_so_many_trials() -> None:
    """Algorithm 8 of Yu, Huang and Lin (2011): maxTrial, and only a step that is taken grows."""
    instance = make_instance("multiclass", "log", 9, n=10)
    for trials in (2, 5):
        machine = online(instance, 1e-3, start=10.0, halvings=trials, order="deterministic")
        machine.duals.eta[:] = 2.0**40
        before = machine.running_dual(1e-3)
        epoch = machine.epoch()
        assert epoch.dual == pytest.approx(before, rel=1e-12)
        assert epoch.passes == trials
        np.testing.assert_allclose(machine.duals.eta, 2.0 ** (40 - trials), rtol=1e-12)


def test_steps_without_bounds_grow_beyond_1() -> None:
    machine = online(make_instance("multiclass", scale=1e-3), 1.0, start=0.0, halvings="any")
    for k in range(1, 16):
        machine.epoch()
        np.testing.assert_allclose(machine.duals.eta, 0.5 * 1.05**k)
    assert machine.duals.eta[0] > 1.0


def test_steps_are_carried_from_fit_to_fit() -> None:
    problem = make_instance("chain", n=10).problem
    fit = train(problem, 0.01, solver="online-eg", tol=1e-3)
    assert fit.dual_point.steps is not None
    assert len(set(fit.dual_point.steps)) > 1
    instance = make_instance("chain", n=10)
    again = online(instance, 0.01, point=fit.dual_point, first_step="carried")
    np.testing.assert_array_equal(again.duals.eta, fit.dual_point.steps)
    for point in (DualPoint(fit.dual_point.theta), None):
        plain = online(instance, 0.01, point=point, first_step="carried")
        np.testing.assert_array_equal(plain.duals.eta, 0.5)


STARTS = (
    {"start": 0.0},
    {"start": 3.0},
    {"start": 5.0},
    {"start": 10.0},
    {"first_step": "trial"},
    {"first_step": 0.01},
    {"annealing": Annealing(5.0, hold=1, factor=0.7)},
)


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
def test_all_ways_lead_to_one_optimum(kind: str, loss: str) -> None:
    instance = make_instance(kind, loss, 6, n=12, weighted=True, constrained=kind == "chain")
    tol = 1e-7 if instance.loss.tau else 1e-3
    orders = [o for o in ORDERS if o != "focused" or instance.loss.tau]
    ways = list(itertools.product(orders, STARTS))
    primals = []
    for order, options in ways if loss == "log" else ways[::3]:
        fit = train(
            instance.problem,
            1.0,
            solver="online-eg",
            tol=tol,
            max_passes=2000,
            options={"order": order, **options},
        )
        assert fit.certificate.converged
        primals.append(fit.certificate.primal)
    np.testing.assert_allclose(primals, min(primals), rtol=tol)


def test_the_safe_step_leads_there_too() -> None:
    problem = make_instance("multiclass", "softmax-margin", 6).problem
    fits = [train(problem, 2.0, tol=1e-8, options={"eta": eta}) for eta in ("safe", "search")]
    assert fits[0].certificate.primal == pytest.approx(fits[1].certificate.primal, rel=1e-8)
    assert all(fit.certificate.converged for fit in fits)


@pytest.mark.parametrize("solver", ["online-eg", "smo-eg"])
def test_the_hinge_goes_on_where_gains_are_lost_in_rounding(solver: str) -> None:
    lengths = (2, 3, 4, 5) * 2 + (3, 3)
    instance = make_instance("untied", "hinge", 1, n=10, n_features=100, lengths=lengths)
    fit = train(instance.problem, 0.5, solver=solver, tol=1e-3, max_passes=12000)
    assert fit.certificate.converged


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_iterates_are_averaged_where_the_loss_is_not_smooth(loss: str) -> None:
    machine = online(make_instance("chain", loss, 1), 0.5)
    for _ in range(5):
        machine.epoch()
    assert machine.average.added == (5 if loss == "hinge" else 0)


def test_focused_refuses_the_hinge() -> None:
    instance = make_instance("multiclass", "hinge", 0)
    with pytest.raises(MismatchError, match="use order='permutation'"):
        online(instance, 1.0, order="focused")


SMOOTH = [(loss, order) for loss in LOSSES for order in ORDERS if loss != "hinge"]


@pytest.mark.parametrize(
    ("loss", "order"), [*SMOOTH, *(("hinge", o) for o in ORDERS if o != "focused")]
)
def test_the_running_totals_do_not_drift(loss: str, order: str) -> None:
    instance = make_instance("chain", loss, 8, n=20, weighted=True)
    machine = online(instance, 0.05, order=order)
    for _ in range(300):
        machine.epoch()
    running = machine.duals.copy()
    machine.refresh()
    np.testing.assert_allclose(running.v, machine.duals.v, atol=1e-8)
    np.testing.assert_allclose(running.mu, machine.duals.mu, atol=1e-10)
    for total in (NORM, LINEAR):
        assert running.totals[total] == pytest.approx(machine.duals.totals[total], rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_visit_that_is_given_up_changes_nothing(loss: str) -> None:
    # A huge step from the gold label overshoots; the two halvings of the first epoch do not help.
    instance = make_instance("chain", loss, 9, n=10)
    machine = online(instance, 1e-3, start=10.0)
    machine.duals.eta[:] = 1e6
    before = machine.duals.copy()
    epoch = machine.epoch()
    after = machine.duals
    pieces = [np.split(d.theta, instance.problem.arrays.part_ptr[1:-1]) for d in (before, after)]
    given_up = np.array([(a == b).all() for a, b in zip(*pieces, strict=True)])
    assert given_up.any()
    assert epoch.passes > 1.0
    fresh = Evaluator(instance.problem).dual_sum(after.mu)
    scale = np.abs(fresh).max()
    np.testing.assert_allclose(after.v, fresh, atol=1e-10 * scale)
    assert after.totals[NORM] == pytest.approx(fresh @ fresh, rel=1e-10)
    if given_up.all():
        np.testing.assert_allclose(after.v, before.v, atol=1e-10 * scale)
        np.testing.assert_array_equal(after.mu, before.mu)


def test_trial_steps_put_the_duals_back() -> None:
    instance = make_instance("chain", n=30)
    tried = online(instance, 0.1, first_step="trial")
    plain = online(instance, 0.1)
    for name in ("theta", "mu", "entropy", "v"):
        np.testing.assert_array_equal(getattr(tried.duals, name), getattr(plain.duals, name))
    assert len(set(tried.duals.eta)) == 1
    assert 0.0 < tried.duals.eta[0] <= 1.0
    assert tried.epoch().passes > 1.0  # the trial's visits are counted


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [0.1, 30.0])
def test_a_trial_finds_the_step_that_the_features_bear(loss: str, scale: float) -> None:
    """|A| grows with the square of the features: 1 is far too long where they are large."""
    instance = make_instance("multiclass", loss, n=300, scale=scale, weighted=True)
    machine = online(instance, 1.0, first_step="trial")
    eta = float(machine.duals.eta[0])
    safe = safe_steps(instance.problem, 1.0)
    if scale < 1.0:
        assert eta == 1.0
        return
    assert safe.min() / 2 < eta < 0.2
    # Twice the step is too long for more than one example in twenty.
    rng = np.random.default_rng(0)
    sample = rng.permutation(np.flatnonzero(instance.problem.arrays.weight))[:29]
    improved = []
    for step in (eta, 2.0 * eta):
        again = online(instance, 1.0, first_step=0.5)
        if again.entry < 1.0:
            again._visit(sample, again.duals, 1.0, 0)
        again.duals.eta[:] = step
        improved.append(again._visit(sample, again.duals, 1.0, 0) / len(sample))
    assert improved[0] >= 0.95 > improved[1]


def test_steps_stay_in_their_bounds() -> None:
    for loss in LOSSES:
        instance = make_instance("chain", loss)
        tau = instance.loss.tau
        machine = online(instance, 0.05)
        for _ in range(100):
            machine.epoch()
        eta = machine.duals.eta
        assert (eta > 0).all()
        least = np.minimum(1e-3, safe_steps(instance.problem, 0.05))
        np.testing.assert_array_equal(machine.least, least)
        assert (eta >= least).all()
        assert (eta <= (1.0 / tau if tau else np.inf)).all()


def test_examples_without_weight_do_not_count() -> None:
    instance = make_instance("chain", weighted=True, n=8)
    machine = online(instance, 0.5)
    theta = machine.duals.theta.copy()
    for _ in range(3):
        assert machine.epoch().passes < 2.0
    last = instance.problem.arrays.part_ptr[-2]
    np.testing.assert_array_equal(machine.duals.theta[last:], theta[last:])


@pytest.mark.parametrize("order", ["permutation", "focused"])
def test_examples_without_weight_do_not_hide_the_gap(order: str) -> None:
    machine = online(make_instance("chain", weighted=True, n=8), 0.5, order=order)
    for _ in range(20):
        epoch = machine.epoch()
    value = machine.evaluate()
    assert epoch.gap_estimate < 100 * (value.primal - value.dual) + 1e-6


def test_draws_after_one_permutation() -> None:
    machine = online(make_instance("chain", n=40), 0.5, order="permutation-then-draws")
    same = online(make_instance("chain", n=40), 0.5, order="permutation")
    first, second = [], []
    for seen in (first, second):
        epoch = machine._draw()
        seen.extend(epoch.tolist())
        machine.epoch()
    assert sorted(first) == list(range(40))
    assert len(second) == 40 > len(set(second))
    machine = online(make_instance("chain", n=40), 0.5, order="permutation-then-draws")
    machine.epoch()
    same.epoch()
    np.testing.assert_array_equal(machine.duals.theta, same.duals.theta)


def test_focus_leaves_solved_examples_out() -> None:
    instance = make_instance("multiclass", n=60)
    machine = online(instance, 0.1, order="focused")
    visited = []
    for _ in range(30):
        visited.append(machine.epoch().passes)
    assert min(visited[5:]) < 0.9
    # ... but not for ever: within three epochs every theta moves.
    before = machine.duals.theta.copy()
    for _ in range(3):
        machine.epoch()
    pieces = [np.split(x, 60)[i] for x in (before, machine.duals.theta) for i in range(60)]
    assert all((a != b).any() for a, b in zip(pieces[:60], pieces[60:], strict=True))


def test_one_compilation_serves_all() -> None:
    for number, (kind, loss) in enumerate(itertools.product(STRUCTURES, LOSSES)):
        for options in (
            {"real": True, "weights": "observed", "constrained": True},
            {"real": False, "weighted": True},
            {"real": bool(number % 2), "constrained": bool(number % 3), "weights": "observed"},
        ):
            problem = make_instance(kind, loss, **options).problem
            train(problem, 1.0, tol=0.1)
    assert len(online_eg_epoch.signatures) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_an_example_without_positions(loss: str) -> None:
    lengths = np.array([2, 0, 3, 0])
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(5, 3)))
    gold = [np.array([0, 1]), np.zeros(0, np.int64), np.array([1, 1, 0]), np.zeros(0, np.int64)]
    structure = Chain(2, tied=True)
    features = [rows, constant(), constant(), constant()]
    problem = build_problem(structure, lengths, features, gold, LOSSES[loss])
    machine = solver_of(OnlineEG, problem, 1.0)
    for _ in range(30):
        epoch = machine.epoch()
    value = machine.evaluate()
    assert 0.0 <= value.primal - value.dual < 0.5
    assert np.isfinite(epoch.gap_estimate)


@pytest.mark.parametrize("loss", LOSSES)
def test_how_often_a_step_is_halved(loss: str) -> None:
    """By default twice at a visit in the first epoch and five times later, then it is given up."""
    instance = make_instance("chain", loss, 9, n=10)
    given_up = 0
    for i in range(10):
        machine = online(instance, 1e-3, start=10.0)
        for epochs, halvings in ((0, 2), (1, 5)):
            machine.epochs = epochs
            machine.duals.eta[:] = 2.0**30
            theta, visits = machine.duals.theta.copy(), machine.duals.totals[VISITS]
            visit(machine, i, machine.halvings[epochs])
            if (machine.duals.theta == theta).all():
                assert machine.duals.totals[VISITS] - visits == 1 + halvings
                assert machine.duals.eta[i] == (
                    1.0 / instance.loss.tau if instance.loss.tau else 1e6
                )
                given_up += 1
    assert given_up > 3
