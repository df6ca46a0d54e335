"""Suggestions of another task for a file that could not be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from partwise.errors import DataError, FormatError
from partwise.tasks.base import Task

__all__ = ["explained"]

#: The number of lines that are compared.
_LINES: Final = 50


@contextmanager
def explained(path: str, task: Task[Any]) -> Iterator[None]:
    """Add to a DataError about a file which other task the file looks like.

    Parameters
    ----------
    path : str
        The file that is read or trained on; ``-`` is stdin, which cannot be read twice.
    task : Task
        The current task.
    """
    try:
        yield
    except FormatError:
        # It names another format already.
        raise
    except DataError as error:
        # An error in another file, or in none, is about something else.
        others = _lookalikes(path, task) if error.place.file == path else []
        if not others:
            raise
        other = f"it looks like a file for --task {' or '.join(others)}"
        error.remedy = f"{error.remedy}; {other}" if error.remedy else other
        raise


def _lookalikes(path: str, task: Task[Any]) -> list[str]:
    """Return the tasks that the file looks like more than like the current one."""
    from partwise.formats.source import read_text
    from partwise.tasks.registry import all_tasks

    if not os.path.isfile(path):
        # A pipe can be read only once, and reading it again would wait forever.
        return []
    try:
        text = read_text(path).text
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
