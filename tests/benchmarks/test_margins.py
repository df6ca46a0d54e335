from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
pytest.importorskip("matplotlib", reason="the pictures need it")
from benchmarks import margins, sequences
from benchmarks.dlib_planes import WholeSet, follow_dlib
from benchmarks.papers.courses import Limits, Method
from partwise.problem.problem import Problem
from partwise.solvers.registry import SOLVERS
from partwise.training.loop import train


@pytest.fixture(scope="module")
def problem() -> Problem:
    return sequences.demo_text().build(loss="hinge")


def test_a_table_and_a_picture_are_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["bcfw", "online-eg", "svm-struct"]
    given = ["--tasks", "demo-text", "--l2", "10", "1", "--passes", "20", "--budget", "inf"]
    margins.main([*given, "--solvers", *names, "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "margins.md").read_text(encoding="utf-8")
    assert len(printed.splitlines()) == 2 + 2 * len(names)
    races = json.loads((tmp_path / "margins.json").read_text(encoding="utf-8"))["races"]
    assert [race["l2"] for race in races] == [10.0, 1.0]
    for race in races:
        assert -1e-9 <= race["proved"] < 1.0
        assert set(race["methods"]) == set(names)
    assert (tmp_path / "margins-demo-text.png").read_bytes().startswith(b"\x89PNG")


def test_every_method_is_a_solver_or_dlib() -> None:
    assert {method.solver for method in margins.METHODS} <= set(SOLVERS) | {"dlib"}


def test_a_task_without_data_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    margins.main(["--tasks", "ocr", "--out", str(tmp_path)])
    assert "ocr is left out" in capsys.readouterr().err


def test_without_matplotlib_it_fails_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: str) -> Problem:
        raise AssertionError("a task was loaded")

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(margins.TASKS, "demo-text", load)
    with pytest.raises(ImportError, match="matplotlib"):
        margins.main(["--tasks", "demo-text", "--out", str(tmp_path)])


def test_the_whole_set_is_one_example(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WholeSet, "_vector", lambda _, values: values)
    whole = WholeSet(problem, 1.0, Limits(math.inf, math.inf))
    w = np.random.default_rng(0).normal(size=whole.num_dimensions)
    cost, psi = whole.separation_oracle(0, w[:, None])
    risk = cost + w @ (psi - whole.get_truth_joint_feature_vector(0))
    assert risk + 0.5 * w @ w == pytest.approx(whole.points[0].objective)
    assert whole.points[0].objective == pytest.approx(whole.evaluator.primal(w, 1.0))


def test_dlib_comes_to_the_same_optimum(problem: Problem) -> None:
    pytest.importorskip("dlib", reason="an extra of the benchmarks")
    best = train(problem, 10.0, tol=1e-3).certificate
    descent = follow_dlib(problem, 10.0, Method("dlib", "dlib", "dlib"), Limits(300.0, math.inf))
    assert best.dual <= min(point.objective for point in descent.points) <= 1.02 * best.primal
