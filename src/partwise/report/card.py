"""A report as a model card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..pictures import plain_text
from . import document as doc
from .document import Block, Cell, Text
from .facts import Facts, Ratio
from .sections import document_of, interval

__all__ = ["model_card"]

#: What Markdown, or HTML within it, would act on in the middle of a line.
_ACTIVE: Final = re.compile(r"([\\`*_\[\]<>|~&$])")
_HEAD: Final = "---\nlibrary_name: partwise\ntags:\n- partwise\n- structured-prediction\n---"


def model_card(facts: Facts) -> str:
    """Return the card.

    Parameters
    ----------
    facts : Facts
        What it shows, see :func:`partwise.report.gather`.

    Returns
    -------
    str
        The card, in Markdown.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import tagged_text
    >>> from partwise.report import model_card, report
    >>> tagger = SequenceTagger().fit(tagged_text(40, seed=1))
    >>> facts = report(tagger, tagged_text(20, seed=2), output=None)
    >>> card = model_card(facts)
    >>> [line for line in card.splitlines() if line.startswith("## ")][:3]
    ['## Data', '## Objective and certificate', '## Scores']
    """
    document = document_of(facts)
    parts = [_HEAD, f"# {_plain(document.title)}", _plain(document.lead)]
    figures: list[Text] = [
        (f"{what}: {number}", f" ({more})" if more else "")
        for what, number, more in document.figures
    ]
    parts.append(_bullets(figures))
    for section in document.sections:
        parts += [f"## {_plain(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case doc.Paragraph():
                yield _text(block.text)
            case doc.Heading():
                yield f"{'#' * block.level} {_text(block.text)}"
            case doc.Definitions():
                yield _bullets([(name, ": ", value) for name, value in block.rows])
            case doc.Bullets():
                yield _bullets(block.items)
            case doc.Table():
                yield _text(block.caption)
                yield _table(block)
            case doc.Program():
                yield _program(block)
            case doc.Group():
                yield from _blocks(block.blocks)
            case doc.Either():
                yield from _blocks(block.card)


def _table(table: doc.Table) -> str:
    kept = [at for at, (_, kind) in enumerate(table.heads) if kind != "drawn"]
    lines = [[_text(table.heads[at][0], True) for at in kept], ["---"] * len(kept)]
    lines += [[_cell(row[at]) for at in kept] for row in table.rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _cell(cell: Cell) -> str:
    match cell:
        case Ratio():
            return f"{100 * cell.value:.1f} ({interval(cell)})"
        case doc.Shade():
            return cell.text
        case str() | doc.Mark() | doc.Items() | doc.Bullets() | tuple():
            return _text(cell, True)
    return ""


def _bullets(items: Sequence[Text]) -> str:
    # A list within a text has lines of its own already.
    lines = ("- " + _text(item).replace("\n", "\n  ") for item in items)
    return "\n".join(lines).replace(" \n", "\n")


def _text(text: Text, in_table: bool = False) -> str:
    match text:
        case str():
            return _plain(text)
        case doc.Mark(kind="em"):
            return f"*{_plain(text.text)}*"
        case doc.Mark(kind="strong"):
            return f"**{_plain(text.text)}**"
        case doc.Mark():
            return _code(text.text, in_table)
        case doc.Items():
            return ", ".join(_text(item, in_table) for item in text.items)
        case doc.Bullets():
            return "\n" + _bullets(text.items)
    return "".join(_text(piece, in_table) for piece in text)


def _plain(text: str) -> str:
    """Return text that Markdown takes as it is."""
    return _ACTIVE.sub(r"\\\1", re.sub(r"\s+", " ", plain_text(text)))


def _code(text: str, in_table: bool) -> str:
    """Return text as code, with a fence that is longer than any in it."""
    flat = " ".join(plain_text(text).split())
    fence = "`" * (_longest(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    found = f"{fence}{pad}{flat}{pad}{fence}" if flat else "*nothing*"
    # A bar ends the cell of a table, even within code.
    return found.replace("|", "\\|") if in_table else found


def _program(program: doc.Program) -> str:
    fence = "`" * max(3, _longest(program.text) + 1)
    return f"{fence}{program.language}\n{plain_text(program.text)}\n{fence}"


def _longest(text: str) -> int:
    """Return the length of the longest fence in a text."""
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
