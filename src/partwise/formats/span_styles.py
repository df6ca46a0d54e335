"""How spaCy, Prodigy and doccano write the spans of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from partwise.errors import DataError
from partwise.formats.json_records import first_object

__all__ = ["EXAMPLES", "STYLES", "TOKENIZERS", "SpanStyle", "signs", "tokenizer_of"]


@dataclass(frozen=True)
class SpanStyle:
    """How a program writes spans.

    Attributes
    ----------
    keys : tuple of str
        The keys that spans may stand under; the first one is used for new files.
    names : tuple of str
        The keys of start, end and label, where spans are objects.
    objects : bool
        Whether new spans are objects and not lists of three.
    """

    keys: tuple[str, ...]
    names: tuple[str, str, str] = ("start", "end", "label")
    objects: bool = False


#: The styles by the name of the format.
STYLES: Final = {
    "spacy": SpanStyle(("entities",)),
    "prodigy": SpanStyle(("spans",), objects=True),
    "doccano": SpanStyle(("label", "labels", "entities"), ("start_offset", "end_offset", "label")),
}

#: One line of each style.
EXAMPLES: Final = {
    "spacy": '{"text": "Ann ran", "entities": [[0, 3, "PER"]]}',
    "prodigy": '{"text": "Ann ran", "spans": [{"start": 0, "end": 3, "label": "PER"}]}',
    "doccano": '{"text": "Ann ran", "label": [[0, 3, "PER"]]}',
}


def signs(style: str, lines: Sequence[str]) -> str | None:
    """Say why some lines look like a style; None if they do not."""
    value = first_object(lines)
    if value is None or not isinstance(value.get("text"), str):
        return None
    keys = [key for key in STYLES[style].keys if isinstance(value.get(key), list)]
    if style == "doccano" and keys == ["entities"]:
        keys = keys if any(isinstance(one, dict) for one in value["entities"]) else []
    elif style == "spacy" and keys and any(isinstance(one, dict) for one in value["entities"]):
        keys = []
    unknown = not any(key in value for one in STYLES.values() for key in one.keys)
    if not keys and not unknown:
        return None
    return "the first line is an object with a text" + (f" and {keys[0]}" if keys else "")


#: The patterns of a token. None can match in two ways, so that the time is linear in the text.
TOKENIZERS: Final = {
    "words": re.compile(r"\w+|[^\w\s]"),
    "compounds": re.compile(
        r"[^\W_]+(?:(?:['\u2019\-]|(?<=\d)[.,:/](?=\d))[^\W_]+)*|\.+|[^\w\s]|_+"
    ),
    "blanks": re.compile(r"\S+"),
}


def tokenizer_of(name: str | None) -> re.Pattern[str]:
    """Return the pattern of a token.

    Parameters
    ----------
    name : {"words", "compounds", "blanks"} or None
        "words" are runs of letters, digits and underscores, and single other characters.
        "compounds" keep apostrophes and hyphens inside of words (``don't``, ``well-kept``),
        separators between digits (``1,000.5``, ``3/4``) and runs of dots. "blanks" are what stands
        between white space. None is "words".
    """
    if name is not None and name not in TOKENIZERS:
        raise DataError(f"unknown tokenizer {name!r}; use one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name or "words"]
