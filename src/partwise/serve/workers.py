"""The threads that predict, and the requests that wait for them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["Job", "Workers"]

_log = logging.getLogger(__name__)

#: The most small jobs that one thread takes at a time.
_BATCH: Final = 32


class Job:
    """A piece of work for one request.

    Attributes
    ----------
    small : bool
        Whether it may be done together with other small ones.
    wanted : bool
        Whether anybody still waits for the answer.
    """

    small = False
    wanted = True


class Workers:
    """Some threads with one bounded queue.

    Parameters
    ----------
    n_threads : int
        The number of threads.
    max_queue : int
        How many jobs may wait.
    work : callable
        What is done with some jobs. It must not raise an exception.
    """

    def __init__(
        self, n_threads: int, max_queue: int, work: Callable[[Sequence[Job]], None]
    ) -> None:
        self.n_threads, self.max_queue = n_threads, max_queue
        self._work = work
        self._waiting: deque[Job] = deque()
        self._ready = threading.Condition()
        self._busy = 0
        self._stopped = False
        self._threads = [
            # A daemon, as a compiled call cannot be cancelled and must not keep the process.
            threading.Thread(target=self._run, name=f"partwise-serve-{i}", daemon=True)
            for i in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def queued(self) -> int:
        """The number of jobs that wait."""
        return len(self._waiting)

    @property
    def busy(self) -> int:
        """The number of threads at work."""
        return self._busy

    def submit(self, job: Job) -> bool:
        """Queue a job; return False if there is no room for it."""
        with self._ready:
            if self._stopped or len(self._waiting) >= self.max_queue:
                return False
            self._waiting.append(job)
            self._ready.notify()
        return True

    def stop(self, seconds: float) -> bool:
        """Do what is queued, end the threads, and return whether all have ended in time."""
        with self._ready:
            self._stopped = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._waiting and not self._stopped:
                    self._ready.wait()
                if not self._waiting:
                    return
                jobs = self._taken()
                self._busy += 1
            try:
                self._work([job for job in jobs if job.wanted])
            except Exception:
                _log.exception("a thread of the server failed")
            finally:
                with self._ready:
                    self._busy -= 1

    def _taken(self) -> list[Job]:
        """Take the next job and, if it is small, a fair share of the small ones behind it."""
        jobs = [self._waiting.popleft()]
        share = min(_BATCH, 1 + len(self._waiting) // self.n_threads)
        while jobs[0].small and len(jobs) < share and self._waiting and self._waiting[0].small:
            jobs.append(self._waiting.popleft())
        return jobs
