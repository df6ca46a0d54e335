"""Plain text as sentences of tokens, by simple rules that need no language.

A model that was trained on texts gets the tokens that it was trained on; any other model gets those
of the tokenizer "compounds". A sentence ends at the end of a line, and after ``.``,
``!``, ``?`` or ``…`` with the quotes and brackets that close there, if white space follows and then
anything but a small letter. A dot after a single capital (``J. Smith``) or a common title ends
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..formats.registry import Chosen
from ..formats.span_styles import STYLES, TOKENIZERS, tokenizer_of

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["Word", "sentences", "tokenizer_for"]

_ENDS: Final = frozenset(".!?…")
_CLOSING: Final = frozenset("\"'\u201d\u2019»)]")
_TITLES: Final = frozenset({"Mr", "Mrs", "Ms", "Dr", "Prof", "St", "No", "vs"})


class Word(NamedTuple):
    """A token and where it stands in the text, counted in characters."""

    text: str
    start: int
    end: int


def tokenizer_for(model: Model) -> str:
    """Return the name of the tokenizer for a model: the one that it was trained with, if any."""
    chosen = Chosen.of(None).after(model.meta.get("format"))
    if chosen.name not in STYLES:
        return "compounds"
    name: str = chosen.options.get("tokenizer", "words")
    # A model file may hold anything.
    return name if name in TOKENIZERS else "words"


def sentences(text: str, tokenizer: str = "compounds") -> list[list[Word]]:
    """Cut a text into sentences of tokens; sentences without tokens are left out.

    Raises a DataError if there is no tokenizer of that name.
    """
    token = tokenizer_of(tokenizer)
    found: list[list[Word]] = []
    begin = 0
    for line in text.splitlines(keepends=True):
        words = [
            Word(match[0], match.start(), match.end())
            for match in token.finditer(text, begin, begin + len(line))
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
