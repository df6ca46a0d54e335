"""Explanations and weights as HTML for notebooks.

Everything that comes from data or a model file is escaped. Styles are written at their elements and
take the colours of the page, with transparent green and red on top, so that the tables can be read
on light and on dark pages; signs tell the two apart where colours do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from .text import facts, largest, place_and_label, shown

if TYPE_CHECKING:
    from .explanation import Contribution, Difference, Explanation, Part
    from .weights import WeightTable

__all__ = ["explanation_html", "weights_html"]

#: How many contributions of a part are shown.
_MOST: Final = 20
_TABLE: Final = (
    "border-collapse: collapse; font-size: small; margin: 0.3em 0 0.8em 1.2em; color: inherit;"
)
_CELL: Final = "text-align: left; padding: 0.1em 0.8em 0.1em 0.3em; border: none; color: inherit;"
_NUMBER: Final = (
    "text-align: right; padding: 0.1em 0.3em 0.1em 0.8em; border: none; color: inherit; "
    "font-variant-numeric: tabular-nums;"
)
_GREEN, _RED = "0, 128, 0", "200, 0, 0"


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation as HTML: one table per part, which can be folded."""
    head = f"<b>{_text(explanation.task)}</b>, {_text(explanation.loss)} loss"
    if explanation.score is None:
        body = "no label is possible, so there is no score to explain"
        return f'<div class="partwise-explanation"><p>{head}: {body}</p></div>'
    head += f", score {explanation.score:.6g}"
    if explanation.probability is not None:
        head += f", probability {explanation.probability:.4f}"
    parts = "".join(map(_part, explanation.parts))
    return f'<div class="partwise-explanation"><p>{head}</p>{parts}</div>'


def _part(part: Part) -> str:
    told = _text(", ".join(facts(part)))
    title = f"{_text(part.title)}: <b>{_text(part.label)}</b> ({told})"
    body = _table(
        "contributions to the score",
        ("contribution", "feature", "kind", "label", "value", "weight"),
        _contributions(part.contributions),
    )
    if part.runner_up is not None and part.runner_up.differences:
        body += _table(
            f"why not {part.runner_up.label}",
            ("difference", "feature", "kind", "label", "value", "weight"),
            _differences(part.runner_up.differences),
        )
    return f"<details><summary>{title}</summary>{body}</details>"


def _contributions(items: Sequence[Contribution]) -> list[tuple[float, str]]:
    chosen, n, total = largest(items, _MOST)
    found = [(one.product, _row(one, one.kind, one.label)) for one in chosen]
    return found + [_others(n, total)] * (n > 0)


def _differences(items: Sequence[Difference]) -> list[tuple[float, str]]:
    chosen, n, total = largest(items, _MOST)
    found = [(one.product, _row(one, *place_and_label(one))) for one in chosen]
    return found + [_others(n, total)] * (n > 0)


def _row(one: Contribution | Difference, kind: str, label: str) -> str:
    numbers = [f"{one.value:.4g}", f"{one.weight:+.4f}"]
    return _cells([one.feature, kind, label]) + _cells(numbers, _NUMBER)


def _others(n: int, total: float) -> tuple[float, str]:
    return total, _cells([f"{n} more", "", ""]) + _cells(["", ""], _NUMBER)


def weights_html(table: WeightTable) -> str:
    """Return a table of weights as HTML."""
    heads = ["weight", "feature", "label", "kind"] + ["count"] * table.counted
    rows = []
    for row in table:
        cells = _cells([row.feature, row.label, row.kind])
        if table.counted:
            cells += _cells(["" if row.count is None else f"{row.count:,}"], _NUMBER)
        rows.append((row.weight, cells))
    caption = f"{len(table):,} of {table.total:,} weights"
    return f'<div class="partwise-weights">{_table(caption, heads, rows)}</div>'


def _table(caption: str, heads: Sequence[str], rows: Iterable[tuple[float, str]]) -> str:
    """Return a table whose first column is a number with a bar behind it."""
    listed = list(rows)
    most = max((abs(number) for number, _ in listed), default=0.0) or 1.0
    top = "".join(f'<th scope="col" style="{_CELL}">{_text(head)}</th>' for head in heads)
    body = "".join(f"<tr>{_bar(number, most)}{cells}</tr>" for number, cells in listed)
    return (
        f'<table style="{_TABLE}"><caption style="text-align: left; color: inherit;">'
        f"{_text(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def _bar(number: float, most: float) -> str:
    colour = _GREEN if number > 0.0 else _RED
    strength = 0.1 + 0.3 * min(abs(number) / most, 1.0)
    style = f"{_NUMBER} background: rgba({colour}, {strength:.2f});"
    return f'<td style="{style}">{number:+.4f}</td>'


def _cells(texts: Sequence[str], style: str = _CELL) -> str:
    return "".join(f'<td style="{style}">{_text(text)}</td>' for text in texts)


def _text(text: str) -> str:
    return escape(shown(text), quote=True)
