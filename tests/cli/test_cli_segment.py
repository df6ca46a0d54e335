from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.commands import Run, one_object, runner, sentence

from partwise import SegmentTagger, load_model, save_model
from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.formats.columns import read_columns
from partwise.metrics.labels import span_scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segment")
    write(tagged_text(120, seed=1), folder / "train.txt")
    write(tagged_text(60, seed=2), folder / "test.txt")
    train = ["train", "--task", "segment", f"{folder}/train.txt", "--model", f"{folder}/m"]
    assert main([*train, "--segment-features", "text", "--tol", "1e-6", "--quiet"]) == 0
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def test_train_predict_evaluate(run: Run, folder: Path, tmp_path: Path) -> None:
    model = load_model(folder / "m")
    assert model.certificate.relative_gap <= 1e-6
    assert model.meta == {"scheme": "IOB2", "outside": "O"}
    assert run("predict", folder / "m", folder / "test.txt", "--output", tmp_path / "out")[0] == 0
    written = read_columns(tmp_path / "out", n_columns=4)
    gold = read_columns(folder / "test.txt")
    assert written.fields[:2] == gold.fields
    assert gold.labels is not None
    assert written.labels is not None
    scores = span_scores(gold.split(gold.labels), written.split(written.labels), "IOB2")
    code, out, _ = run("evaluate", folder / "m", folder / "test.txt", "--json")
    assert code == 0
    metrics = one_object(out)["metrics"]
    assert metrics["f1"] == pytest.approx(scores.overall.f1)
    assert metrics["scheme"] == "conlleval"
    assert metrics["f1"] > 0.7
    code, out, _ = run("evaluate", folder / "m", folder / "test.txt", "--scheme", "IOB2")
    assert "spans, by IOB2 rules" in out
    code, out, _ = run("info", folder / "m")
    assert code == 0
    assert "semi-markov, segments features" in out
    assert "files of 2 input columns" in out


def test_marginals_and_k_best(run: Run, folder: Path, tmp_path: Path) -> None:
    text = (folder / "test.txt").read_text("utf-8").split("\n\n")[0] + "\n"
    (tmp_path / "one").write_text(text, "utf-8")
    predict = ("predict", folder / "m", tmp_path / "one")
    code, plain, _ = run(*predict, "--marginals")
    assert code == 0
    tags = [line.split() for line in plain.splitlines() if line]
    assert all(0.0 < float(line[-1]) <= 1.0 for line in tags)
    # A segment has one probability.
    for before, line in pairwise(tags):
        assert line[-2][0] != "I" or line[-1] == before[-1]
    code, out, _ = run(*predict, "--marginals", "--json")
    found = one_object(out)
    assert found["predictions"] == [[line[-2] for line in tags]]
    (segments,), (chances,) = found["segments"], found["probabilities"]
    assert len(segments) == len(chances)
    assert segments[-1][1] == len(tags)
    assert len(found["marginals"][0][0]) == len(found["labels"])
    code, out, _ = run(*predict, "--k", 3, "--marginals")
    blocks = out.strip().split("\n\n")
    assert len(blocks) == 3
    assert all(block.startswith(f"# k={n} score=") for n, block in enumerate(blocks, 1))
    assert [line.split()[-1] for line in blocks[0].splitlines()[1:]] == [x[-2] for x in tags]
    code, out, _ = run(*predict, "--k", 2, "--json")
    assert one_object(out)["candidates"][0][0]["labels"] == [line[-2] for line in tags]
    (tmp_path / "empty").write_text("", "ascii")
    for more in ((), ("--marginals",), ("--k", 2)):
        assert run("predict", folder / "m", tmp_path / "empty", *more)[:2] == (0, "")


def test_command_estimator_and_model_agree(run: Run, folder: Path, tmp_path: Path) -> None:
    model = load_model(folder / "m")
    tagger = SegmentTagger.from_model(model)
    wanted = {"tol": 1e-6, "segment_features": "text", "scheme": "auto", "outside": "O"}
    assert {name: getattr(tagger, name) for name in wanted} == wanted
    columns = read_columns(folder / "test.txt")
    rows = list(zip(*columns.fields, strict=True))
    ends = columns.lengths.cumsum().tolist()
    tokens = [rows[a:b] for a, b in pairwise([0, *ends])]
    code, out, _ = run("predict", folder / "m", folder / "test.txt", "--json", "--marginals")
    assert code == 0
    found = one_object(out)
    best = found["predictions"]
    # Any form of the tokens: a file, or sequences of the columns of a file.
    for given in (columns, tokens):
        assert model.predict(given) == tagger.predict(given) == best
        for tables in (model.marginals(given), tagger.predict_marginals(given)):
            assert [table.tolist() for table in tables] == found["marginals"]
    by_segment = tagger.predict_marginals(tokens, segments=True)
    for segments, chances, table in zip(
        found["segments"], found["probabilities"], by_segment, strict=True
    ):
        index = model.label_index
        assert chances == [table[a, b - a - 1, index[label]] for a, b, label in segments]
    code, out, _ = run("predict", folder / "m", folder / "test.txt", "--json", "--k", 2)
    rankings = one_object(out)["candidates"]
    pairs = [[(one["labels"], one["score"]) for one in ranking] for ranking in rankings]
    assert model.predict(columns, k=2) == tagger.predict(tokens, k=2) == pairs
    np.testing.assert_array_equal(
        model.log_proba(columns, labels=best), tagger.log_proba(tokens, best)
    )
    code, out, _ = run("evaluate", folder / "m", folder / "test.txt", "--json", "--scheme", "IOB2")
    assert columns.labels is not None
    gold = columns.split(columns.labels)
    assert tagger.score(tokens, gold) == pytest.approx(one_object(out)["metrics"]["f1"])


def test_resume_and_max_length(run: Run, folder: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "segment", folder / "train.txt", "--model", tmp_path / "m")
    more = ("--segment-features", "text", "--max-length", 9, "--start-end", "--json", "--quiet")
    code, out, _ = run(*train, *more, "--resume", folder / "m", "--dev", folder / "test.txt")
    assert code == 0
    assert one_object(out)["metrics"]["f1"] > 0.7
    assert load_model(tmp_path / "m").structure.constants()["max_length"] == 9
    code, _, err = run(*train, "--max-length", 2, "--quiet")
    assert code == 1
    assert f"{folder / 'train.txt'}:" in sentence(err)
    assert "max_length is 2" in err


def test_other_schemes_are_kept(run: Run, tmp_path: Path) -> None:
    text = "a I-X\nb B-X\nc I-X\nd O\n\nb I-X\nc I-X\nd O\na I-Y\n"
    (tmp_path / "train").write_text(text, "ascii")
    train = ("train", "--task", "segment", tmp_path / "train", "--model", tmp_path / "m", "--quiet")
    code, _, err = run(*train)
    assert code == 1
    assert f"{tmp_path / 'train'}:1: the tag 'I-X' between the start" in sentence(err)
    assert run(*train, "--tags", "IOB1", "--segment-features", "text", "--l2", 0.01)[0] == 0
    code, out, _ = run("predict", tmp_path / "m", tmp_path / "train")
    assert [line.split()[-1] for line in out.splitlines() if line] == [
        line.split()[-1] for line in text.splitlines() if line
    ]


def test_files_and_models_of_other_kinds(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "pos").write_text("a DT\nb NN\n", "ascii")
    train = ("train", "--task", "segment", tmp_path / "pos", "--model", tmp_path / "m", "--quiet")
    code, _, err = run(*train)
    assert code == 1
    assert f"{tmp_path / 'pos'}:1: the tag 'DT' is none of the scheme IOB2" in sentence(err)
    assert "looks like" not in err
    code, _, err = run("evaluate", folder / "m", tmp_path / "pos")
    assert code == 1
    assert "no labels" in sentence(err)
    (tmp_path / "svm").write_text("1 1:1\n2 2:1\n", "ascii")
    code, _, err = run(*train[:3], tmp_path / "svm", *train[4:])
    assert code == 1
    assert "it looks like a file for --task classify" in sentence(err)
    X, y = [["a", "b"], ["b"]], [["B-X", "I-X"], ["O"]]
    for tagger, why in (
        (SegmentTagger(segment_features=lambda *_: ["x"]).fit(X, y), "a function for features"),
        (SegmentTagger().fit(X, [[(0, 2, "X")], []]), "without tags"),
        (SegmentTagger().fit(X, y), "from Python"),
    ):
        save_model(tagger, tmp_path / "python")
        code, _, err = run("predict", tmp_path / "python", tmp_path / "pos")
        assert code == 1
        assert why in sentence(err)
        assert "from Python, with partwise.load_model" in err


def test_tag_of_order_2(run: Run, folder: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", folder / "train.txt", "--model", tmp_path / "m", "--quiet")
    code, out, _ = run(*train, "--order", 2, "--start-end", "--json", "--dev", folder / "test.txt")
    assert code == 0
    assert one_object(out)["metrics"]["f1"] > 0.7
    assert load_model(tmp_path / "m").structure.name == "second-order-chain"
    assert run("predict", tmp_path / "m", folder / "test.txt", "--k", 2)[0] == 0
    assert run(*train, "--order", 3)[0] == 2
