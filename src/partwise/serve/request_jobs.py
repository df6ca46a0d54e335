"""Predictions and explanations for requests, several small ones at a time."""

from __future__ import annotations

import asyncio
import logging
import time
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
from .workers import Job

__all__ = ["Bench", "RequestJob"]

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
    """Does what requests ask for, in the threads of the workers.

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
        """Do something for a request; what goes wrong becomes its answer."""
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
