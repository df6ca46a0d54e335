"""How to use a model: commands and a program that can be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from ..tasks.registry import example_form
from .facts import Usage

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["usage_of"]

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
