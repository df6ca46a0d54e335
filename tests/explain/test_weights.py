"""The weights of a model as a table."""

from __future__ import annotations

import base64
import re
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explained import CASES, case

from partwise import DataError, LinearClassifier, SequenceTagger, load_model, save_model
from partwise.errors import MismatchError
from partwise.explain import weight_table as module_function
from partwise.models.file import pack_counts, unpack_counts
from partwise.models.transfer import places
from partwise.tasks.registry import example_form

LINEAR = [name for name in CASES if not name.startswith("kernel")]


def every(model: Any) -> list[tuple[str, str, float, str]]:
    """All weights of a model with their names, found one by one."""
    form = example_form(model)
    names, slots = form.names(), form.labels.slots()
    found = []
    for feature, slot, weight in zip(*places(model.layout), model.weights, strict=True):
        kind = int(np.searchsorted(np.cumsum(model.layout.n_features), feature, side="right"))
        own = int(feature) - model.layout.feature_offset(kind)
        text = slots[kind].text(int(slot))
        found.append((names[kind].names([own])[0], text, weight, model.structure.kinds[kind]))
    return found


@pytest.mark.parametrize("name", [n for n in LINEAR if "parser" not in n and "brackets" not in n])
def test_all_weights_are_there_the_largest_first(name: str) -> None:
    model = case(name)[0]
    table = model.explain_weights(top=None)
    sizes = [abs(row.weight) for row in table]
    assert sizes == sorted(sizes, reverse=True)
    found = sorted((row.feature, row.label, row.weight, row.kind) for row in table)
    assert found == sorted(one for one in every(model) if one[2] != 0.0)
    assert table.total == len(model.weights)
    few = model.explain_weights(top=3)
    assert list(few) == list(table)[:3]


@pytest.mark.parametrize("name", ["tagger", "parser-labelled", "brackets", "segmenter", "graph"])
def test_filters(name: str) -> None:
    model = case(name)[0]
    table = list(model.explain_weights(top=None))
    label = {"graph": "land", "parser-labelled": "det"}.get(name, table[-1].label.split(" ")[-1])
    chosen = list(model.explain_weights(top=None, label=label))
    assert chosen == [row for row in table if label in re.split(r" -> |, | ", row.label)]
    assert chosen
    pattern = table[5].feature[:3]
    matching = list(model.explain_weights(top=None, feature=re.escape(pattern)))
    assert matching == [row for row in table if pattern in row.feature]
    both = list(model.explain_weights(top=None, feature=re.escape(pattern), label=label))
    assert both == [row for row in matching if row in chosen]


def test_the_stretches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    model = case("tagger-observed")[0]
    whole = list(model.explain_weights(top=7, label="I-NP"))
    monkeypatch.setattr("partwise.explain.weights._STRETCH", 64)
    assert list(model.explain_weights(top=7, label="I-NP")) == whole


def test_transitions_are_labelled() -> None:
    model = case("second-order")[0]
    table = model.explain_weights(top=None, transitions=True)
    assert {row.kind for row in table} == {"transition", "triple", "start"}
    pairs = {row.label: row.weight for row in table if row.kind == "transition"}
    tagger = SequenceTagger.from_model(model)
    dense = tagger.transitions_
    names = model.labels
    for a, before in enumerate(names):
        for b, after in enumerate(names):
            assert pairs.get(f"{before} -> {after}", 0.0) == dense[a, b]
    assert all(row.label.count(" -> ") == 2 for row in table if row.kind == "triple")
    rules = case("brackets")[0].explain_weights(top=None, transitions=True)
    assert {row.kind for row in rules} <= {"rule", "root"}
    edges = case("graph")[0].explain_weights(top=None, transitions=True)
    assert {row.kind for row in edges} == {"edge"}
    near = case("kernel-tagger")[0].explain_weights(transitions=True)
    assert {row.kind for row in near} == {"transition"}


def test_a_table_is_text_and_columns_have_names() -> None:
    fitted = LinearClassifier().fit([[0.0, 1.0], [1.0, 0.0], [1.0, 0.5]], ["a", "b", "b"])
    table = fitted.explain_weights(feature_names=["left", "right"])
    assert {row.feature for row in table} == {"left", "right", "intercept"}
    assert table.to_text() == str(table)
    assert "left" in table.to_text()
    assert {row.feature for row in fitted.explain_weights()} == {"x0", "x1", "intercept"}
    part = fitted.explain([[1.0, 0.0]], feature_names=["left", "right"])[0].parts[0]
    assert {one.feature for one in part.contributions} <= {"left", "intercept"}
    assert part.contributions[0].feature == "left"


def test_a_frame_without_pandas_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MismatchError, match=r"needs pandas.*pip install pandas.*to_dict"):
        case("tagger")[0].explain_weights(as_frame=True)


def test_messages() -> None:
    model = case("tagger")[0]
    for arguments, words in (
        ({"label": "B-NPX"}, r"no label 'B-NPX'; did you mean B-NP"),
        ({"label": "zzzzzz"}, r"its labels are B-"),
        ({"feature": "("}, "cannot be read: missing"),
        ({"top": 0}, "top is 0; give a whole number from 1"),
    ):
        with pytest.raises(DataError, match=words):
            model.explain_weights(**arguments)
    with pytest.raises(DataError, match="no weights of transitions"):
        case("classifier")[0].explain_weights(transitions=True)
    with pytest.raises(DataError, match="a kernel model has no weights of features"):
        case("kernel-classifier")[0].explain_weights()
    with pytest.raises(DataError, match="3 names of features where the model has 5"):
        case("classifier")[0].explain_weights(feature_names=["a", "b", "c"])
    with pytest.raises(DataError, match="names of their own"):
        case("parser")[0].explain_weights(feature_names=["a"])


def test_frames() -> None:
    model = case("classifier")[0]
    frame = model.explain_weights(top=4, as_frame=True)
    assert list(frame.columns) == ["feature", "label", "weight", "count", "kind"]
    assert [tuple(row) for row in frame.itertuples(index=False)] == [
        (row.feature, row.label, row.weight, row.count, row.kind)
        for row in model.explain_weights(top=4)
    ]
    bare = replace(model, layout=replace(model.layout, counts=None))
    assert bare.explain_weights(top=4, as_frame=True)["count"].isna().all()


def test_names_of_columns() -> None:
    import pandas

    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(30, 2)), columns=["length", "width"])
    classifier = LinearClassifier().fit(X, (X["length"] > 0).astype(int))
    assert {row.feature for row in classifier.explain_weights()} == {
        "length", "width", "intercept",
    }  # fmt: skip
    one = classifier.explain(X[:1])[0]
    assert {held.feature for held in one.parts[0].contributions} <= {"length", "width", "intercept"}
    assert one.prediction == classifier.predict(X[:1])[0]


def test_counts_are_kept_in_files(tmp_path: Path) -> None:
    X = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}, {"w": "c"}], [{"w": "a"}]]
    tagger = SequenceTagger(l2=0.1).fit(X, [["A", "B"], ["A", "C"], ["A"]])
    save_model(tagger, tmp_path / "m")
    for model in (tagger.model_, load_model(tmp_path / "m")):
        table = model.explain_weights(top=None)
        assert {row.feature: row.count for row in table if row.kind == "label"} == {
            "w=a": 3, "w=b": 1, "w=c": 1,
        }  # fmt: skip
        assert table.counted
        assert model.meta == {}
    bare = replace(tagger.model_, layout=replace(tagger.model_.layout, counts=None))
    save_model(bare, tmp_path / "old")
    old = load_model(tmp_path / "old").explain_weights()
    assert not old.counted
    assert "count" not in str(old)


@pytest.mark.parametrize(
    "text", [None, 3, "", "????", "AAAA", pack_counts(np.arange(4, dtype=np.uint32))]
)
def test_odd_counts_are_none(text: Any) -> None:
    assert unpack_counts(text, 3) is None
    counts = np.array([1, 2**32 - 1, 0], dtype=np.uint32)
    held = unpack_counts(pack_counts(counts), 3)
    assert held is not None
    assert held.tolist() == counts.tolist()


def test_counts_that_were_cut_off_are_none() -> None:
    whole = zlib.compress(np.arange(3, dtype="<u4").tobytes())
    # All numbers are there, and their checksum is not.
    assert unpack_counts(base64.b64encode(whole[:-2]).decode(), 3) is None


def test_a_text_that_unfolds_to_far_more_is_not_unfolded() -> None:
    long = pack_counts(np.zeros(10_000_000, dtype=np.uint32))
    assert len(long) < 100_000
    assert unpack_counts(long, 3) is None


def test_the_function_is_the_method() -> None:
    model = case("tagger")[0]
    assert list(module_function(model, 3)) == list(model.explain_weights(3))
