from __future__ import annotations

import dataclasses
import itertools
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.positions import PositionLabeller, fit_labeller
from support.positions import PositionSettings as Settings

from partwise.errors import DataError, MismatchError
from partwise.problem.rows import Rows
from partwise.problem.storage import Layout
from partwise.structures.base import Constraints

LENGTHS = np.array([3, 0, 1, 4, 2, 3])
N_FEATURES = 6
N_LABELS = 3


def data(seed: int = 0) -> tuple[Rows, Rows, list[Any]]:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(LENGTHS.sum(), N_FEATURES)) * (rng.random((13, N_FEATURES)) < 0.5)
    steps = rng.normal(size=(np.maximum(LENGTHS - 1, 0).sum(), 2))
    gold = [rng.integers(N_LABELS, size=n) for n in LENGTHS]
    for y in gold:  # label 1 never follows label 0
        for t in range(1, len(y)):
            if y[t - 1] == 0 and y[t] == 1:
                y[t] = 2
    return Rows.from_dense(dense), Rows.from_dense(steps), gold


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "ends": {"start": True, "end": True},
    "intercept": {"intercept": 2.0},
    "observed": {"weights": "observed", "start": True},
    "constrained": {"constraints": Constraints(transitions=[(0, 1)])},
    "conditioned": {"end": True, "intercept": 1.0},
}


def make(name: str) -> tuple[PositionLabeller, Rows, Rows | None]:
    rows, steps, gold = data()
    transition_rows = steps if name == "conditioned" else None
    settings = Settings(l2=0.3, **VARIANTS[name])
    model, _ = fit_labeller(
        "tag", rows, LENGTHS, gold, ["a", "b", "c"], settings, transition_rows=transition_rows
    )
    return PositionLabeller(model), rows, transition_rows


@pytest.fixture(scope="module", params=list(VARIANTS))
def made(request: pytest.FixtureRequest) -> tuple[PositionLabeller, Rows, Rows | None]:
    return make(request.param)


def dense(rows: Rows, constant: float) -> Any:
    table = np.zeros((len(rows), rows.n_features))
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    table[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = values
    return np.hstack([table, np.full((len(rows), 1), constant)]) if constant else table


def scores(
    labeller: PositionLabeller, rows: Rows, steps: Rows | None
) -> list[dict[tuple[int, ...], float]]:
    """The score of every label sequence, from the matrices of weights."""
    model = labeller.model
    layout, w = model.layout, model.weights
    unary = dense(rows, labeller.features.intercept) @ layout.dense(w, 0)
    tables = layout.dense(w, 1)
    if steps is None:
        pairs = np.repeat(tables, max(len(rows), 1), axis=0)
    else:
        pairs = dense(steps, 1.0) @ tables
    pairs = pairs.reshape(-1, N_LABELS, N_LABELS)
    start = layout.dense(w, 2)[0] if layout.n_features[2] else np.zeros(N_LABELS)
    end = layout.dense(w, 3)[0] if layout.n_features[3] else np.zeros(N_LABELS)
    forbidden = model.constraints.transitions if model.constraints else ()
    found, at, step = [], 0, 0
    for n in LENGTHS.tolist():
        table: dict[tuple[int, ...], float] = {}
        for y in itertools.product(range(N_LABELS), repeat=n):
            total = sum(unary[at + t, k] for t, k in enumerate(y))
            for t, pair in enumerate(itertools.pairwise(y)):
                total += -math.inf if pair in forbidden else pairs[step + t][pair]
            if n:
                total += start[y[0]] + end[y[-1]]
            table[y] = float(total)
        found.append(table)
        at, step = at + n, step + max(n - 1, 0)
    return found


def test_everything_agrees_with_enumeration(
    made: tuple[PositionLabeller, Rows, Rows | None],
) -> None:
    labeller, rows, steps = made
    tables = scores(labeller, rows, steps)
    best = labeller.predict(rows, LENGTHS, transition_rows=steps)
    ranked = labeller.k_best(rows, LENGTHS, 4, transition_rows=steps)
    marginals = labeller.marginals(rows, LENGTHS, transition_rows=steps)
    gold = [np.array(max(table, key=table.__getitem__), dtype=np.int64) for table in tables]
    log_proba = labeller.log_proba(rows, LENGTHS, gold, transition_rows=steps)
    for i, table in enumerate(tables):
        order = sorted((y for y in table if table[y] > -math.inf), key=lambda y: -table[y])[:4]
        assert tuple(best[i].tolist()) == order[0]
        assert [tuple(y.tolist()) for y in ranked[i][1]] == order
        np.testing.assert_allclose(ranked[i][0], [table[y] for y in order], atol=1e-10)
        log_z = math.log(sum(map(math.exp, table.values())))
        wanted = np.zeros((LENGTHS[i], N_LABELS))
        for y, total in table.items():
            for t, k in enumerate(y):
                wanted[t, k] += math.exp(total - log_z)
        np.testing.assert_allclose(marginals[i], wanted, atol=1e-10)
        assert log_proba[i] == pytest.approx(table[order[0]] - log_z, abs=1e-10)


def test_allowed_labels(made: tuple[PositionLabeller, Rows, Rows | None]) -> None:
    labeller, rows, steps = made
    tables = scores(labeller, rows, steps)
    allowed: list[Any] = [[(0, [2]), (2, [0, 2])], None, [(0, [1])], [], [(1, [2])], None]

    def fits(i: int, y: tuple[int, ...]) -> bool:
        return all(y[t] in labels for t, labels in allowed[i] or ())

    found = labeller.predict(rows, LENGTHS, transition_rows=steps, allowed=allowed)
    ranked = labeller.k_best(rows, LENGTHS, 3, transition_rows=steps, allowed=allowed)
    for i, table in enumerate(tables):
        possible = [y for y in table if fits(i, y) and table[y] > -math.inf]
        order = sorted(possible, key=lambda y: -table[y])
        assert tuple(found[i].tolist()) == order[0]
        assert [tuple(y.tolist()) for y in ranked[i][1]] == order[:3]


def test_threads_do_not_change_results(made: tuple[PositionLabeller, Rows, Rows | None]) -> None:
    labeller, rows, steps = made
    one, four = (labeller.marginals(rows, LENGTHS, transition_rows=steps, n_jobs=n) for n in (1, 4))
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(
        labeller.predict(rows, LENGTHS, transition_rows=steps, n_jobs=3),
        labeller.predict(rows, LENGTHS, transition_rows=steps),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_sixteen_threads_share_a_model(made: tuple[PositionLabeller, Rows, Rows | None]) -> None:
    labeller, rows, steps = made
    wanted = labeller.marginals(rows, LENGTHS, transition_rows=steps)

    def work(_: int) -> bool:
        found = labeller.marginals(rows, LENGTHS, transition_rows=steps)
        best = labeller.predict(rows, LENGTHS, transition_rows=steps)
        return len(best) == len(LENGTHS) and all(map(np.array_equal, found, wanted))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(64)))


def test_pickled_model_predicts_the_same(made: tuple[PositionLabeller, Rows, Rows | None]) -> None:
    labeller, rows, steps = made
    again = PositionLabeller(pickle.loads(pickle.dumps(labeller.model)))
    for a, b in zip(
        labeller.marginals(rows, LENGTHS, transition_rows=steps),
        again.marginals(rows, LENGTHS, transition_rows=steps),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_unknown_features_are_ignored() -> None:
    labeller, rows, _ = make("intercept")
    wider = Rows(
        rows.indptr + np.arange(len(rows.indptr)),
        np.insert(rows.indices, rows.indptr[1:], 40),
        None if rows.values is None else np.insert(rows.values, rows.indptr[1:], 9.0),
        50,
    )
    narrower = rows.resize(2)
    for a, b in zip(
        labeller.marginals(wider, LENGTHS), labeller.marginals(rows, LENGTHS), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert len(labeller.predict(narrower, LENGTHS)) == len(LENGTHS)


def test_unknown_and_forbidden_labels_have_no_probability() -> None:
    labeller, rows, _ = make("constrained")
    gold = [np.full(n, 2) for n in LENGTHS]
    gold[0] = np.array([2, -1, 2])
    gold[4] = np.array([0, 1])
    found = labeller.log_proba(rows, LENGTHS, gold)
    assert found[0] == found[4] == -np.inf
    assert np.isfinite(found[[1, 2, 3, 5]]).all()


def test_no_examples() -> None:
    labeller, rows, _ = make("plain")
    none = rows.take(slice(0, 0))
    nothing = np.zeros(0, dtype=np.int64)
    assert labeller.predict(none, nothing) == []
    assert labeller.marginals(none, nothing) == []
    assert labeller.k_best(none, nothing, 2) == []
    assert len(labeller.log_proba(none, nothing, [])) == 0


def test_classifier_model_takes_rows() -> None:
    rng = np.random.default_rng(1)
    rows = Rows.from_dense(rng.normal(size=(20, 3)))
    gold = list((np.arange(20) % 3).reshape(-1, 1))
    model, _ = fit_labeller("classify", rows, None, gold, [10, 20, 30], Settings(intercept=1.0))
    labeller = PositionLabeller(model)
    table = np.concatenate(labeller.marginals(rows))
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.concatenate(labeller.predict(rows)), table.argmax(axis=1))
    assert len(labeller.k_best(rows, None, 5)[0][0]) == 3
    assert model.label_index == {10: 0, 20: 1, 30: 2}
    only = labeller.predict(rows, allowed=[[(0, [2])]] * 20)
    assert {int(y[0]) for y in only} == {2}


def test_hinge_has_scores_and_no_probabilities() -> None:
    rows, _, gold = data()
    settings = Settings(loss="hinge", l2=50.0, tol=0.05)
    model, _ = fit_labeller("tag", rows, LENGTHS, gold, ["a", "b", "c"], settings)
    labeller = PositionLabeller(model)
    assert not model.probabilistic
    with pytest.raises(MismatchError, match="scores, not probabilities"):
        labeller.marginals(rows, LENGTHS)
    with pytest.raises(MismatchError, match="scores, not probabilities"):
        labeller.log_proba(rows, LENGTHS, gold)
    assert len(labeller.k_best(rows, LENGTHS, 2)[0][0]) == 2


def test_bad_input_is_a_sentence() -> None:
    labeller, rows, _ = make("plain")
    _, steps, gold = data()
    with pytest.raises(ValueError, match="13 feature rows for the 3"):
        labeller.predict(rows, np.array([3]))
    with pytest.raises(DataError, match="no features for transitions"):
        labeller.predict(rows, LENGTHS, transition_rows=steps)
    with pytest.raises(DataError, match="k is 0"):
        labeller.k_best(rows, LENGTHS, 0)
    with pytest.raises(DataError, match="labels for 5 examples"):
        labeller.log_proba(rows, LENGTHS, gold[1:])
    with pytest.raises(DataError, match="is none of 0 to 2"):
        labeller.log_proba(rows, LENGTHS, [y + 3 for y in gold])
    with pytest.raises(DataError, match="constraints for 1 examples"):
        labeller.predict(rows, LENGTHS, allowed=[[(0, [1])]])
    conditioned, rows, steps = make("conditioned")
    with pytest.raises(DataError, match="features for transitions; give"):
        conditioned.predict(rows, LENGTHS)
    assert steps is not None
    with pytest.raises(ValueError, match="5 feature rows for the 8"):
        conditioned.predict(rows, LENGTHS, transition_rows=steps.take(slice(0, 5)))


def test_scores_that_are_not_finite_are_refused() -> None:
    labeller, rows, _ = make("plain")
    huge = Rows(rows.indptr, rows.indices, np.full(len(rows.indices), 1e308), rows.n_features)
    with pytest.raises(DataError, match="no finite score"):
        labeller.predict(huge, LENGTHS)
    with pytest.raises(DataError, match="no finite score"):
        labeller.k_best(huge, LENGTHS, 2)
    nothing = Constraints(labels=[0, 1, 2])
    with pytest.raises(DataError, match="its constraints allow no label"):
        PositionLabeller(dataclasses.replace(labeller.model, constraints=nothing)).predict(
            rows, LENGTHS
        )


def test_the_layout_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    labeller, rows, _ = make("observed")
    calls = []
    sizes = Layout.sizes
    monkeypatch.setattr(Layout, "sizes", lambda self: calls.append(1) or sizes(self))
    first = labeller.predict(rows, LENGTHS)
    before = labeller.marginals(rows, LENGTHS)
    assert len(calls) == 1
    again = pickle.loads(pickle.dumps(labeller.model))
    # What can be computed again is not sent along.
    assert set(vars(again)) == {field.name for field in dataclasses.fields(again)}
    for a, b in zip(first, PositionLabeller(again).predict(rows, LENGTHS), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(before, PositionLabeller(again).marginals(rows, LENGTHS), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(calls) == 2
