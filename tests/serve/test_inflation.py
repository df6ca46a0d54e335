from __future__ import annotations

import gzip
import zlib

import pytest

from partwise.serve.faults import Fault
from partwise.serve.inflation import inflated

_TEXT = b'{"a": 1}' * 100
_ZIPPED = gzip.compress(_TEXT, mtime=0)


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
