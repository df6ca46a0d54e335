"""Taggers: one label per token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ...metrics.labels import looks_like_spans, spans
from .base import Ask, Item
from .tokens import TokenExchange

__all__ = ["TagExchange"]


class TagExchange(TokenExchange):
    """Taggers. Labels such as B-NP and I-NP are also answered as spans."""

    @property
    def view(self) -> str:  # type: ignore[override]
        """How the page shows a label."""
        return "spans" if self._spelling else "tags"

    @cached_property
    def _spelling(self) -> bool:
        labels = [label for label in self.model.labels if isinstance(label, str)]
        return len(labels) == len(self.model.labels) and looks_like_spans(labels)

    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        if not self._spelling:
            return {"labels": label}
        found = [
            {"start": one.start, "end": one.stop, "label": one.type}
            for one in spans(label, "conlleval")
        ]
        return {"labels": label, "spans": found}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        index = self.model.label_index
        return {"probabilities": [float(table[t, index[one]]) for t, one in enumerate(label)]}

    def marginals(self, table: Any, item: Item) -> Any:
        return table.tolist()

    def answers(self, items: Sequence[Item], ask: Ask) -> list[dict[str, Any]]:
        found = super().answers(items, ask)
        if ask.probabilities and self._spelling and any(one["spans"] for one in found):
            from ...tasks.sequences.tag_spans import span_probabilities

            examples, more = self.given(items)
            for one, known in zip(
                found, span_probabilities(self.model, examples, **more), strict=True
            ):
                odds = {(each.start, each.end, each.label): each.probability for each in known}
                for span in one["spans"]:
                    span["probability"] = odds.get((span["start"], span["end"], span["label"]))
        return found
