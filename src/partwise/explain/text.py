"""Explanations and weights as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from .explanation import Contribution, Difference, Explanation, Part

if TYPE_CHECKING:
    from .weights import WeightTable

__all__ = ["explanation_text", "facts", "largest", "place_and_label", "shown", "weights_text"]

_Item = TypeVar("_Item", Contribution, Difference)


def shown(text: str) -> str:
    """Return a text on one line, with characters that a terminal would act on written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def facts(part: Part) -> list[str]:
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
        lines += ["", f"{title}: {label}  ({', '.join(facts(part))})"]
        lines += _listed(part.contributions, top, _contribution)
        if part.runner_up is not None and part.runner_up.differences:
            lines.append(f"  instead of {shown(part.runner_up.label)}:")
            lines += _listed(part.runner_up.differences, top, _difference)
    return "\n".join(lines)


def largest(items: Sequence[_Item], top: int | None) -> tuple[list[_Item], int, float]:
    """Return the largest items, positive ones first, and how many others there are with their sum.

    Parameters
    ----------
    items : sequence of Contribution or of Difference
        The items.
    top : int or None
        How many to return; None returns all.
    """
    ordered = sorted(items, key=lambda one: -abs(one.product))
    chosen = ordered if top is None else ordered[:top]
    rest = ordered[len(chosen) :]
    return sorted(chosen, key=lambda one: -one.product), len(rest), sum(o.product for o in rest)


def _listed(items: Sequence[_Item], top: int | None, line: Callable[[_Item], str]) -> list[str]:
    chosen, n, total = largest(items, top)
    return [line(one) for one in chosen] + [f"    {total:+10.4f}  {n} more"] * (n > 0)


def _contribution(one: Contribution) -> str:
    return _line(one.product, one.feature, one.kind, one.label, one.value, one.weight)


def place_and_label(one: Difference) -> tuple[str, str]:
    """Return the kind and place of a difference, and its two labels, in words."""
    label = f"{one.label}, not {one.instead}" if one.label and one.instead else one.label
    return f"{one.kind} {one.where}".rstrip(), label or f"{one.instead}, in the runner-up"


def _difference(one: Difference) -> str:
    where, label = place_and_label(one)
    return _line(one.product, one.feature, where, label, one.value, one.weight)


def _line(product: float, feature: str, kind: str, label: str, value: float, weight: float) -> str:
    factors = "" if value == 1.0 else f"  = {value:.4g} x {weight:.4g}"
    what = f"{kind} {label}".strip()
    return f"    {product:+10.4f}  {shown(feature)}  [{shown(what)}]{factors}"


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
