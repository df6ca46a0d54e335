"""What a fit on a cluster takes: files, collections, and data in memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, Place
from .connection import Cluster, WorkerLost
from .pieces import BlockPiece, FilePiece, Measured, PartPiece, SourcePiece, cut
from .station import BlockOrigin, measure

if TYPE_CHECKING:
    from ..tasks.trainer import Trainer

__all__ = ["ClusterInputs", "Files", "as_inputs"]


@dataclass(frozen=True)
class Files:
    """Files that the workers read, from storage that all of them share.

    Attributes
    ----------
    patterns : sequence of str or path-like
        Names of files, which may hold ``*``, ``?`` and ``[...]``. The files of a pattern are read
        in the order of their names.
    format : Chosen, str or None
        Their format; None is the format of the task.
    options : mapping
        Further options that the files are read with, as the command has them.

    Examples
    --------
    >>> from partwise.dask import Files
    >>> Files(["train-*.conll"], format="conllu").format
    'conllu'
    """

    patterns: Sequence[str | os.PathLike[str]]
    format: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ClusterInputs:
    """Whole pieces, in their order, and the collections that some of them are parts of.

    Attributes
    ----------
    pieces : sequence of BlockPiece
        The files, the parts of a collection, or the data in memory.
    parts : sequence of tuple of Delayed
        For each part of a collection what computes X, y and so on.
    weight : array-like or None
        The weights of all examples.
    """

    pieces: Sequence[BlockPiece]
    parts: Sequence[tuple[Any, ...]] = ()
    weight: Any = None

    def origins(
        self, cluster: Cluster, blocks: int, name: str
    ) -> tuple[list[BlockOrigin], list[str]]:
        """Count the examples, and cut them into blocks.

        Returns the origins of the blocks, and the hash of every file.
        """
        measured = self._measured(cluster, name)
        sure = [
            replace(piece, sha256=one.sha256) if isinstance(piece, FilePiece) else piece
            for piece, one in zip(self.pieces, measured, strict=True)
        ]
        weight = self._weights(sum(one.examples for one in measured))
        found, first = [], 0
        for number, runs in enumerate(cut(measured, blocks)):
            mine = [sure[k].between(begin, end) for k, begin, end in runs]
            last = first + sum(end - begin for _, begin, end in runs)
            own = None if weight is None else weight[first:last]
            found.append(BlockOrigin(number, first, last - first, mine, own))
            first = last
        return found, [one.sha256 for one in measured if one.sha256]

    def _measured(self, cluster: Cluster, name: str) -> list[Measured]:
        if all(isinstance(piece, SourcePiece) for piece in self.pieces):
            return [piece.measure() for piece in self.pieces]
        while True:
            cluster.some_workers()
            tasks = []
            for k, piece in enumerate(self.pieces):
                data = self.futures(cluster, piece.part) if isinstance(piece, PartPiece) else []
                key = f"partwise-measure-{name}-{k}"
                tasks.append(cluster.submit(None, key, measure, piece, *data))
            try:
                found: list[Measured] = cluster.collect(tasks)
            except WorkerLost:
                continue
            return found

    def futures(self, cluster: Cluster, part: int) -> list[Any]:
        """Return what stands for the data of a part on the cluster."""
        return list(cluster.client.compute(list(self.parts[part])))

    def _weights(self, n: int) -> Any:
        from ..models.training_examples import check_weights

        return None if self.weight is None else check_weights(self.weight, n)


def as_inputs(how: Trainer, data: Sequence[Any], weight: Any, cluster: Cluster) -> ClusterInputs:
    """Return the inputs that the arguments of `fit` stand for.

    Parameters
    ----------
    how : Trainer
        The estimator, without anything that belongs to this process.
    data : sequence
        X, y and so on; those that are None at the end are left out.
    weight : array-like or None
        The weights of the examples.
    cluster : Cluster
        The cluster, whose workers know which files there are.
    """
    data = list(data)
    if is_collection(weight):
        (weight,) = in_memory(weight)
    while len(data) > 1 and data[-1] is None:
        data.pop()
    X = data[0]
    if isinstance(X, (str, os.PathLike)):
        X = Files([X])
    if isinstance(X, Files):
        if len(data) > 1:
            raise DataError("files hold their labels; leave y out")
        return ClusterInputs(_files(how, X, cluster), weight=weight)
    if is_collection(X):
        parts = _parts(data)
        return ClusterInputs([PartPiece(how, k) for k in range(len(parts))], parts, weight)
    source, held = how._given(*data)  # type: ignore[attr-defined]
    return ClusterInputs([SourcePiece(source)], weight=held if weight is None else weight)


def is_collection(X: Any) -> bool:
    """Return whether something is a collection of Dask, or a list of delayed parts."""
    from dask.base import is_dask_collection

    if isinstance(X, (list, tuple)) and len(X):
        return all(is_dask_collection(part) for part in X)
    return bool(is_dask_collection(X))


def _files(how: Trainer, files: Files, cluster: Cluster) -> list[BlockPiece]:
    from ..tasks.registry import task_of

    task = task_of(how.task)
    known = set(task.defaults("train"))
    given = {**task.defaults("train"), **_options_of(how, known), **files.options}
    given["format"] = files.format
    patterns = [os.path.abspath(os.fspath(pattern)) for pattern in files.patterns]
    if not patterns:
        raise DataError("there are no files; give at least one")
    while True:
        cluster.some_workers()
        task_name = f"partwise-files-{os.urandom(4).hex()}"
        try:
            (paths,) = cluster.collect([cluster.submit(None, task_name, expand, patterns)])
            break
        except WorkerLost:
            continue
    return [FilePiece(task.name, path, given) for path in paths]


def _options_of(how: Trainer, known: set[str]) -> dict[str, Any]:
    """Return the parameters of an estimator that are options of its task under the same name."""
    return {name: getattr(how, name) for name in how.names() if name in known}


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that patterns stand for."""
    found: list[str] = []
    for pattern in patterns:
        some = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        if not some:
            raise DataError("there is no such file where the workers are", place=Place(pattern))
        found += some
    return found


def _parts(data: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return for each part of the collections what computes X, y and so on."""
    columns = [_delayed(column) for column in data]
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise DataError(
            f"X and y have {' and '.join(map(str, sorted(sizes)))} parts; give both the same "
            "partitions"
        )
    return list(zip(*columns, strict=True))


def _delayed(column: Any) -> list[Any]:
    """Return the parts of a collection."""
    from dask.delayed import Delayed

    if isinstance(column, (list, tuple)):
        return list(column)
    if isinstance(column, Delayed):
        return [column]
    if hasattr(column, "rechunk") and getattr(column, "ndim", 1) > 1:
        column = column.rechunk({1: -1})
    return list(np.ravel(np.array(column.to_delayed(), dtype=object)))


def in_memory(*collections: Any) -> tuple[Any, ...]:
    """Compute the collections that are not None. A list of parts becomes one list."""
    import dask

    there = [column for column in collections if column is not None]
    found = iter(dask.compute(*there))
    made = []
    for column in collections:
        value = None if column is None else next(found)
        if isinstance(column, (list, tuple)) and value is not None:
            value = [item for part in value for item in part]
        made.append(value)
    return tuple(made)
