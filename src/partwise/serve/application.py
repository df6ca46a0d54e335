"""The answers of a server: routes, the names it answers to, and checks before a body is read."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import re
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any, Final

from .. import __version__
from ..errors import DataError
from .api import JSON, document, routes
from .bodies import ENCODINGS, write_json
from .connection import Answer, Request
from .faults import Fault
from .limits import Limits
from .metrics import Metrics
from .schema import checker
from .served_model import ServedModel
from .workers import Bench, RequestJob, Workers

__all__ = ["Application", "Authority", "page_files"]


_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


class Authority:
    """The names that requests may be addressed to.

    A page of another site can make a browser send requests to this machine: by a name of its own
    that it lets point here (DNS rebinding), or straight to the address. The first kind has a
    foreign Host header, the second a foreign Origin.

    Parameters
    ----------
    host : str
        The address that the server is bound to.
    others : iterable of str
        Further names, without a port, or with one that must then match.
    """

    def __init__(self, host: str, others: Iterable[str] = ()) -> None:
        names = {host.lower() if ":" not in host else f"[{host.lower()}]"}
        if _is_loopback(host):
            names.update(_LOOPBACK)
        for other in others:
            if _HOST.fullmatch(other.lower()) is None:
                raise DataError(
                    f"{other!r} is no name of a host; give one such as models.example.org, or "
                    "with a port, models.example.org:8080"
                )
            names.add(other.lower())
        self.names = frozenset(names)

    def check_host(self, host: str) -> None:
        """Raise a Fault for a Host header that names another server."""
        if not self._knows(host):
            raise Fault(
                421, "unknown_host",
                f"this server does not answer to {host[:80]!r}; if it should, start it with "
                "--allowed-host",
                "Host",
            )  # fmt: skip

    def check_origin(self, origin: str) -> None:
        """Raise a Fault for an Origin header of another site."""
        _, _, host = origin.partition("://")
        if not self._knows(host):
            raise Fault(
                403, "foreign_origin",
                "pages of other sites may not use this server; call it from a program, or from "
                "its own page",
                "Origin",
            )  # fmt: skip

    def _knows(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower())
        return match is not None and (match[1] in self.names or match[0] in self.names)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


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

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
#: The pages by their paths; all other files are below /page/.
_PAGES: Final = {"/": "index.html", "/docs": "docs.html"}


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
        known = routes(limits, [one.name for one in models])
        checks = {path: checker(one.request.schema) for path, one in known.items() if one.request}
        self._bench = Bench({one.name: one for one in models}, limits, checks, self.metrics)
        self.workers = Workers(n_threads, limits.max_queue, self._bench.work)
        facts = [one.facts() for one in models]
        told = {"partwise": __version__, "models": facts, "limits": limits.numbers()}
        self._fixed = {
            path: Answer(200, body, kind, {"Cache-Control": "no-cache", "ETag": tag})
            for path, (body, kind, tag) in page_files().items()
        }
        self._fixed["/models"] = _fresh(told)
        self._fixed["/openapi.json"] = _fresh(document(known, facts))
        self._live = {"/health": self._health, "/metrics": self._counters}
        self._methods: dict[str, tuple[str, ...]] = dict.fromkeys(self._fixed, ("GET", "HEAD"))
        self._methods |= {path: route.methods for path, route in known.items()}

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
        allowed = self._methods.get(request.path)
        if allowed is None:
            raise Fault(
                404, "no_such_page",
                f"there is nothing at {request.path[:80]!r}; see /docs for what there is",
            )  # fmt: skip
        if request.method not in allowed:
            raise Fault(
                405, "wrong_method", f"{request.path} takes {' or '.join(allowed)} only",
                headers={"Allow": ", ".join(allowed)},
            )  # fmt: skip
        if request.method != "POST":
            return 0
        _check_body(headers)
        return int(self.limits.max_bytes)

    def handle(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Answer a request; predictions and explanations later, by a thread."""
        if request.path in self._live:
            reply(self._live[request.path]())
        elif request.path in self._fixed:
            answer = self._fixed[request.path]
            tag = answer.headers.get("ETag")
            if tag is not None and request.headers.get("if-none-match") == tag:
                answer = Answer(304, b"", answer.kind, answer.headers)
            reply(answer)
        else:
            self._queue(request, reply)

    def _health(self) -> Answer:
        state = "stopping" if self.stopping else "ok"
        body = write_json({"status": state, "partwise": __version__})
        return Answer(503 if self.stopping else 200, body)

    def _counters(self) -> Answer:
        return Answer(200, self.metrics.text().encode(), "text/plain; version=0.0.4")

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
        if request is not None and request.path in self._methods:
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
    if kind != JSON:
        raise Fault(
            415, "not_json", f"the body is declared as {kind[:80] or 'nothing'}; send JSON, with "
            f"Content-Type: {JSON}",
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


def page_files() -> dict[str, tuple[bytes, str, str]]:
    """Return for each path the contents, the media type and a tag of the contents.

    No other path leads to a file, so that no request can name one.
    """
    folder = files(__package__) / "page"
    found: dict[str, tuple[bytes, str, str]] = {}
    paths = {name: path for path, name in _PAGES.items()}
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        kind = _KINDS.get(entry.name[entry.name.rfind(".") :])
        if kind is not None:
            body = entry.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
            found[paths.get(entry.name, f"/page/{entry.name}")] = body, kind, tag
    return found
