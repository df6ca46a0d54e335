"""The commands inspect and explain."""

from __future__ import annotations

import csv
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.commands import Run, one_object, runner, sentence, trained

from partwise import load_model
from partwise.cli.help_texts import EPILOGS
from partwise.formats.columns import read_columns


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("explained"))


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def test_inspect(run: Run, folder: Path) -> None:
    model = load_model(folder / "tag")
    code, out, err = run("inspect", folder / "tag", "--top", 7)
    assert (code, err) == (0, "")
    assert out == str(model.explain_weights(7)) + "\n"
    assert len(out.splitlines()) == 9
    assert run("inspect", folder / "tag")[1] == str(model.explain_weights(20)) + "\n"


def test_inspect_json(run: Run, folder: Path) -> None:
    model = load_model(folder / "tag")
    command = ["inspect", folder / "tag", "--label", "B-NP", "--feature", r"^pos\[0\]=", "--top", 3]
    code, out, _ = run(*command, "--json")
    assert code == 0
    record = one_object(out)
    table = model.explain_weights(3, label="B-NP", feature=r"^pos\[0\]=")
    assert record["weights"] == table.to_dict()
    assert len(table) == 3
    assert {row["label"] for row in record["weights"]} == {"B-NP"}
    assert record["n_weights"] == len(model.weights)


def test_inspect_names_features_where_none_matches(run: Run, folder: Path) -> None:
    command = ["inspect", folder / "tag", "--feature", r"word\[0\]"]
    code, out, err = run(*command)
    assert code == 0
    assert out.startswith("feature")
    assert f"{folder / 'tag'}: no weights of features that match --feature" in err
    named = err.rstrip("\n").rpartition("such as ")[2].split(", ")
    assert len(named) == 5
    assert len({name.partition("=")[0] for name in named}) == 5
    for name in named:
        code, out, err = run("inspect", folder / "tag", "--feature", f"^{re.escape(name)}$")
        assert (code, err) == (0, "")
        assert name in out
    assert run(*command, "--quiet")[2] == ""
    _, out, err = run(*command, "--transitions", "--json")
    assert one_object(out)["weights"] == []
    assert err.endswith("there are features such as constant\n")


def test_the_examples_of_inspect_match_something(run: Run, folder: Path) -> None:
    example = next(line for line in EPILOGS["inspect"].splitlines() if "--feature" in line)
    pattern = shlex.split(example)[4]
    code, out, err = run("inspect", folder / "tag", "--feature", pattern, "--json")
    assert (code, err) == (0, "")
    assert len(one_object(out)["weights"]) == 20


def test_inspect_csv(run: Run, folder: Path) -> None:
    code, out, _ = run("inspect", folder / "tag", "--transitions", "--all", "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    table = load_model(folder / "tag").explain_weights(None, transitions=True)
    assert [(row["label"], float(row["weight"])) for row in rows] == [
        (row.label, row.weight) for row in table
    ]
    assert {row["kind"] for row in rows} == {"transition"}


def test_explain(run: Run, folder: Path) -> None:
    code, out, err = run("explain", folder / "tag", folder / "test.txt", "--first", 2, "--top", 3)
    assert (code, err) == (0, "")
    examples = read_columns(folder / "test.txt")
    found = load_model(folder / "tag").explain(examples.take([0, 1]))
    blocks = [f"example {i}\n{one.to_text(3)}" for i, one in enumerate(found, 1)]
    assert _unmarked(out) == "\n\n".join(blocks) + "\n"


def _unmarked(out: str) -> str:
    """Return an output without the lines on labels of the file that differ."""
    lines = out.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("in the file "))


def test_explain_some_examples(run: Run, folder: Path, tmp_path: Path) -> None:
    command = ["explain", folder / "tag", folder / "test.txt"]
    code, out, err = run(*command, "--only", 3, "--only", 1, "--only", 3)
    assert (code, err) == (0, "")
    found = load_model(folder / "tag").explain(read_columns(folder / "test.txt").take([2, 0]))
    blocks = [f"example {i}\n{one}" for i, one in zip([3, 1], found, strict=True)]
    assert _unmarked(out) == "\n\n".join(blocks) + "\n"
    code, _, err = run(*command, "--only", 21)
    assert code == 1
    assert "no example 21 for --only; the file has 20 examples, counted from 1" in sentence(err)
    code, _, err = run(*command, "--only", 2, "--first", 1)
    assert code == 2
    assert "give one of them" in sentence(err)


def test_explain_names_labels_of_the_file_that_differ(
    run: Run, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.txt"
    run("predict", folder / "tag", folder / "test.txt", "--output", path)
    rows = [line.split() for line in path.read_text("utf-8").splitlines()]
    lines = [" ".join([*row[:2], *row[3:]]) for row in rows]
    words, _, label = lines[1].rpartition(" ")
    path.write_text("\n".join([lines[0], f"{words} X", *lines[2:]]) + "\n", "utf-8")
    _, out, _ = run("explain", folder / "tag", path, "--first", 2)
    assert out.splitlines()[:2] == ["example 1", f"in the file position 1 is X, not {label}"]
    assert out.count("in the file") == 1


def test_explain_json(run: Run, folder: Path) -> None:
    code, out, _ = run("explain", folder / "tag", folder / "test.txt", "--json")
    assert code == 0
    record = one_object(out)
    found = load_model(folder / "tag").explain(read_columns(folder / "test.txt"))
    assert record["explanations"] == found.to_dict()
    assert record["n_examples"] == len(found) == 20
    quick = one_object(
        run("explain", folder / "tag", folder / "test.txt", "--json", "--no-runners-up")[1]
    )
    assert all(part["runner_up"] is None for one in quick["explanations"] for part in one["parts"])


def test_explain_rows_from_stdin(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code, out, _ = run("explain", folder / "classify", folder / "train.svm", "--first", 1)
    assert code == 0
    assert out.startswith("example 1\nclassify, log loss: score")
    assert "x0  [label 1]" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["inspect", "tag", "--label", "B-NPX"], 1, "did you mean B-NP"),
        (["inspect", "tag", "--feature", "("], 2, "is no regular expression"),
        (["inspect", "tag", "--csv", "--json"], 2, "--csv and --json"),
        (["inspect", "classify", "--transitions"], 1, "no weights of transitions"),
        (["inspect", "tag", "--top", "0"], 2, "--top"),
        (["inspect", "none"], 1, "none"),
        (["inspect", "train.txt"], 1, "train.txt"),
        (["explain", "tag", "none.txt"], 1, "none.txt"),
        (["explain", "classify", "test.txt"], 1, "--task tag"),
        (["explain", "tag", "narrow.txt"], 1, "narrow.txt"),
        (["explain", "tag"], 2, "FILE"),
    ],
)
def test_messages(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, code: int, words: str
) -> None:
    monkeypatch.chdir(folder)
    Path("narrow.txt").write_text("word\nother\n", "ascii")
    got, _, err = run(*arguments)
    assert got == code
    line = err.splitlines()[-1] + "\n"
    assert words in sentence(line)
