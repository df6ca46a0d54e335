"""Tagged text from a small grammar."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from partwise.errors import DataError
from partwise.formats.columns import Columns, write_columns

__all__ = ["tagged_text", "write"]

_Token = tuple[str, str, str]
_Draw = Callable[[], float]


def _words(text: str) -> list[str]:
    return text.split()


_ONSETS = _words("b c d f g h l m n p r s t v w br ch cl cr dr fl gr pl pr sh st th tr")
_VOWELS = _words("a e i o u a e i o ai ea ee oo ou")
_CODAS = ["", "", "", *_words("l m n r s t d ck nd nt rk st")]
_BLOCK = 1 << 14
# The language does not depend on the caller's seed: train on one seed and test on another.
_LEXICON_SEED = 1914

_VERBS_OF_SPEECH = _words("said told asked answered argued promised claimed insisted")
_VERBS_OF_TRADE = _words("bought sold acquired financed owned sued merged launched")
_VERBS_OF_TRAVEL = _words("visited left reached toured entered crossed")
_PLACE_PREPOSITIONS = _words("in at near from across")
_OTHER_PREPOSITIONS = _words("of with for by about under after during against on")
_LONG_PREPOSITIONS = [("because", "of"), ("instead", "of"), ("according", "to"), ("out", "of")]
_TITLES = _words("Mr. Mrs. Dr. President Professor Judge")
_FIRMS = _words("Corp. Inc. Bank Group Motors Partners")
_PLACES = _words("River Valley County Island City Hills")
_MODALS = _words("will would can could may should must")
_DEGREE = _words("very quite rather almost too")
_TYPES = _words("NP VP PP ADVP PER LOC ORG")
_DAYS = _words("Monday Tuesday Friday yesterday today")


def _draws(seed: int) -> _Draw:
    """Return a function that draws uniform numbers, in blocks because single draws are slow."""
    generator = np.random.Generator(np.random.PCG64(seed))

    def stream() -> Iterator[float]:
        while True:
            yield from generator.random(_BLOCK).tolist()

    return stream().__next__


class _Lexicon:
    """The open word classes; some words are in several classes, and names of all kinds overlap."""

    def __init__(self) -> None:
        draw = _draws(_LEXICON_SEED)
        stems = self._stems(draw, 2600)
        # Stems 700 to 999 are nouns and verbs, 1300 to 1449 are verbs and adjectives.
        nouns, verbs, adjectives = stems[:1000], stems[700:1450], stems[1300:1750]
        self.singular = nouns
        self.plural = [stem + "s" for stem in nouns]
        self.base = verbs
        self.third = [stem + "s" for stem in verbs]
        self.past = [stem + "ed" for stem in verbs]
        self.gerund = [stem + "ing" for stem in verbs]
        # Gerunds and participles also serve as adjectives: "the losing side".
        self.adjective = [*adjectives, *self.gerund[:60], *self.past[:60]]
        self.adverb = [stem + "ly" for stem in adjectives[:200]]
        names = [stem.capitalize() for stem in stems[1750:]]
        # A surname may be a town, and a town may be a firm: most names are of several kinds.
        self.names = {"PER": names[:650], "LOC": names[100:750], "ORG": names[200:850]}

    @staticmethod
    def _stems(draw: _Draw, number: int) -> list[str]:
        stems: dict[str, None] = {}
        while len(stems) < number:
            stems[_syllables(draw)] = None
        return list(stems)


def _syllables(draw: _Draw) -> str:
    """Build a word of one to three syllables."""
    parts = []
    for _ in range(1 + int(draw() * 2.3)):
        parts.append(_ONSETS[int(draw() * len(_ONSETS))])
        parts.append(_VOWELS[int(draw() * len(_VOWELS))])
    parts.append(_CODAS[int(draw() * len(_CODAS))])
    return "".join(parts)


@lru_cache(maxsize=1)
def _lexicon() -> _Lexicon:
    return _Lexicon()


class _Grammar:
    """Generates one sentence at a time, as a list of (word, part of speech, label)."""

    def __init__(self, draw: _Draw) -> None:
        self.draw = draw
        self.words = _lexicon()
        self.tokens: list[_Token] = []

    def sentence(self) -> list[_Token]:
        self.tokens = []
        if self.draw() < 0.2:
            self.place_phrase()
            self.add(",", ",", "O")
        self.clause(depth=0)
        if self.draw() < 0.5:
            if self.draw() < 0.6:
                self.add(",", ",", "O")
            self.add(self.pick(["and", "but"]), "CC", "O")
            self.clause(depth=0)
        if self.draw() < 0.25:
            day = self.pick(_DAYS)
            self.chunk("NP", [(day, "NNP" if day[0].isupper() else "NN")])
        self.add(".", ".", "O")
        first = self.tokens[0]
        self.tokens[0] = (first[0][0].upper() + first[0][1:], first[1], first[2])
        return self.tokens

    def pick(self, words: list[str], skew: int = 1) -> str:
        """Pick a word; the larger `skew` is, the more often it comes from the front of the list."""
        part = self.draw()
        at = part
        # Products and not a power: a power may differ in its last bit from machine to machine.
        for _ in range(skew - 1):
            at *= part
        return words[int(len(words) * at)]

    def common(self, words: list[str], ending: str = "") -> str:
        """Pick an open-class word: a few words are frequent, and one in 25 is new."""
        if self.draw() < 0.04:
            return _syllables(self.draw) + ending
        return self.pick(words, skew=3)

    def add(self, word: str, tag: str, label: str) -> None:
        self.tokens.append((word, tag, label))

    def chunk(self, kind: str, words: list[tuple[str, str]]) -> None:
        if self.draw() < 0.015:
            # An annotator's slip: the span is right and its type is not.
            kind = self.pick(_TYPES)
        for place, (word, tag) in enumerate(words):
            self.tokens.append((word, tag, ("I-" if place else "B-") + kind))

    def clause(self, depth: int) -> None:
        """Add a subject and a predicate.

        The verb agrees with the head noun, which may be several tokens away.
        """
        if self.draw() < 0.35:
            self.name_clause()
            return
        plural = self.noun_phrase()
        if self.draw() < 0.25:
            self.prepositional_phrase()
        if depth == 0 and self.draw() < 0.15:
            self.chunk("NP", [(self.pick(["that", "which", "who"]), "WDT")])
            if self.draw() < 0.5:
                self.verb_phrase(plural)
            else:
                self.clause(depth + 1)
        self.verb_phrase(plural)
        self.complement()

    def name_clause(self) -> None:
        """Add a clause about names.

        Only the verb shows of which kind the names are, and it may be several tokens away.
        """
        kind, verbs = ("PER", _VERBS_OF_SPEECH) if self.draw() < 0.55 else ("ORG", _VERBS_OF_TRADE)
        self.name(kind)
        if self.draw() < 0.3:
            self.add(self.pick(["and", "or"]), "CC", "O")
            self.name(kind)
        verb = [(self.pick(verbs), "VBD")]
        if self.draw() < 0.3:
            verb.insert(0, (self.common(self.words.adverb, "ly"), "RB"))
        if self.draw() < 0.15:
            verb = [(self.pick(_VERBS_OF_TRAVEL), "VBD")]
            self.chunk("VP", verb)
            self.name("LOC")
            return
        self.chunk("VP", verb)
        if kind == "ORG" and self.draw() < 0.5:
            self.name("ORG")
        else:
            self.complement()

    def name(self, kind: str) -> None:
        """Add a name of up to five words; only its first or last word may show its kind."""
        words = [self.proper(kind)]
        while len(words) < 4 and self.draw() < 0.45:
            words.append(self.proper(kind))
        if self.draw() < 0.35:
            if kind == "PER":
                words.insert(0, self.pick(_TITLES))
            else:
                words.append(self.pick(_FIRMS if kind == "ORG" else _PLACES))
        self.chunk(kind, [(word, "NNP") for word in words])

    def proper(self, kind: str) -> str:
        if self.draw() < 0.1:
            return _syllables(self.draw).capitalize()
        return self.pick(self.words.names[kind], skew=2)

    def noun_phrase(self) -> bool:
        """Add a noun phrase and return whether its head is plural."""
        w = self.words
        plural = self.draw() < 0.4
        words: list[tuple[str, str]] = []
        roll = self.draw()
        if roll < 0.12:
            pronouns = ["they", "we"] if plural else ["he", "she", "it"]
            self.chunk("NP", [(self.pick(pronouns), "PRP")])
            return plural
        if roll < 0.65:
            determiners = ["the", "these", "some"] if plural else ["the", "a", "this"]
            words.append((self.pick(determiners), "DT"))
        elif roll < 0.75:
            words.append((str(2 + int(self.draw() * 900)), "CD"))
            plural = True
        else:
            plural = True
        while self.draw() < 0.3:
            words.append((self.common(w.adjective), "JJ"))
        if self.draw() < 0.2:
            words.append((self.common(w.singular), "NN"))
        words.append(
            (self.common(w.plural, "s"), "NNS") if plural else (self.common(w.singular), "NN")
        )
        roll = self.draw()
        if plural and roll < 0.15:
            # Two bare plurals share one phrase; a determiner after the conjunction would separate
            # them.
            words.extend([("and", "CC"), (self.common(w.plural, "s"), "NNS")])
        self.chunk("NP", words)
        if roll > 0.94:
            self.add("and", "CC", "O")
            self.noun_phrase()
            plural = True
        return plural

    def verb_phrase(self, plural: bool) -> None:
        w = self.words
        roll = self.draw()
        if roll < 0.3:
            words = [(self.common(w.past, "ed"), "VBD")]
        elif roll < 0.55:
            words = [(self.common(w.base), "VBP") if plural else (self.common(w.third, "s"), "VBZ")]
        elif roll < 0.75:
            words = [(self.pick(_MODALS), "MD"), (self.common(w.base), "VB")]
        elif roll < 0.9:
            words = [
                ("are", "VBP") if plural else ("is", "VBZ"),
                (self.common(w.gerund, "ing"), "VBG"),
            ]
        else:
            words = [
                ("have", "VBP") if plural else ("has", "VBZ"),
                (self.common(w.past, "ed"), "VBN"),
            ]
        roll = self.draw()
        if roll < 0.12:
            words.insert(len(words) - 1, (self.common(w.adverb, "ly"), "RB"))
        if roll > 0.88:
            words.extend([("to", "TO"), (self.common(w.base), "VB")])
        self.chunk("VP", words)

    def complement(self) -> None:
        roll = self.draw()
        if roll < 0.65:
            self.noun_phrase()
            if roll < 0.1:
                self.noun_phrase()
        elif roll < 0.75:
            self.add("that", "IN", "O")
            self.clause(depth=1)
        if self.draw() < 0.4:
            self.prepositional_phrase()
        if self.draw() < 0.15:
            words = [(self.common(self.words.adverb, "ly"), "RB")]
            if self.draw() < 0.4:
                words.insert(0, (self.pick(_DEGREE), "RB"))
            self.chunk("ADVP", words)

    def prepositional_phrase(self) -> None:
        if self.draw() < 0.35:
            self.place_phrase()
            return
        if self.draw() < 0.1:
            first, second = _LONG_PREPOSITIONS[int(self.draw() * len(_LONG_PREPOSITIONS))]
            self.chunk("PP", [(first, "IN"), (second, "IN")])
        else:
            self.chunk("PP", [(self.pick(_OTHER_PREPOSITIONS), "IN")])
        if self.draw() < 0.2:
            self.name("PER" if self.draw() < 0.5 else "ORG")
        else:
            self.noun_phrase()

    def place_phrase(self) -> None:
        self.chunk("PP", [(self.pick(_PLACE_PREPOSITIONS), "IN")])
        if self.draw() < 0.75:
            self.name("LOC")
        else:
            self.noun_phrase()


# Tags that an automatic tagger would confuse.
_CONFUSED = {
    "NN": "VB", "VB": "NN", "NNS": "VBZ", "VBZ": "NNS", "VBP": "NN", "VBD": "VBN", "VBN": "JJ",
    "VBG": "NN", "JJ": "NN", "NNP": "NN", "RB": "JJ", "WDT": "IN",
}  # fmt: skip


def tagged_text(n_sentences: int, seed: int = 0) -> Columns:
    """Generate English-like sentences with words, parts of speech and chunk labels.

    The sentences are drawn from a small probabilistic grammar. There are 15 labels: ``O``, and
    ``B-`` and ``I-`` of NP, VP, PP, ADVP, PER, LOC and ORG. Words are ambiguous, names of people,
    places and firms overlap so that their neighbours must decide, one open-class word in 25 is new,
    and some tags and span types are wrong. The language is the same for all seeds: train on one
    seed and test on another.

    Parameters
    ----------
    n_sentences
        The number of sentences; they have about 18 tokens each.
    seed
        The seed of the random numbers. The same seed gives the same text on every machine.

    Returns
    -------
    Columns
        Two input columns (word, part of speech) and labels.

    Examples
    --------
    >>> from partwise.datasets import tagged_text
    >>> text = tagged_text(2, seed=1)
    >>> text.fields[0][:3], text.labels[:3]
    (['Viss', 'greflea', 'some'], ['B-NP', 'B-VP', 'B-NP'])
    """
    if n_sentences < 1 or seed < 0:
        raise DataError(f"{n_sentences} sentences from seed {seed}: give at least 1, and seed >= 0")
    draw = _draws(seed)
    grammar = _Grammar(draw)
    fields: tuple[list[str], list[str]] = ([], [])
    labels: list[str] = []
    lengths = []
    for _ in range(n_sentences):
        tokens = grammar.sentence()
        lengths.append(len(tokens))
        for word, tag, label in tokens:
            fields[0].append(word)
            fields[1].append(_CONFUSED.get(tag, tag) if draw() < 0.1 else tag)
            labels.append(label)
    sizes = np.array(lengths, np.int64)
    # One blank line after every sentence, as `write` puts it.
    lines = np.arange(1, len(labels) + 1) + np.repeat(np.arange(n_sentences), sizes)
    return Columns(f"tagged text, seed {seed}", fields, labels, sizes, lines.astype(np.int64))


def write(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write tokens to a column file; ``"-"`` is standard output and ``.gz`` is gzipped.

    Parameters
    ----------
    columns : Columns
        The tokens, as :func:`partwise.datasets.tagged_text` returns them.
    path : str or path-like
        The file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.datasets import tagged_text, write
    >>> write(tagged_text(2, seed=1), "text.txt")
    >>> Path("text.txt").read_text().splitlines()[0]
    'Viss NNS B-NP'
    """
    write_columns(path, columns)
