"""The form of phrase structure trees and of their sentences: elements, names, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from ...arrays import Ints
from ...formats.tree import Tree
from ...structures.grammar.constraints import allowed_spans, allowed_splits
from ..example_form import SENTENCE, TAGS, ExampleForm, FeatureNames, GivenText, Item, key_names
from ..hashed_text import NamesOfKeys
from ..label_form import Element, LabelForm, SlotNames, at, over
from ..sample_sentences import Sample, best_sample
from .bracketing import Bracketing
from .normal_form import symbol_class
from .tokens import SpanSentence, encode

__all__ = ["PhraseForm", "PhraseSentenceForm"]

#: The least probability of the phrases in answers with marginals.
_LEAST: Final = 0.001


class PhraseForm(LabelForm):
    """Derivations: words with their symbol, and phrases with their rule."""

    joining = frozenset({"rule", "root"})

    def elements(self, label: Ints, topo: Ints, words: Sequence[str]) -> list[Element]:
        parts = self.structure.node_parts(label, topo)
        found = []
        for symbol, start, end, _ in label.tolist():
            every = np.array(parts[start, end], dtype=np.int64)
            kind = "word" if end == start + 1 else "phrase"
            place = (start,) if kind == "word" else (start, end)
            text = " ".join(words[start:end])
            found.append(Element(kind, place, text, self.names[symbol], every, every[:1]))
        return found

    def instead(self, element: Element, label: Ints, words: Sequence[str]) -> str:
        start, end = element.place[0], element.place[-1]
        end = start + 1 if element.kind == "word" else end
        for symbol, first, last, _ in label.tolist():
            if (first, last) == (start, end):
                return str(self.names[symbol])
        return "no phrase"

    def where(self, kind: int, number: int, topo: Ints, words: Sequence[str]) -> str:
        named = self.structure.kinds[kind]
        if named == "word":
            return at(words, number)
        if named == "span":
            start, end = allowed_spans(topo)[number].tolist()
            return over(words, start, end)
        if named == "split" or (named == "rule" and self.structure.anchored):
            return "-".join(map(str, allowed_splits(topo)[number].tolist()))
        return ""

    def slots(self) -> list[SlotNames]:
        structure, symbols = self.structure, self.names
        classes = [""] * structure.n_classes
        # Spans are phrases: a class is named after a symbol that has rules.
        phrases = {rule[0] for rule in structure.rules}
        for symbol in sorted(range(len(symbols)), key=phrases.__contains__):
            classes[structure.classes[symbol]] = symbol_class(symbols[symbol])
        rules = [[symbols[a] for a in rule] for rule in structure.rules]
        texts = [f"{a} -> {b} {c}" for a, b, c in rules]
        return [
            SlotNames(([symbols[p] for p in structure.lexical],)),
            SlotNames((classes,)),
            SlotNames((("",) if structure.split else (),)),
            SlotNames((texts,), labels=(rules,)),
            SlotNames(([symbols[s] for s in structure.starts],)),
        ]


class PhraseSentenceForm(ExampleForm):
    """Sentences as words, with their tags if the model takes them."""

    view = "tree"
    field = "tokens"

    @cached_property
    def _tagged(self) -> bool:
        return bool(self.features.tagged)

    @property
    def reads_text(self) -> bool:
        return not self._tagged

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        super().names(given)
        kinds, tables = self.model.structure.kinds, self.features.features_of
        counts = self.model.layout.n_features
        return [
            key_names(tables[kind]) if kind in tables else FeatureNames(count, 0)
            for kind, count in zip(kinds, counts, strict=True)
        ]

    def given(self, examples: Any, more: Mapping[str, Any]) -> GivenText:
        read = self.features.read(self.model.structure, examples, **more)
        behind: dict[int, Any] = {}
        for kind, held in enumerate(self.features.features_of.values()):
            if held.n_hashed:
                tokens = partial(_keys, held)
                behind[kind] = NamesOfKeys(held, [partial(tokens, one) for one in read])
        return GivenText(read, [sentence.words for sentence in read], behind)

    def reads(self) -> dict[str, Any]:
        names = ["word", "tag"] if self._tagged else ["word"]
        about = "a pair of a word and its tag" if self._tagged else "a word"
        return {
            "kind": "columns",
            "columns": [{"name": name, "required": True} for name in names],
            "about": f"each token is {about}",
        }

    def sample(self) -> dict[str, Any]:
        words, tags = self.features.features_of["word"].vocabularies[:2]

        def known(sample: Sample) -> float:
            shares = [(words.find(sample.words) >= 0).mean()]
            if self._tagged:
                shares.append((tags.find(sample.tags) >= 0).mean())
            return float(np.mean(shares))

        best = best_sample(known)
        if not self._tagged:
            return {"text": " ".join(best.words)}
        return {"tokens": [list(pair) for pair in zip(*best, strict=True)]}

    def from_words(self, words: list[str]) -> Any:
        return SpanSentence(tuple(words))

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        tokens, place = given["tokens"], f"{where}.tokens"
        self.check_length(len(tokens), place)
        rows = self.token_columns(tokens, 2 if self._tagged else 1, place)
        words = [row[0] for row in rows]
        tags = tuple(row[1] for row in rows) if self._tagged else None
        return Item(SpanSentence(tuple(words), tags), words, len(words))

    def classes(self) -> list[Any]:
        return list(Bracketing.of(self.model).labels)

    def to_json(self, label: Tree, item: Item) -> dict[str, Any]:
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
        index = {name: k for k, name in enumerate(self.classes())}
        found = [
            min(float(table[one["start"], one["end"], index[one["label"]]]), 1.0)
            if one["label"] in index and "word" not in one
            else None
            for one in self.to_json(label, item)["nodes"]
        ]
        return {"probabilities": found}

    def marginals(self, table: Any, item: Item) -> Any:
        labels = self.classes()
        return [
            {"start": int(a), "end": int(b), "label": labels[k],
             "probability": min(float(table[a, b, k]), 1.0)}
            for a, b, k in np.argwhere(table >= _LEAST)
        ]  # fmt: skip

    def file(self) -> tuple[str, list[str]] | None:
        return "new.mrg", []

    def program(self) -> tuple[list[str], str]:
        pairs = [*zip(SENTENCE, TAGS, strict=True)] if self._tagged else [*SENTENCE]
        return [], f"examples = [{pairs!r}]"


def _keys(table: Any, sentence: Any) -> tuple[Ints, Ints]:
    found: tuple[Ints, Ints] = table.slot_keys(encode([sentence], table.vocabularies))
    return found
