"""What feature templates of every kind become: looks at columns, and recipes for names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = ["Item", "Look", "Plan", "Recipe"]


class Look(NamedTuple):
    """One way to look at an input column.

    Attributes
    ----------
    column
        The input column, counted from 0.
    derive
        What is derived from a field; None is the field itself. If the result is None, a token has
        no feature.
    """

    column: int
    derive: Callable[[str], str | None] | None = None


class Item(NamedTuple):
    """One look at one token.

    Attributes
    ----------
    look
        The number of the look.
    offset
        The place of the token, counted from the origin.
    origin
        The current token, the first token of the sentence, or the place after its last token.
    """

    look: int
    offset: int
    origin: Literal["token", "first", "end"] = "token"


class Recipe(NamedTuple):
    """One template: texts, and between each two of them an item.

    Attributes
    ----------
    texts
        The fixed parts of the name, one more than there are items.
    items
        What stands between them.
    """

    texts: tuple[str, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Plan:
    """What features tokens have, in terms of the columns around them.

    Attributes
    ----------
    looks
        The ways to look at the columns.
    recipes
        The templates.
    outside
        What fields are outside of a sentence: for the first, second, ... token before it, and the
        same after it; the last one is for all that are farther away. If None, a template that looks
        outside gives no feature.
    finish
        Brings a name into its final form, if it is not None.
    edges
        Whether the first token of a sentence gets ``__BOS__`` and the last ``__EOS__``.
    steps
        Whether the features belong to pairs of neighbouring tokens. They are then made at the
        second one of each pair, so that the first token of a sentence has none.
    """

    looks: tuple[Look, ...]
    recipes: tuple[Recipe, ...]
    outside: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    finish: Callable[[str], str] | None = None
    edges: bool = False
    steps: bool = False
