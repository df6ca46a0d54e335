"""The registry of tasks by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError
from ..registry import Registry
from .base import Task

if TYPE_CHECKING:
    from ..models.model import Model
    from .example_form import ExampleForm
    from .label_form import LabelForm

__all__ = [
    "EXAMPLE_FORMS",
    "LABEL_FORMS",
    "TASKS",
    "all_tasks",
    "example_form",
    "label_form",
    "task_for",
    "task_name",
    "task_of",
]

TASKS: Final[Registry[type[Task[Any]]]] = Registry("partwise.tasks", {})
#: What labels are made of, by the name of a structure.
LABEL_FORMS: Final[Registry[type[LabelForm]]] = Registry("partwise.label_forms", {})
#: The form of examples and their labels, by the name of features.
EXAMPLE_FORMS: Final[Registry[Callable[..., ExampleForm]]] = Registry(
    "partwise.example_forms", {"numbered": "tasks.own_structures:RowsForm"}
)

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


def label_form(model: Model) -> LabelForm:
    """Return what the labels of a model are made of; parts only have numbers if that is unknown."""
    from .label_form import LabelForm

    return LABEL_FORMS.get(model.structure.name, LabelForm)(model)


def example_form(model: Model, *longest: int) -> ExampleForm:
    """Return the form of the examples of a model; see `ExampleForm` for its parameters."""
    from .example_form import ExampleForm

    made = EXAMPLE_FORMS.get(model.features.name, ExampleForm)
    return made(model, label_form(model), *longest)


def task_for(model: Model) -> Task[Any]:
    """Return the task of a model, also of one that the command line does not know.

    Raises a DataError if the model does not have the features of its task.
    """
    from .own_structures import OwnTask

    name = task_name(model.task)
    task = TASKS[name]() if name in TASKS else OwnTask(model)
    task.check(model)
    return task


def all_tasks() -> list[Task[Any]]:
    """Return all tasks that can be imported, in the order of the registry."""
    return [kind() for kind in TASKS.usable().values()]
