"""Features of the words, spans and splits of a sentence, as compact rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from ...arrays import Ints
from ...errors import ModelFileError
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from .templates import LENGTHS, PLACES, TEMPLATE_SHIFT, Template, read_templates
from .tokens import MARKS, Places, SpanTokens, places_of

__all__ = ["SITE_PLACES", "SpanTable"]

#: Sites whose keys are held at a time.
_CHUNK: Final = 1 << 16

#: The places that the sites of each kind have.
SITE_PLACES: Final = {"word": ("first",), "span": ("first", "last"), "split": PLACES}


@dataclass(frozen=True, eq=False)
class SpanTable:
    """Which features the sites of one kind have, and their numbers.

    Made by `fit`. A feature is an exact key: the number of its template and the codes of its
    values. Nothing in here needs the compiler.

    Attributes
    ----------
    kind
        "word", "span" or "split".
    templates
        What to look at; see `partwise.tasks.constituency.templates`.
    vocabularies
        The values that were seen in training, one vocabulary per column.
    keys
        The features, sorted; the place of a key is its number.
    """

    kind: str
    templates: tuple[str, ...]
    vocabularies: tuple[Vocabulary, ...]
    keys: Ints
    _atoms: tuple[Template, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare the templates, and refuse those that cannot be read."""
        n_codes = [len(vocabulary) + len(MARKS) for vocabulary in self.vocabularies]
        atoms = read_templates(self.templates, n_codes, SITE_PLACES[self.kind])
        object.__setattr__(self, "_atoms", atoms)

    @classmethod
    def fit(
        cls,
        kind: str,
        templates: Sequence[str],
        vocabularies: tuple[Vocabulary, ...],
        tokens: SpanTokens,
        gold: Places,
        min_count: int,
    ) -> SpanTable:
        """Collect the features of the sites that are in the right trees.

        Parameters
        ----------
        kind, templates, vocabularies
            As above.
        tokens
            The sentences, in codes of these vocabularies.
        gold
            The sites of the trees.
        min_count
            At how many of these sites a feature must occur.
        """
        features = cls(kind, tuple(templates), vocabularies, np.zeros(0, dtype=np.int64))
        kept = []
        for number in range(len(templates)):
            keys = features._keys(number, tokens, gold)
            distinct, counts = np.unique(keys[keys >= 0], return_counts=True)
            kept.append(distinct[counts >= min_count])
        return cls(kind, features.templates, vocabularies, np.concatenate(kept))

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.keys)

    @property
    def columns(self) -> frozenset[int]:
        """The columns that its templates look at; see `partwise.tasks.constituency.templates`."""
        atoms = (atom for some in self._atoms for atom in some)
        return frozenset(atom.column for atom in atoms if atom.column >= 0)

    def rows(self, tokens: SpanTokens) -> Rows:
        """Return one row per site of all sentences; features that have no number are left out."""
        sizes, indices = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for which in self._chunks(tokens.lengths):
            places = places_of(tokens, which, self.kind)
            numbers = np.empty((len(places.first), len(self.templates)), dtype=np.int32)
            for number in range(len(self.templates)):
                numbers[:, number] = self._numbers(number, tokens, places)
            known = numbers >= 0
            sizes.append(np.count_nonzero(known, axis=1))
            indices.append(numbers[known])
        return Rows(np.cumsum(np.concatenate(sizes)), np.concatenate(indices), None, len(self.keys))

    def describe(self, number: int) -> str:
        """Return what a feature stands for, as in ``first.tag=DT last.tag=NN length=3``."""
        key = self.keys[number]
        template = int(key >> TEMPLATE_SHIFT)
        texts = []
        for (text, column), code in zip(
            self._columns(template), self.codes(template, self.keys[[number]]), strict=True
        ):
            c = int(code[0])
            if column < 0:
                texts.append(f"{text}={_length_text(c)}")
            else:
                names = self.vocabularies[column].names
                texts.append(f"{text}={MARKS[c] if c < len(MARKS) else names[c - len(MARKS)]}")
        return " ".join(texts)

    def codes(self, template: int, keys: Ints) -> list[Ints]:
        """Return the code of every atom of a template in some of its keys."""
        found: list[Ints] = []
        rest = keys & ((1 << TEMPLATE_SHIFT) - 1)
        for atom in reversed(self._atoms[template]):
            found.append(rest & ((1 << atom.bits) - 1))
            rest = rest >> atom.bits
        return found[::-1]

    def match(self, other: SpanTable) -> Ints:
        """Return for each feature the number of the one that is the same in `other`, or -1."""
        recoded = [
            a.codes_in(b, len(MARKS))
            for a, b in zip(self.vocabularies, other.vocabularies, strict=True)
        ]
        there = {text: number for number, text in enumerate(other.templates)}
        same = np.full(len(self.keys), -1, dtype=np.int64)
        for number, (a, b) in enumerate(pairwise(self._bounds.tolist())):
            place = there.get(self.templates[number])
            if place is None or a == b or not len(other.keys):
                continue
            made = np.zeros(b - a, dtype=np.int64)
            known = np.ones(b - a, dtype=np.bool_)
            for atom, old, code in zip(
                self._atoms[number],
                other._atoms[place],
                self.codes(number, self.keys[a:b]),
                strict=True,
            ):
                if atom.column >= 0:
                    code = recoded[atom.column][code]
                known &= code > 0
                made = (made << old.bits) | code
            made |= place << TEMPLATE_SHIFT
            at = np.minimum(np.searchsorted(other.keys, made), len(other.keys) - 1)
            same[a:b] = np.where(known & (other.keys[at] == made), at, -1)
        return same

    def check_keys(self) -> None:
        """Raise a ModelFileError unless keys that come from a file are sound."""
        keys = self.keys
        _check(keys.dtype == np.int64 and keys.ndim == 1, "the keys are not a vector of int64")
        if not len(keys):
            return
        _check(keys[0] >= 0 and bool((keys[1:] > keys[:-1]).all()), "the keys do not rise")
        _check(int(self._bounds[-1]) == len(keys), "a key has no template")
        for number, (a, b) in enumerate(pairwise(self._bounds.tolist())):
            bits = sum(atom.bits for atom in self._atoms[number])
            rest = keys[a:b] & ((1 << TEMPLATE_SHIFT) - 1)
            _check(not (rest >> bits).any(), "a key has too many values")
            codes = self.codes(number, keys[a:b])
            for (_, column), code in zip(self._columns(number), codes, strict=True):
                most = (
                    len(LENGTHS) if column < 0 else len(self.vocabularies[column]) + len(MARKS) - 1
                )
                _check(bool(((code > 0) & (code <= most)).all()), "a key has an odd value")

    @cached_property
    def _bounds(self) -> Ints:
        """Where the keys of each template begin, and the last ones end."""
        found: Ints = np.searchsorted(
            self.keys, np.arange(len(self.templates) + 1) << TEMPLATE_SHIFT
        )
        return found

    def _columns(self, template: int) -> list[tuple[str, int]]:
        texts = self.templates[template].split()
        return [
            (text, atom.column) for text, atom in zip(texts, self._atoms[template], strict=True)
        ]

    def _keys(self, number: int, tokens: SpanTokens, places: Places) -> Ints:
        """Return the key of one template at every site, -1 where a value is missing."""
        key = np.full(len(places.first), 0, dtype=np.int64)
        complete = np.ones(len(key), dtype=np.bool_)
        for atom in self._atoms[number]:
            if atom.place < 0:
                code = np.searchsorted(LENGTHS, places.last - places.first + 1, side="right")
            else:
                code = tokens.code[atom.column, places[atom.place] + atom.offset]
            complete &= code > 0
            key = (key << atom.bits) | code
        return np.where(complete, key | (number << TEMPLATE_SHIFT), -1)

    def _numbers(self, number: int, tokens: SpanTokens, places: Places) -> Ints:
        """Return the number of the feature of one template at every site, or -1."""
        first, last = self._bounds[number : number + 2].tolist()
        if first == last:
            return np.full(len(places.first), -1, dtype=np.int64)
        # The keys of one template alone: a shorter search, in less memory.
        mine = self.keys[first:last]
        keys = self._keys(number, tokens, places)
        at = np.minimum(np.searchsorted(mine, keys), len(mine) - 1)
        return np.where(mine[at] == keys, at + first, -1)

    def _chunks(self, lengths: Ints) -> Iterator[slice]:
        """Yield runs of sentences that together have some _CHUNK sites, or one if it has more."""
        sizes = {
            "word": lengths,
            "span": lengths * (lengths - 1) // 2,
            "split": lengths * (lengths * lengths - 1) // 6,
        }[self.kind]
        bounds = np.flatnonzero(np.diff(np.cumsum(sizes) // _CHUNK, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            yield slice(first, last)


def _length_text(code: int) -> str:
    low = LENGTHS[code - 1]
    if code == len(LENGTHS):
        return f"{low} or more"
    high = LENGTHS[code] - 1
    return str(low) if low == high else f"{low}-{high}"


def _check(sound: bool, why: str) -> None:
    if not sound:
        raise ModelFileError(f"span features: {why}; the model file is damaged")
