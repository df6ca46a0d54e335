"""One connection: bytes to requests and answers to bytes, with a clock for every step.

h11 knows the rules of HTTP/1.1; this module adds what a server among strangers needs. A client that
is slow with headers, body or answer is cut off. An answer to a request that has not been read to
its end is followed by a lingering close: a socket that is closed with unread data resets the
connection, and the client would lose the answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import h11

from .bodies import write_json
from .faults import REASONS, Fault

if TYPE_CHECKING:
    from .application import Application

__all__ = ["Answer", "Connection", "Request"]

#: How long, and for how many bytes, what a client still sends is read after the last answer.
_LINGER_SECONDS: Final = 2.0
_LINGER_BYTES: Final = 4 << 20


@dataclass(eq=False)
class Request:
    """A request.

    Attributes
    ----------
    method, path : str
        The method, and the path without the query.
    headers : dict of str to str
        The headers, by their names in small letters.
    body : bytes
        The body, as it was sent.
    wanted : bool
        Whether the client still waits for the answer.
    began : float
        When the request was complete, by the monotonic clock.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""
    wanted: bool = True
    began: float = 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer.

    Attributes
    ----------
    status : int
        The status code.
    body : bytes
        The body.
    kind : str
        Its media type.
    headers : mapping of str to str
        Further headers.
    """

    status: int
    body: bytes
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_fault(cls, fault: Fault) -> Answer:
        """Return the answer that tells a client what is wrong."""
        return cls(fault.status, write_json(fault.record()), headers=fault.headers)


class Connection(asyncio.Protocol):
    """The server's side of a connection.

    Parameters
    ----------
    application : Application
        What answers the requests.
    opened, closed : callable
        Called with the connection when it begins, and when it has ended; `opened` returns whether
        there is room for it.
    """

    def __init__(
        self,
        application: Application,
        opened: Callable[[Connection], bool],
        closed: Callable[[Connection], None],
    ) -> None:
        self._application = application
        self._limits = application.limits
        self._opened, self._closed = opened, closed
        self._http = h11.Connection(
            h11.SERVER, max_incomplete_event_size=int(self._limits.max_header_bytes)
        )
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._request: Request | None = None
        self._body: list[bytes] = []
        self._size = self._most = 0
        self._advancing = False
        self._answering = False
        self._blocked = False
        self._lingering = False
        self._dropped = 0

    # Called by asyncio

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        # Told whenever something waits to be written, to put a clock on it.
        transport.set_write_buffer_limits(high=0)
        if not self._opened(self):
            fault = Fault(
                503, "too_many_connections", "too many connections; try again in a moment",
                headers={"Retry-After": "1"},
            )  # fmt: skip
            self._refuse(fault)
            return
        self._set_timer(self._limits.header_seconds, self._late)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            self._dropped += len(data)
            if self._dropped > _LINGER_BYTES:
                self._abort()
            return
        self._http.receive_data(data)
        if not self._answering:
            self._advance()
        elif len(self._http.trailing_data[0]) > self._limits.max_header_bytes:
            # Requests that follow before the answer stay with the system.
            assert self._transport is not None
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        if self._lingering:
            return False
        self._http.receive_data(b"")
        if self._answering:
            # The client may wait for the answer with its own side closed.
            return True
        self._advance()
        return self._lingering

    def pause_writing(self) -> None:
        self._blocked = True
        loop = asyncio.get_running_loop()
        self._write_timer = loop.call_later(self._limits.write_seconds, self._abort)

    def resume_writing(self) -> None:
        self._blocked = False
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        if not self._answering:
            self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        if self._request is not None:
            self._request.wanted = False
        self._transport = None
        self._closed(self)

    # Called by the server

    @property
    def idle(self) -> bool:
        """Whether no part of a request has come since the last answer."""
        waiting = self._http.our_state is h11.IDLE and not self._http.trailing_data[0]
        return waiting and not self._answering and not self._lingering

    def close(self) -> None:
        """Close the connection after what is already written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._abort()

    # Reading

    def _advance(self) -> None:
        """Handle all events that are complete."""
        # An answer that is ready at once comes back here, where the loop goes on by itself.
        if not self._advancing:
            self._advancing = True
            try:
                self._handle_events()
            finally:
                self._advancing = False

    def _handle_events(self) -> None:
        while self._transport is not None and not self._answering and not self._lingering:
            if self._blocked:
                # No further request before the client has taken the last answer.
                self._transport.pause_reading()
                return
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._refuse(_protocol_fault(error))
                return
            if event is h11.NEED_DATA:
                self._transport.resume_reading()
                return
            if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                self._transport.close()
                return
            try:
                if isinstance(event, h11.Request):
                    self._begin(event)
                elif isinstance(event, h11.Data):
                    self._collect(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self._finish()
            except Fault as fault:
                self._refuse(fault)

    def _begin(self, event: h11.Request) -> None:
        request = self._request = _request(event)
        size = len(event.target) + sum(len(name) + len(value) + 4 for name, value in event.headers)
        if size > self._limits.max_header_bytes:
            raise _headers_too_large()
        self._body, self._size = [], 0
        self._most = self._application.check(request)
        declared = int(request.headers.get("content-length", 0))
        if declared > self._most:
            raise _too_large(self._most)
        self._set_timer(self._limits.body_seconds, self._late)
        if self._http.they_are_waiting_for_100_continue:
            proceed = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
            self._write(self._http.send(proceed))

    def _collect(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._most:
            raise _too_large(self._most)
        self._body.append(data)

    def _finish(self) -> None:
        assert self._request is not None
        self._cancel_timer()
        request = self._request
        request.body = b"".join(self._body)
        request.began = time.monotonic()
        self._body = []
        self._answering = True

        def reply(answer: Answer) -> None:
            if self._request is request and self._transport is not None:
                self._send(answer)
                self._next()

        self._application.handle(request, reply)

    def _late(self) -> None:
        """Give up waiting for a client."""
        if self.idle:
            self.close()
            return
        self._refuse(Fault(408, "too_slow", "the request did not come in time; send it faster"))

    # Writing

    def _send(self, answer: Answer, close: bool = False) -> None:
        assert self._transport is not None
        headers = [*self._application.headers(), *answer.headers.items()]
        headers.append(("Content-Type", answer.kind))
        headers.append(("Content-Length", str(len(answer.body))))
        if close or self._application.stopping:
            headers.append(("Connection", "close"))
        reason = REASONS.get(answer.status, "")
        head = h11.Response(status_code=answer.status, headers=headers, reason=reason)
        parts = [self._http.send(head)]
        if self._request is None or self._request.method != "HEAD":
            parts.append(self._http.send(h11.Data(data=answer.body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        self._transport.write(b"".join(part for part in parts if part))
        self._application.note(self._request, answer)

    def _next(self) -> None:
        """Wait for the next request after an answer."""
        self._answering = False
        self._request = None
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self._set_timer(self._limits.idle_seconds, self._late)
            self._advance()
        else:
            self.close()

    def _refuse(self, fault: Fault) -> None:
        """Answer with an error, and end the connection without reading the rest."""
        if self._transport is None:
            return
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self._abort()
            return
        self._send(Answer.of_fault(fault), close=True)
        self._answering, self._request, self._lingering = False, None, True
        self._body = []
        self._set_timer(_LINGER_SECONDS, self._abort)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()

    def _write(self, data: bytes | None) -> None:
        if data and self._transport is not None:
            self._transport.write(data)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _set_timer(self, seconds: float, act: Callable[[], None]) -> None:
        self._cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, act)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _request(event: h11.Request) -> Request:
    """Return a request from its first line and headers."""
    headers: dict[str, str] = {}
    for name, value in event.headers:
        key = name.decode("ascii")
        text = value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    target = event.target.decode("ascii", "replace")
    return Request(event.method.decode("ascii"), target.partition("?")[0], headers)


def _protocol_fault(error: h11.RemoteProtocolError) -> Fault:
    status = error.error_status_hint if error.error_status_hint in REASONS else 400
    if status == 431:
        return _headers_too_large()
    if status == 501:
        return Fault(501, "not_implemented", f"{error}; send the body as it is, or in chunks")
    return Fault(400, "not_http", f"this is not HTTP/1.1: {error}")


def _headers_too_large() -> Fault:
    return Fault(431, "headers_too_large", "the headers of the request are too large")


def _too_large(most: int) -> Fault:
    return Fault(
        413, "too_large", f"the body is larger than {most:,} bytes; send fewer examples at a time",
        "Content-Length",
    )  # fmt: skip
