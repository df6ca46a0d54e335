"""Labelled examples that are read a batch at a time, from a file or from an iterator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, Place
from ..files.work_folder import WorkFolder, telling
from ..problem.disk_arrays import Spool
from .source import Source

if TYPE_CHECKING:
    from .base import Task

__all__ = [
    "FileStream",
    "IteratorStream",
    "SpooledStream",
    "Stream",
    "is_iterator",
    "numbered",
    "of_columns",
    "of_pairs",
    "parts",
]

#: How many examples of an iterator are read at a time.
BATCH: Final = 1000
#: The bytes of text that are read at a time, at least.
_LEAST: Final = 1 << 16


class Stream(ABC):
    """Labelled examples of which only some are in memory at a time.

    Attributes
    ----------
    path : str or None
        The file that they are read from, for messages; None for data from Python.
    again : bool
        Whether they can be read more than once.
    """

    path: str | None = None
    again: bool = False

    @abstractmethod
    def batches(self) -> Iterator[Source]:
        """Read the examples, some at a time."""

    def close(self) -> None:
        """Free what was needed to read them."""
        return


class FileStream(Stream):
    """The examples of a file.

    Parameters
    ----------
    task : Task
        What reads the file.
    path : str
        The file, plain or gzipped; ``-`` is stdin.
    given : mapping
        The values of the options of ``"train"``, see `Task.read`.
    size : int or None
        How many bytes of text to read at a time; None leaves it to the reader.
    memory : int or None
        The memory that the fit may take, in bytes: the text that is read at a time is a small part
        of it.
    """

    def __init__(
        self,
        task: Task[Any],
        path: str,
        given: Mapping[str, Any],
        size: int | None = None,
        memory: int | None = None,
    ) -> None:
        from ..formats.registry import Chosen
        from ..formats.stream import BATCH_BYTES, check_cuttable

        # The features of a text take some hundred times its memory while they are made.
        most = BATCH_BYTES if memory is None else max(_LEAST, min(BATCH_BYTES, memory // 1024))
        self._size = size or most

        self._task, self._given, self._source = task, given, path
        self.path = "<stdin>" if path == "-" else path
        # A pipe may have a name.
        self.again = path != "-" and Path(path).is_file()
        chosen = Chosen.of(given["format"])
        self._ends = chosen.format(task.format).cut
        check_cuttable(self.path, chosen.options.get("encoding"))

    def batches(self) -> Iterator[Source]:
        from ..formats.stream import TextBatches

        task, given = self._task, self._given
        if self._ends is None:
            yield task.read_part(self._source, given, None)
            return
        first: Source | None = None
        read: TextBatches[Source] = TextBatches(
            self._source,
            self._ends,
            lambda: task.read_part(self._source, given, first),
            self._size,
        )
        for found in read:
            part = found.examples
            if found.skipped:
                part = part.take(range(found.skipped, len(part)))
            if first is None:
                first = part
            yield part


class IteratorStream(Stream):
    """Examples from Python.

    Parameters
    ----------
    batches : callable
        Yields some examples at a time.
    again : bool
        Whether it can be called more than once.
    """

    def __init__(self, batches: Callable[[], Iterator[Source]], again: bool = False) -> None:
        self._batches, self.again = batches, again

    def batches(self) -> Iterator[Source]:
        return self._batches()


class SpooledStream(Stream):
    """A stream that is written to disk when it is first read, so that it can be read again.

    Parameters
    ----------
    stream : Stream
        What can be read once.
    folder : WorkFolder
        Where to write it.
    """

    again = True

    def __init__(self, stream: Stream, folder: WorkFolder) -> None:
        self._stream, self._folder, self.path = stream, folder, stream.path
        self._spool: Spool | None = None

    def batches(self) -> Iterator[Source]:
        if self._spool is not None:
            with telling(self._folder.path):
                yield from self._spool
            return
        with telling(self._folder.path):
            self._spool = Spool(self._folder.part("spool") / "examples")
        for batch in self._stream.batches():
            with telling(self._folder.path):
                self._spool.add(batch)
            yield batch

    def close(self) -> None:
        if self._spool is not None:
            self._spool.remove()


def parts(source: Source, size: int | None = None) -> Stream:
    """Return examples that are in memory as a stream."""
    whole = source.checked()
    step = size or BATCH

    def batches() -> Iterator[Source]:
        for first in range(0, len(whole), step):
            yield whole.take(range(first, min(first + step, len(whole))))

    found = IteratorStream(batches, again=True)
    found.path = whole.path
    return found


def of_pairs(
    pairs: Iterable[Any], make: Callable[[list[Any], list[Any]], Source], size: int | None = None
) -> Stream:
    """Return examples that come as pairs (x, y) as a stream.

    Parameters
    ----------
    pairs : iterable
        The pairs, which are read once.
    make : callable
        Makes the source of some examples and their labels.
    size : int or None
        How many to read at a time; None is BATCH.
    """

    def batches() -> Iterator[Source]:
        n = 0
        for (some,) in cut(pairs, names=("X",), size=size):
            for i, pair in enumerate(some, n):
                if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                    raise DataError(
                        f"is a {type(pair).__name__}; without y, give an iterator of pairs (x, y)",
                        place=Place.nth("example", i),
                        subject=True,
                    )
            with numbered(n):
                made = make([x for x, _ in some], [y for _, y in some])
            n += len(some)
            yield made

    return IteratorStream(batches)


def of_columns(
    columns: Mapping[str, Iterable[Any] | None],
    make: Callable[..., Source],
    size: int | None = None,
) -> Stream:
    """Return examples whose parts come from several iterables as a stream.

    Parameters
    ----------
    columns : mapping
        The iterables by their names, for messages; None is left out.
    make : callable
        Makes the source of some examples, from one list per iterable.
    size : int or None
        How many to read at a time; None is BATCH.
    """

    def batches() -> Iterator[Source]:
        n = 0
        for lists in cut(*columns.values(), names=tuple(columns), size=size):
            with numbered(n):
                made = make(*lists)
            n += len(lists[0])
            yield made

    return IteratorStream(batches)


def is_iterator(thing: Any) -> bool:
    """Return whether something can be read only once, and has no length."""
    return isinstance(thing, Iterator)


def cut(
    *columns: Iterable[Any] | None, names: tuple[str, ...], size: int | None = None
) -> Iterator[Any]:
    """Cut iterables of the same length into lists, and yield one list of each at a time.

    Parameters
    ----------
    *columns
        The iterables; None is returned for one that is None.
    names
        What they are called, for messages.
    size
        The length of the lists; None is BATCH.
    """
    iterators = [None if column is None else iter(column) for column in columns]
    step, n = size or BATCH, 0
    while True:
        found = [None if each is None else list(islice(each, step)) for each in iterators]
        lengths = {
            name: len(some) for name, some in zip(names, found, strict=True) if some is not None
        }
        first = next(iter(lengths))
        for name, length in lengths.items():
            if length != lengths[first]:
                fewer, more = (name, first) if length < lengths[first] else (first, name)
                raise DataError(
                    f"{fewer} has {n + lengths[fewer]} examples, and {more} has more; give as many "
                    "of both"
                )
        if not lengths[first]:
            return
        n += lengths[first]
        yield found


@contextmanager
def numbered(first: int) -> Iterator[None]:
    """Correct the number of an example that an error names, for a batch that begins with `first`.

    Batches count their examples from 0.
    """
    try:
        yield
    except DataError as error:
        error.within(first=first)
        raise
