"""A scheduler and workers of Dask on this machine, as processes that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import partwise

__all__ = ["Killer", "Processes", "kill", "processes"]


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
        Where workers look for packages first; None is where this process found partwise.
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
        """End all processes."""
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
    """End a process at once."""
    os.kill(pid, signal.SIGKILL)


class Killer:
    """Kills one worker in a fit: at a moment, or while a round runs.

    Parameters
    ----------
    cluster, client
        The cluster.
    rng : random.Random
        Chooses the worker.
    replaced : bool
        Whether another worker is started at once; a nanny does so anyway.
    """

    def __init__(self, cluster: Processes, client: Any, rng: random.Random, replaced: bool) -> None:
        self.cluster, self.client, self.rng, self.replaced = cluster, client, rng, replaced
        self.killed = False

    def kill(self) -> None:
        """Kill a worker."""
        pids = sorted(self.client.run(os.getpid, on_error="ignore").values())
        if self.killed or not pids:
            return
        self.killed = True
        kill(self.rng.choice(pids))
        if self.replaced and not self.cluster.nanny:
            self.cluster.workers.append(self.cluster.add_worker())

    @contextlib.contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Kill after some seconds."""
        timer = threading.Timer(seconds, self.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    @contextlib.contextmanager
    def inside(self, number: int) -> Iterator[None]:
        """Kill when the tasks of a round have just been sent."""
        import distributed

        kind: Any = distributed.Client
        submit, rounds = kind.submit, 0

        def counted(client: Any, *given: Any, key: str, **named: Any) -> Any:
            nonlocal rounds
            future = submit(client, *given, key=key, **named)
            if "-round-" in key:
                rounds += 1
                if rounds == number:
                    self.kill()
            return future

        with patch.object(kind, "submit", counted):
            yield
