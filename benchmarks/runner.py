"""Runs contestants in turn, each in its own process, and collects what they recorded."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .contestants.base import Contestant
from .tasks import Task

_logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Point:
    """The objective at one time of the training clock."""

    cpu: float
    wall: float
    objective: float
    rung: float | None = None
    nonzero: float | None = None


@dataclass
class Run:
    """The record of one run of one contestant on one task."""

    task: str
    contestant: str
    repeat: int
    start: str
    status: str = "finished"
    points: list[Point] = field(default_factory=list)
    stages: dict[str, dict[str, float]] = field(default_factory=dict)
    stop: dict[str, float] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    default_stop: dict[str, float] = field(default_factory=dict)
    certified: list[dict[str, float]] = field(default_factory=list)
    compilation_seconds: float | None = None
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def read_events(run: Run, lines: list[str]) -> None:
    """Fill a run from the lines that its worker wrote, without a last line that was cut short."""
    for line in lines:
        if not line.endswith("\n"):
            continue
        fields = json.loads(line)
        event = fields.pop("event")
        if event == "point":
            run.points.append(Point(**fields))
        elif event == "stage":
            run.stages[fields.pop("name")] = fields
        elif event == "stop":
            run.stop = fields
        elif event == "result":
            run.result = fields
        elif event == "default stop":
            run.default_stop = fields
        elif event == "certified":
            run.certified.append(fields)
        elif event == "compilation":
            run.compilation_seconds = fields["wall"]
        elif event == "over budget":
            run.status = "over budget"
        elif event == "note":
            run.notes.append(fields["text"])
        else:
            raise ValueError(f"the worker of {run.contestant} wrote an unknown event: {event!r}.")


def worker_environment(cache: Path | None) -> dict[str, str]:
    """Return an environment with one thread, the sources on the path, and a cache for numba."""
    environment = dict(os.environ)
    environment.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    paths = [str(ROOT), str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment["PYTHONHASHSEED"] = "0"
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    return environment


def run_once(run: Run, budget: float, cache: Path | None) -> Run:
    """Start the worker, wait for it, and fill the run."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder, "events.jsonl")
        command = [sys.executable, "-m", "benchmarks.worker", run.task, run.contestant]
        command += ["--events", str(events), "--budget", repr(budget)]
        command += ["--prepare-only"] if run.start == "cold" else []
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=worker_environment(cache),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if events.exists():
            with events.open(encoding="utf-8") as stream:
                read_events(run, list(stream))
    if done.returncode == -signal.SIGXCPU:
        run.status = "over budget"
        # The operating system ended it without a stop event: the last point is the best we know.
        if run.points and not run.stop:
            run.stop = {"cpu": run.points[-1].cpu, "wall": run.points[-1].wall}
    elif done.returncode != 0:
        run.status = "failed"
        run.notes.append((done.stderr.strip().splitlines() or [f"code {done.returncode}"])[-1])
    return run


def run_task(task: Task, contestants: list[Contestant], repeat: int, budget: float) -> list[Run]:
    """Run all contestants on one task, ``repeat`` times, beginning with another one each time.

    A compiled contestant is first prepared cold, with an empty cache, and then runs warm. It
    compiles while it prepares, so training would be the same in both cases. The others have nothing
    to warm up and run once.
    """
    runs: list[Run] = []
    for turn in range(repeat):
        shift = turn % max(len(contestants), 1)
        for contestant in contestants[shift:] + contestants[:shift]:
            cache = Path(tempfile.mkdtemp(prefix="numba-cache-")) if contestant.compiled else None
            try:
                for start in ("cold", "warm") if contestant.compiled else ("warm",):
                    run = Run(task.name, contestant.name, turn, start)
                    _logger.info("%s: %s, %s, turn %d", task.name, contestant.name, start, turn + 1)
                    runs.append(run_once(run, budget, cache))
                    _logger.info("%s: %s: %s", task.name, contestant.name, summary_line(run))
            finally:
                if cache is not None:
                    shutil.rmtree(cache, ignore_errors=True)
    return runs


def summary_line(run: Run) -> str:
    """Return one line for the log."""
    if run.status == "failed":
        return f"failed: {run.notes[-1]}"
    if run.start == "cold":
        return f"prepared, {run.compilation_seconds or 0.0:.1f} s of compilation"
    cpu = run.stop.get("cpu", 0.0)
    value = min((point.objective for point in run.points), default=float("nan"))
    return f"{run.status}, {len(run.points)} points, {cpu:.2f} CPU s, objective {value:.6f}"
