"""What to show for tokens: their words, or what else there is to tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...formats.tokens import Attributes
from ...problem.rows import is_matrix

__all__ = ["attribute_words", "shown_attributes", "shown_tokens", "token_words"]

#: The keys under which the features of a token usually hold the word, the most telling first.
_WORD_KEYS: Final = ("word", "w", "form", "text", "token", "word.lower()", "lower", "w[0]")
#: What stands between key and value where both are one name: here, and in CRFsuite.
_SEPARATORS: Final = ("=", ":")
#: How much of the features of a token without a word is shown.
_MOST_NAMES: Final = 3
_MOST_CHARACTERS: Final = 40


def token_words(sequence: Any) -> list[str]:
    """Return the words of the tokens of a sequence from Python.

    The word of a token is "" if it does not say which of its features that is. A matrix has no
    words, and the list is empty.
    """
    return [] if is_matrix(sequence) else [_word(token) for token in sequence]


def shown_tokens(sequence: Any) -> list[str]:
    """Return a text for every token of a sequence from Python.

    It is the word if there is one, otherwise the first features, otherwise the number from 1.
    """
    if is_matrix(sequence):
        return [f"#{t}" for t in range(1, 1 + sequence.shape[0])]
    return [_word(token) or _shown(_names(token), t) for t, token in enumerate(sequence, 1)]


def attribute_words(attributes: Attributes) -> list[str]:
    """Return the words of all tokens whose features have names; "" where none of them is a word."""
    return [_named_word(_names_of(attributes, token)) for token in range(len(attributes))]


def shown_attributes(attributes: Attributes, lengths: Sequence[int]) -> list[str]:
    """Return a text for every token whose features have names, as `shown_tokens` does.

    Parameters
    ----------
    attributes : Attributes
        The features of all tokens.
    lengths : sequence of int
        The number of tokens of each sentence.
    """
    places = (t for length in lengths for t in range(1, 1 + length))
    found = []
    for token, t in enumerate(places):
        names = _names_of(attributes, token)
        found.append(_named_word(names) or _shown(names, t))
    return found


def _names_of(attributes: Attributes, token: int) -> list[str]:
    return attributes.names[attributes.ends[token] : attributes.ends[token + 1]]


def _word(token: Any) -> str:
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        held = (token.get(key) for key in _WORD_KEYS)
        return next((value for value in held if isinstance(value, str)), "")
    if isinstance(token, (list, tuple)) and token and isinstance(token[0], str):
        # Names of features, or the columns of a file.
        return _named_word([one for one in token if isinstance(one, str)]) or token[0]
    return ""


def _named_word(names: Sequence[str]) -> str:
    """Return the word that one of the names of features holds, as ``word=the`` does."""
    for key in _WORD_KEYS:
        for separator in _SEPARATORS:
            begin = key + separator
            for name in names:
                if name.startswith(begin) and len(name) > len(begin):
                    return name[len(begin) :]
    return ""


def _names(token: Any) -> list[str]:
    """Return the features of a token without a word as texts."""
    if isinstance(token, Mapping):
        return [str(key) if value is True else f"{key}={value}" for key, value in token.items()]
    listed = isinstance(token, Iterable) and not isinstance(token, (str, bytes))
    return [*map(str, token)] if listed else []


def _shown(names: Sequence[str], t: int) -> str:
    """Return the first names of features as one text; the number of the token if there are none."""
    text = ",".join(names[:_MOST_NAMES])
    if len(text) > _MOST_CHARACTERS:
        return f"{text[: _MOST_CHARACTERS - 3]}..."
    return (f"{text},..." if len(names) > _MOST_NAMES else text) or f"#{t}"
