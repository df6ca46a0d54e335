"""Segmenters: labelled ranges of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...metrics.labels import spans
from ...tasks.sequences.segment_features import scheme_of
from .base import Ask, Item
from .tokens import TokenExchange

__all__ = ["SegmentExchange"]


class SegmentExchange(TokenExchange):
    """Segmenters."""

    view = "spans"

    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        scheme = scheme_of(self.model)
        if scheme is None:
            return {"spans": [{"start": a, "end": b, "label": name} for a, b, name in label]}
        found = [
            {"start": one.start, "end": one.stop, "label": one.type} for one in spans(label, scheme)
        ]
        return {"labels": label, "spans": found}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        # Those of segments are filled in below: the table has those of positions.
        return {}

    def marginals(self, table: Any, item: Item) -> Any:
        return table.tolist()

    def answers(self, items: Sequence[Item], ask: Ask) -> list[dict[str, Any]]:
        found = super().answers(items, ask)
        if ask.probabilities:
            from ...tasks.sequences.segment_spans import segment_spans

            examples, more = self.given(items)
            for one, known in zip(found, segment_spans(self.model, examples, **more), strict=True):
                odds = {(each.start, each.end): each.probability for each in known}
                for span in one["spans"]:
                    span["probability"] = odds.get((span["start"], span["end"]))
        return found
