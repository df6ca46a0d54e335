"""Bracketed trees as in the Penn Treebank: `(S (NP (PRP It)) (VP (VBZ works)))`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError, Place
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text, writing
from partwise.formats.tree import Tree

__all__ = [
    "FORMAT",
    "Brackets",
    "clean",
    "escape",
    "parse_tree",
    "read_brackets",
    "unescape",
    "write_brackets",
]

# Only ASCII blanks separate: a no-break space may be part of a word.
_TOKEN = re.compile(r"\n|[()]|[^ \t\n\r\f\v()]+")
_PLAIN = re.compile(r"[^ \t\n\r\f\v()]+")
_CATEGORY = re.compile(r"[^-=]+")
_TRACE = "-NONE-"
_ESCAPES = {
    "(": "-LRB-", ")": "-RRB-", "{": "-LCB-", "}": "-RCB-", "[": "-LSB-", "]": "-RSB-",
    "/": "\\/", "*": "\\*",
}  # fmt: skip
_WRITTEN = {written: character for character, written in _ESCAPES.items()}
_ESCAPED = re.compile("|".join(map(re.escape, _WRITTEN)))


@dataclass(frozen=True, eq=False)
class Brackets:
    """The trees of a bracketed file.

    Attributes
    ----------
    path
        The source of the trees, for messages.
    trees
        The trees.
    lines
        The line at which every tree begins, counted from 1.
    """

    path: str
    trees: list[Tree]
    lines: NDArray[np.int64]

    def take(self, which: Sequence[int]) -> Brackets:
        """Return some of the trees, by their numbers from 0."""
        return Brackets(self.path, [self.trees[i] for i in which], self.lines[which])


@dataclass
class _Open:
    """Brackets that are not closed yet."""

    line: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)


def read_brackets(
    source: str | os.PathLike[str],
    *,
    traces: bool = False,
    functions: bool = False,
    empty: bool = False,
    encoding: str | None = None,
) -> Brackets:
    r"""Read bracketed trees, which may run over many lines.

    Every word needs brackets of its own: ``(NN dog)``. An outermost pair without a label, as in
    ``( (S ...))``, is dropped if it holds one tree; if it holds more it stays, with an empty label.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    traces
        Whether to keep the empty elements (``-NONE-``). If not, phrases that hold nothing else are
        removed with them.
    functions
        Whether to keep what follows the category: function tags and indices. If not, ``NP-SBJ-1``
        and ``NP=2`` become ``NP``, while ``-LRB-`` and ``-NONE-`` are kept.
    empty
        Whether a file without trees is allowed.
    encoding
        The encoding of the file; None is UTF-8.

    Returns
    -------
    Brackets
        Words are as in the file; `unescape` turns ``-LRB-`` into ``(``.

    Raises
    ------
    DataError
        If the file cannot be read, is malformed, or holds no tree; the message names file and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_brackets
    >>> _ = Path("t.mrg").write_text("(S (NN dogs) (VB bark))\n")
    >>> print(read_brackets("t.mrg").trees[0])
    (S (NN dogs) (VB bark))
    """
    text = read_text(source, encoding)
    name = text.name
    trees, lines = _parse(text)
    if not trees and not empty:
        raise DataError(
            "no trees; expected brackets such as (S (NP (PRP It)) (VP ...))", place=Place(name)
        )
    kept = []
    for tree, line in zip(trees, lines, strict=True):
        cleaned = clean(tree, traces=traces, functions=functions)
        if cleaned is None:
            raise DataError(
                "the tree holds nothing but empty elements (-NONE-); remove it, or keep the traces",
                place=Place(name, line),
            )
        kept.append(cleaned)
    return Brackets(name, kept, np.array(lines, np.int64))


def parse_tree(text: str) -> Tree:
    """Read one tree from a string, with traces and functions.

    Parameters
    ----------
    text
        One bracketed tree.

    Raises
    ------
    DataError
        If the text is not one well-formed tree.

    Examples
    --------
    >>> from partwise.formats import parse_tree
    >>> parse_tree("(S (NN dogs) (VB bark))").words
    ['dogs', 'bark']
    """
    trees, _ = _parse(Text("<text>", text))
    if len(trees) != 1:
        raise DataError(f"<text>: {len(trees)} trees where one is expected; pass one tree per call")
    return _without_shell(trees[0])


def clean(tree: Tree, *, traces: bool = False, functions: bool = False) -> Tree | None:
    """Remove empty elements and function tags, and an outermost node without a label.

    Parameters
    ----------
    tree
        The tree, which is not changed.
    traces, functions
        What to keep, as for `read_brackets`.

    Returns
    -------
    Tree or None
        None if nothing is left of the tree.
    """

    def label_of(node: Tree) -> str:
        # A label that begins with - or = has no category before it: -LRB-, -NONE-.
        category = None if functions else _CATEGORY.match(node.label)
        return category.group() if category else node.label

    def leaf(node: Tree) -> Tree | None:
        if node.label == _TRACE and not traces:
            return None
        return Tree(label_of(node), word=node.word)

    def phrase(node: Tree, children: list[Tree | None]) -> Tree | None:
        kept = tuple(child for child in children if child is not None)
        return Tree(label_of(node), kept) if kept else None

    result = tree.fold(leaf, phrase)
    return None if result is None else _without_shell(result)


def _without_shell(tree: Tree) -> Tree:
    if tree.label == "" and len(tree.children) == 1:
        return tree.children[0]
    return tree


def _parse(text: Text) -> tuple[list[Tree], list[int]]:
    trees: list[Tree] = []
    lines: list[int] = []
    stack: list[_Open] = []
    name, begun = text.name, 1
    line = text.line(begun)
    for token in _TOKEN.findall(text.text):
        if token == "\n":
            begun += 1
            line = text.line(begun)
        elif token == "(":
            if stack and stack[-1].word is not None:
                raise DataError(f"{_mixed(stack[-1])}", place=Place(name, line))
            if not stack:
                lines.append(line)
            stack.append(_Open(line))
        elif token == ")":
            if not stack:
                raise DataError(
                    "one ) too many; remove it, or add the ( before it", place=Place(name, line)
                )
            tree = _close(name, line, stack.pop(), outermost=not stack)
            if stack:
                stack[-1].children.append(tree)
            else:
                trees.append(tree)
        elif not stack:
            raise DataError(
                f"{token[:40]!r} stands outside of brackets; a file holds nothing "
                "but trees, each in brackets",
                place=Place(name, line),
            )
        else:
            _add_text(name, line, stack[-1], token)
    if stack:
        raise DataError(
            f"the tree that begins here is never closed; {len(stack)} ) "
            "are missing at the end of the file, or earlier",
            place=Place(name, stack[0].line),
        )
    return trees, lines


def _add_text(name: str, line: int, node: _Open, token: str) -> None:
    if node.label is None and not node.children:
        node.label = token
    elif node.word is None and not node.children:
        node.word = token
    else:
        raise DataError(f"{_mixed(node, token)}", place=Place(name, line))


def _mixed(node: _Open, token: str | None = None) -> str:
    word = token or node.word
    return (
        f"({node.label or ''} ...) holds the bare word {word!r} beside something else; put every "
        f"word in brackets with its tag, such as (NN {word})"
    )


def _close(name: str, line: int, node: _Open, outermost: bool) -> Tree:
    if node.word is not None:
        return Tree(node.label or "", word=node.word)
    if not node.children:
        raise DataError(
            f"({node.label or ''}) is empty; give it a word or children, or remove the brackets",
            place=Place(name, line),
        )
    if node.label is None and not outermost:
        raise DataError(
            "brackets without a label; only the outermost pair of a tree may go without",
            place=Place(name, node.line),
        )
    return Tree(node.label or "", tuple(node.children))


def unescape(word: str) -> str:
    r"""Replace ``-LRB-`` and the like, ``\/`` and ``\*``, by the characters that they stand for."""
    return _ESCAPED.sub(lambda match: _WRITTEN[match.group()], word)


def escape(word: str) -> str:
    """Replace all brackets by ``-LRB-`` and the like, so that a tree can hold the word."""
    return "".join(_ESCAPES[c] if c in "(){}[]" else c for c in word)


def write_brackets(path: str | os.PathLike[str], trees: Iterable[Tree]) -> None:
    r"""Write trees, one per line.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    trees
        The trees. Round brackets in words are written as ``-LRB-`` and ``-RRB-``.

    Raises
    ------
    DataError
        If a label or a word is empty, holds a blank, or (a label) holds a bracket.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import parse_tree, write_brackets
    >>> write_brackets("t.mrg", [parse_tree("(S (NN dogs) (VB bark))")])
    >>> Path("t.mrg").read_text()
    '(S (NN dogs) (VB bark))\n'
    """
    with writing(path) as stream:
        for number, tree in enumerate(trees, 1):
            stream.write(f"{_writable(tree, number)}\n")


def _writable(tree: Tree, number: int) -> Tree:
    for node in tree.nodes():
        shell = node is tree and node.label == "" and len(node.children) > 1
        if not shell and not _PLAIN.fullmatch(node.label):
            _refuse("label", node.label, number)
        if node.word is not None and not _PLAIN.fullmatch(_round(node.word)):
            _refuse("word", node.word, number)

    def leaf(node: Tree) -> Tree:
        word = _round(node.word or "")
        return node if word == node.word else Tree(node.label, word=word)

    return tree.fold(leaf, lambda node, children: Tree(node.label, tuple(children)))


def _round(word: str) -> str:
    return word.replace("(", _ESCAPES["("]).replace(")", _ESCAPES[")"])


def _refuse(what: str, text: str, number: int) -> None:
    raise DataError(
        f"tree {number}: the {what} {text!r} cannot be written in brackets; it must not be empty "
        "or hold blanks, and a label no brackets"
    )


FORMAT: Final = Format(
    "phrase-structure trees",
    read_brackets,
    "bracketed trees as in the Penn Treebank",
    ends="brackets",
    options=OPTIONS["brackets"],
)
