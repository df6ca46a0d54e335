"""The sizes of a file, its labels, and what looks odd about it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import PartwiseError
from ..formats.tag_schemes import UNTYPED
from ..formats.validate import validate
from ..tasks.comparison import Comparison
from ..tasks.labels import spelled
from .facts import DataFacts
from .wording import plural

if TYPE_CHECKING:
    from ..formats.choice import Chosen
    from ..models.model import Model
    from ..tasks.base import Task
    from .gathering import GivenFile

__all__ = ["data_facts"]

#: A label that occurs less often has scores that mean little.
_RARE: Final = 5
_MOST_FAULTS: Final = 5
_MOST_NAMES: Final = 8


def data_facts(
    role: str,
    given: GivenFile,
    task: Task[Any],
    model: Model,
    found: Comparison,
) -> DataFacts:
    """Describe a file, or other examples.

    Parameters
    ----------
    role
        What it was used for.
    given : GivenFile
        The file; stdin cannot be read again.
    task, model
        The task and the model.
    found : Comparison
        The labels of the file beside those that the model predicts.
    """
    path = given.path
    support = {name: score.support for name, score in found.tallies.scores().by_type.items()}
    labels = {
        name: support[name]
        for name in sorted(support, key=lambda n: (-support[n], n))
        if support[name]
    }
    lengths = None
    if found.position != found.example:
        few = (found.lengths.min(), np.median(found.lengths), found.lengths.max())
        lengths = (int(few[0]), float(few[1]), int(few[2]))
    oddities: list[str] = []
    quoted: list[str] = []
    if given.file and os.path.isfile(path):
        oddities, quoted = _faults(path, task, model, given.format)
    where = "file" if given.file else "data"
    oddities += _odd_labels(labels, model, found, where)
    oddities += _repeated(found, where)
    if found.unscored:
        oddities.append(
            f"{plural(found.unscored, found.position)} without a known label, which are not scored."
        )
    return DataFacts(
        role, "<stdin>" if path == "-" else path, found.example, found.position, len(found.lengths),
        int(found.lengths.sum()), lengths, labels, oddities, quoted, given.file,
    )  # fmt: skip


def _some(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


def _faults(
    path: str, task: Task[Any], model: Model, format: Chosen | str | None
) -> tuple[list[str], list[str]]:
    """Return what `partwise validate` finds: its sum, and its first words, which quote the file."""
    from ..formats.choice import Chosen

    chosen = Chosen.of(format).after(model.meta.get("format"))
    try:
        verdict = validate(path, chosen, default=task.format)
    except PartwiseError:
        # The task has read the file, so the validator takes it for one of another format.
        return [], []
    if not verdict.faults:
        return [], []
    scheme = f" (its tags read as {verdict.scheme})" if verdict.scheme else ""
    n = len(verdict.faults)
    told = f"partwise validate finds {plural(n, 'fault')}{scheme}."
    return [told], [" ".join(str(fault).splitlines()) for fault in verdict.faults[:_MOST_FAULTS]]


def _known(model: Model, found: Comparison) -> list[str]:
    """Return the labels of a model as the scores by label name them, and none but these."""
    if found.unit == "phrase":
        from ..tasks.constituency.bracketing import Bracketing

        return list(Bracketing.of(model).labels)
    names = spelled(model.labels)
    if found.unit != "span":
        return names
    if model.task == "segment":
        outside = model.meta.get("outside")
        return [name for name, label in zip(names, model.labels, strict=True) if label != outside]
    # Spans are scored by the types of their tags.
    return list(dict.fromkeys(name[1:].strip("-") or UNTYPED for name in names if name != "O"))


def _odd_labels(labels: dict[str, int], model: Model, found: Comparison, where: str) -> list[str]:
    made = []
    if not found.by_tag:
        known = _known(model, found)
        unknown = [name for name in labels if name not in set(known)]
        if unknown:
            n = sum(labels[name] for name in unknown)
            counted = "it counts as an error" if n == 1 else "they count as errors"
            made.append(
                f"{plural(n, found.unit)} with a label that the model does not know "
                f"({_some(unknown)}); {counted}."
            )
        absent = [name for name in known if name not in labels and found.unit != "phrase"]
        if absent:
            made.append(
                f"{plural(len(absent), 'label')} of the model not in the {where}: {_some(absent)}."
            )
    rare = [name for name, n in labels.items() if n < _RARE]
    if rare:
        what = "part of speech" if found.by_tag else "label"
        made.append(
            f"{plural(len(rare), what)} with fewer "
            f"than {_RARE} occurrences, whose scores mean little: {_some(rare)}."
        )
    return made


def _repeated(found: Comparison, where: str) -> list[str]:
    """Return how many examples occur more than once, and how many of them with other labels."""
    labels: dict[int, Counter[int]] = defaultdict(Counter)
    for given, label in found.prints:
        labels[given][label] += 1
    again = sum(some.total() - 1 for some in labels.values())
    torn = sum(some.total() for some in labels.values() if len(some) > 1)
    made = []
    if again:
        made.append(f"{plural(again, found.example)} equal to an earlier one of the same {where}.")
    if torn:
        made.append(f"{plural(torn, found.example)} equal to another one with other labels.")
    return made
