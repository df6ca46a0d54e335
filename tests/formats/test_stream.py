"""Text that arrives piece by piece: where it is cut, and that nothing is lost."""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats import stream
from partwise.formats.source import Text, fed, read_text
from partwise.formats.stream import Piece, pieces


class Arriving(io.RawIOBase):
    """A stream from which each read returns the next chunk."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.chunks = [chunk for chunk in chunks if chunk]

    def read1(self, size: int) -> bytes:
        return self.chunks.pop(0) if self.chunks else b""


class Stdin:
    def __init__(self, *chunks: bytes) -> None:
        self.buffer = Arriving(chunks)


def cut(monkeypatch: Any, ends: str, *chunks: bytes) -> list[Piece]:
    monkeypatch.setattr(sys, "stdin", Stdin(*chunks))
    return list(pieces(ends))


def test_sentences_are_handed_on_at_their_blank_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cut(monkeypatch, "blank line", b"a\nb", b"\n\nc\n", b" \t\n\n", b"\r\nd\r\n\r\ne")
    assert found == [
        Piece(b"", b"a\nb\n\n", 0),
        Piece(b"", b"c\n \t\n\n", 3),
        Piece(b"\r\n", b"d\r\n\r\n", 7),
        Piece(b"", b"e", 9),
    ]


def test_the_first_piece_is_one_example(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cut(monkeypatch, "blank line", b"\n\na\n\nb\n\nc\n\nd\n")
    assert found == [
        Piece(b"", b"\n\na\n\n", 0),
        Piece(b"", b"b\n\nc\n\n", 4),
        Piece(b"", b"d\n", 8),
    ]


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cut(monkeypatch, "line", b"1 1:", b"1\n2 ", b"2:1\n3 3:1\n4", b" 4:1")
    assert [piece.data for piece in found] == [b"1 1:1\n", b"2 2:1\n3 3:1\n", b"4 4:1"]
    assert [piece.line for piece in found] == [0, 1, 3]


def test_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cut(monkeypatch, "brackets", b"(S\n (A a))\n(S", b" (B b)\n", b")\n\n(C c)\n", b"(D d)")
    assert [piece.data for piece in found] == [
        b"(S\n (A a))\n",
        b"(S (B b)\n)\n\n(C c)\n",
        b"(D d)",
    ]


def test_gzipped_text_comes_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"a\n\nb\n\n" * 50)
    assert cut(monkeypatch, "blank line", packed[:1], packed[1:9], packed[9:]) == [
        Piece(b"", packed, 0)
    ]
    with fed(packed):
        assert read_text("-") == Text("<stdin>", "a\n\nb\n\n" * 50)


def test_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cut(monkeypatch, "blank line") == []
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="<stdin>: is closed"):
        list(pieces("line"))


def test_a_stream_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def read1(self, size: int) -> bytes:
            raise OSError(5, "Input/output error")

    stdin = Stdin()
    stdin.buffer = Broken()  # type: ignore[assignment]
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataError, match=r"<stdin>: cannot be read .Input/output error.; give a"):
        list(pieces("line"))


def test_text_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "memory_limit", lambda: 800)
    with pytest.raises(DataError, match="<stdin>: more than"):
        cut(monkeypatch, "blank line", *[b"x\n" * 10] * 20)
    assert len(cut(monkeypatch, "blank line", *[b"x\n\n" * 10] * 20)) > 10


_TEXT = st.text(alphabet="a \t\r\n()", max_size=60)


@given(_TEXT, st.lists(st.integers(0, 60)), st.sampled_from(["blank line", "line", "brackets"]))
def test_nothing_is_lost_and_lines_are_counted(text: str, cuts: list[int], ends: str) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(place for place in cuts if place < len(data))})
    chunks = [data[a:b] for a, b in pairwise(places)]
    with pytest.MonkeyPatch.context() as patch:
        found = cut(patch, ends, *chunks)
    assert b"".join(piece.blank + piece.data for piece in found) == data
    before = b""
    for piece in found:
        before += piece.blank
        assert piece.line == len(re.findall(b"\r\n|\r|\n", before))
        before += piece.data
        if piece is not found[-1]:
            assert piece.data.endswith((b"\n", b"\r"))
            assert piece.data.strip() or ends != "blank line"
