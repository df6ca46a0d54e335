from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
from benchmarks import duals


def test_both_reach_one_dual(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    duals.main(
        [
            *("--task", "digits", "--l2", "10", "--tolerances", "0.1", "0.0001"),
            *("--tol", "1e-6", "--out", str(tmp_path)),
        ]
    )
    found = json.loads((tmp_path / "duals.json").read_text())
    loose, tight = (dual for _, dual in found["liblinear"])
    first, second = (points[-1][1] for points in found["partwise"])
    assert loose < tight
    assert first == second == pytest.approx(tight, rel=2e-6)
    assert "Objective value" not in capfd.readouterr().out


def test_when_a_dual_was_reached() -> None:
    points = [(1.0, 5.0), (2.0, 7.0)]
    assert duals.reached(points, 5.0) == 1.0
    assert duals.reached(points, 6.0) == 2.0
    assert duals.reached(points, 8.0) == float("inf")
