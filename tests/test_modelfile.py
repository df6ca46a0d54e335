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

from partwise import ModelFileError, load_model, save_model
from partwise.container import read_container, write_container
from partwise.datasets import tagged_text
from partwise.fitting import Settings, fit_model
from partwise.model import Model
from partwise.modelfile import read_header
from partwise.rows import Rows
from partwise.templates import extract, extract_fit, template_for

SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200
)


def tagger(**changes: Any) -> tuple[Model, Rows, Any]:
    columns = tagged_text(6)
    templates = template_for(2)
    rows, vocabulary = extract_fit(columns, templates)
    labels = sorted(set(columns.labels))
    numbers = np.array([labels.index(label) for label in columns.labels])
    gold = np.split(numbers, np.cumsum(columns.lengths)[:-1])
    given_settings = Settings(tol=0.01, constraints="BIO", start=True, **changes)
    model, _ = fit_model(
        "tag", rows, columns.lengths, gold, labels, given_settings,
        vocabulary=vocabulary, templates=templates, n_inputs=2, meta={"scheme": "BIO"},
    )  # fmt: skip
    return model, rows, columns


def classifier(labels: list[Any]) -> tuple[Model, Rows]:
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(12, 4)))
    gold = list((np.arange(12) % len(labels)).reshape(-1, 1))
    return fit_model("classify", rows, None, gold, labels, Settings(intercept=1.0))[0], rows


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
    for field in ("task", "labels", "vocabulary", "templates", "loss", "l2", "meta", "n_inputs",
                  "certificate", "intercept"):  # fmt: skip
        assert getattr(again, field) == getattr(model, field), field
    assert again.constraints is not None
    assert model.constraints is not None
    assert again.constraints.transitions == model.constraints.transitions
    assert again.vocabulary is not None
    assert again.templates is not None
    found = extract(columns, again.templates, again.vocabulary)
    for a, b in zip(
        again.marginals(found, columns.lengths), model.marginals(rows, columns.lengths), strict=True
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
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_transitions_with_features(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([3, 4])
    rows, steps = Rows.from_dense(rng.normal(size=(7, 2))), Rows.from_dense(rng.normal(size=(5, 3)))
    gold = [np.array([0, 1, 0]), np.array([1, 1, 0, 0])]
    model, _ = fit_model("tag", rows, lengths, gold, [0, 1], Settings(), transition_rows=steps)
    save_model(model, tmp_path / "a.model")
    again = load_model(tmp_path / "a.model")
    for a, b in zip(
        again.marginals(rows, lengths, transition_rows=steps),
        model.marginals(rows, lengths, transition_rows=steps),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_header_without_the_compiler(saved: dict[str, Path]) -> None:
    header = read_header(saved["full"])
    assert header["task"] == "tag"
    assert header["certificate"]["tol"] == 0.01
    assert header["meta"] == {"scheme": "BIO"}
    program = (
        "import sys; from partwise.modelfile import read_header; "
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
        (dataclasses.replace(model, labels=("x",)), "another number of labels"),
        (dataclasses.replace(model, meta={"a": object()}), "cannot hold this header"),
        (dataclasses.replace(model, weights=model.weights * np.nan), "not finite"),
        ("model", "str is not a trained model"),
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
    n = model.n_features
    rows = Rows(np.array([0, n, n, n]), np.arange(n), None, n)
    lengths = np.array([1, 1, 1] if model.task == "classify" else [2, 1])
    for labels in model.predict(rows, lengths):
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


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("full", {"kind": "another"}, "does not say"),
        ("full", {"loss": ["log"]}, "loss is unknown"),
        ("full", {"l2": 0}, "l2"),
        ("full", {"task": "classify"}, "structure is unknown"),
        ("full", {"n_weights": True}, "n_weights"),
        ("full", {"n_inputs": 1}, "missing columns"),
        ("full", {"vocabulary": False}, "odd arrays"),
        ("full", {"intercept": 1.0}, "another number of features"),
        ("full", {"label_type": "int"}, "not of type int"),
        ("full", {"constraints": {"labels": [99], "transitions": [], "starts": [], "ends": []}},
         "name no label"),
        ("classifier", {"n_inputs": 3}, "another number of features"),
        ("classifier", {"n_features": [2**62, 2**62]}, "odd n_features"),
        ("classifier", {"structure": {"name": "multiclass", "n_labels": 2**40}}, "odd n_labels"),
        ("classifier", {"templates": {"views": []}}, "templates"),
    ],
)  # fmt: skip
def test_hostile_headers(
    saved: dict[str, Path], tmp_path: Path, name: str, changes: dict[str, Any], says: str
) -> None:
    header, arrays = read_container(saved[name])
    refuses(tmp_path / "hostile", {**json.loads(json.dumps(header)), **changes}, arrays, says)


def test_another_container_is_no_model(tmp_path: Path) -> None:
    refuses(tmp_path / "a", {}, {}, "does not say")
