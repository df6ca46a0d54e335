"""Preparation of examples for a fit: from batches of sources to a problem, in memory or on disk."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError, Place
from ..models.training_examples import check_weights
from .source import Source
from .stream import SpooledStream, Stream, numbered, parts

if TYPE_CHECKING:
    from ..models.prepared import Prepared
    from ..problem.batches import Batch
    from ..training.settings import Parameters

__all__ = ["ExampleWeights", "Joined", "Preparation", "lay_out"]

_log = logging.getLogger(__name__)

#: A block is at most this share of the memory: some windows of several blocks each are in memory at
#: a time, beside all else.
_SHARE: Final = 256
_LEAST_BLOCK: Final = 1 << 18
_ALONE: Final = "this task is trained on one machine only; leave the cluster out"
_NO_WEIGHT: Final = "all sample weights are zero; give some example a positive weight"


class Joined(NamedTuple):
    """New numbers for the batches of a preparation that was joined to another one.

    Attributes
    ----------
    features : mapping of int to ndarray
        For some kinds of sites, the new number of each feature. Those of other kinds keep theirs.
    labels : ndarray or None
        The new number of each label; None if they keep theirs.
    """

    features: Mapping[int, Ints] = {}
    labels: Ints | None = None


class Preparation(ABC):
    """Turns the examples of a trainer, which come in batches, into rows of features and labels.

    Attributes
    ----------
    looks : int
        How often all examples are looked at before the first batch is made.
    whole : bool
        Whether all examples come at once, are held in memory, and are returned as one batch. Only
        then labels may be missing.
    none : str
        The message if there are no examples.
    """

    looks: int = 0
    whole: bool = True
    none: ClassVar[str] = (
        "there are no examples to train on; give at least two, of different labels"
    )

    def look(self, source: Any, weight: Floats, turn: int) -> None:
        """Look at some examples before any batch is made.

        Parameters
        ----------
        source : Source
            The examples.
        weight : ndarray
            Their weights.
        turn : int
            How often all examples have been looked at before.
        """
        return

    def ready(self) -> None:
        """Compute what depends on all examples, after they were looked at as often as needed."""
        return

    @abstractmethod
    def batches(self, source: Any, weight: Floats) -> Iterator[Batch]:
        """Prepare some examples; those of weight 0 are left out."""

    @abstractmethod
    def finish(self) -> Prepared:
        """Return what was found in all examples."""

    # Several preparations may look at the examples of one block each. They are joined in the order
    # of the blocks, so that everything gets the number that it would have got from one of them.

    def without_examples(self) -> None:
        """Drop the examples that were seen last, so that little is sent to other processes."""
        return

    def join_looks(self, other: Any) -> None:
        """Add what another preparation found when it looked at the examples that come next."""
        raise MismatchError(_ALONE)

    def join(self, other: Any) -> Joined:
        """Add what another one found while it made the batches of the examples that come next.

        The other one is a copy of this one from before its first batch.
        """
        raise MismatchError(_ALONE)


class ExampleWeights:
    """The weights of examples whose number is not known before all are read.

    Parameters
    ----------
    given : array-like or None
        One number per example, or one for all; None is 1 for each.
    """

    def __init__(self, given: Any) -> None:
        self._given: Floats | None = None
        if given is not None:
            array = np.asarray(given)
            # A single number is the weight of every example, however many there are.
            self._one = array.ndim == 0
            n = 1 if self._one else len(array)
            self._given = check_weights(given, n)

    def of(self, first: int, source: Source) -> Floats:
        """Return the weights of some examples, times those that their file gives.

        Parameters
        ----------
        first : int
            The number of examples before them.
        source : Source
            The examples.
        """
        n = len(source)
        weight = np.ones(n)
        if self._given is not None:
            if self._one:
                weight = np.full(n, self._given[0])
            elif first + n <= len(self._given):
                weight = self._given[first : first + n].copy()
            else:
                raise DataError(
                    f"sample_weight has {len(self._given):,} numbers, and there are more "
                    "examples; give one number per example"
                )
        held = source.weights
        # Some examples at a time may have no weight, but not all of them.
        if held is None or not n or not np.any(held):
            return weight if held is None else np.zeros(n)
        return weight * check_weights(held, n)

    def check(self, n: int) -> None:
        """Raise a DataError unless there were as many weights as examples."""
        if self._given is not None and not self._one and len(self._given) != n:
            raise DataError(
                f"sample_weight has {len(self._given):,} numbers where there are {n:,} examples; "
                "give one number per example"
            )


def lay_out(
    preparation: Preparation,
    source: Source | Stream,
    sample_weight: Any,
    settings: Parameters,
    resumed: bool = False,
) -> Prepared:
    """Prepare all examples and lay them out, in memory or in the folder that the settings name.

    Parameters
    ----------
    preparation : Preparation
        What makes batches of the examples.
    source : Source or Stream
        The examples: a stream is laid out on disk.
    sample_weight : array-like or None
        Their weights, as a user gives them.
    settings : Parameters
        How to train.
    resumed : bool
        Whether the fit takes over the dual variables that are in the folder.
    """
    if settings.out_of_core is not None:
        stream = source if isinstance(source, Stream) else parts(source)
        return _on_disk(preparation, stream, sample_weight, settings, resumed)
    from ..models.fit import counted_among, in_memory

    assert isinstance(source, Source)
    weight = check_weights(sample_weight, len(source))
    if not len(source):
        raise DataError(preparation.none)
    for turn in range(preparation.looks):
        preparation.look(source, weight, turn)
    batches = list(preparation.batches(source, weight))
    prepared = preparation.finish()
    prepared = replace(prepared, record={"n_examples": len(source), **prepared.record})
    if not batches:
        raise DataError(_NO_WEIGHT)
    # Some tasks leave examples of weight 0 out themselves, and then count the others.
    kept = weight > 0.0
    cut = len(batches[0].shapes) == np.count_nonzero(kept)
    with counted_among(kept if cut else np.ones(1, np.bool_)):
        return in_memory(prepared, batches, settings)


def _on_disk(
    preparation: Preparation,
    stream: Stream,
    sample_weight: Any,
    settings: Parameters,
    resumed: bool,
) -> Prepared:
    from ..models.announcement import disk_announcement
    from ..problem.batches import ProblemWriter
    from ..problem.losses import make_loss

    assert settings.out_of_core is not None
    weights = ExampleWeights(sample_weight)
    writer = ProblemWriter(
        settings.out_of_core,
        resume=resumed,
        block_bytes=_block_bytes(settings),
        memory=settings.memory_bytes,
    )
    try:
        if preparation.looks and not stream.again:
            stream = SpooledStream(stream, writer.folder)
        n = 0
        for turn in range(preparation.looks + 1):
            before, n = n, 0
            for source in stream.batches():
                with numbered(n):
                    weight = weights.of(n, source)
                    if turn < preparation.looks:
                        preparation.look(source, weight, turn)
                    else:
                        for batch in preparation.batches(source, weight):
                            writer.add(batch)
                n += len(source)
            weights.check(n)
            if turn and n != before:
                raise DataError(
                    f"{n:,} examples, where there were {before:,} when they were first read; leave "
                    "them as they are during training",
                    place=Place(stream.path or "the data"),
                )
        stream.close()
        if not n:
            raise DataError(preparation.none)
        prepared = preparation.finish()
        prepared = replace(prepared, record={"n_examples": n, **prepared.record})
        if not writer.n_examples:
            raise DataError(_NO_WEIGHT)
        problem = writer.finish(
            prepared.structure,
            prepared.numbering,
            loss=make_loss(settings.loss, prepared.structure.n_labels, settings.cost_matrix),
            weights=prepared.weights or settings.weights,
            constraints=prepared.constraints,
        )
    except BaseException:
        writer.abandon()
        raise
    try:
        _log.info(disk_announcement(problem, settings, prepared.features))
    except BaseException:
        problem.room.close(remove=not resumed)
        raise
    return replace(prepared, problem=problem)


def _block_bytes(settings: Parameters) -> int:
    from ..problem.disk_room import BLOCK_BYTES

    limit = settings.memory_bytes
    return BLOCK_BYTES if limit is None else max(_LEAST_BLOCK, min(BLOCK_BYTES, limit // _SHARE))
