"""The form of examples that are rows of numbers, for structures of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..models.features import Inputs
from ..problem.rows import Rows
from .example_form import ExampleForm, Item
from .json_rows import RefusedInput, rows_of

__all__ = ["RowsForm"]


class RowsForm(ExampleForm):
    """Rows of numbers, for features of which nothing is known."""

    def reads(self) -> dict[str, Any]:
        kinds = self.model.structure.kinds
        about = (
            'an object of the "shape" of an example and the "rows" of its features: for each of '
            f"{', '.join(kinds)} a list with one list of numbers, or one object of the values that "
            "are not 0 by the number of their feature, counted from 1, per site"
        )
        return {"kind": "rows", "kinds": list(kinds), "about": about}

    def sample(self) -> dict[str, Any]:
        return {"features": self._smallest()}

    def _smallest(self) -> dict[str, Any]:
        """Return the features of a small example, of the first shape that the structure takes."""
        structure: Any = self.model.structure
        for shape in (2, [2, 2], 1, [1, 1]):
            try:
                topo = structure.topology(tuple(shape) if isinstance(shape, list) else shape)
                kinds = structure.sites(topo).kind
            except Exception:
                # Shapes of other structures may be anything.
                continue
            if np.max(shape) <= len(kinds):
                sites = np.bincount(kinds, minlength=len(structure.kinds)).tolist()
                rows: dict[str, Any] = {
                    kind: [{}] * n for kind, n in zip(structure.kinds, sites, strict=True)
                }
                return {"shape": shape, "rows": rows}
        return {"shape": 0, "rows": {kind: [] for kind in structure.kinds}}

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        features, place = given["features"], f"{where}.features"
        kinds = self.model.structure.kinds
        rows = features.get("rows") if isinstance(features, dict) else None
        if not isinstance(rows, dict) or "shape" not in features or rows.keys() != set(kinds):
            raise RefusedInput("wrong_input", f"{place} is not {self.reads()['about']}", place)
        size = sum(len(some) for some in rows.values() if isinstance(some, list))
        self.check_length(size, place)
        counts = self.model.layout.n_features
        made = [
            rows_of(rows[kind], n, f"{place}.rows.{kind}")
            for kind, n in zip(kinds, counts, strict=True)
        ]
        shape = self._shape(features["shape"], size, f"{place}.shape")
        try:
            topo = self.model.structure.topology(shape)
        except Exception as error:
            raise RefusedInput("wrong_input", f"{place}.shape: {error}", place) from None
        found = np.bincount(self.model.structure.sites(topo).kind, minlength=len(kinds))
        for kind, some, n in zip(kinds, made, found.tolist(), strict=True):
            if len(some) != n:
                raise RefusedInput(
                    "wrong_length", f"{len(some)} rows for {n} sites", f"{place}.rows.{kind}"
                )
        return Item((made, shape), [], size)

    @staticmethod
    def _shape(given: Any, size: int, where: str) -> Any:
        """Return the shape of an example: a number, or several."""
        numbers = given if isinstance(given, list) else [given]
        # The time and the memory of an example grow with its shape.
        if not all(type(number) is int and 0 <= number <= size for number in numbers):
            why = f"{where} is not a number, or a list of numbers, from 0 to the number of rows"
            raise RefusedInput("wrong_input", why, where)
        return tuple(given) if isinstance(given, list) else given

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        topo = self.model.structure.topology(item.example[1])
        parts = [
            {"kind": one.kind, "place": list(one.place), "label": one.label}
            for one in self.labels.elements(label, topo, ())
        ]
        return {"label": np.asarray(label).tolist(), "parts": parts}

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        best = [np.array(one["label"], dtype=np.int64) for one in answers]
        odds = np.exp(self.model.log_proba(examples.rows, examples.shapes, best))
        for one, p in zip(answers, odds.tolist(), strict=True):
            one["probability"] = min(p, 1.0)

    def joined(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        several = zip(*(item.example[0] for item in items), strict=True)
        rows = [Rows.stack(list(some)) for some in several]
        return Inputs(rows, [item.example[1] for item in items]), {}

    def program(self) -> tuple[list[str], str]:
        imports = ["from partwise.models.features import Inputs"]
        return imports, "examples = Inputs(rows, shapes)  # one Rows per kind of site"
