from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.class_data import drawn
from support.kernel_data import words

from partwise import (
    DataError,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    ModelFileError,
    SequenceTagger,
    load_model,
    path,
    save_model,
)
from partwise.files.container import read_container, write_container


def intersection(x: Any, z: Any) -> Any:
    """A kernel of one's own: what two histograms share."""
    return np.minimum(x[:, None, :], z[None, :, :]).sum(axis=2)


# gamma="scale" depends on how often a row is repeated, as that of SVC does.
@pytest.mark.filterwarnings("ignore::partwise.training.certificate.ConvergenceWarning")
@parametrize_with_checks([KernelClassifier(gamma=0.1)])
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    alike = check.func.__name__.startswith("check_sample_weight_equivalence")
    check(clone(estimator).set_params(solver="batch-eg" if alike else "auto"))


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_saved_and_loaded(tmp_path: Any, loss: str) -> None:
    x, y = words(0, 20)
    tagger = KernelTagger(loss=loss, kernel="poly", coef0=1.0, gamma=0.7, tol=1e-3).fit(x, y)
    save_model(tagger, tmp_path / "a.model")
    again = KernelTagger.from_model(load_model(tmp_path / "a.model"))
    assert again.predict(x, k=3) == tagger.predict(x, k=3)
    np.testing.assert_array_equal(again.dual_coef_, tagger.dual_coef_)
    np.testing.assert_array_equal(again.support_, tagger.support_)
    parameters = again.get_params()
    assert [parameters[name] for name in ("kernel", "gamma", "degree", "coef0")] == [
        "poly", 0.7, 3, 1.0
    ]  # fmt: skip


def test_saved_classifier_holds_its_support_only(tmp_path: Any) -> None:
    half = np.random.default_rng(0).normal(size=(100, 2))
    y = (half[:, 0] > 0).astype(int)
    x = half + np.where(y > 0, 1.0, -1.0)[:, None]
    found = KernelClassifier(loss="hinge", l2=0.1).fit(x, y)
    assert 0 < found.n_support_ < 50
    save_model(found, tmp_path / "a.model")
    arrays = read_container(tmp_path / "a.model")[1]
    assert len(arrays["encoder_support_indptr"]) == found.n_support_ + 1
    model = load_model(tmp_path / "a.model")
    again = KernelClassifier.from_model(model)
    np.testing.assert_array_equal(again.decision_function(x), found.decision_function(x))
    assert again.n_features_in_ == 2
    assert again.fit_intercept
    with pytest.raises(DataError, match=r"use KernelClassifier\.from_model"):
        LinearClassifier.from_model(model)
    with pytest.raises(DataError, match="does not tag"):
        KernelTagger.from_model(model)
    linear = LinearClassifier().fit(x, y)
    with pytest.raises(DataError, match="has no kernel"):
        KernelClassifier.from_model(linear.model_)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    x, y = drawn(0, 30, 3, 3)
    file = tmp_path_factory.mktemp("kernels") / "a.model"
    save_model(KernelClassifier(loss="hinge").fit(x, y), file)
    return file


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("index", lambda a: -1 - a),
        ("index", lambda a: a[:-1]),
        ("indices", lambda a: a + 7),
        ("indptr", lambda a: a[::-1].copy()),
        ("coef", lambda a: a * np.inf),
        ("coef", lambda a: a[:-1]),
        ("coef", lambda a: a.ravel()),
        ("values", lambda a: a * np.nan),
        ("values", lambda a: a.astype(np.float32)),
        ("other", lambda a: np.zeros(3)),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_damaged_support_is_refused(saved: Any, tmp_path: Any, name: str, damage: Any) -> None:
    header, arrays = read_container(saved)
    held = f"encoder_support_{name}"
    write_container(tmp_path / "b.model", header, arrays | {held: damage(arrays.get(held))})
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "b.model")


@pytest.mark.parametrize(
    "change",
    [{"name": "function"}, {"gamma": -1.0}, {"degree": 2.5}, {"coef0": True}, {"more": 1}],
)
def test_damaged_kernel_is_refused(saved: Any, tmp_path: Any, change: dict[str, Any]) -> None:
    header, arrays = read_container(saved)
    header["encoder"]["data"]["support"]["kernel"].update(change)
    write_container(tmp_path / "b.model", header, arrays)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "b.model")


def test_function_of_ones_own(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((60, 4))
    y = (x[:, 0] + x[:, 1] > 1.0).astype(int)
    found = KernelClassifier(loss="hinge", l2=0.1, kernel=intersection).fit(x, y)
    held = x[found.support_]
    scores = intersection(x, held) @ found.dual_coef_.T + found.intercept_
    np.testing.assert_allclose(found.decision_function(x), scores[:, 1] - scores[:, 0])
    assert found.score(x, y) > 0.9
    with pytest.raises(ModelFileError, match="holds data, never code"):
        save_model(found, tmp_path / "a.model")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.predict(x), found.predict(x))
    assert KernelClassifier.from_model(found.model_).kernel is intersection


def test_warm_start_goes_on() -> None:
    x, y = words(0, 25)
    tagger = KernelTagger(tol=1e-6, warm_start=True).fit(x, y)
    first = tagger.certificate_.passes
    tagger.fit(x, y)
    assert tagger.certificate_.passes < 0.5 * first
    # Other data: from the weights, as a function of the input.
    more, labels = words(3, 3)
    tagger.fit([*x, *more], [*y, *labels])
    cold = KernelTagger(tol=1e-6).fit([*x, *more], [*y, *labels])
    assert tagger.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-6)
    assert tagger.trace_[0].dual > cold.trace_[0].dual


def test_path_shares_one_gram_matrix(caplog: pytest.LogCaptureFixture) -> None:
    x, y = words(0, 40)
    with caplog.at_level(logging.INFO, logger="partwise.tasks.kernels.gram"):
        rows, best = path(KernelTagger(), x, y, dev=words(1, 20), l2_max=10.0, steps=3, factor=0.3)
    assert caplog.text.count("at most") == 1
    assert len(rows) == 3
    assert best.score(*words(1, 20)) == max(row["score"] for row in rows)


def test_parameters() -> None:
    tagger = KernelTagger(kernel="poly", l2=3.0)
    assert clone(tagger).get_params() == tagger.get_params()
    names = KernelTagger().get_params().keys()
    assert {"kernel", "gamma", "degree", "coef0", "l2", "order"} <= names
    assert not {"l1", "weights", "min_count"} & names
    assert not hasattr(tagger, "support_")
    assert not hasattr(tagger.fit(*words(0, 10)), "coef_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel is 'sigmoid'; use one of linear, poly, rbf"),
        ({"gamma": 0}, "gamma is 0; give a positive number"),
        ({"gamma": "large"}, "gamma is 'large'"),
        ({"degree": 1.5}, "degree is 1.5"),
        ({"coef0": -1.0}, "coef0 is -1.0"),
        ({"gram_tol": 1}, "gram_tol is 1"),
        ({"memory_limit": 0}, "memory_limit is 0"),
        ({"memory_limit": 1e-3}, "bytes where 1,049 are allowed; raise memory_limit"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    x, y = drawn(0, 30, 3, 3)
    with pytest.raises(DataError, match=message):
        KernelClassifier(**parameters).fit(x, y)


def test_first_models_of_another_kind_are_refused() -> None:
    x, y = words(0, 10)
    tagger = KernelTagger(warm_start=True).fit(x, y)
    wider = [np.concatenate([item, item], axis=1) for item in x]
    with pytest.raises(DataError, match="3 inputs and the data has 6"):
        tagger.fit(wider[1:], y[1:])
    tagger.model_ = replace(SequenceTagger().fit(x, y).model_)
    with pytest.raises(DataError, match="has no kernel"):
        tagger.fit(x[1:], y[1:])
