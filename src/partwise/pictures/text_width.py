"""The width of a text, estimated: no font is at hand where a drawing is made."""

from __future__ import annotations

import unicodedata
from typing import Final

__all__ = ["text_width"]

#: Widths of the characters from the blank to ~ in Helvetica, in thousandths of the size.
_ASCII: Final = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
#: Other fonts are wider than Helvetica, the widest common one by this much.
_ROOM: Final = 1.14


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, rather too much than too little."""
    return sum(map(_character, text)) * size * _ROOM / 1000.0


def _character(character: str) -> int:
    place = ord(character) - 32
    if 0 <= place < len(_ASCII):
        return _ASCII[place]
    if unicodedata.combining(character):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" else 620
