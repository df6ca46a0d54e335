from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from support.sentences import Sentences, sentences

from partwise import DataError, SequenceTagger, load_model, save_model


@pytest.fixture(scope="module")
def text() -> Sentences:
    return sentences(40)


@pytest.fixture(scope="module")
def fitted(text: Sentences) -> SequenceTagger:
    return SequenceTagger().fit(*text)


def matrices(seed: int = 0) -> tuple[list[Any], list[list[int]]]:
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 4)) for n in (3, 1, 0, 5, 2)]
    y = [[int(row[0] > 0) + 2 * int(row[1] > 0) for row in table] for table in X]
    return X, y


def test_attributes(text: Sentences, fitted: SequenceTagger) -> None:
    X, y = text
    labels = sorted({label for sequence in y for label in sequence})
    assert fitted.classes_.tolist() == labels
    assert fitted.vocabulary_ is not None
    assert fitted.coef_.shape == (len(labels), len(fitted.vocabulary_))
    assert fitted.transitions_.shape == (len(labels), len(labels))
    assert fitted.certificate_.converged
    assert isinstance(fitted.n_iter_, int)
    assert fitted.trace_[-1].certified
    assert not hasattr(fitted, "start_")
    assert fitted.score(X, y) > 0.9
    held_out = sentences(20, seed=1)
    assert fitted.score(*held_out) > 0.7


def test_objective_is_that_of_the_certificate(text: Sentences) -> None:
    made = SequenceTagger(l2=0.5, start=True, end=True).fit(*text)
    norm = sum((part**2).sum() for part in (made.coef_, made.transitions_, made.start_, made.end_))
    objective = -made.log_proba(*text).sum() + 0.25 * norm
    assert made.certificate_.primal == pytest.approx(objective, rel=1e-10)


def test_predictions_are_plain_lists(text: Sentences, fitted: SequenceTagger) -> None:
    X, _ = text
    equal = [sentence[:3] for sentence in X[:4]]
    found = fitted.predict(equal)
    assert isinstance(found, list)
    assert all(type(labels) is list and len(labels) == 3 for labels in found)
    assert all(type(label) is str for labels in found for label in labels)
    assert fitted.predict([]) == []
    assert fitted.predict([[]]) == [[]]
    assert [len(labels) for labels in fitted.predict([X[0][:1], [], X[0]])] == [1, 0, len(X[0])]


def test_generators_and_unknown_features(text: Sentences, fitted: SequenceTagger) -> None:
    X, y = text

    def stream() -> Iterator[Any]:
        for sentence in X:
            yield iter(sentence)

    made = SequenceTagger().fit(stream(), (iter(labels) for labels in y))
    np.testing.assert_array_equal(made.coef_, fitted.coef_)
    more = [[{**token, "unseen": "thing"} for token in sentence] for sentence in X]
    assert fitted.predict(iter(more)) == fitted.predict(X)


def test_k_best(text: Sentences, fitted: SequenceTagger) -> None:
    X, _ = text
    ranked = fitted.predict(X[:5], k=3)
    best = fitted.predict(X[:5])
    for pairs, labels in zip(ranked, best, strict=True):
        assert len(pairs) == 3
        assert pairs[0][0] == labels
        scores = [score for _, score in pairs]
        assert scores == sorted(scores, reverse=True)
    (two,) = fitted.predict([X[0][:1]], k=1000)
    assert len(two) == len(fitted.classes_)


def test_fixed_labels(text: Sentences, fitted: SequenceTagger) -> None:
    X, _ = text
    free = fitted.predict(X[:3])
    other = next(label for label in fitted.classes_.tolist() if label != free[0][1])
    found = fitted.predict(X[:3], fixed=[{1: other}, None, [None] * len(X[2])])
    assert found[0][1] == other
    assert found[1:] == free[1:]
    several = fitted.predict(X[:1], fixed=[{1: [other, free[0][1]]}])
    assert several == free[:1]
    ranked = fitted.predict(X[:1], k=4, fixed=[{1: other}])
    assert {labels[1] for labels, _ in ranked[0]} == {other}
    for fixed, says in (
        ([None], "fixed has 1 entries"),
        ([{99: other}, None, None], "position 99"),
        ([{0: "Z"}, None, None], "'Z' was not seen"),
        ([{0: []}, None, None], "allows no label"),
        ([["O"], None, None], "entries for"),
        (["O", None, None], "fixed\\[0\\] is 'O'"),
    ):
        with pytest.raises(DataError, match=says):
            fitted.predict(X[:3], fixed=fixed)


def test_marginals_and_log_proba(text: Sentences, fitted: SequenceTagger) -> None:
    X, y = text
    for sentence, table in zip(X, fitted.predict_marginals(X), strict=True):
        assert table.shape == (len(sentence), len(fitted.classes_))
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    strange = [list(labels) for labels in y]
    strange[1][0] = "Z"
    found = fitted.log_proba(X, strange)
    assert found[1] == -np.inf
    assert np.isfinite(np.delete(found, 1)).all()
    best = fitted.log_proba(X, fitted.predict(X))
    assert (best >= fitted.log_proba(X, y) - 1e-9).all()


def test_hinge_has_no_probabilities() -> None:
    X, y = matrices()
    made = SequenceTagger(loss="hinge", l2=50.0, tol=0.05).fit(X, y)
    assert not hasattr(made, "predict_marginals")
    assert not hasattr(made, "log_proba")
    assert len(made.predict(X)) == 5


def test_constraints_hold(text: Sentences) -> None:
    X, y = text
    made = SequenceTagger(constraints="BIO").fit(X, y)
    for labels in made.predict([list(reversed(sentence)) for sentence in X]):
        for before, label in pairwise(["O", *labels]):
            assert label[0] != "I" or before[1:] == label[1:]
    bad = [list(labels) for labels in y]
    bad[3][0] = "I-NP"
    with pytest.raises(DataError, match="sequence 3, position 0"):
        SequenceTagger(constraints="BIO").fit(X, bad)
    with pytest.raises(DataError, match="unknown constraints"):
        SequenceTagger(constraints="BIOX").fit(X, y)


def test_matrices_of_all_shapes_agree() -> None:
    X, y = matrices()
    lengths = [len(table) for table in X]
    stacked = np.concatenate(X)
    flat = [label for labels in y for label in labels]
    made = SequenceTagger().fit(X, y)
    assert made.vocabulary_ is None
    assert made.classes_.tolist() == [0, 1, 2, 3]
    assert all(type(label) is int for labels in made.predict(X) for label in labels)
    sparse = [scipy.sparse.csr_matrix(table) for table in X]
    for other in (
        SequenceTagger().fit(sparse, y),
        SequenceTagger().fit(stacked, flat, lengths=lengths),
        SequenceTagger().fit(scipy.sparse.csr_array(stacked), np.array(flat), lengths=lengths),
        SequenceTagger().fit(stacked, y, lengths=lengths),
        SequenceTagger().fit([*X[:2], [], *X[3:]], [np.array(labels) for labels in y]),
    ):
        np.testing.assert_array_equal(other.coef_, made.coef_)
        assert other.predict(sparse) == made.predict(X)
    assert made.predict(stacked, lengths=lengths) == made.predict(X)
    assert made.score(stacked, flat, lengths=lengths) == made.score(X, y)
    np.testing.assert_array_equal(
        made.log_proba(stacked, flat, lengths=lengths), made.log_proba(X, y)
    )
    assert made.predict([[], []]) == [[], []]
    cube = np.stack([X[0], X[3][:3]])
    assert [len(labels) for labels in made.predict(cube)] == [3, 3]


def test_observed_weights_and_rare_features(text: Sentences, fitted: SequenceTagger) -> None:
    X, y = text
    observed = SequenceTagger(weights="observed").fit(X, y)
    assert observed.model_.layout.n_weights < fitted.model_.layout.n_weights
    assert observed.coef_.shape == fitted.coef_.shape
    frequent = SequenceTagger(min_count=3).fit(X, y)
    assert frequent.vocabulary_ is not None
    assert fitted.vocabulary_ is not None
    assert len(frequent.vocabulary_) < len(fitted.vocabulary_)
    assert len(frequent.predict(X)) == len(X)


def test_transition_features() -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 2)) for _ in range(30)]
    steps = [rng.normal(size=(5, 1)) for _ in range(30)]
    # A label repeats where the feature of the step is positive: the tokens say nothing.
    y = []
    for table in steps:
        labels = [0]
        for (value,) in table:
            labels.append(labels[-1] if value > 0 else 1 - labels[-1])
        y.append(labels)
    made = SequenceTagger(start=True).fit(X, y, X_transitions=steps)
    assert made.score(X, y, X_transitions=steps) > 0.9
    assert SequenceTagger(start=True).fit(X, y).score(X, y) < 0.8
    assert made.transitions_.shape == (2, 2)
    named = [[{"same": bool(value > 0)} for (value,) in table] for table in steps]
    other = SequenceTagger(start=True).fit(X, y, X_transitions=named)
    assert other.score(X, y, X_transitions=named) > 0.9
    with pytest.raises(DataError, match="give them here too"):
        made.predict(X)
    with pytest.raises(DataError, match=r"sequence 1 .* has 4 rows for 6 tokens"):
        made.predict(X[:2], X_transitions=[steps[0], steps[1][1:]])
    with pytest.raises(DataError, match="1 sequences where X has 2"):
        made.predict(X[:2], X_transitions=steps[:1])
    with pytest.raises(DataError, match="leave them out"):
        SequenceTagger().fit(X, y).predict(X, X_transitions=steps)


def test_order_2(text: Sentences, tmp_path: Path) -> None:
    X, y = text
    first = SequenceTagger(tol=1e-6, start=True, end=True).fit(X, y)
    made = SequenceTagger(tol=1e-6, order=2, start=True, end=True).fit(X, y)
    assert made.certificate_.converged
    assert made.certificate_.relative_gap <= 1e-6
    # Triples of weight 0 are a first-order chain, so the optimum cannot be worse.
    assert made.certificate_.primal <= first.certificate_.primal
    n = len(made.classes_)
    assert made.triples_.shape == (n, n, n)
    assert not hasattr(first, "triples_")
    norm = sum((w**2).sum() for w in (made.coef_, made.transitions_, made.triples_))
    norm += (made.start_**2).sum() + (made.end_**2).sum()
    objective = -made.log_proba(X, y).sum() + 0.5 * norm
    assert made.certificate_.primal == pytest.approx(objective, rel=1e-10)
    save_model(made, tmp_path / "m")
    again = SequenceTagger.from_model(load_model(tmp_path / "m"))
    assert again.get_params()["order"] == 2
    assert again.get_params()["start"] is True
    assert again.predict(X, k=3) == made.predict(X, k=3)
    for table in made.predict_marginals(X):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    steps = [[{"a": True}] * (len(sentence) - 1) for sentence in X]
    with pytest.raises(DataError, match="order 2 has no features of transitions"):
        SequenceTagger(order=2).fit(X, y, X_transitions=steps)
    for order in (0, 3, "2", True, 1.5):
        with pytest.raises(DataError, match="give 1 or 2"):
            SequenceTagger(order=order).fit(X, y)


def test_order_2_where_labels_depend_on_two_before() -> None:
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(40):
        labels = rng.integers(0, 2, size=2).tolist()
        while len(labels) < 8:
            labels.append(labels[-1] ^ labels[-2])
        X.append([{"first": t < 2 and label == 1, "t": t < 2} for t, label in enumerate(labels)])
        y.append(labels)
    made = SequenceTagger(order=2, l2=0.1).fit(X, y)
    assert made.score(X, y) == 1.0
    assert SequenceTagger(l2=0.1).fit(X, y).score(X, y) < 0.9
    warm = SequenceTagger(order=2, l2=0.1, warm_start=True, tol=1e-3).fit(X, y)
    assert warm.set_params(tol=1e-5).fit(X, y).certificate_.converged


def test_warm_start_goes_on(text: Sentences) -> None:
    X, y = text
    cold = SequenceTagger(tol=1e-6).fit(X, y)
    made = SequenceTagger(warm_start=True, tol=1e-3).fit(X, y)
    made.set_params(tol=1e-6).fit(X, y)
    assert made.n_iter_ < cold.n_iter_
    assert made.certificate_.converged
    more = sentences(50)
    made.set_params(tol=1e-4).fit(*more)
    assert made.certificate_.converged
    assert made.vocabulary_ is not None
    assert len(made.vocabulary_) > len(cold.vocabulary_ or ())


def test_threads_change_nothing(text: Sentences, fitted: SequenceTagger) -> None:
    X, y = text
    made = SequenceTagger(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(made.coef_, fitted.coef_)
    assert made.predict(X) == fitted.predict(X)


def test_saved_and_loaded(text: Sentences, fitted: SequenceTagger, tmp_path: Path) -> None:
    X, y = text
    save_model(fitted, tmp_path / "a.model")
    again = SequenceTagger.from_model(load_model(tmp_path / "a.model"))
    assert again.predict(X, k=2) == fitted.predict(X, k=2)
    assert again.score(X, y) == fitted.score(X, y)
    assert again.get_params()["l2"] == 1.0
    pickled = pickle.loads(pickle.dumps(fitted))
    assert pickled.predict(X) == fitted.predict(X)


def test_grid_search_and_clone(text: Sentences) -> None:
    X, y = text
    grid = GridSearchCV(SequenceTagger(tol=0.01), {"l2": [0.3, 30.0]}, cv=KFold(2)).fit(X, y)
    assert grid.best_params_ == {"l2": 0.3}
    assert cross_val_score(clone(SequenceTagger(tol=0.01)), X, y, cv=KFold(2)).min() > 0.5
    assert "min_count=2" in repr(SequenceTagger(min_count=2))


def test_unfitted_is_said(text: Sentences) -> None:
    with pytest.raises(NotFittedError):
        SequenceTagger().predict(text[0])
    assert not hasattr(SequenceTagger(), "coef_")


def test_sample_weight_zero_is_absence(text: Sentences) -> None:
    X, y = text
    kept = np.arange(len(X)) % 2 == 0
    a = SequenceTagger().fit(X, y, sample_weight=kept.astype(float))
    some = [i for i in range(len(X)) if kept[i]]
    b = SequenceTagger().fit([X[i] for i in some], [y[i] for i in some])
    # The numbers of the features differ, and so the order of sums.
    assert a.certificate_.primal == pytest.approx(b.certificate_.primal, rel=1e-12)
    right = a.score(X, y, sample_weight=kept)
    assert right == pytest.approx(a.score([X[i] for i in some], [y[i] for i in some]))


TOKEN = {"w": "a"}


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([[TOKEN, TOKEN]], [["x", set()]], "sequence 0, position 1 .* no label is allowed"),
        ([[TOKEN, TOKEN]], [["x", float("nan")]], "sequence 0, position 1 .* the label is missing"),
        ([[TOKEN, TOKEN]], [["x"]], "sequence 0 .* 2 tokens in X and 1 labels in y"),
        ([[TOKEN]], [["x"], ["y"]], "y has 2 sequences where X has 1"),
        ([[TOKEN], [TOKEN]], ["x", "y"], r"y\[0\] is the single label 'x'"),
        ([[TOKEN], [TOKEN]], [1, 2], r"y\[0\] is the single label 1"),
        ([[TOKEN], [TOKEN]], "xy", "y is of type str"),
        ([TOKEN, TOKEN], [["x"], ["y"]], r"sequence 0 \(counted from 0\) is a single dict"),
        (["a", "b"], [["x"], ["y"]], r"sequence 0 \(counted from 0\) is a single str"),
        ("ab", [["x"]], "X is of type str.*read_columns"),
        ([[TOKEN], [TOKEN, TOKEN]], ["x", "y", "x"], "flat list of 3 labels, which .* all tokens"),
        ([[TOKEN], [TOKEN, TOKEN]], ["x"] * 4, "flat list of 4 labels, and X has 2 sequences"),
        (3, [["x"]], "X is of type int"),
        ([[TOKEN, TOKEN]], [["x", 1]], "'?1'? is of type int where the first label"),
        ([[TOKEN, TOKEN]], [["x", ("a",)]], "label of type tuple"),
        ([[TOKEN, TOKEN]], [["x", "x"]], "one class only"),
        ([], [], "no examples"),
        (np.zeros((3, 2)), [["x"] * 3], "give the lengths"),
        (scipy.sparse.csr_array(np.zeros((3, 2))), [["x"] * 3], "give the lengths"),
        (
            [np.eye(2), np.eye(3)],
            [["x", "y"], ["x"] * 3],
            r"sequence 1 \(counted from 0\) has 3 features",
        ),
        (
            [np.eye(2), [TOKEN]],
            [["x", "y"], ["x"]],
            r"sequence 1 \(counted from 0\) is of type list",
        ),
        ([np.array([[1.0], [np.inf]])], [["x", "y"]], "sequence 0, token 1"),
        ([[{"w": float("nan")}]], [["x"]], "sequence 0, token 0.* leave out"),
        ([[{"w": float("inf")}]], [["x"]], "sequence 0, token 0.* give a finite number"),
        ([[{"w": 10**400}]], [["x"]], "sequence 0, token 0.* give a finite number"),
    ],
)
def test_bad_data_is_a_sentence(X: Any, y: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        SequenceTagger().fit(X, y)


def test_bad_lengths_and_other_features_are_sentences(fitted: SequenceTagger) -> None:
    X, y = matrices()
    stacked = np.concatenate(X)
    for lengths, says in (
        ([3, 1], "11 rows and the lengths add up to 4"),
        ([12, -1], "0 or more"),
        ([[11]], "0 or more"),
        ([5.5, 5.5], "0 or more"),
    ):
        with pytest.raises(DataError, match=says):
            SequenceTagger().fit(stacked, y, lengths=lengths)
    with pytest.raises(DataError, match="10 labels where X has 11"):
        SequenceTagger().fit(stacked, [0] * 10, lengths=[11])
    made = SequenceTagger().fit(X, y)
    with pytest.raises(DataError, match="fitted on matrices"):
        made.predict([[TOKEN]])
    with pytest.raises(DataError, match="2 features, but the tagger was fitted on 4"):
        made.predict([np.eye(2)])
    with pytest.raises(DataError, match="tokens with named features"):
        fitted.predict(X)
    with pytest.raises(DataError, match="no tokens to score"):
        made.score([], [])
