"""Constituency parsers: a tree over the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...formats.tree import Tree
from ...tasks.constituency.bracketing import Bracketing
from ...tasks.constituency.features import SpanFeatures
from ...tasks.constituency.tokens import SpanSentence
from ..faults import Fault
from .base import Exchange, Item
from .samples import Sample, best_sample

__all__ = ["PhraseExchange"]

#: The least probability of the phrases in answers with marginals.
_LEAST: Final = 0.001


class PhraseExchange(Exchange):
    """Constituency parsers."""

    view = "tree"

    @property
    def _features(self) -> SpanFeatures:
        features = self.model.features
        assert isinstance(features, SpanFeatures)
        return features

    @property
    def reads_text(self) -> bool:
        return not self._features.tagged

    def reads(self) -> dict[str, Any]:
        tagged = self._features.tagged
        names = ["word", "tag"] if tagged else ["word"]
        about = "each token is a pair of a word and its tag" if tagged else "each token is a word"
        return {
            "kind": "columns",
            "columns": [{"name": name, "required": True} for name in names],
            "about": about,
        }

    def labels(self) -> list[Any]:
        return list(Bracketing.of(self.model).labels)

    def sample(self) -> dict[str, Any]:
        words, tags = self._features.features_of["word"].vocabularies[:2]
        tagged = self._features.tagged

        def known(sample: Sample) -> float:
            shares = [(words.find(sample.words) >= 0).mean()]
            if tagged:
                shares.append((tags.find(sample.tags) >= 0).mean())
            return float(np.mean(shares))

        best = best_sample(known)
        if not tagged:
            return {"text": " ".join(best.words)}
        return {"tokens": [list(pair) for pair in zip(*best, strict=True)]}

    def from_words(self, words: list[str]) -> Any:
        return SpanSentence(tuple(words))

    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        tokens, place = given["tokens"], f"{where}.tokens"
        self.check_length(len(tokens), place)
        width = 2 if self._features.tagged else 1
        rows = []
        for t, token in enumerate(tokens):
            values = [token] if isinstance(token, str) else token
            fits = isinstance(values, list) and len(values) == width
            if not fits or not all(isinstance(value, str) for value in values):
                raise Fault(
                    422, "wrong_columns",
                    f"{place}[{t}] is not a token of this model; {self.reads()['about']}",
                    f"{place}[{t}]",
                )  # fmt: skip
            rows.append(values)
        words = [row[0] for row in rows]
        tags = tuple(row[1] for row in rows) if width == 2 else None
        return Item(SpanSentence(tuple(words), tags), words, len(words))

    def shown(self, label: Tree, item: Item) -> dict[str, Any]:
        nodes: list[dict[str, Any]] = []
        stack: list[tuple[Tree, int | None]] = [(label, None)]
        at = 0
        while stack:
            node, parent = stack.pop()
            number = len(nodes)
            nodes.append({"label": node.label, "start": at, "end": at, "parent": parent})
            if node.word is not None:
                at += 1
                nodes[number]["end"] = at
                nodes[number]["word"] = True
            stack.extend((child, number) for child in reversed(node.children))
        # Children come after their parents.
        for one in reversed(nodes):
            if one["parent"] is not None:
                above = nodes[one["parent"]]
                above["end"] = max(above["end"], one["end"])
        return {"tree": str(label), "nodes": nodes}

    def odds(self, table: Any, label: Tree, item: Item) -> dict[str, Any]:
        index = {name: k for k, name in enumerate(self.labels())}
        found = [
            min(float(table[one["start"], one["end"], index[one["label"]]]), 1.0)
            if one["label"] in index and "word" not in one
            else None
            for one in self.shown(label, item)["nodes"]
        ]
        return {"probabilities": found}

    def marginals(self, table: Any, item: Item) -> Any:
        labels = self.labels()
        return [
            {"start": int(a), "end": int(b), "label": labels[k],
             "probability": min(float(table[a, b, k]), 1.0)}
            for a, b, k in np.argwhere(table >= _LEAST)
        ]  # fmt: skip
