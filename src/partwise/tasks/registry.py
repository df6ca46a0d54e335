"""The registry of tasks by name."""

from __future__ import annotations

from typing import Any, Final

from ..errors import DataError
from ..registry import Registry
from .base import Task

__all__ = ["TASKS", "all_tasks", "task_name", "task_of"]

TASKS: Final[Registry[type[Task[Any]]]] = Registry("partwise.tasks", {})


#: The names that some tasks have in models, where they differ from those on the command line.
_IN_MODELS: Final = {"label-graph": "graph"}


def task_name(name: str) -> str:
    """Return the name of a task on the command line from its name in a model."""
    return _IN_MODELS.get(name, name)


def task_of(name: str) -> Task[Any]:
    """Find a task by its name on the command line or in a model.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    Task
        The task.

    Raises
    ------
    DataError
        If there is no such task.

    Examples
    --------
    >>> from partwise.tasks.registry import task_of
    >>> task_of("tag").summary
    'one label per token'
    """
    name = task_name(name)
    if name not in TASKS:
        raise DataError(
            f"the command line has no task {name!r}, it has {', '.join(TASKS)}; use the model from "
            "Python, with partwise.load_model"
        )
    return TASKS[name]()


def all_tasks() -> list[Task[Any]]:
    """Return all tasks that can be imported, in the order of the registry."""
    return [kind() for kind in TASKS.usable().values()]
