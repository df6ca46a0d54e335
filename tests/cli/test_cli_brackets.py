"""The task ``brackets`` on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence
from support.grammar_of_phrases import treebank

from partwise.cli import main
from partwise.formats.brackets import parse_tree, read_brackets, write_brackets
from partwise.tasks.constituency.task import BracketTask

FEW = ["--l2", "0.3", "--tol", "1e-3", "--quiet"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("brackets")
    write_brackets(folder / "train.mrg", treebank(60))
    write_brackets(folder / "test.mrg", treebank(15, seed=1, longest=8))
    train = ["train", "--task", "brackets", f"{folder}/train.mrg", *FEW]
    assert main([*train, "--model", f"{folder}/phrases", "--weights", "observed"]) == 0
    hinge = ["--loss", "hinge", "--predict-tags", "--tol", "0.1", "--max-length", "8"]
    assert main([*train, "--model", f"{folder}/hinge", *hinge]) == 0
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def test_train_says_all_in_json(run: Run, files: Path, tmp_path: Path) -> None:
    code, out, err = run(
        "train", "--task", "brackets", files / "train.mrg", "--model", tmp_path / "model",
        "--dev", files / "test.mrg", "--json", "--max-length", "9", "--horizontal", "0",
        "--vertical", "2", "--side", "left", "--splits", *FEW[:-1],
    )  # fmt: skip
    record = one_object(out)
    assert code == 0
    assert record["n_examples"] + record["n_long"] == 60
    assert record["n_long"] > 0
    assert "trees have more than 9 words: they were left out" in err
    assert record["n_rules"] > record["n_symbols"] > 10
    assert record["metrics"]["f1"] > 0.8


def test_predict_writes_a_tree_a_line(run: Run, files: Path, tmp_path: Path) -> None:
    gold = read_brackets(files / "test.mrg").trees
    flat = "".join(f"({' '.join(map(str, tree.leaves()))})\n" for tree in gold)
    (tmp_path / "flat").write_text(flat, "ascii")
    code, out, _ = run("predict", files / "phrases", tmp_path / "flat")
    assert code == 0
    trees = [parse_tree(line) for line in out.splitlines()]
    assert [tree.words for tree in trees] == [tree.words for tree in gold]
    assert sum(a == b for a, b in zip(trees, gold, strict=True)) > 10
    (tmp_path / "empty").write_text("", "ascii")
    assert run("predict", files / "phrases", tmp_path / "empty") == (0, "", "")


def test_tags_are_scored_where_they_are_predicted(run: Run, files: Path) -> None:
    gold = read_brackets(files / "test.mrg").trees
    lines = run("predict", files / "hinge", files / "test.mrg")[1].splitlines()
    found = [tag for line in lines for tag in parse_tree(line).tags]
    right = [
        a == b for a, b in zip(found, (tag for tree in gold for tag in tree.tags), strict=True)
    ]
    metrics = {
        name: one_object(run("evaluate", files / name, files / "test.mrg", "--json")[1])["metrics"]
        for name in ("hinge", "phrases")
    }
    assert metrics["hinge"]["tag_accuracy"] == pytest.approx(sum(right) / len(right))
    assert "tag_accuracy" not in metrics["phrases"]


def test_marginals_follow_the_labels(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mrg"
    assert run("predict", files / "phrases", files / "test.mrg", "--output", out)[0] == 0
    plain = read_brackets(out).trees
    code, text, _ = run("predict", files / "phrases", files / "test.mrg", "--marginals")
    assert code == 0
    odds = [float(p) for p in re.findall(r"\([A-Z]+=([0-9.]+) ", text)]
    assert len(odds) == sum(len(tree.brackets()) for tree in plain)
    assert max(odds) <= 1.0
    assert max(odds) > 0.9
    out.write_text(text, "ascii")
    assert read_brackets(out).trees == plain


def test_the_k_best(run: Run, files: Path) -> None:
    code, out, _ = run("predict", files / "phrases", files / "train.mrg", "--k", 3, "--marginals")
    assert code == 0
    heads = re.findall(r"^# k=(\d) score=\S+ probability=(\S+)\n\(S ", out, flags=re.M)
    assert len(heads) == out.count("\n") / 2
    assert {rank for rank, _ in heads} == {"1", "2", "3"}
    code, out, _ = run("predict", files / "hinge", files / "train.mrg", "--k", 2, "--json")
    some = one_object(out)["candidates"][0]
    assert some[0]["score"] >= some[1]["score"]
    assert some[0]["probability"] is None
    assert some[0]["tree"].startswith("(S ")


def test_predictions_in_json(run: Run, files: Path) -> None:
    _, out, _ = run("predict", files / "phrases", files / "test.mrg", "--json", "--marginals")
    record = one_object(out)
    assert record["labels"] == ["NP", "PP", "S", "SBAR", "VP"]
    assert record["task"] == "brackets"
    assert len(record["predictions"]) == len(record["marginals"]) == record["n_examples"] == 15
    first = parse_tree(record["predictions"][0])
    n = len(first.words)
    assert record["marginals"][0][0][n][2] == pytest.approx(1.0)


def test_evaluate(run: Run, files: Path) -> None:
    code, out, _ = run("evaluate", files / "phrases", files / "test.mrg")
    assert code == 0
    for name in ("precision", "recall", "F1", "complete match", "crossing", "no crossing"):
        assert name in out
    _, out, _ = run("evaluate", files / "phrases", files / "test.mrg", "--json")
    plain = one_object(out)["metrics"]
    assert plain["f1"] > 0.85
    assert plain["sentences"] == 15
    assert set(plain["by_label"]) <= {"NP", "PP", "S", "SBAR", "VP"}
    assert "tag_accuracy" not in plain
    _, out, _ = run("evaluate", files / "hinge", files / "test.mrg", "--json", "--evalb")
    record = one_object(out)["metrics"]
    assert record["tag_accuracy"] > 0.8
    assert "tags right" in run("evaluate", files / "hinge", files / "test.mrg")[1]


def test_sentences_without_a_derivation(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("((IN of) (IN of))\n", "ascii")
    code, out, err = run("predict", files / "phrases", tmp_path / "odd", "--marginals")
    assert code == 0
    assert out == "(S=0.000000 (IN of) (IN of))\n"
    assert "1 of 1 sentences have no derivation" in err


def test_resume(run: Run, files: Path, tmp_path: Path) -> None:
    train = ["train", "--task", "brackets", files / "train.mrg", "--model", tmp_path / "model"]
    code, out, _ = run(*train, "--resume", files / "phrases", "--json", *FEW)
    assert code == 0
    assert one_object(out)["converged"]


def test_what_is_wrong_is_said(run: Run, files: Path, tmp_path: Path) -> None:
    train = ["train", "--task", "brackets", "--model", tmp_path / "model", "--quiet"]
    code, _, err = run(*train, files / "train.mrg", "--max-length", "1")
    assert code == 1
    assert "train.mrg: there are no trees to train on; none has 1 words" in sentence(err)
    (tmp_path / "flat").write_text("((DT the) (NN dog))\n", "ascii")
    code, _, err = run("evaluate", files / "phrases", tmp_path / "flat")
    assert code == 1
    assert "no labels" in sentence(err)
    code, _, err = run("predict", files / "hinge", files / "test.mrg", "--marginals")
    assert code == 1
    assert "not probabilities" in sentence(err)
    code, _, err = run(
        "train", "--task", "classify", files / "train.mrg", "--model", tmp_path / "m"
    )
    assert code == 1
    assert "--task brackets" in sentence(err)
    assert BracketTask().resemblance(["word NN B-NP"]) == 0


def test_info_needs_no_compiler(files: Path) -> None:
    check = (
        "import sys; from partwise.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'numba', 'scipy', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    command = [sys.executable, "-c", check, "info", str(files / "phrases")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "grammar" in done.stdout
    assert "brackets" in done.stdout
