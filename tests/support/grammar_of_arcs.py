"""A small grammar of dependencies, for tests: nouns, verbs, modifiers, punctuation."""

from __future__ import annotations

import numpy as np

from partwise.formats.conll import Sentence

NOUNS, VERBS = ("dog", "cat", "bird", "fish", "tree"), ("sees", "hears", "likes", "eats")
ADJECTIVES, PREPOSITIONS = ("old", "small", "red"), ("near", "with")


class _Words:
    """Words in order, each with the number of its head among them."""

    def __init__(self) -> None:
        self.rows: list[list[object]] = []

    def add(self, form: str, cpos: str, pos: str, deprel: str) -> int:
        self.rows.append([form, cpos, pos, 0, deprel])
        return len(self.rows)

    def noun(self, rng: np.random.Generator, deprel: str, depth: int = 0) -> int:
        article = self.add("the", "D", "DT", "det")
        adjectives = [
            self.add(str(rng.choice(ADJECTIVES)), "A", "JJ", "amod")
            for _ in range(int(rng.integers(2)))
        ]
        noun = self.add(str(rng.choice(NOUNS)), "N", "NN", deprel)
        self.hang([article, *adjectives], noun)
        if depth < 1 and rng.random() < 0.4:
            preposition = self.add(str(rng.choice(PREPOSITIONS)), "P", "IN", "prep")
            self.hang([preposition], noun)
            self.hang([self.noun(rng, "pobj", depth + 1)], preposition)
        return noun

    def hang(self, words: list[int], head: int) -> None:
        for word in words:
            self.rows[word - 1][3] = head


def parsed(seed: int) -> Sentence:
    """Make a sentence and its projective tree."""
    rng = np.random.default_rng(seed)
    words = _Words()
    subject = words.noun(rng, "subj")
    verb = words.add(str(rng.choice(VERBS)), "V", "VB", "root")
    hanging = [subject]
    if rng.random() < 0.7:
        hanging.append(words.noun(rng, "obj"))
    hanging.append(words.add(".", "F", "SENT", "punct"))
    words.hang(hanging, verb)
    form, cpos, pos, head, deprel = (list(column) for column in zip(*words.rows, strict=True))
    return Sentence.from_columns(form, cpos=cpos, pos=pos, head=head, deprel=deprel)


def treebank(n: int, seed: int = 0) -> list[Sentence]:
    """Make n sentences."""
    return [parsed(1000 * seed + i) for i in range(n)]


def crossing() -> Sentence:
    """Make a sentence whose tree is not projective: the last word belongs to the second."""
    return Sentence.from_columns(
        ["the", "dog", "sees", "old"],
        cpos=["D", "N", "V", "A"],
        pos=["DT", "NN", "VB", "JJ"],
        head=[2, 3, 0, 2],
        deprel=["det", "subj", "root", "amod"],
    )
