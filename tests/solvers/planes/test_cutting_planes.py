from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.instances import Explicit, make_instance
from support.solvers import solver_of
from support.structure_cases import problem_of

from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import Evaluator
from partwise.problem.losses import Loss
from partwise.solvers.planes import cutting_planes
from partwise.solvers.planes.bmrm import bundle_optimum
from partwise.solvers.planes.cutting_planes import CuttingPlanes, EachSlack
from partwise.solvers.planes.worst_labels import WorstLabels
from partwise.structures.registry import STRUCTURES
from partwise.training.loop import train

KINDS = ("multiclass", "chain", "untied")
FORMS: list[dict[str, Any]] = [{"slack": "one"}, {"slack": "each"}, {"slack": "each", "every": 1}]


def make(kind: str, l2: float = 1.0, **options: Any) -> CuttingPlanes:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    return solver_of(CuttingPlanes, problem, l2, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.3, 5.0])
@pytest.mark.parametrize("form", FORMS[:2])
def test_the_optimum_is_that_of_frank_wolfe(kind: str, l2: float, form: dict[str, Any]) -> None:
    problem = make_instance(kind, "hinge", n=15, weighted=True, constrained=True).problem
    best = train(problem, l2, solver="bcfw", tol=1e-6, max_passes=20_000).certificate
    found = train(problem, l2, solver="svm-struct", tol=1e-8, options=form).certificate
    assert best.converged
    assert found.converged
    assert best.dual * (1.0 - 1e-8) <= found.primal <= best.primal * (1.0 + 1e-8)
    assert found.dual >= best.dual * (1.0 - 1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("form", FORMS[:2])
def test_every_structure(structure: str, form: dict[str, Any]) -> None:
    problem = problem_of(structure, "hinge")
    best = train(problem, 1.0, solver="bcfw", tol=1e-6, max_passes=20_000).certificate
    found = train(problem, 1.0, solver="svm-struct", tol=1e-7, options=form).certificate
    assert found.converged
    assert found.dual <= best.primal * (1.0 + 1e-12)
    assert found.primal <= best.primal * (1.0 + 1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_the_dual_rises_and_stays_below(kind: str, form: dict[str, Any], rescaling: str) -> None:
    machine = make(kind, 0.3, rescaling=rescaling, **form)
    last, primal = 0.0, np.inf
    for _ in range(12):
        dual = machine.epoch().dual
        assert dual >= last - 1e-10
        value = machine.evaluate()
        assert value.dual == pytest.approx(dual, rel=1e-9)
        assert value.dual <= value.primal * (1.0 + 1e-12)
        assert value.primal <= primal
        last, primal = dual, value.primal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_the_dual_is_that_of_the_mixture(kind: str, form: dict[str, Any]) -> None:
    machine = make(kind, 0.5, **form)
    for _ in range(8):
        machine.epoch()
    value, mu = machine.evaluate(), machine.dual_point().mu
    assert mu is not None
    evaluator = machine.evaluator
    none = np.zeros(machine.problem.n_examples)
    dual = evaluator.dual(mu, none, evaluator.dual_sum(mu), 0.5)
    assert value.dual == pytest.approx(dual, rel=1e-9)
    assert value.primal == pytest.approx(evaluator.primal(value.weights, 0.5), rel=1e-12)
    assert mu.min() >= -1e-12


@pytest.mark.parametrize("form", FORMS)
def test_a_fit_goes_on_where_another_ended(form: dict[str, Any]) -> None:
    problem = make_instance("chain", "hinge", n=15).problem
    fit = train(problem, 2.0, solver="svm-struct", tol=1e-4, options=form)
    start = {"start": fit.dual_point, "options": form}
    again = train(problem, 2.0, solver="svm-struct", tol=2e-3, **start)
    assert again.certificate.passes <= 2.0
    other = train(problem, 2.0, solver="bcfw", tol=2e-3, start=fit.dual_point)
    assert other.certificate.passes <= 2.0


def dense_planes(machine: EachSlack) -> np.ndarray:
    """Write out the planes."""
    planes = machine.planes
    dense = np.zeros((machine.n_planes, machine.problem.storage.n_places))
    for k, row in enumerate(dense):
        own = slice(*planes.pointer[k : k + 2])
        row[planes.place[own]] = planes.value[own]
    return dense


def chain_of(machine: EachSlack, k: int) -> list[int]:
    """Return a plane and those of its example before it."""
    return [] if k < 0 else [k, *chain_of(machine, int(machine.planes.before[k]))]


def test_labels_without_weight_are_dropped() -> None:
    problem = make_instance("chain", "hinge", n=15, weighted=True).problem
    kept = []
    for patience in (None, 1):
        machine = solver_of(EachSlack, problem, 0.05, patience=patience)
        for _ in range(10):
            machine.epoch()
        alpha = machine.planes.alpha[: machine.n_planes]
        kept.append((alpha > 0.0).all())
        chained = [k for last in machine.planes.last for k in chain_of(machine, int(last))]
        assert sorted(chained) == list(range(machine.n_planes))
    assert kept == [False, True]


@pytest.mark.parametrize("every", [None, 1])
def test_inner_products_are_those_of_the_planes(every: int | None) -> None:
    instance = make_instance("chain", "hinge", n=8, weighted=True)
    machine = solver_of(EachSlack, instance.problem, 0.2, patience=2, every=every)
    for _ in range(6):
        machine.epoch()
    dense, planes = dense_planes(machine), machine.planes
    for k in range(machine.n_planes):
        own = planes.product[slice(*planes.product_ptr[k : k + 2])]
        np.testing.assert_allclose(own, dense[chain_of(machine, k)] @ dense[k], atol=1e-12)
    np.testing.assert_allclose(planes.alpha[: machine.n_planes] @ dense, machine.v, atol=1e-9)
    for chain in (chain_of(machine, int(k)) for k in planes.last):
        assert planes.alpha[chain].sum() <= 1.0 + 1e-12
    assert planes.alpha[: machine.n_planes].min() >= 0.0
    assert not machine.d.any()


@pytest.mark.parametrize("kind", ["multiclass", "chain"])
@pytest.mark.parametrize("every", [1, 4, None])
def test_the_published_order_of_insertion(
    kind: str, every: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Algorithm 1 of Tsochantaridis et al. (2005), with labels written out and exact programs."""
    monkeypatch.setattr(cutting_planes, "_ACCURACY", 1e-9)
    monkeypatch.setattr(cutting_planes, "_SWEEPS", 100_000)
    l2, epsilon, n = 0.4, 0.7, 9
    instance = make_instance(kind, "hinge", 5, n=n)
    explicit = Explicit(instance, l2)
    machine = solver_of(EachSlack, instance.problem, l2, every=every, epsilon=epsilon)
    machine.patience = None
    known: list[tuple[int, int]] = []  # example and label
    alpha = np.zeros(0)

    def weights() -> np.ndarray:
        planes = [explicit.g[i][y] for i, y in known]
        return alpha @ np.array(planes) / l2 if known else np.zeros(len(explicit.g[0][0]))

    def solved() -> np.ndarray:
        planes = np.array([explicit.g[i][y] for i, y in known])
        offset = np.array([explicit.costs[i][y] for i, y in known])
        group = np.array([i for i, _ in known])
        return bundle_optimum(planes @ planes.T / l2, offset, group, alpha)

    for _ in range(3):
        pending = 0
        for i in range(n):
            worths = explicit.costs[i] - explicit.g[i] @ weights()
            slack = max([0.0, *(worths[y] for j, y in known if j == i)])
            if worths.max() > slack + epsilon:
                known.append((i, int(worths.argmax())))
                alpha = np.append(alpha, 0.0)
                pending += 1
            if pending == every:
                alpha, pending = solved(), 0
        alpha = solved()
        machine.epoch()
        assert machine.n_planes == len(known)
        np.testing.assert_allclose(machine.current_weights(), weights(), atol=1e-5)


def test_no_label_is_violated_by_more_than_epsilon() -> None:
    problem = make_instance("chain", "hinge", n=15, weighted=True).problem
    for epsilon in (1.0, 0.1):
        machine = solver_of(EachSlack, problem, 0.3, epsilon=epsilon)
        for _ in range(40):
            machine.epoch()
        value = machine.evaluate()
        assert value.gap <= 1.1 * epsilon * problem.arrays.weight.sum() + 1e-9
        assert value.gap > 1e-4  # labels that are violated by less were left out


class Rescaled(Explicit):
    """All labels written out, with the losses of slack rescaling."""

    def losses(self, w: np.ndarray) -> np.ndarray:
        pairs = zip(self.g, self.costs, strict=True)
        return np.array([(cost * (1.0 - g @ w)).max() for g, cost in pairs])


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 1.0, 5.0]),
)
def test_the_worst_label_by_enumeration(
    kind: str, seed: int, constrained: bool, size: float
) -> None:
    instance = make_instance(kind, "hinge", seed, n_labels=3, constrained=constrained)
    problem = instance.problem
    explicit = Rescaled(instance, 1.0)
    w = problem.storage.scatter(
        np.random.default_rng(seed).normal(size=problem.layout.n_weights) * size
    )
    found = WorstLabels(problem, Evaluator(problem), "slack").find(w, 1.0)
    np.testing.assert_allclose(found.losses, explicit.losses(w), rtol=1e-10, atol=1e-10)
    for i, counts in enumerate(explicit.counts):
        own = found.point[slice(*explicit.part_ptr[i : i + 2])]
        # The point is gold + cost (y - gold) of a label y with that cost, and has that loss.
        gold = counts[np.flatnonzero(explicit.costs[i] == 0.0)[0]]
        points = gold + explicit.costs[i][:, None] * (counts - gold)
        k = int(np.abs(points - own).sum(axis=1).argmin())
        np.testing.assert_allclose(points[k], own, atol=1e-12)
        assert found.offset[i] == explicit.costs[i][k]
        loss = explicit.costs[i][k] * (1.0 - explicit.g[i][k] @ w)
        assert loss == pytest.approx(found.losses[i], rel=1e-10, abs=1e-10)


def test_long_chains_and_short_ones() -> None:
    """Against a maximum for each number of errors; one position, and more than labels."""
    instance = make_instance("chain", "hinge", 4, n_labels=2, lengths=[1, 7, 2, 6])
    explicit = Rescaled(instance, 1.0)
    w = instance.problem.storage.scatter(
        np.random.default_rng(0).normal(size=instance.problem.layout.n_weights)
    )
    for jobs in (1, 2):
        finder = WorstLabels(instance.problem, Evaluator(instance.problem, jobs), "slack")
        np.testing.assert_allclose(finder.find(w, 1.0).losses, explicit.losses(w), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS[:2])
def test_slack_rescaling_is_certified(kind: str, form: dict[str, Any]) -> None:
    instance = make_instance(kind, "hinge", 2, n=8, weighted=True)
    explicit = Rescaled(instance, 0.5)
    options = {"rescaling": "slack", **form}
    fit = train(instance.problem, 0.5, solver="svm-struct", tol=1e-7, options=options)
    assert fit.certificate.converged
    w = instance.problem.storage.scatter(fit.weights)
    assert fit.certificate.primal == pytest.approx(explicit.primal(w), rel=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = w + rng.normal(size=w.shape) * rng.choice([1e-4, 1e-2, 1.0]) * (w != 0.0)
        assert explicit.primal(near) >= fit.certificate.dual
    assert fit.dual_point.mu is None


def test_with_one_position_and_one_cost_both_rescalings_agree() -> None:
    problem = make_instance("multiclass", "hinge", n=15).problem
    both = [
        train(problem, 1.0, solver="svm-struct", tol=1e-8, options={"rescaling": r}).certificate
        for r in ("margin", "slack")
    ]
    assert both[0].primal == pytest.approx(both[1].primal, rel=1e-7)


def test_slack_rescaling_where_it_has_no_meaning() -> None:
    options = {"rescaling": "slack"}
    with pytest.raises(MismatchError, match="for multiclass and chain labels, not for grammar"):
        train(problem_of("grammar", "hinge"), 1.0, solver="svm-struct", options=options)
    costs = Loss("hinge", 0.0, True, np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    with pytest.raises(MismatchError, match="a cost of 1 for each wrong label"):
        train(make_instance("chain", costs).problem, 1.0, solver="svm-struct", options=options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slack": "two"}, "is 'two'; give 'one' or 'each'"),
        ({"rescaling": "none"}, "is 'none'; give 'margin' or 'slack'"),
        ({"slack": "each", "every": 0}, "is 0; give a whole number from 1 or None"),
        ({"every": 5}, "epsilon and every are for one slack per example"),
        ({"epsilon": 0.1}, "epsilon and every are for one slack per example"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, MismatchError), match=message):
        make("chain", **options)


def test_only_for_the_hinge() -> None:
    with pytest.raises(MismatchError, match="svm-struct needs the hinge"):
        train(make_instance().problem, 1.0, solver="svm-struct")


@pytest.mark.parametrize("form", FORMS)
def test_threads_do_not_change_the_model(form: dict[str, Any]) -> None:
    problem = make_instance("chain", "hinge", n=15).problem
    fits = [
        train(problem, 1.0, solver="svm-struct", tol=1e-3, n_jobs=jobs, options=form)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(fits[0].weights, fits[1].weights)
