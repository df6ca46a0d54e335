from __future__ import annotations

import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
from benchmarks.steps import STARTS, STEPS, main


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    first, second = capsys.readouterr().out.split("\n\n")
    away = [float(line.split("|")[2].split()[-1]) for line in first.splitlines()[2:]]
    assert len(away) == len(STEPS)
    # Longer steps are nearer the optimum, and those that are searched for the nearest.
    assert away[0] > away[1] > away[2]
    assert away[3] >= away[4] > away[5]
    duals = [[float(cell) for cell in line.split("|")[3:6]] for line in second.splitlines()[2:]]
    assert len(duals) == len(STARTS)
    assert 0.0 < duals[0][0] < duals[0][1] < duals[0][2]
    assert duals[-1][0] < 0.0  # uniform distributions, as published
