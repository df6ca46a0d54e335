"""LIBLINEAR's files and scikit-learn's classifiers: labels, decision values, probabilities."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.svm import LinearSVC
from support.foreign_models import LIBLINEAR_ROWS, liblinear_text

from partwise import (
    DataError,
    LinearClassifier,
    MismatchError,
    ModelFileError,
    load_model,
    save_model,
)
from partwise.models.foreign.registry import read_model
from partwise.models.foreign.sklearn import model_of_sklearn
from partwise.models.model import Model

ROWS = np.array(LIBLINEAR_ROWS)
#: Solver, labels, bias, weights, then the labels and decision values that LIBLINEAR itself gives.
LIBLINEAR: dict[str, Any] = {
    "two": ("L2R_LR", "1 -1", -1, [[0.82647441720872727], [-0.35945022101809548],
            [0.28319145222389203]], [1, -1, -1, 1], [[0.8264744172087273], [-0.6426416732419875],
            [0.0], [0.6296660450366806]]),
    "three": ("L2R_LR", "3 1 2", -1,
              [[-0.44247042744350384, 0.084617559189165401, -0.29939020678751843],
               [-0.48828848941999325, 0.55859987367038322, -0.64661710193655186],
               [0.95739777231695211, -0.44176971667944975, -0.81961173603517212]],
              [1, 1, 3, 3], [[-0.44247042744350384, 0.0846175591891654, -0.29939020678751843],
               [-1.4456862617369453, 1.000369590349833, 0.17299463409862026], [0.0, 0.0, 0.0],
               [3.928754180634562, -1.6697376778947859, -3.2904061162310674]]),
    "two, bias": ("L2R_L1LOSS_SVC_DUAL", "1 -1", 2, [[1.0170193870887847], [-0.36101996402657754],
                  [0.3138209512649745], [-0.34308952436751261]], [1, -1, -1, -1],
                  [[0.3308403383537595], [-1.3610199640265772], [-0.6861790487350252],
                   [-0.029659928226163923]]),
    "three, bias": ("L2R_L2LOSS_SVC_DUAL", "3 1 2", 2,
                    [[-0.32072548304624066, 0.25085631007131926, -0.026848065869410909],
                     [-0.20796433187484747, 1.2828059861426748, -1.0375305904797778],
                     [1.0281247915852421, -0.16661319362883584, -0.67445141462204816],
                     [-0.25945588771531947, -0.44301541947221446, 0.13626929898385523]],
                    [2, 1, 2, 3], [[-0.8396372584768796, -0.6351745288731097, 0.24569053209829955],
                     [-1.7550008988907284, 0.5633883408270817, -0.09054057789001918],
                     [-0.5189117754306389, -0.8860308389444289, 0.27253859796771046],
                     [3.7019590494647376, -1.3572102719597632, -2.6712256752057213]]),
    "Crammer and Singer": ("MCSVM_CS", "3 1 2", -1,
                           [[6.9388939039072284e-18, 0.0027707432034340673, -0.0027707432034340673],
                            [-0.33333333333333337, 0.66666666666666652, -0.33333333333333343],
                            [1.0, -5.5511151231257827e-17, -1.0]], [1, 1, 3, 3],
                           [[6.938893903907228e-18, 0.0027707432034340673, -0.0027707432034340673],
                            [-1.3333333333333335, 0.6666666666666665, 0.6666666666666665],
                            [0.0, 0.0, 0.0],
                            [3.9166666666666665, 0.16528129506494937, -4.081947961731617]]),
    "Crammer and Singer, two": ("MCSVM_CS", "1 -1", -1,
                                [[0.50000000000000011, -0.49999999999999994],
                                 [-0.5, 0.49999999999999994], [5.5511151231257827e-17, 0.0]],
                                [1, -1, -1, -1], None),
}  # fmt: skip


def scores(model: Model, X: Any) -> Any:
    """Return the scores of all labels, in the order of the model."""
    found = model.k_best(X, k=len(model.labels))
    held = [dict(zip(labels, values, strict=True)) for values, labels in found]
    return np.array([[one[label] for label in model.labels] for one in held])


def put(folder: Path, name: str) -> Path:
    solver, labels, bias, weights, *_ = LIBLINEAR[name]
    (folder / "foreign").write_text(liblinear_text(solver, labels, bias, weights))
    return folder / "foreign"


@pytest.mark.parametrize("name", LIBLINEAR)
def test_liblinear_gives_the_labels_and_values_that_liblinear_gives(
    name: str, tmp_path: Path
) -> None:
    _, labels, _, _, wanted, values = LIBLINEAR[name]
    model = read_model(put(tmp_path, name), "liblinear-model")
    assert model.predict(ROWS) == [str(label) for label in wanted]
    assert sorted(model.labels) == sorted(labels.split())
    if values is None:
        return
    found = scores(model, ROWS)
    if len(model.labels) == 2:
        found = found[:, 1:] - found[:, :1]
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-12)


def test_what_is_known_of_the_objective(tmp_path: Path) -> None:
    comparable = {}
    for number, solver in enumerate(
        ["L2R_LR", "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVC", "L2R_L1LOSS_SVC_DUAL", "MCSVM_CS",
         "L1R_L2LOSS_SVC", "L1R_LR", "L2R_LR_DUAL"]
    ):  # fmt: skip
        for labels, width in (("1 2", 2 if number == 4 else 1), ("1 2 3", 3)):
            text = liblinear_text(solver, labels, -1, [[0.5] * width])
            (tmp_path / "model").write_text(text)
            model = read_model(tmp_path / "model", "liblinear-model")
            assert model.origin is not None
            comparable[number, len(model.labels)] = model.origin.comparable
            assert model.probabilistic == (number in (0, 6, 7) and len(model.labels) == 2)
            assert not model.certificate.converged
    assert {key for key, yes in comparable.items() if yes} == {
        (0, 2), (3, 2), (4, 2), (4, 3), (7, 2)}  # fmt: skip


def test_one_against_the_rest_has_no_probabilities(tmp_path: Path) -> None:
    model = read_model(put(tmp_path, "three"), "liblinear-model")
    with pytest.raises(MismatchError, match=r"converted from LIBLINEAR.*each class against"):
        model.marginals(ROWS)


def test_two_classes_have_the_probabilities_of_liblinear(tmp_path: Path) -> None:
    model = read_model(put(tmp_path, "two"), "liblinear-model")
    values = np.array(LIBLINEAR["two"][5]).ravel()
    found = np.array(model.marginals(ROWS))[:, 0, model.labels.index("1")]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-values)), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("solver_type L2R_LR", "solver_type L2R_L2LOSS_SVR", "only classifiers"),
        ("solver_type", "type", "does not begin with solver_type"),
        ("nr_class 3", "nr_class 4", "is 4 and there are 3 labels"),
        ("nr_class 3\n", "", "no nr_class"),
        ("nr_feature 3", "nr_feature 2147483647", "3 rows of weights where"),
        ("bias -1", "bias 1", "3 rows of weights where 4"),
        ("label 3 1 2", "label 3 3 2", "label occurs twice"),
        ("label 3 1 2", "label 3 x 2", "finite number"),
        ("\nw\n", "\n", 'no line "w"'),
        ("0.95739777231695", "nan", "finite number"),
        ("0.95739777231695", "1 0.9", "has 4 where 3 belong"),
    ],
)  # fmt: skip
def test_faults_of_liblinear_models(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = put(tmp_path, "three")
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ModelFileError, match=says):
        read_model(path, "liblinear-model")


def iris(classes: int) -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    kept = y < classes
    return X[kept] - X.mean(axis=0), y[kept]


ESTIMATORS = {
    "log": LogisticRegression(C=0.5, max_iter=1000),
    "log without intercept": LogisticRegression(C=0.5, fit_intercept=False, max_iter=1000),
    "log by liblinear": LogisticRegression(solver="liblinear", intercept_scaling=3.0),
    "squared hinge": LinearSVC(max_iter=100000),
    "hinge": LinearSVC(loss="hinge", C=0.1, max_iter=100000),
    "Crammer and Singer": LinearSVC(multi_class="crammer_singer", max_iter=100000),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_sklearn(name: str, classes: int, tmp_path: Path) -> None:
    X, y = iris(classes)
    if name == "log by liblinear" and classes == 3:
        pytest.skip("newer versions of scikit-learn refuse it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        estimator = ESTIMATORS[name].fit(X, y)
    model = model_of_sklearn(estimator)
    save_model(model, tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert model.predict(X) == estimator.predict(X).tolist()
    assert list(model.labels) == estimator.classes_.tolist()
    found, values = scores(model, X), estimator.decision_function(X)
    if values.ndim == 1:
        found = found[:, 1] - found[:, 0]
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-9)
    if name.startswith("log"):
        odds = np.array(model.marginals(X))[:, 0]
        np.testing.assert_allclose(odds, estimator.predict_proba(X), rtol=0, atol=1e-9)
    else:
        with pytest.raises(MismatchError, match="not log-probabilities"):
            model.marginals(X)
    assert LinearClassifier.from_model(model).predict(X).tolist() == estimator.predict(X).tolist()


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [
        (LogisticRegression(C=0.5, fit_intercept=False, max_iter=1000), 3),
        (LogisticRegression(C=0.5, fit_intercept=False, max_iter=1000), 2),
        (LinearSVC(loss="hinge", C=0.1, max_iter=10**6, tol=1e-8), 2),
        (LinearSVC(multi_class="crammer_singer", C=0.2, max_iter=10**6, tol=1e-8), 3),
    ],
    ids=str,
)
def test_how_far_sklearn_was_from_its_optimum(estimator: Any, classes: int) -> None:
    X, y = iris(classes)
    model = model_of_sklearn(estimator.fit(X, y))
    assert model.origin is not None
    assert model.origin.comparable
    # l2, the loss and the intercept follow from the model.
    fit = LinearClassifier.from_model(model).set_params(tol=1e-7, warm_start=True).fit(X, y)
    assert fit.started_from_ is not None
    least, most = fit.started_from_.above(fit.certificate_)
    assert 0 <= least <= most < 1e-4 * fit.started_from_.objective
    assert fit.started_from_.n_used == fit.started_from_.n_weights


def test_an_intercept_that_is_free_is_no_objective_of_partwise() -> None:
    model = model_of_sklearn(LogisticRegression().fit(*iris(3)))
    assert model.origin is not None
    assert not model.origin.comparable
    assert "not regularised" in model.origin.objective


def test_other_estimators_are_refused() -> None:
    with pytest.raises(DataError, match="Perceptron cannot be converted; give one of Logistic"):
        model_of_sklearn(Perceptron().fit(*iris(2)))
    with pytest.raises(DataError, match="not fitted"):
        model_of_sklearn(LogisticRegression())


def test_skops(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    X, y = iris(3)
    estimator = LogisticRegression().fit(X, y)
    skops.dump(estimator, tmp_path / "model.skops")
    model = read_model(tmp_path / "model.skops", "sklearn-model")
    assert model.predict(X) == estimator.predict(X).tolist()


def test_without_skops_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "skops", None)
    (tmp_path / "model").write_bytes(b"PK\x03\x04")
    with pytest.raises(MismatchError, match="pip install skops"):
        read_model(tmp_path / "model", "sklearn-model")


class Trap:
    """Shows whether a pickle was read."""

    sprung = False

    def __reduce__(self) -> Any:
        return setattr, (Trap, "sprung", True)


@pytest.mark.parametrize("name", ["sklearn-model", "crfsuite-model", "wapiti-model", "json-model"])
def test_pickles_are_never_read(name: str, tmp_path: Path) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "model").write_bytes(pickle.dumps(Trap(), protocol))
        with pytest.raises(ModelFileError, match="is a pickle, and reading a pickle may run any"):
            read_model(tmp_path / "model", name)
    assert not Trap.sprung
