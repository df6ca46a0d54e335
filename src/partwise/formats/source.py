"""Reading and writing of text: plain or gzipped files, stdin and stdout."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import IO, Any, BinaryIO, Final, NamedTuple, TextIO

from partwise.errors import DataError, Place
from partwise.files.whole_files import remedy, replacing
from partwise.formats.faults import STRICT, Faults, encoding_advice, no_line_is_utf8
from partwise.memory import memory_limit

__all__ = ["GZIP_MAGIC", "NotTextError", "Text", "check_encoding", "check_size", "damaged_gzip",
           "fed", "opened", "read_text", "universal", "unreadable", "writing"]  # fmt: skip

GZIP_MAGIC: Final = b"\x1f\x8b"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")
_CHUNK: Final = 1 << 20
#: Text may take 1 / _SHARE of the memory, because the strings that it is split into take several
#: times more.
_SHARE: Final = 8


class NotTextError(DataError):
    """Bytes of which no line can be read: of another encoding throughout, or no text at all."""


class _Fed(NamedTuple):
    """What `read_text` returns in place of a source, see `fed`."""

    source: str
    data: bytes
    moved_bytes: int
    head: int
    moved: int


_fed: ContextVar[_Fed | None] = ContextVar("fed", default=None)


@contextmanager
def fed(
    data: bytes, source: str = "-", *, moved_bytes: int = 0, head: int = 0, moved: int = 0
) -> Iterator[None]:
    """Make `read_text` return some bytes in place of a source, while entered.

    Parameters
    ----------
    data : bytes
        What is returned.
    source : str
        The path in place of which it is returned; ``-`` is stdin.
    moved_bytes : int
        How much further on in the source a byte of the data is, for messages.
    head, moved : int
        Where the lines of the data are in the source, see `Text`.
    """
    token = _fed.set(_Fed(source, data, moved_bytes, head, moved))
    try:
        yield
    finally:
        _fed.reset(token)


@dataclass(frozen=True)
class Text:
    r"""A text that was read already; readers take it in place of a path.

    Attributes
    ----------
    name : str
        The name to use in messages.
    text : str
        The text, with ``\n`` as its only line end.
    head : int
        The number of lines at the beginning that are the first ones of the source.
    moved : int
        How many lines further on in the source the other lines are.
    """

    name: str
    text: str
    head: int = 0
    moved: int = 0

    def line(self, number: int) -> int:
        """Return the number of a line in the source; both are counted from 1."""
        return number if number <= self.head else number + self.moved

    def lines(self) -> Iterator[tuple[int, str]]:
        """Iterate over the lines, each with its number in the source."""
        numbered = enumerate(self.text.split("\n"), 1)
        if not self.moved:
            return numbered
        return ((self.line(number), line) for number, line in numbered)


def read_text(
    source: str | os.PathLike[str] | Text, encoding: str | None = None, faults: Faults = STRICT
) -> Text:
    r"""Read a whole text source.

    Parameters
    ----------
    source
        A path, or ``"-"`` for standard input. Gzip is recognised by its first bytes, not by the
        name. A `Text` is returned as it is.
    encoding
        The encoding; None is UTF-8. A byte order mark is dropped.
    faults
        Where bytes that cannot be decoded are reported: one fault per line.

    Returns
    -------
    Text
        The name to use in messages, and the text with ``\n`` as its only line end.

    Raises
    ------
    DataError
        If the source is missing, is a damaged gzip file, or has another encoding.
    NotTextError
        If all of it is in another encoding or is no text. It is raised whatever `faults` says.
    """
    if isinstance(source, Text):
        return source
    check_encoding(encoding)
    codec = "utf-8" if encoding is None else encoding
    # Reading ends early where a beginning cannot be decoded, unless all faults are wanted.
    expected = "latin-1" if faults.keep else codec
    path = os.fspath(source)
    name = "<stdin>" if path == "-" else path
    given = _fed.get()
    if given is not None and given.source == path:
        where, data = Text(name, "", given.head, given.moved), given.data
    else:
        where = Text(name, "")
        with opened(path) as stream:
            data = _read_stream(name, stream.read1, expected)
    if data.startswith(GZIP_MAGIC):
        data = _gunzip(name, data, expected)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        text = _undecodable(where, data, error, encoding, faults)
    except (UnicodeError, ValueError) as error:
        raise DataError(
            f"is not text in {codec} ({error}); name its encoding with --encoding",
            place=Place(name),
        ) from None
    return replace(where, text=universal(text.removeprefix("\ufeff")))


def check_encoding(encoding: str | None) -> None:
    """Raise a DataError unless an encoding is None or the name of one that Python knows."""
    try:
        b"a".decode("utf-8" if encoding is None else encoding)
    except UnicodeDecodeError:
        # One byte can be less than a character.
        return
    except (LookupError, UnicodeError, ValueError):
        raise DataError(
            f"unknown encoding {encoding!r}; name one that Python knows, such as utf-8, latin-1, "
            "cp1252 or utf-16"
        ) from None


def _undecodable(
    where: Text, data: bytes, error: UnicodeDecodeError, encoding: str | None, faults: Faults
) -> str:
    """Report the bytes that cannot be decoded, and return the text with marks in their places."""
    # Imported here, because it loads numpy, and help does not.
    from partwise.files.container import MAGIC

    if data.startswith(MAGIC):
        raise NotTextError(
            "is a model file or a checkpoint of partwise and no data; give a file of examples",
            place=Place(where.name),
        )
    codec = encoding or "utf-8"
    remedy = encoding_advice(data, encoding)
    given = _fed.get()
    moved = 0 if given is None else given.moved_bytes
    whole = encoding is None and no_line_is_utf8(data)

    def report(line: int, begin: bytes, byte: int, at: int) -> None:
        text = universal(begin.decode(codec, "replace").removeprefix("\ufeff"))
        what = "UTF-8 text" if encoding is None else f"text in {encoding}"
        which = f"byte {at + moved + 1:,} of the file"
        sentence = f"byte 0x{byte:02x} is not {what} ({which}); {remedy}"
        if whole:
            raise NotTextError(sentence, place=Place(where.name, where.line(1)))
        number = where.line(line + text.count("\n"))
        faults.add(where.name, number, sentence, len(text) - text.rfind("\n"))

    if not faults.keep or "\n".encode(codec) != b"\n":
        report(1, data[: error.start], data[error.start], error.start)
    else:
        for number, line in enumerate(_LINE.finditer(data), 1):
            try:
                line.group().decode(codec)
            except UnicodeDecodeError as bad:
                begin, byte = line.group()[: bad.start], line.group()[bad.start]
                report(number, begin, byte, line.start() + bad.start)
    return data.decode(codec, "replace")


def universal(text: str) -> str:
    """Return text with line feeds as its only line ends."""
    # str.splitlines does not work: it also breaks at form feeds and at U+2028, which may be tokens.
    if "\r" in text:
        return text.replace("\r\n", "\n").replace("\r", "\n")
    return text


@contextmanager
def opened(source: str) -> Iterator[io.BufferedReader]:
    """Open a file, or stdin, to read bytes; what goes wrong while it is read is a DataError."""
    name = "<stdin>" if source == "-" else source
    if source == "-":
        if sys.stdin is None:
            raise DataError("<stdin>: is closed; give a file, or something to read on stdin")
        file: Any = nullcontext(sys.stdin.buffer)
    else:
        try:
            file = open(source, "rb")  # noqa: SIM115
        except FileNotFoundError:
            raise DataError(
                "no such file; check the path, or use - for stdin", place=Place(source)
            ) from None
        except (OSError, ValueError) as error:
            # A name with a zero byte is a ValueError.
            raise unreadable(source, error) from error
    try:
        with file as stream:
            yield stream
    except OSError as error:
        raise unreadable(name, error) from error


def unreadable(source: str, error: Exception) -> DataError:
    """Return the error for a source that the system does not let us read."""
    reason = getattr(error, "strerror", None) or str(error)
    return DataError(
        f"cannot be read ({reason}); give a readable file, or - for stdin", place=Place(source)
    )


def _read_stream(name: str, read: Callable[[int], bytes], codec: str) -> bytes:
    """Read to the end, within limits, because a device or a pipe may have no end.

    Parameters
    ----------
    name : str
        The name of the source, for messages.
    read : callable
        Reads at most some bytes. It should return what has arrived: one that waits for the rest of
        a chunk may miss a signal that came with data.
    codec : str
        The encoding that the beginning must have; otherwise no more is read.
    """
    most = memory_limit()
    chunks: list[bytes] = []
    size, looked = 0, 0
    while chunk := read(_CHUNK):
        size += len(chunk)
        check_size(name, size, most)
        chunks.append(chunk)
        # The text is checked at its beginning, and again when there is enough of it to judge.
        if not looked or looked < _CHUNK <= size:
            looked = size
            if not _may_be_text(name, b"".join(chunks), codec):
                break
    return b"".join(chunks)


def check_size(name: str, size: int, memory: float) -> None:
    """Raise a DataError if text of some bytes takes more memory than there is."""
    most = memory / _SHARE
    if size > most:
        raise DataError(
            f"more than {most / 2**30:,.1f} GiB of text, which this machine cannot hold "
            "in memory in the form of examples; give a part of it, or use a larger machine",
            place=Place(name),
        )


def _may_be_text(name: str, begin: bytes, codec: str) -> bool:
    """Return whether the beginning looks like text, so that the rest should be read."""
    if begin.startswith(GZIP_MAGIC):
        return True
    if len(begin) >= _CHUNK and b"\0" in begin and b"\n" not in begin:
        raise DataError(
            "zero bytes and no line end; the file is not text; give another", place=Place(name, 1)
        )
    try:
        codecs.getincrementaldecoder(codec)().decode(begin)
    except UnicodeError:
        return False
    except LookupError:
        # Some encodings can only be decoded as a whole.
        return True
    return True


def _gunzip(name: str, data: bytes, codec: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return _read_stream(name, file.read, codec)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise damaged_gzip(name, error) from error


def damaged_gzip(name: str, error: Exception) -> DataError:
    """Return the error for a gzip file that cannot be unpacked."""
    return DataError(
        f"damaged or truncated gzip file ({error}); fetch or compress it again", place=Place(name)
    )


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    r"""Open a text file for writing that is written completely or not at all.

    Half of a surrogate pair, which a label from Python can hold and UTF-8 cannot, is written as
    ``\ud800``.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output. A name that ends in ``.gz`` is gzipped.

    Yields
    ------
    TextIO
        A UTF-8 stream. The file gets its name when the block ends; if the block raises, the target
        is not changed.
    """
    target = os.fspath(path)
    if target == "-":
        yield from _stdout()
        return
    if os.path.exists(target) and not os.path.isfile(target):
        # A device or a pipe (/dev/stdout) must not be replaced by a file, and a pipe behind a link
        # has no name.
        try:
            with _open(target) as raw, _text(raw, target) as stream:
                yield stream
        except BrokenPipeError:
            # Its reader went away, which is no fault.
            raise
        except OSError as error:
            raise _unwritable(target, error) from error
        return
    try:
        with replacing(target) as raw, _text(raw, target) as stream:
            yield stream
    except OSError as error:
        raise _unwritable(target, error) from error


def _stdout() -> Iterator[TextIO]:
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        yield sys.stdout
        return
    # The terminal's locale may not be UTF-8; predictions always are.
    sys.stdout.flush()
    yield from _wrapped(binary)


def _open(target: str) -> BinaryIO:
    try:
        return open(target, "wb")
    except OSError as error:
        raise _unwritable(target, error) from error


def _unwritable(target: str, error: OSError) -> DataError:
    reason = error.strerror or str(error)
    return DataError(f"cannot be written ({reason}); {remedy(error)}", place=Place(target))


@contextmanager
def _text(raw: BinaryIO, target: str) -> Iterator[TextIO]:
    """Write text to a binary stream, which stays open."""
    if not target.endswith(".gz"):
        yield from _wrapped(raw)
        return
    # There is no name and no time in the header, so that the same text gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        yield from _wrapped(packed)


class _Stream(io.TextIOWrapper):
    """A stream whose first character is not lost if it is a byte order mark, which readers drop."""

    _begun = False

    def write(self, text: str) -> int:
        if text and not self._begun:
            self._begun = True
            if text.startswith("\ufeff"):
                super().write("\ufeff")
        return super().write(text)


def _wrapped(binary: IO[bytes] | gzip.GzipFile) -> Iterator[TextIO]:
    stream = _Stream(binary, encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()
