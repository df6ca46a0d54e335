"""Kernels of tokens whose features have names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer

from partwise import KernelTagger, load_model, save_model
from partwise.errors import DataError
from partwise.models.vocabulary import Vocabulary
from partwise.tasks.sequences.features import PositionFeatures

X = [
    [{"w": "a", "size": 0.5}, {"w": "b"}, {"w": "c", "size": -1.0}],
    [{"w": "b"}, {"w": "a", "size": 2.0}],
    [{"w": "c"}, {"w": "c", "size": 0.25}, {"w": "a"}],
]
Y = [["A", "B", "C"], ["B", "A"], ["C", "C", "A"]]


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_names_stand_for_columns_of_a_matrix(loss: str, tmp_path: Path) -> None:
    vectorizer = DictVectorizer().fit([token for tokens in X for token in tokens])
    matrices = [vectorizer.transform(tokens) for tokens in X]
    settings = {"loss": loss, "kernel": "poly", "gamma": 0.5, "coef0": 1.0, "tol": 1e-6}
    named = KernelTagger(**settings).fit(X, Y)
    numbered = KernelTagger(**settings).fit(matrices, Y)
    assert named.certificate_.primal == pytest.approx(numbered.certificate_.primal, rel=1e-5)
    assert named.predict(X) == numbered.predict(matrices) == Y
    assert set(named.vocabulary_ or ()) == {"size", "w=a", "w=b", "w=c"}
    save_model(named.model_, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    # A name that training did not have is ignored.
    strange = [[{**token, "new": 1.0} for token in tokens] for tokens in X]
    assert loaded.predict(strange) == Y
    if loss == "log":
        pairs = zip(loaded.marginals(strange), numbered.predict_marginals(matrices), strict=True)
        assert all(np.abs(a - b).max() < 1e-3 for a, b in pairs)


def test_supporting_positions_must_have_the_names_of_the_file() -> None:
    features = KernelTagger(kernel="rbf").fit(X, Y).model_.features
    assert isinstance(features, PositionFeatures)
    assert features.vocabulary is not None
    names = Vocabulary({name: k for k, name in enumerate([*features.vocabulary][:-1])})
    fewer = replace(features, vocabulary=names)
    with pytest.raises(DataError, match="supporting positions of other inputs"):
        PositionFeatures.from_saved(fewer.to_json(), fewer.arrays())


def test_warm_starts_need_the_same_kind_of_features() -> None:
    tagger = KernelTagger(kernel="rbf", warm_start=True).fit(X, Y)
    matrices = [np.ones((len(tokens), 3)) for tokens in X]
    with pytest.raises(DataError, match="names its features and the data numbers them"):
        tagger.fit(matrices, [[*labels[:-1], "B"] for labels in Y])
