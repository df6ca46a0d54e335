"""Preparation of examples that are read a batch at a time, and laid out on disk."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError, Place
from ..problem.batches import ProblemWriter
from ..problem.disk_room import BLOCK_BYTES
from ..problem.losses import make_loss
from .stream import SpooledStream, numbered

if TYPE_CHECKING:
    from ..models.features import Features
    from ..models.model import Label
    from ..problem.batches import Batch, Keep, Relabel
    from ..problem.problem import Problem
    from ..problem.weight_rule import WeightRule
    from ..structures.base import Structure
    from ..training.settings import Parameters
    from .source import Source
    from .stream import Stream

__all__ = ["ExampleWeights", "Joined", "LaidOut", "Outline", "Preparation", "lay_out"]

_log = logging.getLogger(__name__)

#: A block is at most this share of the memory: some windows of several blocks each are in memory at
#: a time, beside all else.
_SHARE: Final = 256
_LEAST_BLOCK: Final = 1 << 18
_ALONE: Final = "this task is trained on one machine only; leave the cluster out"


@dataclass(frozen=True, eq=False)
class Outline:
    """What is known when all examples have been read; see `Prepared`.

    Attributes
    ----------
    structure, features, labels, constraints, weights, meta, record
        As in `Prepared`.
    n_features : sequence of int
        How many features each kind of site has in the batches.
    keep, relabel
        What becomes of the features and the labels of the batches, see `ProblemWriter.finish`.
    """

    structure: Structure
    features: Features
    n_features: Sequence[int]
    labels: Sequence[Label] = ()
    constraints: Any = None
    weights: str | WeightRule | None = None
    meta: dict[str, Any] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    keep: Sequence[Keep | None] | None = None
    relabel: Relabel | None = None


class Joined(NamedTuple):
    """What becomes of the numbers in the batches of a preparation that was joined to another one.

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
    """What a trainer makes of examples that come in batches.

    Attributes
    ----------
    looks : int
        How often all examples are looked at before the first batch is made.
    """

    looks: int = 0

    def look(self, source: Source, weight: Floats, turn: int) -> None:
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
        """Make what follows from all examples, once they were looked at as often as needed."""
        return

    @abstractmethod
    def batches(self, source: Source, weight: Floats) -> Iterator[Batch]:
        """Prepare some examples; those of weight 0 are left out."""

    @abstractmethod
    def finish(self) -> Outline:
        """Return what was found in all examples."""

    # Several preparations may look at the examples of one block each. They are joined in the order
    # of the blocks, so that everything gets the number that it would have got from one of them.

    def without_examples(self) -> None:
        """Let go of the examples that were seen last, so that little has to be sent elsewhere."""
        return

    def join_looks(self, other: Preparation) -> None:
        """Take in what another preparation found when it looked at the examples that come next."""
        raise MismatchError(_ALONE)

    def join(self, other: Preparation) -> Joined:
        """Take in what another one found while it made the batches of the examples that come next.

        The other one is a copy of this one from before its first batch.
        """
        raise MismatchError(_ALONE)


@dataclass(frozen=True, eq=False)
class LaidOut:
    """A problem on disk, and what it was made of.

    Attributes
    ----------
    problem : Problem
        The problem.
    outline : Outline
        What was found in the examples.
    n_examples : int
        How many examples there were, those of weight 0 included.
    """

    problem: Problem
    outline: Outline
    n_examples: int


class ExampleWeights:
    """The weights of examples whose number is not known before all are read.

    Parameters
    ----------
    given : array-like or None
        One number per example, or one for all; None is 1 for each.
    """

    def __init__(self, given: Any) -> None:
        from ..models.training_examples import check_weights

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
        from ..models.training_examples import check_weights

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
    stream: Stream,
    sample_weight: Any,
    settings: Parameters,
    resumed: bool = False,
) -> LaidOut:
    """Read all examples, and lay them out in the folder that the settings name.

    Parameters
    ----------
    preparation : Preparation
        What makes batches of the examples.
    stream : Stream
        The examples.
    sample_weight : array-like or None
        Their weights, as a user gives them.
    settings : Parameters
        How to train.
    resumed : bool
        Whether the fit takes over the dual variables that are in the folder.
    """
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
        read = []
        for turn in range(preparation.looks):
            n = 0
            for source in stream.batches():
                with numbered(n):
                    preparation.look(source, weights.of(n, source), turn)
                n += len(source)
            weights.check(n)
            read.append(n)
        n = 0
        for source in stream.batches():
            with numbered(n):
                for batch in preparation.batches(source, weights.of(n, source)):
                    writer.add(batch)
            n += len(source)
        stream.close()
        weights.check(n)
        if any(before != n for before in read):
            raise DataError(
                f"{n:,} examples, where there were {read[0]:,} when they were first read; leave "
                "them as they are during training",
                place=Place(stream.path or "the data"),
            )
        if not n:
            raise DataError(
                "there are no examples to train on; give at least two, of different labels"
            )
        if not writer.n_examples:
            raise DataError("all sample weights are zero; give some example a positive weight")
        outline = preparation.finish()
        problem = writer.finish(
            outline.structure,
            outline.n_features,
            loss=make_loss(settings.loss, outline.structure.n_labels, settings.cost_matrix),
            weights=outline.weights or settings.weights,
            constraints=outline.constraints,
            keep=outline.keep,
            relabel=outline.relabel,
        )
    except BaseException:
        writer.abandon()
        raise
    return LaidOut(problem, outline, n)


def _block_bytes(settings: Parameters) -> int:
    limit = settings.memory_bytes
    return BLOCK_BYTES if limit is None else max(_LEAST_BLOCK, min(BLOCK_BYTES, limit // _SHARE))
