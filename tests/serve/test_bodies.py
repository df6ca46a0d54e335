"""Bodies of requests: compressed, and in JSON."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.serve.bodies import inflated, read_json, write_json
from partwise.serve.faults import Fault

_TEXT = b'{"a": 1}' * 100
_ZIPPED = gzip.compress(_TEXT, mtime=0)

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet='ab"\\[]{}\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)  # fmt: skip


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(_VALUES)
def test_reads_what_the_standard_library_reads(value: Any) -> None:
    assert read_json(json.dumps(value).encode(), 32) == value


@given(_VALUES, st.integers(1, 5))
def test_the_depth_is_counted(value: Any, most: int) -> None:
    text = json.dumps(value).encode()
    if _depth(value) <= most:
        assert read_json(text, most) == value
    else:
        with pytest.raises(Fault, match=f"deeper than {most} levels"):
            read_json(text, most)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_json"),
        (b"{", "too_deep"),
        (b'{"a": 1,}', "not_json"),
        (b"NaN", "not_json"),
        (b"[Infinity]", "not_json"),
        (b"-Infinity", "not_json"),
        (b"1" * 10_000, "not_json"),
        (b'{"a": 1, "a": 2}', "not_json"),
        (b'"\xff"', "not_utf8"),
        (b"'a'", "not_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b"[" * 50 + b"]" * 50, "too_deep"),
        (b'["' + b"[" * 100_000, "too_deep"),
        (b"]]]]", "not_json"),
        (b'"\\', "not_json"),
    ],
)
def test_refuses(body: bytes, code: str) -> None:
    with pytest.raises(Fault) as caught:
        read_json(body, 32)
    assert (caught.value.status, caught.value.code) == (400, code)


def test_brackets_in_strings_are_no_depth() -> None:
    assert read_json(json.dumps({"a": '[[[[{{{"\\' * 20}).encode(), 2) == {"a": '[[[[{{{"\\' * 20}


def test_writes_ascii_even_for_what_is_no_unicode() -> None:
    assert json.loads(write_json({"é": "\ud800"})) == {"é": "\ud800"}
    assert write_json("é") == b'"\\u00e9"'


def test_writes_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(float("nan"))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("identity", _TEXT),
        ("gzip", _ZIPPED),
        ("x-gzip", _ZIPPED),
        ("deflate", zlib.compress(_TEXT)),
    ],
)
def test_decompresses_up_to_the_limit(encoding: str, body: bytes) -> None:
    assert inflated(body, encoding, len(_TEXT)) == _TEXT
    with pytest.raises(Fault) as caught:
        inflated(body, encoding, len(_TEXT) - 1)
    assert (caught.value.status, caught.value.code) == (413, "too_large")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b""),
        ("gzip", b"nothing like it"),
        ("gzip", _ZIPPED[:-1]),
        ("gzip", _ZIPPED + b"x"),
        ("gzip", gzip.compress(b"", mtime=0) * 1000),
        ("gzip", _ZIPPED[:-8] + b"\0" * 8),
        ("deflate", zlib.compress(_TEXT) + zlib.compress(_TEXT)),
        ("deflate", _ZIPPED),
    ],
)
def test_refuses_damaged_streams(encoding: str, body: bytes) -> None:
    with pytest.raises(Fault) as caught:
        inflated(body, encoding, 1 << 20)
    assert (caught.value.status, caught.value.code) == (400, "not_compressed")


def test_a_bomb_is_cut_off() -> None:
    import tracemalloc

    bomb = gzip.compress(b"\0" * (64 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(Fault, match="larger than 1,000,000 bytes"):
            inflated(bomb, "gzip", 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
