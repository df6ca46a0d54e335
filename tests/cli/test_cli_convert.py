"""``partwise convert`` of models, and what ``info`` and ``train --resume`` say of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commands import Run, one_object, runner, sentence
from support.foreign_models import (
    CRFPP,
    SENTENCES,
    TRAINING,
    WAPITI,
    WAPITI_LABELS,
    liblinear_text,
)

from partwise import load_model


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def converted(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "wapiti").write_text(WAPITI)
    (tmp_path / "train.txt").write_text(TRAINING)
    code, out, err = run(
        "convert", tmp_path / "wapiti", tmp_path / "model", "--from", "wapiti-model"
    )
    assert (code, err) == (0, "")
    assert "converted from Wapiti, not certified" in out
    assert f"--resume {tmp_path / 'model'}" in out
    return tmp_path / "model"


def test_column_files_go_straight_in(run: Run, converted: Path, tmp_path: Path) -> None:
    text = "\n".join("".join(f"{a} {b}\n" for a, b in one) for one in SENTENCES)
    (tmp_path / "test.txt").write_text(text)
    code, out, err = run("predict", converted, tmp_path / "test.txt")
    assert (code, err) == (0, "")
    labels = [[line.split()[-1] for line in one.splitlines()] for one in out.strip().split("\n\n")]
    assert labels == WAPITI_LABELS
    code, out, _ = run("evaluate", converted, tmp_path / "train.txt", "--json")
    assert code == 0
    assert one_object(out)["metrics"]["accuracy"] == 1.0


def test_info_claims_nothing(run: Run, converted: Path) -> None:
    code, out, _ = run("info", converted)
    assert code == 0
    assert "nothing; converted from Wapiti, not certified" in out
    assert "l1 = rho1 and l2 = rho2, which the file does not hold" in out
    assert "l2 = 1" not in out
    record = one_object(run("info", converted, "--json")[1])
    assert record["objective"] is None
    assert record["gap"] is None
    assert record["relative_gap"] is None
    assert not record["converged"]
    assert record["verdict"] == "converted from Wapiti, not certified"
    assert record["origin"]["toolkit"] == "Wapiti"
    assert record["meta"] == {}


def test_resume_says_how_far_the_start_was(run: Run, converted: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "tag", tmp_path / "train.txt", "--l1", "0.1", "--l2", "0.01",
             "--tol", "1e-8", "--model", tmp_path / "new", "--quiet")  # fmt: skip
    code, out, _ = run(*train, "--resume", converted)
    assert code == 0
    assert f"{converted}: the first weights had the objective 2.32192" in out
    record = one_object(run(*train, "--resume", converted, "--json")[1])
    start = record["start"]
    assert start["n_used"] == start["n_weights"] == 24
    assert start["objective"] == pytest.approx(2.32192106, abs=1e-8)
    assert start["least_above_optimum"] == start["objective"] - record["objective"]
    assert start["most_above_optimum"] == start["objective"] - record["dual"]
    assert one_object(run(*train, "--json")[1])["start"] is None
    # The model that was trained here is certified, and no longer a converted one.
    assert load_model(tmp_path / "new").origin is None


def test_weights_without_a_place_are_counted(run: Run, converted: Path, tmp_path: Path) -> None:
    (tmp_path / "less.txt").write_text(TRAINING.split("\n\n")[0] + "\n")
    code, out, _ = run(
        "train", "--task", "tag", tmp_path / "less.txt", "--model", tmp_path / "new",
        "--resume", converted, "--quiet",
    )  # fmt: skip
    assert code == 0
    assert "of their 24 have no place in these data" in out


def test_exports(run: Run, converted: Path, tmp_path: Path) -> None:
    for format in ("json-model", "safetensors-model"):
        out, back = tmp_path / format, tmp_path / f"{format}-back"
        code = run("convert", converted, out, "--from", "partwise-model", "--to", format)[0]
        assert code == 0
        record = one_object(run("convert", out, back, "--from", format, "--json")[1])
        assert record["to"] == "partwise-model"
        assert not record["certified"]
        assert load_model(back).predict(SENTENCES) == WAPITI_LABELS
    assert json.loads((tmp_path / "json-model").read_text())["kind"] == "partwise weights"


def test_a_certified_model_stays_certified(run: Run, converted: Path, tmp_path: Path) -> None:
    run("train", "--task", "tag", tmp_path / "train.txt", "--model", tmp_path / "own", "--quiet")
    run("convert", tmp_path / "own", tmp_path / "x", "--from", "partwise-model", "--to",
        "json-model")  # fmt: skip
    code, out, _ = run("convert", tmp_path / "x", tmp_path / "y", "--from", "json-model", "--json")
    assert code == 0
    assert one_object(out)["certified"]
    old, new = load_model(tmp_path / "own"), load_model(tmp_path / "y")
    assert old.certificate == new.certificate
    # CRFsuite's file has no room for a certificate.
    run("convert", tmp_path / "own", tmp_path / "z", "--from", "partwise-model", "--to",
        "crfsuite-model")  # fmt: skip
    code, out, _ = run("convert", tmp_path / "z", tmp_path / "y", "--from", "crfsuite-model")
    assert "converted from CRFsuite, not certified" in out


def test_classifiers(run: Run, tmp_path: Path) -> None:
    text = liblinear_text("L2R_LR", "1 2 3", -1, [[0.5, -1.0, 0.1], [0.0, 1.0, -0.3]])
    (tmp_path / "model").write_text(text)
    (tmp_path / "test.svm").write_text("1 1:1\n2 2:1\n3 1:-1 2:-1\n")
    code, out, _ = run("convert", tmp_path / "model", tmp_path / "own", "--from", "liblinear-model")
    assert code == 0
    assert "--resume" not in out
    assert run("predict", tmp_path / "own", tmp_path / "test.svm")[1] == "1\n2\n3\n"
    code, _, err = run("predict", tmp_path / "own", tmp_path / "test.svm", "--marginals")
    assert code == 1
    assert "not log-probabilities" in sentence(err)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--from", "odd-model"), 2, "--from odd-model is no format of models"),
        (("--from", "crfpp-model", "--to", "wapiti-model"), 2, "can only be read; use one of"),
        (("--from", "crfpp-model", "--to", "columns"), 2, "--to columns is no format of models"),
        (("--from", "crfpp-model", "--inputs", "2"), 2, "leave out inputs"),
        (("--from", "wapiti-model"), 1, "is not a valid model file of Wapiti"),
        (("--from", "sklearn-model"), 1, "is no file of skops"),
    ],
)  # fmt: skip
def test_refusals(
    arguments: tuple[str, ...], code: int, says: str, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "model").write_text(CRFPP)
    found, _, err = run("convert", tmp_path / "model", tmp_path / "out", *arguments)
    assert found == code
    assert says in sentence(err)
    assert not (tmp_path / "out").exists()


def test_the_input_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").write_text(CRFPP)
    code, _, err = run("convert", tmp_path / "model", tmp_path / "model", "--from", "crfpp-model")
    assert code == 2
    assert "would overwrite an input" in err
