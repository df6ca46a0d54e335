"""CRFsuite, JSON and safetensors: read back, models are the same."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from support.foreign_models import CRFPP, SENTENCES, WAPITI

from partwise import (
    DataError,
    KernelClassifier,
    LinearClassifier,
    ModelFileError,
    SegmentTagger,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.models.foreign.registry import MODEL_FORMATS, read_model, write_model
from partwise.models.model import Model

TOKENS = [
    [["w=the", "t=DT"], ["w=dog", "t=NN"], ["w=ran", "t=VBD"]],
    [["w=dogs", "t=NN"], ["w=saw", "t=VBD"], ["w=the", "t=DT"], ["w=dog", "t=NN"]],
    [["w=We", "t=PRP"]],
]
TAGS = [["B", "I", "O"], ["B", "O", "B", "I"], ["O"]]


def tagger(**parameters: Any) -> Model:
    model = SequenceTagger(l2=0.3, **parameters).fit(TOKENS, TAGS).model_
    assert isinstance(model, Model)
    return model


def same(old: Model, new: Model, X: Any, **more: Any) -> None:
    """Compare labels, scores, and everything that is stored."""
    for a, b in zip(old.k_best(X, k=4, **more), new.k_best(X, k=4, **more), strict=True):
        assert a[1] == b[1]
        np.testing.assert_allclose(a[0], b[0], rtol=0, atol=1e-12)


def full(old: Model, new: Model) -> None:
    for name in ("task", "labels", "loss", "l2", "l1", "meta", "settings", "origin"):
        assert getattr(old, name) == getattr(new, name), name
    assert str(old.certificate) == str(new.certificate)
    assert (old.constraints is None) == (new.constraints is None)
    assert len(old.weights) == len(new.weights)


@pytest.mark.parametrize("format", ["json-model", "safetensors-model"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"weights": "observed"},
        {"start": True, "end": True},
        {"constraints": "BIO"},
        {"l1": 0.1},
    ],
    ids=str,
)
def test_taggers(parameters: dict[str, Any], format: str, tmp_path: Path) -> None:
    model = tagger(**parameters)
    write_model(model, tmp_path / "export", format)
    again = read_model(tmp_path / "export", format)
    full(model, again)
    same(model, again, TOKENS)
    save_model(again, tmp_path / "model")
    full(model, load_model(tmp_path / "model"))


@pytest.mark.parametrize("format", ["json-model", "safetensors-model"])
def test_features_of_transitions(format: str, tmp_path: Path) -> None:
    steps = [[["p=DT/NN"], ["p=NN/VBD"]], [["p=NN/VBD"], [], ["p=DT/NN"]], []]
    model = SequenceTagger(l2=0.3).fit(TOKENS, TAGS, X_transitions=steps).model_
    write_model(model, tmp_path / "export", format)
    again = read_model(tmp_path / "export", format)
    full(model, again)
    same(model, again, TOKENS, X_transitions=steps)


@pytest.mark.parametrize("format", ["json-model", "safetensors-model"])
@pytest.mark.parametrize("name", ["wapiti-model", "crfpp-model"])
def test_converted_models_stay_uncertified(name: str, format: str, tmp_path: Path) -> None:
    (tmp_path / "foreign").write_text({"wapiti-model": WAPITI, "crfpp-model": CRFPP}[name])
    model = read_model(tmp_path / "foreign", name)
    write_model(model, tmp_path / "export", format)
    again = read_model(tmp_path / "export", format)
    full(model, again)
    same(model, again, SENTENCES)
    assert not again.certificate.known


@pytest.mark.parametrize("format", ["json-model", "safetensors-model"])
@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 1, 2], [True, False, True]], ids=str)
def test_classifiers(labels: list[Any], format: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = [labels[k % 3] for k in range(30)]
    model = LinearClassifier(l2=0.3).fit(X, y).model_
    write_model(model, tmp_path / "export", format)
    again = read_model(tmp_path / "export", format)
    full(model, again)
    same(model, again, X)


def test_json_is_readable(tmp_path: Path) -> None:
    model = tagger(weights="observed")
    write_model(model, tmp_path / "export", "json-model")
    held = json.loads((tmp_path / "export").read_text())
    dense = model.layout.dense(model.weights, 0)
    names = model.features.vocabulary.names  # type: ignore[attr-defined]
    weight = dense[names.index("w=dog"), model.labels.index("I")]
    assert held["features"]["w=dog"] == {"I": weight}
    steps = model.layout.dense(model.weights, 1).reshape(3, 3)
    assert held["transitions"]["B"]["I"] == steps[model.labels.index("B"), model.labels.index("I")]


def test_safetensors_package_reads_it(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    model = tagger()
    write_model(model, tmp_path / "export", "safetensors-model")
    held = safetensors.load_file(tmp_path / "export")
    assert held["weights"].tolist() == model.weights.tolist()
    assert held["first"].tolist() == model.layout.first.tolist()


def test_safetensors_layout(tmp_path: Path) -> None:
    write_model(tagger(), tmp_path / "export", "safetensors-model")
    data = (tmp_path / "export").read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    ends = sorted(entry["data_offsets"] for name, entry in header.items() if name[0] != "_")
    assert length % 8 == 0
    assert ends[0][0] == 0
    assert 8 + length + ends[-1][1] == len(data)


def test_crfsuite_reads_what_is_written(tmp_path: Path) -> None:
    model = tagger(weights="observed")
    path = str(tmp_path / "export")
    write_model(model, path, "crfsuite-model")
    peer = pycrfsuite.Tagger()
    peer.open(path)
    assert [peer.tag(tokens) for tokens in TOKENS] == model.predict(TOKENS)
    for tokens, labels in zip(TOKENS, model.predict(TOKENS), strict=True):
        peer.set(tokens)
        mine = float(np.exp(model.log_proba([tokens], labels=[labels]))[0])
        assert peer.probability(labels) == pytest.approx(mine, abs=1e-12)
    again = read_model(path, "crfsuite-model")
    same(model, again, TOKENS)
    assert str(again.certificate) == "converted from CRFsuite, not certified"


@pytest.mark.parametrize("parameters", [{}, {"feature.possible_transitions": True}], ids=str)
def test_crfsuite_models(parameters: dict[str, Any], tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c1": 0.0, "c2": 0.1, **parameters})
    values = [
        [
            {"n": 0.5, "m": -1.0, "w": word, "of": {"t": tag}, "all": [word, tag]}
            for word, tag in one
        ]
        for one in TOKENS
    ]
    for tokens, labels in zip(values, TAGS, strict=True):
        trainer.append(tokens, labels)
    trainer.train(path)
    peer = pycrfsuite.Tagger()
    peer.open(path)
    model = read_model(path, "crfsuite-model")
    assert set(model.features.vocabulary) == set(peer.info().attributes)  # type: ignore[attr-defined]
    assert model.predict(values) == [peer.tag(tokens) for tokens in values]
    for tokens, labels in zip(values, TAGS, strict=True):
        peer.set(tokens)
        mine = float(np.exp(model.log_proba([tokens], labels=[labels]))[0])
        assert peer.probability(labels) == pytest.approx(mine, abs=1e-12)
    every = "all" if parameters else "observed"
    again = SequenceTagger.from_model(model).set_params(
        l2=0.2, weights="observed", transition_weights=every, tol=1e-7, warm_start=True,
        min_frequency=0.0,
    )  # fmt: skip
    again.fit(values, TAGS)
    start = again.started_from_
    assert start is not None
    assert start.n_used == start.n_weights
    assert start.above(again.certificate_)[1] < 1e-3 * start.objective


def test_what_crfsuite_cannot_hold(tmp_path: Path) -> None:
    for parameters, what in (
        ({"start": True}, "first and last"),
        ({"constraints": "BIO"}, "const"),
    ):
        with pytest.raises(DataError, match=what):
            write_model(tagger(**parameters), tmp_path / "export", "crfsuite-model")
    classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"]).model_
    with pytest.raises(DataError, match="CRFsuite has no models for the task 'classify'"):
        write_model(classifier, tmp_path / "export", "crfsuite-model")
    assert not (tmp_path / "export").exists()


def test_only_safetensors_holds_every_model(tmp_path: Path) -> None:
    segments = SegmentTagger(scheme="IOB2").fit(TOKENS, [["B-x", "I-x", "O"], ["B-x", "O", "B-x",
                                                          "I-x"], ["O"]])  # fmt: skip
    kernel = KernelClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])
    for estimator, X in ((segments, TOKENS), (kernel, np.array([[0.0], [3.0]]))):
        with pytest.raises(DataError, match="write it as safetensors-model"):
            write_model(estimator.model_, tmp_path / "export", "json-model")
        write_model(estimator.model_, tmp_path / "tensors", "safetensors-model")
        again = read_model(tmp_path / "tensors", "safetensors-model")
        assert again.predict(X) == estimator.model_.predict(X)


def test_unknown_formats(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown model format 'odd-model'; use one of partwise-mo"):
        read_model(tmp_path / "x", "odd-model")
    with pytest.raises(DataError, match="can be read and not written; use one of partwise-model"):
        write_model(tagger(), tmp_path / "x", "wapiti-model")
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_model(tmp_path / "missing", "wapiti-model")
    assert all(name.endswith("-model") for name in MODEL_FORMATS)


def changed_header(path: Path, change: Any) -> None:
    """Change the header of a file of safetensors."""
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda header: header["first"]["shape"].append(2), "another size than its shape"),
        (lambda header: header["first"].update(dtype="F64"), "has another type"),
        (lambda header: header["first"].update(dtype="BF16"), "not described"),
        (lambda header: header["first"].update(shape=[-1]), "not described"),
        (lambda header: header["first"].update(data_offsets=[0, 10**12]), "not described"),
        (lambda header: header.update(first=header["weights"]), "do not fill the file"),
        (lambda header: header.pop("first"), "do not fill the file"),
        (lambda header: header.pop("__metadata__"), 'have no "partwise"'),
        (lambda header: header["__metadata__"].update(partwise="[]"), "no object"),
    ],
)
def test_faults_of_safetensors(change: Any, says: str, tmp_path: Path) -> None:
    write_model(tagger(), tmp_path / "export", "safetensors-model")
    changed_header(tmp_path / "export", change)
    with pytest.raises(ModelFileError, match=says):
        read_model(tmp_path / "export", "safetensors-model")


def test_more_than_the_arrays(tmp_path: Path) -> None:
    write_model(tagger(), tmp_path / "export", "safetensors-model")
    with open(tmp_path / "export", "ab") as file:
        file.write(b"more")
    with pytest.raises(ModelFileError, match="do not fill the file"):
        read_model(tmp_path / "export", "safetensors-model")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda held: held.update(kind="odd"), "does not say that its kind"),
        (lambda held: held["features"].update(more={}), "n_weights"),
        (lambda held: held["features"]["w=dog"].update(X=1.0), "a label that the model does not"),
        (lambda held: held["features"]["w=dog"].update(B="1"), "no number"),
        (lambda held: held["features"]["w=dog"].update(B=10**400), "too large"),
        (lambda held: held["transitions"].update(X={}), "from a label that the model does not"),
        (lambda held: held["model"].update(labels=["B", "I"]), "a label that the model does not"),
        (lambda held: held["model"].pop("l2"), "its header does not hold"),
        (lambda held: held["model"]["structure"].update(name="grammar"), "not written as JSON"),
    ],
)
def test_faults_of_json(change: Any, says: str, tmp_path: Path) -> None:
    write_model(tagger(), tmp_path / "export", "json-model")
    held = json.loads((tmp_path / "export").read_text())
    change(held)
    (tmp_path / "export").write_text(json.dumps(held))
    with pytest.raises(ModelFileError, match=says):
        read_model(tmp_path / "export", "json-model")


def test_a_header_whose_length_looks_like_a_pickle(tmp_path: Path) -> None:
    model = tagger()
    path = tmp_path / "padded"
    padded = replace(model, meta={"pad": ""})
    write_model(padded, path, "safetensors-model")
    length = int.from_bytes(path.read_bytes()[:8], "little")
    target = -(-length // 2**16) * 2**16 + 0x0480
    write_model(replace(model, meta={"pad": "x" * (target - length)}), path, "safetensors-model")
    assert path.read_bytes().startswith(b"\x80\x04")
    found = read_model(path, "safetensors-model")
    assert found.predict(TOKENS) == model.predict(TOKENS)
