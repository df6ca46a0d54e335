"""Dependency and phrase-structure trees, each from a small grammar."""

from __future__ import annotations

import numpy as np

from partwise.errors import DataError
from partwise.formats.conll import Sentence
from partwise.formats.tree import Tree

__all__ = ["dependency_trees", "parsed_sentence", "phrase_trees"]

_NOUNS, _VERBS = ("dog", "cat", "bird", "fish", "tree"), ("sees", "hears", "likes", "eats")
_ADJECTIVES, _PREPOSITIONS = ("old", "small", "red"), ("near", "with")

#: For each symbol, what it can be made of, and how often.
_RULES: dict[str, list[tuple[tuple[str, ...], float]]] = {
    "S": [(("NP", "VP", "."), 0.9), (("VP", "."), 0.1)],
    "NP": [
        (("DT", "NN"), 0.35),
        (("DT", "JJ", "NN"), 0.15),
        (("NNP",), 0.25),
        (("NP", "PP"), 0.2),
        (("NP", "CC", "NP"), 0.05),
    ],
    "VP": [(("VB", "NP"), 0.5), (("VB",), 0.2), (("VB", "NP", "PP"), 0.2), (("VB", "SBAR"), 0.1)],
    "PP": [(("IN", "NP"), 1.0)],
    "SBAR": [(("S'",), 1.0)],
    "S'": [(("NP", "VP"), 1.0)],
}
#: The words of each part of speech.
_LEAVES = {
    "DT": "the a",
    "NN": "dog cat park telescope walk",
    "JJ": "old big red",
    "NNP": "Kim Sandy Robin",
    "VB": "sees walk thinks likes",
    "IN": "in with of",
    "CC": "and or",
    ".": ". !",
}


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


def phrase_trees(n_trees: int, seed: int = 0, longest: int = 14) -> list[Tree]:
    """Draw phrase-structure trees from a small grammar.

    Prepositional phrases hang on nouns or on verbs, so that sentences are ambiguous.

    Parameters
    ----------
    n_trees : int
        The number of trees.
    seed : int
        The seed of the random numbers. Train on one seed and test on another.
    longest : int
        The largest number of words of a tree.

    Returns
    -------
    list of Tree
        The trees.

    Examples
    --------
    >>> from partwise.datasets import phrase_trees
    >>> print(phrase_trees(1, seed=7)[0])
    (S (NP (DT a) (NN walk)) (VP (VB sees) (NP (NNP Robin))) (. .))
    """
    if n_trees < 1 or seed < 0 or longest < 2:
        raise DataError(
            f"{n_trees} trees of up to {longest} words from seed {seed}: give at least 1 tree, 2 "
            "words, and seed >= 0"
        )
    rng = np.random.default_rng(seed)
    trees: list[Tree] = []
    while len(trees) < n_trees:
        tree = _draw("S", rng, 0)
        if tree is not None and len(tree.leaves()) <= longest:
            trees.append(tree)
    return trees


def _draw(symbol: str, rng: np.random.Generator, depth: int) -> Tree | None:
    if symbol in _LEAVES:
        return Tree(symbol, word=str(rng.choice(_LEAVES[symbol].split())))
    if depth > 8:
        return None
    ways, odds = zip(*_RULES[symbol], strict=True)
    children = [_draw(child, rng, depth + 1) for child in ways[rng.choice(len(ways), p=odds)]]
    if any(child is None for child in children):
        return None
    return Tree(symbol.rstrip("'"), tuple(child for child in children if child is not None))
