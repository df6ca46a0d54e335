"""The attributes of CRFsuite's chunking tutorial, for the columns word, part of speech, label."""

from __future__ import annotations

from collections.abc import Sequence

# (column name, offsets): the values at the offsets joined by "|" make one attribute.
TEMPLATES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("w", (-2,)),
    ("w", (-1,)),
    ("w", (0,)),
    ("w", (1,)),
    ("w", (2,)),
    ("w", (-1, 0)),
    ("w", (0, 1)),
    ("pos", (-2,)),
    ("pos", (-1,)),
    ("pos", (0,)),
    ("pos", (1,)),
    ("pos", (2,)),
    ("pos", (-2, -1)),
    ("pos", (-1, 0)),
    ("pos", (0, 1)),
    ("pos", (1, 2)),
    ("pos", (-2, -1, 0)),
    ("pos", (-1, 0, 1)),
    ("pos", (0, 1, 2)),
)
_COLUMN = {"w": 0, "pos": 1}
_NAMES = tuple(
    ("|".join(f"{name}[{offset}]" for offset in offsets) + "=", _COLUMN[name], offsets)
    for name, offsets in TEMPLATES
)


def chunking_attributes(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Return the attributes of each token, without those that reach outside the sentence."""
    n = len(rows)
    result: list[list[str]] = []
    for t in range(n):
        attributes = [
            name + "|".join(rows[t + offset][column] for offset in offsets)
            for name, column, offsets in _NAMES
            if t + offsets[0] >= 0 and t + offsets[-1] < n
        ]
        if t == 0:
            attributes.append("__BOS__")
        if t == n - 1:
            attributes.append("__EOS__")
        result.append(attributes)
    return result
