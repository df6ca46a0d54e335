from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
from benchmarks import rates


def test_the_picture_and_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    rates.main(["--out", str(tmp_path), "--iterations", "30"])
    printed = capsys.readouterr().out
    found = json.loads((tmp_path / "rates.json").read_text())
    assert set(found["gaps"]) == set(rates.solvers())
    assert all(name in printed for name in found["gaps"])
    assert all(min(gaps) > 0.0 for gaps in found["gaps"].values())
    assert (tmp_path / "rates.png").stat().st_size > 10_000


def test_the_slope_of_a_power() -> None:
    marks = [1, 10, 20, 50, 100]
    assert rates.slope(marks, [3.0 * k**-2.0 for k in marks]) == pytest.approx(-2.0)
