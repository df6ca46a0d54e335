from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from support.same_tokens import digest

from partwise import SequenceTagger
from partwise.errors import DataError
from partwise.formats.columns import read_columns
from partwise.formats.frames import frame_columns, read_frame, read_parquet
from partwise.formats.jsonl import write_jsonl

LISTS = {"tokens": [["He", "ran"], ["It"], []], "ner_tags": [[1, 0], [-100], []]}
NAMES = ["O", "B-PER"]
SENTENCES = [["He", "ran"], ["It"], []]
LONG = {
    "sentence": ["s1", None, "s2"],
    "word": ["He", "ran", "It"],
    "pos": ["P", "V", "P"],
    "tag": ["A", "B", None],
}


def rows(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def check_lists(table: Any, names: bool) -> None:
    """Check a table of `LISTS`, which knows the names of its labels or not."""
    X, y = read_frame(table)
    assert X == SENTENCES
    assert y == ([["B-PER", "O"], [None], []] if names else [[1, 0], [-100], []])
    assert read_frame(table, label_names=NAMES)[1] == [["B-PER", "O"], [None], []]
    assert read_frame(table, missing_label=[-100, 0])[1] == (
        [["B-PER", None], [None], []] if names else [[1, None], [None], []]
    )


def check_long(table: Any) -> None:
    X, y = read_frame(table, sentence="sentence", tokens="word,pos")
    assert X == [
        [{"word": "He", "pos": "P"}, {"word": "ran", "pos": "V"}],
        [{"word": "It", "pos": "P"}],
    ]
    assert y == [["A", "B"], [None]]


def test_dicts_and_rows() -> None:
    check_lists(LISTS, names=False)
    check_lists(rows(LISTS), names=False)
    check_long(LONG)
    check_long(rows(LONG))
    assert read_frame({"words": [["a"]]}) == ([["a"]], None)
    tagger = SequenceTagger().fit(*read_frame({"tokens": [["a", "b"]], "tags": [["x", "y"]]}))
    assert tagger.classes_.tolist() == ["x", "y"]


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    check_lists(pandas.DataFrame(LISTS), names=False)
    check_long(pandas.DataFrame(LONG))
    frame = pandas.DataFrame({"s": [1, 1, 2], "token": ["a", "b", "c"], "label": [1, None, 0]})
    assert read_frame(frame, sentence="s")[1] == [[1, None], [0]]
    frame["label"] = pandas.Categorical(["x", "y", "x"])
    assert read_frame(frame, sentence="s")[1] == [["x", "y"], ["x"]]


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    check_lists(polars.DataFrame(LISTS), names=False)
    check_lists(polars.DataFrame(LISTS).lazy(), names=False)
    check_long(polars.DataFrame(LONG))


def test_arrow_and_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    check_lists(pyarrow.table(LISTS), names=False)
    check_long(pyarrow.table(LONG))
    parquet.write_table(pyarrow.table(LISTS), tmp_path / "x.parquet")
    assert read_parquet(tmp_path / "x.parquet", label_names=NAMES)[0] == SENTENCES
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_parquet(tmp_path / "x.parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_parquet(tmp_path / "nonesuch")


def test_hugging_face(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    labels = datasets.Sequence(datasets.ClassLabel(names=NAMES))
    kinds = {"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": labels}
    table = datasets.Dataset.from_dict(LISTS, features=datasets.Features(kinds))
    check_lists(table, names=True)
    check_lists(table.to_iterable_dataset(), names=True)
    table.to_parquet(tmp_path / "x.parquet")
    assert read_parquet(tmp_path / "x.parquet")[1] == [["B-PER", "O"], [None], []]
    with pytest.raises(DataError, match=r"several tables \(train\)"):
        read_frame(datasets.DatasetDict(train=table))


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match="pip install pyarrow"):
        read_parquet(tmp_path / "x")


def test_tables_become_files(tmp_path: Path) -> None:
    found = frame_columns({"tokens": [["a", "b"], [], ["c"]], "tags": [["x", 1], [], ["y"]]})
    assert found.labels == ["x", "1", "y"]
    assert found.lengths.tolist() == [2, 1]
    write_jsonl(tmp_path / "out", found)
    assert (tmp_path / "out").read_text().splitlines()[1] == '{"tokens": ["c"], "tags": ["y"]}'
    with pytest.raises(DataError, match=r"sentence 0 \(counted from 0\): label 1 is missing"):
        frame_columns({"tokens": [["a", "b"]], "tags": [["x", None]]})


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        (3, {}, "int is no table"),
        ("text", {}, "str is no table"),
        ([3], {}, "must be dicts"),
        ({"a": [["x"]]}, {}, "no column of tokens; name it: it has a"),
        ({"tokens": [["x"]]}, {"labels": "y"}, "no column 'y'; it has tokens"),
        ({"tokens": ["x y"]}, {}, r"'x y' in 'tokens' is no list; .*sentence=\.\.\."),
        ({"tokens": [["x", None]]}, {}, r"sentence 0, token 1 .*: None in 'tokens' is no string"),
        ({"tokens": [["x"]], "tags": [["a", "b"]]}, {}, "2 values in 'tags' for 1 tokens"),
        ({"tokens": [["x"]], "tags": [[["a"]]]}, {}, "is no label"),
        ({"tokens": [["x"]], "tags": [[7]]}, {"label_names": ["a"]}, "label 7 in 'tags'"),
        ({"tokens": ["x"] * 3, "s": [1, 2, 1]}, {"sentence": "s"}, "row 2 .*sort the table by 's'"),
        ({"tokens": ["x"], "s": [None]}, {"sentence": "s"}, "row 0 names no sentence"),
    ],
)
def test_tables_that_do_not_fit(table: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_frame(table, **options)


def test_tables_give_the_same_model_as_files(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("Ann B-P\nLee I-P\nran O\n\nran O\n\nLee B-P\nAnn I-P\n", "utf-8")
    file = read_columns(path)
    lists = {"tokens": file.split(file.fields[0]), "tags": file.split(file.labels or [])}
    number = [s for s, length in enumerate(file.lengths.tolist()) for _ in range(length)]
    long = {"sentence": number, "token": file.fields[0], "tag": file.labels}
    tables = {"dict": (lists, long)}
    for name, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        if importlib.util.find_spec(name) is not None:
            make = getattr(importlib.import_module(name), kind)
            tables[name] = (make(lists), make(long))
    if importlib.util.find_spec("datasets") is not None:
        make = importlib.import_module("datasets").Dataset.from_dict
        tables["datasets"] = (make(lists), make(long))
    expected = digest(SequenceTagger(tol=1e-6).fit(file).model_)
    for name, (by_sentence, by_token) in tables.items():
        for columns in (frame_columns(by_sentence), frame_columns(by_token, sentence="sentence")):
            assert digest(SequenceTagger(tol=1e-6).fit(columns).model_) == expected, name
