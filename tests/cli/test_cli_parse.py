"""The task ``parse`` on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence
from support.grammar_of_arcs import crossing, treebank

from partwise.cli import main
from partwise.formats.conll import Sentence, read_conll, write_conll
from partwise.tasks.dependency.task import ParseTask
from partwise.tasks.dependency.trainer import NONPROJECTIVE

FEW = ["--l2", "0.1", "--tol", "1e-3", "--quiet"]


def with_multiword(sentences: list[Sentence]) -> str:
    """Write CoNLL-U: comments, a multiword token, an empty node, MISC."""
    blocks = []
    for number, one in enumerate(sentences):
        rows = [row.split("\t") for row in one.rows if row.strip()]
        for fields in rows:
            fields[9] = "SpaceAfter=No\n" if fields[0] == "2" else "_\n"
        lines = ["\t".join(fields) for fields in rows]
        span = "\t".join(["1-2", "thedog", *"________"])
        empty = "\t".join(["2.1", "was", *"________"])
        lines = [f"# sent_id = {number}\n", span + "\n", *lines[:2], empty + "\n", *lines[2:]]
        blocks.append("".join(lines) + "\n")
    return "".join(blocks)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parse")
    (folder / "train.conllu").write_text(with_multiword(treebank(60)), "utf-8")
    (folder / "test.conllu").write_text(with_multiword(treebank(20, seed=1)), "utf-8")
    write_conll(folder / "test.conll", treebank(20, seed=1))
    three = "".join(
        "".join(f"{f}\t{p}\t{h}\n" for f, p, h in zip(s.form, s.pos, s.head, strict=True)) + "\n"
        for s in treebank(20, seed=1)
    )
    (folder / "test.txt").write_text(three, "utf-8")
    train = ["train", "--task", "parse", f"{folder}/train.conllu", *FEW]
    assert main([*train, "--model", f"{folder}/heads"]) == 0
    assert main([*train, "--model", f"{folder}/relations", "--labelled"]) == 0
    hinge = [*train, "--model", f"{folder}/hinge", "--loss", "hinge", "--trees", "any"]
    assert main([*hinge, "--tol", "0.05", "--l2", "30"]) == 0
    return folder


def test_train_says_all_in_json(run: Run, files: Path, tmp_path: Path) -> None:
    code, out, _ = run(
        "train", "--task", "parse", files / "train.conllu", "--model", tmp_path / "model",
        "--dev", files / "test.conllu", "--json", *FEW,
    )  # fmt: skip
    record = one_object(out)
    assert code == 0
    assert record["n_examples"] == 60
    assert record["n_lifted"] == record["n_skipped"] == 0
    assert record["metrics"]["uas"] > 0.95
    assert "las" not in record["metrics"]


@pytest.mark.parametrize("policy", NONPROJECTIVE)
def test_trees_that_are_not_projective(run: Run, tmp_path: Path, policy: str) -> None:
    path = tmp_path / "train.conll"
    write_conll(path, [*treebank(10), crossing()])
    train = ["train", "--task", "parse", path, "--model", tmp_path / "model", "--l2", "1"]
    code, out, err = run(*train, "--json", "--nonprojective", policy)
    if policy == "raise":
        assert code == 1
        assert "cross; lift or skip" in err
        assert re.search(r"train.conll:\d+: the arcs", err)
        return
    record = one_object(out)
    assert code == 0
    assert (record["n_lifted"], record["n_skipped"]) == ((1, 0) if policy == "lift" else (0, 1))
    assert record["n_examples"] == (11 if policy == "lift" else 10)
    assert "1 of 11 trees are not projective" in err


def test_predict_keeps_all_else(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    blank = (files / "test.conllu").read_text("utf-8")
    blank = re.sub(r"^(\d+(?:\t[^\t\n]*){5}\t)\d+\t[^\t\n]+", r"\1_\t_", blank, flags=re.M)
    (tmp_path / "blank.conllu").write_text(blank, "utf-8")
    assert run("predict", files / "relations", tmp_path / "blank.conllu", "--output", out)[0] == 0
    before = blank.split("\n")
    after = out.read_text("utf-8").split("\n")
    assert len(before) == len(after)
    for a, b in zip(before, after, strict=True):
        if re.match(r"\d+\t", a):
            assert a.split("\t")[:6] + a.split("\t")[8:] == b.split("\t")[:6] + b.split("\t")[8:]
            assert b.split("\t")[6].isdigit()
        else:
            assert a == b
    gold = read_conll(files / "test.conllu")
    found = read_conll(out)
    heads = [
        h == g
        for s, t in zip(gold, found, strict=True)
        for g, h in zip(s.head, t.head, strict=True)
    ]
    assert sum(heads) / len(heads) > 0.95


def test_heads_alone_leave_relations(run: Run, files: Path) -> None:
    code, out, _ = run("predict", files / "heads", files / "test.conll")
    assert code == 0
    relations = [line.split("\t")[7] for line in out.splitlines() if line]
    assert relations == [r for s in treebank(20, seed=1) for r in s.deprel]


def test_three_columns(run: Run, files: Path) -> None:
    code, out, _ = run("predict", files / "heads", files / "test.txt", "--marginals")
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines() if line]
    assert {len(fields) for fields in lines} == {4}
    assert all(0 <= float(fields[3]) <= 1 for fields in lines)
    code, _, err = run("predict", files / "relations", files / "test.txt")
    assert code == 1
    assert "no place for relations" in sentence(err)


def test_marginals_go_to_misc(run: Run, files: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "out.conllu", tmp_path / "again.conllu"
    predict = ["predict", files / "relations", "--marginals", "--output"]
    assert run(*predict, out, files / "test.conllu")[0] == 0
    once = out.read_text("utf-8")
    misc = [line.split("\t")[9] for line in once.splitlines() if re.match(r"\d+\t", line)]
    number = r"(0\.\d{6}|1\.000000)"
    form = re.compile(rf"(SpaceAfter=No\|)?ArcProb={number}\|LabelProb={number}")
    found = [form.fullmatch(value) for value in misc]
    assert all(found)
    assert any(one and one[1] for one in found)
    assert all(one and float(one[2]) >= float(one[3]) for one in found)
    # Those of an earlier run are replaced.
    assert run(*predict, again, out)[0] == 0
    assert again.read_text("utf-8") == once


def test_marginals_leave_phead_alone(run: Run, files: Path, tmp_path: Path) -> None:
    phead = tmp_path / "test.conll"
    text = (files / "test.conll").read_text("utf-8")
    phead.write_text(re.sub(r"\t_\t_$", "\t3\tsubj", text, flags=re.M), "utf-8")
    code, out, _ = run("predict", files / "heads", phead, "--marginals")
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines() if line]
    assert {tuple(fields[8:10]) for fields in lines} == {("3", "subj")}
    assert {len(fields) for fields in lines} == {11}


def test_the_k_best(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    padded = tmp_path / "padded.conllu"
    padded.write_text("\n\n" + (files / "test.conllu").read_text("utf-8"), "utf-8")
    predict = ["predict", files / "heads", padded, "--k", "3", "--marginals"]
    assert run(*predict, "--output", out)[0] == 0
    ranked = read_conll(out)
    assert len(ranked) == 60
    heading = re.compile(r"# k=[123] score=-?\d+\.\d+ probability=\S+")
    assert all(heading.fullmatch(one.comments[0]) for one in ranked)
    assert all(one.comments[1].startswith("# sent_id") for one in ranked)
    record = one_object(run(*predict, "--json")[1])
    assert [one["tree"] for some in record["candidates"] for one in some] == [
        one.head for one in ranked
    ]
    for some in record["candidates"]:
        odds = [one["probability"] for one in some]
        assert odds == sorted(odds, reverse=True)
        assert sum(odds) <= 1 + 1e-9


def test_predictions_in_json(run: Run, files: Path) -> None:
    code, out, _ = run("predict", files / "relations", files / "test.conllu", "--json")
    record = one_object(out)
    assert code == 0
    assert record["task"] == "parse"
    assert record["n_examples"] == 20
    tree = record["predictions"][0]
    assert all(isinstance(head, int) and name in record["labels"] for head, name in tree)
    out = run("predict", files / "heads", files / "test.conllu", "--json", "--marginals")[1]
    record = one_object(out)
    for heads, arcs in zip(record["predictions"], record["marginals"], strict=True):
        assert all(sum(row) == pytest.approx(1.0) for row in arcs)
        assert len(arcs) == len(heads) == len(arcs[0]) - 1


def test_no_sentences_no_predictions(run: Run, files: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("", "utf-8")
    for more in ([], ["--marginals"], ["--k", "2"]):
        assert run("predict", files / "heads", empty, *more)[:2] == (0, "")
    code, _, err = run("evaluate", files / "heads", empty)
    assert code == 1
    assert "no words" in sentence(err)


def test_evaluate(run: Run, files: Path) -> None:
    code, out, _ = run("evaluate", files / "relations", files / "test.conllu")
    assert code == 0
    assert "head right (UAS)" in out
    assert "head and relation right (LAS)" in out
    words = {}
    for rule in ("all", "none", "conllx", "F,JJ"):
        arguments = ["evaluate", files / "relations", files / "test.conllu", "--json"]
        metrics = one_object(run(*arguments, "--punctuation", rule)[1])["metrics"]
        assert 0.9 < metrics["las"] <= metrics["uas"] <= 1
        assert 0 < metrics["complete"] <= metrics["complete_heads"] <= 1
        assert metrics["label_accuracy"] > 0.9
        assert metrics["punctuation"] == rule
        words[rule] = metrics["words"]
    tokens = [tag for s in treebank(20, seed=1) for tag in s.pos]
    assert words["all"] == len(tokens)
    assert words["none"] == words["conllx"] == len(tokens) - 20
    assert words["F,JJ"] == len(tokens) - 20 - tokens.count("JJ")
    out = run("evaluate", files / "hinge", files / "test.conllu")[1]
    assert "UAS" in out
    assert "LAS" not in out


@pytest.mark.parametrize("more", [[], ["--marginals"], ["--k", "2", "--marginals"]])
def test_unknown_words_are_noted_once(
    run: Run, files: Path, tmp_path: Path, more: list[str]
) -> None:
    path = tmp_path / "strange.conllu"
    path.write_text("1\tunseen\t_\t?\t?\t_\t0\troot\t_\t_\n\n", "utf-8")
    code, _, err = run("predict", files / "relations", path, *more)
    assert code == 0
    assert err.count(f"{path}: the model knows none of the 4 words, tags and other values") == 1
    assert err.count("knows none") == 1


def test_unknown_relations_are_noted(run: Run, files: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.conllu"
    path.write_text((files / "test.conllu").read_text("utf-8").replace("punct", "dot"), "utf-8")
    code, out, err = run("evaluate", files / "relations", path, "--json")
    assert code == 0
    assert "20 positions have labels that the model does not know (dot)" in err
    assert one_object(out)["metrics"]["uas"] > 0.95


def test_resume(run: Run, files: Path, tmp_path: Path) -> None:
    train = ["train", "--task", "parse", files / "test.conllu", "--model", tmp_path / "model"]
    code, out, _ = run(*train, "--resume", files / "heads", "--json", *FEW)
    assert code == 0
    assert one_object(out)["converged"]


def test_what_is_wrong_is_said(run: Run, files: Path, tmp_path: Path) -> None:
    roots = tmp_path / "roots.conll"
    two = Sentence.from_columns(["a", "b"], head=[0, 0], deprel=["_", "_"])
    write_conll(roots, [two, two])
    train = ["train", "--task", "parse", roots, "--model", tmp_path / "model", "--quiet"]
    code, _, err = run(*train)
    assert code == 1
    assert "roots.conll:2: words 1 and 2 both have head 0" in sentence(err)
    code, _, err = run(*train, "--several-roots", "--labelled")
    assert code == 1
    assert "no word has a relation" in sentence(err)
    assert run(*train, "--several-roots", "--hashing", "1024")[0] == 0
    code, _, err = run(*train, "--several-roots", "--hashing", "1000")
    assert code == 2
    assert "1000 is not a power of two" in err
    code, _, err = run("predict", files / "hinge", files / "test.conllu", "--marginals")
    assert code == 1
    assert "not probabilities" in sentence(err)


def test_the_wrong_task_is_named(run: Run, files: Path, tmp_path: Path) -> None:
    code, _, err = run(
        "train", "--task", "classify", files / "test.conllu", "--model", tmp_path / "model"
    )
    assert code == 1
    assert "--task parse" in sentence(err)
    assert ParseTask().resemblance(["# a comment"]) == 0
    assert ParseTask().resemblance(["a\tb\tc"]) == 0
    assert ParseTask().resemblance(["a\tb\t1"]) == 1


def test_info_needs_no_compiler(files: Path) -> None:
    check = (
        "import sys; from partwise.cli import main; code = main(sys.argv[1:]);"
        "heavy = {'numba', 'scipy', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    command = [sys.executable, "-c", check, "info", str(files / "relations")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "projective" in done.stdout
    assert "parse" in done.stdout
