"""What a server has done, in the text format of Prometheus."""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["Metrics", "resident_bytes"]

_BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_Labels = tuple[tuple[str, str], ...]

_ABOUT: Final = {
    "requests_total": "Answers, by path and status.",
    "refused_total": "Requests that were refused, by the code of the error.",
    "examples_total": "Examples that were labelled, by model.",
    "tokens_total": "Tokens of these examples, by model.",
    "batches_total": "Calls of a model, each for the examples of one request or of several.",
    "connections_total": "Connections that were accepted.",
}


class Metrics:
    """Counters, gauges and a histogram of times.

    Parameters
    ----------
    gauges : mapping of str to callable
        Functions that return the current value, by name, each with a few words on it.
    """

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = dict(gauges)
        self._counts: dict[str, dict[_Labels, float]] = defaultdict(lambda: defaultdict(float))
        self._times: dict[str, list[int]] = {}
        self._sums: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name][tuple(sorted(labels.items()))] += amount

    def observe(self, path: str, seconds: float) -> None:
        """Add the time that an answer took, from the end of the request."""
        with self._lock:
            times = self._times.setdefault(path, [0] * (len(_BOUNDS) + 1))
            times[bisect_left(_BOUNDS, seconds)] += 1
            self._sums[path] += seconds

    def text(self) -> str:
        """Return everything, as Prometheus reads it."""
        lines: list[str] = []
        with self._lock:
            for name, about in _ABOUT.items():
                lines += _head(name, about, "counter")
                for labels, value in sorted(self._counts[name].items()):
                    lines.append(f"partwise_{name}{_spelled(labels)} {value:g}")
            lines += _head("request_seconds", "Time from request to answer, by path.", "histogram")
            for path, times in sorted(self._times.items()):
                lines += _histogram(path, times, self._sums[path])
        for name, (about, measure) in self._gauges.items():
            lines += _head(name, about, "gauge")
            lines.append(f"partwise_{name} {measure():g}")
        resident = resident_bytes()
        if resident is not None:
            lines.append("# HELP process_resident_memory_bytes Memory of the process.")
            lines.append("# TYPE process_resident_memory_bytes gauge")
            lines.append(f"process_resident_memory_bytes {resident}")
        return "\n".join(lines) + "\n"


def _head(name: str, about: str, kind: str) -> list[str]:
    return [f"# HELP partwise_{name} {about}", f"# TYPE partwise_{name} {kind}"]


def _histogram(path: str, times: list[int], total: float) -> list[str]:
    lines, sofar = [], 0
    name = "partwise_request_seconds"
    for bound, count in zip((*map(str, _BOUNDS), "+Inf"), times, strict=True):
        sofar += count
        lines.append(f"{name}_bucket{_spelled((('path', path), ('le', bound)))} {sofar}")
    lines.append(f"{name}_sum{_spelled((('path', path),))} {total:.6f}")
    lines.append(f"{name}_count{_spelled((('path', path),))} {sofar}")
    return lines


def _spelled(labels: _Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_bytes() -> int | None:
    """Return the memory of this process; None where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
