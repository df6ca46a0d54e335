"""A report as plain data: sections of paragraphs, tables, lists and drawings.

`sections` makes the document of some facts; `page` writes it as HTML and `card` as Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .facts import Ratio

if TYPE_CHECKING:
    from ..pictures import Chart
    from ..tasks.comparison import Quote

__all__ = [
    "Bar", "Block", "Bullets", "Cell", "Definitions", "Document", "Drawing", "Either", "Figure",
    "Group", "Heading", "Interval", "Items", "Mark", "Paragraph", "Program", "Section", "Shade",
    "Table", "Text", "code", "label",
]  # fmt: skip


# Texts


@dataclass(frozen=True)
class Mark:
    """A text that stands out: "code", "label", "strong" or "em"."""

    text: str
    kind: str


@dataclass(frozen=True)
class Items:
    """Several short texts one after the other."""

    items: Sequence[Text]


@dataclass(frozen=True)
class Bullets:
    """A list, also one within a text or in another list."""

    items: Sequence[Text]


#: A text, or some that follow each other.
Text: TypeAlias = str | Mark | Items | Bullets | tuple["Text", ...]


def code(text: str) -> Mark:
    """Return a text that is set as code."""
    return Mark(text, "code")


def label(text: object) -> Mark:
    """Return a label as it is written in files; the empty label is "nothing", in italics."""
    return Mark("nothing", "em") if text == "" else Mark(str(text), "label")


# Cells of tables


@dataclass(frozen=True)
class Bar:
    """A number as a bar, of which `most` is the longest."""

    value: float
    most: float


@dataclass(frozen=True)
class Interval:
    """A score and its interval on a line from 0 to 1."""

    ratio: Ratio


@dataclass(frozen=True)
class Shade:
    """A number with a background: "same", "zero" or "shade-1" to "shade-9"."""

    text: str
    kind: str


#: A score stands with its interval; bars and intervals are drawings, beside the numbers they draw.
Cell: TypeAlias = Text | Ratio | Bar | Interval | Shade


# Blocks


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a "note" warns, and "which" says in small letters what is what."""

    text: Text
    kind: str | None = None


@dataclass(frozen=True)
class Heading:
    """A heading within a section, of the third level or below."""

    text: Text
    level: int = 3


@dataclass(frozen=True)
class Definitions:
    """Names and what they stand for."""

    rows: Sequence[tuple[Text, Text]]


@dataclass(frozen=True)
class Table:
    """A table whose first column holds the headings of the rows.

    Attributes
    ----------
    caption
        What it shows.
    heads : sequence of (text, kind)
        The headings of the columns. The kind is "n" for numbers, "f" for names of features, "drawn"
        for drawings, or "".
    rows : sequence of sequences
        The cells.
    kind : str or None
        What it looks like: "matrix" or None.
    name : str or None
        What the box is called that it scrolls in; the caption if None.
    """

    caption: Text
    heads: Sequence[tuple[Text, str]]
    rows: Sequence[Sequence[Cell]]
    kind: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Program:
    """Lines to be copied, in a language."""

    text: str
    language: str
    name: str


@dataclass(frozen=True)
class Figure:
    """A chart."""

    chart: Chart


@dataclass(frozen=True)
class Drawing:
    """The predicted and the right label of an example; labels have the colours of the report."""

    quote: Quote
    colours: Mapping[str, int]


@dataclass(frozen=True)
class Group:
    """Blocks that stand together: "figures", "grid", "grid wide", "example" or None."""

    blocks: Sequence[Block]
    kind: str | None = None


@dataclass(frozen=True)
class Either:
    """What a page shows, and what a card has instead, where drawings and details have no room."""

    page: Sequence[Block]
    card: Sequence[Block] = ()


Block: TypeAlias = (
    Paragraph
    | Heading
    | Definitions
    | Bullets
    | Table
    | Program
    | Figure
    | Drawing
    | Group
    | Either
)


@dataclass(frozen=True)
class Section:
    """A section, with its name in links, a short title and the whole one."""

    name: str
    short: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Document:
    """A report.

    Attributes
    ----------
    title : str
        What it is about.
    lead : str
        All of it in a few sentences.
    figures : sequence of (str, str, str)
        The most important numbers: what each is, the number, and a few words more.
    sections : sequence of Section
        The rest.
    version : str
        The version of partwise.
    """

    title: str
    lead: str
    figures: Sequence[tuple[str, str, str]]
    sections: Sequence[Section]
    version: str
