"""Train on more than fits into memory: ``python -m benchmarks.out_of_core --tokens 10000000``.

A tagged text with a Zipf vocabulary is drawn at random and trained on twice, in processes of their
own: in memory, and from disk with a limit of a quarter of the memory that the first fit took. Both
go on until the relative gap is at most tol. The limit is a control group's (of version 1 or 2),
which only root can make; without one, the fit on disk runs without a limit and says so.

With ``--kill`` a third fit, on disk as the second one and with a checkpoint every few seconds, is
killed by SIGKILL after some of its checkpoints and goes on from the last one. Its weights are
compared with those of the second fit by their SHA-256.

Prints a table, and writes out_of_core.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .limits import table
from .recorder import peak_megabytes
from .tagged_text import N_LABELS, TaggedText

_CGROUPS = Path("/sys/fs/cgroup")


class MemoryGroup:
    """A control group with a limit on the memory of the processes in it, page cache included."""

    def __init__(self, limit: int) -> None:
        old = _CGROUPS / "memory"
        self.path = (old if old.is_dir() else _CGROUPS) / f"partwise-{os.getpid()}"
        self.path.mkdir()
        file = "memory.limit_in_bytes" if old.is_dir() else "memory.max"
        (self.path / file).write_text(str(limit), encoding="ascii")
        self._peak = "memory.max_usage_in_bytes" if old.is_dir() else "memory.peak"

    def enter(self) -> None:
        """Move this process into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def peak(self) -> int:
        """Return the most that the group has used."""
        return int((self.path / self._peak).read_text(encoding="ascii"))

    def remove(self) -> None:
        """Delete the group, which must be empty."""
        self.path.rmdir()


def counters() -> dict[str, int]:
    """Return the page faults of this process and the bytes that it moved, so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    found = {"major_faults": usage.ru_majflt, "minor_faults": usage.ru_minflt}
    with suppress(OSError):
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(": ")
            if name in ("read_bytes", "write_bytes"):
                found[name] = int(value)
    return found


def build(text: TaggedText, folder: Path | None, resume: bool) -> tuple[Any, float]:
    """Return the problem, in memory or on disk, and the seconds after the text was drawn."""
    from partwise.problem.batches import ProblemWriter
    from partwise.problem.losses import make_loss
    from partwise.problem.numbering import Numbering
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows

    loss = make_loss("log", N_LABELS)
    if folder is not None:
        writer, seen = ProblemWriter(folder, resume=resume), np.zeros(text.n_features, bool)
        for batch in text.batches():
            seen[batch.rows[0].indices] = True
            writer.add(batch)
        began = time.perf_counter()
        problem = writer.finish(
            text.structure, Numbering(text.feature_counts, [seen, None, None, None]), loss=loss
        )
        return problem, time.perf_counter() - began
    rows, shapes, others = [], [], None
    gold: list[Any] = []
    for batch in text.batches():
        rows.append(batch.rows[0])
        others = batch.rows[1:]
        shapes.append(batch.shapes)
        gold += batch.gold
    began = time.perf_counter()
    joined = Rows.stack(rows)
    rows.clear()
    joined = joined.keep(joined.counts() > 0)
    assert others is not None
    problem = build_problem(text.structure, np.concatenate(shapes), [joined, *others], gold, loss)
    return problem, time.perf_counter() - began


def fit(options: argparse.Namespace) -> dict[str, Any]:
    """Train once in this process, and return what it took."""
    from partwise.training.loop import train

    text = TaggedText(options.tokens)
    saved = options.checkpoint is not None and options.checkpoint.exists()
    problem, building = build(text, options.folder, saved)
    more: dict[str, Any] = {}
    if options.checkpoint is not None:
        from partwise.training.checkpoint import Checkpoint

        more["checkpoint"] = Checkpoint(options.checkpoint, options.every, resume=saved)
    built, began, cpu = counters(), time.perf_counter(), time.process_time()
    done = train(
        problem, options.l2, solver=options.solver, tol=options.tol, n_jobs=options.jobs, **more
    )
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    found = {
        "tokens": text.n_batches * text.batch_tokens,
        "examples": problem.n_examples,
        "features": sum(problem.layout.n_features),
        "parts": problem.n_parts,
        "vector_bytes": 8 * problem.storage.n_places,
        "relative_gap": done.certificate.relative_gap,
        "objective": done.certificate.primal,
        "passes": done.certificate.passes,
        "building": building,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_megabytes": peak_megabytes(),
        "hash": hashlib.sha256(done.weights.tobytes()).hexdigest()[:16],
    }
    found.update({name: value - built[name] for name, value in counters().items()})
    room = problem.room
    if options.folder is not None:
        found["disk_bytes"] = room.nbytes + sum(
            blocked.file.nbytes for blocked in room.duals.values()
        )
        found["blocks"] = room.n_blocks
        room.close(remove=options.checkpoint is None)
    return found


def in_process(
    options: argparse.Namespace,
    limit: int | None,
    folder: Path | None,
    checkpoint: Path | None = None,
    writes: int | None = None,
) -> Any:
    """Train once in a new process, and return what it took.

    With `writes` the process is killed after so many checkpoints and half the time to the next one,
    and None is returned.
    """
    group: MemoryGroup | None = None
    enter: Callable[[], None] | None = None
    if limit is not None:
        try:
            group = MemoryGroup(limit)
            enter = group.enter
        except OSError as error:
            print(f"no limit, as there can be no control group: {error}", file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--fit"]
    for name in ("tokens", "l2", "tol", "jobs", "solver"):
        command += [f"--{name}", str(getattr(options, name))]
    if folder is not None:
        command += ["--folder", str(folder)]
    if checkpoint is not None:
        command += ["--checkpoint", str(checkpoint), "--every", str(options.every)]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=enter)
        if checkpoint is not None and writes is not None:
            await_writes(process, checkpoint, writes)
            time.sleep(30.0 * options.every)
            process.kill()
        out, _ = process.communicate()
        if writes is not None and process.returncode == -signal.SIGKILL:
            return None
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        found = json.loads(out)
        if group is not None:
            found["group_peak"], found["limit"] = group.peak(), limit
        return found
    finally:
        if group is not None:
            group.remove()


def await_writes(process: subprocess.Popen[bytes], path: Path, writes: int) -> None:
    """Wait until a file was written so often, or the process has ended."""
    last, seen = 0, 0
    while seen < writes and process.poll() is None:
        time.sleep(0.05)
        with suppress(OSError):
            now = path.stat().st_mtime_ns
            seen, last = seen + (now != last), now


def killed(options: argparse.Namespace, limit: int, folder: Path) -> dict[str, Any]:
    """Train on disk, killed again and again; returns what all processes together took."""
    checkpoint, kills = folder.parent / "checkpoint", 0
    for _ in range(options.kill):
        if in_process(options, limit, folder, checkpoint, writes=2) is not None:
            raise SystemExit("the fit ended before it was killed; give --every a smaller number")
        kills += 1
    found: dict[str, Any] = in_process(options, limit, folder, checkpoint)
    # What the last process counted is of the last stretch alone, but for the passes.
    return {**found, "kills": kills, "checkpoint_bytes": checkpoint.stat().st_size}


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Train in memory and on disk."""
    memory = in_process(options, None, None)
    limit = int(memory["peak_megabytes"] * 2**20 * options.share)
    root = tempfile.mkdtemp(dir=options.disk)
    try:
        found = {"memory": memory, "disk": in_process(options, limit, Path(root) / "fit")}
        if options.kill:
            found["killed"] = killed(options, limit, Path(root) / "again")
    finally:
        shutil.rmtree(root)
    return found


def rows(found: dict[str, Any]) -> list[list[str]]:
    """Return the lines of the table."""

    def line(what: str, show: Callable[[dict[str, Any]], str]) -> list[str]:
        return [what, *(show(side) if side else "-" for side in found.values())]

    def count(name: str, unit: float = 1.0, digits: int = 0) -> Callable[[dict[str, Any]], str]:
        return lambda side: f"{side[name] / unit:,.{digits}f}" if name in side else "-"

    return [
        line("tokens", count("tokens")),
        line("features", count("features")),
        line("relative gap", lambda side: f"{side['relative_gap']:.2e}"),
        line("objective", lambda side: f"{side['objective']:.6g}"),
        line("passes", count("passes", 1, 1)),
        line("SHA-256 of the weights", lambda side: side["hash"]),
        line("killed", count("kills")),
        line("checkpoint, MiB", count("checkpoint_bytes", 2**20)),
        line("seconds of building", count("building", 1, 1)),
        line("seconds of training", count("seconds", 1, 1)),
        line("CPU seconds of training", count("cpu_seconds", 1, 1)),
        line("limit, MiB", count("limit", 2**20)),
        line("peak of the group, MiB", count("group_peak", 2**20)),
        line("peak of the process, MiB", count("peak_megabytes")),
        line("one vector as long as the weights, MiB", count("vector_bytes", 2**20)),
        line("on disk, MiB", count("disk_bytes", 2**20)),
        line("blocks", count("blocks")),
        line("read in training, MiB", count("read_bytes", 2**20)),
        line("written in training, MiB", count("write_bytes", 2**20)),
        line("major page faults", count("major_faults")),
        line("minor page faults", count("minor_faults")),
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.out_of_core")
    parser.add_argument("--tokens", type=int, default=500_000)
    parser.add_argument("--l2", type=float, default=10.0)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--share", type=float, default=0.25, help="of the memory (default: 0.25)")
    parser.add_argument("--disk", type=Path, default=None, help="folder for the files of the fit")
    parser.add_argument("--out", type=Path, default=Path("bench-results"))
    parser.add_argument("--fit", action="store_true", help="train once, in this process")
    parser.add_argument("--folder", type=Path, default=None, help="with --fit: train from disk")
    parser.add_argument("--checkpoint", type=Path, default=None, help="with --fit: save and resume")
    parser.add_argument("--every", type=float, default=0.1, help="minutes between checkpoints")
    parser.add_argument("--kill", type=int, default=0, help="how often to kill a fit on disk")
    options = parser.parse_args(arguments)
    if options.fit:
        print(json.dumps(fit(options)))
        return 0
    found = compare(options)
    print(table(["", "in memory", "on disk", "killed and resumed"][: len(found) + 1], rows(found)))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "out_of_core.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
