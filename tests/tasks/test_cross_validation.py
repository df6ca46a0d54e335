"""Estimators that choose l2 themselves."""

from __future__ import annotations

import pickle
import signal
from inspect import signature
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter
from support.grammar_of_arcs import treebank
from support.sentences import sentences

from partwise import (
    ConvergenceWarning,
    DataError,
    DependencyParser,
    DependencyParserCV,
    LinearClassifier,
    LinearClassifierCV,
    SequenceTagger,
    SequenceTaggerCV,
    UnknownFeaturesWarning,
    load_model,
    save_model,
)
from partwise.datasets import tagged_text
from partwise.metrics import get_scorer

SHORT: dict[str, Any] = {"l2_max": 10.0, "factor": 0.2, "steps": 4, "cv": 3}
EVERY = [
    (LinearClassifierCV, LinearClassifier),
    (SequenceTaggerCV, SequenceTagger),
    (DependencyParserCV, DependencyParser),
]


# Some checks train on features around 100, and do not mind if that ends at max_passes.
@pytest.mark.filterwarnings("ignore::partwise.training.certificate.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@parametrize_with_checks(
    [LinearClassifierCV(l2_max=10.0, factor=0.1, steps=2, cv=3, max_passes=100)]
)
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def fitted(iris: tuple[Any, Any]) -> LinearClassifierCV:
    return LinearClassifierCV(**SHORT).fit(*iris)


@pytest.mark.parametrize(("made", "plain"), EVERY)
def test_parameters_are_those_of_the_plain_one(made: Any, plain: Any) -> None:
    own = made().get_params()
    given = plain().get_params()
    added = {"l2_max", "factor", "steps", "extend", "cv", "rule", "scoring"}
    assert own.keys() - given.keys() == added
    assert given.keys() - own.keys() == {"l2", "warm_start", "out_of_core"}
    same = own.keys() & given.keys() - {"tol"}
    assert {name: own[name] for name in same} == {name: given[name] for name in same}
    assert clone(made(steps=3)).steps == 3


def test_scores_are_those_of_the_folds(iris: tuple[Any, Any], fitted: LinearClassifierCV) -> None:
    X, y = iris
    assert fitted.scores_.shape == (4, 3)
    for k, row in enumerate(fitted.path_):
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            alone = LinearClassifier(l2=row["l2"], tol=1e-7).fit(X[train], y[train])
            # Within the gap both models label nearly all alike.
            assert fitted.scores_[k, fold] == pytest.approx(
                alone.score(X[test], y[test]), abs=0.021
            )
        assert row["score"] == pytest.approx(fitted.scores_[k].mean())
        error = fitted.scores_[k].std(ddof=1) / np.sqrt(3)
        assert row["standard_error"] == pytest.approx(error)
        assert row["relative_gap"] <= 1e-3


def test_the_model_is_that_of_all_data(iris: tuple[Any, Any], fitted: LinearClassifierCV) -> None:
    X, y = iris
    assert fitted.l2_ == max(fitted.path_, key=lambda row: row["score"])["l2"]
    assert fitted.model_.l2 == fitted.l2_
    assert fitted.certificate_.converged
    alone = LinearClassifier(l2=fitted.l2_, tol=1e-9).fit(X, y)
    assert fitted.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-3)
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert fitted.predict_proba(X).shape == (150, 3)
    assert fitted.score(X, y) > 0.9
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_one_standard_error(iris: tuple[Any, Any]) -> None:
    made = LinearClassifierCV(**SHORT, rule="one-se").fit(*iris)
    best = max(made.path_, key=lambda row: row["score"])
    within = [r["l2"] for r in made.path_ if r["score"] >= best["score"] - best["standard_error"]]
    assert made.l2_ == max(within)


def test_data_held_out(iris: tuple[Any, Any]) -> None:
    X, y = iris
    some = np.arange(150) % 3 > 0
    held_out = (X[~some], y[~some])
    made = LinearClassifierCV(**SHORT).fit(X[some], y[some], dev=held_out)
    assert made.scores_.shape == (4, 1)
    assert made.score(*held_out) == made.scores_.max()
    assert {"scores", "standard_error"}.isdisjoint(made.path_[0])
    sparse = LinearClassifierCV(**SHORT).fit(
        scipy.sparse.csr_matrix(X[some]), y[some], dev=(scipy.sparse.csr_matrix(X[~some]), y[~some])
    )
    assert sparse.l2_ == made.l2_
    with pytest.raises(DataError, match="needs folds"):
        LinearClassifierCV(**SHORT, rule="one-se").fit(X, y, dev=held_out)
    with pytest.raises(
        DataError, match=r"give a tuple: \(X_dev, y_dev\), \(X_dev,\) for data that"
    ):
        LinearClassifierCV(**SHORT).fit(X, y, dev=X)


def test_held_out_data_must_have_the_same_features(iris: tuple[Any, Any]) -> None:
    X, y = iris
    with pytest.raises(ValueError, match="X has 3 features, but LinearClassifier is expecting 4"):
        LinearClassifierCV(**SHORT).fit(X, y, dev=(X[:, :3], y))


def test_splitters_and_groups(iris: tuple[Any, Any]) -> None:
    X, y = iris
    by_group = LinearClassifierCV(**{**SHORT, "cv": GroupKFold(5)})
    assert by_group.fit(X, y, groups=np.arange(150) // 3).scores_.shape == (4, 5)
    pairs = list(KFold(2, shuffle=True, random_state=0).split(X))
    assert LinearClassifierCV(**{**SHORT, "cv": pairs}).fit(X, y).scores_.shape == (4, 2)


@pytest.mark.parametrize(
    ("given", "what"),
    [({"rule": "median"}, "rule is 'median'"), ({"factor": 2}, "factor"), ({"steps": 0}, "steps")],
)
def test_parameters_are_checked(iris: tuple[Any, Any], given: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        LinearClassifierCV(**{**SHORT, **given}).fit(*iris)


def test_a_fold_that_is_not_certified_ends_the_table(iris: tuple[Any, Any]) -> None:
    made = LinearClassifierCV(l2_max=10.0, factor=1e-3, steps=4, cv=2, tol=1e-6, max_passes=30)
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        made.fit(*iris)
    assert len(made.path_) < 4
    assert made.certificate_.converged


def test_ctrl_c_in_a_fold_is_ctrl_c(iris: tuple[Any, Any]) -> None:
    def press(progress: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    made = LinearClassifierCV(**SHORT, callbacks=press)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        made.fit(*iris)


# Taggers


def test_tagger() -> None:
    X, y = sentences(40)
    X_dev, y_dev = sentences(20, seed=1)
    made = SequenceTaggerCV(**SHORT).fit(X, y)
    assert made.scores_.shape == (4, 3)
    assert made.score(X_dev, y_dev) > 0.7
    assert made.predict(X_dev, k=2)[0][0][0]
    held_out = SequenceTaggerCV(**SHORT).fit(X, y, dev=(X_dev, y_dev))
    assert held_out.score(X_dev, y_dev) == held_out.scores_.max()


def test_features_are_those_of_the_training_part_alone() -> None:
    # The one feature that tells the labels apart has another name in every sequence: it is of no
    # use on other sequences, and a vocabulary made of all of them would not show that.
    X = [[f"{s}-{t % 2}" for t in range(4)] for s in range(12)]
    y = [[str(t % 2) for t in range(4)] for _ in range(12)]
    seen: list[int] = []

    def scoring(estimator: Any, X: Any, y: Any) -> float:
        names = set(estimator.vocabulary_)
        assert names.isdisjoint(name for sequence in X for name in sequence)
        seen.append(len(names))
        return float(estimator.score(X, y))

    with pytest.warns(UnknownFeaturesWarning, match="none of the"):
        SequenceTaggerCV(**SHORT, scoring=scoring).fit(X, y)
    assert seen == [16] * 12


def test_tagger_of_stacked_matrices() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 5, size=18)
    X = rng.normal(size=(lengths.sum(), 3))
    y = (X[:, 0] > 0).astype(int)
    pairs = rng.normal(size=(int((lengths - 1).sum()), 2))
    cuts = np.cumsum(lengths)[:-1]
    listed = np.split(X, cuts), [part.tolist() for part in np.split(y, cuts)]
    between = np.split(pairs, np.cumsum(lengths - 1)[:-1])
    weight = rng.uniform(0.5, 1.0, size=18)
    made = SequenceTaggerCV(**SHORT).fit(
        X, y, sample_weight=weight, lengths=lengths, X_transitions=pairs
    )
    same = SequenceTaggerCV(**SHORT).fit(*listed, sample_weight=weight, X_transitions=between)
    np.testing.assert_array_equal(made.scores_, same.scores_)
    np.testing.assert_array_equal(made.coef_, same.coef_)
    sparse = SequenceTaggerCV(**SHORT).fit(scipy.sparse.csr_matrix(X), y, lengths=lengths)
    plain = SequenceTaggerCV(**SHORT).fit(X, y, lengths=lengths)
    np.testing.assert_allclose(sparse.scores_, plain.scores_)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"y": [["a"]]}, "y has 1 sequences where X has 6"),
        ({"X_transitions": []}, "X_transitions has 0 sequences where X has 6"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"y": [["a", "b"]] * 6}, "fold 0 .*: sequence 0"),
        ({"X": np.zeros((3, 1)), "y": ["a"] * 3, "lengths": [2, 2]}, "3 labels|add up to 4"),
    ],
)
def test_tagger_refuses(given: dict[str, Any], what: str) -> None:
    data: dict[str, Any] = {"X": [["w"]] * 6, "y": [["a"], ["b"]] * 3, **given}
    with pytest.raises(DataError, match=what):
        SequenceTaggerCV(**SHORT).fit(**data)


# Parsers


def test_parser(tmp_path: Any) -> None:
    train, dev = treebank(30), treebank(10, seed=1)
    made = DependencyParserCV(**SHORT, labelled=True).fit(train)
    assert made.scores_.shape == (4, 3)
    assert made.score(dev) > 0.6
    assert made.parse(dev)[0].head
    held_out = DependencyParserCV(**SHORT).fit(train, dev=(dev,))
    assert held_out.score(dev) == held_out.scores_.max()
    heads = [sentence.head for sentence in train]
    given = DependencyParserCV(**SHORT).fit(train, heads, dev=(dev, [s.head for s in dev]))
    np.testing.assert_array_equal(given.scores_, held_out.scores_)
    with pytest.raises(DataError, match="heads of 29 sentences where there are 30"):
        DependencyParserCV(**SHORT).fit(train, heads[1:])
    save_model(made, tmp_path / "parser")
    loaded = DependencyParserCV.from_model(load_model(tmp_path / "parser"))
    assert type(loaded) is DependencyParser
    assert loaded.l2 == made.l2_
    assert loaded.predict(dev) == made.predict(dev)


def test_fit_has_the_arguments_of_the_estimator_that_is_given_l2() -> None:
    for kind in (LinearClassifierCV, SequenceTaggerCV, DependencyParserCV):
        assert has_fit_parameter(kind(), "sample_weight")
        names = [*signature(kind.fit).parameters]
        assert names[-2:] == ["dev", "groups"]
    with pytest.raises(TypeError, match="missing a required argument: 'X'"):
        SequenceTaggerCV().fit()
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        SequenceTaggerCV().fit([], [], foo=1)


def test_files_that_were_read_are_cut_into_folds() -> None:
    text, dev = tagged_text(40, seed=1), tagged_text(20, seed=2)
    X, y = text.sentences(), text.split(text.labels or [])
    read = SequenceTaggerCV(**SHORT, tol=0.01).fit(text)
    lists = SequenceTaggerCV(**SHORT, tol=0.01, templates="default").fit(X, y)
    np.testing.assert_array_equal(read.scores_, lists.scores_)
    np.testing.assert_array_equal(read.coef_, lists.coef_)
    spans = get_scorer("span_f1")
    held = SequenceTaggerCV(**SHORT, tol=0.01, scoring=spans).fit(text, dev=(dev,))
    gold = dev.split(dev.labels or [])
    assert spans(held, dev) == spans(held, dev.sentences(), gold) == max(held.scores_[:, 0])
    with pytest.raises(DataError, match="scored by its labels; give y"):
        spans(held, dev.sentences())
    with pytest.raises(DataError, match=r"no array; give scikit-learn sentences\(\) as X"):
        cross_validate(SequenceTagger(), text)


def test_default_templates_take_the_columns_that_there_are() -> None:
    words, tagged = [["the", "dog"]], [[["the", "DT"], ["dog", "NN"]]]
    one, two = (SequenceTagger(templates="default").fit(X, [["D", "N"]]) for X in (words, tagged))
    assert "pos[0]=DT" in two.vocabulary_
    assert "pos[0]=DT" not in one.vocabulary_
    assert one.predict(words) == two.predict(tagged) == [["D", "N"]]
    with pytest.raises(DataError, match="must be a list of strings"):
        SequenceTagger(templates="default").fit([[{"a": 1}]], [["D"]])
