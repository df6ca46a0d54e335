"""Requests that are broken, oversized, compressed, foreign or hostile, and what they get."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.explained import case
from support.serving import Running, running

from partwise.serve import Limits

_LIMITS = Limits(
    max_bytes=20_000, max_inflated=60_000, max_header_bytes=4_000, max_sentences=8, max_tokens=200,
    max_depth=8, lengths={"tag": 50},
)  # fmt: skip
_VALID = {"input": {"tokens": [{"w": "a"}, {"w": "b"}]}}
_HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(limits=_LIMITS) as one:
        yield one


@pytest.fixture(autouse=True)
def _still_right(server: Running) -> Iterator[None]:
    """After every request, a valid one gets its right answer on a connection of its own."""
    yield
    said = server.predict(_VALID)
    assert said.status == 200
    (labels,) = case("tagger")[0].predict([_VALID["input"]["tokens"]])
    assert said.json["results"][0]["labels"] == labels


def _chunked(*parts: bytes) -> bytes:
    body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "not_http"),
        (b"nonsense\r\n\r\n", 400, "not_http"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "not_http"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", 400, "not_http"),
        (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400, "not_http"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n: y\r\n\r\n", 400, "not_http"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "unknown_host"),
        (b"GET / HTTP/1.0\r\n\r\n", 421, "unknown_host"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "no_such_page"),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "no_such_page"),
        (b"OPTIONS /predict HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "wrong_method"),
        (b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "no_such_page"),
        (b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431,
         "headers_too_large"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 2_000 + b"\r\n", 431,
         "headers_too_large"),
        (_HEAD + b"\r\n", 411, "no_length"),
        (_HEAD + b"Content-Length: -1\r\n\r\n", 400, "not_http"),
        (_HEAD + b"Content-Length: 1e3\r\n\r\n", 400, "not_http"),
        (_HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400, "not_http"),
        (_HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", 400, "not_http"),
        (_HEAD + b"Content-Length: 20001\r\n\r\n", 413, "too_large"),
        (_HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
         "two_lengths"),
        (_HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "not_implemented"),
        (_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "not_http"),
        (_HEAD + b"Content-Length: 2\r\nExpect: the-impossible\r\n\r\n{}", 417,
         "unknown_expectation"),
        (_HEAD + b"Content-Length: 100\r\n\r\n{}", 400, "not_http"),
        (_chunked(*[b" " * 4_000] * 6), 413, "too_large"),
        (_chunked(b'{"input"', b': {"te', b'xt": 1}}'), 422, "wrong_type"),
    ],
)  # fmt: skip
def test_broken_http(server: Running, data: bytes, status: int, code: str) -> None:
    said = server.raw(data)
    assert (said.status, said.code) == (status, code)
    assert said.headers.get("connection") == "close" or said.status == 422
    assert said.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/predict", 405),
        ("PUT", "/predict", 405),
        ("DELETE", "/models", 405),
        ("POST", "/", 405),
        ("GET", "/nothing", 404),
        ("GET", "/page/../../limits.py", 404),
        ("GET", "/page/%2e%2e/limits.py", 404),
        ("GET", "/page//etc/passwd", 404),
        ("GET", "//etc/passwd", 404),
        ("GET", "/../../../../etc/passwd", 404),
        ("GET", "/page/index.html", 404),
        ("GET", "/page/", 404),
        ("GET", "/index.html", 404),
        ("TRACE", "/", 405),
        ("BREW", "/", 405),
    ],
)
def test_paths_and_methods(server: Running, method: str, path: str, status: int) -> None:
    said = server.ask(method, path)
    assert said.status == status
    assert set(said.json["error"]) == {"code", "message", "where"}
    assert ("allow" in said.headers) == (status == 405)
    # Nothing was read beyond the request, so the connection could go on.
    assert "<" not in said.json["error"]["message"]


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "not_json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "not_json"),
        ({"Content-Type": ""}, 415, "not_json"),
        ({"Content-Encoding": "br"}, 415, "unknown_encoding"),
        ({"Content-Encoding": "gzip, gzip"}, 415, "unknown_encoding"),
        ({"Content-Encoding": "gzip"}, 400, "not_compressed"),
        ({"Origin": "https://evil.example"}, 403, "foreign_origin"),
        ({"Origin": "null"}, 403, "foreign_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "foreign_origin"),
        ({"Host": "evil.example"}, 421, "unknown_host"),
        ({"Host": "localhost.evil.example:80"}, 421, "unknown_host"),
    ],
)
def test_headers(server: Running, headers: dict[str, str], status: int, code: str) -> None:
    said = server.predict(_VALID, headers=headers)
    assert (said.status, said.code) == (status, code)


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress])
def test_compressed_bodies(server: Running, encode: Any) -> None:
    name = {"Content-Encoding": "gzip" if encode is gzip.compress else "deflate"}
    good = json.dumps(_VALID).encode()
    assert server.predict(encode(good), headers=name).status == 200
    bomb = encode(b" " * 10_000_000 + good)
    assert len(bomb) < _LIMITS.max_bytes
    said = server.predict(bomb, headers=name)
    assert (said.status, said.code) == (413, "too_large")
    assert server.predict(encode(good)[:-3], headers=name).code == "not_compressed"


def test_the_best_of_a_large_body_is_told_before_it_is_sent(server: Running) -> None:
    with server.dial() as client:
        client.sendall(_HEAD + b"Expect: 100-continue\r\nContent-Length: 20001\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 413 ")
    with server.dial() as client:
        body = json.dumps(_VALID).encode()
        head = _HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        client.sendall(head)
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"input": {"text": "a"}, "inputs": [{"text": "a"}]}', 422),
        (b'{"input": {"tokens": [1]}}', 422),
        (b'{"input": {"tokens": [null]}}', 422),
        (b'{"input": {"tokens": [{"w": NaN}]}}', 400),
        (b'{"input": {"tokens": [{"w": 1e999}]}}', 422),
        (b'{"input": {"tokens": [{"w": ' + b"9" * 4000 + b"}]}}", 422),
        (b'{"input": {"tokens": [{"w": ' + b"9" * 5000 + b"}]}}", 400),
        (b'{"input": {"tokens": [{"w": {"x": {"y": {"z": {"a": {}}}}}}]}}', 400),
        (b'{"input": {"tokens": [{"w": [1]}]}}', 422),
        (b'{"input": {"tokens": [["w", 1]]}}', 422),
        (b'{"input": {"tokens": [[["w"]]]}}', 422),
        (b'{"input": {"features": {"w": 1}}}', 422),
        (b'{"input": {"nodes": [[1]]}}', 422),
        (b'{"input": {"text": "words"}}', 422),
        (b'{"input": {"tokens": ["a"]}, "k": 1000000}', 422),
        (b'{"input": {"tokens": ["a"]}, "model": "/etc/passwd"}', 404),
        (b'{"input": {"tokens": ["a"]}, "file": "/etc/passwd"}', 422),
        (b'{"input": {"tokens": ["a"], "transitions": [["x"]]}}', 422),
        (b'{"input": {"tokens": [' + b'"a",' * 50 + b'"a"]}}', 413),
        (b'{"inputs": [' + b'{"tokens": ["a"]},' * 8 + b'{"tokens": ["a"]}]}', 413),
        (b'{"inputs": [' + (b'{"tokens": [' + b'"a",' * 49 + b'"a"]},') * 4
         + b'{"tokens": ["a"]}]}', 413),
        (b'{"input": {"tokens": ["\\ud800", "\\u0000", "\\n"]}}', 200),
        (b'{"input": {"tokens": [{"w": -0.0}, {"": ""}, {}, [], ""]}}', 200),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_bodies(server: Running, path: str, body: bytes, status: int) -> None:
    said = server.ask("POST", path, body)
    if path == "/explain" and b'"k"' in body:
        assert said.status == 422
    else:
        assert said.status == status, said.body


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(max_size=4)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["w", "form", "tokens", "1", "\ud800", "\t", "\n", "_", " ", ""]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["w", "1", "form", "pos", "x", ""]), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip
_FIELDS = {
    "tagger": "tokens", "tagger-steps": "tokens", "segmenter": "tokens", "parser": "tokens",
    "brackets": "tokens", "brackets-words": "tokens", "classifier": "features", "graph": "nodes",
    "classifier-hashed": "features", "kernel-tagger": "tokens",
}  # fmt: skip


@pytest.fixture(scope="module")
def every() -> Iterator[Running]:
    with running({name: case(name)[0] for name in _FIELDS}) as one:
        yield one


@pytest.mark.parametrize("name", _FIELDS)
def test_no_input_is_a_failure_of_the_server(every: Running, name: str) -> None:
    @given(st.lists(_JSON, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=2), _JSON),
           st.lists(_JSON, max_size=2), st.sampled_from(["/predict", "/explain"]))  # fmt: skip
    def check(held: Any, more: list[Any], path: str) -> None:
        one = {_FIELDS[name]: held}
        if more:
            one[{"nodes": "edges", "tokens": "transitions"}.get(_FIELDS[name], "text")] = more
        said = every.ask("POST", path, {"model": name, "input": one})
        assert said.status in (200, 413, 422), (one, said.body)

    check()
