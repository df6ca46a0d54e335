from __future__ import annotations

import gzip
import io
import itertools
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("resource", reason="the benchmarks count CPU time by POSIX calls")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import data, problems, report, results, runner, tasks  # noqa: E402
from benchmarks.__main__ import main, parse  # noqa: E402
from benchmarks.contestants import contestant_named, select_contestants  # noqa: E402
from benchmarks.contestants.base import climb  # noqa: E402
from benchmarks.contestants.crfsuite import Iteration, LogReader, default_stop  # noqa: E402
from benchmarks.contestants.sklearn_ import iteration_rungs, tolerance_rungs  # noqa: E402
from benchmarks.curves import curve, draw_curves  # noqa: E402
from benchmarks.features import chunking_attributes  # noqa: E402
from benchmarks.recorder import Recorder, forget_peak, peak_megabytes  # noqa: E402
from benchmarks.worker import run as run_worker  # noqa: E402

LOG = """Feature generation
***** Iteration #1 *****
Loss: 120.500000
Feature norm: 1.000000
Error norm: 30.250000
Active features: 10
Seconds required for this iteration: 0.010

***** Iteration #2 *****
Loss: 100.250000
Feature norm: 2.000000
Error norm: 3.000000
Active features: 9
L-BFGS terminated with the stopping criteria
"""


def toy_text(n: int, seed: int) -> list[list[tuple[str, ...]]]:
    generator = np.random.default_rng(seed)
    label = {"the": "B-NP", "cat": "I-NP", "sat": "B-VP", "here": "O", "x": "B-NP"}
    words = list(label)
    sentences: list[list[tuple[str, ...]]] = []
    for _ in range(n):
        chosen = [words[i] for i in generator.integers(0, len(words), generator.integers(1, 6))]
        sentences.append([(word, word[:1].upper(), label[word]) for word in chosen])
    return sentences


def toy_chain(all_weights: bool = True) -> problems.ChainProblem:
    return problems.ChainProblem(0.7, all_weights, toy_text(25, 0), toy_text(10, 1))


def toy_linear(loss: problems.LinearLoss, n_classes: int = 3) -> problems.LinearProblem:
    from scipy import sparse

    generator = np.random.default_rng(3)
    x = sparse.csr_matrix(generator.normal(size=(60, 5)))
    y = generator.integers(0, n_classes, 60)
    return problems.LinearProblem(loss, 0.5, x[:40], y[:40], x[40:], y[40:], n_classes)


def events_of(name: str, problem: problems.Problem, budget: float = math.inf) -> runner.Run:
    stream = io.StringIO()
    # Not enforced: the kernel would end the process of the tests.
    run_worker(contestant_named(name), problem, Recorder(stream, budget, enforced=False))
    run = runner.Run("digits", name, 0, "warm")
    runner.read_events(run, stream.getvalue().splitlines(keepends=True))
    return run


def made_run(contestant: str, values: list[tuple[float, float]], **fields: Any) -> runner.Run:
    run = runner.Run("digits", contestant, fields.pop("repeat", 0), fields.pop("start", "warm"))
    run.points = [runner.Point(cpu, 2 * cpu, value) for cpu, value in values]
    run.stop = {"cpu": values[-1][0], "wall": 2 * values[-1][0], "peak_mb": 100.0}
    run.stages = {"load": {"cpu": 1.0, "wall": 1.0, "peak_mb": 50.0}}
    run.result = {"objective": values[-1][1], "weights": 1234, "nonzero": 567}
    run.result |= {"score_name": "accuracy", "score": 9}
    for name, value in fields.items():
        setattr(run, name, value)
    return run


class Clock:
    """The time that the recorder reads: it passes when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cpu = self.wall = 16.0
        clocks = SimpleNamespace(process_time=lambda: self.cpu, perf_counter=lambda: self.wall)
        monkeypatch.setattr("benchmarks.recorder.time", clocks)

    def run(self, cpu: float, wall: float) -> None:
        self.cpu += cpu
        self.wall += wall


def test_attributes_stay_inside_the_sentence() -> None:
    attributes = chunking_attributes([("He", "PRP", "B-NP"), ("ran", "VBD", "B-VP")])
    assert attributes == [
        [
            "w[0]=He",
            "w[1]=ran",
            "w[0]|w[1]=He|ran",
            "pos[0]=PRP",
            "pos[1]=VBD",
            "pos[0]|pos[1]=PRP|VBD",
            "__BOS__",
        ],
        [
            "w[-1]=He",
            "w[0]=ran",
            "w[-1]|w[0]=He|ran",
            "pos[-1]=PRP",
            "pos[0]=VBD",
            "pos[-1]|pos[0]=PRP|VBD",
            "__EOS__",
        ],
    ]
    middle = chunking_attributes([("a", "A", "O")] * 5)[2]
    assert len(middle) == 19


def test_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = tmp_path / "columns.gz"
    columns.write_bytes(gzip.compress(b"a A O\nb B O\n\n\nc C O"))
    assert data.read_columns(columns) == [[("a", "A", "O"), ("b", "B", "O")], [("c", "C", "O")]]
    idx = tmp_path / "idx.gz"
    idx.write_bytes(gzip.compress(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6])))
    assert data.read_idx(idx).tolist() == [[1, 2, 3], [4, 5, 6]]
    idx.write_bytes(gzip.compress(b"wrong"))
    with pytest.raises(ValueError, match="not an IDX file"):
        data.read_idx(idx)
    monkeypatch.delenv("PARTWISE_DATA", raising=False)
    with pytest.raises(data.MissingDataError, match="set PARTWISE_DATA"):
        tasks.task_named("a9a").require_data()
    monkeypatch.setenv("PARTWISE_DATA", str(tmp_path))
    with pytest.raises(data.MissingDataError, match="does not exist"):
        tasks.task_named("a9a").require_data()


def test_the_log_of_crfsuite_is_read_iteration_by_iteration() -> None:
    seen: list[Iteration] = []
    reader = LogReader(seen.append)
    for line in LOG.splitlines(keepends=True):
        reader.feed(line)
    assert seen == [Iteration(1, 120.5, 1.0, 30.25, 10.0), Iteration(2, 100.25, 2.0, 3.0, 9.0)]
    assert reader.ending == "L-BFGS terminated with the stopping criteria"


def test_default_stop() -> None:
    falling = [Iteration(k, 100.0 * 0.5**k, 1.0, 1.0, 5.0) for k in range(20)]
    assert default_stop(falling) is None
    flat = falling + [Iteration(k, falling[-1].objective, 1.0, 1.0, 5.0) for k in range(20, 40)]
    assert default_stop(flat) == 29
    assert default_stop([*falling, Iteration(20, 1e-9, 10.0, 1e-4, 5.0)]) == 20


@pytest.mark.parametrize("all_weights", [False, True])
def test_crfsuite_and_the_harness_agree_on_the_objective(all_weights: bool) -> None:
    run = events_of("crfsuite-lbfgs", toy_chain(all_weights))
    assert run.result["objective"] == pytest.approx(run.points[-1].objective, rel=1e-6)
    assert run.default_stop["objective"] == pytest.approx(run.points[-1].objective, rel=1e-3)
    assert run.default_stop["nonzero"] == run.result["nonzero"]
    assert run.result["score"] > 50.0
    assert set(run.stages) == {"import", "prepare"}
    slow = events_of("crfsuite-l2sgd", toy_chain(all_weights), budget=0.2)
    assert slow.result["weights"] == run.result["weights"]
    assert slow.result["objective"] == pytest.approx(run.result["objective"], rel=0.05)


def test_chain_objective_and_decoding_by_enumeration() -> None:
    problem = toy_chain()
    generator = np.random.default_rng(5)
    found = sorted({a for s in problem.train() for token in s.attributes for a in token})
    labels = ["B-NP", "I-NP", "B-VP", "O"]
    weights = problems.ChainWeights(
        {a: i for i, a in enumerate(found)},
        labels,
        generator.normal(size=(len(found), 4)),
        generator.normal(size=(4, 4)),
        len(found) * 4 + 16,
    )
    total = 0.5 * 0.7 * (np.sum(weights.state**2) + np.sum(weights.transitions**2))
    for sentence in problem.train():
        unary = [
            sum(weights.state[weights.attributes[a]] for a in token)
            for token in sentence.attributes
        ]
        scores = {
            path: sum(u[y] for u, y in zip(unary, path, strict=True))
            + sum(weights.transitions[a, b] for a, b in itertools.pairwise(path))
            for path in itertools.product(range(4), repeat=len(unary))
        }
        gold = tuple(labels.index(label) for label in sentence.labels)
        total += np.log(np.sum(np.exp(list(scores.values())))) - scores[gold]
        best = max(scores, key=lambda path: scores[path])
        assert tuple(problems._viterbi(np.array(unary), weights.transitions)) == best
    assert problems.objective(problem, weights) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("loss", ["softmax", "logistic", "hinge"])
def test_all_linear_contestants_reach_one_optimum(loss: problems.LinearLoss) -> None:
    problem = toy_linear(loss, 2 if loss == "logistic" else 3)
    able = select_contestants(["sklearn", "liblinear"], loss)
    assert len(able) == {"softmax": 5, "logistic": 7, "hinge": 2}[loss]
    peers = [contestant.name for contestant in able if not contestant.missing()]
    assert len(peers) >= {"softmax": 5, "logistic": 5, "hinge": 1}[loss]
    runs = [events_of(name, problem) for name in peers]
    best = results.best_objective(runs)
    for run in runs:
        assert run.result["objective"] == pytest.approx(best, rel=1e-6), run.contestant
        assert run.points[-1].objective == pytest.approx(run.result["objective"], rel=1e-9)


def test_two_class_softmax_is_logistic_with_half_the_l2() -> None:
    logistic = toy_linear("logistic", 2)
    softmax = problems.LinearProblem(
        "softmax", 2 * logistic.l2, logistic.x, logistic.y, logistic.x_test, logistic.y_test, 2
    )
    w = np.random.default_rng(0).normal(size=(1, 5))
    both = np.vstack([-w / 2, w / 2])
    assert problems.linear_objective(softmax, both) == pytest.approx(
        problems.linear_objective(logistic, w), rel=1e-12
    )


def test_weights_must_fit_the_problem() -> None:
    with pytest.raises(TypeError, match="does not fit"):
        problems.objective(toy_chain(), problems.LinearWeights(np.zeros((2, 2))))
    with pytest.raises(TypeError, match="does not fit"):
        problems.score_on_test(toy_chain(), problems.LinearWeights(np.zeros((2, 2))))


def test_rungs_and_the_budget_of_a_climb(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(itertools.islice(iteration_rungs(2), 5)) == [1, 2, 4, 8, 16]
    assert list(itertools.islice(iteration_rungs(1), 8)) == [1, 2, 3, 4, 6, 8, 12, 16]
    assert min(tolerance_rungs()) == pytest.approx(1e-10)
    stream = io.StringIO()
    problem = toy_linear("softmax")
    clock = Clock(monkeypatch)

    def fit(rung: float) -> problems.Floats:
        clock.run(rung, rung)
        return np.full((3, 5), 1.0 / rung)

    # The second rung is taken to need twice what the first did.
    climb(problem, Recorder(stream, 1.5, enforced=False), [1.0, 2.0], fit)
    events = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert events == ["stop", "point", "over budget"]


def test_the_clock_leaves_out_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    recorder = Recorder(io.StringIO(), 1000.0, enforced=False)
    clock.run(1.0, 2.0)
    recorder.start()
    clock.run(4.0, 8.0)
    with recorder.paused():
        clock.run(16.0, 32.0)
    clock.run(64.0, 128.0)
    assert recorder.stop() == (68.0, 136.0)


def test_a_budget_is_spent_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    recorder = Recorder(io.StringIO(), 5.0, enforced=False)
    recorder.start()
    with recorder.paused():
        clock.run(32.0, 32.0)
    clock.run(4.0, 32.0)
    assert not recorder.spent()
    clock.run(1.0, 1.0)
    assert recorder.spent()


def test_the_peak_of_memory_can_be_forgotten() -> None:
    block = np.ones(20_000_000)
    high = peak_megabytes()
    del block
    forget_peak()
    if os.access("/proc/self/clear_refs", os.W_OK):
        assert peak_megabytes() < high - 100.0
    else:
        assert peak_megabytes() >= high


def test_the_kernel_ends_a_run_over_its_budget() -> None:
    code = (
        "import io, resource; from benchmarks.recorder import Recorder\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "Recorder(io.StringIO(), 0.1).start()\n"
        "while True: pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGXCPU


def test_events_cut_short_are_left_out_and_unknown_ones_refused() -> None:
    run = runner.Run("digits", "c", 0, "warm")
    runner.read_events(
        run,
        [
            '{"event": "point", "cpu": 1, "wall": 2, "objective": 3.0}\n',
            '{"event": "compilation", "wall": 4.5}\n',
            '{"event": "over budget"}\n',
            '{"event": "point", "cpu": 1, "wa',
        ],
    )
    assert run.points == [runner.Point(1, 2, 3.0)]
    assert (run.status, run.compilation_seconds) == ("over budget", 4.5)
    with pytest.raises(ValueError, match="unknown event"):
        runner.read_events(run, ['{"event": "party"}\n'])


def test_times_to_a_suboptimality_and_their_spread() -> None:
    runs = [
        made_run("a", [(1.0, 150.0), (2.0, 100.5), (3.0, 100.0)]),
        made_run("b", [(1.0, 100.05), (5.0, 100.02)]),
        made_run("a", [(1.0, 150.0), (4.0, 100.5), (6.0, 100.0)], repeat=1),
    ]
    first, second = results.summarise(runs)
    assert first.cpu_to[1e-2] == results.Spread(3.0, 2.0, 4.0, 2)
    assert first.wall_to[1e-2] == results.Spread(6.0, 4.0, 8.0, 2)
    assert first.cpu_to[1e-6] == results.Spread(4.5, 3.0, 6.0, 2)
    assert second.cpu_to[1e-3] == results.Spread(1.0, 1.0, 1.0, 1)
    assert second.cpu_to[1e-4] is None
    assert second.excess == pytest.approx(2e-4)


def test_report(tmp_path: Path) -> None:
    stop = {"cpu": 2, "objective": 110, "iteration": 4, "nonzero": 1200}
    runs = [
        made_run("partwise", [(9.0, 101.0), (9.5, 100.0)], start="cold", compilation_seconds=7.0),
        made_run("partwise", [(1.0, 101.0), (1.5, 100.0)], compilation_seconds=0.3),
        made_run("peer", [(2.0, 110.0)], default_stop=stop),
        runner.Run("digits", "broken", 0, "warm", status="failed", notes=["Error: a|b"]),
    ]
    report.write_report(tmp_path, runs, {"processor": "P"}, {"mnist-1": "it needs data."}, 60.0)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| partwise (cold) | 9.00 | 9.50 | 9.50 | 9.50 | 9.50 | 19.00 | finished |" in text
    assert "| partwise | 1.00 | 1.50 | 1.50 | 1.50 | 1.50 | 3.00 | finished |" in text
    assert "| peer | - | - | - | - |" in text
    assert "stop at iteration 4 after 2.0 CPU s with objective 110.0000" in text
    assert "and 1,200 weights that are not 0" in text
    assert "| 1,234 | 567 | 9.00 |" in text
    assert "Error: a/b" in text
    assert "- mnist-1: it needs data." in text
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert stored["tasks"]["digits"]["best_objective"] == 100.0
    assert len(stored["tasks"]["digits"]["runs"]) == 4
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_curves_never_rise(tmp_path: Path) -> None:
    run = made_run("a", [(1.0, 120.0), (2.0, 130.0), (3.0, 100.0)])
    assert curve(run, 100.0)[1] == pytest.approx([0.2, 0.2, 1e-9])
    with pytest.raises(ValueError, match="no positive objective"):
        draw_curves(tmp_path / "empty.png", "nothing", [])


def test_selection_of_tasks_and_contestants() -> None:
    names = [task.name for task in tasks.select_tasks(["chunking", "digits"])]
    assert names == ["digits", "chunking-observed", "chunking-all"]
    assert tasks.select_tasks([]) == list(tasks.TASKS)
    assert [c.name for c in select_contestants(["crfsuite"], "chain")] == [
        "crfsuite-lbfgs",
        "crfsuite-l2sgd",
    ]
    assert parse(["--tasks", "a9a", "--budget", "5"]).budget == 5.0
    assert main(["--tasks", "nothing"]) == 2
    assert main(["--contestants", "nobody"]) == 2


def test_demo_text_is_a_chain_problem() -> None:
    rows = data.demo_text(5, seed=0)
    assert len(rows) == 5
    assert all(len(row) == 3 for sentence in rows for row in sentence)


def test_a_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARTWISE_DATA", raising=False)
    out = ["--budget", "100000", "--out", str(tmp_path)]
    assert main(["--tasks", "digits", "a9a", "--contestants", "sklearn-lbfgs", *out]) == 0
    stored = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert "a9a" in stored["skipped"]
    (run,) = stored["tasks"]["digits"]["runs"]
    assert run["status"] == "finished"
    assert run["result"]["objective"] == pytest.approx(280.5965, rel=1e-4)
    assert run["stop"]["peak_mb"] > 10.0
