"""A server in a thread of the test, and clients that say exactly what they are told to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.client import HTTPConnection
from typing import Any, NamedTuple

from partwise import SequenceTagger
from partwise.models.model import Model
from partwise.serve import Limits, ServedModel, Server
from support.explained import case

SCRIPT = "<script>document.title='broken'</script>"
_MORE = ("<img src=x onerror=document.title='broken'>", SCRIPT)


@cache
def hostile_model() -> Model:
    """Return a tagger whose labels and features look like markup."""
    tokens = [[{"w": word, f"{SCRIPT}": word} for word in ("a", "b", *_MORE)]] * 4
    labels = [[SCRIPT, "&amp;", "javascript:alert(1)", '"><svg onload=alert(1)>']] * 4
    model: Model = SequenceTagger(tol=0.1).fit(tokens, labels).model_
    return model


@cache
def column_model(columns: int = 1) -> Model:
    """Return a tagger that was trained on the columns of a file."""
    words = [["The", "dog", "saw", "Anna", "Bell", "."], ["Anna", "saw", "a", "dog", "."]]
    tags = [["B-NP", "I-NP", "O", "B-PER", "I-PER", "O"], ["B-PER", "O", "B-NP", "I-NP", "O"]]
    X = [[word if columns == 1 else [word, word[-1]] for word in one] for one in words]
    lines = ["U0:%x[0,0]", "U1:%x[-1,0]", *(["U2:%x[0,1]"] if columns > 1 else []), "B"]
    estimator = SequenceTagger(templates=lines, tol=0.1)
    model: Model = estimator.fit(X, tags).model_
    return model


class Said(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of an error."""
        code: str = self.json["error"]["code"]
        return code


class Running:
    """A server that runs, and how to talk to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.port = server.port

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Said:
        """Send one request by the client of the standard library."""
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            sent = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method, path, data, {**sent, **(headers or {})})
            got = connection.getresponse()
            found = {name.lower(): value for name, value in got.getheaders()}
            return Said(got.status, found, got.read())
        finally:
            connection.close()

    def predict(self, body: Any, **more: Any) -> Said:
        """Ask for predictions."""
        return self.ask("POST", "/predict", body, **more)

    def dial(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port))

    def raw(self, data: bytes) -> Said:
        """Send bytes as they are, and read until the server closes the connection."""
        with self.dial() as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return said(everything(client))


def everything(client: socket.socket) -> bytes:
    """Read until the other side closes the connection."""
    parts = []
    while part := client.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def said(data: bytes) -> Said:
    """Read one answer."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return Said(int(first.split()[1]), {name.lower(): value for name, value in pairs}, body)


@contextmanager
def running(
    models: dict[str, Model] | None = None, limits: Limits | None = None, **options: Any
) -> Iterator[Running]:
    """Run a server in a thread, by default with one small tagger."""
    limits = limits or Limits()
    given = {"tagger": case("tagger")[0]} if models is None else models
    served = [ServedModel(name, model, limits) for name, model in given.items()]
    server = Server(served, port=0, limits=limits, **options)
    ready = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            server.run(ready.set)
        except BaseException as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    if failed:
        raise failed[0]
    try:
        yield Running(server)
    finally:
        server.stop()
        thread.join()
