"""The form of the rows of classifiers, and of their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...problem.rows import Rows, is_matrix
from ..example_form import Item
from ..json_rows import RefusedInput, dense_row, row_of, sparse_row
from ..label_form import LabelForm
from .sources import Table
from .token_form import TokenForm

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["RowForm", "form_of_positions"]

#: How many features the sample of a classifier has.
_SHOWN: Final = 6


def form_of_positions(model: Model, labels: LabelForm, *longest: int) -> TokenForm:
    """Return the form of examples with features of positions: rows for classifiers, or tokens."""
    kind = RowForm if model.structure.name == "multiclass" else TokenForm
    return kind(model, labels, *longest)


class RowForm(TokenForm):
    """Rows of features, one per example, for classifiers."""

    view = "label"
    field = "features"

    def _source(self, examples: Any, lengths: Any, steps: Any) -> Any:
        if is_matrix(examples):
            return Table(examples.tocsr() if hasattr(examples, "tocsr") else np.asarray(examples))
        return super()._source(examples, lengths, steps)

    @property
    def reads_text(self) -> bool:
        return False

    @property
    def _is_named(self) -> bool:
        return self.positions.vocabulary is not None

    @cached_property
    def columns(self) -> list[str] | None:
        """The numbers of the features, counted as clients do."""
        if self._is_named or self.positions.n_hashed or self.positions.support is not None:
            return None
        return [str(i) for i in range(1, self.positions.n_inputs + 1)]

    def reads(self) -> dict[str, Any]:
        if self._is_named:
            return {
                "kind": "named",
                "about": 'named features: {"colour": "red", "size": 3}, or a list of names',
            }
        n = self.positions.n_inputs
        return {
            "kind": "numbered",
            "n_features": n,
            "about": f"a list of {n:,} numbers, or the values that are not 0 by the number of "
            'their feature, counted from 1 as in svmlight files: {"3": 1.5}',
        }

    def sample(self) -> dict[str, Any]:
        names = self.positions.vocabulary
        weights, n = self.model.weights, self.positions.n_features
        width = self.model.structure.n_labels
        strong = np.arange(min(n, _SHOWN))
        if len(weights) >= n * width and not self.positions.n_hashed:
            sizes = np.abs(weights[: n * width].reshape(n, width)).max(axis=1)
            strong = np.sort(np.argsort(-sizes, kind="stable")[:_SHOWN])
        if names is not None:
            known = [] if names.hashed else [names.names[i] for i in strong]
            return {"features": known or ["bias"]}
        return {"features": {str(i + 1): 1 for i in strong.tolist()}}

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        features, place = given["features"], f"{where}.features"
        self.check_length(len(features), place)
        if self._is_named:
            return Item([features], [], len(features))
        # Features with hashed numbers may have any.
        n = None if self.positions.n_hashed else self.positions.n_inputs
        if isinstance(features, list):
            if n is not None and len(features) != n:
                raise RefusedInput(
                    "wrong_length",
                    f"{len(features):,} numbers where the model has {n:,} features; give all of "
                    "them, or an object of those that are not 0",
                    place,
                )
            return Item(dense_row(features, place), [], len(features))
        return Item(sparse_row(features, n, place), [], len(features))

    def joined(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        if self._is_named:
            return [item.example for item in items], {}
        # Numbers that are hashed may be larger than those of the training data.
        ends = (
            int(numbers[-1]) + 1 for item in items for numbers in item.example[:1] if len(numbers)
        )
        width = max(self.positions.n_inputs, *ends, 0)
        rows = [row_of(item.example[0], item.example[1], width) for item in items]
        return Table(Rows.stack(rows) if len(rows) > 1 else rows[0]), {}

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        return {"label": label}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        return {"probability": float(table[0, self.model.label_index[label]])}

    def marginals(self, table: Any, item: Item) -> Any:
        pairs = zip(self.model.labels, table[0].tolist(), strict=True)
        return [{"label": label, "probability": p} for label, p in pairs]

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        return

    def file(self) -> tuple[str, list[str]] | None:
        return "new.svm", []

    def program(self) -> tuple[list[str], str]:
        n = self.positions.n_inputs
        return [], f"examples = numpy.zeros((1, {n}))  # one row per example"
