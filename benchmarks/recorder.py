"""The training clock, its budget, and the stream of what happened."""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO


def peak_megabytes() -> float:
    """The peak resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in kilobytes, macOS in bytes.
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def forget_peak() -> None:
    """Let the peak begin again at what is resident now; only Linux can, elsewhere it stays."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


#: CPU seconds beyond the budget before the kernel ends a run that does not end itself.
GRACE = 1


class Recorder:
    """Writes one JSON object a line as training goes on, so that a killed run leaves its record.

    The clock is the CPU time and the wall time of this process since ``start``, less what was
    spent in ``paused``. ``start`` also tells the kernel to end the process when the budget is used
    up, if that is to be enforced: it works inside compiled code, which no Python handler can
    interrupt.
    """

    def __init__(self, stream: TextIO, budget: float, enforced: bool = True) -> None:
        self.stream = stream
        self.budget = budget
        self.enforced = enforced
        self._cpu = time.process_time()
        self._wall = time.perf_counter()
        self._peak: float | None = None
        self._running = False

    def event(self, event: str, **fields: Any) -> None:
        """Write one line and flush it."""
        self.stream.write(json.dumps({"event": event, **fields}) + "\n")
        self.stream.flush()

    def start(self) -> None:
        """Set the clock to zero and the budget running."""
        self._running = True
        self._cpu = time.process_time()
        self._wall = time.perf_counter()
        self._limit()

    def _limit(self) -> None:
        """Let the kernel end the process when what is left of the budget is used up."""
        if not self.enforced:
            return
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        end = math.ceil(self._cpu + 1.05 * self.budget) + GRACE if self._running else hard
        resource.setrlimit(resource.RLIMIT_CPU, (end, hard))

    def elapsed(self) -> tuple[float, float]:
        """CPU and wall seconds on the clock."""
        return time.process_time() - self._cpu, time.perf_counter() - self._wall

    def stop(self) -> tuple[float, float]:
        """Lift the budget; record and return the clock.

        The peak memory is that of the first stop: what the harness does afterwards to evaluate the
        weights must not count.
        """
        cpu, wall = self.elapsed()
        self._running = False
        self._limit()
        if self._peak is None:
            self._peak = peak_megabytes()
        self.event("stop", cpu=cpu, wall=wall, peak_mb=self._peak)
        return cpu, wall

    def spent(self) -> bool:
        """Whether the budget is used up, for contestants that can stop by themselves."""
        return self.elapsed()[0] >= self.budget

    def point(self, objective: float, at: tuple[float, float] | None = None, **fields: Any) -> None:
        """Record that the objective had this value now, or at the given clock."""
        cpu, wall = self.elapsed() if at is None else at
        self.event("point", cpu=cpu, wall=wall, objective=objective, **fields)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep what happens inside off the clock."""
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            yield
        finally:
            self._cpu += time.process_time() - cpu
            self._wall += time.perf_counter() - wall
            self._limit()
