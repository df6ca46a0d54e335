"""Run one contestant: ``python -m benchmarks.worker TASK CONTESTANT --events FILE``.

Writes events as JSON lines. The runner starts it with one thread and, for compiled contestants,
with its own folder for numba's cache.
"""

from __future__ import annotations

import argparse
import logging
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .contestants import contestant_named
from .contestants.base import Contestant
from .problems import Problem, objective, score_on_test
from .recorder import Recorder, forget_peak, peak_megabytes
from .tasks import task_named


@contextmanager
def _stage(recorder: Recorder, name: str) -> Iterator[None]:
    """Record the CPU and wall seconds of a stage, and the peak memory after it."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    recorder.event(
        "stage",
        name=name,
        cpu=time.process_time() - cpu,
        wall=time.perf_counter() - wall,
        peak_mb=peak_megabytes(),
    )


@contextmanager
def _compilations(recorder: Recorder, contestant: Contestant) -> Iterator[None]:
    """Record the wall seconds that numba spends compiling, or loading what it compiled before."""
    if not contestant.compiled:
        yield
        return
    from numba.core import event as numba_event

    seconds: list[float] = []
    # Functions and C callbacks alike hold the compiler's lock while they are compiled or loaded.
    with numba_event.install_timer("numba:compiler_lock", seconds.append):
        yield
    recorder.event("compilation", wall=sum(seconds))


def run(
    contestant: Contestant, problem: Problem, recorder: Recorder, prepare_only: bool = False
) -> None:
    """Train and evaluate one contestant on a problem that is already loaded."""
    with _compilations(recorder, contestant):
        with _stage(recorder, "import"):
            contestant.load_library()
        with _stage(recorder, "prepare"):
            contestant.prepare(problem)
        if prepare_only:
            return
        weights = contestant.train(problem, recorder)
    score_name, score = score_on_test(problem, weights)
    recorder.event(
        "result",
        objective=objective(problem, weights),
        weights=weights.count,
        nonzero=weights.nonzero,
        score_name=score_name,
        score=score,
    )


def main() -> None:
    """Run the worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("contestant")
    parser.add_argument("--events", type=Path, required=True)
    parser.add_argument("--budget", type=float, default=600.0)
    parser.add_argument("--prepare-only", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    # The operating system ends a run over its budget with a signal that would otherwise dump core.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with arguments.events.open("w", encoding="utf-8") as stream:
        recorder = Recorder(stream, arguments.budget)
        with _stage(recorder, "load"):
            problem = task_named(arguments.task).load()
            # The memory that only reading needed must not hide what training needs.
            forget_peak()
        contestant = contestant_named(arguments.contestant)
        run(contestant, problem, recorder, arguments.prepare_only)


if __name__ == "__main__":
    main()
