"""What a label is made of, as users see it: positions, segments, arcs, phrases, vertices.

Structures score *parts*; an *element* is a place of the label with all parts that belong to it. A
part that joins several places, such as a transition, belongs to the last of them, so that the parts
of all elements together are those of the label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Ints
from .explanation import apart

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["Element", "Elements", "at", "elements_of", "over"]


@dataclass(frozen=True)
class Element:
    """One place of a label.

    Attributes
    ----------
    kind, place, text, label
        As in `Part`.
    parts : ndarray of int
        The parts that belong to it, each as often as the label holds it there.
    key : ndarray of int
        The parts of which a label holds one, once, if and only if it has this element.
    """

    kind: str
    place: tuple[int, ...]
    text: str
    label: str
    parts: Ints
    key: Ints


class Elements(ABC):
    """How the labels of one structure fall into elements.

    Parameters
    ----------
    model : Model
        The model, whose structure it is about.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.structure: Any = model.structure
        self.names = tuple(map(str, model.labels))

    @abstractmethod
    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        """Return the elements of a label.

        Parameters
        ----------
        label, topo
            The label, and the shape of the example.
        words : sequence of str
            What stands at each position of the input; empty if that is not known.
        """

    @abstractmethod
    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        """Return what another label has in the place of an element."""

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        """Return where a site is; "" for one that stands for the whole example.

        Parameters
        ----------
        kind, number
            Its kind, and its number among those of this kind.
        topo, words
            As in `of`.
        """
        return ""


def elements_of(model: Model) -> Elements:
    """Return how the labels of a model fall into elements."""
    name = model.structure.name
    if name == "graph":
        from .graph_elements import GraphElements

        return GraphElements(model)
    if name == "grammar":
        from .tree_elements import NodeElements

        return NodeElements(model)
    if model.structure.kinds == ("arc",):
        from .tree_elements import ArcElements

        return ArcElements(model)
    if name == "semi-markov":
        from .sequence_elements import SegmentElements

        return SegmentElements(model)
    if name in ("chain", "second-order-chain"):
        from .sequence_elements import PositionElements

        return PositionElements(model)
    return ClassElements(model) if name == "multiclass" else PlainElements(model)


class ClassElements(Elements):
    """A single label."""

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        own = np.array([int(label[0])])
        return [Element("example", (), "".join(words[:1]), self.names[own[0]], own, own)]

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        return self.names[int(label[0])]


class PlainElements(Elements):
    """The parts of a structure of another package, of which only the numbers are known."""

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        parts, counts = self.structure.encode(label, topo)
        sites = self.structure.sites(topo)
        found = []
        for part, count in zip(parts.tolist(), counts.tolist(), strict=True):
            site = int(np.flatnonzero((sites.part <= part) & (part < sites.part + sites.width))[0])
            kind = self.structure.kinds[int(sites.kind[site])]
            # A part that occurs several times is no sign of one place.
            key = np.array([part] if sites.uses[site] == 1 else [], dtype=np.int64)
            held = np.repeat(part, round(count))
            found.append(Element(kind, (site,), "", f"part {part}", held, key))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        return "another part"

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        return str(number)


def at(words: Sequence[str], t: int, number: int | None = None) -> str:
    """Return a position and its word, if that is known.

    Parameters
    ----------
    words : sequence of str
        The words of the example; "" where they are not known.
    t : int
        The position, from 0.
    number : int or None
        The number of the position; None is `t`.
    """
    word = words[t] if t < len(words) else ""
    return f"{t if number is None else number} {apart(word)}".rstrip()


def over(words: Sequence[str], start: int, end: int) -> str:
    """Return the first position of a stretch and the one after its last, and its words."""
    return f"{start}-{end} {apart(' '.join(words[start:end]))}".rstrip()
