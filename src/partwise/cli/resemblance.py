"""Which task a file that was refused may be meant for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from partwise.errors import DataError
from partwise.tasks.base import Task

__all__ = ["explained"]

#: As many lines are looked at.
_LINES: Final = 50


@contextmanager
def explained(path: str, task: Task[Any]) -> Iterator[None]:
    """Add to a DataError about a file which task the file looks like, if it is another one.

    Parameters
    ----------
    path : str
        The file that is read or trained on; ``-`` is stdin, which cannot be read twice.
    task : Task
        The task at hand.
    """
    try:
        yield
    except DataError as error:
        # What does not begin with the file is about something else.
        others = _lookalikes(path, task) if str(error).startswith(f"{path}:") else []
        if not others:
            raise
        raise DataError(
            f"{error}; it looks like a file for --task {' or '.join(others)}"
        ) from error


def _lookalikes(path: str, task: Task[Any]) -> list[str]:
    """Name the tasks that the file looks like, if it looks less like the one at hand."""
    from partwise.formats.source import read_text
    from partwise.tasks.registry import all_tasks

    if not os.path.isfile(path):
        # What comes through a pipe comes only once, and whoever waits for more waits for ever.
        return []
    try:
        _, text = read_text(path)
    except DataError:
        return []
    lines = [line for line in text.split("\n") if line.strip()][:_LINES]
    if not lines:
        return []
    likeness = {other.name: other.resemblance(lines) for other in all_tasks()}
    most = max(likeness.values())
    if likeness.get(task.name, 0) == most:
        return []
    return [name for name, degree in likeness.items() if degree == most]
