"""The training clock, its budget, and the stream of events."""

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
    """Return the peak resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in kilobytes, macOS in bytes.
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def forget_peak() -> None:
    """Reset the peak to the memory that is resident now, on Linux; elsewhere do nothing."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


#: CPU seconds over the budget after which the operating system ends a run that does not end itself.
GRACE = 1


class Recorder:
    """Writes one JSON object per line during training, so that a killed run leaves its record.

    The clock is the CPU time and the wall time of this process since ``start``, less what was
    spent in ``paused``. If the budget is enforced, ``start`` also tells the operating system to end
    the process when it is used up. This works inside compiled code too, which no Python handler can
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
        """Set the clock to zero, and start the budget."""
        self._running = True
        self._cpu = time.process_time()
        self._wall = time.perf_counter()
        self._limit()

    def _limit(self) -> None:
        """Let the operating system end the process when the rest of the budget is used up."""
        if not self.enforced:
            return
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        end = math.ceil(self._cpu + 1.05 * self.budget) + GRACE if self._running else hard
        resource.setrlimit(resource.RLIMIT_CPU, (end, hard))

    def elapsed(self) -> tuple[float, float]:
        """Return the CPU and wall seconds on the clock."""
        return time.process_time() - self._cpu, time.perf_counter() - self._wall

    def stop(self) -> tuple[float, float]:
        """End the budget, and record and return the clock.

        The peak memory is that of the first stop, so that the evaluation of the weights afterwards
        does not count.
        """
        cpu, wall = self.elapsed()
        self._running = False
        self._limit()
        if self._peak is None:
            self._peak = peak_megabytes()
        self.event("stop", cpu=cpu, wall=wall, peak_mb=self._peak)
        return cpu, wall

    def spent(self) -> bool:
        """Return whether the budget is used up, for contestants that can stop by themselves."""
        return self.elapsed()[0] >= self.budget

    def point(self, objective: float, at: tuple[float, float] | None = None, **fields: Any) -> None:
        """Record that the objective has this value now, or had it at the given time."""
        cpu, wall = self.elapsed() if at is None else at
        self.event("point", cpu=cpu, wall=wall, objective=objective, **fields)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock inside the block."""
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            yield
        finally:
            self._cpu += time.process_time() - cpu
            self._wall += time.perf_counter() - wall
            self._limit()
