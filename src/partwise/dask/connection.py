"""The connection to a cluster: tasks that are bound to workers, and the loss of workers."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

import partwise

from ..errors import ClusterError

__all__ = ["BoundTask", "Cluster", "WorkerLost"]

_log = logging.getLogger(__name__)

#: How often the list of workers is looked at while tasks run, in seconds ...
_LOOK: Final = 1.0
#: ... and how long data may take to arrive before it is looked at; doubled every time.
_ARRIVAL: Final = 5.0
#: How long the scheduler may take to answer, in seconds.
_ANSWER: Final = 60.0
#: How long to wait for a worker where there is none, in seconds.
PATIENCE: Final = 120.0
_IMPORT: Final = r"ImportError|ModuleNotFoundError"


class WorkerLost(Exception):
    """A worker is gone, or has lost what it held of a fit."""


class BoundTask(NamedTuple):
    """A task, and the worker that it is bound to; None if any worker may do it."""

    worker: str | None
    future: Any


class Cluster:
    """A client of a cluster.

    Parameters
    ----------
    client : distributed.Client
        The client.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = str(client.scheduler.address)
        self._checked: set[str] = set()

    @property
    def alive(self) -> bool:
        """Whether there is a connection to the scheduler."""
        return bool(self.client.status == "running")

    def gone(self) -> ClusterError:
        """Return the error for a scheduler that is gone."""
        return ClusterError(f"the scheduler at {self.address} cannot be reached any more")

    def _ask(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Ask the scheduler something, which must answer within a while."""
        if not self.alive:
            raise self.gone()
        try:
            with self._talking():
                return self.client.sync(function, *given, callback_timeout=_ANSWER, **named)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise ClusterError(
                f"the scheduler at {self.address} has not answered for {_ANSWER:.0f} s"
            ) from error

    def workers(self) -> dict[str, int]:
        """Return the addresses of the workers that can be given tasks, and their threads.

        A worker that Dask has paused, because its memory is full, is none of them.
        """
        # Without the number, only some workers are told.
        found = self._ask(self.client.scheduler.identity, n_workers=-1)["workers"]
        return {
            address: int(held["nthreads"])
            for address, held in sorted(found.items())
            if held.get("status", "running") == "running"
        }

    def some_workers(self) -> dict[str, int]:
        """Return the workers, once there is at least one, all of which have our versions."""
        began = time.monotonic()
        while not (found := self.workers()):
            if time.monotonic() - began > PATIENCE:
                raise ClusterError(
                    f"the cluster at {self.address} has had no worker for {PATIENCE:.0f} s, or "
                    "only such that are paused because their memory is full; start some"
                )
            time.sleep(0.2)
        self.check_versions([address for address in found if address not in self._checked])
        return found

    def check_versions(self, addresses: Sequence[str]) -> None:
        """Raise a ClusterError if workers have other versions than this process."""
        if not addresses:
            return
        mine = versions()
        found = self._ask(self.client._run, versions, workers=list(addresses), on_error="return")
        for address, theirs in found.items():
            # Dask replaces an error that it cannot send by its text.
            if isinstance(theirs, ImportError) or re.search(_IMPORT, repr(theirs)):
                raise ClusterError(
                    f"the worker {address} cannot import partwise ({theirs}); install partwise "
                    f"{mine['partwise']} there, or start workers in this environment"
                )
            if isinstance(theirs, BaseException):
                raise ClusterError(f"the worker {address} does not answer: {theirs!r}")
            for name, version in mine.items():
                if theirs.get(name) != version:
                    raise ClusterError(
                        f"the worker {address} has {name} {theirs.get(name)} where this process "
                        f"has {version}; use the same versions everywhere"
                    )
        self._checked.update(addresses)

    def submit(
        self, worker: str | None, name: str, function: Callable[..., Any], *arguments: Any
    ) -> BoundTask:
        """Start a task, on one worker alone or on any.

        Parameters
        ----------
        worker : str or None
            The address of the worker.
        name : str
            What the dashboard shows; unique.
        function, *arguments
            What to call.
        """
        bound = {} if worker is None else {"workers": [worker], "allow_other_workers": False}
        with self._talking():
            future = self.client.submit(function, *arguments, key=name, pure=False, **bound)
        return BoundTask(worker, future)

    def share(self, data: Any, workers: Sequence[str]) -> dict[str, Any]:
        """Send something large to workers before tasks need it, and return its future on each.

        Dask can copy data from one worker to the others, but its scheduler then tries for ever to
        reach one that is lost meanwhile, and copies nothing else until it does.
        """
        scatter = self.client._scatter

        async def to_each(data: Any) -> list[list[Any]]:
            how = {"direct": True, "hash": False}
            sent = [scatter([data], workers=[one], **how) for one in workers]
            return list(await asyncio.gather(*sent))

        try:
            sent = self._arrived(to_each, data, set(workers), {})
        except (ValueError, KeyError) as error:
            if not self.alive:
                raise self.gone() from error
            lost = set(workers) - set(self.workers())
            raise WorkerLost(", ".join(sorted(lost)) or str(error)) from error
        return {worker: one for worker, (one,) in zip(workers, sent, strict=True)}

    def _arrived(
        self, function: Callable[..., Any], data: Any, workers: set[str], named: dict[str, Any]
    ) -> Any:
        """Send or fetch data, and look at the workers when it takes long."""
        patience = _ARRIVAL
        while True:
            try:
                with self._talking():
                    return self.client.sync(function, data, callback_timeout=patience, **named)
            except (asyncio.TimeoutError, TimeoutError):
                self._look(workers)
                patience *= 2.0

    def collect(self, tasks: Sequence[BoundTask]) -> list[Any]:
        """Wait for tasks, and return their results.

        If a worker that one of them is bound to is gone, WorkerLost is raised.
        """
        from distributed import wait as waited

        wait: Any = waited

        futures = [task.future for task in tasks]
        workers = {task.worker for task in tasks if task.worker is not None}
        try:
            while True:
                try:
                    with self._talking(), self.client.as_current():
                        wait(futures, timeout=_LOOK)
                    break
                except (asyncio.TimeoutError, TimeoutError):
                    self._look(workers)
                    self._check([future for future in futures if future.done()])
            self._check(futures)
            # Straight from the workers.
            found: list[Any] = self._arrived(
                self.client._gather, futures, workers, {"direct": True}
            )
            return found
        except BaseException:
            self.cancel(futures)
            raise

    def _look(self, workers: set[str]) -> None:
        """Raise WorkerLost if a worker is gone; wait for one if none is there."""
        lost = workers - set(self.workers() if workers else self.some_workers())
        if lost:
            raise WorkerLost(", ".join(sorted(lost)))

    def _check(self, futures: Sequence[Any]) -> None:
        """Raise the error of a task that failed."""
        from distributed.scheduler import KilledWorker

        from .station import Forgotten

        for future in futures:
            if future.status == "error":
                error = self._ask(future._exception)
                if isinstance(error, (KilledWorker, Forgotten)):
                    raise WorkerLost(str(error)) from error
                raise error
            if future.status in ("cancelled", "lost"):
                if not self.alive:
                    raise self.gone()
                raise WorkerLost(f"the task {future.key} was lost")

    def cancel(self, futures: Sequence[Any]) -> None:
        """Give up tasks."""
        if self.alive:
            with suppress(Exception):
                self.client.cancel(list(futures), force=True)

    def forget(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call something on all workers, if they can be reached."""
        if self.alive:
            with suppress(Exception):
                self._ask(self.client._run, function, *arguments, on_error="ignore")

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Turn the errors of a lost connection into one sentence."""
        from distributed.comm.core import CommClosedError

        try:
            yield
        except (CommClosedError, ConnectionError, asyncio.CancelledError, CancelledError) as error:
            if not self.alive:
                raise self.gone() from error
            raise WorkerLost(str(error)) from error
        except (RuntimeError, ValueError, AttributeError, OSError) as error:
            if self.alive:
                raise
            raise self.gone() from error


def versions() -> dict[str, str]:
    """Return what driver and workers must have in common."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    found["partwise"] = partwise.__version__
    return found | {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
