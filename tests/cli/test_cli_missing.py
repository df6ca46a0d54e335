"""Missing labels on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import SVMLIGHT, Run, one_object, runner, sentence
from support.grammar_of_arcs import treebank
from support.grammar_of_phrases import treebank as phrases

from partwise import load_model
from partwise.datasets import tagged_text, write
from partwise.formats.conll import write_conll

FEW = ["--l2", "0.5", "--tol", "1e-2", "--quiet"]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def with_holes(path: Path, every: int) -> None:
    """Replace every so-manieth label of a column file by a question mark."""
    lines = path.read_text("utf-8").splitlines()
    for k in range(0, len(lines), every):
        if lines[k]:
            lines[k] = " ".join([*lines[k].split()[:-1], "?"])
    path.write_text("\n".join([*lines, "", "more NN ?", ""]), "utf-8")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tagged_text(40, seed=1), tmp_path / "train.txt")
    write(tagged_text(15, seed=2), tmp_path / "test.txt")
    with_holes(tmp_path / "train.txt", 4)
    with_holes(tmp_path / "test.txt", 9)
    return tmp_path


@pytest.mark.parametrize("task", ["tag", "segment"])
def test_columns(run: Run, files: Path, task: str) -> None:
    model = files / "model"
    train = ["train", "--task", task, files / "train.txt", "--model", model, *FEW]
    if task == "segment":
        assert run(*train)[0] == 1  # the mark is no tag
    code, out, _ = run(*train, "--missing", "?", "--json")
    assert code == 0
    record = one_object(out)
    assert record["left_out"] == 1
    assert record["converged"] is True
    steps = record["steps"]
    assert steps["settled"] is True
    assert steps["count"] > 1
    assert steps["objective"] < record["objective"]
    assert "not a certified optimum" in record["verdict"]
    assert "?" not in load_model(model).labels
    code, out, _ = run("evaluate", model, files / "test.txt", "--json")
    assert code == 0
    lines = (files / "test.txt").read_text("utf-8").splitlines()
    assert one_object(out)["metrics"]["unscored"] == sum(line.endswith("?") for line in lines)
    code, out, _ = run("evaluate", model, files / "test.txt")
    assert "without a known label" in out
    code, out, _ = run("info", model)
    assert "that step alone" in out
    assert "not a certified optimum" in out
    assert one_object(run("info", model, "--json")[1])["steps"] == steps
    # Without the option it is a label.
    if task == "tag":
        assert run(*train)[0] == 0
        assert "?" in load_model(model).labels
        assert "unscored" not in run("evaluate", model, files / "test.txt", "--json")[1]


def test_stopped_early(run: Run, files: Path) -> None:
    model = files / "model"
    train = ["train", "--task", "tag", files / "train.txt", "--model", model, "--missing", "?"]
    code, out, err = run(*train, "--max-passes", "2", "--json")
    assert code == 3
    assert "stopped before the steps settled" in err
    assert one_object(out)["steps"]["settled"] is False
    code, out, _ = run(*train, "--quiet", "--tol", "1e-2", "--resume", model, "--json")
    assert code == 0


def test_other_loss(run: Run, files: Path) -> None:
    train = ["train", "--task", "tag", files / "train.txt", "--model", files / "model"]
    code, _, err = run(*train, "--missing", "?", "--loss", "hinge", "--quiet")
    assert code == 1
    assert f"{files / 'train.txt'}:1: " in sentence(err)
    assert "no cost for a set of labels" in err


def test_path(run: Run, files: Path) -> None:
    code, out, _ = run(
        "path", "--task", "tag", files / "train.txt", "--dev", files / "test.txt",
        "--missing", "?", "--steps", "3", "--tol", "1e-2", "--quiet", "--json",
    )  # fmt: skip
    assert code == 0
    assert len(one_object(out)["path"]) == 3


def test_classify(run: Run, tmp_path: Path) -> None:
    lines = SVMLIGHT.splitlines()
    lines[::5] = ["9" + line[1:] for line in lines[::5]]
    (tmp_path / "train.svm").write_text("\n".join(lines) + "\n", "ascii")
    train = ["train", "--task", "classify", tmp_path / "train.svm", "--model", tmp_path / "m"]
    code, out, _ = run(*train, "--missing", "9", "--quiet", "--json")
    assert code == 0
    assert one_object(out)["left_out"] == len(lines[::5])
    assert one_object(out)["n_labels"] == 3
    code, out, _ = run("evaluate", tmp_path / "m", tmp_path / "train.svm", "--json")
    assert one_object(out)["metrics"]["unscored"] == len(lines[::5])


def test_parse(run: Run, tmp_path: Path) -> None:
    trees = [
        one.with_tree([-1, *one.head[1:]]) if k % 4 == 0 else one
        for k, one in enumerate(treebank(24))
    ]
    write_conll(tmp_path / "train.conllu", trees)
    train = ["train", "--task", "parse", tmp_path / "train.conllu", "--model", tmp_path / "m", *FEW]
    code, _, err = run(*train)
    assert code == 1
    assert "head _ where a number is expected" in sentence(err)
    code, out, _ = run(*train, "--missing", "_", "--json")
    assert code == 0
    assert one_object(out)["steps"]["partial"] == 6
    code, out, _ = run("evaluate", tmp_path / "m", tmp_path / "train.conllu", "--json")
    assert one_object(out)["metrics"]["unscored"] == 6


def test_brackets(run: Run, tmp_path: Path) -> None:
    trees = list(map(str, phrases(20)))
    trees[0] = trees[0].replace("(NP", "(?").replace("(S ", "(? ", 1)
    (tmp_path / "train.mrg").write_text("\n".join(trees) + "\n", "utf-8")
    train = ["train", "--task", "brackets", tmp_path / "train.mrg", "--model", tmp_path / "m", *FEW]
    code, out, _ = run(*train, "--missing", "?", "--json")
    assert code == 0
    assert one_object(out)["steps"]["partial"] == 1
    code, out, _ = run("evaluate", tmp_path / "m", tmp_path / "train.mrg", "--json")
    assert one_object(out)["metrics"]["unscored"] == 1
