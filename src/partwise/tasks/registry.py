"""The registry of tasks by name."""

from __future__ import annotations

from typing import Any, Final

from ..errors import DataError
from ..registry import Registry
from .base import Task

__all__ = ["TASKS", "all_tasks", "task_of"]

TASKS: Final[Registry[type[Task[Any]]]] = Registry("partwise.tasks", {})


def task_of(name: str) -> Task[Any]:
    """Find a task by its name."""
    if name not in TASKS:
        raise DataError(
            f"the command line has no task {name!r}, it has {', '.join(TASKS)}; use the model from "
            "Python, with partwise.load_model"
        )
    return TASKS[name]()


def all_tasks() -> list[Task[Any]]:
    """Return all tasks that can be imported, in the order of the registry."""
    return [kind() for kind in TASKS.usable().values()]
