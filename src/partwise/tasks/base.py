"""What a task is: all that the verbs need to know about one kind of data and model.

The verbs know no task. Whatever a task needs to import beyond the standard library and the light
modules of the command line, it imports inside its methods: its options are part of the help of
every verb, and help must come without the compiler.
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from partwise.errors import DataError

from .options import Option

if TYPE_CHECKING:
    from partwise.models.model import Model
    from partwise.training.loop import Callback, Fit
    from partwise.training.settings import Settings

__all__ = ["Predictions", "Source", "Task", "Trained", "no_labels", "settings_of"]

#: A file as a task reads it.
Source = TypeVar("Source")


@dataclass(frozen=True, eq=False)
class Trained:
    """What training came to.

    Attributes
    ----------
    model
        The model.
    fit
        The fit, with its trace.
    n_examples
        How many examples it was trained on; fewer than were read if some were left out.
    record
        What the task wants to add to the record of ``--json``.
    """

    model: Model
    fit: Fit
    n_examples: int
    record: dict[str, Any] = field(default_factory=dict)


class Predictions(ABC):
    """What a model says about a file, ready to be written."""

    @abstractmethod
    def write(self, path: str) -> None:
        """Write a file; ``-`` is stdout. See :func:`partwise.formats.source.writing`."""

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Give the same as JSON can hold it, for a record with the predictions in it.

        ``predictions`` has an item an example; with ``--k``, ``candidates`` has a list an example,
        best first, each with a ``score`` and a ``probability`` (nan where it was not asked for).
        """


class Task(ABC, Generic[Source]):
    """One kind of data and model.

    Attributes
    ----------
    name : str
        As in ``--task`` and in `Model.task`.
    summary : str
        What it does, in a few words, for ``--task``'s help: ``"label every token"``.
    example : str
        A command that trains it, without ``partwise train --task NAME``.
    reads : str
        A sentence or two on the file that it reads, for help; begins with a verb: ``"reads ..."``.
    writes : str
        What ``predict`` writes, plain, with ``--marginals`` and with ``--k``; begins with a verb.
    headline : tuple of str
        The names of the metric that ``path`` chooses by; the first that a score has is taken.
    options : mapping of str to tuple of Option
        For a verb (``"train"``, ``"predict"``, ``"evaluate"``) the options that only some tasks
        have. Those of other tasks are refused when this one is at hand. In the methods below,
        `arguments` holds them all, defaults included. ``path`` has the options of ``train``.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    reads: ClassVar[str]
    writes: ClassVar[str]
    headline: ClassVar[tuple[str, ...]] = ("f1", "accuracy")
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {}

    def resemblance(self, lines: Sequence[str]) -> int:
        """Say whether a file looks like one for this task: 2 surely, 1 perhaps, 0 no.

        Asked only when a file was refused, to tell the user which task it may be meant for.

        Parameters
        ----------
        lines : sequence of str
            Some lines from the start of the file, without those that are blank; at least one.
        """
        return 0

    @abstractmethod
    def read(self, path: str, arguments: argparse.Namespace, like: Source | None = None) -> Source:
        """Read a file with labels, to train on.

        Parameters
        ----------
        path : str
            The file; ``-`` is stdin.
        arguments : argparse.Namespace
            Those of ``train``.
        like : Source or None
            The training file, when this is the one of ``--dev``.
        """

    @abstractmethod
    def read_for(self, model: Model, path: str, labelled: bool) -> Source:
        """Read a file for a model.

        Parameters
        ----------
        model : Model
            A model of this task, from the command line or from Python.
        path : str
            The file; ``-`` is stdin.
        labelled : bool
            Whether it must have labels (see `no_labels`), to be compared with; if not, it may have
            them or not, and it may be empty.
        """

    @abstractmethod
    def sizes(self, source: Source) -> tuple[int, int]:
        """Give the number of examples and the number of their positions (tokens)."""

    def take(self, source: Source, which: Sequence[int]) -> Source:
        """Give some of the examples of a file, for a fold.

        Parameters
        ----------
        source : Source
            What `read` gave. Its own ``take`` is used, if it has one.
        which : sequence of int
            Their numbers, from 0.
        """
        take = getattr(source, "take", None)
        if take is None:
            raise DataError(
                f"files of --task {self.name} cannot be cut into folds; give --dev instead"
            )
        some: Source = take(which)
        return some

    @abstractmethod
    def fit(
        self,
        arguments: argparse.Namespace,
        source: Source,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        """Train.

        Parameters
        ----------
        arguments : argparse.Namespace
            Those of ``train``; see `settings_of`.
        source : Source
            What `read` gave.
        initial : Model or None
            The model of ``--resume``, of this task. Its features may differ.
        callbacks : sequence of callables
            To be handed on to the fit.

        Raises
        ------
        DataError
            The name of the file is put in front, unless it stands there already.
        """

    @abstractmethod
    def predict(self, model: Model, source: Source, arguments: argparse.Namespace) -> Predictions:
        """Predict.

        Parameters
        ----------
        model : Model
            The model.
        source : Source
            What `read_for` gave.
        arguments : argparse.Namespace
            Those of ``predict``: ``k`` (int or None), ``marginals`` (bool), ``jobs`` (int), and the
            task's own. See :func:`partwise.tasks.candidates.find_candidates` for ``k``.
        """

    @abstractmethod
    def score(
        self, model: Model, source: Source, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Predict and compare with the labels of the file.

        Parameters
        ----------
        model : Model
            The model.
        source : Source
            What `read_for` gave for ``labelled=True``, or `read` for ``--dev``.
        arguments : argparse.Namespace
            ``jobs`` (int), and the task's own options of ``evaluate``.

        Returns
        -------
        metrics, text
            The numbers, and the same for people.
        """


def settings_of(arguments: argparse.Namespace, **own: Any) -> Settings:
    """Make the settings that all tasks have in common, and some of the task's own.

    Parameters
    ----------
    arguments : argparse.Namespace
        Those of ``train``.
    **own
        What else the task sets: ``min_count``, ``class_weight``, ``constraints``, ...
    """
    from partwise.training.settings import Settings

    return Settings(
        loss=arguments.loss,
        l2=arguments.l2,
        l1=arguments.l1,
        solver=arguments.solver,
        tol=arguments.tol,
        max_passes=arguments.max_passes,
        n_jobs=arguments.jobs,
        seed=arguments.seed,
        descent=arguments.descent,
        weights=arguments.weights,
        **own,
    )


def no_labels(path: str, n_examples: int, where: str) -> DataError:
    """Make the error of a file that must have labels and has none.

    Parameters
    ----------
    path : str
        The file, as messages name it.
    n_examples : int
        How many examples it has.
    where : str
        Where the labels are expected, ``"in the last column"`` for example.
    """
    missing = "no labels" if n_examples else "no examples"
    return DataError(
        f"{path}: {missing}; evaluate needs a file with the right labels in it ({where})"
    )
