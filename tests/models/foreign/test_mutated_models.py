"""Damaged model files of every format: a sentence or a model that predicts, never a traceback.

``pytest tests/models/foreign/test_mutated_models.py --mutations 2000`` tries more of them.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from sklearn.linear_model import LogisticRegression
from support.foreign_models import CRFPP, SENTENCES, WAPITI, liblinear_text, mutations

from partwise import DataError, ModelFileError, UnknownFeaturesWarning, save_model
from partwise.models.foreign.registry import read_model, write_model
from partwise.models.foreign.sklearn import model_of_sklearn

FORMATS = ["wapiti-model", "crfpp-model", "liblinear-model", "crfsuite-model", "json-model",
           "json-model of a classifier", "safetensors-model", "sklearn-model"]  # fmt: skip


def sound_file(name: str, folder: Path) -> tuple[bytes, Any]:
    """Return a sound file of a format, and examples for its model."""
    path = folder / "sound"
    if name == "wapiti-model":
        return WAPITI.encode(), SENTENCES
    if name == "crfpp-model":
        return CRFPP.encode(), SENTENCES
    if name == "liblinear-model":
        rows = [[0.5, -0.25, 0.1], [1.5, 0.25, -1e-3]]
        return liblinear_text("MCSVM_CS", "3 1 2", 1, rows).encode(), np.eye(1)
    if name == "crfsuite-model":
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.append([["w=a"], ["w=b", "x"]], ["A", "B"])
        trainer.append([["w=b"]], ["A"])
        trainer.train(str(path))
        return path.read_bytes(), [[["w=a"], ["w=b"]]]
    if name == "json-model of a classifier" or name == "sklearn-model":
        estimator = LogisticRegression().fit(np.eye(3), [0, 1, 2])
        if name == "sklearn-model":
            skops = pytest.importorskip("skops.io")
            skops.dump(estimator, path)
        else:
            write_model(model_of_sklearn(estimator), path, "json-model")
        return path.read_bytes(), np.eye(3)
    (folder / "foreign").write_text(WAPITI)
    write_model(read_model(folder / "foreign", "wapiti-model"), path, name)
    return path.read_bytes(), SENTENCES


@pytest.mark.parametrize("name", FORMATS)
def test_mutated_models(name: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    data, X = sound_file(name, tmp_path)
    format = name.split(" ")[0]
    path = tmp_path / "changed"
    read, sentences = 0, []
    for changed in mutations(data, pytestconfig.getoption("mutations"), seed=3):
        path.write_bytes(changed)
        try:
            model = read_model(path, format)
        except ModelFileError as error:
            sentences.append(str(error))
            continue
        read += 1
        # What was read is a model: it can be saved, and predicts or says why not.
        save_model(model, tmp_path / "model")
        with warnings.catch_warnings(), suppress(DataError):
            warnings.simplefilter("ignore", UnknownFeaturesWarning)
            model.predict(X)
    assert all(str(path) in sentence for sentence in sentences)
    assert sentences
    assert read + len(sentences) == pytestconfig.getoption("mutations")
