"""Trees: dependencies as arcs over their words, and phrases from the root down to the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from ..errors import DataError
from ..formats.tree import Bracket, Tree
from .markup import Markup, element, plain_text, text_width

__all__ = ["dependency_svg", "tree_svg"]


_WORD, _SMALL = 14.0, 11.0  # sizes of letters
_PORT: Final = 8.0  # between the ends of arcs at the same word
_GAP: Final = 14.0  # between words, and between phrases
_LEVEL: Final = 21.0  # between arcs on top of each other
_CORNER: Final = 7.0
_EDGE: Final = 10.0  # around the drawing
_ROOT: Final = "root"


def _svg(
    kind: str, title: str, told: str, parts: Iterable[Markup], width: float, height: float
) -> Markup:
    """Return a drawing of a kind, with its parts and what it shows in words."""
    return element(
        "svg", element("title", title), *parts, xmlns="http://www.w3.org/2000/svg",
        class_=f"pw-picture pw-{kind}", role="img", width=width, height=height,
        viewBox=f"0 0 {width:.1f} {height:.1f}", aria_label=f"{title}. {told}",
    )  # fmt: skip


@dataclass(frozen=True)
class _Arc:
    """An arc, words counted from 0; the head of a root is -1."""

    modifier: int
    head: int
    label: str
    kind: str = ""

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.modifier, self.head), max(self.modifier, self.head)


class _Side:
    """The arcs above the words, or those below: their levels, and where they touch the words."""

    def __init__(self, arcs: Sequence[_Arc], n_words: int) -> None:
        self.arcs = [arc for arc in arcs if arc.head >= 0]
        self.roots = sorted((arc for arc in arcs if arc.head < 0), key=lambda arc: arc.modifier)
        self.levels = self._levels(n_words)
        top = max(self.levels, default=0)
        self.height = top + bool(self.roots)
        self.ports = self._ports(n_words)

    def _levels(self, n_words: int) -> list[int]:
        """Return for each arc one more than the highest level among the shorter ones below it."""
        reached = [0] * n_words  # the highest level so far between a word and the next
        levels = [0] * len(self.arcs)
        by_length = sorted(
            range(len(self.arcs)),
            key=lambda a: (self.arcs[a].ends[1] - self.arcs[a].ends[0], self.arcs[a].ends),
        )
        for a in by_length:
            first, last = self.arcs[a].ends
            levels[a] = 1 + max(reached[first:last])
            reached[first:last] = [levels[a]] * (last - first)
        return levels

    def _ports(self, n_words: int) -> list[dict[_Arc, float]]:
        """Return for each word where its arcs touch it, relative to its middle.

        From left to right: arcs to the left, the shortest first, the root, then arcs to the right,
        the longest first. Nested arcs then never cross.
        """
        at: list[list[tuple[float, _Arc]]] = [[] for _ in range(n_words)]
        for arc in self.arcs:
            first, last = arc.ends
            at[first].append((1.0 / (last - first), arc))
            at[last].append((-1.0 / (last - first), arc))
        for arc in self.roots:
            at[arc.modifier].append((0.0, arc))
        found = []
        for some in at:
            order = [arc for _, arc in sorted(some, key=lambda pair: pair[0])]
            middle = (len(order) - 1) / 2
            found.append({arc: (n - middle) * _PORT for n, arc in enumerate(order)})
        return found


def dependency_svg(
    words: Sequence[str],
    heads: Sequence[int | None],
    relations: Sequence[str] | None = None,
    *,
    tags: Sequence[str] | None = None,
    right: tuple[Sequence[int | None], Sequence[str] | None] | None = None,
    title: str = "Dependency tree",
) -> Markup:
    """Draw a dependency tree.

    Parameters
    ----------
    words : sequence of str
        The words.
    heads : sequence of int or None
        The head of every word, counted from 1; 0 is the root, and None draws no arc.
    relations : sequence of str or None
        The relation of every word to its head.
    tags : sequence of str or None
        The parts of speech, drawn below the words.
    right : tuple of heads and relations, or None
        The right tree. Arcs that are not in it are dashed, and the right ones for these words are
        drawn below the words.
    title : str
        The title of the drawing.

    Returns
    -------
    Markup
        An SVG element, as wide as the sentence needs; see :func:`partwise.pictures.scrolled`.

    Examples
    --------
    >>> from partwise.pictures import dependency_svg
    >>> svg = dependency_svg(["dogs", "bark"], [2, 0], ["nsubj", "root"], tags=["NNS", "VBP"])
    >>> "dogs is nsubj of bark; bark is the root" in svg
    True
    """
    found = _arcs(len(words), heads, relations)
    meant: list[_Arc] = []
    if right is not None:
        known = {arc.modifier: arc for arc in _arcs(len(words), *right)}
        for place, arc in enumerate(found):
            wanted = known.get(arc.modifier, arc)
            if wanted != arc:
                found[place] = replace(arc, kind="wrong")
                meant.append(replace(wanted, kind="right"))
    return _Drawing([*map(plain_text, words)], tags, found, meant).svg(title)


def _arcs(n_words: int, heads: Sequence[int | None], relations: Sequence[str] | None) -> list[_Arc]:
    if len(heads) != n_words or (relations is not None and len(relations) != n_words):
        raise DataError(
            f"{n_words} words with {len(heads)} heads"
            + ("" if relations is None else f" and {len(relations)} relations")
            + "; give one of each per word"
        )
    arcs = []
    for word, head in enumerate(heads):
        if head is None:
            continue
        if not 0 <= head <= n_words or head == word + 1:
            raise DataError(
                f"word {word + 1} has the head {head}; a head is another word, counted from 1 to "
                f"{n_words}, or 0 for the root"
            )
        label = "" if relations is None else plain_text(relations[word])
        arcs.append(_Arc(word, head - 1, label or (_ROOT if head == 0 else "")))
    return arcs


class _Drawing:
    def __init__(
        self,
        words: list[str],
        tags: Sequence[str] | None,
        found: list[_Arc],
        meant: list[_Arc],
    ) -> None:
        self.words = words
        self.tags = None if tags is None else [*map(plain_text, tags)]
        if self.tags is not None and len(self.tags) != len(words):
            raise DataError(f"{len(words)} words with {len(self.tags)} tags; give one per word")
        self.above = _Side(found, len(words))
        self.below = _Side(meant, len(words))
        self.middles = self._middles()
        self.base = _EDGE + _SMALL + self.above.height * _LEVEL
        self.foot = self.base + 2.0 + _WORD + (0.0 if tags is None else _SMALL + 4.0) + 8.0

    def _half(self, word: int) -> float:
        """Return half the width that a word takes, with its tag and the ends of its arcs."""
        wide = text_width(self.words[word], _WORD)
        if self.tags is not None:
            wide = max(wide, text_width(self.tags[word], _SMALL))
        ports = max(len(self.above.ports[word]), len(self.below.ports[word]))
        return max(wide, ports * _PORT) / 2

    def _middles(self) -> list[float]:
        """Return the middle of each word, as far left as words and labels of arcs allow."""
        room: list[list[tuple[int, float]]] = [[] for _ in self.words]
        for side in (self.above, self.below):
            for arc in side.arcs:
                first, last = arc.ends
                need = text_width(arc.label, _SMALL) + 2 * _CORNER
                need += side.ports[first][arc] - side.ports[last][arc]
                room[last].append((first, need))
            for one, two in pairwise(side.roots):
                need = self._label_half(one) + self._label_half(two) + _GAP
                room[two.modifier].append((one.modifier, need))
        middles: list[float] = []
        for word, needs in enumerate(room):
            half = self._half(word)
            x = _EDGE + half
            if middles:
                x = max(x, middles[-1] + self._half(word - 1) + _GAP + half)
            middles.append(max([x, *(middles[first] + need for first, need in needs)]))
        # The label of a root at the left edge may be wider than its word.
        roots = [*self.above.roots, *self.below.roots]
        left = min((middles[r.modifier] - self._label_half(r) for r in roots), default=_EDGE)
        shift = max(_EDGE - left, 0.0)
        return [x + shift for x in middles]

    @staticmethod
    def _label_half(arc: _Arc) -> float:
        return text_width(arc.label, _SMALL) / 2

    def svg(self, title: str) -> Markup:
        ends = [x + self._half(word) for word, x in enumerate(self.middles)]
        for arc in [*self.above.roots, *self.below.roots]:
            ends.append(self.middles[arc.modifier] + self._label_half(arc))
        width = max(ends, default=0.0) + _EDGE
        depth = self.below.height * _LEVEL
        height = self.foot + (depth + _SMALL + 4.0 if depth else 0.0)
        parts = [
            *self._arcs(self.above, self.base, -1.0),
            *self._arcs(self.below, self.foot - 4.0, 1.0),
            *map(self._word, range(len(self.words))),
        ]
        return _svg("dependencies", title, self._in_words(), parts, width, height)

    def _word(self, word: int) -> Markup:
        x = self.middles[word]
        texts = [
            element("text", self.words[word], x=x, y=self.base + _WORD + 2.0, class_="pw-word")
        ]
        if self.tags is not None:
            y = self.base + _WORD + _SMALL + 6.0
            texts.append(element("text", self.tags[word], x=x, y=y, class_="pw-tag"))
        return element("g", *texts, data_word=word + 1)

    def _arcs(self, side: _Side, base: float, up: float) -> list[Markup]:
        """Draw the arcs of one side; `up` is -1 above the words and 1 below them."""
        drawn = []
        for arc, level in zip(side.arcs, side.levels, strict=True):
            first, last = arc.ends
            a = self.middles[first] + side.ports[first][arc]
            b = self.middles[last] + side.ports[last][arc]
            y = base + up * level * _LEVEL
            r = min(_CORNER, (b - a) / 2)
            line = (
                f"M{a:.1f} {base:.1f}V{y - up * r:.1f}Q{a:.1f} {y:.1f} {a + r:.1f} {y:.1f}"
                f"H{b - r:.1f}Q{b:.1f} {y:.1f} {b:.1f} {y - up * r:.1f}V{base:.1f}"
            )
            end = a if arc.modifier == first else b
            drawn.append(_arc(arc, line, end, base, up, (a + b) / 2, y))
        for arc in side.roots:
            x = self.middles[arc.modifier] + side.ports[arc.modifier][arc]
            y = base + up * side.height * _LEVEL
            line = f"M{x:.1f} {y:.1f}V{base:.1f}"
            drawn.append(_arc(arc, line, x, base, up, x, y))
        return drawn

    def _in_words(self) -> str:
        """Return the text alternative."""
        said = [self._said(arc) for arc in [*self.above.arcs, *self.above.roots]]
        meant = [self._said(arc) for arc in [*self.below.arcs, *self.below.roots]]
        text = "; ".join(said)
        return text + (f". Right would be: {'; '.join(meant)}" if meant else "")

    def _said(self, arc: _Arc) -> str:
        word = self.words[arc.modifier]
        if arc.head < 0:
            return f"{word} is the root"
        relation = arc.label or "a modifier"
        wrong = " (wrong)" if arc.kind == "wrong" else ""
        return f"{word} is {relation} of {self.words[arc.head]}{wrong}"


def _arc(arc: _Arc, line: str, end: float, base: float, up: float, x: float, y: float) -> Markup:
    tip = f"M{end:.1f} {base:.1f}l-3.2 {up * 6.5:.1f}h6.4z"
    # Letters stand on the line above, and hang from it below.
    label_y = y - 4.0 if up < 0 else y + _SMALL + 1.0
    label = element("text", arc.label, x=x, y=label_y, class_="pw-label") if arc.label else ""
    return element(
        "g", element("path", d=line, class_="pw-line"), element("path", d=tip, class_="pw-tip"),
        label, class_=f"pw-arc pw-{arc.kind}" if arc.kind else "pw-arc",
        data_modifier=arc.modifier + 1, data_head=arc.head + 1,
    )  # fmt: skip


_STEP: Final = 36.0  # between a phrase and its children


@dataclass
class _Node:
    """A node with its place.

    Attributes
    ----------
    label, word
        Its label, and its word if it is a tag.
    children
        The nodes below.
    width
        The width that it takes with all that is below.
    left, middle, level
        The left edge, where the label is, and the number of nodes above.
    bracket
        Its range of words; None for a tag.
    """

    label: str
    word: str | None
    children: list[_Node]
    width: float
    left: float = 0.0
    middle: float = 0.0
    level: int = 0
    bracket: Bracket | None = None


def tree_svg(
    tree: Tree, *, wrong: Collection[Bracket] = (), title: str = "Phrase structure tree"
) -> Markup:
    """Draw a phrase structure tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    wrong : collection of Bracket
        Phrases to be framed by a dashed line, each as often as it is in the collection.
    title : str
        The title of the drawing.

    Returns
    -------
    Markup
        An SVG element, as wide as the sentence needs; see :func:`partwise.pictures.scrolled`.

    Examples
    --------
    >>> from partwise.formats import parse_tree
    >>> from partwise.pictures import tree_svg
    >>> svg = tree_svg(parse_tree("(S (NP (NNS dogs)) (VP (VBP bark)))"))
    >>> svg.count("pw-phrase"), svg.count("pw-leaf")
    (3, 2)
    """
    root = tree.fold(_tag, _phrase)
    nodes = _placed(root)
    for node, bracket in zip((n for n in nodes if n.children), tree.brackets(), strict=True):
        node.bracket = bracket
    depth = max(node.level + (0 if node.children else 1) for node in nodes)
    width, height = root.width + 2 * _EDGE, depth * _STEP + _WORD + 2 * _EDGE + 4.0
    left = Counter(wrong)
    lines, texts = [], []
    for node in nodes:
        lines += [_line(node, child) for child in node.children]
        framed = False
        if node.bracket is not None and left[node.bracket] > 0:
            left[node.bracket] -= 1
            framed = True
        texts += _texts(node, framed, depth)
    marked = f" Wrong phrases: {_in_words(wrong)}." if wrong else ""
    return _svg("tree", title, f"{tree}.{marked}", [*lines, *texts], width, height)


def _tag(tree: Tree) -> _Node:
    label, word = plain_text(tree.label), plain_text(tree.word)
    wide = max(text_width(word, _WORD), text_width(label, _SMALL))
    return _Node(label, word, [], wide + _GAP)


def _phrase(tree: Tree, children: list[_Node]) -> _Node:
    label = plain_text(tree.label)
    below = sum(child.width for child in children)
    wide = max(below, text_width(label, _SMALL) + _GAP)
    return _Node(label, None, children, wide)


def _placed(root: _Node) -> list[_Node]:
    """Give every node its place, and return them all, parents first and from left to right."""
    root.left = _EDGE
    nodes, stack = [], [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        # A label may be wider than all that is below it.
        x = node.left + (node.width - sum(child.width for child in node.children)) / 2
        for child in node.children:
            child.left, child.level = x, node.level + 1
            x += child.width
        stack.extend(reversed(node.children))
    for node in reversed(nodes):
        if node.children:
            node.middle = (node.children[0].middle + node.children[-1].middle) / 2
        else:
            node.middle = node.left + node.width / 2
    return nodes


def _y(node: _Node) -> float:
    return _EDGE + _SMALL + node.level * _STEP


def _line(node: _Node, child: _Node) -> Markup:
    a, b = _y(node) + 4.0, _y(child) - _SMALL
    path = f"M{node.middle:.1f} {a:.1f}L{child.middle:.1f} {b:.1f}"
    return element("path", d=path, class_="pw-line")


def _texts(node: _Node, framed: bool, depth: int) -> list[Markup]:
    x, y = node.middle, _y(node)
    label = element("text", node.label, x=x, y=y, class_="pw-label")
    if node.word is not None:
        # All words are on one line, so that the sentence can be read.
        foot = _EDGE + _SMALL + depth * _STEP
        line = element("path", d=f"M{x:.1f} {y + 4.0:.1f}V{foot - _WORD:.1f}", class_="pw-line")
        word = element("text", node.word, x=x, y=foot, class_="pw-word")
        return [element("g", line, label, word, class_="pw-leaf")]
    where = node.bracket
    held = {} if where is None else {"data_start": where.start, "data_end": where.end}
    if not framed:
        return [element("g", label, class_="pw-phrase", **held)]
    half = text_width(node.label, _SMALL) / 2 + 4.0
    box = element(
        "rect", x=x - half, y=y - _SMALL - 1.0, width=2 * half, height=_SMALL + 6.0, rx=4,
        class_="pw-box",
    )  # fmt: skip
    return [element("g", box, label, class_="pw-phrase pw-wrong", **held)]


def _in_words(brackets: Collection[Bracket]) -> str:
    return "; ".join(f"{label}, words {start + 1} to {end}" for label, start, end in brackets)
