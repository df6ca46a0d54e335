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


#: The name of the file in which a model may be saved that is in no file.
_UNSAVED: Final = "my.model"


def usage_of(model: Model, task: str, path: str | None) -> Usage:
    """Return how to use a model from the command line and from Python.

    Parameters
    ----------
    model : Model
        The model.
    task : str
        The name of its task on the command line.
    path : str or None
        Its file; None if it is in no file.
    """
    new, form = _NEW.get(task, "new.txt"), []
    if _by_name(model, task):
        new = "new.crf"
        # A model that was trained on such a file knows the format.
        form = [] if model.meta.get("format") else ["--format", "crfsuite"]
    first = []
    if path is None:
        path = _UNSAVED
        first = [f"# after partwise.save_model(model, {path!r}) in Python"]
    if not _reads_files(model, task):
        commands = ["# files cannot be given to this model; use it from Python"]
    else:
        commands = [
            *first,
            shlex.join(["partwise", "predict", path, new, *form, "--output", "labelled"]),
            shlex.join(["partwise", "explain", path, new, *form]),
        ]
    given = _given(model, task)
    lines = [*first, *(["import numpy", ""] if "numpy." in given else [])]
    lines.append("from partwise import load_model")
    if task == "graph":
        lines.append("from partwise.formats.graph_text import read_graph_text")
    lines += ["", f"model = load_model({path!r})", given, "print(model.predict(examples))"]
    if model.probabilistic:
        lines.append("print(model.marginals(examples))")
    return Usage(commands, "\n".join(lines))


def _by_name(model: Model, task: str) -> bool:
    """Return whether a model of tokens takes their features by name, and no columns."""
    features: Any = model.features
    positions = getattr(features, "positions", features)
    return task in ("tag", "segment") and getattr(positions, "templates", None) is None


def _reads_files(model: Model, task: str) -> bool:
    """Return whether the commands can read files for a model, which needs names of features."""
    features: Any = model.features
    if task == "graph":
        return all(
            held.n_inputs is None or held.vocabulary is not None for held in features.kinds.values()
        )
    if task == "segment":
        tagged = model.meta.get("scheme") is not None
        if not tagged or features.segment_features == "function":
            return False
    positions = getattr(features, "positions", features)
    return task not in ("tag", "segment") or positions.vocabulary is not None


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
    if _by_name(model, task):
        if positions.vocabulary is None:
            return f"examples = [numpy.zeros((2, {positions.n_inputs}))]  # one row per token"
        return 'examples = [[{"word": "The"}, {"word": "dog"}]]  # features by name'
    if positions.n_inputs == 1:
        return f"examples = [{[*_SENTENCE]!r}]  # one list of words per sentence"
    columns = [[w, t, *["_"] * (positions.n_inputs - 2)]
               for w, t in zip(_SENTENCE, _TAGS, strict=True)]  # fmt: skip
    return f"examples = [{columns!r}]  # the columns of each token"
