from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import pytest

from partwise.serve.workers import Job, Workers


class _Number(Job):
    def __init__(self, number: int, small: bool = False) -> None:
        self.number, self.small = number, small


def _numbers(jobs: Sequence[Job]) -> list[int]:
    return [job.number for job in jobs if isinstance(job, _Number)]


def test_small_jobs_are_done_together_and_in_order() -> None:
    first, go = threading.Event(), threading.Event()
    done: list[list[int]] = []

    def work(jobs: Sequence[Job]) -> None:
        first.set()
        go.wait()
        done.append(_numbers(jobs))

    workers = Workers(1, 10, work)
    assert workers.submit(_Number(0))
    first.wait()
    for number, small in ((1, True), (2, True), (3, False), (4, True)):
        assert workers.submit(_Number(number, small))
    assert (workers.queued, workers.busy) == (4, 1)
    go.set()
    assert workers.stop(60)
    assert done == [[0], [1, 2], [3], [4]]


def test_the_queue_is_bounded_and_unwanted_jobs_are_dropped() -> None:
    first, go = threading.Event(), threading.Event()
    done: list[int] = []

    def work(jobs: Sequence[Job]) -> None:
        first.set()
        go.wait()
        done.extend(_numbers(jobs))

    workers = Workers(1, 2, work)
    assert workers.submit(_Number(0))
    first.wait()
    gone = _Number(1)
    gone.wanted = False
    assert workers.submit(gone)
    assert workers.submit(_Number(2))
    assert not workers.submit(_Number(3))
    go.set()
    assert workers.stop(60)
    assert done == [0, 2]
    assert not workers.submit(_Number(4))


def test_a_failure_does_not_end_the_thread(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def work(jobs: Sequence[Job]) -> None:
        done.extend(_numbers(jobs))
        if done == [0]:
            raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        workers = Workers(1, 10, work)
        workers.submit(_Number(0))
        workers.submit(_Number(1))
        assert workers.stop(60)
    assert done == [0, 1]
    assert "broken" in caplog.text
