"""What the weights of a feature are for: the labels behind the parts of a kind of site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..tasks.constituency.normal_form import symbol_class

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["SlotNames", "slot_names", "transition_kinds"]

_ARROW: Final = " -> "
_COMMA: Final = ", "
#: The name of the only label of arcs and splits that have no labels.
_UNNAMED: Final = ("",)


@dataclass(frozen=True)
class SlotNames:
    """The labels that each part of a site stands for.

    A part stands for one choice per axis, the last axis fastest.

    Attributes
    ----------
    axes : tuple of sequences
        The choices of each axis, as text.
    joint : str
        What stands between the choices of a part.
    labels : tuple of sequences or None
        For each axis and choice the labels that it holds, where these are not the choice itself.
    """

    axes: tuple[Sequence[str], ...]
    joint: str = _ARROW
    labels: tuple[Sequence[Sequence[str]], ...] | None = None

    @property
    def width(self) -> int:
        """The number of parts."""
        return prod(len(axis) for axis in self.axes)

    def text(self, slot: int) -> str:
        """Return the labels of one part as text."""
        found = []
        for axis in reversed(self.axes):
            slot, choice = divmod(slot, len(axis))
            found.append(axis[choice])
        return self.joint.join(reversed(found))

    def known(self) -> set[str]:
        """Return all labels that occur in parts."""
        if self.labels is not None:
            return {label for axis in self.labels for held in axis for label in held}
        return {label for axis in self.axes for label in axis}

    def holding(self, label: str) -> npt.NDArray[np.bool_]:
        """Return for each part whether it holds a label."""
        found = np.zeros(1, dtype=np.bool_)
        for number, axis in enumerate(self.axes):
            if self.labels is None:
                here = [choice == label for choice in axis]
            else:
                here = [label in held for held in self.labels[number]]
            found = (found[:, None] | np.array(here, dtype=np.bool_)).ravel()
        return found


def slot_names(model: Model) -> list[SlotNames]:
    """Return the names of the parts of every kind of site of a model."""
    structure: Any = model.structure
    labels = tuple(map(str, model.labels))
    name = structure.name
    if name == "grammar":
        return _of_grammar(structure, labels)
    if name == "graph":
        return _of_graph(model)
    if structure.kinds == ("arc",):
        return [SlotNames((labels or _UNNAMED,))]
    found = []
    for kind, width in zip(structure.kinds, structure.widths, strict=True):
        if kind == "transition":
            made = SlotNames((labels, labels))
        elif kind == "triple":
            made = SlotNames((labels, labels, labels))
        elif kind == "length" and name == "semi-markov":
            lengths = [*map(str, range(1, structure.max_length + 1))]
            own: list[Sequence[str]] = [[label] for label in labels]
            made = SlotNames((lengths, labels), " ", labels=([()] * len(lengths), own))
        else:
            made = SlotNames((labels,))
        # A structure of another package may have parts of any meaning.
        found.append(made if made.width == width or not width else _numbered(width))
    return found


def transition_kinds(model: Model) -> list[int]:
    """Return the kinds of sites whose weights join labels with each other or with an end."""
    structure: Any = model.structure
    if structure.name == "graph":
        return [k for k, kind in enumerate(structure.kinds) if len(structure.factors[kind]) > 1]
    known = {"transition", "triple", "start", "end", "rule", "root"}
    counts = model.layout.n_features
    return [k for k, kind in enumerate(structure.kinds) if kind in known and counts[k]]


def _numbered(width: int) -> SlotNames:
    return SlotNames((_Numbers(width),))


class _Numbers(Sequence[str]):
    """Names of parts that only have numbers, made when they are asked for."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < self.width:
            raise IndexError(number)
        return f"part {number}"


def _of_grammar(structure: Any, symbols: Sequence[str]) -> list[SlotNames]:
    classes = [""] * structure.n_classes
    # Spans are phrases: a class is named after a symbol that has rules.
    phrases = {rule[0] for rule in structure.rules}
    for symbol in sorted(range(len(symbols)), key=phrases.__contains__):
        classes[structure.classes[symbol]] = symbol_class(symbols[symbol])
    rules = [[symbols[a] for a in rule] for rule in structure.rules]
    texts = [f"{a}{_ARROW}{b} {c}" for a, b, c in rules]
    return [
        SlotNames(([symbols[p] for p in structure.lexical],)),
        SlotNames((classes,)),
        SlotNames((_UNNAMED if structure.split else (),)),
        SlotNames((texts,), labels=(rules,)),
        SlotNames(([symbols[s] for s in structure.starts],)),
    ]


def _of_graph(model: Model) -> list[SlotNames]:
    features: Any = model.features
    named = getattr(features, "labels", None)
    structure: Any = model.structure
    made = []
    for domains in structure.factors.values():
        axes: list[Sequence[str]] = []
        for domain in domains:
            size = structure.domains[domain]
            axes.append(_Numbers(size) if named is None else [*map(str, named[domain])])
        made.append(SlotNames(tuple(axes), _COMMA))
    return made
