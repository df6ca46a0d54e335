"""Training out of core on the command line, the limit of memory, and hashed features."""

from __future__ import annotations

import gzip
import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, one_object, runner, sentence, training_file

from partwise import load_model
from partwise.files.work_folder import WorkFolder

TASKS = ("tag", "segment", "classify", "parse", "brackets", "graph")


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


def train(call: Run, task: str, path: object, model: Path, *more: object) -> dict[str, Any]:
    code, out, err = call(
        "train", "--task", task, path, "--model", model, "--tol", "1e-3", "--json", "-q", *more
    )
    assert code == 0, err
    return one_object(out)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("hashing", [(), ("--hashing", "256")])
def test_every_task(task: str, hashing: tuple[str, ...], call: Run, tmp_path: Path) -> None:
    path = training_file(task, tmp_path / "train")
    plain = train(call, task, path, tmp_path / "plain", *hashing)
    disk = train(
        call, task, path, tmp_path / "disk", *hashing, "--out-of-core", tmp_path / "w", "--dev",
        path, "--memory-limit", "2GB",
    )  # fmt: skip
    assert disk["objective"] == pytest.approx(plain["objective"], rel=2e-3)
    assert disk["n_weights"] == plain["n_weights"]
    assert disk["n_examples"] == plain["n_examples"]
    assert disk["n_labels"] == plain["n_labels"]
    assert not (tmp_path / "w").exists()
    one, other = load_model(tmp_path / "plain"), load_model(tmp_path / "disk")
    assert one.features.to_json() == other.features.to_json()
    code, out, _ = call("evaluate", tmp_path / "disk", path, "--json")
    assert code == 0
    assert one_object(out)["metrics"] == disk["metrics"]
    assert call("predict", tmp_path / "disk", path, "--output", tmp_path / "out")[0] == 0
    assert call("info", tmp_path / "disk")[0] == 0


def test_gzip_stdin_and_weights(call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = training_file("tag", tmp_path / "train")
    weights = tmp_path / "weights"
    weights.write_text("".join(f"{k % 3}\n" for k in range(20)))
    (tmp_path / "packed").write_bytes(gzip.compress(path.read_bytes()))
    more = ("--sample-weight", weights)
    disk = (*more, "--out-of-core", tmp_path / "w")
    plain = train(call, "tag", path, tmp_path / "m", *more)["objective"]
    assert train(call, "tag", tmp_path / "packed", tmp_path / "m", *disk)["objective"] == plain
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    found = train(call, "tag", "-", tmp_path / "m", *disk, "--class-weight", "balanced")
    wanted = train(call, "tag", path, tmp_path / "m", *more, "--class-weight", "balanced")
    assert found["objective"] == wanted["objective"]
    weights.write_text("1\n" * 19)
    code, _, err = call("train", "--task", "tag", path, "--model", tmp_path / "m", "-q", *disk)
    assert code == 1
    assert "sample_weight has 19 numbers, and there are more examples" in err


def test_a_resumed_model_chooses_the_templates(call: Run, tmp_path: Path) -> None:
    path = training_file("tag", tmp_path / "train")
    train(call, "tag", path, tmp_path / "first", "--spelling")
    disk = ("--out-of-core", tmp_path / "w", "--resume", tmp_path / "first")
    found = train(call, "tag", path, tmp_path / "m", *disk)
    assert found["start"] is not None
    features = load_model(tmp_path / "m").features.to_json()
    assert features == load_model(tmp_path / "first").features.to_json()


def test_what_is_held_where_is_said(call: Run, tmp_path: Path) -> None:
    path = training_file("tag", tmp_path / "train")
    code, _, err = call(
        "train", "--task", "tag", path, "--model", tmp_path / "m", "-v", "--out-of-core",
        tmp_path / "w",
    )  # fmt: skip
    assert code == 0
    assert "in memory: about" in err
    assert f"on disk, in {tmp_path / 'w'}: " in err


def test_messages(call: Run, tmp_path: Path) -> None:
    path = training_file("tag", tmp_path / "train")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    (tmp_path / "used").mkdir()
    held = WorkFolder(tmp_path / "used")
    disk = ("--out-of-core", tmp_path / "w")
    cases: list[tuple[tuple[object, ...], int, str]] = [
        (("--out-of-core", path), 1, f"{path} is no folder; give a new or an empty one"),
        (("--out-of-core", tmp_path / "full"), 1, "holds other files, such as 'mine'"),
        (("--out-of-core", path / "below"), 1, "the files of this fit cannot be kept in"),
        (("--out-of-core", ""), 2, "--out-of-core needs the name of a folder"),
        ((*disk, "--dev", "-"), 2, "--dev - is not possible with --out-of-core"),
        ((*disk, "--missing", "O"), 2, "--missing needs all examples in memory"),
        ((*disk, "--kernel", "rbf"), 1, "--kernel takes no --out-of-core"),
        ((*disk, "--encoding", "utf-16"), 1, "cannot be read a part at a time"),
        ((*disk, "--memory-limit", "1KiB"), 1, "raise it, or have fewer weights"),
        (("--memory-limit", "1KiB"), 1, "give a folder for what does not fit (--out-of-core DIR"),
        (("--memory-limit", "much"), 2, "give a size such as 4GB, 512MiB or 50%"),
        (("--hashing", "1000"), 2, "1000 is not a power of two"),
        (("--hashing", "1024", "--min-count", "2"), 1, "hashing keeps no counts"),
        (("--hashing", "1024", "--kernel", "rbf"), 2, "--kernel takes no --hashing"),
    ]
    for more, wanted, why in cases:
        code, _, err = call("train", "--task", "tag", path, "--model", tmp_path / "m", "-q", *more)
        assert (code, why in err) == (wanted, True), (more, err)
        assert err.splitlines()[-1].startswith("partwise: error: ")
        assert not (tmp_path / "w").exists()
    code, _, err = call(
        "train", "--task", "tag", path, "--model", tmp_path / "m", "-q", "--out-of-core",
        tmp_path / "used",
    )  # fmt: skip
    assert code == 1
    assert "holds the files of an earlier fit" in err or "is in use by another fit" in err
    held.close()
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("task", "bad", "line"),
    [
        ("tag", "one two three four five\n\n", True),
        ("parse", "1\ta\t_\tN\tN\t_\t9\tx\t_\t_\n\n", True),
        ("classify", "1 2:x\n", True),
        ("brackets", "(S (NP a)\n", True),
        ("graph", "node a A\nedge a b\n\n", True),
    ],
)
def test_faults_have_their_place(
    task: str, bad: str, line: bool, call: Run, tmp_path: Path
) -> None:
    path = training_file(task, tmp_path / "train")
    n = path.read_text().count("\n")
    path.write_text(path.read_text() + bad)
    said = []
    for more in ((), ("--out-of-core", tmp_path / "w")):
        code, _, err = call("train", "--task", task, path, "--model", tmp_path / "m", "-q", *more)
        assert code == 1
        said.append(sentence(err))
    assert said[0] == said[1]
    assert f"{path}:{n + 1}" in said[0] or f"{path}:{n + 2}" in said[0]
    assert not os.path.exists(tmp_path / "w")


def test_labels_are_checked_against_constraints(call: Run, tmp_path: Path) -> None:
    path = tmp_path / "train"
    rows = "".join(f"a{k} B-X\nb I-X\n\n" for k in range(9)) + "c O\nd I-X\n\n"
    path.write_text(rows)
    said = []
    for more in ((), ("--out-of-core", tmp_path / "w")):
        code, _, err = call(
            "train", "--task", "tag", path, "--model", tmp_path / "m", "-q", "--constraints",
            "BIO", *more,
        )  # fmt: skip
        assert code == 1
        said.append(sentence(err))
    assert said[0] == said[1]
    assert "train:29: the constraints forbid 'I-X' after 'O'" in said[0]


@pytest.mark.parametrize("task", ["tag", "classify"])
def test_hashed_models_are_exported(task: str, call: Run, tmp_path: Path) -> None:
    path = training_file(task, tmp_path / "train")
    train(call, task, path, tmp_path / "m", "--hashing", "64")
    convert = ("convert", tmp_path / "m", tmp_path / "out", "--from", "partwise-model", "--to")
    if task == "tag":
        code, _, err = call(*convert, "crfsuite-model")
        assert code == 1
        assert "the model has hashed features, and CRFsuite knows none" in err
    wanted = call("predict", tmp_path / "m", path)[1]
    for kind in ("json-model", "safetensors-model"):
        assert call(*convert, kind)[0] == 0
        back = ("convert", tmp_path / "out", tmp_path / "back", "--from", kind)
        assert call(*back)[0] == 0
        assert call("predict", tmp_path / "back", path)[1] == wanted
        weights = [load_model(tmp_path / name).weights for name in ("m", "back")]
        np.testing.assert_allclose(np.sort(weights[0]), np.sort(weights[1]))
