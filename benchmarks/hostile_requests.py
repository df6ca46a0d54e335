"""Requests that no honest client sends, by class, with the answer that each must get."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Make = Callable[[random.Random], bytes]

_HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def header(head: bytes, name: bytes) -> bytes:
    """Return the value of a header of an answer."""
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b": ")
        if key.lower() == name:
            return value
    raise ValueError(f"no {name!r} in {head!r}")


def valid_request(body: Any) -> bytes:
    """Return a whole request with a JSON body."""
    return posted(json.dumps(body).encode())


def posted(body: bytes, extra: bytes = b"") -> bytes:
    """Return a whole request with some body and further headers."""
    return _HEAD + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


@dataclass(frozen=True)
class Hostile:
    """One class of requests.

    Attributes
    ----------
    make
        Returns the bytes to send.
    expected
        The status codes that are right, separated by blanks.
    gone
        Whether the client goes away without reading the answer.
    """

    make: Make
    expected: str
    gone: bool = False

    def fits(self, answer: str) -> bool:
        """Return whether an answer is as expected."""
        return answer in self.expected.split()

    async def send(self, port: int, rng: random.Random) -> str:
        """Send a request, and return the status of the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(self.make(rng))
            if self.gone:
                writer.transport.abort()
                return "gone"
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(header(head, b"content-length")))
            return head[9:12].decode("ascii")
        except (OSError, EOFError):
            return "no answer"
        finally:
            writer.close()


def _chosen(*some: bytes) -> Make:
    return lambda rng: rng.choice(some)


def _noise(rng: random.Random) -> bytes:
    return bytes(rng.randrange(256) for _ in range(rng.randrange(20, 400))) + b"\r\n\r\n"


def _mutated(rng: random.Random) -> bytes:
    body = bytearray(json.dumps({"input": {"tokens": [["The", "DT"], ["dog", "NN"]]}}).encode())
    for _ in range(rng.randrange(1, 6)):
        body[rng.randrange(len(body))] = rng.randrange(32, 127)
    return posted(bytes(body))


def _token(token: Any) -> bytes:
    return valid_request({"input": {"tokens": [["The", "DT"], token]}})


def _bomb(rng: random.Random) -> bytes:
    body = b" " * rng.randrange(6_000_000, 60_000_000)
    if rng.random() < 0.5:
        return posted(gzip.compress(body, 9), b"Content-Encoding: gzip\r\n")
    return posted(zlib.compress(body, 9), b"Content-Encoding: deflate\r\n")


def _few(make: Make, n: int = 8) -> Make:
    """Make some beforehand, as making them takes longer than refusing them."""
    return _chosen(*(make(random.Random(number)) for number in range(n)))


_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_GET = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LONG = valid_request({"input": {"tokens": [["a", "b"]] * 2001}})
_MANY = valid_request({"inputs": [{"tokens": [["a", "b"]]}] * 257})

CLASSES: dict[str, Hostile] = {
    "random bytes": Hostile(_noise, "400"),
    "no HTTP": Hostile(_chosen(b"\x16\x03\x01\x02\0\x01", b"SSH-2.0-x\r\n\r\n"), "400"),
    "bad headers": Hostile(_chosen(
        b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        _HEAD + b"Content-Length: -1\r\n\r\n",
        _HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        _HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        _CHUNKED + b"zz\r\n"), "400"),
    "large headers": Hostile(_chosen(
        b"GET /" + b"a" * 20_000 + _GET,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 9_000), "431"),
    "foreign host": Hostile(_chosen(
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"), "421"),
    "foreign origin": Hostile(
        lambda _: posted(b'{"input": {"text": "a"}}', b"Origin: https://evil.example\r\n"), "403"),
    "unknown paths": Hostile(_chosen(*(
        b"GET " + path + _GET for path in (b"/nothing", b"/page/../server.py", b"//etc/passwd",
        b"/%2e%2e/%2e%2e/etc/passwd", b"/page/index.html", b"http://evil.example/"))), "404"),
    "wrong methods": Hostile(_chosen(*(
        b"%s /predict" % method + _GET for method in (b"GET", b"PUT", b"OPTIONS", b"BREW"))),
        "405"),
    "no length": Hostile(lambda _: _HEAD + b"\r\n", "411"),
    "wrong type": Hostile(_chosen(
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        b"Content-Length: 2\r\n\r\n{}",
        posted(b"{}", b"Content-Encoding: br\r\n")), "415"),
    "oversized": Hostile(_chosen(
        _HEAD + b"Content-Length: 99999999\r\n\r\n" + b" " * 50_000,
        posted(b" " * 1_100_000),
        _CHUNKED + (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 33),
        "413"),
    "compressed bombs": Hostile(_few(_bomb), "413"),
    "damaged streams": Hostile(_chosen(
        posted(gzip.compress(b"{}")[:-4], b"Content-Encoding: gzip\r\n"),
        posted(b"no gzip", b"Content-Encoding: gzip\r\n"),
        posted(gzip.compress(b"") * 900, b"Content-Encoding: gzip\r\n")), "400"),
    "not JSON": Hostile(_chosen(
        posted(b"{"), posted(b"NaN"), posted(b"\xff\xfe"), posted(b'{"a":1,"a":2}'),
        posted(b"1" * 9_999), posted(b"")), "400"),
    "deep JSON": Hostile(_chosen(
        posted(b"[" * 500_000), posted(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)), "400"),
    "mutated JSON": Hostile(_mutated, "200 400 422"),
    "wrong shapes": Hostile(_chosen(
        posted(b"[]"), posted(b"{}"), _token(1), _token(["a"]), _token({"a": {"b": 1}}),
        valid_request({"input": {"text": "words"}}), valid_request({"input": {"features": [1]}}),
        valid_request({"input": {"tokens": [["a", "b"]]}, "k": 10**9})), "422"),
    "unknown model": Hostile(
        lambda _: valid_request({"model": "../../etc/passwd", "input": {"tokens": [["a", "b"]]}}),
        "404"),
    "too long": Hostile(_chosen(_LONG, _MANY), "413"),
    "odd text": Hostile(_chosen(
        posted(b'{"input": {"tokens": [["\\ud800", "\\u0000"], ["<script>", "\\n"]]}}')), "200"),
    "slow headers": Hostile(_chosen(b"GET / HT", _HEAD), "408"),
    "slow body": Hostile(lambda _: _HEAD + b"Content-Length: 100\r\n\r\n{", "408"),
    "gone at once": Hostile(
        lambda _: valid_request({"input": {"tokens": [["a", "b"]] * 1000}}), "gone", gone=True),
}  # fmt: skip
