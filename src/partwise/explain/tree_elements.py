"""Arcs and phrases: the elements of dependency trees and of constituency trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Ints
from ..structures.dependency.arcs import arc_ends
from ..structures.grammar.constraints import allowed_spans, allowed_splits
from .elements import Element, Elements, at, over

__all__ = ["ArcElements", "NodeElements"]


class ArcElements(Elements):
    """The arcs of dependency trees, one per word."""

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        parts, _ = self.structure.encode(label, topo)
        found = []
        for t, (head, k) in enumerate(label.tolist()):
            text = words[t] if t < len(words) else ""
            named, own = self._arc(head, k, words), parts[t : t + 1]
            found.append(Element("arc", (t + 1, head), text, named, own, own))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        head, k = label[element.place[0] - 1].tolist()
        return self._arc(head, k, words)

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        heads, modifiers = arc_ends(int(topo[0]))
        return f"{_word(int(modifiers[number]), words)} <- {_word(int(heads[number]), words)}"

    def _arc(self, head: int, k: int, words: Sequence[str]) -> str:
        label = f"{self.names[k]} " if self.names else ""
        return f"{label}<- {_word(head, words)}"


def _word(number: int, words: Sequence[str]) -> str:
    """Return the number of a word, counted from 1, and the word itself; 0 is the root."""
    if number == 0:
        return "0 (root)"
    return at(words, number - 1, number)


class NodeElements(Elements):
    """The nodes of derivations: words with their symbol, and phrases with their rule."""

    def of(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        parts = self.structure.node_parts(label, topo)
        found = []
        for symbol, start, end, _ in label.tolist():
            every = np.array(parts[start, end], dtype=np.int64)
            kind = "word" if end == start + 1 else "phrase"
            place = (start,) if kind == "word" else (start, end)
            text = " ".join(words[start:end])
            found.append(Element(kind, place, text, self.names[symbol], every, every[:1]))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        start, end = element.place[0], element.place[-1]
        end = start + 1 if element.kind == "word" else end
        for symbol, first, last, _ in label.tolist():
            if (first, last) == (start, end):
                return str(self.names[symbol])
        return "no phrase"

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        named = self.structure.kinds[kind]
        if named == "word":
            return at(words, number)
        if named == "span":
            start, end = allowed_spans(topo)[number].tolist()
            return over(words, start, end)
        if named == "split" or (named == "rule" and self.structure.anchored):
            return "-".join(map(str, allowed_splits(topo)[number].tolist()))
        return ""
