"""The interface of sklearn-crfsuite, in today's scikit-learn."""

from __future__ import annotations

import glob
import inspect
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from support.crfsuite_data import random_sequences

from partwise import (
    ConvergenceWarning,
    ModelFileError,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.compat import pycrfsuite as ours
from partwise.compat.sklearn_crfsuite import CRF, metrics, scorers
from partwise.compat.sklearn_crfsuite.estimator import sequence_array
from partwise.compat.sklearn_crfsuite.utils import flatten

#: The parameters of sklearn-crfsuite 0.5, in its order.
PARAMETERS = [
    "algorithm", "min_freq", "all_possible_states", "all_possible_transitions", "c1", "c2",
    "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch",
    "calibration_eta", "calibration_rate", "calibration_samples", "calibration_candidates",
    "calibration_max_trials", "pa_type", "c", "error_sensitive", "averaging", "variance", "gamma",
    "verbose", "model_filename", "keep_tempfiles", "trainer_cls",
]  # fmt: skip
ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]


@pytest.fixture
def data() -> tuple[list[Any], list[Any]]:
    return random_sequences(1, 30)


def equal_lengths() -> tuple[list[Any], list[Any]]:
    """Sequences that all have two tokens."""
    X, y = random_sequences(2, 40)
    return [x[:2] for x in X if len(x) > 1], [labels[:2] for labels in y if len(labels) > 1]


def test_parameters_are_those_of_the_original() -> None:
    assert list(inspect.signature(CRF).parameters) == PARAMETERS
    assert CRF("pa", 2).get_params()["min_freq"] == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_parameter_reaches_the_trainer(algorithm: str, data: Any) -> None:
    """Those of the algorithm are set; the others are refused, by their names in CRFsuite."""
    seen: dict[str, Any] = {}

    class Watched(ours.Trainer):
        def train(self, model: Any, holdout: int = -1) -> None:
            seen.update(self.get_params())
            super().train(model, holdout)

    given: dict[str, Any] = {
        "min_freq": 1.0, "all_possible_states": True, "all_possible_transitions": True,
        "c1": 0.25, "c2": 0.5, "max_iterations": 30, "num_memories": 3, "epsilon": 0.125,
        "period": 4, "delta": 0.01, "linesearch": "Backtracking", "max_linesearch": 7,
        "calibration_eta": 0.2, "calibration_rate": 3.0, "calibration_samples": 20.0,
        "calibration_candidates": 5, "calibration_max_trials": 6, "pa_type": 2, "c": 0.75,
        "error_sensitive": False, "averaging": False, "variance": 2.0, "gamma": 4.0,
    }  # fmt: skip
    names = pycrfsuite.Trainer(algorithm).params()
    for name, value in given.items():
        inner = {
            "min_freq": "feature.minfreq",
            "all_possible_states": "feature.possible_states",
            "all_possible_transitions": "feature.possible_transitions",
            "pa_type": "type",
        }.get(name, name.replace("calibration_", "calibration."))
        crf = CRF(algorithm, trainer_cls=Watched, **{name: value})
        if inner in names:
            crf.fit(*data)
            assert seen[inner] == value
        else:
            with pytest.raises(ValueError, match=f"Parameter not found: {inner}"):
                crf.fit(*data)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_attributes_are_those_of_the_model_file(algorithm: str, data: Any) -> None:
    X, y = data
    crf = CRF(algorithm).fit(X, y)
    assert (crf.certificate_ is not None) == (algorithm in ("lbfgs", "l2sgd"))
    tagger = pycrfsuite.Tagger()
    tagger.open(crf.modelfile.name)
    info = tagger.info()
    assert crf.classes_ == tagger.labels()
    assert crf.state_features_ == pytest.approx(info.state_features, abs=1e-6)
    assert crf.transition_features_ == pytest.approx(info.transitions, abs=1e-6)
    assert crf.size_ == os.path.getsize(crf.modelfile.name)
    assert crf.attributes_ == list(info.attributes)
    assert crf.num_attributes_ == len(info.attributes)
    assert crf.predict(X).tolist() == [tagger.tag(x) for x in X]
    assert [crf.predict_single(x) for x in X] == crf.predict(X).tolist()
    for tokens, table in zip(X, crf.predict_marginals(X), strict=True):
        tagger.set(tokens)
        assert table == crf.predict_marginals_single(tokens)
        for t, row in enumerate(table):
            assert list(row) == tagger.labels()
            for label, share in row.items():
                assert share == pytest.approx(tagger.marginal(label, t), abs=1e-12)


def test_sequences_of_one_length_are_not_a_matrix() -> None:
    X, y = equal_lengths()
    crf = CRF(c2=1e-3).fit(X, y)
    for found in (crf.predict(X), crf.predict_marginals(X), crf.predict(X[:1]), crf.predict([])):
        assert (found.dtype, found.ndim) == (object, 1)
    found = crf.predict(X)
    assert metrics.sequence_accuracy_score(found, found) == 1.0
    right = np.mean([a == b for a, b in zip(found.tolist(), y, strict=True)])
    assert metrics.sequence_accuracy_score(y, found) == pytest.approx(right)
    assert 0 < right < 1


def test_arrays_of_sequences_compare_sequences() -> None:
    found = sequence_array([["a", "b"], ["a", "c"]])
    assert (found == [["a", "b"], ["a", "b"]]).tolist() == [True, False]
    assert (found != [["a", "b"], ["a", "b"]]).tolist() == [False, True]
    assert (found == np.array([["a", "b"], ["a", "c"]])).all()
    assert (found == found.copy()).all()
    # A single sequence is compared with all of them.
    assert (found == ["a", "b"]).tolist() == [True, False]
    assert (found != ("a", "b")).tolist() == [False, True]
    for other in ("ab", 5, None, [["a", "b"]], [["a"], "b"]):
        assert found != other
        assert not (found == other)  # noqa: SIM201 - both operators are tested
    assert pickle.loads(pickle.dumps(found)).tolist() == found.tolist()


def test_scores(data: Any) -> None:
    y_true, y_pred = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "x"]]
    assert flatten(y_true) == ["x", "z", "y", "x", "x"]
    assert metrics.flat_accuracy_score(y_true, y_pred) == 0.8
    assert metrics.flat_precision_score(y_true, y_pred, average="micro") == pytest.approx(0.8)
    assert metrics.flat_recall_score(y_true, y_pred, labels=["x"], average="micro") == 2 / 3
    assert metrics.flat_f1_score(y_true, y_pred, labels=["y"], average="macro") == pytest.approx(
        metrics.flat_fbeta_score(y_true, y_pred, 1, labels=["y"], average="macro")
    )
    assert "0.80" in metrics.flat_classification_report(y_true, y_pred, digits=2)
    assert metrics.sequence_accuracy_score(y_true, y_pred) == 0.5
    assert metrics.sequence_accuracy_score([], []) == 0
    X, y = data
    crf = CRF().fit(X, y)
    assert scorers.flat_accuracy(crf, X, y) == crf.score(X, y)
    whole = metrics.sequence_accuracy_score(y, crf.predict(X))
    assert scorers.sequence_accuracy(crf, X, y) == whole


def test_cross_validation_and_search(data: Any) -> None:
    X, y = data
    crf = CRF(c2=0.1, all_possible_transitions=True)
    found = cross_val_predict(crf, X, y, cv=3)
    assert [len(labels) for labels in found] == [len(labels) for labels in y]
    assert cross_val_score(crf, *equal_lengths(), cv=3, scoring=scorers.flat_accuracy).min() > 0
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=["A", "B"])
    search = RandomizedSearchCV(
        crf, {"c1": [0.01, 0.1, 0.5], "c2": [0.05, 0.5]}, n_iter=3, cv=3, scoring=scorer,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert search.best_estimator_.certificate_.converged
    grid = GridSearchCV(CRF(), {"algorithm": ["lbfgs", "ap"]}, cv=2).fit(X, y)
    assert set(grid.predict(X[:1])[0]) <= set("ABC")
    sizes, train, test = learning_curve(crf, X, y, cv=3, train_sizes=[0.5, 1.0])
    assert train.shape == test.shape == (len(sizes), 3)


def test_clones_and_pickles(data: Any, tmp_path: Path) -> None:
    X, y = data
    crf = CRF(c1=0.1, c2=0.2).fit(X, y)
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    loaded = pickle.loads(pickle.dumps(crf))
    assert loaded.modelfile.name != crf.modelfile.name
    assert loaded.certificate_ == crf.certificate_
    assert loaded.state_features_ == crf.state_features_
    assert loaded.training_log_.iterations == crf.training_log_.iterations
    name = str(tmp_path / "m.crfsuite")
    crf.set_params(model_filename=name)
    assert not os.path.exists(name)
    crf.fit(X, y)
    assert CRF(model_filename=name).state_features_ == loaded.state_features_
    assert pickle.loads(pickle.dumps(crf)).modelfile.name == name


def test_temporary_files_are_removed(
    data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    crf = CRF().fit(*data)
    assert len(glob.glob(f"{tmp_path}/model*.crfsuite*")) == 2
    crf.fit(*data)
    del crf
    assert not list(tmp_path.iterdir())
    kept = CRF(keep_tempfiles=True).fit(*data).modelfile.name
    assert os.path.exists(str(kept))


def test_without_a_model() -> None:
    crf = CRF()
    names = ["tagger_", "classes_", "size_", "num_attributes_", "attributes_", "state_features_",
             "transition_features_", "certificate_", "training_log_"]  # fmt: skip
    assert [getattr(crf, name) for name in names] == [None] * len(names)
    for call in (crf.predict, crf.predict_marginals):
        with pytest.raises(NotFittedError, match="call fit"):
            call([[{"a": 1}]])
    with pytest.raises(NotFittedError):
        crf.score([[{"a": 1}]], [["x"]])
    with pytest.raises(NotFittedError, match="no model_ yet; call fit"):
        crf.model_  # noqa: B018
    assert not hasattr(crf, "model_")
    with pytest.raises(ModelFileError, match="CRF has not been fitted"):
        save_model(crf, "nothing.model")


@pytest.mark.parametrize("transitions", [True, False])
def test_the_model_is_one_of_partwise(data: Any, tmp_path: Path, transitions: bool) -> None:
    X, y = data
    crf = CRF(c1=0.1, c2=0.25, all_possible_transitions=transitions).fit(X, y)
    # The estimator may be changed after its fit, and copied.
    for one in (crf.set_params(c2=9.0), pickle.loads(pickle.dumps(crf))):
        save_model(one, tmp_path / "a.model")
        model = load_model(tmp_path / "a.model")
        assert model.predict(X) == crf.predict(X).tolist()
        assert (model.certificate, model.l2, model.l1) == (crf.certificate_, 0.5, 0.1)
        assert model.origin is None
    assert len(model.explain(X[:2])) == 2
    tagger = SequenceTagger.from_model(model)
    chosen = "all" if transitions else "observed"
    assert (tagger.weights, tagger.transition_weights) == ("observed", chosen)


def test_a_model_of_another_fit_is_not_certified(data: Any, tmp_path: Path) -> None:
    X, y = data
    path = str(tmp_path / "a.crfsuite")
    crf = CRF(model_filename=path).fit(X, y)
    assert crf.model_.certificate.converged
    CRF(c2=0.1, model_filename=path).fit(X, y)
    model = crf.model_
    assert not model.certificate.known
    assert model.origin is not None
    assert not CRF("ap").fit(X, y).model_.certificate.known


def test_parameters_have_the_names_of_crfsuite(data: Any) -> None:
    X, y = data
    with pytest.warns(ConvergenceWarning) as caught:
        CRF(max_iterations=1, delta=1e-9).fit(X, y)
    said = str(caught[0].message)
    assert "> delta 1e-09 after 1.0 passes (stopped at max_iterations = 1)" in said
    assert said.endswith(
        "Raise max_iterations (now 1), scale the features to similar sizes, or use a larger c2 or "
        "delta"
    )
    with pytest.raises(ValueError, match=r"c1 is -1.0; give 0 or a positive number"):
        CRF(c1=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"c2 is -1.0; give a positive number"):
        CRF(c2=-1).fit(X, y)


def test_a_failed_fit_leaves_no_model(data: Any) -> None:
    X, y = data
    crf = CRF()
    for wrong in ({"c2": 0}, {"c": 1}):
        crf.set_params(c=None, c2=None).fit(X, y)
        with pytest.raises(ValueError, match=r"c2 is 0|not found: c "):
            crf.set_params(**wrong).fit(X, y)
        assert (crf.certificate_, crf.tagger_) == (None, None)


@pytest.mark.parametrize(
    ("X", "y", "more", "why"),
    [
        ([[{"a": 1}]], [], {}, "X has 1 sequences and y has 0"),
        ([[{"a": 1}]], [["x"]], {"X_dev": []}, "both X_dev and y_dev"),
        ([[{"a": 1}]], [["x"]], {"X_dev": [[{"a": 1}]], "y_dev": []}, "X_dev has 1 sequences"),
        ([[{"a": 1}], [{"a": None}]], [["x"], ["y"]], {}, "X: sequence 1, token 0 "),
        ([[{"a": 1}], [{}]], [["x"], [3]], {}, r"^y\[1\]: .*label 3"),
        ([[{"a": 1}], [{}]], [["x"], 3], {}, r"^y\[1\]: .*the labels of a sequence are a int"),
        ([[{"a": 1}], [{}]], ["x", "y"], {}, "^y holds 'x' and other single labels; give one list"),
        ([[{"a": 1}] * 2], ["x", "y"], {}, "^y holds 'x' and other single labels; give one list"),
        ([[{"a": 1}]], [["x"]], {"X_dev": [[{}]], "y_dev": ["x"]}, "^y_dev holds 'x'"),
        ([[{"a": float("inf")}]], [["x"]], {}, "'a' is inf; give a finite number"),
        ([[{"a": float("nan")}]], [["x"]], {}, "'a' is nan; leave out values that are missing"),
    ],
)
def test_bad_data_are_refused_by_place(X: Any, y: Any, more: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CRF().fit(X, y, **more)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_held_out_data_are_scored_while_training(
    algorithm: str, data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = data
    X_dev, y_dev = random_sequences(3, 10)
    crf = CRF(algorithm, verbose=True, max_iterations=40, delta=1e-4 if algorithm in
              ("lbfgs", "l2sgd") else None).fit(X, y, X_dev, y_dev)  # fmt: skip
    assert crf.training_log_ is not None
    last = crf.training_log_.last_iteration
    assert last is not None
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X_dev, y_dev))
    printed = capsys.readouterr().out
    assert f"Iter {last['num']}" in printed
    table = printed[printed.index("=====") :].splitlines()
    assert table[1].split() == ["Label", "Precision", "Recall", "F1", "Support"]
    assert [line.split()[0] for line in table[3:6]] == ["A", "B", "C"]
    assert int(table[3].split()[-1]) == flatten(y_dev).count("A")
