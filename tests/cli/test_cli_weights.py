"""Weights of labels and of examples on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, one_object, runner
from support.extraction import extract_fit

from partwise import SequenceTagger, load_model
from partwise.datasets import tagged_text, write
from partwise.formats.columns import read_columns
from partwise.tasks.sequences.templates import template_for


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "train.txt"
    write(tagged_text(12, seed=1), file)
    return file


def _objective(call: Run, *arguments: object) -> float:
    code, out, err = call("train", *arguments, "--tol", "1e-9", "--json", "-q")
    assert code == 0, err
    return float(one_object(out)["objective"])


def test_a_weight_of_2_counts_a_sentence_twice(call: Run, text: Path, tmp_path: Path) -> None:
    sentences = text.read_text("utf-8").rstrip("\n").split("\n\n")
    twice = tmp_path / "twice.txt"
    twice.write_text("\n\n".join([*sentences, sentences[2]]) + "\n", "utf-8")
    weights = tmp_path / "weights"
    weights.write_text("\n".join("2" if k == 2 else "1" for k in range(len(sentences))), "utf-8")
    model = ("--task", "tag", "--model", tmp_path / "model")
    plain = _objective(call, *model, text)
    weighted = _objective(call, *model, text, "--sample-weight", weights)
    assert weighted == pytest.approx(_objective(call, *model, twice), rel=1e-8)
    assert weighted > plain * (1 + 1e-6)


def test_every_task_takes_weights_of_examples(call: Run, tmp_path: Path) -> None:
    files = {
        "classify": SVMLIGHT,
        "segment": "a B-X\nb I-X\nc O\n\na B-X\nc O\n",
        "parse": "a\tN\t2\nb\tV\t0\n\nb\tV\t0\na\tN\t1\n",
        "brackets": "(S (A a) (B b))\n(S (B b) (A a))\n",
    }
    for task, content in files.items():
        file, weights = tmp_path / task, tmp_path / "weights"
        file.write_text(content, "utf-8")
        n = len(content.splitlines()) if task in ("classify", "brackets") else 2
        common = ("--task", task, file, "--model", tmp_path / "model")
        plain = _objective(call, *common)
        weights.write_text("3\n" * n, "utf-8")
        more = _objective(call, *common, "--sample-weight", weights, "--l2", "3")
        assert more == pytest.approx(3 * plain, rel=1e-8), task


def test_folds_take_the_weights_of_their_examples(call: Run, text: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_text("2\n" * 12, "utf-8")
    path = ("path", "--task", "tag", text, "--folds", "2", "--steps", "2", "--json", "-q")
    code, plain, _ = call(*path, "--l2-max", "1", "--tol", "1e-7")
    assert code == 0
    heavy = call(*path, "--l2-max", "2", "--tol", "1e-7", "--sample-weight", weights)[1]
    for a, b in zip(one_object(plain)["path"], one_object(heavy)["path"], strict=True):
        assert 2 * a["l2"] == pytest.approx(b["l2"])
        assert a["score"] == b["score"]


def test_weights_of_labels_are_those_of_the_estimator(
    call: Run, text: Path, tmp_path: Path
) -> None:
    found = _objective(
        call, "--task", "tag", text, "--model", tmp_path / "m", "--class-weight", "B-NP=3,O=0.5"
    )
    columns = read_columns(text)
    rows, _ = extract_fit(columns, template_for(2))
    tagger = SequenceTagger(class_weight={"B-NP": 3.0, "O": 0.5}, tol=1e-9)
    tagger.fit(_dense(rows), columns.labels, lengths=columns.lengths)
    assert found == pytest.approx(tagger.certificate_.primal, rel=1e-8)
    kept = SequenceTagger.from_model(load_model(tmp_path / "m")).class_weight
    assert kept == {"B-NP": 3.0, "O": 0.5}


def _dense(rows: object) -> np.ndarray:
    from partwise.problem.rows import Rows

    assert isinstance(rows, Rows)
    table = np.zeros((len(rows), rows.n_features))
    table[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = 1.0
    return table


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("O", "'O' is not LABEL=WEIGHT; give balanced, or weights as in A=2,B=0.5"),
        ("=2", "'=2' is not LABEL=WEIGHT"),
        ("O=1,O=2", "the label 'O' has two weights"),
        ("O=x", "the weight 'x' of the label 'O' is not a number"),
        ("O=-1", "-1 is below 0"),
        ("O=inf", "inf is not a finite number"),
    ],
)
def test_odd_weights_of_labels_are_refused(
    call: Run, text: Path, tmp_path: Path, given: str, message: str
) -> None:
    code, _, err = call(
        "train", "--task", "tag", text, "--model", tmp_path / "m", "--class-weight", given
    )
    assert code == 2
    assert message in err


def test_bad_weights_are_bad_data(call: Run, text: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_text("1\n", "utf-8")
    train = ("train", "--task", "tag", text, "--model", tmp_path / "m")
    code, _, err = call(*train, "--sample-weight", weights)
    assert code == 1
    assert f"{weights}: 1 weights where {text} has 12 examples" in err
    code, _, err = call(*train, "--class-weight", "X=2")
    assert code == 1
    assert "names the class 'X', which does not occur" in err
    code, _, err = call("train", "--task", "tag", "-", "--model", "m", "--sample-weight", "-")
    assert code == 2
    assert "the training file and --sample-weight cannot both be stdin" in err
