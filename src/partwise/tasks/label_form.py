"""The form of labels: what they are made of, and what their parts are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Ints

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["Element", "LabelForm", "NumberedParts", "SlotNames", "apart", "at", "over"]

_ARROW: Final = " -> "


@dataclass(frozen=True)
class Element:
    """One place of a label.

    Attributes
    ----------
    kind, place, text, label
        As in `partwise.explain.Part`.
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


class NumberedParts(Sequence[str]):
    """Names of parts that only have numbers, made when they are asked for."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < self.width:
            raise IndexError(number)
        return f"part {number}"


class LabelForm:
    """The form of the labels of a model, by its structure.

    Structures score *parts*; an *element* is a place of the label with all parts that belong to it.
    A part that joins several places, such as a transition, belongs to the last of them, so that the
    parts of all elements together are those of the label.

    This class is for structures of which nothing is known: their parts only have numbers. The
    table `LABEL_FORMS` in `partwise.tasks.registry` has those of the others.

    Parameters
    ----------
    model : Model
        The model.
    """

    #: The kinds of sites whose weights join labels with each other or with an end.
    joining: ClassVar[frozenset[str]] = frozenset({"transition", "triple", "start", "end"})

    def __init__(self, model: Model) -> None:
        self.model = model
        self.structure: Any = model.structure
        self.names = tuple(map(str, model.labels))

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        """Return the elements of a label.

        Parameters
        ----------
        label, topo
            The label, and the shape of the example.
        words : sequence of str
            What stands at each position of the input; empty if that is not known.
        """
        parts, counts = self.structure.encode(label, topo)
        sites = self.structure.sites(topo)
        slots = self.slots()
        found = []
        for part, count in zip(parts.tolist(), counts.tolist(), strict=True):
            site = int(np.flatnonzero((sites.part <= part) & (part < sites.part + sites.width))[0])
            number = int(sites.kind[site])
            kind = self.structure.kinds[number]
            named = slots[number].text(part - int(sites.part[site]))
            # A part that occurs several times is no sign of one place.
            key = np.array([part] if sites.uses[site] == 1 else [], dtype=np.int64)
            held = np.repeat(part, round(count))
            place = site - int(np.searchsorted(sites.kind, number))
            found.append(Element(kind, (place,), "", named, held, key))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        """Return what another label has in the place of an element."""
        return "another part"

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        """Return where a site is; "" for one that stands for the whole example.

        Parameters
        ----------
        kind, number
            Its kind, and its number among those of this kind.
        topo, words
            As in `elements`.
        """
        return str(number)

    def slots(self) -> list[SlotNames]:
        """Return the names of the parts of every kind of site."""
        found = []
        for kind, width in zip(self.structure.kinds, self.structure.widths, strict=True):
            made = self._slot(kind)
            # A structure of another package may have parts of any meaning.
            fits = made.width == width or not width
            found.append(made if fits else SlotNames((NumberedParts(width),)))
        return found

    def _slot(self, kind: str) -> SlotNames:
        """Return the names of the parts of a kind of site, if its name means what it says."""
        return SlotNames((self.names,) * {"transition": 2, "triple": 3}.get(kind, 1))

    def joins(self) -> list[int]:
        """Return the kinds of sites whose weights join labels with each other or with an end."""
        counts = self.model.layout.n_features
        kinds = enumerate(self.structure.kinds)
        return [k for k, kind in kinds if kind in self.joining and counts[k]]


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


def apart(text: str) -> str:
    """Return a text as it is written after a number: in quotes if it begins with a number too."""
    first = next((character for character in text if character.isalnum()), "")
    return f'"{text}"' if first.isnumeric() else text
