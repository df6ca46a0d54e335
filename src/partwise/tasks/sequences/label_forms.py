"""What single labels, tags and segments are made of, and the names of their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import Ints
from ..label_form import Element, LabelForm, SlotNames, at, over

__all__ = ["ClassForm", "SegmentForm", "TagForm"]


class ClassForm(LabelForm):
    """A single label."""

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        own = np.array([int(label[0])])
        return [Element("example", (), "".join(words[:1]), self.names[own[0]], own, own)]

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        return self.names[int(label[0])]

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        return ""


class TagForm(LabelForm):
    """One label per position, of chains of the first and the second order.

    A transition belongs to the later one of its positions, a triple to the last one.
    """

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        structure, n, y = self.structure, self.structure.n_labels, label.tolist()
        pairs = structure.parts_of("transition", topo).start
        second = "triple" in structure.kinds
        tied = second or structure.tied
        found = []
        for t, k in enumerate(y):
            parts = [t * n + k]
            if t > 0:
                step = 0 if tied else (t - 1) * n * n
                parts.append(pairs + step + y[t - 1] * n + k)
            if t > 1 and second:
                triples = structure.parts_of("triple", topo).start
                parts.append(triples + (y[t - 2] * n + y[t - 1]) * n + k)
            if t == 0 and structure.start:
                parts.append(structure.parts_of("start", topo).start + k)
            if t == len(y) - 1 and structure.end:
                parts.append(structure.parts_of("end", topo).start + k)
            text = words[t] if t < len(words) else ""
            every = np.array(parts, dtype=np.int64)
            found.append(Element("position", (t,), text, self.names[k], every, every[:1]))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        return self.names[int(label[element.place[0]])]

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        if kind == 0:
            return at(words, number)
        tied = getattr(self.structure, "tied", True)
        named = self.structure.kinds[kind]
        return f"{number}-{number + 1}" if named == "transition" and not tied else ""


class SegmentForm(LabelForm):
    """The segments of semi-Markov chains, with the positions inside them.

    A transition belongs to the later one of its segments.
    """

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        structure, n = self.structure, self.structure.n_labels
        starts = {
            kind: structure.parts_of(kind, topo).start
            for kind in ("segment", "transition", "length", "start", "end")
        }
        site = {pair: s for s, pair in enumerate(map(tuple, structure.segments(topo).tolist()))}
        rows = label.tolist()
        found = []
        for i, (start, end, k) in enumerate(rows):
            parts = [starts["segment"] + site[start, end] * n + k]
            parts += [t * n + k for t in range(start, end)]
            parts.append(starts["length"] + (end - start - 1) * n + k)
            if i > 0:
                parts.append(starts["transition"] + rows[i - 1][2] * n + k)
            if i == 0 and structure.start:
                parts.append(starts["start"] + k)
            if i == len(rows) - 1 and structure.end:
                parts.append(starts["end"] + k)
            text = " ".join(words[start:end])
            every = np.array(parts, dtype=np.int64)
            found.append(Element("segment", (start, end), text, self.names[k], every, every[:1]))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        first, last = element.place
        return ", ".join(
            f"{self.names[k]} {start}-{end}"
            for start, end, k in label.tolist()
            if start < last and first < end
        )

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        if kind == 0:
            return at(words, number)
        if kind == 1:
            start, end = self.structure.segments(topo)[number].tolist()
            return over(words, start, end)
        return ""

    def _slot(self, kind: str) -> SlotNames:
        if kind != "length":
            return super()._slot(kind)
        lengths = [*map(str, range(1, self.structure.max_length + 1))]
        own: list[Sequence[str]] = [[label] for label in self.names]
        return SlotNames((lengths, self.names), " ", labels=([()] * len(lengths), own))
