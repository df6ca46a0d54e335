"""How to use a model: commands and a program that can be copied."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from .facts import Usage

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["usage_of"]

_NEW: Final = {
    "classify": "new.svm", "tag": "new.txt", "segment": "new.txt", "parse": "new.conllu",
    "brackets": "new.mrg", "graph": "new.graphs",
}  # fmt: skip
_SENTENCE: Final = ("The", "dog", "barks")
_TAGS: Final = ("DT", "NN", "VBZ")


def usage_of(model: Model, task: str, path: str) -> Usage:
    """Return how to use a model from the command line and from Python.

    Parameters
    ----------
    model : Model
        The model.
    task : str
        The name of its task on the command line.
    path : str
        Its file.
    """
    new = _NEW.get(task, "new.txt")
    commands = [
        shlex.join(["partwise", "predict", path, new, "--output", "labelled"]),
        shlex.join(["partwise", "explain", path, new]),
    ]
    lines = ["import numpy", ""] if task == "classify" else []
    lines.append("from partwise import load_model")
    given = _given(model, task)
    if task == "graph":
        lines.append("from partwise.formats.graph_text import read_graph_text")
    lines += ["", f"model = load_model({path!r})", given, "print(model.predict(examples))"]
    if model.probabilistic:
        lines.append("print(model.marginals(examples))")
    return Usage(commands, "\n".join(lines))


def _given(model: Model, task: str) -> str:
    """Return the line of the program that makes an example."""
    features: Any = model.features
    positions = getattr(features, "positions", features)
    if task == "classify":
        return f"examples = numpy.zeros((1, {positions.n_inputs}))  # one row per example"
    if task == "graph":
        return f"examples = read_graph_text({_NEW['graph']!r}, labelled=False)"
    if task == "parse":
        words = [{"form": w, "pos": t} for w, t in zip(_SENTENCE, _TAGS, strict=True)]
        return f"examples = [{words!r}]"
    if task == "brackets":
        pairs = [*zip(_SENTENCE, _TAGS, strict=True)] if features.tagged else [*_SENTENCE]
        return f"examples = [{pairs!r}]"
    if getattr(positions, "templates", None) is None:
        return 'examples = [[{"word": "The"}, {"word": "dog"}]]  # features by name'
    if positions.n_inputs == 1:
        return f"examples = [{[*_SENTENCE]!r}]  # one list of words per sentence"
    columns = [[w, t, *["_"] * (positions.n_inputs - 2)]
               for w, t in zip(_SENTENCE, _TAGS, strict=True)]  # fmt: skip
    return f"examples = [{columns!r}]  # the columns of each token"
