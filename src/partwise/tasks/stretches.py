"""Stretches of paths over l2, which other processes may walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ..models.prepared import Prepared
from ..training.path import Descent
from ..training.path_table import BestModel
from .trainer import Trainer

if TYPE_CHECKING:
    from ..models.model import Model
    from ..training.result import Fit

__all__ = ["Stretch", "Walked", "Walkers", "replayed", "walked_by", "walked_here", "walkers_now"]


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some values of l2, and the examples to train on for them.

    Attributes
    ----------
    trainer : Trainer
        How to train; it is not changed.
    values : sequence of float
        The values of l2, the largest first.
    source, weight
        Labelled examples and their weights.
    warm_start : {"extrapolated", "plain"}
        Where each fit starts, as in `train_path`.
    """

    trainer: Trainer
    values: Sequence[float]
    source: Any
    weight: Any = None
    warm_start: str = "extrapolated"


@dataclass(frozen=True, eq=False)
class Walked:
    """The result of a stretch.

    Attributes
    ----------
    models : list of tuple of Model and Fit
        The models and their fits, one per value of l2.
    prepared : Prepared
        What was trained on, without the examples.
    classes : ndarray
        The labels as they were given.
    """

    models: list[tuple[Model, Fit]]
    prepared: Prepared
    classes: Any


class Walkers(Protocol):
    """Walks several stretches at a time, in other processes.

    Attributes
    ----------
    stretch : int
        How many values of l2 a stretch of a path has.
    """

    stretch: int

    def __call__(self, stretches: Sequence[Stretch]) -> Iterator[Walked]:
        """Yield the results of stretches, in their order."""


_walkers: ContextVar[Walkers | None] = ContextVar("walkers", default=None)


def walkers_now() -> Walkers | None:
    """Return what walks the paths of this thread; None stands for this process."""
    return _walkers.get()


@contextmanager
def walked_by(walkers: Walkers) -> Iterator[None]:
    """Let other processes walk the paths of this thread until the context ends."""
    before = _walkers.set(walkers)
    try:
        yield
    finally:
        _walkers.reset(before)


def walked_here(stretch: Stretch) -> Walked:
    """Walk a stretch in this process."""
    models: list[tuple[Model, Fit]] = []

    def receive(model: Model, fit: Fit) -> bool:
        models.append((model, fit))
        return False

    trainer = stretch.trainer.fresh()
    trainer.__dict__["_descent"] = Descent(stretch.values, receive, stretch.warm_start)
    prepared, _ = trainer._train(stretch.source, stretch.weight)
    held = Prepared(prepared.structure, prepared.features, prepared.labels, record=prepared.record)
    return Walked(models, held, trainer.classes_)


def replayed(walked: Iterator[Walked], found: BestModel) -> Walked:
    """Pass on the models of stretches as if they were trained here, and return the last stretch.

    A fit that is not certified ends the path, as it does on one machine.
    """
    for one in walked:
        for model, fit in one.models:
            if found(model, fit) or not fit.certificate.converged:
                return one
    return one
