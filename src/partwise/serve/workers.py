"""The threads that predict, the requests that wait for them, and how these are answered."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ..tasks.example_form import Item
from .api import some_names
from .bodies import inflated, read_json, write_json
from .connection import Answer, Request
from .faults import Fault
from .limits import Limits
from .metrics import Metrics
from .schema import Check
from .served_model import Ask, ServedModel

__all__ = ["Bench", "Job", "RequestJob", "Workers"]


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
        """Finish the queued jobs, end the threads, and return whether all ended in time."""
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


_log = logging.getLogger(__name__)

#: The most bytes of a request that may be answered together with others.
_SMALL: Final = 8 << 10


class RequestJob(Job):
    """A request that waits for its answer.

    Parameters
    ----------
    request : Request
        The request.
    reply : callable
        Takes the answer, in the thread of the event loop.
    loop : asyncio.AbstractEventLoop
        The event loop.
    """

    def __init__(
        self,
        request: Request,
        reply: Callable[[Answer], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.request, self.reply, self.loop = request, reply, loop
        self.answer: Answer | None = None

    @property
    def small(self) -> bool:  # type: ignore[override]
        """Whether it may be answered together with others."""
        plain = "content-encoding" not in self.request.headers
        return plain and self.request.path == "/predict" and len(self.request.body) <= _SMALL

    @property
    def wanted(self) -> bool:  # type: ignore[override]
        """Whether the client still waits."""
        return self.request.wanted


class _Question:
    """The body of a request to predict, after checks."""

    def __init__(self, job: RequestJob, served: ServedModel, body: dict[str, Any]) -> None:
        self.job, self.served = job, served
        self.ask: Ask = served.check_ask(body)
        self.items, self.sources = served.read(body)
        self.notes: bool = body.get("notes", False)

    @property
    def key(self) -> tuple[Any, ...]:
        """What requests must share to be answered together."""
        # A warning is about all examples of a call.
        return (self.served.name, self.ask, id(self) if self.notes else 0)


class Bench:
    """Answers requests, in the threads of the workers.

    Parameters
    ----------
    models : mapping of str to ServedModel
        The models by name.
    limits : Limits
        What a request may ask for.
    checks : mapping of str to callable
        The check of the body, by path.
    metrics : Metrics
        Where examples are counted.
    """

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        limits: Limits,
        checks: Mapping[str, Check],
        metrics: Metrics,
    ) -> None:
        self._models, self._limits = models, limits
        self._checks, self._metrics = checks, metrics

    def work(self, jobs: Sequence[Job]) -> None:
        """Answer some requests."""
        asked = [job for job in jobs if isinstance(job, RequestJob)]
        groups: dict[tuple[Any, ...], list[_Question]] = {}
        for job in asked:
            question = self._guarded(job, partial(self._read, job))
            if isinstance(question, _Question):
                groups.setdefault(question.key, []).append(question)
            elif question is not None:
                job.answer = question
        for group in groups.values():
            self._answer(group)
        if asked:
            asked[0].loop.call_soon_threadsafe(_deliver, asked)

    def _guarded(self, job: RequestJob, act: Callable[[], Any]) -> Any:
        """Call a function for a request. An error becomes the answer of the request."""
        try:
            return act()
        except Fault as fault:
            job.answer = Answer.of_fault(fault)
        except MemoryError:
            why = "no memory for this request; send fewer examples"
            job.answer = Answer.of_fault(Fault(503, "no_memory", why))
        except Exception:
            _log.exception("a request to %s failed", job.request.path)
            why = "the server failed; its log says why"
            job.answer = Answer.of_fault(Fault(500, "failed", why))
        return None

    def _read(self, job: RequestJob) -> _Question | Answer:
        """Read the body of a request; explanations are answered at once."""
        request, limits = job.request, self._limits
        encoding = request.headers.get("content-encoding", "identity").strip().lower()
        raw = inflated(request.body, encoding, int(limits.max_inflated))
        body = read_json(raw, int(limits.max_depth))
        self._checks[request.path](body, "")
        served = self._model(body)
        if request.path == "/predict":
            return _Question(job, served, body)
        items, sources = served.read(body)
        if len(items) > limits.max_explained:
            raise Fault(
                413, "too_long", f"{len(items)} examples; at most {limits.max_explained} are "
                "explained at a time", "input",
            )  # fmt: skip
        found = served.explain(items, body.get("top", 10), body.get("runners_up", True))
        return Answer(200, write_json(_told(served, found, sources)))

    def _model(self, body: dict[str, Any]) -> ServedModel:
        # A body without a name has passed the check only if there is one model.
        name = body["model"] if "model" in body else next(iter(self._models))
        if name not in self._models:
            there = some_names(list(self._models))
            raise Fault(404, "no_such_model", f"no model {name[:80]!r}; there is {there}", "model")
        return self._models[name]

    def _answer(self, group: Sequence[_Question]) -> None:
        """Answer some requests by one call of the model, or one after the other if it fails."""
        if len(group) > 1:
            try:
                self._fill(group)
                return
            except Exception:
                # One of them is at fault, and the others must not suffer from it.
                _log.debug("%d requests are answered one by one", len(group))
        for question in group:
            self._guarded(question.job, partial(self._fill, [question]))

    def _fill(self, group: Sequence[_Question]) -> None:
        """Fill in the answers of requests that ask the same of one model."""
        served, ask = group[0].served, group[0].ask
        until = time.monotonic() + self._limits.work_seconds
        items = [item for question in group for item in question.items]
        found, notes = served.answers(items, ask, lambda: time.monotonic() > until)
        self._count(served, items)
        at = 0
        for question in group:
            mine = found[at : at + len(question.items)]
            at += len(question.items)
            told = _told(served, mine, question.sources)
            if question.notes:
                told["notes"] = notes
            question.job.answer = Answer(200, write_json(told))

    def _count(self, served: ServedModel, items: Sequence[Item]) -> None:
        self._metrics.count("examples_total", len(items), model=served.name)
        self._metrics.count("tokens_total", sum(one.size for one in items), model=served.name)
        self._metrics.count("batches_total", model=served.name)


def _told(
    served: ServedModel, found: Sequence[dict[str, Any]], sources: Sequence[int]
) -> dict[str, Any]:
    results = [{"input": i, **one} for i, one in zip(sources, found, strict=True)]
    return {"model": served.name, "task": served.task, "results": results}


def _deliver(jobs: Sequence[RequestJob]) -> None:
    for job in jobs:
        if job.answer is not None:
            job.reply(job.answer)
