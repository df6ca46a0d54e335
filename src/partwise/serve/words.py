"""Plain text as sentences of tokens, by simple rules that need no language.

A token is a run of letters and digits, with single apostrophes and hyphens inside (``don't``,
``well-kept``) and with single separators between digits (``1,000.5``, ``3/4``); a run of dots; or
any other character that is no white space. A sentence ends at the end of a line, and after ``.``,
``!``, ``?`` or ``…`` with the quotes and brackets that close there, if white space follows and then
anything but a small letter. A dot after a single capital (``J. Smith``) or a common title ends
none.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["Word", "sentences"]

# No token can be matched in two ways, so that the time is linear in the text.
_TOKEN: Final = re.compile(r"[^\W_]+(?:(?:['\u2019\-]|(?<=\d)[.,:/](?=\d))[^\W_]+)*|\.+|[^\w\s]|_+")
_ENDS: Final = frozenset(".!?…")
_CLOSING: Final = frozenset("\"'\u201d\u2019»)]")
_TITLES: Final = frozenset({"Mr", "Mrs", "Ms", "Dr", "Prof", "St", "No", "vs"})


class Word(NamedTuple):
    """A token and where it stands in the text, counted in characters."""

    text: str
    start: int
    end: int


def sentences(text: str) -> list[list[Word]]:
    """Cut a text into sentences of tokens; sentences without tokens are left out."""
    found: list[list[Word]] = []
    begin = 0
    for line in text.splitlines(keepends=True):
        words = [
            Word(match[0], match.start(), match.end())
            for match in _TOKEN.finditer(text, begin, begin + len(line))
        ]
        found += _cut(words)
        begin += len(line)
    return found


def _cut(words: list[Word]) -> list[list[Word]]:
    """Cut the tokens of a line into sentences."""
    found: list[list[Word]] = []
    begin = 0
    ended = False
    for t, word in enumerate(words):
        if t and ended and word.start > words[t - 1].end and not word.text[0].islower():
            found.append(words[begin:t])
            begin, ended = t, False
        if word.text[0] in _ENDS:
            ended = not (word.text == "." and t and _abbreviated(words[t - 1]))
        elif not (ended and word.text in _CLOSING and word.start == words[t - 1].end):
            ended = False
    return [*found, words[begin:]] if words else []


def _abbreviated(word: Word) -> bool:
    return word.text in _TITLES or (len(word.text) == 1 and word.text.isupper())
