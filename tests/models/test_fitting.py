from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from support.positions import PositionLabeller, fit_labeller
from support.positions import PositionSettings as Settings

from partwise.compiled.threads import thread_count
from partwise.errors import DataError
from partwise.models.model import Model
from partwise.models.transfer import places, transfer_weights
from partwise.models.vocabulary import Vocabulary, fit_rows
from partwise.problem.evaluation import DualPoint
from partwise.problem.rows import Rows
from partwise.tasks.sequences.features import PositionFeatures

TOKENS = [["a", "b", "c"], ["b", "a"], ["c", "c", "a", "d"], ["a"], []]
GOLD = [[0, 1, 1], [1, 0], [1, 1, 0, 2], [0], []]
LABELS = ["x", "y", "z"]


def fit(settings: Settings | None = None, **more: Any) -> tuple[Model, Any]:
    rows, vocabulary, lengths = fit_rows(TOKENS)
    gold = [np.array(y, dtype=np.int64) for y in GOLD]
    arguments = {"vocabulary": vocabulary, **more}
    return fit_labeller("tag", rows, lengths, gold, LABELS, settings or Settings(), **arguments)


def encoder_of(model: Model) -> PositionFeatures:
    return PositionLabeller(model).features


def test_the_model_says_what_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="partwise"):
        model, done = fit(Settings(l2=2.0, start=True), meta={"a": 1})
    assert (model.task, model.loss, model.l2, model.meta) == ("tag", "log", 2.0, {"a": 1})
    assert model.certificate is done.certificate
    assert model.certificate.converged
    assert encoder_of(model).n_inputs == 4
    # Four words, the transitions and the starts.
    assert any("6 features" in text and "MiB" in text for text in caplog.messages)


def test_rare_features_are_dropped_by_name_or_keep_their_number() -> None:
    named, _ = fit(Settings(min_count=2))
    assert list(encoder_of(named).vocabulary or ()) == ["a", "b", "c"]
    numbered, _ = fit(Settings(min_count=2), vocabulary=None)
    assert encoder_of(numbered).n_features == 4
    table = numbered.layout.dense(numbered.weights, 0)
    assert (table[3] == 0).all()
    np.testing.assert_array_equal(table[:3], named.layout.dense(named.weights, 0))


def test_weights_are_repetitions() -> None:
    rows, _, lengths = fit_rows(TOKENS)
    gold = [np.array(y, dtype=np.int64) for y in GOLD]
    settings = Settings(tol=1e-9, loss="softmax-margin")
    weighted, _ = fit_labeller(
        "tag", rows, lengths, gold, LABELS, settings, sample_weight=[2, 1, 3, 1, 1]
    )
    again = [0, 0, 1, 2, 2, 2, 3, 4]
    rows, _, lengths = fit_rows([TOKENS[i] for i in again])
    repeated, _ = fit_labeller("tag", rows, lengths, [gold[i] for i in again], LABELS, settings)
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-8)
    np.testing.assert_allclose(
        weighted.layout.dense(weighted.weights, 0),
        repeated.layout.dense(repeated.weights, 0),
        atol=1e-3,
    )


def test_class_weight_of_a_sequence_is_the_mean_over_its_tokens() -> None:
    weights = {"x": 3.0, "z": 0.5}
    by_class, _ = fit(Settings(class_weight=weights))
    means = [np.mean([weights.get(LABELS[k], 1.0) for k in y]) if y else 1.0 for y in GOLD]
    by_sequence, _ = fit(sample_weight=means)
    np.testing.assert_allclose(by_class.weights, by_sequence.weights, rtol=1e-12)
    counts = np.bincount(np.concatenate([np.array(y, int) for y in GOLD]))
    balanced = {label: 10 / (3 * count) for label, count in zip(LABELS, counts, strict=True)}
    a, _ = fit(Settings(class_weight="balanced"))
    b, _ = fit(Settings(class_weight=balanced))
    np.testing.assert_allclose(a.weights, b.weights, rtol=1e-12)


def test_going_on_from_a_dual_point_or_a_model() -> None:
    model, done = fit(Settings(tol=1e-6))
    _, again = fit(Settings(tol=1e-6), initial=done.dual_point)
    assert len(again.trace) <= 2
    _, warm = fit(Settings(tol=1e-6), initial=model)
    assert len(warm.trace) < len(done.trace)
    with pytest.raises(DataError, match="dual point"):
        fit(initial=DualPoint(np.zeros(3)))
    with pytest.raises(DataError, match="names its features"):
        fit(vocabulary=None, initial=model)


@pytest.mark.parametrize("old_weights", ["all", "observed"])
@pytest.mark.parametrize("new_weights", ["all", "observed"])
def test_weights_follow_names_and_labels(old_weights: str, new_weights: str) -> None:
    old, _ = fit(Settings(weights=old_weights, start=True, intercept=1.0))
    tokens = [["n", "c"], ["a", "b"], ["n"]]
    rows, vocabulary, lengths = fit_rows(tokens)
    labels = ["new", "y", "x"]
    gold = [np.array([0, 1]), np.array([2, 1]), np.array([1])]
    settings = Settings(weights=new_weights, start=True, end=True, intercept=1.0)
    new, _ = fit_labeller("tag", rows, lengths, gold, labels, settings, vocabulary=vocabulary)
    moved = transfer_weights(old, new.structure, new.layout, labels, new.features)
    feature, slot = places(new.layout)
    before = [old.layout.dense(old.weights, kind) for kind in range(3)]
    names = encoder_of(old).vocabulary
    assert names is not None
    for weight, f, s in zip(moved, feature.tolist(), slot.tolist(), strict=True):
        kind = int(np.searchsorted(np.cumsum(new.layout.n_features), f, side="right"))
        f -= new.layout.feature_offset(kind)
        named = (labels[s],) if kind != 1 else (labels[s // 3], labels[s % 3])
        wanted = 0.0
        if kind < 3 and all(label in LABELS for label in named):
            place = LABELS.index(named[0])
            if kind == 1:
                place = place * 3 + LABELS.index(named[1])
            row: int | None = 0
            if kind == 0:
                name = vocabulary.names[f] if f < len(vocabulary) else None
                row = 4 if name is None else names.index.get(name)
            wanted = 0.0 if row is None else before[kind][row, place]
        assert weight == wanted


def test_same_weights_come_back() -> None:
    for weights in ("all", "observed"):
        model, _ = fit(Settings(weights=weights, intercept=1.0))
        moved = transfer_weights(model, model.structure, model.layout, LABELS, model.features)
        np.testing.assert_array_equal(moved, model.weights)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loss": None}, "loss is None"),
        ({"l2": 0}, "l2 is 0"),
        ({"l2": float("inf")}, "l2 is inf"),
        ({"l2": True}, "l2 is True"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"max_passes": float("nan")}, "max_passes is nan"),
        ({"n_jobs": 1.5}, "n_jobs is 1.5"),
        ({"n_jobs": -3}, "n_jobs is -3"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"weights": "some"}, "weights is 'some'; use one of all, observed"),
        ({"solver_options": [1]}, "solver_options is"),
    ],
)
def test_bad_settings_are_sentences(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        Settings(**changes)


def test_thread_count() -> None:
    assert thread_count(None) == 1
    assert thread_count(3) == 3
    assert thread_count(-1) >= 1
    assert Settings(max_passes=float("inf")).max_passes == float("inf")


def call(**changes: Any) -> None:
    rows = Rows.from_dense(np.eye(3))
    arguments: dict[str, Any] = {
        "task": "tag", "rows": rows, "lengths": np.array([2, 1]),
        "gold": [np.array([0, 1]), np.array([0])], "labels": ["x", "y"], "settings": Settings(),
        **changes,
    }  # fmt: skip
    fit_labeller(**arguments)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gold": [np.array([1, 1]), np.array([1])]}, "one class only, 'y'"),
        ({"sample_weight": [0, 1]}, "one class only, 'x'"),
        ({"sample_weight": [0, 0]}, "all sample weights are zero"),
        ({"settings": Settings(class_weight={"x": 0, "y": 0})}, "no labels"),
        ({"vocabulary": Vocabulary(["a"])}, "vocabulary of 1 names for 3 features"),
        ({"rows": Rows.from_dense(np.diag([1.0, np.nan, 1.0]))}, "row 1 .*: feature 1 is nan"),
        ({"settings": Settings(constraints="BIO")}, "does not fit the constraints"),
        ({"settings": Settings(constraints=[("x", "y")])}, "forbid 'y' after 'x'"),
    ],
)
def test_bad_examples_are_sentences(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        call(**changes)


def test_no_examples_is_a_sentence() -> None:
    nothing = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    with pytest.raises(DataError, match="no examples to train on"):
        fit_labeller("tag", nothing, np.zeros(0, np.int64), [], [], Settings())
