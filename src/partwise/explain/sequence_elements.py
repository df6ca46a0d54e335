"""Positions and segments: the elements of labelled sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Ints
from .elements import Element, Elements, at, over

__all__ = ["PositionElements", "SegmentElements"]


class PositionElements(Elements):
    """The positions of chains of the first and the second order.

    A transition belongs to the later one of its positions, a triple to the last one.
    """

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
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
        named = self.structure.kinds[kind]
        return f"{number}-{number + 1}" if named == "transition" and not self._tied else ""

    @property
    def _tied(self) -> bool:
        return bool(getattr(self.structure, "tied", True))


class SegmentElements(Elements):
    """The segments of semi-Markov chains, with the positions inside them.

    A transition belongs to the later one of its segments.
    """

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
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
