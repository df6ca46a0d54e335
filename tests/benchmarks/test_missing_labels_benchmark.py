"""The benchmark of missing labels, on generated text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
from benchmarks import data, missing_labels


def write_gz(path: Path, sentences: list[data.Rows]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join("".join(" ".join(row) + "\n" for row in rows) for rows in sentences)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(text)


def test_runs_are_cut_at_missing_labels() -> None:
    tokens = [[name] for name in "abcde"]
    cut = list(missing_labels.runs(tokens, [None, "x", "y", None, "z"]))
    assert cut == [([["b"], ["c"]], ["x", "y"]), ([["e"]], ["z"])]
    assert list(missing_labels.runs(tokens[:1], [None])) == []


def test_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    write_gz(tmp_path / "conll2000/train.txt.gz", data.demo_text(30, seed=0))
    write_gz(tmp_path / "conll2000/test.txt.gz", data.demo_text(10, seed=1))
    missing_labels.main(["--out", str(tmp_path / "out"), "--share", "0.1", "--tol", "0.05"])
    rows = json.loads((tmp_path / "out/missing_labels.json").read_text("utf-8"))["rows"]
    assert [row["way"] for row in rows] == list(missing_labels.WAYS)
    by_way = {row["way"]: row for row in rows}
    assert by_way["partial"]["steps"] > 1
    assert by_way["partial"]["labels"] == by_way["labelled runs"]["labels"]
    assert by_way["missing = O"]["labels"] == by_way["all labels"]["labels"]
    assert all(row["converged"] for row in rows)
    text = (tmp_path / "out/missing_labels.md").read_text("utf-8")
    assert text.count("\n") == 2 + len(rows)
