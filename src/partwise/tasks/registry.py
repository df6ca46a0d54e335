"""Which task a name stands for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from partwise.errors import DataError

from .base import Task

__all__ = ["TASKS", "all_tasks", "task_of"]

#: The module and the class of every task, imported when it is first asked for.
TASKS: Final = {
    "tag": "partwise.tasks.sequences.tag:Tag",
    "classify": "partwise.tasks.sequences.classify:Classify",
    "parse": "partwise.tasks.dependency.task:Parse",
    "brackets": "partwise.tasks.constituency.task:BracketTask",
    "segment": "partwise.tasks.sequences.segment:Segment",
}


def task_of(name: str) -> Task[Any]:
    """Find a task by its name.

    Raises
    ------
    DataError
        If there is none of that name: a model from Python may be of any task.
    """
    if name not in TASKS:
        raise DataError(
            f"the command line has no task {name!r}, it has {', '.join(TASKS)}; use the model from "
            "Python, with partwise.load_model"
        )
    module, _, attribute = TASKS[name].partition(":")
    found: Task[Any] = getattr(import_module(module), attribute)()
    return found


def all_tasks() -> list[Task[Any]]:
    """Give all tasks, in the order of the registry."""
    return [task_of(name) for name in TASKS]
