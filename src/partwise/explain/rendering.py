"""Explanations and weights as text for a terminal, and as HTML for notebooks.

In HTML, everything that comes from data or a model file is escaped. Styles are written at their
elements and take the colours of the page, with transparent green and red on top, so that the tables
can be read on light and on dark pages; signs tell the two apart where colours do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from .explanation import Contribution, Difference, Explanation, Part

if TYPE_CHECKING:
    from .weights import WeightTable

__all__ = ["explanation_html", "explanation_text", "shown", "weights_html", "weights_text"]


#: What is listed, each with the product of its value and its weight.
_Items: TypeAlias = Sequence[Contribution] | Sequence[Difference]


def shown(text: str) -> str:
    """Return a text on one line, with characters that a terminal would act on written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _facts(part: Part) -> list[str]:
    """Return the score, the probability and the margin of a part in words."""
    found = [f"score {part.score:.4g}"]
    if part.probability is not None:
        found.append(f"probability {part.probability:.4f}")
    if part.runner_up is not None:
        found.append(f"margin {part.runner_up.margin:.4g} to {shown(part.runner_up.label)}")
    return found


def explanation_text(explanation: Explanation, top: int | None) -> str:
    """Return an explanation as text; see `Explanation.to_text`."""
    head = f"{explanation.task}, {explanation.loss} loss"
    if explanation.score is None:
        return f"{head}: no label is possible, so there is no score to explain"
    head += f": score {explanation.score:.6g}"
    if explanation.probability is not None:
        head += f", probability {explanation.probability:.4f}"
    lines = [head]
    for part in explanation.parts:
        title, label = shown(part.title), shown(part.label)
        lines += ["", f"{title}: {label}  ({', '.join(_facts(part))})"]
        lines += _listed(part.contributions, top)
        if part.runner_up is not None and part.runner_up.differences:
            lines.append(f"  instead of {shown(part.runner_up.label)}:")
            lines += _listed(part.runner_up.differences, top)
    return "\n".join(lines)


def _largest(items: _Items, top: int | None) -> tuple[list[Contribution | Difference], int, float]:
    """Return the largest items, positive ones first, and how many others there are with their sum.

    Parameters
    ----------
    items : sequence of Contribution or of Difference
        The items.
    top : int or None
        How many to return; None returns all.
    """
    listed: list[Contribution | Difference] = [*items]
    ordered = sorted(listed, key=lambda one: -abs(one.product))
    chosen = ordered if top is None else ordered[:top]
    rest = ordered[len(chosen) :]
    return sorted(chosen, key=lambda one: -one.product), len(rest), sum(o.product for o in rest)


def _listed(items: _Items, top: int | None) -> list[str]:
    chosen, n, total = _largest(items, top)
    return [*map(_line, chosen)] + [f"    {total:+10.4f}  {n} more"] * (n > 0)


def _kind_and_label(one: Contribution | Difference) -> tuple[str, str]:
    """Return what an item is for in words: of a difference, also its place and both labels."""
    if isinstance(one, Contribution):
        return one.kind, one.label
    label = f"{one.label}, not {one.instead}" if one.label and one.instead else one.label
    return f"{one.kind} {one.where}".rstrip(), label or f"{one.instead}, in the runner-up"


def _line(one: Contribution | Difference) -> str:
    factors = "" if one.value == 1.0 else f"  = {one.value:.4g} x {one.weight:.4g}"
    what = " ".join(_kind_and_label(one)).strip()
    return f"    {one.product:+10.4f}  {shown(one.feature)}  [{shown(what)}]{factors}"


def weights_text(table: WeightTable) -> str:
    """Return a table of weights as text."""
    rows = [("feature", "label", "kind", "weight", *(("count",) if table.counted else ()))]
    for row in table:
        count = () if not table.counted else ("" if row.count is None else f"{row.count:,}",)
        rows.append((shown(row.feature), shown(row.label), row.kind, f"{row.weight:+.4f}", *count))
    lines = _columns(rows)
    lines.append(f"{len(table):,} of {table.total:,} weights")
    return "\n".join(lines)


def _columns(rows: Iterable[Sequence[str]]) -> list[str]:
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    aligned = []
    for row in listed:
        cells = [cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True)]
        cells += [cell.rjust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
        aligned.append("  ".join(cells).rstrip())
    return aligned


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
    told = _text(", ".join(_facts(part)))
    title = f"{_text(part.title)}: <b>{_text(part.label)}</b> ({told})"
    body = _table(
        "contributions to the score",
        ("contribution", "feature", "kind", "label", "value", "weight"),
        _rows(part.contributions),
    )
    if part.runner_up is not None and part.runner_up.differences:
        body += _table(
            f"why not {part.runner_up.label}",
            ("difference", "feature", "kind", "label", "value", "weight"),
            _rows(part.runner_up.differences),
        )
    return f"<details><summary>{title}</summary>{body}</details>"


def _rows(items: _Items) -> list[tuple[float, str]]:
    chosen, n, total = _largest(items, _MOST)
    found = []
    for one in chosen:
        numbers = [f"{one.value:.4g}", f"{one.weight:+.4f}"]
        cells = _cells([one.feature, *_kind_and_label(one)]) + _cells(numbers, _NUMBER)
        found.append((one.product, cells))
    others = _cells([f"{n} more", "", ""]) + _cells(["", ""], _NUMBER)
    return found + [(total, others)] * (n > 0)


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
