"""Neutral sentences to try a model on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

__all__ = ["Sample", "best_sample"]


class Sample(NamedTuple):
    """A sentence, and the tags of its words."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


def _sample(words: str, tags: str) -> Sample:
    return Sample(tuple(words.split()), tuple(tags.split()))


_UNIVERSAL: Final = "DET ADJ NOUN VERB DET NOUN ADP DET NOUN PUNCT"
#: The first is in the tags of the Penn Treebank, the others are in universal tags.
_SAMPLES: Final = (
    _sample("The new report says the company paid $ 5 million in London last year .",
            "DT JJ NN VBZ DT NN VBD $ CD CD IN NNP JJ NN ."),
    _sample("The new teacher reads a book in the garden .", _UNIVERSAL),
    _sample("De nieuwe burgemeester van Amsterdam leest een boek in de tuin .",
            "DET ADJ NOUN ADP PROPN VERB DET NOUN ADP DET NOUN PUNCT"),
    _sample("El presidente de España lee un libro en la casa .",
            "DET NOUN ADP PROPN VERB DET NOUN ADP DET NOUN PUNCT"),
    _sample("Der neue Lehrer liest ein Buch in dem Garten .", _UNIVERSAL),
    _sample("Le nouveau maire lit un livre dans le jardin .", _UNIVERSAL),
)  # fmt: skip


def best_sample(known: Callable[[Sample], float], own: Sequence[str] = ()) -> Sample:
    """Return the sentence of which a model knows most.

    Parameters
    ----------
    known : callable
        Returns how much the model knows of a sentence, at most 1.
    own : sequence of str
        Words that the model surely knows, for when it knows less than half of any sentence.
    """
    shares = [known(sample) for sample in _SAMPLES]
    best = max(shares)
    if best < 0.5 and own:
        words = tuple(own[:8])
        return Sample(words, ("_",) * len(words))
    return _SAMPLES[shares.index(best)]
