"""Sentences with dependency trees, from a small grammar."""

from __future__ import annotations

import numpy as np

from partwise.errors import DataError
from partwise.formats.conll import Sentence

__all__ = ["dependency_trees", "parsed_sentence"]

_NOUNS, _VERBS = ("dog", "cat", "bird", "fish", "tree"), ("sees", "hears", "likes", "eats")
_ADJECTIVES, _PREPOSITIONS = ("old", "small", "red"), ("near", "with")


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
            self.add(str(rng.choice(_ADJECTIVES)), "A", "JJ", "amod")
            for _ in range(int(rng.integers(2)))
        ]
        noun = self.add(str(rng.choice(_NOUNS)), "N", "NN", deprel)
        self.hang([article, *adjectives], noun)
        if depth < 1 and rng.random() < 0.4:
            preposition = self.add(str(rng.choice(_PREPOSITIONS)), "P", "IN", "prep")
            self.hang([preposition], noun)
            self.hang([self.noun(rng, "pobj", depth + 1)], preposition)
        return noun

    def hang(self, words: list[int], head: int) -> None:
        for word in words:
            self.rows[word - 1][3] = head


def parsed_sentence(seed: int) -> Sentence:
    """Draw a sentence and its projective tree."""
    rng = np.random.default_rng(seed)
    words = _Words()
    subject = words.noun(rng, "subj")
    verb = words.add(str(rng.choice(_VERBS)), "V", "VB", "root")
    hanging = [subject]
    if rng.random() < 0.7:
        hanging.append(words.noun(rng, "obj"))
    hanging.append(words.add(".", "F", "SENT", "punct"))
    words.hang(hanging, verb)
    form, cpos, pos, head, deprel = (list(column) for column in zip(*words.rows, strict=True))
    return Sentence.from_columns(form, cpos=cpos, pos=pos, head=head, deprel=deprel)


def dependency_trees(n_sentences: int, seed: int = 0) -> list[Sentence]:
    """Draw sentences with projective dependency trees from a small grammar.

    They have a subject, a verb and often an object. Adjectives and prepositions hang on nouns, and
    a prepositional phrase hangs on the noun before it.

    Parameters
    ----------
    n_sentences : int
        The number of sentences.
    seed : int
        The seed of the random numbers. Train on one seed and test on another.

    Returns
    -------
    list of Sentence
        The sentences, with words, parts of speech, heads and relations.

    Examples
    --------
    >>> from partwise.datasets import dependency_trees
    >>> sentence = dependency_trees(1, seed=3)[0]
    >>> list(zip(sentence.form, sentence.head, sentence.deprel))[:3]
    [('the', 3, 'det'), ('small', 3, 'amod'), ('cat', 4, 'subj')]
    """
    if n_sentences < 1 or seed < 0:
        raise DataError(f"{n_sentences} sentences from seed {seed}: give at least 1, and seed >= 0")
    return [parsed_sentence(1000 * seed + i) for i in range(n_sentences)]
