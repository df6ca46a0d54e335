"""Where the examples of a block come from: parts of files, or of data in Python."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, Place

if TYPE_CHECKING:
    from ..tasks.source import Source
    from ..tasks.trainer import Trainer

__all__ = ["BlockPiece", "FilePiece", "Measured", "PartPiece", "SourcePiece", "cut"]

_READ: Final = 1 << 22
#: The tasks whose examples do not hold their labels.
_PAIRED: Final = ("tag", "classify")


@dataclass(frozen=True)
class Measured:
    """How many examples something has, and a hash of its content ("" for data in Python)."""

    examples: int
    sha256: str = ""


class BlockPiece(ABC):
    """Some of the examples of a file or of a part of a collection."""

    @abstractmethod
    def sources(self) -> Iterator[Source]:
        """Read the examples, some at a time."""

    @abstractmethod
    def between(self, begin: int, end: int) -> BlockPiece:
        """Return some of the examples of a whole piece, counted from 0."""

    def measure(self) -> Measured:
        """Count the examples of a whole piece."""
        return Measured(sum(len(source) for source in self.sources()))


def _some(sources: Iterator[Source], begin: int, end: int | None) -> Iterator[Source]:
    """Yield the examples from number `begin` up to `end`, which is left out."""
    n = 0
    for source in sources:
        first, last = max(begin - n, 0), len(source) if end is None else min(end - n, len(source))
        if first < last:
            yield source if last - first == len(source) else source.take(range(first, last))
        n += len(source)
        if end is not None and n >= end:
            return


@dataclass(frozen=True)
class FilePiece(BlockPiece):
    """Some examples of a file that every worker can read.

    Attributes
    ----------
    task : str
        The name of the task that reads it.
    path : str
        The file.
    given : mapping
        The options that it is read with, see `Task.read`.
    begin, end : int, int or None
        Which examples; None is all that follow.
    sha256 : str
        The hash of the file when it was first read; "" before.
    """

    task: str
    path: str
    given: Mapping[str, Any]
    begin: int = 0
    end: int | None = None
    sha256: str = ""

    def sources(self) -> Iterator[Source]:
        from ..tasks.registry import task_of
        from ..tasks.stream import FileStream

        if self.sha256 and _hash(self.path) != self.sha256:
            raise DataError(
                "the file is not the one that was read before, or another one on "
                "another worker; leave it as it is during training, and on storage that all "
                "workers share",
                place=Place(self.path),
            )
        stream = FileStream(task_of(self.task), self.path, self.given)
        return _some(stream.batches(), self.begin, self.end)

    def between(self, begin: int, end: int) -> FilePiece:
        return replace(self, begin=begin, end=end)

    def measure(self) -> Measured:
        found = _hash(self.path)
        return Measured(super().measure().examples, found)


def _hash(path: str) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while chunk := stream.read(_READ):
                digest.update(chunk)
    except OSError as error:
        raise DataError(
            f"a worker cannot read it: {error.strerror or error}; put it on storage that "
            "all workers share, under the same name",
            place=Place(path),
        ) from error
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class SourcePiece(BlockPiece):
    """Examples that the driver had in memory.

    Attributes
    ----------
    source : Source
        The examples.
    """

    source: Source

    def sources(self) -> Iterator[Source]:
        if len(self.source):
            yield self.source

    def between(self, begin: int, end: int) -> SourcePiece:
        return SourcePiece(self.source.checked().take(range(begin, end)))


@dataclass(frozen=True, eq=False)
class PartPiece(BlockPiece):
    """Some examples of one part of a collection.

    Attributes
    ----------
    how : Trainer
        The estimator, which reads the data as its `fit` does.
    part : int
        The number of the part.
    data : sequence or None
        The arguments of `fit`: X, y and so on, once they are there. If there is no y, X holds pairs
        (x, y), or examples with their labels where these are trees.
    begin, end : int, int or None
        Which examples; None is all that follow.
    """

    how: Trainer
    part: int
    data: Sequence[Any] | None = None
    begin: int = 0
    end: int | None = None

    def sources(self) -> Iterator[Source]:
        assert self.data is not None
        data = _unzipped(self.data) if self.how.task in _PAIRED else self.data
        source, _ = self.how._given(*data)  # type: ignore[attr-defined]
        whole: Source = source.checked()
        return _some(iter([whole] if len(whole) else []), self.begin, self.end)

    def between(self, begin: int, end: int) -> PartPiece:
        return replace(self, begin=begin, end=end)

    def filled(self, data: Sequence[Any]) -> PartPiece:
        """Return the piece with the data of its part."""
        return replace(self, data=data)


def _unzipped(data: Sequence[Any]) -> Sequence[Any]:
    """Return X and y where only pairs of them are given."""
    X = data[0]
    if len(data) > 1 or not isinstance(X, (list, tuple)):
        return data
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in X):
        raise DataError("without y, a bag holds pairs (x, y)")
    return [x for x, _ in X], [y for _, y in X]


def cut(measured: Sequence[Measured], blocks: int) -> list[list[tuple[int, int, int]]]:
    """Cut pieces into blocks of as many examples each as possible, in their order.

    Parameters
    ----------
    measured : sequence of Measured
        The number of examples of each whole piece.
    blocks : int
        The number of blocks.

    Returns
    -------
    list
        For each block, the pieces that it takes, with the first example and the one after the last.
    """
    total = sum(one.examples for one in measured)
    if not total:
        raise DataError("there are no examples to train on; give at least two, of different labels")
    blocks = min(blocks, total)
    ends = [total * (k + 1) // blocks for k in range(blocks)]
    found: list[list[tuple[int, int, int]]] = [[] for _ in ends]
    k = done = 0
    for number, one in enumerate(measured):
        begin = 0
        while begin < one.examples:
            end = min(one.examples, begin + ends[k] - done)
            found[k].append((number, begin, end))
            done += end - begin
            begin = end
            if done == ends[k] and k + 1 < blocks:
                k += 1
    return found
