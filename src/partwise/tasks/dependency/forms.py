"""The form of dependency trees and of their sentences: elements, names, JSON, an example of use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from ...arrays import Ints
from ...formats.conll import Sentence
from ...structures.dependency.arcs import arc_ends
from ..example_form import SENTENCE, TAGS, ExampleForm, FeatureNames, GivenText, Item, key_names
from ..hashed_text import NamesOfKeys
from ..json_rows import RefusedInput
from ..label_form import Element, LabelForm, SlotNames, at
from ..sample_sentences import Sample, best_sample
from .arc_table import ArcTable
from .features import arc_features_of
from .templates import COLUMNS
from .tokens import MARKS

__all__ = ["SentenceForm", "TreeForm"]

_ABSENT: Final = "_"
#: The columns that a client gives, and those that features are made of.
_GIVEN: Final = {
    "form": ("form", "prefix"), "lemma": ("lemma",), "cpos": ("cpos",), "pos": ("pos",),
    "feats": ("feats", "feat"),
}  # fmt: skip


class TreeForm(LabelForm):
    """Dependency trees: an arc per word."""

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        parts, _ = self.structure.encode(label, topo)
        found = []
        for t, (head, k) in enumerate(label.tolist()):
            text = words[t] if t < len(words) else ""
            named, own = self._arc(head, k, words), parts[t : t + 1]
            found.append(Element("arc", (t + 1, head), text, named, own, own))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        head, k = label[element.place[0] - 1].tolist()
        return self._arc(head, k, words)

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        heads, modifiers = arc_ends(int(topo[0]))
        return f"{_word(int(modifiers[number]), words)} <- {_word(int(heads[number]), words)}"

    def _arc(self, head: int, k: int, words: Sequence[str]) -> str:
        label = f"{self.names[k]} " if self.names else ""
        return f"{label}<- {_word(head, words)}"

    def slots(self) -> list[SlotNames]:
        return [SlotNames((self.names or ("",),))]


def _word(number: int, words: Sequence[str]) -> str:
    """Return a word by its number from 1; 0 is the root."""
    return "0 (root)" if number == 0 else at(words, number - 1, number)


class SentenceForm(ExampleForm):
    """Sentences as columns. Text is enough, but most models know more if tags are given."""

    view = "arcs"
    field = "tokens"

    @property
    def reads_text(self) -> bool:
        return True

    @property
    def _table(self) -> ArcTable:
        return arc_features_of(self.model).arc_table

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        super().names(given)
        return [key_names(self._table)]

    def given(self, examples: Any, more: Mapping[str, Any]) -> GivenText:
        read = self.features.read(self.model.structure, examples, **more)
        behind: dict[int, Any] = {}
        if self._table.n_hashed:
            keys = [partial(self._table.slot_keys, one) for one in read]
            behind[0] = NamesOfKeys(self._table, keys)
        return GivenText(read, [sentence.form for sentence in read], behind)

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

    def read(self, given: Mapping[str, Any], where: str) -> Item:
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
            about = self.reads()["about"]
            raise RefusedInput(
                "wrong_columns", f"{where} is not a word of this model; {about}", where
            )
        return {**dict.fromkeys(names, _ABSENT), **row}

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
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

    def file(self) -> tuple[str, list[str]] | None:
        return "new.conllu", []

    def program(self) -> tuple[list[str], str]:
        words = [{"form": w, "pos": t} for w, t in zip(SENTENCE, TAGS, strict=True)]
        return [], f"examples = [{words!r}]"
