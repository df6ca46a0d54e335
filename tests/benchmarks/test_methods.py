from __future__ import annotations

import gzip
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")
pytest.importorskip("matplotlib", reason="the pictures need it")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import methods, sequences  # noqa: E402
from benchmarks.memory import memory_table  # noqa: E402
from benchmarks.papers.courses import Limits, follow  # noqa: E402
from partwise.problem.problem import Problem  # noqa: E402
from partwise.solvers.average.gradient_memory import GradientMemory  # noqa: E402
from partwise.solvers.registry import SOLVERS  # noqa: E402

METHOD = {method.name: method for method in methods.METHODS}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return sequences.demo_text().build()


def test_windows_have_marks_beyond_the_ends() -> None:
    first, last = sequences.window(
        [("He", "P", "O"), ("ran", "V", "O")], [("w", (-2,)), ("pos", (0, 1)), ("shape", (0,))]
    )
    assert first == [(0, "<2"), (1, "P", "V"), (2, "Xx")]
    assert last == [(0, "<1"), (1, "V", ">1"), (2, "x")]


def test_rare_attributes_are_left_out() -> None:
    sentences = [[("a", "A", "x"), ("b", "B", "y")], [("a", "A", "y")]]
    made = sequences.text(sentences, [("w", (0,)), ("pos", (0,))], min_count=2)
    assert made.rows.n_features == 2
    assert np.diff(made.rows.indptr).tolist() == [2, 0, 2]
    assert made.lengths.tolist() == [2, 1]
    assert [gold.tolist() for gold in made.gold] == [[0, 1], [1]]


def test_letters_are_words_of_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ocr_letters").mkdir()
    lines = [("1", "o", "2"), ("2", "m", "-1"), ("3", "o", "-1")]
    pixels = "\t".join(["1", "0"] * 64)
    content = "".join("\t".join([*line, "1", "1", "0", pixels]) + "\n" for line in lines)
    path = tmp_path / "ocr_letters" / "letter.data.gz"
    path.write_bytes(gzip.compress(content.encode()))
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    made = sequences.letters()
    assert made.lengths.tolist() == [2, 1]
    assert made.n_labels == 2
    assert made.rows.n_features == 129
    assert np.diff(made.rows.indptr).tolist() == [65, 65, 65]


def test_every_method_is_a_solver_with_its_options(problem: Problem) -> None:
    assert {method.solver for method in methods.METHODS} <= set(SOLVERS)
    for method in methods.METHODS:
        options = {"eta": 0.01} if method.tuned else {}
        of_method = problem if method.tied else sequences.demo_text().build(tied=False)
        points = follow(of_method, 1.0, method, Limits(1.0, math.inf), **options).points
        assert points[-1].passes >= 1.0
        assert points[-1].seconds >= 0.0  # the clock of some systems has ticks of 4 ms


def test_the_memory_is_told_beside_that_of_the_paper() -> None:
    memory = GradientMemory(dense=1000, sparse=500, marginals=1100, mixed=20)
    tasks = {task.name: task for task in sequences.SEQUENCE_TASKS}
    *_, known, unknown = memory_table(
        [(tasks["ocr"], memory), (tasks["demo-text"], memory)]
    ).splitlines()
    assert known == "| ocr | 1e+03 | 5.0e-01 | 7.8e-01 | 1.1e+00 | 1.1e+00 | 2.0e-02 | 2.1e-01 |"
    assert unknown.count("| - ") == 3


def test_tables_and_pictures_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PARTWISE_DATA", raising=False)
    names = ["lbfgs", "sgd", "sag-nus", "online-eg", "sdca"]
    options = ["--passes", "6", "--budget", "inf", "--tol", "1e-5"]
    tasks = ["--tasks", "demo-text", "ocr"]
    methods.main(["--out", str(tmp_path), *tasks, *options, "--solvers", *names])
    told = capsys.readouterr()
    assert "ocr is left out: it needs ocr_letters/letter.data.gz" in told.err
    report = (tmp_path / "methods.md").read_text(encoding="utf-8")
    assert report == told.out
    assert [line.split(" | ")[0] for line in report.splitlines() if "| " in line][2:7] == [
        f"| {name}" for name in names
    ]
    found = json.loads((tmp_path / "methods.json").read_text(encoding="utf-8"))
    task = found["tasks"]["demo-text"]
    assert task["proved"] <= 1e-5
    assert all(m["points"][-1][0] >= 6.0 for m in task["methods"])
    for axis in ("passes", "seconds"):
        picture = (tmp_path / f"methods-demo-text-{axis}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
