from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from test_benchmarks import Clock, events_of, made_run, toy_chain, toy_linear

from benchmarks import problems, report, results, runner
from benchmarks.contestants.partwise_ import CERTIFIED, Partwise
from benchmarks.recorder import Recorder
from benchmarks.worker import run as run_worker


@pytest.mark.parametrize(
    ("loss", "peer"), [("softmax", "sklearn-lbfgs"), ("logistic", "sklearn-newton-cholesky")]
)
def test_classifiers_reach_the_optimum_of_a_peer(loss: problems.LinearLoss, peer: str) -> None:
    problem = toy_linear(loss, 2 if loss == "logistic" else 3)
    best = events_of(peer, problem).result["objective"]
    run = events_of("partwise", problem)
    assert run.status == "finished"
    assert run.result["objective"] == pytest.approx(best, rel=1e-6)
    assert run.points[-1].objective == pytest.approx(run.result["objective"], rel=1e-9)
    assert [found["tol"] for found in run.certified] == list(CERTIFIED)
    assert all(found["relative_gap"] <= found["tol"] for found in run.certified)


@pytest.mark.parametrize(
    ("loss", "peer"), [("softmax", "sklearn-lbfgs"), ("logistic", "sklearn-newton-cg")]
)
def test_one_of_the_solvers_alone(loss: problems.LinearLoss, peer: str) -> None:
    problem = toy_linear(loss, 2 if loss == "logistic" else 3)
    best = events_of(peer, problem).result["objective"]
    run = events_of("partwise-dual-cd", problem)
    assert run.result["objective"] == pytest.approx(best, rel=1e-6)
    assert any("to build the problem" in note for note in run.notes)


def test_the_hinge_comes_near_the_optimum_of_a_peer() -> None:
    problem = toy_linear("hinge")
    best = events_of("sklearn-linearsvc", problem).result["objective"]
    run = events_of("partwise", problem)
    assert best * (1 - 1e-9) <= run.result["objective"] <= best * (1 + 1e-3)


@pytest.mark.parametrize("all_weights", [True, False])
def test_chains_reach_the_optimum_of_a_peer(all_weights: bool) -> None:
    problem = toy_chain(all_weights)
    peer, run = (events_of(name, problem) for name in ("crfsuite-lbfgs", "partwise"))
    assert run.result["objective"] == pytest.approx(peer.result["objective"], rel=1e-6)
    assert run.result["weights"] == peer.result["weights"]
    assert run.result["score"] == peer.result["score"]


def test_an_elastic_net_has_the_optimum_and_the_zeros_of_a_peer() -> None:
    problem = replace(toy_chain(all_weights=False), l2=0.1, l1=0.5)
    peer, run = (events_of(name, problem) for name in ("crfsuite-lbfgs", "partwise"))
    assert run.result["objective"] == pytest.approx(peer.result["objective"], rel=1e-5)
    assert 0 < run.result["nonzero"] < run.result["weights"]
    assert run.result["nonzero"] == pytest.approx(peer.result["nonzero"], abs=2)


def test_everything_is_compiled_before_the_clock_starts() -> None:
    from numba.core import event

    contestant, problem = Partwise(), toy_chain()
    contestant.load_library()
    contestant.prepare(problem)
    with event.install_recorder("numba:compile") as compiled:
        contestant.train(problem, Recorder(io.StringIO(), 30.0, enforced=False))
    assert [seen for _, seen in compiled.buffer if seen.is_start] == []


def test_a_cold_start_is_prepared_and_not_trained() -> None:
    stream = io.StringIO()
    run_worker(
        Partwise(), toy_linear("softmax"), Recorder(stream, 30.0, enforced=False), prepare_only=True
    )
    run = runner.Run("digits", "partwise", 0, "cold")
    runner.read_events(run, stream.getvalue().splitlines(keepends=True))
    assert set(run.stages) == {"import", "prepare"}
    assert run.compilation_seconds is not None
    assert (run.points, run.stop, run.result) == ([], {}, {})
    assert "prepared" in runner.summary_line(run)


def test_a_spent_budget_ends_the_run() -> None:
    run = events_of("partwise", toy_linear("softmax"), budget=0.0)
    assert run.status == "over budget"
    assert len(run.certified) == 1
    assert run.result["objective"] > 0.0


def test_pauses_do_not_use_up_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    clock = Clock(monkeypatch)
    # Far from what this process has used: the kernel goes by its own clock.
    recorder = Recorder(io.StringIO(), 1e5)
    recorder.start()
    before = resource.getrlimit(resource.RLIMIT_CPU)[0]
    with recorder.paused():
        clock.run(7.0, 9.0)
    after = resource.getrlimit(resource.RLIMIT_CPU)[0]
    recorder.stop()
    assert after == before + 7
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    assert soft == hard


def test_certified_runs_are_reported(tmp_path: Path) -> None:
    fields = {"tol": 1e-3, "cpu": 2.0, "wall": 3.0, "passes": 11.0, "relative_gap": 5e-4}
    fields["nonzero"] = 77
    slower = {**fields, "cpu": 4.0}
    short = {**fields, "tol": 1e-4}
    runs = [
        made_run("partwise", [(1.0, 100.0)], certified=[fields, short]),
        made_run("partwise", [(1.0, 100.0)], certified=[slower, short], repeat=1),
        runner.Run("digits", "partwise", 0, "cold", compilation_seconds=20.0),
    ]
    warm = results.summarise(runs)[0]
    assert warm.certified[1e-3].cpu == results.Spread(3.0, 2.0, 4.0, 2)
    assert warm.certified[1e-4].cpu is None
    report.write_report(tmp_path, runs, {}, {}, 60.0)
    text = (tmp_path / "results.md").read_text("utf-8")
    assert "| partwise | 1e-03 | 3.00 (2.00 to 4.00) |" in text
    assert "| partwise | 1e-04 | - | - | - | 5.0e-04 | 77 |" in text
    assert "| partwise | cold | - | - | - | 20.00 |" in text
    assert "| partwise (cold) |" not in text
