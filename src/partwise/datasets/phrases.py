"""Phrase-structure trees, from a small grammar."""

from __future__ import annotations

import numpy as np

from partwise.errors import DataError
from partwise.formats.tree import Tree

__all__ = ["phrase_trees"]

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
_WORDS = {
    "DT": "the a",
    "NN": "dog cat park telescope walk",
    "JJ": "old big red",
    "NNP": "Kim Sandy Robin",
    "VB": "sees walk thinks likes",
    "IN": "in with of",
    "CC": "and or",
    ".": ". !",
}


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
    if symbol in _WORDS:
        return Tree(symbol, word=str(rng.choice(_WORDS[symbol].split())))
    if depth > 8:
        return None
    ways, odds = zip(*_RULES[symbol], strict=True)
    children = [_draw(child, rng, depth + 1) for child in ways[rng.choice(len(ways), p=odds)]]
    if any(child is None for child in children):
        return None
    return Tree(symbol.rstrip("'"), tuple(child for child in children if child is not None))
