from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.instances import Explicit, Instance, make_instance
from support.solvers import solver_of

from partwise.arrays import Floats
from partwise.errors import MismatchError
from partwise.solvers.margin.atoms import Atoms, atom_score, gold_atoms, grown, keep_atom
from partwise.solvers.margin.frank_wolfe import FrankWolfe
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")


def make(kind: str, l2: float = 1.0, **options: Any) -> FrankWolfe:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    return solver_of(FrankWolfe, problem, l2, **options)


def mixture(machine: FrankWolfe, i: int) -> tuple[np.ndarray, float]:
    """The labels of an example, mixed, and their weight together."""
    a, atoms = machine.problem.arrays, machine.atoms
    mixed = np.zeros(a.part_ptr[i + 1] - a.part_ptr[i])
    weight = 0.0
    for slot in range(i * machine.room, i * machine.room + atoms.used[i]):
        own = slice(atoms.begin[slot], atoms.begin[slot] + atoms.size[slot])
        np.add.at(mixed, atoms.part[own], atoms.alpha[slot] * atoms.times[own])
        weight += atoms.alpha[slot]
    return mixed, weight


class Plain:
    """The steps over all labels: one distribution for each example, all of it on gold at first."""

    def __init__(self, instance: Instance, l2: float, pairwise: bool) -> None:
        self.labels = Explicit(instance, l2)
        self.pairwise = pairwise
        self.u = []
        for counts, gold, (lo, hi) in zip(
            self.labels.counts,
            np.split(instance.problem.arrays.gold_part, instance.problem.arrays.gold_ptr[1:-1]),
            itertools.pairwise(instance.problem.arrays.part_ptr),
            strict=True,
        ):
            mine = np.zeros(hi - lo)
            mine[gold] = 1.0
            self.u.append((np.abs(counts.astype(bool) - mine).sum(axis=1) == 0.0).astype(float))
            assert self.u[-1].sum() == 1.0

    def scores(self, i: int) -> Floats:
        e = self.labels
        return e.costs[i] - e.g[i] @ e.dual_sum(self.u) / e.l2

    def clear(self, i: int) -> bool:
        """Whether the worst label, and the best of those with weight, are one label each."""
        q = np.sort(self.scores(i))
        kept = np.sort(self.scores(i)[self.u[i] > 0.0])
        return bool(q[-1] - q[-2] > 1e-6 and (len(kept) < 2 or kept[1] - kept[0] > 1e-6))

    def visit(self, i: int) -> None:
        """Go towards the worst label by an exact line search; (y - mu) or (y - the best label)."""
        e, u = self.labels, self.u[i]
        c, q = e.weight[i], self.scores(i)
        way, most = -u, 1.0
        kept = np.flatnonzero(u > 0.0)
        best = kept[np.argmin(q[kept])]
        if self.pairwise and q[best] < q @ u:
            way, most = np.zeros_like(u), u[best]
            way[best] = -1.0
        way[np.argmax(q)] += 1.0
        d = c * way @ e.g[i]
        step = e.l2 * c * (q @ way) / (d @ d) if d @ d > 0.0 else most
        self.u[i] = np.maximum(u + max(min(step, most), 0.0) * way, 0.0)
        self.u[i][self.u[i] < 1e-13] = 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairwise", [True, False])
def test_parts_and_labels_take_the_same_steps(
    kind: str, pairwise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = make_instance(kind, "hinge", 1, weighted=True, constrained=True)
    problem = instance.problem
    machine = solver_of(FrankWolfe, problem, 0.7, pairwise=pairwise)
    plain = Plain(instance, 0.7, pairwise)
    live = np.flatnonzero(problem.arrays.weight)
    visits = 0
    for i in np.random.default_rng(1).choice(live, size=80):
        if not plain.clear(int(i)):
            continue
        visits += 1
        monkeypatch.setattr(machine, "draw", lambda i=i: np.array([i]))
        epoch = machine.epoch()
        plain.visit(int(i))
        marginals = [u @ counts for u, counts in zip(plain.u, plain.labels.counts, strict=True)]
        np.testing.assert_allclose(machine.mu, np.concatenate(marginals), atol=1e-9)
        assert epoch.dual == pytest.approx(plain.labels.dual(plain.u), rel=1e-9, abs=1e-10)
    assert visits > 15


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pairwise": False},
        {"sampling": "uniform"},
        {"room": 2},
    ],
)
def test_the_optimum_is_that_of_eg(kind: str, options: dict[str, Any]) -> None:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    expected = train(problem, 5.0, solver="online-eg", tol=1e-4, max_passes=5000).certificate
    found = train(
        problem, 5.0, solver="bcfw", tol=1e-4, max_passes=5000, options=options
    ).certificate
    assert expected.converged
    assert found.converged
    assert max(expected.dual, found.dual) <= min(expected.primal, found.primal) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairwise", [True, False])
def test_the_dual_rises_and_the_totals_are_true(kind: str, pairwise: bool) -> None:
    machine = make(kind, pairwise=pairwise)
    last = 0.0
    for _ in range(15):
        dual = machine.epoch().dual
        assert dual >= last - 1e-10
        value = machine.evaluate()
        assert value.dual == pytest.approx(dual, rel=1e-9)
        assert value.dual <= value.primal + 1e-9
        last = dual


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_marginals_agree(kind: str) -> None:
    machine = make(kind, l2=0.1, room=50)
    a = machine.problem.arrays
    for _ in range(10):
        machine.epoch()
    for i in np.flatnonzero(a.weight):
        mixed, weight = mixture(machine, i)
        assert weight == pytest.approx(1.0, abs=1e-12)
        own = machine.mu[a.part_ptr[i] : a.part_ptr[i + 1]]
        np.testing.assert_allclose(mixed, own, atol=1e-12)


def test_the_lightest_label_makes_room() -> None:
    machine = make("chain", l2=0.05, room=3)
    for _ in range(30):
        machine.epoch()
    assert machine.atoms.used.max() == 3
    for i in np.flatnonzero(machine.problem.arrays.weight):
        mixed, weight = mixture(machine, i)
        assert -1e-12 <= weight <= 1.0 + 1e-12
        own = slice(*machine.problem.arrays.part_ptr[i : i + 2])
        assert (machine.mu[own] - mixed >= -1e-12).all()


def test_shares_of_the_gap_add_up() -> None:
    machine = make("chain", l2=20.0)
    for _ in range(400):
        machine.epoch()
    value = machine.evaluate()
    assert value.primal - value.dual <= machine.gap.sum() + 1e-9


def test_a_pool_grows() -> None:
    problem = make_instance("multiclass", "hinge", n=2).problem
    atoms = gold_atoms(problem, 2)
    y = np.ones(3)
    assert keep_atom(atoms, 0, 2, y) == -1
    atoms = grown(atoms, 3)
    assert isinstance(atoms, Atoms)
    slot = keep_atom(atoms, 0, 2, y)
    assert slot == 1
    assert atom_score(atoms, slot, np.arange(3.0)) == 3.0
    assert atoms.used[0] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_counts_as_a_label(kind: str) -> None:
    """All the weight is on no kept label, and steps can take it from there."""
    before = make(kind, l2=0.3)
    for _ in range(5):
        before.epoch()
    reached = before.evaluate().dual
    machine = make(kind, l2=0.3, point=before.dual_point())
    assert machine.evaluate().dual == pytest.approx(reached, rel=1e-12)
    for _ in range(200):
        machine.epoch()
    value = machine.evaluate()
    assert value.dual > reached
    assert value.primal - value.dual <= 1e-2 * value.primal
    assert machine.mu.min() >= -1e-12


def test_only_for_the_hinge() -> None:
    with pytest.raises(MismatchError, match="bcfw needs the hinge"):
        train(make_instance().problem, 1.0, solver="bcfw")


def test_same_seed_same_model() -> None:
    problem = make_instance("chain", "hinge", n=15).problem
    fits = [train(problem, 1.0, solver="bcfw", tol=1e-3, seed=3, n_jobs=j) for j in (1, 2)]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
    assert math.isfinite(fits[0].certificate.primal)
