"""Fits that are killed again and again, and end as if they had not been.

``python -m benchmarks.kill_and_resume`` trains taggers, parsers and classifiers by the command,
with a smooth loss and with the hinge, each once undisturbed and once killed by SIGKILL at random
moments, some of them while a checkpoint is written. A killed training goes on from its checkpoint;
when it has come to its end, another one begins, until there were enough kills. The weights of all
ends are compared by their SHA-256, and the passes that were made twice with those between two
checkpoints.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from .data import data_file, mnist

#: What is trained: the data, the task, and options that make it take a minute or more.
_CHUNKS, _TREES = "conll2000/train.txt.gz", "conllx_es_cast3lb/train.conll.gz"
CASES = {
    "tagger log": (_CHUNKS, "tag", "--order 2 --tol 1e-5"),
    "tagger hinge": (_CHUNKS, "tag", "--loss hinge --tol 5e-3"),
    "parser log": (_TREES, "parse", "--tol 1e-5"),
    "parser hinge": (_TREES, "parse", "--loss hinge --max-passes 40"),
    "classifier log": ("mnist", "classify", "--l2 0.01 --tol 1e-7 --max-passes 250"),
    "classifier hinge": ("mnist", "classify", "--loss hinge --max-passes 300"),
}
_WROTE = re.compile(r"wrote (\S+): ([\d.]+) MiB, in ([\d.]+) s, after ([\d.]+) passes")
_ROW = re.compile(r"^\s+([\d.]+)\s+\S+\s+[-\d.]+\s")


@dataclass
class Run:
    """One process: how it ended, and what it said on the way."""

    code: int
    seconds: float
    passes: float  # the last that it reported
    written: list[float] = field(default_factory=list)  # the passes of its checkpoints
    writing: bool = False  # whether it was killed while it wrote a checkpoint
    size: float = 0.0
    ready: float = math.inf  # the seconds until it had made its first epoch


def command(case: str, data: Path, model: Path, checkpoint: Path, seconds: float) -> list[str]:
    """Return the command that trains a case."""
    _, task, options = CASES[case]
    every = ["--checkpoint", str(checkpoint), "--every", str(seconds / 60.0), "-v"]
    if checkpoint.exists():
        every += ["--resume", str(checkpoint)]
    train = [sys.executable, "-m", "partwise", "train", "--task", task, str(data)]
    return [*train, "--model", str(model), *options.split(), *every]


def run(arguments: list[str], folder: Path, kill_at: float | None, while_writing: bool) -> Run:
    """Run a command; kill it after some seconds, or in the first write of a checkpoint after."""
    began = time.monotonic()
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    made = Run(0, 0.0, 0.0)

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            if found := _WROTE.search(line):
                if "MiB" in line:
                    made.written.append(float(found[4]))
                    made.size = float(found[2])
            elif found := _ROW.match(line):
                made.passes = float(found[1])
                made.ready = min(made.ready, time.monotonic() - began)

    reader = threading.Thread(target=listen)
    reader.start()
    while process.poll() is None:
        elapsed = time.monotonic() - began
        if kill_at is not None and elapsed >= kill_at:
            # A file that is being written has a name that begins with a dot.
            open_files = [p for p in folder.glob(".partwise-*.tmp") if p.exists()]
            half = any(_size(path) > 0 for path in open_files)
            if half or not while_writing:
                process.send_signal(signal.SIGKILL)
                made.writing = half
                break
        time.sleep(0.002 if while_writing else 0.01)
    process.wait()
    reader.join()
    made.code, made.seconds = process.returncode, time.monotonic() - began
    return made


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def weights_hash(model: Path) -> str:
    """Return the SHA-256 of the weights of a model file."""
    from partwise import load_model

    return hashlib.sha256(load_model(model).weights.tobytes()).hexdigest()[:16]


def prepared(case: str, folder: Path) -> Path:
    """Return a file that the command can read."""
    source = CASES[case][0]
    if source != "mnist":
        return data_file(source)
    path = folder / "mnist.svm"
    if not path.exists():
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(*mnist("train"), str(path), zero_based=False)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=9, help="kills per case (default: 9)")
    parser.add_argument("--every", type=float, default=12.0, help="seconds between checkpoints")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", help="a file for the results, as JSON lines")
    given = parser.parse_args()
    print("| case | straight: s, passes, checkpoints (MiB) | kills, in a write | passes repeated "
          "(most in an interval) | trainings that ended with equal weights |")  # fmt: skip
    print("|---|---|---|---|---|")
    for case in given.cases:
        row = one_case(case, given.kills, given.every, random.Random(f"{given.seed} {case}"))
        print(row.pop("text"), flush=True)
        if given.output:
            with open(given.output, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def one_case(case: str, kills: int, every: float, rng: random.Random) -> dict[str, object]:
    """Train a case undisturbed, and killed again and again, and compare."""
    with tempfile.TemporaryDirectory(prefix="partwise-kill-") as name:
        folder = Path(name)
        data = prepared(case, folder)
        (folder / "straight").mkdir()
        (folder / "killed").mkdir()
        whole = folder / "straight" / "model"
        straight = run(
            command(case, data, whole, folder / "straight" / "saved", every), folder, None, False
        )
        expected = weights_hash(whole)
        model, saved = folder / "killed" / "model", folder / "killed" / "saved"
        repeated: list[float] = []
        steps = _steps(0.0, straight)
        in_write, done, ends = 0, 0, list[bool]()
        under_way = True
        while done < kills or under_way:
            held = _passes(saved)
            arguments = command(case, data, model, saved, every)
            kill_at = None
            if done < kills:
                kill_at = rng.uniform(0.8 * straight.ready, straight.ready + 2.5 * every)
            made = run(arguments, folder / "killed", kill_at, done % 3 == 2)
            steps += _steps(held, made)
            if made.code != -signal.SIGKILL:
                if made.code not in (0, 3):
                    raise SystemExit(f"{' '.join(arguments)} ended with {made.code}")
                # It has come to its end; if there are kills left, another training begins.
                ends.append(weights_hash(model) == expected)
                model.unlink()
                saved.unlink(missing_ok=True)
                under_way = False
                continue
            done, under_way = done + 1, True
            in_write += made.writing
            repeated.append(max(made.passes, held) - _passes(saved))
        same = all(ends)
        text = (
            f"| {case} | {straight.seconds:.0f} s, {straight.passes:.1f}, "
            f"{len(straight.written)} ({straight.size:.0f}) | {done}, {in_write} | "
            f"{max(repeated, default=0.0):.1f} ({max(steps, default=0.0):.1f}) | "
            f"{sum(ends)} of {len(ends)} |"
        )
        return {
            "case": case, "kills": done, "in_write": in_write, "same": same, "text": text,
            "ends": len(ends), "seconds": straight.seconds, "passes": straight.passes,
            "repeated": repeated, "interval": max(steps, default=0.0),
            "checkpoints": len(straight.written),
        }  # fmt: skip


def _steps(held: float, made: Run) -> list[float]:
    """Return the passes between checkpoints of a process that began after some passes."""
    return [after - before for before, after in pairwise([held, *made.written])]


def _passes(saved: Path) -> float:
    """Return the passes that a checkpoint has; 0 without one."""
    if not saved.exists():
        return 0.0
    from partwise.training.checkpoint import load_checkpoint

    return float(load_checkpoint(saved).header["loop"]["passes"])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
