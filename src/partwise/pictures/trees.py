"""Phrase structure trees, drawn from the root down to the words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ..formats.tree import Bracket, Tree
from .markup import Markup, element, plain_text
from .text_width import text_width

__all__ = ["tree_svg"]

_WORD, _SMALL = 14.0, 11.0  # sizes of letters
_GAP: Final = 14.0  # between neighbours
_LEVEL: Final = 36.0  # between a phrase and its children
_EDGE: Final = 10.0  # around the drawing


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
    width, height = root.width + 2 * _EDGE, depth * _LEVEL + _WORD + 2 * _EDGE + 4.0
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
    return element(
        "svg", element("title", title), *lines, *texts, xmlns="http://www.w3.org/2000/svg",
        class_="pw-picture pw-tree", role="img", width=width, height=height,
        viewBox=f"0 0 {width:.1f} {height:.1f}", aria_label=f"{title}. {tree}.{marked}",
    )  # fmt: skip


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
    return _EDGE + _SMALL + node.level * _LEVEL


def _line(node: _Node, child: _Node) -> Markup:
    a, b = _y(node) + 4.0, _y(child) - _SMALL
    path = f"M{node.middle:.1f} {a:.1f}L{child.middle:.1f} {b:.1f}"
    return element("path", d=path, class_="pw-line")


def _texts(node: _Node, framed: bool, depth: int) -> list[Markup]:
    x, y = node.middle, _y(node)
    label = element("text", node.label, x=x, y=y, class_="pw-label")
    if node.word is not None:
        # All words are on one line, so that the sentence can be read.
        foot = _EDGE + _SMALL + depth * _LEVEL
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
