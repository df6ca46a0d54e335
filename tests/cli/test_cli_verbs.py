from __future__ import annotations

import gzip
import io
import math
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import SVMLIGHT, Run, one_object, process, runner, sentence, trained

from partwise.cli.parser import build_parser
from partwise.datasets import tagged_text, write


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("cli"))


# Predict


def test_predict_adds_the_label(run: Run, files: Path, tmp_path: Path) -> None:
    given = (files / "test.txt").read_text("utf-8").splitlines()
    bare = tmp_path / "bare.txt"
    bare.write_text("\n".join(line.rpartition(" ")[0] for line in given) + "\n", "utf-8")
    code, out, err = run("predict", files / "tag", files / "test.txt")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.rpartition(" ")[0] for line in lines] == given
    _, out, _ = run("predict", files / "tag", bare)
    assert [line.split()[-1:] for line in out.splitlines()] == [line.split()[-1:] for line in lines]


def test_predict_marginals_are_probabilities(run: Run, files: Path) -> None:
    code, out, _ = run("predict", files / "tag", files / "test.txt", "--marginals")
    assert code == 0
    values = [float(line.split()[-1]) for line in out.splitlines() if line]
    assert all(0.0 <= value <= 1.0 for value in values)
    assert sum(values) / len(values) > 0.7


def test_predict_k_best(run: Run, files: Path) -> None:
    predict = ("predict", files / "tag", files / "test.txt")
    _, best, _ = run(*predict)
    code, out, _ = run(*predict, "--k", 3, "--marginals")
    assert code == 0
    blocks = [block.splitlines() for block in out.strip().split("\n\n")]
    assert [block[0].split()[1] for block in blocks] == ["k=1", "k=2", "k=3"] * 20
    first = ["\n".join(block[1:]) for block in blocks[::3]]
    assert first == best.strip().split("\n\n")
    scores = [float(block[0].split()[2].removeprefix("score=")) for block in blocks]
    odds = [float(block[0].split()[3].removeprefix("probability=")) for block in blocks]
    for at in range(0, 60, 3):
        assert scores[at] >= scores[at + 1] >= scores[at + 2]
        assert sum(odds[at : at + 3]) <= 1.0 + 1e-5
        ratio = math.log(odds[at] / odds[at + 1])
        assert ratio == pytest.approx(scores[at] - scores[at + 1], abs=1e-4)


def test_predict_classes(run: Run, files: Path) -> None:
    predict = ("predict", files / "classify", files / "train.svm")
    code, out, _ = run(*predict)
    gold = [line.split()[0] for line in SVMLIGHT.splitlines()]
    assert (code, out.split()) == (0, gold)
    _, out, _ = run(*predict, "--marginals")
    header, *rows = (line.split() for line in out.splitlines())
    assert header == ["labels", "1", "2", "3"]
    for row, label in zip(rows, gold, strict=True):
        assert row[0] == label
        assert sum(map(float, row[1:])) == pytest.approx(1.0, abs=1e-4)
    _, out, _ = run(*predict, "--k", 2)
    assert all(len(line.split()) == 2 for line in out.splitlines())
    assert [line.partition(":")[0] for line in out.splitlines()] == gold


def test_predict_json(run: Run, files: Path, tmp_path: Path) -> None:
    predict = ("predict", files / "tag", files / "test.txt", "--json")
    record = one_object(run(*predict)[1])
    assert record["output"] is None
    assert record["n_examples"] == len(record["predictions"]) == 20
    assert "B-NP" in record["labels"]
    record = one_object(run(*predict, "--output", tmp_path / "out.txt")[1])
    assert record["output"] == str(tmp_path / "out.txt")
    assert record["n_positions"] == sum(map(bool, (tmp_path / "out.txt").read_text().splitlines()))
    record = one_object(run(*predict, "--k", 2)[1])
    assert len(record["candidates"]) == 20
    assert record["candidates"][0][0]["probability"] is None
    record = one_object(run(*predict, "--marginals")[1])
    assert sum(record["marginals"][0][0]) == pytest.approx(1.0)


@pytest.mark.parametrize("options", [[], ["--k", "2"], ["--marginals"], ["--json"]])
@pytest.mark.parametrize("task", ["tag", "classify"])
def test_predicting_nothing_is_fine(
    run: Run, files: Path, tmp_path: Path, task: str, options: list[str]
) -> None:
    (tmp_path / "empty").write_text("", "ascii")
    assert run("predict", files / task, tmp_path / "empty", *options)[0] == 0


def test_predict_refuses_other_columns(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("the\ndog\n", "ascii")
    code, out, err = run("predict", files / "tag", tmp_path / "one", "--output", tmp_path / "out")
    assert (code, out) == (1, "")
    assert "the model takes 2" in sentence(err)
    assert not (tmp_path / "out").exists()


def test_features_never_seen_are_dropped(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("1:1 900:3\n", "ascii")
    assert run("predict", files / "classify", tmp_path / "wide")[:2] == (0, "1\n")


def test_the_hinge_has_no_probabilities(run: Run, files: Path, tmp_path: Path) -> None:
    hinge = tmp_path / "hinge"
    train = ("train", "--task", "classify", files / "train.svm", "--model", hinge)
    assert run(*train, "--loss", "hinge", "--tol", "0.1")[0] in (0, 3)
    assert run("predict", hinge, files / "train.svm")[0] == 0
    for options in (["--marginals"], ["--k", "2", "--marginals"]):
        code, out, err = run("predict", hinge, files / "train.svm", *options)
        assert (code, out) == (1, "")
        assert "probabilities" in sentence(err)


# Evaluate and info


def test_evaluate_spans(run: Run, files: Path) -> None:
    evaluate = ("evaluate", files / "tag", files / "test.txt")
    code, out, err = run(*evaluate)
    assert (code, err) == (0, "")
    assert "token accuracy" in out
    record = one_object(run(*evaluate, "--json")[1])
    metrics = record["metrics"]
    table = out.partition("spans, by conlleval rules, in per cent:\n")[2]
    assert all(name in table for name in metrics["by_type"])
    assert f"{100 * metrics['f1']:.2f}" in table
    assert metrics["scheme"] == "conlleval"
    assert 0.3 < metrics["f1"] < metrics["accuracy"] < 1.0
    assert metrics["sequence_accuracy"] < 1.0
    assert metrics["by_type"]["NP"]["support"] > 10
    strict = one_object(run(*evaluate, "--json", "--scheme", "IOB2")[1])["metrics"]
    assert strict["scheme"] == "IOB2"
    assert strict["f1"] <= metrics["f1"] + 1e-12
    code, _, err = run(*evaluate, "--scheme", "IOBES", "--jobs", 2)
    assert code in (0, 1)


def test_evaluate_classes(run: Run, files: Path) -> None:
    record = one_object(run("evaluate", files / "classify", files / "train.svm", "--json")[1])
    assert record["metrics"]["accuracy"] == 1.0
    assert record["metrics"]["by_label"]["2"]["f1"] == 1.0
    assert "f1" not in record["metrics"]


def test_unknown_labels_count_as_errors(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").write_text("the DT B-ODD\ndog NN I-ODD\n", "ascii")
    code, out, err = run("evaluate", files / "tag", tmp_path / "odd")
    assert code == 0
    assert "0.0000% of 2 tokens" in out
    assert "B-ODD, I-ODD" in err
    # No more than five are named.
    for names, shown in (("VWXYZ", "(V, W, X, Y, Z)"), ("UVWXYZ", "(U, V, W, X, Y, ...)")):
        (tmp_path / "odd").write_text("".join(f"the DT {name}\n" for name in names), "ascii")
        assert shown in run("evaluate", files / "tag", tmp_path / "odd")[2]
    (tmp_path / "odd.svm").write_text("1 1:1\n9 2:1\n", "ascii")
    record = one_object(run("evaluate", files / "classify", tmp_path / "odd.svm", "--json")[1])
    assert record["metrics"]["accuracy"] == 0.5


def test_evaluate_needs_labels(run: Run, files: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").write_text("the DT\n", "ascii")
    (tmp_path / "bare.svm").write_text("1:1\n", "ascii")
    (tmp_path / "empty").write_text("", "ascii")
    for model, name in (("tag", "bare"), ("classify", "bare.svm"), ("tag", "empty")):
        code, _, err = run("evaluate", files / model, tmp_path / name)
        assert code == 1
        assert str(tmp_path / name) in sentence(err)


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_info(run: Run, files: Path, task: str) -> None:
    code, out, err = run("info", files / task)
    assert (code, err) == (0, "")
    assert task in out
    assert "weights" in out
    record = one_object(run("info", files / task, "--json")[1])
    assert record["task"] == task
    assert record["n_weights"] > 0
    assert record["converged"] is True
    assert record["relative_gap"] <= record["tol"]


# Streams


def test_gzip_in_and_out(run: Run, files: Path, tmp_path: Path) -> None:
    packed, out = tmp_path / "test.gz", tmp_path / "out.gz"
    packed.write_bytes(gzip.compress((files / "test.txt").read_bytes()))
    assert run("predict", files / "tag", packed, "--output", out)[0] == 0
    _, plain, _ = run("predict", files / "tag", files / "test.txt")
    assert gzip.decompress(out.read_bytes()).decode() == plain


def test_stdin(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (files / "test.txt").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), "utf-8"))
    record = one_object(run("evaluate", files / "tag", "-", "--json")[1])
    assert record["input"] == "<stdin>"
    assert record["n_examples"] == 20


def test_a_reader_that_goes_away_is_no_error(files: Path, tmp_path: Path) -> None:
    write(tagged_text(800, seed=3), tmp_path / "long.txt")
    with process("predict", files / "tag", tmp_path / "long.txt", "--quiet") as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == ""
    assert child.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout there")
def test_a_pipe_has_no_name_of_its_own(files: Path) -> None:
    given = [files / "tag", files / "test.txt", "--output", "/dev/stdout"]
    command = [sys.executable, "-m", "partwise", "predict", *map(str, given)]
    made = subprocess.run(command, capture_output=True, check=True)
    assert made.stdout.count(b"\n") > 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full there")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_is_one_sentence(files: Path, options: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "partwise", "info", str(files / "tag"), *options]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "space" in sentence(done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a child there")
def test_one_interrupt_leaves_a_certified_model(run: Run, tmp_path: Path) -> None:
    write(tagged_text(300, seed=1), tmp_path / "train.txt")
    train = ["train", "--task", "tag", tmp_path / "train.txt", "--model", tmp_path / "m", "--json"]
    slow = ("--solver", "online-eg", "--l2", "0.001", "--tol", "1e-300", "--max-passes", "inf")
    with process(*train, *slow) as child:
        assert child.stderr is not None
        # The first row of progress: the fit is running. A cold cache has a word before it.
        assert any(line.split()[0] == "passes" for line in child.stderr)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert child.returncode == 3
    record = one_object(out)
    assert record["converged"] is False
    assert record["gap"] > 0
    assert "interrupted" in record["verdict"]
    assert "Traceback" not in err
    assert run("evaluate", tmp_path / "m", tmp_path / "train.txt")[0] == 0
    resumed = (*train, "--resume", tmp_path / "m", "--max-passes", "2")
    code, out, _ = run(*resumed)
    assert code in (0, 3)
    assert one_object(out)["n_weights"] == record["n_weights"]


def test_an_interrupt_before_training_writes_nothing(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("partwise.tasks.sequences.tag_task.TagTask.read", interrupted)
    train = ("train", "--task", "tag", files / "train.txt", "--model", tmp_path / "m")
    code, out, err = run(*train)
    assert (code, out) == (130, "")
    assert "interrupted" in sentence(err)
    assert not list(tmp_path.iterdir())


# Demo


def test_demo(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwise.cli.demo._N_TRAIN", 60)
    monkeypatch.setattr("partwise.cli.demo._N_TEST", 20)
    code, out, _ = run("demo", "--output", tmp_path / "new" / "demo")
    assert code == 0
    commands = [line[2:] for line in out.splitlines() if line.startswith("$ ")]
    assert len(commands) == 6
    for command in commands:
        build_parser().parse_args(command.split()[1:])
    assert out.count("certified: no weights") == 2
    names = {item.name for item in (tmp_path / "new" / "demo").iterdir()}
    assert names == {
        "train.txt", "test.txt", "tagger.model", "tagger.png",
        "digits-train.svm", "digits-test.svm", "digits.model", "tagger.html", "digits.html",
    }  # fmt: skip
    models = [str(tmp_path / "new" / "demo" / name) for name in ("tagger.model", "digits.model")]
    assert out.rstrip().endswith(shlex.join(["partwise", "serve", *models]))
    pages = [str(tmp_path / "new" / "demo" / name) for name in ("tagger.html", "digits.html")]
    assert f"Open {pages[0]} and {pages[1]} in a browser" in out
    record = one_object(run("demo", "--output", tmp_path / "new" / "demo", "--json", "-q")[1])
    assert [step["task"] for step in record["steps"]] == ["tag"] * 3 + ["classify"] * 3
    assert record["reports"] == pages
    assert record["steps"][4]["metrics"]["accuracy"] > 0.85


def test_a_demo_folder_that_cannot_be(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "ascii")
    code, _, err = run("demo", "--output", tmp_path / "file")
    assert code == 1
    assert "cannot be made" in sentence(err)
