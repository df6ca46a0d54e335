"""Batch EG, and what Theorem 1 of Collins et al. (2008) says about it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.instances import (
    LOSSES,
    STRUCTURES,
    Explicit,
    batch,
    divergence,
    make_instance,
    online,
    variants,
)
from support.optima import apart, bregman, near_balance, opposed, optimal_duals, step_residual
from support.solvers import solver_of
from support.structure_cases import rows_for

from partwise.errors import MismatchError
from partwise.problem.evaluation import DualPoint, Evaluator
from partwise.problem.example_arrays import make_topologies
from partwise.problem.losses import make_loss
from partwise.problem.problem import build_problem
from partwise.solvers.eg.base import Annealing, default_annealing
from partwise.solvers.eg.batch import BatchEG
from partwise.solvers.eg.online import OnlineEG
from partwise.structures.grammar.structure import Grammar
from partwise.training.loop import train

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_parts_and_labels_take_the_same_steps(
    kind: str, loss: str, options: Any, _name: str
) -> None:
    instance = make_instance(kind, loss, 1, **options)
    explicit = Explicit(instance, 0.8)
    machine = batch(instance, 0.8, start=2.0, eta="safe")
    machine.eta = 0.3
    u = explicit.distributions(machine.duals.theta)
    for _ in range(12):
        epoch = machine.epoch()
        u = explicit.batch(u, 0.3)
        for got, expected in zip(explicit.distributions(machine.duals.theta), u, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-9)
        np.testing.assert_allclose(machine.duals.v, explicit.dual_sum(u), atol=1e-9)
        assert epoch.dual == pytest.approx(explicit.dual(u), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("seed", "share"), [(0, 1.0), (1, 0.25), (2, 1.0)])
def test_theorem_1(kind: str, loss: str, seed: int, share: float) -> None:
    instance = make_instance(kind, loss, seed)
    explicit = Explicit(instance, 2.0)
    tau = instance.loss.tau
    eta = share / (tau + len(instance.lengths) * explicit.largest())
    optimum, gap = optimal_duals(explicit)
    best = explicit.dual(optimum)

    machine = batch(instance, 2.0, start=0.0, eta="safe")
    machine.eta = eta
    u = plain = explicit.distributions(machine.duals.theta)
    distance = divergence(optimum, u)
    for step in range(1, 31):
        behind = best - machine.epoch().dual
        before, u = u, explicit.distributions(machine.duals.theta)
        plain = explicit.batch(plain, eta)
        for got, expected in zip(u, plain, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-10)
        # (9), for two places z: both sides are sums of terms of the size of D[z||u].
        for z in (optimum, [p[::-1] for p in before]):
            left = step_residual(explicit, eta, before, u, z)
            assert abs(left) <= 1e-11 * (1.0 + divergence(z, before))
        # Lemma 2
        assert explicit.dual(u) - explicit.dual(before) >= divergence(before, u) / eta - 1e-12
        # (6), which holds for every z in place of u*, and the second half
        assert -gap - 1e-12 <= behind <= distance / (eta * step) + 1e-12
        if tau:
            assert behind <= np.exp(-eta * tau * step) / eta * distance + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
def test_theorem_1_where_it_is_tight(loss: str) -> None:
    """From next to the gold labels, with next to no features, the bounds are nearly reached.

    Steps of 0.3 eta, the bounds still those of eta, break them.
    """
    instance = apart(3, 1e-3, loss)
    explicit = Explicit(instance, 1.0)
    tau = instance.loss.tau
    eta = 0.5
    assert eta <= 1.0 / (tau + 3 * explicit.largest())
    optimum, _ = optimal_duals(explicit)
    best = explicit.dual(optimum)

    def tightest(share: float) -> float:
        """The largest part of its bound that any step leaves to be done."""
        machine = batch(instance, 1.0, start=20.0, eta="safe")
        machine.eta = share * eta
        distance = divergence(optimum, explicit.distributions(machine.duals.theta))
        parts = []
        for step in range(1, 61):
            behind = best - machine.epoch().dual
            bound = distance / (eta * step)
            if tau:
                bound = min(bound, np.exp(-eta * tau * step) / eta * distance)
            parts.append(behind / bound)
        return max(parts)

    assert tightest(1.0) <= 1.0
    assert tightest(0.3) > 1.1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n", [1, 4])
def test_the_largest_step_of_theorem_1(loss: str, n: int) -> None:
    """Where |A| is attained, Lemma 2 fails for steps that are a third too long."""
    instance = opposed(n, loss)
    explicit = Explicit(instance, 0.01)
    eta = 1.0 / (instance.loss.tau + n * explicit.largest())

    def holds(share: float) -> bool:
        theta = near_balance(instance, explicit)
        machine = batch(instance, 0.01, point=DualPoint(theta), eta="safe")
        machine.eta = share * eta
        before = explicit.distributions(theta)
        machine.epoch()
        after = explicit.distributions(machine.duals.theta)
        gain = explicit.dual(after) - explicit.dual(before)
        return gain >= divergence(before, after) / (share * eta)

    assert [holds(share) for share in (0.3, 1.0, 1.33, 3.0, 10.0)] == [True] * 2 + [False] * 3


@pytest.mark.parametrize("loss", LOSSES)
def test_the_steps_that_are_proven(loss: str) -> None:
    # A classifier attains both bounds: of |A| it is 2 |x|^2 / l2, and half the diameter's.
    instance = make_instance("multiclass", loss, 3)
    tau = instance.loss.tau
    explicit = Explicit(instance, 0.7)
    apart = [max(np.sum((a - b) ** 2) for a in g for b in g) / 0.7 for g in explicit.g]
    theorem, safe = (batch(instance, 0.7, eta=eta).eta for eta in ("theorem", "safe"))
    assert theorem == pytest.approx(1.0 / (tau + 6 * explicit.largest()), rel=1e-12)
    assert safe == pytest.approx(1.0 / (tau + sum(apart) / 4.0), rel=1e-12)
    assert safe > theorem


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_lemmas_3_and_4(kind: str, loss: str, seed: int) -> None:
    """B_Q of all examples, by enumeration, is at most tau times the divergence."""
    instance = make_instance(kind, loss, seed)
    explicit = Explicit(instance, 0.2)
    rng = np.random.default_rng(seed)
    largest = explicit.tau + len(instance.lengths) * explicit.largest()
    steps = [batch(instance, 0.2, eta=eta).eta for eta in ("theorem", "safe")]
    for _ in range(20):
        pair = [rng.dirichlet(np.full(len(g), 0.3), 2) + 1e-12 for g in explicit.g]
        p, q = ([row[k] / row[k].sum() for row in pair] for k in (0, 1))
        bend, d = bregman(explicit, p, q), divergence(p, q)
        assert explicit.tau * d <= bend + 1e-12
        assert bend <= largest * d + 1e-9
        for eta in steps:
            assert bend <= d / eta + 1e-9


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
@pytest.mark.parametrize("eta", ["theorem", "safe"])
def test_proven_steps_improve_the_dual(
    kind: str, loss: str, options: Any, _name: str, eta: str
) -> None:
    instance = make_instance(kind, loss, 2, **options)
    machine = batch(instance, 0.3, start=1.0, eta=eta)
    duals = [machine.running_dual(0.3)] + [machine.epoch().dual for _ in range(40)]
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("first_step", [0.01, 0.5, 50.0])
def test_the_search_never_loses(loss: str, first_step: float) -> None:
    machine = batch(make_instance("chain", loss, 4), 0.1, first_step=first_step)
    duals = [machine.running_dual(0.1)]
    for _ in range(60):
        epoch = machine.epoch()
        duals.append(epoch.dual)
        assert epoch.passes >= 1.0
        assert epoch.gap_estimate >= 0.0
        value = machine.evaluate()
        assert value.dual <= value.primal + 1e-10 * abs(value.primal)
    assert all(b >= a - 1e-12 * abs(a) for a, b in pairwise(duals))


@pytest.mark.parametrize("kind", STRUCTURES)
def test_batch_and_online_have_one_optimum(kind: str) -> None:
    problem = make_instance(kind, "softmax-margin", 5, weighted=True, constrained=True).problem
    fits = [
        train(problem, 0.5, solver="batch-eg", tol=1e-9, options=options)
        for options in ({}, {"start": 0.0}, {"annealing": Annealing(5.0, hold=2, factor=0.5)})
    ]
    primal = train(problem, 0.5, solver="online-eg", tol=1e-9).certificate.primal
    for fit in fits:
        assert fit.certificate.converged
        assert fit.certificate.primal == pytest.approx(primal, rel=1e-8)


def test_trials_are_passes() -> None:
    machine = batch(make_instance("chain"), 0.01, first_step=1.0, start=0.0)
    passes = [machine.epoch().passes for _ in range(5)]
    assert passes[0] > 1.0
    assert all(float(p).is_integer() for p in passes)


# Section 7.1.1: C = 10 for t <= 5 and C = 1 + 9 x 0.7^(t - 5) afterwards, t counted from 1.
PUBLISHED = (10.0, 10.0, 10.0, 10.0, 10.0, 7.3, 5.41, 4.087, 3.1609, 2.51263)


def test_annealing_as_published() -> None:
    schedule = OnlineEG.presets["collins2008-annealing"].options["annealing"]
    assert [schedule.at(1.0, k) for k in range(10)] == pytest.approx(PUBLISHED)
    for k in (30, 50):  # to the end, where it is within 0.1% and 1e-6 of the target
        assert schedule.at(1.0, k) == pytest.approx(1.0 + 9.0 * 0.7 ** (k - 4), rel=1e-14)
        assert schedule.at(1.0, k) > 1.0
    assert schedule.at(1.0, 200) == 1.0


def test_the_epochs_of_an_annealing_use_its_values() -> None:
    for make in (batch, online):
        options = {"annealing": Annealing(10.0, hold=5)}
        machine = make(make_instance("chain", "softmax-margin"), 1.0, **options)  # type: ignore[operator]
        assert not machine.settled
        used = [machine.epoch().l2 for _ in range(10)]
        assert used == pytest.approx(PUBLISHED)
        assert not machine.settled
        for _ in range(20):
            machine.epoch()
        assert machine.settled


def test_the_cutoff_of_an_annealing() -> None:
    schedule = Annealing(10.0, hold=5, cutoff=0.1)
    at = [schedule.at(1.0, k) for k in range(18)]
    assert at[:10] == pytest.approx(PUBLISHED)
    # 1 + 9 x 0.7^12 = 1.1246 is beyond it, and 1 + 9 x 0.7^13 = 1.0872 is not.
    assert at[15:] == [pytest.approx(1.0 + 9.0 * 0.7**11), pytest.approx(1.0 + 9.0 * 0.7**12), 1.0]
    assert default_annealing(10.0, 1.0) == Annealing(10.0, 0, 0.7, 0.1)
    assert default_annealing(2.0, 1.0) is None


@pytest.mark.parametrize(
    "annealing", [(1.0,), (0.5,), (1.05, 3, 0.7, 0.1), (1.1, 3, 0.7, 0.1), (10.0, 0, 0.0)]
)
def test_an_annealing_that_never_leaves_its_target_is_refused(annealing: Any) -> None:
    for make in (batch, online):
        with pytest.raises(MismatchError, match=r"never leaves the l2 of 1; give a larger start"):
            make(make_instance(), 1.0, annealing=annealing)  # type: ignore[operator]


@pytest.mark.parametrize("loss", LOSSES)
def test_on_several_processors(loss: str) -> None:
    """Section 9: examples are shared out among threads, and the steps are the same."""
    problem = make_instance("chain", loss, 2, n=40, weighted=True).problem
    how: dict[str, Any] = {"solver": "batch-eg", "tol": 1e-300, "max_passes": 20, "quiet": True}
    fits = [train(problem, 0.5, n_jobs=n_jobs, **how) for n_jobs in (1, 3)]
    np.testing.assert_allclose(fits[1].weights, fits[0].weights, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("loss", LOSSES)
def test_what_the_dual_lacks_bounds_what_the_primal_does(kind: str, loss: str) -> None:
    """Section 9 and footnote 12: the primal lacks as much, but for a factor, or the root of it.

    l2/2 |w - w*|^2 is at most what the dual lacks. P bends by at most l2 + sum_i diameter_i^2 /
    (4 tau), and for the hinge its slope is at most l2 |w| + sum_i reach_i.
    """
    l2, instance = 2.0, make_instance(kind, loss, 1)
    explicit = Explicit(instance, l2)
    optimum, gap = optimal_duals(explicit)
    best, tau = explicit.dual(optimum), instance.loss.tau
    machine = batch(instance, l2, start=0.0)
    for _ in range(60):
        machine.epoch()
        u = explicit.distributions(machine.duals.theta)
        w = explicit.dual_sum(u) / l2
        lacks = best + gap - explicit.dual(u)
        if tau:
            bend = l2 + float((instance.problem.diameter**2).sum()) / (4.0 * tau)
            allowed = bend / l2 * lacks
        else:
            slope = l2 * np.linalg.norm(w) + float(instance.problem.reach.sum())
            allowed = slope * np.sqrt(2.0 * lacks / l2)
        assert explicit.primal(w) - best - gap <= allowed + 1e-9


def test_a_grammar_whose_parts_are_rules_at_their_places() -> None:
    """Example 2 of Bartlett et al. (2004): the dual and its steps over all derivations."""
    grammar = Grammar(
        3, rules=[(0, 1, 2), (0, 0, 1), (1, 2, 0)], lexical=[0, 1, 2], starts=[0], anchored=True
    )
    lengths, l2, eta = [3, 4, 1, 3], 0.8, 0.2
    rng = np.random.default_rng(0)
    topologies = make_topologies(grammar, lengths)
    trees = [grammar.k_best(np.zeros(grammar.n_parts(t)), t, 1000)[1] for t in topologies]
    gold = [found[rng.integers(len(found))] for found in trees]
    rows = rows_for(grammar, topologies, rng)
    problem = build_problem(grammar, lengths, rows, gold, make_loss("hinge", grammar.n_labels))
    a = problem.arrays
    counts, costs = [], []
    for i, (found, topo) in enumerate(zip(trees, topologies, strict=True)):
        held = np.zeros((len(found), grammar.n_parts(topo)))
        for row, tree in zip(held, found, strict=True):
            parts, times = grammar.encode(tree, topo)
            row[parts] = times
        counts.append(held)
        costs.append(held @ a.cost[a.part_ptr[i] : a.part_ptr[i + 1]])
    assert max(len(held) for held in counts) == 10
    machine, evaluator = solver_of(BatchEG, problem, l2, start=0.0, eta=eta), Evaluator(problem)
    u = [np.full(len(held), 1.0 / len(held)) for held in counts]
    for _ in range(10):
        mu = np.concatenate([p @ held for p, held in zip(u, counts, strict=True)])
        v = evaluator.dual_sum(mu)
        np.testing.assert_allclose(machine.duals.mu, mu, atol=1e-11)
        dual = sum(p @ cost for p, cost in zip(u, costs, strict=True)) - v @ v / (2.0 * l2)
        assert machine.running_dual(l2) == pytest.approx(dual, rel=1e-11)
        q = np.split(evaluator.scores(v / l2), a.part_ptr[1:-1])
        u = [p * np.exp(eta * held @ part) for p, held, part in zip(u, counts, q, strict=True)]
        u = [p / p.sum() for p in u]
        machine.epoch()
