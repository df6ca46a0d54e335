from __future__ import annotations

import copy
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from support.extraction import extract, extract_fit
from support.positions import PositionLabeller, fit_labeller
from support.positions import PositionSettings as Settings

from partwise import ModelFileError, SequenceTagger, load_model, save_model
from partwise.datasets import tagged_text
from partwise.files.container import read_container, write_container
from partwise.models.file import read_header
from partwise.models.model import Model
from partwise.problem.rows import Rows
from partwise.tasks.sequences.templates import template_for

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)


class Searched:
    best_estimator_ = None


class OfCRFsuite:
    modelfile = Path("model.crfsuite")  # it has a name


def tagger(**changes: Any) -> tuple[Model, Rows, Any]:
    columns = tagged_text(6)
    templates = template_for(2)
    rows, vocabulary = extract_fit(columns, templates)
    labels = sorted(set(columns.labels))
    numbers = np.array([labels.index(label) for label in columns.labels])
    gold = np.split(numbers, np.cumsum(columns.lengths)[:-1])
    given_settings = Settings(tol=0.01, constraints="BIO", start=True, **changes)
    model, _ = fit_labeller(
        "tag", rows, columns.lengths, gold, labels, given_settings,
        vocabulary=vocabulary, templates=templates, n_inputs=2, meta={"scheme": "BIO"},
    )  # fmt: skip
    return model, rows, columns


def classifier(labels: list[Any]) -> tuple[Model, Rows]:
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(12, 4)))
    gold = list((np.arange(12) % len(labels)).reshape(-1, 1))
    return fit_labeller("classify", rows, None, gold, labels, Settings(intercept=1.0))[0], rows


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    for name, model in (
        ("full", tagger()[0]),
        ("observed", tagger(weights="observed")[0]),
        ("classifier", classifier(["x", "y", "z"])[0]),
    ):
        save_model(model, folder / name)
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("weights", ["all", "observed"])
def test_round_trip_of_a_tagger(tmp_path: Path, weights: str) -> None:
    model, rows, columns = tagger(weights=weights)
    save_model(model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    for field in ("task", "labels", "loss", "l2", "meta", "certificate"):
        assert getattr(again, field) == getattr(model, field), field
    encoder, before = PositionLabeller(again).features, PositionLabeller(model).features
    for field in ("vocabulary", "templates", "n_inputs", "intercept", "n_transition_features"):
        assert getattr(encoder, field) == getattr(before, field), field
    assert again.constraints is not None
    assert model.constraints is not None
    assert again.constraints.transitions == model.constraints.transitions
    assert encoder.vocabulary is not None
    assert encoder.templates is not None
    found = extract(columns, encoder.templates, encoder.vocabulary)
    for a, b in zip(
        PositionLabeller(again).marginals(found, columns.lengths),
        PositionLabeller(model).marginals(rows, columns.lengths),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    save_model(again, tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


@pytest.mark.parametrize(
    "labels", [["x", "y"], [3, -1], [0.5, 1.0], [False, True], ["\ud800", ""], [2**62, 0]]
)
def test_labels_keep_their_type(tmp_path: Path, labels: list[Any]) -> None:
    model, rows = classifier(labels)
    save_model(model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    assert list(again.labels) == labels
    assert [type(label) for label in again.labels] == [type(label) for label in labels]
    found, wanted = (PositionLabeller(one).predict(rows) for one in (again, model))
    np.testing.assert_array_equal(found, wanted)


def test_transitions_with_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([3, 4])
    rows, steps = Rows.from_dense(rng.normal(size=(7, 2))), Rows.from_dense(rng.normal(size=(5, 3)))
    gold = [np.array([0, 1, 0]), np.array([1, 1, 0, 0])]
    model, _ = fit_labeller("tag", rows, lengths, gold, [0, 1], Settings(), transition_rows=steps)
    save_model(model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    for a, b in zip(
        PositionLabeller(again).marginals(rows, lengths, transition_rows=steps),
        PositionLabeller(model).marginals(rows, lengths, transition_rows=steps),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_header_without_the_compiler(saved: dict[str, Path]) -> None:
    header = read_header(saved["full"])
    assert header["task"] == "tag"
    assert header["certificate"]["tol"] == 0.01
    assert header["meta"] == {"scheme": "BIO"}
    program = (
        "import sys; from partwise.models.file import read_header; "
        f"read_header({str(saved['full'])!r}); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_loaded_arrays_are_one_map(saved: dict[str, Path]) -> None:
    model = load_model(saved["observed"])
    for array in (model.weights, model.layout.first, model.layout.slot):
        assert isinstance(array.base, np.memmap)


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    model, _ = classifier(["x", "y"])
    target = tmp_path / "a.model"
    bad: list[tuple[Any, str]] = [
        (dataclasses.replace(model, labels=("x", 1)), "all strings"),
        (dataclasses.replace(model, labels=("x", "x")), "a label occurs twice"),
        (dataclasses.replace(model, labels=("x",)), "1 names of labels where the multiclass has 2"),
        (dataclasses.replace(model, meta={"a": object()}), "cannot hold this header"),
        (dataclasses.replace(model, weights=model.weights * np.nan), "not finite"),
        ("model", "give the model first and the file second"),
        (Path("model"), "give the model first and the file second"),
        (3, "int is no model"),
        (SequenceTagger(), "SequenceTagger has not been fitted.* call fit first"),
        (make_pipeline(SequenceTagger()), r"save_model\(pipeline\[-1\], path\).* skops"),
        (LogisticRegression(), "model_of_sklearn"),
        (Searched(), "best_estimator_"),
        (OfCRFsuite(), r"read_model\(crf.modelfile.name, 'crfsuite-model'\)"),
    ]
    for thing, says in bad:
        with pytest.raises(ModelFileError, match=says):
            save_model(thing, target)
    assert not target.exists()


# Malice: the checksum is right, the contents are not


def refuses(path: Path, header: Any, arrays: Any, says: str = "") -> None:
    write_container(path, header, arrays)
    for read in (load_model, read_header):
        with pytest.raises(ModelFileError, match=says):
            read(path)


junk = st.sampled_from(
    [None, True, False, -1, 0, 1, 2, 7, 2**31, 2**63, 10**400, -0.5, 1e308, 1e-320, "", "x",
     "chain", "multiclass", "classify", "tag", [], [0], [[0, 1]], [[0]], ["x"], {}, {"name": "x"}]
)  # fmt: skip


def paths_of(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be replaced in nested data, at most a few places a list."""
    found = [prefix] if prefix else []
    if isinstance(value, dict):
        for key in value:
            found += paths_of(value[key], (*prefix, key))
    elif isinstance(value, list):
        for place in range(min(len(value), 3)):
            found += paths_of(value[place], (*prefix, place))
    return found


@SAME_FOLDER
@given(data=st.data())
def test_any_change_of_the_header_is_refused_or_harmless(
    saved: dict[str, Path], tmp_path: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(saved)))
    header, arrays = read_container(saved[name])
    header = copy.deepcopy(header)
    place = data.draw(st.sampled_from(paths_of(header)))
    held: Any = header
    for key in place[:-1]:
        held = held[key]
    action = data.draw(st.sampled_from(["replace", "delete", "add"]))
    if action == "replace":
        held[place[-1]] = data.draw(junk)
    elif action == "delete":
        del held[place[-1]]
    elif isinstance(held, dict):
        held["extra"] = data.draw(junk)
    target = tmp_path / "hostile"
    write_container(target, header, arrays)
    try:
        model = load_model(target)
    except ModelFileError:
        return
    predicts(model)


@SAME_FOLDER
@given(data=st.data())
def test_any_change_of_the_arrays_is_refused_or_harmless(
    saved: dict[str, Path], tmp_path: Path, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(saved)))
    header, arrays = read_container(saved[name])
    key = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[key].copy()
    action = data.draw(st.sampled_from(["set", "cut", "grow", "drop", "swap", "cast"]))
    if action == "set" and array.size:
        low, high = (0, 255) if array.dtype == np.uint8 else (-(2**31), 2**31 - 1)
        value = data.draw(st.integers(low, high) | st.integers(max(low, -5), 5))
        array[data.draw(st.integers(0, array.size - 1))] = value
    elif action == "cut":
        array = array[: data.draw(st.integers(0, array.size))]
    elif action == "grow":
        array = np.concatenate([array, array[:1]])
    elif action == "swap" and array.size > 1:
        i, j = (data.draw(st.integers(0, array.size - 1)) for _ in range(2))
        array[[i, j]] = array[[j, i]]
    elif action == "cast":
        array = array.astype(np.float32) if array.dtype != np.float32 else array
    changed = {**arrays, key: array}
    if action == "drop":
        del changed[key]
    target = tmp_path / "hostile"
    write_container(target, header, changed)
    try:
        model = load_model(target)
    except ModelFileError:
        return
    predicts(model)


def predicts(model: Model) -> None:
    """Use every weight: what was accepted must work, or be refused with a sentence."""
    labeller = PositionLabeller(model)
    n = labeller.features.n_features
    rows = Rows(np.array([0, n, n, n]), np.arange(n), None, n)
    lengths = np.array([1, 1, 1] if model.structure.name == "multiclass" else [2, 1])
    for labels in labeller.predict(rows, lengths):
        assert ((labels >= 0) & (labels < len(model.labels))).all()


@pytest.mark.parametrize(
    ("name", "array", "change", "says"),
    [
        ("full", "first", lambda a: a * 0, "side by side"),
        ("full", "first", lambda a: a + 1, "side by side"),
        ("full", "first", lambda a: a + 2**62, "side by side"),
        ("full", "weights", lambda a: a[:-1], "n_weights"),
        ("full", "weights", lambda a: a * np.inf, "not finite"),
        ("observed", "slot", lambda a: np.abs(a), "does not end"),
        ("observed", "slot", lambda a: -1 - np.abs(a), "does not end"),
        ("observed", "slot", lambda a: np.where(a < 0, -(2**31), a).astype(np.int32), "odd slots"),
        ("observed", "slot", lambda a: np.where(a > 0, 2**31 - 1, a).astype(np.int32), "odd slots"),
        ("observed", "slot", lambda a: a[:-1], "another number of slots"),
        ("observed", "first", lambda a: a[::-1].copy() * 0, "side by side"),
        ("classifier", "first", lambda a: a[:-1], "n_features"),
        ("classifier", "first", lambda a: a.astype(np.int32), "another type"),
    ],
)
def test_hostile_arrays(
    saved: dict[str, Path], tmp_path: Path, name: str, array: str, change: Any, says: str
) -> None:
    header, arrays = read_container(saved[name])
    with np.errstate(invalid="ignore"):
        changed = {**arrays, array: change(arrays[array])}
    refuses(tmp_path / "hostile", header, changed, says)


def changed(header: Any, place: str, value: Any) -> Any:
    """A copy of the header with another value at a place such as ``encoder.data.n_inputs``."""
    made = json.loads(json.dumps(header))
    *path, last = place.split(".")
    held = made
    for key in path:
        held = held[key]
    held[last] = value
    return made


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        ("full", "kind", "another", "does not say"),
        ("full", "loss", ["log"], "loss is unknown"),
        ("full", "l2", 0, "l2"),
        ("full", "task", None, "task is no word"),
        ("full", "n_weights", True, "n_weights"),
        ("full", "label_type", "int", "not of type int"),
        ("full", "structure", {"name": "chain"}, "structure is incomplete"),
        ("full", "structure.widths", [2**40] * 4, "odd widths"),
        ("full", "structure.kinds", ["label"], "odd widths"),
        ("full", "encoder", "positions", "encoder has no name"),
        ("full", "encoder.data", [], "not described by an object"),
        ("full", "encoder.data.n_inputs", 1, "missing columns"),
        ("full", "encoder.data.vocabulary", False, "odd arrays"),
        ("full", "encoder.data.intercept", "x", "intercept"),
        ("classifier", "n_features", [2**62, 2**62], "odd n_features"),
        ("classifier", "encoder.data.templates", {"views": []}, "templates"),
    ],
)
def test_hostile_headers(
    saved: dict[str, Path], tmp_path: Path, name: str, place: str, value: Any, says: str
) -> None:
    header, arrays = read_container(saved[name])
    refuses(tmp_path / "hostile", changed(header, place, value), arrays, says)


NO_LABEL = {"labels": [99], "transitions": [], "starts": [], "ends": []}


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        ("full", "task", "classify", "does not classify"),
        ("full", "structure.name", "mesh", "structure 'mesh' is unknown.*structures="),
        ("full", "structure.name", "chain_kernels", "structure 'chain_kernels' is unknown"),
        ("full", "structure.name", "multiclass", "expected n_labels"),
        ("full", "structure.constants.n_labels", 2**20, "n_labels of a chain is 1048576"),
        ("full", "structure.constants.n_labels", 0, "n_labels of a chain is 0"),
        ("full", "structure.constants.n_labels", True, "n_labels of a chain is True"),
        ("full", "structure.constants.n_labels", 2.0, "n_labels of a chain is 2.0"),
        ("full", "structure.constants.n_labels", 2, "sites of other widths"),
        ("full", "structure.constants.tied", 1, "tied of a chain is 1"),
        ("full", "structure.constants.end", True, "sites of other widths"),
        ("full", "encoder.name", "mesh", "features 'mesh' are unknown.*features="),
        ("full", "encoder.data.intercept", 1.0, "another number of features"),
        ("full", "encoder.data.n_transition_features", 3, "does not tell them apart"),
        ("full", "constraints", NO_LABEL, "name no label: 99"),
        ("full", "constraints", {**NO_LABEL, "labels": 3}, "name no label"),
        ("full", "constraints", {**NO_LABEL, "labels": [], "transitions": [[0]]}, "no label"),
        ("full", "constraints", [], "do not hold just"),
        ("classifier", "encoder.data.n_inputs", 3, "another number of features"),
        ("classifier", "structure.constants.n_labels", 2**40, "n_labels of a multiclass"),
    ],
)
def test_what_only_the_structure_or_the_encoder_can_refuse(
    saved: dict[str, Path], tmp_path: Path, name: str, place: str, value: Any, says: str
) -> None:
    header, arrays = read_container(saved[name])
    target = tmp_path / "hostile"
    write_container(target, changed(header, place, value), arrays)
    with pytest.raises(ModelFileError, match=says):
        load_model(target)
    assert read_header(target)["kind"] == header["kind"]


def test_another_container_is_no_model(tmp_path: Path) -> None:
    refuses(tmp_path / "a", {}, {}, "does not say")
