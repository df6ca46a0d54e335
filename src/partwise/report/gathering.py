"""Collects the facts of a report."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import partwise

from ..errors import MismatchError
from ..models.file import held_model, read_header
from ..models.model import Model
from ..tasks.registry import example_form
from ..tasks.source import Source
from .compared import (
    LEVEL,
    RESAMPLES,
    calibrated,
    confusions,
    data_facts,
    label_scores,
    measures,
)
from .explained import strongest_features, wrong_examples
from .facts import Course, Facts, ModelFacts, Usage

if TYPE_CHECKING:
    from ..formats.registry import Chosen
    from ..models.model import Model
    from ..tasks.base import Task
    from ..tasks.comparison import Comparison

__all__ = ["GivenFile", "gather", "model_of", "usage_of"]


_PACKAGES: Final = ("numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True)
class GivenFile:
    """A file that was read, or other examples with their labels.

    Attributes
    ----------
    path : str
        Its name; ``-`` is stdin.
    source : Source, or what a reader of ``partwise.formats`` returned
        Its examples.
    format : Chosen, str or None
        Its format.
    file : bool
        Whether `path` is the name of a file. Otherwise it says in words what the examples are.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import tagged_text, write
    >>> from partwise.report import GivenFile
    >>> from partwise.tasks.registry import task_of
    >>> model = SequenceTagger().fit(tagged_text(40, seed=1)).model_
    >>> write(tagged_text(20, seed=2), "test.txt")
    >>> task = task_of(model.task)
    >>> source = task.read_for(model, "test.txt", labelled=True)
    >>> given = GivenFile("test.txt", source)
    >>> given.path, len(given.source)
    ('test.txt', 20)
    """

    path: str
    source: Any
    format: Chosen | str | None = None
    file: bool = True


def gather(
    task: Task[Any],
    model: Any,
    path: str | None,
    *,
    scored: GivenFile | None = None,
    trained: GivenFile | None = None,
    given: Mapping[str, Any] | None = None,
    course: Course | None = None,
    examples: bool = True,
    command: str = "",
    found: Comparison | None = None,
    feature_names: Sequence[str] | None = None,
    n_jobs: int | None = 1,
) -> Facts:
    """Predict the labels of a file, and collect the facts of a report.

    It is what :func:`partwise.report.report` and the command use. Use it to have the facts of
    several files.

    Parameters
    ----------
    task : Task
        The task.
    model : Model or estimator
        The model, or a fitted estimator of partwise.
    path : str or None
        Its file; None if it is in no file.
    scored : GivenFile or None
        The file to score the model on; None is the training file, which `trained` then must name.
    trained : GivenFile or None
        The training file, if it is at hand.
    given : mapping or None
        The options of ``"evaluate"``; None are the defaults.
    course : Course or None
        How the training went, if that is known.
    examples : bool
        Whether the report may quote the data.
    command : str
        The command that makes the report.
    found : Comparison or None
        What `Task.compare` returned for this file with probabilities, if that is known.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    Facts
        What `report_page` and `model_card` show.

    Raises
    ------
    DataError
        If there are no labels.
    MismatchError
        If there is no file to score on, or `model` is no model.

    Examples
    --------
    >>> from partwise import SequenceTagger, save_model
    >>> from partwise.datasets import tagged_text, write
    >>> from partwise.report import GivenFile, gather
    >>> from partwise.tasks.registry import task_of
    >>> model = SequenceTagger().fit(tagged_text(40, seed=1)).model_
    >>> save_model(model, "chunks.model")
    >>> write(tagged_text(20, seed=2), "test.txt")
    >>> task = task_of(model.task)
    >>> source = task.read_for(model, "test.txt", labelled=True)
    >>> facts = gather(task, model, "chunks.model", scored=GivenFile("test.txt", source))
    >>> facts.measures[0].name, 0.5 < facts.measures[0].score.value <= 1.0
    ('f1', True)
    """
    given = task.defaults("evaluate") if given is None else given
    made_by, model = type(model).__name__, model_of(model)
    file = scored or trained
    if file is None:
        raise MismatchError(
            "there is nothing to score the model on; give scored=GivenFile(path, examples), or "
            "trained= for the scores on its training data"
        )
    source = _source(task, model, file)
    if found is None:
        found = task.compare(model, source, given, n_jobs, probabilities=model.probabilistic)
    found.require()
    data = []
    if scored is not None and trained is not None:
        seen = task.compare(model, _source(task, model, trained), given, n_jobs)
        data.append(data_facts("training", trained, task, model, seen))
    role = "training and scoring" if scored is None else "scoring"
    data.append(data_facts(role, file, task, model, found))
    if not examples:
        data = [replace(one, quoted=()) for one in data]
    headline = next(name for name in task.headline if name in found.measures)
    labels = label_scores(found)
    return Facts(
        model=_model_facts(task, model, path, made_by),
        data=data,
        course=course or Course(),
        on_training_data=scored is None,
        measures=measures(found, headline),
        unit=found.unit,
        by_tag=found.by_tag,
        labels=labels,
        resamples=RESAMPLES,
        level=LEVEL,
        confusions=confusions(found),
        calibration=calibrated(found),
        odds_unit=found.odds.unit if found.odds is not None else "",
        features=strongest_features(model, [row.label for row in labels], examples, feature_names),
        wrong=(
            wrong_examples(model, source, found, headline, n_jobs, feature_names)
            if examples
            else None
        ),
        usage=usage_of(model, path),
        versions=_versions(),
        seed=model.settings.get("random_state"),
        command=command,
    )


def model_of(given: Any) -> Model:
    """Return a model, or that of a fitted estimator; raise a MismatchError for anything else."""
    held = held_model(given)
    if held is not None:
        return held
    name = type(given).__name__
    # An estimator without a model raises an error for its attribute.
    if hasattr(type(given), "_model"):
        raise MismatchError(f"the {name} has not been fitted; call fit first")
    if hasattr(given, "steps"):
        raise MismatchError(
            f"a {name} is no model of partwise; give its last step, and X as the steps before it "
            "make it: pipeline[-1] and pipeline[:-1].transform(X)"
        )
    raise MismatchError(
        f"{name} where a model is expected; give a fitted estimator of partwise, or what "
        "partwise.load_model returns"
    )


def _source(task: Task[Any], model: Model, given: GivenFile) -> Source:
    """Return the examples of a file; those that only were read are made into a source."""
    held = given.source
    return held if isinstance(held, Source) else task.source(model, held)


def _model_facts(task: Task[Any], model: Model, path: str | None, made_by: str) -> ModelFacts:
    writer = partwise.__version__ if path is None else str(read_header(path)["partwise"])
    # A model alone says less than its task.
    name = f"{task.name} model" if made_by == Model.__name__ else made_by
    support = getattr(model.features, "support", None)
    kernel = None
    if support is not None:
        settings = support.kernel.to_json()
        kernel = ", ".join(f"{name} {value}" for name, value in settings.items())
    return ModelFacts(
        name=name if path is None else os.path.basename(path),
        path=path,
        task=task.name,
        summary=task.summary,
        structure=model.structure.name,
        loss=model.loss,
        solver=str(model.settings.get("solver", "")),
        l2=model.l2,
        l1=model.l1,
        n_labels=len(model.labels),
        n_features=sum(model.layout.n_features),
        n_weights=len(model.weights),
        n_nonzero=int(np.count_nonzero(model.weights)),
        certificate=model.certificate,
        settings=model.settings,
        written_by=writer,
        kernel=kernel,
        origin=None if model.origin is None else model.origin.objective,
    )


def _versions() -> dict[str, str]:
    found = {"partwise": partwise.__version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found


#: The name of the file in which a model may be saved that is in no file.
_UNSAVED: Final = "my.model"


def usage_of(model: Model, path: str | None) -> Usage:
    """Return how to use a model from the command line and from Python.

    Parameters
    ----------
    model : Model
        The model.
    path : str or None
        Its file; None if it is in no file.
    """
    form = example_form(model)
    first = []
    if path is None:
        path = _UNSAVED
        first = [f"# after partwise.save_model(model, {path!r}) in Python"]
    commands = ["# files cannot be given to this model; use it from Python"]
    file = form.file()
    if file is not None:
        new, options = file
        commands = [
            *first,
            shlex.join(["partwise", "predict", path, new, *options, "--output", "labelled"]),
            shlex.join(["partwise", "explain", path, new, *options]),
        ]
    imports, examples = form.program()
    lines = [*first, *(["import numpy", ""] if "numpy." in examples else [])]
    lines += ["from partwise import load_model", *imports, ""]
    lines += [f"model = load_model({path!r})", examples, "print(model.predict(examples))"]
    if model.probabilistic:
        lines.append("print(model.marginals(examples))")
    return Usage(commands, "\n".join(lines))
