"""Threads: how many, and how they share examples."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from ..errors import DataError
from ..values import is_integer

__all__ = ["run", "thread_count"]

_Result = TypeVar("_Result")


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads a user asks for: None means 1, -1 means one per core."""
    if n_jobs is None:
        return 1
    if not is_integer(n_jobs) or not (n_jobs >= 1 or n_jobs == -1):
        raise DataError(f"n_jobs is {n_jobs!r}; give a whole number from 1, -1 for all cores")
    if n_jobs > 0:
        return int(n_jobs)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    first: int, last: int, n_jobs: int | None, task: Callable[[int, int], _Result]
) -> list[_Result]:
    """Split range(first, last) into one run per thread, and return the results in order."""
    size = last - first
    jobs = max(1, min(thread_count(n_jobs), size))
    if jobs == 1:
        return [task(first, last)]
    ends = [first + size * j // jobs for j in range(jobs + 1)]
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(task, a, b) for a, b in pairwise(ends)]
        return [future.result() for future in futures]
