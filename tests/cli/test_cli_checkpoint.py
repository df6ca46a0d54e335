"""``train --checkpoint``, ``--every``, ``--resume`` and ``--as-start``."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, one_object, process, runner, sentence

from partwise import load_model
from partwise.datasets import tagged_text, write
from partwise.files.container import read_container, write_container

STRICT = ("--l2", "0.01", "--tol", "1e-9")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tagged_text(60, seed=1), tmp_path / "train.txt")
    write(tagged_text(30, seed=2), tmp_path / "other.txt")
    (tmp_path / "train.svm").write_text(SVMLIGHT, "ascii")
    return tmp_path


@pytest.fixture
def train(run: Run, folder: Path) -> Any:
    def call(model: str, *options: object, file: str = "train.txt") -> tuple[int, str, str]:
        task = "classify" if file.endswith("svm") else "tag"
        given = ["--model", folder / model, *STRICT, *options]
        return run("train", "--task", task, folder / file, *given)

    return call


def weights(path: Path) -> bytes:
    return load_model(path).weights.tobytes()


def test_a_training_that_stopped_goes_on(train: Any, folder: Path) -> None:
    saved = folder / "saved"
    assert train("whole")[0] == 0
    code, _, err = train("part", "--max-passes", "4", "--checkpoint", saved)
    assert code == 3
    assert f"go on with --resume {saved}" in err
    code, out, _ = train("rest", "--resume", saved, "--json")
    assert code == 0
    record = one_object(out)
    assert record["checkpoint"] == {"path": str(saved), "bytes": os.path.getsize(saved)}
    assert weights(folder / "rest") == weights(folder / "whole")
    code, out, _ = train("again", "--resume", saved)
    assert code == 0
    assert f"checkpoint: {saved} (" in out
    assert weights(folder / "again") == weights(folder / "whole")


def test_killed_at_any_moment(train: Any, folder: Path) -> None:
    """Whatever the moment, also within the write of a checkpoint, the training goes on from it."""
    assert train("whole")[0] == 0
    saved = folder / "saved"
    given = ["train", "--task", "tag", folder / "train.txt", "--model", folder / "m", *STRICT]
    rng = np.random.default_rng(1)
    kills = 0
    for _ in range(8):
        more = ["--resume" if saved.exists() else "--checkpoint", saved, "--every", "0", "-q"]
        started = process(*given, *more)
        known, wanted = saved.exists(), int(rng.integers(1, 4))
        seen: set[int] = set()
        # As soon as some new files have been begun: mostly in the middle of writing one.
        while started.poll() is None and len(seen) < wanted:
            seen |= {_inode(path) for path in folder.glob(".partwise-*.tmp")}
        if started.poll() is None:
            started.send_signal(signal.SIGKILL)
            kills += 1
        started.communicate()
        if not known and kills:
            assert not (folder / "m").exists()
        if started.returncode == 0:
            break
    assert kills >= 3
    if not (folder / "m").exists():
        assert train("m", "--resume", saved)[0] == 0
    assert weights(folder / "m") == weights(folder / "whole")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def test_ctrl_c_leaves_a_checkpoint(train: Any, folder: Path) -> None:
    assert train("whole")[0] == 0
    saved = folder / "saved"
    given = ["train", "--task", "tag", folder / "train.txt", "--model", folder / "m", *STRICT]
    started = process(*given, "--checkpoint", saved, "--every", "0")
    while not saved.exists() and started.poll() is None:
        time.sleep(0.001)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate()
    assert started.returncode in (0, 3), err
    assert train("rest", "--resume", saved)[0] == 0
    assert weights(folder / "rest") == weights(folder / "whole")


def test_other_data_or_settings(train: Any, folder: Path) -> None:
    saved = folder / "saved"
    assert train("m", "--max-passes", "4", "--checkpoint", saved)[0] == 3
    code, _, err = train("n", "--resume", saved, file="other.txt")
    assert code == 1
    assert "not a checkpoint of this fit: it was written with other examples" in sentence(err)
    code, _, err = train("n", "--resume", saved, "--seed", "5")
    assert code == 1
    assert "has seed 0, and this fit 5" in sentence(err)
    assert "--as-start" in err
    code, _, err = train("n", "--resume", saved, file="train.svm")
    assert code == 1
    assert "--task tag cannot be resumed with --task classify" in sentence(err)
    assert not (folder / "n").exists()
    code, out, _ = train("n", "--resume", saved, "--as-start", file="other.txt")
    assert code == 0
    assert "the first weights had the objective" in out


def test_a_model_and_a_checkpoint(train: Any, folder: Path) -> None:
    """A training that starts from a model is saved and goes on as any other."""
    assert train("first", file="other.txt")[0] == 0
    start = ["--resume", folder / "first"]
    assert train("whole", *start)[0] == 0
    saved = folder / "saved"
    assert train("part", *start, "--max-passes", "2", "--checkpoint", saved)[0] == 3
    assert train("rest", "--resume", saved)[0] == 0
    assert weights(folder / "rest") == weights(folder / "whole")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--every", "5"], "--every needs --checkpoint"),
        (["--checkpoint", "x", "--every", "-1"], "-1 is below 0"),
        (["--checkpoint", "x", "--every", "soon"], "invalid number value"),
        (["--checkpoint", "-"], "needs a file of its own"),
        (["--as-start"], "--as-start needs --resume"),
    ],
)
def test_usage(options: list[str], words: str, train: Any, folder: Path) -> None:
    code, _, err = train("m", *options)
    assert code == 2
    assert words in err
    assert not (folder / "m").exists()


def test_targets_that_cannot_be_written(train: Any, folder: Path) -> None:
    code, _, err = train("m", "--checkpoint", folder / "m")
    assert code == 2
    assert "--checkpoint" in err
    code, _, err = train("m", "--checkpoint", folder / "none" / "saved")
    assert code in (1, 2)
    assert "none" in sentence(err)
    code, _, err = train("m", "--checkpoint", folder / "train.svm")
    assert code == 1
    assert "is no checkpoint; choose another name" in sentence(err)
    assert train("m", "--checkpoint", folder / "s", "--max-passes", "2")[0] == 3
    code, _, err = train("m", "--checkpoint", folder / "s")
    assert code == 1
    assert "has not ended" in sentence(err)


def test_damaged_checkpoints(train: Any, folder: Path) -> None:
    saved = folder / "saved"
    assert train("m", "--max-passes", "4", "--checkpoint", saved)[0] == 3
    whole = saved.read_bytes()
    saved.write_bytes(whole[:-9])
    code, _, err = train("n", "--resume", saved)
    assert code == 1
    assert "truncated" in sentence(err)
    changed = bytearray(whole)
    changed[-100] ^= 1
    saved.write_bytes(bytes(changed))
    code, _, err = train("n", "--resume", saved)
    assert code == 1
    assert "checksum" in sentence(err)
    saved.write_bytes(whole)
    header, arrays = read_container(saved)
    header["state"]["machine"]["object"]["epochs"] = "many"
    write_container(saved, header, dict(arrays))
    code, _, err = train("n", "--resume", saved)
    assert code == 1
    assert "not sound" in sentence(err)


def test_a_disk_that_fills_up_does_not_end_the_fit(
    train: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from partwise.errors import ModelFileError
    from partwise.training import checkpoint

    def full(*arguments: Any) -> None:
        raise ModelFileError("saved cannot be written: No space left on device; make room")

    monkeypatch.setattr(checkpoint, "write_container", full)
    code, _, err = train("m", "--checkpoint", folder / "saved", "--every", "0")
    assert code == 0
    assert "the checkpoint was not written, training goes on: saved cannot be written" in err


def test_partly_known_labels_have_no_checkpoints(train: Any, folder: Path) -> None:
    text = (folder / "train.txt").read_text().splitlines()
    text[0] = text[0].rsplit(" ", 1)[0] + " ?"
    (folder / "train.txt").write_text("\n".join(text) + "\n")
    code, _, err = train("m", "--missing", "?", "--checkpoint", folder / "saved")
    assert code == 2
    assert "leave the checkpoint out" in sentence(err)
