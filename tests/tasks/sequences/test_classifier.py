from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_extraction import DictVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from partwise import ConvergenceWarning, DataError, LinearClassifier, load_model, save_model


# Some checks train on features around 100, and do not mind if that ends at max_passes.
@pytest.mark.filterwarnings("ignore::partwise.training.certificate.ConvergenceWarning")
@parametrize_with_checks([LinearClassifier()])
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def fitted(iris: tuple[Any, Any]) -> LinearClassifier:
    return LinearClassifier().fit(*iris)


def test_attributes(iris: tuple[Any, Any], fitted: LinearClassifier) -> None:
    X, y = iris
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert fitted.coef_.shape == (3, 4)
    assert fitted.intercept_.shape == (3,)
    assert fitted.certificate_.converged
    assert fitted.certificate_.relative_gap <= 1e-4
    assert isinstance(fitted.n_iter_, int)
    assert fitted.trace_[-1].certified
    assert fitted.score(X, y) > 0.95
    scores = X @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(fitted.decision_function(X), scores)


def test_objective_is_that_of_the_certificate(iris: tuple[Any, Any]) -> None:
    X, y = iris
    for scaling in (1.0, 3.0):
        made = LinearClassifier(l2=0.7, intercept_scaling=scaling).fit(X, y)
        log_loss = -made.log_proba(X, y).sum()
        norm = (made.coef_**2).sum() + ((made.intercept_ / scaling) ** 2).sum()
        assert made.certificate_.primal == pytest.approx(log_loss + 0.35 * norm, rel=1e-10)


def test_probabilities(iris: tuple[Any, Any], fitted: LinearClassifier) -> None:
    X, _ = iris
    table = fitted.predict_proba(X)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(table), fitted.predict_log_proba(X))
    chosen = fitted.log_proba(X[:2], ["setosa", "rose"])
    assert chosen[0] == pytest.approx(np.log(table[0, 0]))
    assert chosen[1] == -np.inf
    with pytest.raises(DataError, match="3 labels for 2 rows"):
        fitted.log_proba(X[:2], ["setosa"] * 3)


def test_k_best(iris: tuple[Any, Any], fitted: LinearClassifier) -> None:
    X, _ = iris
    labels, scores = fitted.predict(X, k=2)
    assert labels.shape == scores.shape == (150, 2)
    assert (labels[:, 0] == fitted.predict(X)).all()
    assert (scores[:, 0] >= scores[:, 1]).all()
    assert fitted.predict(X, k=9)[0].shape == (150, 3)
    with pytest.raises(DataError, match="at least 1"):
        fitted.predict(X, k=0)


def test_two_classes_have_one_score(iris: tuple[Any, Any]) -> None:
    X, y = iris
    made = LinearClassifier().fit(X, y == "setosa")
    assert made.classes_.tolist() == [False, True]
    assert made.coef_.shape == (2, 4)
    score = made.decision_function(X)
    assert score.shape == (150,)
    assert ((score > 0) == made.predict(X)).all()


def test_hinge_has_no_probabilities(iris: tuple[Any, Any]) -> None:
    made = LinearClassifier(loss="hinge", l2=20.0, tol=0.05).fit(*iris)
    for name in ("predict_proba", "predict_log_proba", "log_proba"):
        assert not hasattr(made, name)
    assert made.score(*iris) > 0.8
    assert hasattr(LinearClassifier(loss="softmax-margin"), "predict_proba")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_sparse_is_dense(iris: tuple[Any, Any], fitted: LinearClassifier, layout: str) -> None:
    X, y = iris
    sparse = scipy.sparse.csr_array(X).asformat(layout)
    made = LinearClassifier().fit(sparse, y)
    np.testing.assert_array_equal(made.coef_, fitted.coef_)
    np.testing.assert_allclose(made.predict_proba(sparse), fitted.predict_proba(X))


def test_sample_weight_zero_is_absence(iris: tuple[Any, Any]) -> None:
    X, y = iris
    some = np.arange(150) % 3 > 0
    a = LinearClassifier().fit(X[some], y[some])
    b = LinearClassifier().fit(X, y, sample_weight=some.astype(float))
    np.testing.assert_array_equal(a.coef_, b.coef_)


def test_only_the_weighted_set_of_examples_counts(iris: tuple[Any, Any]) -> None:
    X, y = iris
    times = np.arange(150) % 4
    again = np.random.default_rng(0).permutation(np.repeat(np.arange(150), times))
    for loss in ("log", "hinge"):
        weighted = LinearClassifier(loss=loss, l2=5.0).fit(X, y, sample_weight=times)
        repeated = LinearClassifier(loss=loss, l2=5.0).fit(X[again], y[again])
        np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
        assert weighted.n_iter_ == repeated.n_iter_
    some = scipy.sparse.csr_array(X[again] > 0.0)  # all values are 1
    binary = LinearClassifier().fit(X > 0.0, y, sample_weight=times)
    np.testing.assert_array_equal(binary.coef_, LinearClassifier().fit(some, y[again]).coef_)


def test_class_weight_is_sample_weight(iris: tuple[Any, Any]) -> None:
    X, y = iris
    X, y = X[:120], y[:120]
    by_class = {"setosa": 2.0, "virginica": 0.5}
    a = LinearClassifier(class_weight=by_class).fit(X, y)
    b = LinearClassifier().fit(X, y, sample_weight=[by_class.get(label, 1.0) for label in y])
    np.testing.assert_array_equal(a.coef_, b.coef_)
    counts = {label: 120 / (3 * (y == label).sum()) for label in np.unique(y)}
    c = LinearClassifier(class_weight="balanced").fit(X, y)
    d = LinearClassifier(class_weight=counts).fit(X, y)
    np.testing.assert_array_equal(c.coef_, d.coef_)


def test_warm_start_goes_on(iris: tuple[Any, Any]) -> None:
    X, y = iris
    cold = LinearClassifier(tol=1e-8).fit(X, y)
    made = LinearClassifier(warm_start=True).fit(X, y)
    made.set_params(tol=1e-8).fit(X, y)
    assert made.n_iter_ < cold.n_iter_
    assert made.certificate_.converged
    # Fewer rows: the dual point has no meaning, the weights do.
    made.set_params(tol=1e-3).fit(X[:140], y[:140])
    assert made.certificate_.converged
    # Another class appears.
    new = np.where(np.arange(150) < 20, "rose", y)
    made.fit(X, new)
    assert made.classes_.tolist() == ["rose", "setosa", "versicolor", "virginica"]
    assert made.certificate_.converged


def test_same_seed_same_model_and_threads_change_nothing(iris: tuple[Any, Any]) -> None:
    models = [LinearClassifier(n_jobs=n).fit(*iris).coef_ for n in (None, 2, -1)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0], other)
    state = [
        LinearClassifier(random_state=np.random.RandomState(3)).fit(*iris).coef_ for _ in range(2)
    ]
    np.testing.assert_array_equal(*state)
    assert LinearClassifier(random_state=None).fit(*iris).certificate_.converged


def test_pipeline_grid_clone_pickle_repr(iris: tuple[Any, Any], fitted: LinearClassifier) -> None:
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), LinearClassifier())
    grid = GridSearchCV(pipeline, {"linearclassifier__l2": [0.1, 10.0]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.9
    assert "l2=3" in repr(clone(LinearClassifier(l2=3.0)))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_saved_and_loaded(iris: tuple[Any, Any], fitted: LinearClassifier, tmp_path: Any) -> None:
    X, _ = iris
    save_model(fitted, tmp_path / "iris.model")
    again = LinearClassifier.from_model(load_model(tmp_path / "iris.model"))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    assert again.certificate_ == fitted.certificate_


def test_callbacks_and_verbose(iris: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    seen = []
    LinearClassifier(callbacks=seen.append, verbose=1).fit(*iris)
    assert len(seen) > 1
    assert "relative gap" in capsys.readouterr().err
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        LinearClassifier(callbacks=[lambda progress: True]).fit(*iris)


def test_what_does_not_converge_warns(iris: tuple[Any, Any]) -> None:
    with pytest.warns(ConvergenceWarning, match="Raise max_passes") as caught:
        made = LinearClassifier(max_passes=1, tol=1e-12).fit(*iris)
    assert not made.certificate_.converged
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"loss": "square"}, "loss is 'square'; use one of log"),
        ({"l2": -1.0}, "l2 is -1.0"),
        ({"l2": "1"}, "l2 is '1'"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"max_passes": 0}, "max_passes is 0"),
        ({"solver": "perceptron"}, "unknown solver 'perceptron'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"random_state": -1}, "seed is -1"),
        ({"intercept_scaling": 0.0}, "intercept_scaling is 0.0"),
        ({"class_weight": "even"}, "class_weight is 'even'"),
        ({"class_weight": {"rose": 1.0}}, "names the class 'rose'"),
        ({"class_weight": {"setosa": -1.0}}, "class_weight of 'setosa' is -1.0"),
        ({"cost_matrix": np.zeros((3, 3))}, "has no cost"),
        ({"loss": "hinge", "cost_matrix": np.zeros((2, 2))}, "cost_matrix has shape"),
        ({"solver_options": {"speed": 9}}, "has no option speed"),
        ({"callbacks": [3]}, "callbacks must be functions"),
    ],
)
def test_bad_parameters_are_sentences(
    iris: tuple[Any, Any], parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        LinearClassifier(**parameters).fit(*iris)


def test_dicts_need_a_vectorizer() -> None:
    X, y = [{"a": 1.0}, {"b": 1.0}], ["x", "y"]
    classifier = make_pipeline(DictVectorizer(), LinearClassifier()).fit(X, y)
    assert classifier.predict(X).tolist() == y
    for labels in (y, ["x", None]):
        with pytest.raises(DataError, match=r"X holds dicts .* DictVectorizer"):
            LinearClassifier().fit(X, labels)
    with pytest.raises(DataError, match="DictVectorizer"):
        classifier[-1].predict(X)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (np.full(150, np.nan), "is nan"),
        (-np.ones(150), "must be finite and not negative"),
        (np.zeros(150), "all sample weights are zero"),
        (np.ones(3), "expected \\(150,\\)"),
        (["a"] * 150, "does not hold numbers"),
    ],
)
def test_bad_sample_weights_are_sentences(iris: tuple[Any, Any], weight: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        LinearClassifier().fit(*iris, sample_weight=weight)


def test_cost_matrix_moves_the_errors(iris: tuple[Any, Any]) -> None:
    X, y = iris
    cost = np.ones((3, 3)) - np.eye(3)
    plain = LinearClassifier(loss="softmax-margin").fit(X, y)
    same = LinearClassifier(loss="softmax-margin", cost_matrix=cost).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    cost[2, 1] = 30.0
    wary = LinearClassifier(loss="softmax-margin", cost_matrix=cost).fit(X, y)
    assert ((wary.predict(X) == "virginica") & (y == "virginica")).sum() == 50
