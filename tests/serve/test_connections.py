"""Connections: slow clients, many clients, pipelines, and the end of a server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from support.explained import case
from support.serving import everything, running, said

from partwise.errors import DataError, Place
from partwise.models.file import save_model
from partwise.serve import Limits, ServedModel, Server
from partwise.serve.served_model import ServedModel as Served

_BODY = json.dumps({"input": {"tokens": [{"w": "a"}]}}).encode()
_HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_REQUEST = _HEAD + b"Content-Length: %d\r\n\r\n" % len(_BODY) + _BODY
_GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("begun", [b"GET / HT", _HEAD[:40], _HEAD, _REQUEST[:-5]])
def test_slow_clients_are_told_and_cut_off(begun: bytes) -> None:
    with running(limits=Limits(header_seconds=0.05, body_seconds=0.05)) as server:
        with server.dial() as client:
            client.sendall(begun)
            answer = said(everything(client))
        assert (answer.status, answer.code) == (408, "too_slow")
        assert server.predict(_BODY).status == 200


def test_connections_without_a_request_are_closed() -> None:
    with running(limits=Limits(header_seconds=0.05, idle_seconds=0.05)) as server:
        with server.dial() as client:
            assert everything(client) == b""
        with server.dial() as client:
            client.sendall(_GET)
            assert said(everything(client)).status == 200


def test_clients_that_take_no_answer_are_cut_off() -> None:
    limits = Limits(write_seconds=0.05, max_bytes=1 << 20)
    with running(limits=limits) as server, server.dial() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        # So many answers do not fit into the buffers of the system, and none is read.
        many = repeat(b"GET /models HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        with pytest.raises(ConnectionError):
            list(map(client.sendall, many))


def test_requests_can_follow_each_other_before_the_answers() -> None:
    with running() as server, server.dial() as client:
        client.sendall(_REQUEST + _GET + _REQUEST)
        client.shutdown(socket.SHUT_WR)
        answers = everything(client).split(b"HTTP/1.1 ")[1:]
    assert [one[:3] for one in answers] == [b"200"] * 3
    assert [b'"results"' in one for one in answers] == [True, False, True]


def test_hundreds_of_requests_can_follow_each_other() -> None:
    with running() as server, server.dial() as client:
        client.sendall(_GET * 300 + _REQUEST)
        client.shutdown(socket.SHUT_WR)
        answers = everything(client).split(b"HTTP/1.1 ")[1:]
    assert [one[:3] for one in answers] == [b"200"] * 301


def test_head_has_no_body_and_unchanged_files_are_not_sent_again() -> None:
    with running() as server:
        got = server.ask("HEAD", "/")
        page = server.ask("GET", "/")
        assert (got.status, got.body) == (200, b"")
        assert got.headers["content-length"] == str(len(page.body))
        again = server.ask("GET", "/", headers={"If-None-Match": page.headers["etag"]})
        assert (again.status, again.body) == (304, b"")


def test_too_many_connections_get_503() -> None:
    with running(limits=Limits(max_connections=2)) as server:
        kept = [server.dial() for _ in range(2)]
        for one in kept:
            one.sendall(_GET)
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        with server.dial() as third:
            answer = said(everything(third))
        assert (answer.status, answer.code) == (503, "too_many_connections")
        assert answer.headers["retry-after"] == "1"
        for one in kept:
            one.close()


class _Held(Served):
    """A model whose predictions wait until they are let go."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.begun, self.go = threading.Semaphore(0), threading.Event()

    def answers(self, *arguments: object) -> object:  # type: ignore[override]
        self.begun.release()
        self.go.wait()
        return super().answers(*arguments)  # type: ignore[arg-type]


def _held(monkeypatch: pytest.MonkeyPatch) -> list[_Held]:
    made: list[_Held] = []

    def make(*arguments: object) -> _Held:
        made.append(_Held(*arguments))
        return made[-1]

    monkeypatch.setattr("support.serving.ServedModel", make)
    return made


def test_a_full_queue_gives_503_and_the_rest_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _held(monkeypatch)
    with running(limits=Limits(max_queue=1), n_threads=1) as server:
        waiting = [server.dial(), server.dial()]
        waiting[0].sendall(_REQUEST)
        made[0].begun.acquire()
        waiting[1].sendall(_REQUEST)
        while server.server.application and not server.server.application.workers.queued:
            pass
        answer = server.predict(_BODY)
        assert (answer.status, answer.code) == (503, "busy")
        assert answer.headers["retry-after"] == "1"
        # What needs no thread is answered all the same.
        assert b"partwise_queued 1" in server.ask("GET", "/metrics").body
        made[0].go.set()
        assert all(one.recv(1 << 16).startswith(b"HTTP/1.1 200 ") for one in waiting)
        for one in waiting:
            one.close()


def test_stopping_finishes_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _held(monkeypatch)
    with running(n_threads=1) as server:
        idle, asking, sending = server.dial(), server.dial(), server.dial()
        idle.sendall(_GET)
        assert idle.recv(1 << 16)
        sending.sendall(_REQUEST[:-5])
        asking.sendall(_REQUEST)
        made[0].begun.acquire()
        server.server.stop()
        assert idle.recv(1 << 16) == b""
        with pytest.raises(ConnectionError):
            server.dial()
        sending.sendall(_REQUEST[-5:])
        made[0].go.set()
        for one in (asking, sending):
            answer = said(everything(one))
            assert (answer.status, answer.headers["connection"]) == (200, "close")
        for one in (idle, asking, sending):
            one.close()


def test_work_that_takes_too_long_is_given_up_between_examples() -> None:
    model, examples, _ = case("tagger")
    served = ServedModel("m", model, Limits())
    items = [served.form.read({"tokens": examples[0] * 400}, "x") for _ in range(3)]
    looks = iter([False, True])
    with pytest.raises(Exception, match="1 of 3 examples took all the time") as caught:
        served.answers(items, served.check_ask({}), lambda: next(looks))
    assert getattr(caught.value, "status", None) == 503


def test_an_error_in_a_later_slice_names_its_example(monkeypatch: pytest.MonkeyPatch) -> None:
    model, examples, _ = case("tagger")
    served = ServedModel("m", model, Limits())
    items = [served.form.read({"tokens": examples[0] * 400}, "x") for _ in range(3)]
    right = served._answers

    def answers(some: Any, ask: Any) -> Any:
        if any(item is items[2] for item in some):
            raise DataError("cannot be answered", place=Place.nth("sequence", 0), subject=True)
        return right(some, ask)

    monkeypatch.setattr(served, "_answers", answers)
    with pytest.raises(Exception, match=r"sequence 2 \(counted from 0\) cannot be answered"):
        served.answers(items, served.check_ask({}), lambda: False)


def test_a_port_in_use_is_named() -> None:
    with running() as server:
        other = Server([], port=server.port)
        with pytest.raises(DataError, match=f"cannot listen on 127.0.0.1 port {server.port}"):
            other.run(lambda: None)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_command_in_order(number: int, tmp_path: Path) -> None:
    save_model(case("tagger")[0], tmp_path / "words.model")
    command = [sys.executable, "-m", "partwise", "serve", "--json", "--port", "0", "-q",
               f"mine={tmp_path / 'words.model'}"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ}
    ) as process:
        assert process.stdout is not None
        record = json.loads(process.stdout.readline())
        assert record["models"] == ["mine"]
        with socket.create_connection(("127.0.0.1", record["port"])) as client:
            client.sendall(_REQUEST[:-5])
            client.sendall(_REQUEST[-5:])
            process.send_signal(number)
            answer = said(everything(client))
        rest, errors = process.communicate()
    assert (answer.status, process.returncode, rest) == (200, 0, b"")
    assert b"error" not in errors
