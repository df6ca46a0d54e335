"""``partwise train --dask`` and ``partwise path --dask``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_fit import in_process

from partwise import load_model
from partwise.cli import main

pytest.importorskip("distributed")


def record(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, Any, str]:
    capsys.readouterr()
    code = main([*given, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def test_train_is_that_of_one_machine_and_goes_on(
    client: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, saved = str(tmp_path / "model"), str(tmp_path / "saved")
    words = ["train", "--task", "tag", files["tag"], "--model", model]
    words += ["--dask", client.scheduler.address, "--l2", "2", "--tol", "1e-2", "-v"]
    first = record(capsys, *words, "--checkpoint", saved, "--max-passes", "5")
    assert first[0] == 3
    assert first[1]["n_examples"] == 60
    assert "pass 2: " in first[2]
    assert "MB received" in first[2]
    then = record(capsys, *words, "--resume", saved, "--dev", files["tag"])
    assert (then[0], then[1]["converged"]) == (0, True)
    assert then[1]["passes"] > first[1]["passes"]
    assert then[1]["metrics"]
    alone = in_process("tag", files["tag"], l2=2.0, tol=1e-2)
    np.testing.assert_array_equal(load_model(model).weights, alone.model_.weights)


def test_path_is_that_of_one_machine(
    client: Any, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["path", "--task", "classify", files["classify"], "--l2-max", "10", "--steps", "3"]
    found = []
    for more in (["--dask", client.scheduler.address], []):
        model = str(tmp_path / f"model{len(found)}")
        code, made, _ = record(capsys, *words, "--folds", "2", "--model", model, *more)
        assert code == 0
        rows = [{name: row[name] for name in row if name != "seconds"} for row in made["path"]]
        found.append((rows, made["l2"], load_model(model).weights.tobytes()))
    assert found[0] == found[1]


@pytest.mark.skipif(os.name != "posix", reason="needs groups of processes")
def test_ctrl_c_in_a_terminal_leaves_a_certified_model(
    files: dict[str, str], tmp_path: Path
) -> None:
    model = tmp_path / "model"
    words = ["train", "--task", "tag", files["tag"], "--model", str(model), "-v"]
    words += ["--dask", "local", "--dask-workers", "1", "--tol", "1e-12", "--exchanges", "4"]
    command = [sys.executable, "-m", "partwise", *words]
    sent = False
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if "pass 3: " in line and not sent:
                sent = True
                os.killpg(process.pid, signal.SIGINT)
    assert process.returncode == 3
    assert "interrupted" in load_model(model).certificate.verdict
