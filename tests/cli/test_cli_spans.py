"""Spans, pairs of labels and known labels in ``partwise predict``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, one_object, runner

from partwise import ConstituencyParser, SegmentTagger, SequenceTagger, load_model
from partwise.datasets import tagged_text, write
from partwise.formats.brackets import read_brackets
from partwise.formats.columns import read_columns

TREES = "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))\n(S (NP (N dog)) (VP (V saw)))\n"
ARCS = "dogs\tN\t2\nbark\tV\t0\n\ncats\tN\t2\nsleep\tV\t0\nnow\tR\t2\n\n"


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from partwise.cli import main

    made = tmp_path_factory.mktemp("spans")
    write(tagged_text(20, seed=1), made / "train.txt")
    write(tagged_text(5, seed=2), made / "test.txt")
    (made / "trees").write_text(TREES, "utf-8")
    (made / "arcs").write_text(ARCS, "utf-8")
    (made / "pos.txt").write_text("the x D\ndog x N\n\ndog x N\nbarks x V\n", "utf-8")
    for task, file, name, *more in (
        ("tag", "train.txt", "tag"),
        ("tag", "train.txt", "hinge", "--loss", "hinge", "--tol", "0.1"),
        ("tag", "pos.txt", "pos"),
        ("segment", "train.txt", "segment", "--max-length", "8"),
        ("brackets", "trees", "brackets"),
        ("parse", "arcs", "parse"),
    ):
        train = ["train", "--task", task, f"{made}/{file}", "--model", f"{made}/{name}", "-q"]
        assert main([*train, *more]) == 0
    return made


def _table(out: str) -> list[list[str]]:
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["example", "start", "end", "label", "probability", "text"]
    return rows[1:]


def _read(folder: Path, task: str) -> Any:
    model = load_model(folder / task)
    if task == "brackets":
        source = read_brackets(folder / "trees").trees
        return ConstituencyParser.from_model(model), source, [tree.words for tree in source]
    columns = read_columns(folder / "test.txt")
    tokens = [
        [list(pair) for pair in zip(*some, strict=True)]
        for some in zip(*(columns.split(field) for field in columns.fields), strict=True)
    ]
    kind: Any = SequenceTagger if task == "tag" else SegmentTagger
    return kind.from_model(model), tokens, columns.split(columns.fields[0])


@pytest.mark.parametrize("task", ["tag", "segment", "brackets"])
@pytest.mark.parametrize("threshold", [None, 0.3])
def test_spans_are_those_of_the_estimator(
    call: Run, folder: Path, task: str, threshold: float | None
) -> None:
    file = folder / ("trees" if task == "brackets" else "test.txt")
    more = () if threshold is None else ("--threshold", threshold)
    code, out, err = call("predict", folder / task, file, "--spans", *more)
    assert code == 0, err
    estimator, X, words = _read(folder, task)
    wanted = [
        [str(i), str(start), str(end), label, f"{p:.6f}", " ".join(words[i][start:end])]
        for i, some in enumerate(estimator.predict_spans(X, threshold=threshold))
        for start, end, label, p in some
    ]
    assert wanted
    assert _table(out) == wanted
    code, out, _ = call("predict", folder / task, file, "--spans", *more, "--json")
    record = one_object(out)
    assert len(record["spans"]) == len(words)
    assert [
        [str(i), str(span["start"]), str(span["end"]), span["label"], span["text"]]
        for i, some in enumerate(record["spans"])
        for span in some
    ] == [[*row[:4], row[5]] for row in wanted]


def test_pairs(call: Run, folder: Path, tmp_path: Path) -> None:
    predict = ("predict", folder / "tag", folder / "test.txt", "--pair-marginals")
    record = one_object(call(*predict, "--json")[1])
    estimator, X, words = _read(folder, "tag")
    assert record["labels"] == estimator.classes_.tolist()
    tables = estimator.predict_pair_marginals(X)
    for ours, theirs in zip(record["pair_marginals"], tables, strict=True):
        assert np.allclose(ours, theirs)
    assert call(*predict, "--output", tmp_path / "pairs")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "pairs").read_text("utf-8").splitlines()]
    assert [line["tokens"] for line in lines] == words
    assert [line["pair_marginals"] for line in lines] == record["pair_marginals"]


@pytest.mark.parametrize(
    ("model", "options", "code", "message"),
    [
        ("tag", ["--threshold", "0.5"], 2, "--threshold belongs to --spans"),
        ("tag", ["--spans", "--threshold", "2"], 2, "2 is above 1"),
        ("tag", ["--spans", "--threshold", "0"], 2, "--threshold 0 would list every"),
        ("tag", ["--spans", "--k", "2"], 2, "--spans and --k write different things"),
        ("tag", ["--spans", "--marginals"], 2, "--spans and --marginals write"),
        ("tag", ["--spans", "--pair-marginals"], 2, "--spans and --pair-marginals write"),
        ("tag", ["--pair-marginals", "--k", "2"], 2, "--pair-marginals and --k write"),
        ("tag", ["--scheme", "IOB2"], 2, "--scheme belongs to --spans here"),
        ("tag", ["--spans", "--scheme", "IOBES"], 0, ""),
        ("tag", ["--spans", "--scheme", "IOE2"], 1, "IOE2 labels begin with"),
        ("pos", ["--spans"], 1, "do not spell spans"),
        ("hinge", ["--spans"], 1, "gives scores, not probabilities"),
        ("hinge", ["--pair-marginals"], 1, "gives scores, not probabilities"),
        ("segment", ["--pair-marginals"], 2, "belongs to --task tag, not to --task segment"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    call: Run, folder: Path, model: str, options: list[str], code: int, message: str
) -> None:
    found, _, err = call("predict", folder / model, folder / "test.txt", *options)
    assert (found, message in err) == (code, True), err


def _marked(folder: Path, tmp_path: Path, keep: Any) -> tuple[Path, list[list[str]]]:
    """Write the test file with some of its labels; return it, and what its label column has."""
    blocks = (folder / "test.txt").read_text("utf-8").strip().split("\n\n")
    column: list[list[str]] = []
    for s, block in enumerate(blocks):
        lines = [line.split() for line in block.split("\n")]
        column.append([line[2] if keep(s, t) else "_" for t, line in enumerate(lines)])
        blocks[s] = "\n".join(
            f"{a} {b} {c}" for (a, b, _), c in zip(lines, column[-1], strict=True)
        )
    file = tmp_path / "part.txt"
    file.write_text("\n\n".join(blocks) + "\n", "utf-8")
    return file, column


def test_known_tags_are_kept(call: Run, folder: Path, tmp_path: Path) -> None:
    file, column = _marked(folder, tmp_path, lambda s, t: (s + t) % 3 == 0)
    estimator, X, _ = _read(folder, "tag")
    known = [[None if tag == "_" else tag for tag in tags] for tags in column]
    wanted = estimator.predict(X, fixed=known)
    assert wanted != estimator.predict(X)
    for more in ((), ("--marginals",)):
        code, out, _ = call("predict", folder / "tag", file, "--fixed", "_", *more)
        assert code == 0
        blocks = [block.split("\n") for block in out.strip().split("\n\n")]
        assert [[line.split()[3] for line in block] for block in blocks] == wanted
    kept = [tag for tags in column for tag in tags]
    odds = [line.split()[4] for block in blocks for line in block]
    assert all(p == "1.000000" for p, tag in zip(odds, kept, strict=True) if tag != "_")
    ranked = call("predict", folder / "tag", file, "--fixed", "_", "--k", "2", "--json")[1]
    first = [some[0]["labels"] for some in one_object(ranked)["candidates"]]
    assert first == wanted
    spans = one_object(
        call("predict", folder / "tag", file, "--fixed", "_", "--spans", "--json")[1]
    )
    ours = [[tuple(span.values()) for span in some] for some in spans["spans"]]
    theirs = estimator.predict_spans(X, fixed=known)
    assert [[one[:3] for one in some] for some in ours] == [
        [one[:3] for one in some] for some in theirs
    ]


def test_known_segments_are_kept(call: Run, folder: Path, tmp_path: Path) -> None:
    gold = read_columns(folder / "test.txt")
    tags = gold.split(gold.labels or [])
    # Whole chunks: a tag is kept with those that go on from it.
    chunk = [[0] * len(of) for of in tags]
    for s, of in enumerate(tags):
        for t, tag in enumerate(of):
            chunk[s][t] = chunk[s][t - 1] if tag[0] == "I" else t
    file, column = _marked(folder, tmp_path, lambda s, t: chunk[s][t] % 2 == 0)
    code, out, err = call("predict", folder / "segment", file, "--fixed", "_")
    assert code == 0, err
    found = [[line.split()[3] for line in block.split("\n")]
             for block in out.strip().split("\n\n")]  # fmt: skip
    for predicted, known in zip(found, column, strict=True):
        for t, tag in enumerate(known):
            assert tag in ("_", predicted[t])
            # A known segment ends where it ends.
            after = known[t + 1] if t + 1 < len(known) else "O"
            if tag not in ("_", "O") and after == "_":
                assert predicted[t + 1][0] != "I"
    plain = call("predict", folder / "segment", folder / "test.txt")[1]
    assert [line.split()[-1:] for line in plain.splitlines()] != [
        line.split()[-1:] for line in out.splitlines()
    ]
    assert call("predict", folder / "segment", file, "--fixed", "_", "--marginals")[0] == 0
    assert call("predict", folder / "segment", file, "--fixed", "_", "--k", "2")[0] == 0


def test_known_heads_are_kept(call: Run, folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "arcs"
    file.write_text("dogs\tN\t0\nbark\tV\t_\nnow\tR\t1\n\ncats\tN\t_\nsleep\tV\t_\n", "utf-8")
    code, out, _ = call("predict", folder / "parse", file, "--fixed", "_")
    assert code == 0
    heads = [line.split("\t")[2] for line in out.splitlines() if line]
    assert (heads[0], heads[2]) == ("0", "1")
    out = call("predict", folder / "parse", file)[1]
    free = [line.split("\t")[2] for line in out.splitlines() if line]
    assert free[0] != "0"
    assert heads[3:] == free[3:]
    code, out, _ = call("predict", folder / "parse", file, "--fixed", "_", "--marginals")
    assert out.splitlines()[0].split("\t")[3] == "1.000000"
    code, _, err = call("predict", folder / "parse", file, "--fixed", "?")
    assert (code, "give --fixed _" in err) == (2, True)


def test_known_labels_of_vertices_are_kept(call: Run, tmp_path: Path) -> None:
    file, model = tmp_path / "maps", tmp_path / "model"
    file.write_text("node a sea blue\nnode b land green\nedge a b\n\nnode a sea blue\n", "utf-8")
    assert call("train", "--task", "graph", file, "--model", model, "-q", "--l2", "0.1")[0] == 0
    file.write_text("node a land blue\nnode b ? green\nnode c - blue\nedge a b\n", "utf-8")
    code, out, err = call("predict", model, file, "--fixed", "-", "--marginals")
    assert code == 0, err
    assert [line.split()[2] for line in out.splitlines() if line.startswith("node")] == [
        "land", "land", "sea",
    ]  # fmt: skip
    assert "# p a land:1.000000 sea:0.000000" in out
    code, _, err = call("predict", model, file, "--fixed", "?")
    assert code == 1
    assert f"{file}:3: the label '-' is none that the model knows; write '?'" in err


def test_labels_that_cannot_be_kept(call: Run, folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.txt"
    bare.write_text("the D\ndog N\n", "utf-8")
    code, _, err = call("predict", folder / "tag", bare, "--fixed", "_")
    assert code == 1
    assert f"{bare}: no labels; --fixed keeps the labels of the file (in the last column)" in err
    bare.write_text("the D B-XX\ndog N _\n", "utf-8")
    for model in ("tag", "segment"):
        code, _, err = call("predict", folder / model, bare, "--fixed", "_")
        assert code == 1
        assert f"{bare}:1: the label" in err
        assert "is none that the model knows; write '_'" in err
    bare.write_text("\n".join(f"the D {tag}-NP" for tag in "BIIIIIIII") + "\n", "utf-8")
    code, _, err = call("predict", folder / "segment", bare, "--fixed", "_")
    assert code == 1
    assert f"{bare}:1: a known segment of 9 tokens" in err
    bare.write_text("", "utf-8")
    assert call("predict", folder / "tag", bare, "--fixed", "_")[:2] == (0, "")
    code, _, err = call("predict", folder / "brackets", folder / "trees", "--fixed", "_")
    assert (code, "--fixed belongs to --task" in err) == (2, True)
