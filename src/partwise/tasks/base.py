"""The base class of tasks: everything that is specific to one kind of data and model.

A task reads files, knows the estimator that is trained on them, and writes and scores what a model
predicts. It knows nothing about command lines. What it needs beyond the standard library and the
light modules of this package is imported inside its methods, because its options are part of the
help of every command, and help must not load the compiler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ..errors import DataError, MismatchError, Place
from ..formats.options import Option
from ..training.settings import Parameters
from .parameters import given_parameters, options_of

if TYPE_CHECKING:
    from ..formats.registry import Chosen
    from ..models.model import Model
    from .comparison import Comparison
    from .predictions import Predictions
    from .source import Source
    from .trainer import Trainer

__all__ = ["Task", "no_labels"]

#: A file as a task reads it.
Examples = TypeVar("Examples", bound="Source")


class Task(ABC, Generic[Examples]):
    """One kind of data and model.

    Attributes
    ----------
    name : str
        The name, as in ``--task`` and in `Model.task`.
    trainer : str
        The class that trains its models: ``"module:class"``.
    features : str
        The name of the features that its models have.
    format : str
        The format of its files, a name in ``partwise.formats.registry.FORMATS``. Files of other
        formats that hold the same can be read too.
    summary : str
        What it does, in a few words: ``"label every token"``.
    example : str
        A command that trains it, without ``partwise train --task NAME``.
    reads : str
        A sentence or two on the file that it reads; begins with a verb: ``"reads ..."``.
    writes : str
        What ``predict`` writes, plain, with ``--marginals`` and with ``--k``; begins with a verb.
    headline : tuple of str
        The names of the metrics that ``path`` chooses by; the first one that the scores contain is
        used.
    declares : type of Declared
        The parameters of its trainer. Those that not all tasks have and that have a `Flag` are
        options of ``"train"``.
    longest : int
        The most tokens of a sentence, vertices of a graph, or features of an example that a server
        takes by default. A compiled call cannot be cancelled.
    comparison : str
        What compares predictions with the labels of a file: ``"module:name"``, the module relative
        to ``partwise``. By default the parts of labels, which are those that ``source.given()``
        returns.
    sample : dict, list or None
        An example that its models predict, as JSON can hold it: for the server and for reports.
        None if the form of its examples says more; see `partwise.tasks.example_form`.
    options : mapping of str to tuple of Option
        For each verb (``"train"``, ``"predict"``, ``"evaluate"``), further options that only some
        tasks have. In the methods below, `given` holds the values of all options of a verb by name,
        including defaults; `predict` takes its own as further arguments.
    """

    name: ClassVar[str]
    trainer: ClassVar[str]
    features: ClassVar[str]
    format: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    reads: ClassVar[str]
    writes: ClassVar[str]
    headline: ClassVar[tuple[str, ...]] = ("f1", "accuracy")
    declares: ClassVar[type[Parameters]] = Parameters
    longest: ClassVar[int] = 500
    comparison: ClassVar[str] = "tasks.own_structures:compare_parts"
    sample: ClassVar[Any] = None
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {}

    def options_for(self, verb: str) -> tuple[Option, ...]:
        """Return the options of a verb that only some tasks have."""
        own = self.options.get(verb, ())
        return (*options_of(self.declares), *own) if verb == "train" else own

    def defaults(self, verb: str) -> dict[str, Any]:
        """Return the default values of the options of a verb."""
        own = {option.name: option.default for option in self.options_for(verb)}
        return {**own, "format": None} if verb == "train" else own

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        """Raise a MismatchError if options of a verb do not go together."""
        return

    def make(self, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> Trainer:
        """Make the trainer of the task.

        Parameters
        ----------
        parameters : mapping
            The parameters that all tasks have. One that the trainer does not have raises a
            DataError unless it has its default value.
        given : mapping
            The values of the options of ``"train"``.
        """
        from importlib import import_module

        module, _, name = self.trainer_for(given).rpartition(":")
        kind: type[Trainer] = getattr(import_module(module), name)
        known = kind.names()
        for extra, value in parameters.items():
            if extra not in known and value != getattr(kind, extra, None):
                raise DataError(f"--task {self.name} has no {extra}; leave it out")
        every = {**parameters, **self.parameters(given)}
        return kind(**{key: value for key, value in every.items() if key in known})

    def trainer_for(self, given: Mapping[str, Any]) -> str:
        """Return the class that trains with some options of ``"train"``: ``"module:class"``."""
        return self.trainer

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the trainer that the options of ``"train"`` stand for."""
        return given_parameters(self.declares, given)

    def check(self, model: Model) -> None:
        """Raise a DataError unless a model that names this task has the features of its models."""
        if model.features.name != self.features:
            raise DataError(
                f"the model names the task {self.name!r}, whose models have {self.features} "
                f"features, and has {model.features.name} features; use it from Python, with "
                "partwise.load_model"
            )

    def reader(self, chosen: Chosen | str | None) -> Callable[..., Any]:
        """Return the reader of a format; None is the format of the task."""
        from ..formats.registry import Chosen

        return partial(Chosen.of(chosen).read, self.format)

    def resemblance(self, lines: Sequence[str]) -> int:
        """Return whether a file looks like one for this task: 2 surely, 1 perhaps, 0 no.

        It is called only after a file could not be read, to suggest another task to the user.

        Parameters
        ----------
        lines : sequence of str
            Some lines from the start of the file, without blank lines; at least one.
        """
        return 0

    @abstractmethod
    def read(self, path: str, given: Mapping[str, Any], like: Examples | None = None) -> Examples:
        """Read a file with labels, to train on.

        Parameters
        ----------
        path : str
            The file; ``-`` is stdin.
        given : mapping
            The values of the options of ``"train"``, and ``format``: the format and its options,
            the name of a format, or None for the format of the task.
        like : Source or None
            The training file, if this file is for evaluation.
        """

    def read_part(self, path: str, given: Mapping[str, Any], first: Examples | None) -> Examples:
        """Read a part of a file to train on, which is read a part at a time.

        What a file must have as a whole is not checked here.

        Parameters
        ----------
        path, given
            As in `read`.
        first : Source or None
            The first part, if this is another one.
        """
        return self.read(path, given)

    @abstractmethod
    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> Examples:
        """Read a file for a model.

        Parameters
        ----------
        model : Model
            A model of this task, trained from files or from Python.
        path : str
            The file; ``-`` is stdin.
        labelled : bool
            Whether it must have labels to compare with (see `no_labels`). If not, labels are
            optional, and it may be empty.
        format : Chosen, str or None
            The format of the file and its options, or its name; None is the format of the task.
        """

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Examples:
        """Return examples from Python and their right labels, for a comparison.

        Parameters
        ----------
        model : Model
            A model of this task.
        X, y, **more
            As in `score` of the estimator of the task, or X what a reader of ``partwise.formats``
            returned, with its labels.

        Raises
        ------
        MismatchError
            If the task does not have one of the further arguments.
        """
        raise DataError(
            f"the task {self.name!r} takes no examples from Python; give a file that its method "
            "read_for has read"
        )

    def refuse_others(self, more: Mapping[str, Any], *known: str) -> None:
        """Raise a MismatchError for arguments of `source` that the task does not have."""
        for name in more:
            if name not in known:
                raise MismatchError(
                    f"examples of the task {self.name!r} have no argument {name!r}; leave it out"
                )

    @abstractmethod
    def predict(
        self, model: Model, source: Examples, *, k: int | None, marginals: bool, n_jobs: int | None
    ) -> Predictions:
        """Predict the labels of a file.

        Parameters
        ----------
        model : Model
            The model.
        source : Source
            What `read_for` returned.
        k : int or None
            How many labels to predict per example. If None, only the best one.
        marginals : bool
            Whether to compute probabilities too.
        n_jobs : int or None
            The number of threads.
        """

    def differing(
        self, model: Model, source: Examples, predictions: Sequence[Any]
    ) -> dict[int, list[str]]:
        """Return lines on what a file has other than predicted, by the number of an example.

        By default there are none. The file may have no labels.
        """
        return {}

    def compare(
        self,
        model: Model,
        source: Examples,
        given: Mapping[str, Any],
        n_jobs: int | None = 1,
        *,
        probabilities: bool = False,
    ) -> Comparison:
        """Predict, and return the predictions beside the labels of the file.

        Parameters
        ----------
        model : Model
            The model.
        source : Source
            What `read_for` returned for ``labelled=True``, or `read`.
        given : mapping
            The values of the options of ``"evaluate"``.
        n_jobs : int or None
            The number of threads.
        probabilities : bool
            Whether to compute how sure the model was.

        Returns
        -------
        Comparison
            What `comparison` names makes of these arguments.
        """
        from importlib import import_module

        module, _, name = self.comparison.partition(":")
        make = getattr(import_module(f"partwise.{module}"), name)
        found: Comparison = make(model, source, given, n_jobs, probabilities)
        return found

    def score(
        self, model: Model, source: Examples, given: Mapping[str, Any], n_jobs: int | None = 1
    ) -> tuple[dict[str, Any], str]:
        """Return the scores of a model by their names, and the same as text for people.

        Parameters are those of `compare`.
        """
        return self.compare(model, source, given, n_jobs).scores()


def no_labels(path: str, n_examples: int, where: str, hint: str = "") -> DataError:
    """Return the error for a file that must have labels and has none.

    Parameters
    ----------
    path : str
        The file, for the message.
    n_examples : int
        How many examples it has.
    where : str
        Where the labels are expected, ``"in the last column"`` for example.
    hint : str
        What else may help, to follow the sentence.
    """
    missing = "no labels" if n_examples else "no examples"
    return DataError(
        f"{missing}; give a file to score with the right labels in it ({where}){hint}",
        place=Place(path),
    )
