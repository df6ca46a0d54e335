"""Writes reports and cards, each completely or not at all."""

from __future__ import annotations

import os

from ..errors import DataError, Place
from ..files.whole_files import remedy, replacing
from .card import model_card
from .facts import Facts
from .page import report_page

__all__ = ["write_report"]


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
    >>> from partwise import SequenceTagger, save_model
    >>> from partwise.datasets import tagged_text, write
    >>> from partwise.report import GivenFile, gather, write_report
    >>> from partwise.tasks.registry import task_of
    >>> model = SequenceTagger().fit(tagged_text(40, seed=1)).model_
    >>> save_model(model, "chunks.model")
    >>> write(tagged_text(20, seed=2), "test.txt")
    >>> task = task_of(model.task)
    >>> source = task.read_for(model, "test.txt", labelled=True)
    >>> facts = gather(task, model, "chunks.model", scored=GivenFile("test.txt", source))
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
