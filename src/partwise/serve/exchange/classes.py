"""Classifiers: features to one label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...problem.rows import Rows
from ...tasks.sequences.features import PositionFeatures
from ...tasks.sequences.sources import Table
from ..faults import Fault
from .base import Exchange, Item
from .numbers import dense_row, row_of, sparse_row

__all__ = ["ClassExchange"]

_SHOWN = 6


class ClassExchange(Exchange):
    """Classifiers."""

    field = "features"
    view = "label"

    @property
    def _features(self) -> PositionFeatures:
        features = self.model.features
        assert isinstance(features, PositionFeatures)
        return features

    @property
    def _named(self) -> bool:
        return self._features.vocabulary is not None

    @cached_property
    def feature_names(self) -> list[str] | None:
        """The numbers of the features, counted as clients do."""
        if self._named or self._features.n_hashed or self._features.support is not None:
            return None
        return [str(i) for i in range(1, self._features.n_inputs + 1)]

    def reads(self) -> dict[str, Any]:
        if self._named:
            return {
                "kind": "named",
                "about": 'named features: {"colour": "red", "size": 3}, or a list of names',
            }
        n = self._features.n_inputs
        return {
            "kind": "numbered",
            "n_features": n,
            "about": f"a list of {n:,} numbers, or the values that are not 0 by the number of "
            'their feature, counted from 1 as in svmlight files: {"3": 1.5}',
        }

    def sample(self) -> dict[str, Any]:
        names = self._features.vocabulary
        weights, n = self.model.weights, self._features.n_features
        width = self.model.structure.n_labels
        strong = np.arange(min(n, _SHOWN))
        if len(weights) >= n * width and not self._features.n_hashed:
            sizes = np.abs(weights[: n * width].reshape(n, width)).max(axis=1)
            strong = np.sort(np.argsort(-sizes, kind="stable")[:_SHOWN])
        if names is not None:
            known = [] if names.hashed else [names.names[i] for i in strong]
            return {"features": known or ["bias"]}
        return {"features": {str(i + 1): 1 for i in strong.tolist()}}

    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        features, place = given["features"], f"{where}.features"
        self.check_length(len(features), place)
        if self._named:
            return Item([features], [], len(features))
        # Features with hashed numbers may have any.
        n = None if self._features.n_hashed else self._features.n_inputs
        if isinstance(features, list):
            if n is not None and len(features) != n:
                raise Fault(
                    422, "wrong_length",
                    f"{len(features):,} numbers where the model has {n:,} features; give all of "
                    "them, or an object of those that are not 0",
                    place,
                )  # fmt: skip
            return Item(dense_row(features, place), [], len(features))
        return Item(sparse_row(features, n, place), [], len(features))

    def given(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        if self._named:
            return [item.example for item in items], {}
        # Numbers that are hashed may be larger than those of the training data.
        ends = (
            int(numbers[-1]) + 1 for item in items for numbers in item.example[:1] if len(numbers)
        )
        width = max(self._features.n_inputs, *ends, 0)
        rows = [row_of(item.example[0], item.example[1], width) for item in items]
        return Table(Rows.stack(rows) if len(rows) > 1 else rows[0]), {}

    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        return {"label": label}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        return {"probability": float(table[0, self.model.label_index[label]])}

    def marginals(self, table: Any, item: Item) -> Any:
        pairs = zip(self.model.labels, table[0].tolist(), strict=True)
        return [{"label": label, "probability": p} for label, p in pairs]
