"""What a server answers: the routes, the checks before a body is read, and the jobs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from .. import __version__
from .authority import Authority
from .connection import Answer, Request
from .declarations import explain_schema, predict_schema
from .faults import Fault
from .inflation import ENCODINGS
from .json_text import write_json
from .limits import Limits
from .metrics import Metrics
from .openapi import document
from .page_files import page_files
from .request_jobs import Bench, RequestJob
from .schema import checker
from .served_model import ServedModel
from .workers import Workers

__all__ = ["Application"]

_log = logging.getLogger(__name__)

_JSON: Final = "application/json"
#: Nothing comes from elsewhere, and nothing that a page holds as text can become code.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = [
    ("Server", "partwise"),
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
]


class Application:
    """The routes of a server.

    Parameters
    ----------
    models : sequence of ServedModel
        The models.
    limits : Limits
        What a request may ask for.
    authority : Authority
        The names that requests may be addressed to.
    n_threads : int
        How many threads predict.
    n_connections : callable
        Returns the number of connections.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        limits: Limits,
        authority: Authority,
        n_threads: int,
        n_connections: Callable[[], int],
    ) -> None:
        self.limits, self.authority = limits, authority
        self.stopping = False
        self.metrics = Metrics(
            {
                "connections": ("Connections that are open.", n_connections),
                "queued": ("Requests that wait for a thread.", lambda: self.workers.queued),
                "busy_threads": ("Threads at work.", lambda: self.workers.busy),
                "threads": ("Threads that predict.", lambda: n_threads),
                "models": ("Models that are served.", lambda: len(models)),
            }
        )
        checks = {
            "/predict": checker(predict_schema(limits)),
            "/explain": checker(explain_schema(limits)),
        }
        self._bench = Bench({one.name: one for one in models}, limits, checks, self.metrics)
        self.workers = Workers(n_threads, limits.max_queue, self._bench.work)
        facts = [one.facts() for one in models]
        self._fixed = {
            path: Answer(200, body, kind, {"Cache-Control": "no-cache", "ETag": tag})
            for path, (body, kind, tag) in page_files().items()
        }
        self._fixed["/models"] = _fresh(
            {"partwise": __version__, "models": facts, "limits": limits.numbers()}
        )
        self._fixed["/openapi.json"] = _fresh(document(limits, facts))

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that every answer has."""
        return _HEADERS

    def check(self, request: Request) -> int:
        """Check a request before its body is read, and return the most bytes of the body."""
        headers = request.headers
        self.authority.check_host(headers.get("host", ""))
        if "origin" in headers:
            self.authority.check_origin(headers["origin"])
        elif request.method == "POST" and headers.get("sec-fetch-site") == "cross-site":
            self.authority.check_origin("")
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Fault(
                400, "two_lengths", "the body has a Content-Length and a Transfer-Encoding; send "
                "one of them",
            )  # fmt: skip
        allowed = self._methods(request.path)
        if request.method not in allowed:
            raise Fault(
                405, "wrong_method", f"{request.path} takes {' or '.join(allowed)} only",
                headers={"Allow": ", ".join(allowed)},
            )  # fmt: skip
        if request.method != "POST":
            return 0
        _check_body(headers)
        return int(self.limits.max_bytes)

    def _methods(self, path: str) -> tuple[str, ...]:
        if path in ("/predict", "/explain"):
            return ("POST",)
        if path in self._fixed or path in ("/health", "/metrics"):
            return ("GET", "HEAD")
        raise Fault(
            404, "no_such_page", f"there is nothing at {path[:80]!r}; see /docs for what there is"
        )

    def handle(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Answer a request; predictions and explanations later, by a thread."""
        if request.path in ("/predict", "/explain"):
            self._queue(request, reply)
        elif request.path == "/health":
            status = 503 if self.stopping else 200
            state = "stopping" if self.stopping else "ok"
            reply(Answer(status, write_json({"status": state, "partwise": __version__})))
        elif request.path == "/metrics":
            reply(Answer(200, self.metrics.text().encode(), "text/plain; version=0.0.4"))
        else:
            answer = self._fixed[request.path]
            if request.headers.get("if-none-match") == answer.headers.get("ETag", ""):
                answer = Answer(304, b"", answer.kind, answer.headers)
            reply(answer)

    def _queue(self, request: Request, reply: Callable[[Answer], None]) -> None:
        loop = asyncio.get_running_loop()
        job = RequestJob(request, reply, loop)
        if not self.workers.submit(job):
            fault = Fault(
                503, "busy", "too many requests wait already; try again in a moment",
                headers={"Retry-After": "1"},
            )  # fmt: skip
            reply(Answer.of_fault(fault))

    def note(self, request: Request | None, answer: Answer) -> None:
        """Count an answer."""
        # Only the paths that there are, so that strangers cannot add any.
        path = "other"
        if request is not None and (
            request.path in self._fixed
            or request.path in ("/predict", "/explain", "/health", "/metrics")
        ):
            path = request.path
        self.metrics.count("requests_total", path=path, status=str(answer.status))
        if request is not None and request.began:
            self.metrics.observe(path, time.monotonic() - request.began)
        if answer.status >= 400:
            self.metrics.count("refused_total", status=str(answer.status))


def _check_body(headers: dict[str, str]) -> None:
    """Check what the headers say about the body of a POST request."""
    if "content-length" not in headers and "transfer-encoding" not in headers:
        raise Fault(411, "no_length", "the request has no body; send JSON", "Content-Length")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON:
        raise Fault(
            415, "not_json", f"the body is declared as {kind[:80] or 'nothing'}; send JSON, with "
            f"Content-Type: {_JSON}",
            "Content-Type",
        )  # fmt: skip
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ENCODINGS:
        raise Fault(
            415, "unknown_encoding", f"the encoding {encoding[:80]!r} is not known; send "
            "gzip, deflate or none",
            "Content-Encoding",
            {"Accept-Encoding": "gzip, deflate, identity"},
        )  # fmt: skip
    if headers.get("expect", "100-continue").lower() != "100-continue":
        raise Fault(417, "unknown_expectation", "only 100-continue can be expected", "Expect")


def _fresh(value: Any) -> Answer:
    return Answer(200, write_json(value), headers={"Cache-Control": "no-cache"})
