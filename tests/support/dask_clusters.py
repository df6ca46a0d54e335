"""Clusters on this machine, for tests: their processes can be killed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import partwise
from partwise.datasets import tagged_text
from partwise.formats.brackets import write_brackets
from partwise.formats.columns import write_columns
from partwise.formats.conll import write_conll
from support import grammar_of_arcs, grammar_of_phrases


def weights_hash(estimator: Any) -> str:
    return hashlib.sha256(estimator.model_.weights.tobytes()).hexdigest()


def classes(n: int = 240) -> tuple[Any, Any]:
    """Examples whose features are whole numbers, so that sums of squares are exact."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(n, 6)).astype(float)
    return X, (X @ rng.normal(size=(6, 3)) + rng.normal(size=(n, 3))).argmax(axis=1)


def write_data(folder: Path) -> dict[str, str]:
    """Write one file per task."""
    X, y = classes()
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x)
        for row, label in zip(X, y, strict=True)
    )
    paths = {name: folder / name for name in ("tag", "classify", "parse", "brackets")}
    paths["classify"].write_text("\n".join(lines) + "\n")
    write_columns(paths["tag"], tagged_text(60))
    write_conll(paths["parse"], grammar_of_arcs.treebank(40))
    write_brackets(paths["brackets"], grammar_of_phrases.treebank(40))
    return {name: str(path) for name, path in paths.items()}


class Processes:
    """A scheduler and workers, each a process of its own.

    Parameters
    ----------
    folder : Path
        Where they may write.
    workers : int
        How many workers there are in the beginning.
    nanny : bool
        Whether workers have a nanny, which starts them again.
    paths : sequence of str or None
        Where workers look for packages first; None is where these tests found partwise.
    more : sequence of str
        Further arguments of all processes.
    """

    def __init__(
        self,
        folder: Path,
        workers: int,
        nanny: bool = False,
        paths: Sequence[str] | None = None,
        more: Sequence[str] = (),
    ) -> None:
        self.more = list(more)
        self.host = "tls://127.0.0.1" if more else "127.0.0.1"
        self.folder, self.nanny = folder, nanny
        self.paths = [str(Path(partwise.__file__).parents[1])] if paths is None else list(paths)
        noted = folder / f"scheduler-{os.urandom(3).hex()}.json"
        self.scheduler = self._start(
            "scheduler", "--host", self.host, "--port", "0", "--no-dashboard",
            "--scheduler-file", str(noted),
        )  # fmt: skip
        while not noted.exists() or not noted.read_text().strip():
            if self.scheduler.poll() is not None:
                raise RuntimeError("the scheduler did not start")
            time.sleep(0.05)
        self.address: str = json.loads(noted.read_text())["address"]
        self.workers = [self.add_worker() for _ in range(workers)]

    def _start(self, what: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "distributed.cli.dask_" + what, *arguments, *self.more]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(self.paths)}
        with (self.folder / f"{what}-{os.urandom(3).hex()}.log").open("wb") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=environment
            )

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start one more worker."""
        return self._start(
            "worker", self.address, "--nanny" if self.nanny else "--no-nanny", "--nthreads", "1",
            "--host", self.host, "--no-dashboard", "--local-directory", str(self.folder),
        )  # fmt: skip

    def close(self) -> None:
        # A worker ends by itself when its nanny is gone.
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextlib.contextmanager
def processes(folder: Path, workers: int, *how: Any, **named: Any) -> Iterator[Processes]:
    """Run a cluster whose processes can be killed."""
    made = Processes(folder, workers, *how, **named)
    try:
        yield made
    finally:
        made.close()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
