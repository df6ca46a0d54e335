from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
from benchmarks import choice


def test_the_table_has_every_l2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--tasks", "demo-text", "--l2", "10", "1", "--tol", "1e-2", "--out", str(tmp_path)]
    choice.main([*given, "--budget", "inf"])
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "choice.md").read_text()
    lines = [line for line in printed.splitlines() if line.startswith("| demo-text")]
    assert len(lines) == 2
    cells = json.loads((tmp_path / "choice.json").read_text())["cells"]
    solvers = {cell["solver"] for cell in cells}
    assert {"auto", "online-eg", "sag-nus"} <= solvers
    assert all(cell["certified"] for cell in cells if cell["solver"] == "auto")
    assert all(cell["gap"] <= 1e-2 for cell in cells if cell["certified"])


def test_a_task_without_data_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    choice.main(["--tasks", "mnist", "--out", str(tmp_path)])
    assert "mnist is left out" in capsys.readouterr().err
