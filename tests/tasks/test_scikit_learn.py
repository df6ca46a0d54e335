"""Every estimator in scikit-learn's own functions: folds, searches, curves, pipelines, routing."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted
from support.grammar_of_arcs import treebank as arc_trees
from support.grammar_of_phrases import treebank as phrase_trees
from support.graph_data import grids
from support.sentences import sentences

import partwise
from partwise import (
    ConstituencyParser,
    DataError,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    SegmentTagger,
    SequenceTagger,
    SequenceTaggerCV,
)
from partwise.formats.tree import Tree
from partwise.metrics import get_scorer, get_scorers
from partwise.tasks.estimator import LabelList

Data = tuple[Any, Any]


def matrices() -> Data:
    """One matrix per sequence, of different lengths."""
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(int(n), 3)) for n in rng.integers(1, 6, size=18)]
    return X, [(part[:, 0] > 0).astype(int).tolist() for part in X]


def strings() -> Data:
    X, y = sentences(12)
    return [[[f"w={token['w']}", f"p={token['p']}"] for token in one] for one in X], y


def segments() -> Data:
    X, _ = sentences(12)
    return X, [[(0, min(2, len(one)), "NP")] for one in X]


def table() -> Data:
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    some = np.random.default_rng(0).permutation(len(X))[:30]
    return X[some], np.array(["setosa", "versicolor", "virginica"])[y[some]]


def arcs() -> Data:
    return arc_trees(12), None


def arcs_apart() -> Data:
    trees = arc_trees(12)
    return trees, [list(zip(tree.head, tree.deprel, strict=True)) for tree in trees]


def phrases() -> Data:
    return phrase_trees(12), None


QUICK = {"tol": 0.1}
#: An estimator, its data, a scorer that suits it, and what it is called.
CASES = [
    (SequenceTagger(**QUICK), lambda: sentences(12), "span_f1", "dicts"),
    (SequenceTagger(**QUICK), strings, "token_f1_weighted", "strings"),
    (SequenceTagger(**QUICK), matrices, "token_accuracy", "matrices"),
    (KernelTagger(**QUICK), matrices, "sentence_accuracy", "kernel-tagger"),
    (SegmentTagger(**QUICK), lambda: sentences(12), "span_recall", "segment-tags"),
    (SegmentTagger(**QUICK), segments, "span_f1", "segments"),
    (DependencyParser(**QUICK), arcs, "uas", "trees-in-sentences"),
    (DependencyParser(labelled=True, **QUICK), arcs_apart, "las", "trees-apart"),
    (ConstituencyParser(**QUICK), phrases, "bracket_f1", "phrases"),
    (GraphLabeler(**QUICK), lambda: grids(12), "token_accuracy", "graphs"),
    (LinearClassifier(**QUICK), table, "accuracy", "classifier"),
    (KernelClassifier(**QUICK), table, "f1_macro", "kernel-classifier"),
]
EVERY = pytest.mark.parametrize(
    ("estimator", "data", "scoring"),
    [pytest.param(*case[:3], id=case[3]) for case in CASES],
)
Make = Callable[[], Data]


def scorer_of(estimator: Any, name: str) -> Any:
    return name if is_classifier(estimator) else get_scorer(name)


@EVERY
def test_predictions_of_the_folds_are_joined(estimator: Any, data: Make, scoring: str) -> None:
    X, y = data()
    found = cross_val_predict(estimator, X, y, cv=KFold(3))
    assert isinstance(found, np.ndarray)
    assert found.shape == (len(X),)
    # The same as by hand, label by label.
    for train, test in KFold(3).split(X):
        made = clone(estimator)
        made.fit(*[[part[i] for i in train] for part in (X, y) if part is not None])
        alone = made.predict([X[i] for i in test])
        assert len(alone) == len(test)
        for i, label in zip(test, alone, strict=True):
            assert type(found[i]) is type(label)
            assert str(found[i]) == str(label)


@EVERY
def test_curves_and_searches(estimator: Any, data: Make, scoring: str) -> None:
    X, y = data()
    scorer = scorer_of(estimator, scoring)
    alone = cross_validate(estimator, X, y, cv=KFold(3), scoring=scorer)["test_score"]
    assert np.isfinite(alone).all()
    for grid in (
        GridSearchCV(estimator, {"l2": [1.0]}, cv=KFold(3), scoring=scorer),
        RandomizedSearchCV(estimator, {"l2": [1.0]}, n_iter=1, cv=KFold(3), scoring=scorer),
    ):
        grid.fit(X, y)
        assert grid.best_score_ == pytest.approx(alone.mean())
        assert len(grid.predict(X)) == len(X)
    sizes, _, scores = learning_curve(
        estimator, X, y, cv=KFold(3), train_sizes=[0.5, 1.0], scoring=scorer
    )
    assert scores.shape == (2, 3)
    np.testing.assert_allclose(scores[-1], alone)
    assert sizes[-1] == len(X) * 2 // 3
    _, scores = validation_curve(
        estimator, X, y, param_name="l2", param_range=[1.0, 10.0], cv=KFold(3), scoring=scorer
    )
    np.testing.assert_allclose(scores[0], alone)


@EVERY
def test_pipelines_and_copies(estimator: Any, data: Make, scoring: str) -> None:
    X, y = data()
    pipeline = make_pipeline(FunctionTransformer(), clone(estimator))
    given = (X,) if y is None else (X, y)
    plain = clone(estimator).fit(*given)
    assert str(pipeline.fit(*given).predict(X)) == str(plain.predict(X))
    assert pipeline.score(*given) == plain.score(*given)
    again = pickle.loads(pickle.dumps(plain))
    assert str(again.predict(X)) == str(plain.predict(X))


@pytest.mark.parametrize("number", [0, 6, 8])
def test_scorers_travel_to_other_processes(number: int) -> None:
    estimator, data, name, _ = CASES[number]
    X, y = data()
    here, there = (
        cross_validate(estimator, X, y, cv=3, scoring=get_scorer(name), n_jobs=jobs)["test_score"]
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(here, there)


def test_labels_are_permuted_among_sequences_of_one_length() -> None:
    X, y = matrices()
    # Folds that the groups do not choose, so that they only say which labels may be exchanged.
    folds = list(KFold(3).split(X))
    score, permuted, _ = permutation_test_score(
        SequenceTagger(tol=1e-3), X, y, groups=list(map(len, y)), cv=folds, n_permutations=4,
        scoring=get_scorer("token_accuracy"), random_state=0,
    )  # fmt: skip
    assert score > permuted.max()
    with pytest.raises(DataError, match="tokens in X and"):
        permutation_test_score(SequenceTagger(), X, y, cv=folds, n_permutations=1)


# The list that predict returns


def test_predictions_are_a_list_in_every_other_way() -> None:
    X, y = matrices()
    found = SequenceTagger(tol=0.1).fit(X, y).predict(X)
    assert isinstance(found, list)
    assert found == list(found)
    assert json.loads(json.dumps(found)) == found
    assert type(pickle.loads(pickle.dumps(found))) is LabelList
    flat = np.concatenate(found)
    assert flat.tolist() == [label for labels in found for label in labels]


def test_numpy_takes_them_as_lists_except_to_join_them() -> None:
    square = LabelList([["a", "b"], ["c", "d"]])
    assert np.array(square).shape == (2, 2)
    assert np.array_equal(square, [["a", "b"], ["c", "d"]])
    assert np.stack([square, square]).shape == (2, 2, 2)
    assert np.concatenate([square, LabelList([["e"]])]).tolist() == [
        ["a", "b"], ["c", "d"], ["e"],
    ]  # fmt: skip
    joined = np.concatenate([square, np.array([None], dtype=object)])
    assert joined.tolist() == [["a", "b"], ["c", "d"], None]
    tree = Tree("S", [Tree("A", ["a"])])
    assert np.concatenate([LabelList([tree, tree]), LabelList([])]).tolist() == [tree, tree]


# Metadata


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Stacked:
    """One matrix of all tokens, and what splits it by rows without cutting sequences."""

    def __init__(self) -> None:
        X, y = matrices()
        self.lengths = np.array(list(map(len, X)))
        self.X, self.y = np.concatenate(X), np.concatenate(y)
        self.sequence = np.repeat(np.arange(len(X)), self.lengths)
        # The length stands on the first row of each sequence, and the other rows begin none.
        self.by_row = np.zeros(len(self.X), dtype=int)
        self.by_row[np.cumsum(self.lengths) - self.lengths] = self.lengths
        self.parts = X, y


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("kind", [SequenceTagger, SegmentTagger])
def test_lengths_are_routed_through_a_pipeline(kind: Any) -> None:
    data = Stacked()
    y = data.y if kind is SequenceTagger else np.where(data.y == 1, "B-N", "O")
    pipeline = make_pipeline(StandardScaler(), kind(tol=0.1)).fit(data.X, y, lengths=data.lengths)
    found = pipeline.predict(data.X, lengths=data.lengths)
    assert list(map(len, found)) == data.lengths.tolist()
    scaled = StandardScaler().fit_transform(data.X)
    plain = kind(tol=0.1).fit(scaled, y, lengths=data.lengths)
    assert found == plain.predict(scaled, lengths=data.lengths)
    score = pipeline.score(data.X, y, lengths=data.lengths)
    assert score == plain.score(scaled, y, lengths=data.lengths)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("sparse", [False, True])
def test_folds_of_one_matrix_are_those_of_its_sequences(sparse: bool) -> None:
    data = Stacked()
    X = scipy.sparse.csr_matrix(data.X) if sparse else data.X
    tagger = SequenceTagger(tol=1e-8).set_fit_request(sample_weight=True)
    scorer = get_scorer("token_accuracy").set_score_request(sample_weight=True)
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, size=len(data.lengths))
    cv = GroupKFold(3)
    found = cross_validate(
        tagger, X, data.y, cv=cv, scoring=scorer,
        params={
            "lengths": data.by_row, "groups": data.sequence, "sample_weight": weight[data.sequence],
        },
    )["test_score"]  # fmt: skip
    parts, labels = data.parts
    folds = []
    for train, test in cv.split(data.X, groups=data.sequence):
        train, test = np.unique(data.sequence[train]), np.unique(data.sequence[test])
        made = SequenceTagger(tol=1e-8)
        made.fit([parts[i] for i in train], [labels[i] for i in train], weight[train])
        folds.append(made.score([parts[i] for i in test], [labels[i] for i in test], weight[test]))
    np.testing.assert_allclose(found, folds)
    assert len(set(found.tolist())) > 1


@pytest.mark.usefixtures("routing")
def test_features_of_transitions_are_split_with_the_sequences() -> None:
    X, y = matrices()
    rng = np.random.default_rng(1)
    steps = [rng.normal(size=(len(one) - 1, 2)) for one in X]
    weight = rng.uniform(0.5, 1.5, size=len(X))
    tagger = SequenceTagger(tol=1e-8).set_fit_request(sample_weight=True)
    tagger.set_score_request(sample_weight=True)
    params = {"X_transitions": steps, "sample_weight": weight}
    own = cross_validate(tagger, X, y, cv=3, params=params)["test_score"]
    scorer = get_scorers(["token_accuracy"]).set_score_request(sample_weight=True)
    by_name = cross_validate(tagger, X, y, cv=3, params=params, scoring=scorer)
    np.testing.assert_allclose(own, by_name["test_token_accuracy"])
    grid = GridSearchCV(tagger, {"l2": [1.0]}, cv=3).fit(X, y, **params)
    assert grid.best_score_ == pytest.approx(own.mean())
    train, test = next(iter(KFold(3).split(X)))
    made = SequenceTagger(tol=1e-8).fit(
        [X[i] for i in train], [y[i] for i in train], weight[train],
        X_transitions=[steps[i] for i in train],
    )  # fmt: skip
    alone = made.score(
        [X[i] for i in test], [y[i] for i in test], weight[test],
        X_transitions=[steps[i] for i in test],
    )  # fmt: skip
    assert own[0] == pytest.approx(alone)


@pytest.mark.usefixtures("routing")
def test_weights_are_passed_only_if_they_are_asked_for() -> None:
    X, y = matrices()
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(SequenceTagger(), X, y, params={"sample_weight": np.ones(len(X))})


def test_own_scorers_choose_l2() -> None:
    data = Stacked()
    short: dict[str, Any] = {"l2_max": 10.0, "factor": 0.1, "steps": 2, "cv": 3}
    made = SequenceTaggerCV(scoring=get_scorer("token_accuracy"), **short)
    plain = SequenceTaggerCV(**short).fit(data.X, data.y, lengths=data.lengths)
    made.fit(data.X, data.y, lengths=data.lengths)
    np.testing.assert_array_equal(made.scores_, plain.scores_)
    parser = partwise.ConstituencyParserCV(scoring=get_scorer("bracket_f1"), **short)
    trees = phrase_trees(9)
    own = partwise.ConstituencyParserCV(**short).fit(trees)
    np.testing.assert_allclose(parser.fit(trees).scores_, own.scores_)


# What estimators say of themselves


@EVERY
def test_tags_and_conventions(estimator: Any, data: Make, scoring: str) -> None:
    tags = get_tags(estimator)
    assert tags.requires_fit
    classifier = isinstance(estimator, LinearClassifier)
    assert tags.estimator_type == ("classifier" if classifier else None)
    assert tags.target_tags.required == (
        not isinstance(estimator, (DependencyParser, ConstituencyParser))
    )
    assert tags.input_tags.two_d_array is classifier
    assert tags.no_validation is not classifier
    # Each fit is certified on all of its data, and predictions are no table.
    assert not hasattr(estimator, "partial_fit")
    assert not hasattr(estimator, "set_output")
    fresh = clone(estimator)
    assert not fresh.__sklearn_is_fitted__()
    for name in ("model_", "certificate_", "trace_", "n_iter_", "started_from_", "classes_"):
        with pytest.raises(sklearn.exceptions.NotFittedError, match=f"no {name} yet; call fit"):
            getattr(fresh, name)
        assert not hasattr(fresh, name)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(fresh)
    X, y = data()
    fresh.fit(*((X,) if y is None else (X, y)))
    check_is_fitted(fresh)
    assert fresh.__sklearn_is_fitted__()


def test_attributes_that_there_are_not() -> None:
    tagger = SequenceTagger(tol=0.1)
    with pytest.raises(AttributeError, match="no attribute 'weight'") as found:
        tagger.weight  # noqa: B018
    assert not isinstance(found.value, ValueError)
    tagger.fit(*strings())
    for name, why in (("odd_", "no attribute 'odd_'"), ("n_features_in_", "with named features"),
                      ("triples_", "order=1")):  # fmt: skip
        with pytest.raises(AttributeError, match=why):
            getattr(tagger, name)


@pytest.mark.parametrize(
    ("kind", "given", "why"),
    [
        (SequenceTagger, {"c1": 0.1}, "no parameter 'c1'; c1 of CRFsuite is l1 here"),
        (SequenceTagger, {"all_possible_transitions": True}, "give transition_weights='all'"),
        (LinearClassifier, {"C": 1.0}, "no parameter 'C'; give l2 = 1 / C, or l2 = 2 / C for"),
        (LinearClassifier, {"min_freq": 1}, "no parameter 'min_freq'; it has loss, l2, l1, "),
        (DependencyParser, {"labeled": True}, "DependencyParser has .*; did you mean labelled"),
        (partwise.SequenceTaggerCV, {"c2": 1}, "no parameter 'c2'; it has loss, l1"),
        (partwise.SequenceTaggerCV, {"step": 1}, "did you mean steps?"),
    ],
)
def test_unknown_parameters_are_answered_by_known_ones(kind: Any, given: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        kind(**given)
    with pytest.raises(TypeError, match="takes its parameters by name"):
        kind(*given.values())
    assert "l1" in inspect.signature(kind).parameters
    assert kind(l1=0.5).get_params()["l1"] == clone(kind(l1=0.5)).l1 == 0.5


def test_numbers_of_features() -> None:
    X, y = matrices()
    for kind in (SequenceTagger, KernelTagger, SegmentTagger):
        labels = y if kind is not SegmentTagger else [["BO"[label] for label in one] for one in y]
        assert kind(tol=0.1).fit(X, labels).n_features_in_ == 3
        assert not hasattr(kind(), "n_features_in_")
    named = SequenceTagger(tol=0.1).fit(*strings())
    assert not hasattr(named, "n_features_in_")


def test_names_of_features_come_with_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = table()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), LinearClassifier(tol=0.1))
    pipeline.set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")
    assert pipeline[-1].n_features_in_ == 4


@EVERY
def test_notebooks_show_the_certificate(estimator: Any, data: Make, scoring: str) -> None:
    fresh = clone(estimator)
    assert "partwise-certificate" not in fresh._repr_html_()
    X, y = data()
    fresh.fit(*((X,) if y is None else (X, y)))
    shown = fresh._repr_html_()
    assert type(fresh).__name__ in shown
    assert f"{fresh.certificate_.primal:.6g}" in shown
    assert f"{fresh.certificate_.relative_gap:.2e}" in shown
    bundle = fresh._repr_mimebundle_()
    assert bundle["text/html"].count("partwise-certificate") == 1
    assert "partwise-certificate" not in bundle["text/plain"]


def test_what_a_file_says_is_escaped_in_notebooks() -> None:
    X, y = table()
    made = LinearClassifier(tol=0.1).fit(X, y)
    hostile = replace(made.model_.certificate, verdict="<script>alert(1)</script>", tol=1e-12)
    shown = LinearClassifier.from_model(replace(made.model_, certificate=hostile))._repr_html_()
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    assert "not certified to tol" in shown
    with sklearn.config_context(display="text"):
        assert "text/html" not in made._repr_mimebundle_()


def test_a_tagger_is_not_scored_without_labels() -> None:
    X, y = matrices()
    made = SequenceTagger(tol=0.1).fit(X, y)
    with pytest.raises(DataError, match="SequenceTagger is scored by its labels; give y"):
        get_scorer("token_accuracy")(made, X)
    pipeline = make_pipeline(FunctionTransformer(), made)
    with pytest.raises(DataError, match="Pipeline is scored by its labels; give y"):
        get_scorer("token_accuracy")(pipeline, X)
