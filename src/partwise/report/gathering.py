"""Collects the facts of a report."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import partwise

from ..errors import DataError
from ..models.file import read_header
from .data_facts import data_facts
from .facts import Course, Facts, ModelFacts
from .scored import LEVEL, RESAMPLES, calibrated, confusions, label_scores, measures
from .strongest import strongest_features
from .usage import usage_of
from .wrong_examples import wrong_examples

if TYPE_CHECKING:
    from ..formats.choice import Chosen
    from ..models.model import Model
    from ..tasks.base import Task
    from ..tasks.source import Source

__all__ = ["GivenFile", "gather"]

_PACKAGES: Final = ("numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True)
class GivenFile:
    """A file that was read.

    Attributes
    ----------
    path : str
        Its name; ``-`` is stdin.
    source : Source
        Its examples.
    format : Chosen, str or None
        Its format.

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
    source: Source
    format: Chosen | str | None = None


def gather(
    task: Task[Any],
    model: Model,
    path: str,
    *,
    scored: GivenFile | None = None,
    trained: GivenFile | None = None,
    given: Mapping[str, Any] | None = None,
    course: Course | None = None,
    examples: bool = True,
    command: str = "",
    n_jobs: int | None = 1,
) -> Facts:
    """Predict the labels of a file, and collect the facts of a report.

    Parameters
    ----------
    task : Task
        The task.
    model : Model
        The model.
    path : str
        Its file.
    scored : GivenFile or None
        The file to score the model on; None is the training file.
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
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    Facts
        What `report_page` and `model_card` show.

    Raises
    ------
    DataError
        If the task does not compare predictions with labels.

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
    file = scored or trained
    assert file is not None
    found = task.compare(
        model, file.source, given, n_jobs, probabilities=model.probabilistic
    )  # fmt: skip
    if found is None:
        raise DataError(
            f"the task {task.name!r} does not compare predictions with labels, which a report "
            "needs; see Task.compare in partwise.tasks.base"
        )
    data = []
    if scored is not None and trained is not None:
        seen = task.compare(model, trained.source, given, n_jobs)
        assert seen is not None
        data.append(data_facts("training", trained.path, task, model, seen, trained.format))
    role = "training and scoring" if scored is None else "scoring"
    data.append(data_facts(role, file.path, task, model, found, file.format))
    if not examples:
        data = [replace(one, quoted=()) for one in data]
    headline = next(name for name in task.headline if name in found.measures)
    labels = label_scores(found)
    return Facts(
        model=_model_facts(task, model, path),
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
        features=strongest_features(model, [row.label for row in labels], examples),
        wrong=(wrong_examples(model, file.source, found, headline, n_jobs) if examples else None),
        usage=usage_of(model, task.name, path),
        versions=_versions(),
        seed=model.settings.get("random_state"),
        command=command,
    )


def _model_facts(task: Task[Any], model: Model, path: str) -> ModelFacts:
    header = read_header(path)
    support = getattr(model.features, "support", None)
    kernel = None
    if support is not None:
        settings = support.kernel.to_json()
        kernel = ", ".join(f"{name} {value}" for name, value in settings.items())
    return ModelFacts(
        name=os.path.basename(path),
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
        written_by=str(header["partwise"]),
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
