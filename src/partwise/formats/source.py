"""Where text comes from and goes to: plain or gzipped files, stdin and stdout."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from partwise.errors import DataError

__all__ = ["read_text", "writing"]

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_HEAD = 8192  # bytes that show whether a file is text


def read_text(source: str | os.PathLike[str]) -> tuple[str, str]:
    r"""Read a whole text source.

    Parameters
    ----------
    source
        A path, or ``"-"`` for standard input. Gzip is recognised by its first bytes, not by the
        name.

    Returns
    -------
    name, text
        The name to use in messages, and the text with ``\n`` as its only line end.

    Raises
    ------
    DataError
        If the source is missing, is a damaged gzip file, or is not UTF-8.
    """
    name, data = _read_bytes(os.fspath(source))
    if data.startswith(_GZIP_MAGIC):
        data = _gunzip(name, data)
    data = data.removeprefix(_UTF8_BOM)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = _universal(data[: error.start].decode("latin-1")).count("\n") + 1
        raise DataError(
            f"{name}:{line}: byte 0x{data[error.start]:02x} is not UTF-8 text; {_remedy(data)}"
        ) from None
    return name, _universal(text)


def _remedy(data: bytes) -> str:
    if data.startswith(_UTF16_BOMS):
        return "convert the file with `iconv -f UTF-16 -t UTF-8`"
    if b"\0" in data[:_HEAD]:
        return "the file is not text at all; give another"
    return "convert the file, for example with `iconv -f LATIN1 -t UTF-8`"


def _universal(text: str) -> str:
    # str.splitlines is no help: it also breaks at form feeds and at U+2028, which may be tokens.
    if "\r" in text:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _read_bytes(source: str) -> tuple[str, bytes]:
    if source == "-":
        return "<stdin>", sys.stdin.buffer.read()
    try:
        return source, Path(source).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{source}: no such file; check the path, or use - for stdin") from None
    except OSError as error:
        raise DataError(
            f"{source}: cannot be read ({error.strerror}); give a readable file, or - for stdin"
        ) from error


def _gunzip(name: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{name}: damaged or truncated gzip file ({error}); fetch or compress it again"
        ) from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text target so that it appears whole or not at all.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output. A name that ends in ``.gz`` is gzipped.

    Yields
    ------
    TextIO
        A UTF-8 stream. The file takes its name when the block ends; if the block raises, the
        target is left as it was.
    """
    target = os.fspath(path)
    if target == "-":
        yield from _stdout()
        return
    # Follow links, so that the file behind a link is replaced and not the link itself.
    real = Path(os.path.realpath(target))
    if os.path.exists(target) and not os.path.isfile(target):
        # A device or a pipe (/dev/stdout) must not be replaced by a file. A pipe behind a link has
        # no name of its own.
        with _open(target, Path(target), "wb") as raw, _text(raw, target) as stream:
            yield stream
        return
    temporary = real.with_name(f".{real.name}.{secrets.token_hex(6)}.tmp")
    try:
        with _open(target, temporary, "xb") as raw, _text(raw, target) as stream:
            yield stream
        os.replace(temporary, real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _stdout() -> Iterator[TextIO]:
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        yield sys.stdout
        return
    # The terminal's locale may not be UTF-8; predictions always are.
    sys.stdout.flush()
    stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()


def _open(target: str, path: Path, mode: str) -> BinaryIO:
    try:
        return open(path, mode)  # type: ignore[return-value]
    except OSError as error:
        raise DataError(
            f"{target}: cannot be written ({error.strerror}); give a path in a folder that exists "
            "and is writable"
        ) from error


@contextmanager
def _text(raw: BinaryIO, target: str) -> Iterator[TextIO]:
    if not target.endswith(".gz"):
        with io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    # No name and no time in the header: the same text gives the same bytes.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
    ):
        yield stream
