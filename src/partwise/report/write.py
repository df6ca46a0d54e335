"""A report in one call, for data in Python, and the files of reports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..errors import DataError, Place
from ..files.whole_files import remedy, replacing
from ..tasks.registry import task_for
from .card import model_card
from .facts import Course, Facts
from .gathering import GivenFile, gather, model_of
from .page import report_page

__all__ = ["report", "write_report"]


def report(
    model: Any,
    X: Any,
    y: Any = None,
    output: str | os.PathLike[str] | None = "report.html",
    *,
    card: str | os.PathLike[str] | None = None,
    examples: bool = True,
    lengths: Any = None,
    X_transitions: Any = None,
    labels: Any = None,
    on_training_data: bool = False,
    path: str | os.PathLike[str] | None = None,
    feature_names: Sequence[str] | None = None,
    n_jobs: int | None = 1,
) -> Facts:
    """Score a model on examples with the right labels, and write a report.

    Parameters
    ----------
    model : estimator or Model
        A fitted estimator of partwise, or what :func:`partwise.load_model` returns.
    X, y
        The examples and their right labels, as `score` of the estimator takes them: matrices,
        sequences of tokens, sentences with their heads, trees, graphs. What a reader of
        ``partwise.formats`` returned, and sentences and trees that hold their labels, need no y.
    output : str, path-like or None
        The page of HTML; None writes none.
    card : str, path-like or None
        A model card in Markdown; None writes none.
    examples : bool
        Whether the report may quote the data.
    lengths, X_transitions, labels
        Further arguments of `score`, for the estimators that have them.
    on_training_data : bool
        Whether the model was trained on these examples. The page then says that the scores are too
        good.
    path : str, path-like or None
        The file that the model is saved in, for the title and the commands of the page.
    feature_names : sequence of str or None
        The names of the columns, if X is a matrix. An estimator that was fitted on a data frame
        knows them.
    n_jobs : int or None
        The number of threads.

    Returns
    -------
    Facts
        What the page and the card show.

    Raises
    ------
    DataError
        If examples and labels do not fit together, or a file cannot be written.
    MismatchError
        If `model` is no fitted model of partwise, or the task does not have an argument.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise import SequenceTagger
    >>> from partwise.report import report
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> tagger = SequenceTagger().fit(X, y)
    >>> facts = report(tagger, X, y, "tagger.html", card="README.md", on_training_data=True)
    >>> facts.measures[0].title, facts.measures[0].score.value
    ('tokens with the right label', 1.0)
    >>> Path("tagger.html").exists(), Path("README.md").exists()
    (True, True)

    What a reader returns has its labels:

    >>> from partwise.datasets import tagged_text
    >>> tagger = SequenceTagger().fit(tagged_text(40, seed=1))
    >>> facts = report(tagger, tagged_text(20, seed=2), output="chunks.html")
    >>> facts.measures[0].name, facts.data[-1].n_examples
    ('f1', 20)
    """
    held = model_of(model)
    task = task_for(held)
    where = getattr(X, "path", None)
    more = {"lengths": lengths, "X_transitions": X_transitions, "labels": labels}
    # A classifier checks a matrix against the one that it was fitted on.
    read = model._readable(X) if hasattr(model, "_readable") and not _was_read(X) else X
    source = task.source(
        held, read, y, **{name: value for name, value in more.items() if value is not None}
    )
    given = GivenFile(_in_words(where), source, file=False)
    if feature_names is None and hasattr(model, "_column_names"):
        feature_names = model._column_names().get("feature_names")
    facts = gather(
        task, model, None if path is None else os.fspath(path),
        scored=None if on_training_data else given, trained=given if on_training_data else None,
        course=_course(model), examples=examples, feature_names=feature_names, n_jobs=n_jobs,
    )  # fmt: skip
    write_report(facts, output, card)
    return facts


def _was_read(X: Any) -> bool:
    """Return whether examples are what a reader of an svmlight file returns."""
    from ..formats.svmlight import SvmlightData

    return isinstance(X, SvmlightData)


def _in_words(path: Any) -> str:
    """Return what the examples are, with the file that they were read from if there is one."""
    known = isinstance(path, str) and os.path.isfile(path)
    return f"data given in Python, read from {path}" if known else "data given in Python"


def _course(model: Any) -> Course:
    """Return how the training of an estimator went; a model does not know."""
    return Course(
        tuple(getattr(model, "trace_", ())), tuple(getattr(model, "path_", ()))
    )  # fmt: skip


def write_report(
    facts: Facts,
    page: str | os.PathLike[str] | None = None,
    card: str | os.PathLike[str] | None = None,
) -> None:
    """Write a report as a page of HTML, as a model card in Markdown, or both.

    Parameters
    ----------
    facts : Facts
        What it shows, see :func:`partwise.report.gather`.
    page, card : str, path-like or None
        The files; None writes none.

    Raises
    ------
    DataError
        If a file cannot be written.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import tagged_text
    >>> from partwise.report import report, write_report
    >>> tagger = SequenceTagger().fit(tagged_text(40, seed=1))
    >>> facts = report(tagger, tagged_text(20, seed=2), output=None)
    >>> from pathlib import Path
    >>> write_report(facts, "chunks.html", card="README.md")
    >>> Path("chunks.html").exists(), Path("README.md").exists()
    (True, True)
    """
    # Both are made before the first is written.
    made = [(path, text) for path, text in (
        (page, report_page(facts) if page is not None else ""),
        (card, model_card(facts) if card is not None else ""),
    ) if path is not None]  # fmt: skip
    for path, text in made:
        try:
            with replacing(path) as file:
                file.write(text.encode("utf-8"))
        except OSError as error:
            raise DataError(
                f"cannot be written ({error.strerror}); {remedy(error)}",
                place=Place(os.fspath(path)),
            ) from error
