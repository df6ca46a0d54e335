"""Projectivity of dependency trees: tests, crossing arcs, cycles, and lifting to projective trees.

Heads are given for the words 1..n in order: ``heads[m - 1]`` is the head of word m, and 0 is the
root, which stands to the left of all words. A tree is projective if no two of its arcs cross when
all are drawn above the sentence, those from the root included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from partwise.errors import DataError

__all__ = ["Arc", "crossing_arcs", "find_cycle", "is_projective", "projectivise"]


class Arc(NamedTuple):
    """An arc from a head (0 is the root) to a word."""

    head: int
    word: int


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Find words that are heads of each other.

    Parameters
    ----------
    heads
        The head of every word; 0 is the root.

    Returns
    -------
    list of int
        The words of the first cycle from the left, each followed by its head; empty if all words
        hang from the root.
    """
    _check_range(heads)
    met = [0] * (len(heads) + 1)  # the walk that met the word first
    for start in range(1, len(heads) + 1):
        word = start
        while word and not met[word]:
            met[word] = start
            word = heads[word - 1]
        if word and met[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def is_projective(heads: Sequence[int]) -> bool:
    """Return whether no two arcs cross, in time n log n.

    Parameters
    ----------
    heads
        The head of every word; 0 is the root. The heads need not form a tree.
    """
    _check_range(heads)
    # From left to right, an arc is pushed where it begins, and if none cross it is on top of the
    # stack where it ends: all that was pushed after it is nested in it and has been popped.
    open_ends: list[int] = []
    for left, right in _stretches(heads):
        while open_ends and open_ends[-1] <= left:
            open_ends.pop()
        if open_ends and open_ends[-1] < right:
            return False
        open_ends.append(right)
    return True


def crossing_arcs(heads: Sequence[int], limit: int | None = None) -> list[tuple[Arc, Arc]]:
    """List pairs of arcs that cross.

    Parameters
    ----------
    heads
        The head of every word; 0 is the root.
    limit
        Stop after so many pairs; None lists all of them.

    Returns
    -------
    list of (Arc, Arc)
        In each pair the arc that begins further left comes first.
    """
    _check_range(heads)
    arcs = [Arc(head, word) for word, head in enumerate(heads, 1)]
    arcs.sort(key=lambda arc: (min(arc), -max(arc)))
    pairs: list[tuple[Arc, Arc]] = []
    active: list[Arc] = []
    for arc in arcs:
        left, right = min(arc), max(arc)
        active = [other for other in active if max(other) > left]
        for other in active:
            if limit is not None and len(pairs) >= limit:
                return pairs
            if min(other) < left and max(other) < right:
                pairs.append((other, arc))
        active.append(arc)
    return pairs


def projectivise(heads: Sequence[int]) -> tuple[list[int], list[int]]:
    """Make a tree projective by lifting words, as Nivre and Nilsson (2005) do.

    As long as an arc is not projective, that is, as long as a word between head and dependent does
    not descend from the head, the shortest such arc (the leftmost of those of equal length) is
    replaced by one from the head's own head. A projective tree is returned as it is, and a tree
    with one word at the root keeps only that one.

    Parameters
    ----------
    heads
        The head of every word; 0 is the root. They must form a tree.

    Returns
    -------
    heads
        The heads of a projective tree.
    lifted
        The words whose head has changed, in order.

    Raises
    ------
    DataError
        If the heads hold a cycle.
    """
    cycle = find_cycle(heads)
    if cycle:
        raise DataError(
            f"words {', '.join(map(str, cycle))} (counting from 1) are heads of each other, so "
            "there is no tree; correct the heads"
        )
    above = [0, *heads]  # above[word] is the head of the word
    while (word := _shortest_lift(above)) is not None:
        above[word] = above[above[word]]
    result = above[1:]
    return result, [m for m, (a, b) in enumerate(zip(heads, result, strict=True), 1) if a != b]


def _shortest_lift(above: list[int]) -> int | None:
    if is_projective(above[1:]):
        return None
    words = range(1, len(above))
    for word in sorted(words, key=lambda m: (abs(m - above[m]), min(m, above[m]))):
        if not _spans(above, word):
            return word
    raise AssertionError("a tree with crossing arcs has an arc that is not projective")


def _spans(above: list[int], word: int) -> bool:
    """Return whether all words between a word and its head descend from that head."""
    head = above[word]
    inside = {head}
    for between in range(min(word, head) + 1, max(word, head)):
        path = []
        while between not in inside:
            if between == 0:
                return False
            path.append(between)
            between = above[between]
        inside.update(path)
    return True


def _stretches(heads: Sequence[int]) -> list[tuple[int, int]]:
    ends = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return sorted(ends, key=lambda end: (end[0], -end[1]))


def _check_range(heads: Sequence[int]) -> None:
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= len(heads):
            raise DataError(
                f"word {word} has head {head}; give 0 for the root, or one of the words 1 to "
                f"{len(heads)}"
            )
