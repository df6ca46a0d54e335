"""Dependency parsers: a head for every word."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

from ...formats.conll import Sentence
from ...tasks.dependency.arc_table import ArcTable
from ...tasks.dependency.features import arc_features_of
from ...tasks.dependency.templates import COLUMNS
from ...tasks.dependency.tokens import MARKS
from ..faults import Fault
from .base import Exchange, Item
from .samples import Sample, best_sample

__all__ = ["ArcExchange"]

_ABSENT: Final = "_"
#: The columns that a client gives, and those that features are made of.
_GIVEN: Final = {
    "form": ("form", "prefix"), "lemma": ("lemma",), "cpos": ("cpos",), "pos": ("pos",),
    "feats": ("feats", "feat"),
}  # fmt: skip


class ArcExchange(Exchange):
    """Dependency parsers. Text is enough, but most models know more if tags are given."""

    view = "arcs"

    @property
    def reads_text(self) -> bool:
        return True

    @property
    def _table(self) -> ArcTable:
        return arc_features_of(self.model).arc_table

    @cached_property
    def _columns(self) -> list[str]:
        """The columns that the model looks at."""
        seen = {COLUMNS[c] for c in self._table.plan.atom_column.tolist()}
        known = {
            name for name, held in zip(COLUMNS, self._table.vocabularies, strict=True) if len(held)
        }
        used = seen & known
        return [name for name, made in _GIVEN.items() if name == "form" or used & set(made)]

    def reads(self) -> dict[str, Any]:
        names = self._columns
        others = f" (it also looks at {', '.join(names[1:])})" if len(names) > 1 else ""
        return {
            "kind": "columns",
            "columns": [{"name": name, "required": name == "form"} for name in names],
            "about": f"each token is a word, a list of {', '.join(names)}, or an object of them"
            + others,
        }

    def sample(self) -> dict[str, Any]:
        forms = self._table.vocabularies[COLUMNS.index("form")]
        own = list(forms.names[:12])

        def known(sample: Sample) -> float:
            return float((forms.find(sample.words) >= 0).mean())

        words = best_sample(known, own).words
        fields = {name: self._usual(words, name) for name in self._columns[1:]}
        if not any(value != _ABSENT for values in fields.values() for value in values):
            return {"text": " ".join(words)}
        rows = zip(words, *fields.values(), strict=True)
        return {"tokens": [list(row) for row in rows]}

    def _usual(self, words: tuple[str, ...], column: str) -> list[str]:
        """Return a value of a column for each word, with which the word was seen in training."""
        table = self._table
        found = [_ABSENT] * len(words)
        if table.n_hashed:
            return found
        wanted = {"m.form", f"m.{column}"}
        place = next(
            (t for t, text in enumerate(table.templates) if set(text.split()) == wanted), None
        )
        if place is None:
            return found
        forms, values = (table.vocabularies[COLUMNS.index(name)] for name in ("form", column))
        _, first, last = place, *np.searchsorted(table.keys >> 56, [place, place + 1])
        codes, _ = table.values(place, table.keys[first:last])
        numbers = forms.find(words)
        for t, number in enumerate(numbers.tolist()):
            rows = np.flatnonzero(codes["m.form"] == number + len(MARKS))
            if number >= 0 and len(rows):
                found[t] = values.names[int(codes[f"m.{column}"][rows[0]]) - len(MARKS)]
        return found

    def from_words(self, words: list[str]) -> Any:
        return Sentence.from_columns(words)

    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        tokens, place = given["tokens"], f"{where}.tokens"
        self.check_length(len(tokens), place)
        rows = [self._row(token, f"{place}[{t}]") for t, token in enumerate(tokens)]
        columns = {
            name: [row[name] for row in rows] for name in _GIVEN if any(name in row for row in rows)
        }
        words = columns.pop("form")
        return Item(Sentence.from_columns(words, **columns), words, len(words))

    def _row(self, token: Any, where: str) -> dict[str, str]:
        """Return the columns of a word by name; those that are not given are absent."""
        names = self._columns
        if isinstance(token, str):
            row = {"form": token}
        elif isinstance(token, list) and 1 <= len(token) <= len(names):
            row = dict(zip(names, token, strict=False))
        elif isinstance(token, dict) and "form" in token and token.keys() <= _GIVEN.keys():
            row = dict(token)
        else:
            row = {}
        if not row or not all(isinstance(value, str) for value in row.values()):
            raise Fault(
                422, "wrong_columns",
                f"{where} is not a word of this model; {self.reads()['about']}", where,
            )  # fmt: skip
        return {**dict.fromkeys(names, _ABSENT), **row}

    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        if not self.model.labels:
            return {"heads": label, "relations": None}
        heads, relations = zip(*label, strict=True) if label else ((), ())
        return {"heads": list(heads), "relations": list(relations)}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        if not self.model.labels:
            odds = [min(float(table[t, head]), 1.0) for t, head in enumerate(label)]
            return {"probabilities": odds}
        index = self.model.label_index
        whole = [
            min(float(table[t, head, index[name]]), 1.0) for t, (head, name) in enumerate(label)
        ]
        heads = [min(float(table[t, head].sum()), 1.0) for t, (head, _) in enumerate(label)]
        return {"probabilities": whole, "head_probabilities": heads}

    def marginals(self, table: Any, item: Item) -> Any:
        return (table.sum(axis=2) if self.model.labels else table).tolist()
