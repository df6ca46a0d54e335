"""Features of the words, spans and splits of a sentence, as compact rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from ...arrays import Ints
from ...errors import DataError, ModelFileError
from ...models.features import same_numbers
from ...models.hashed_names import first_in_row, hashed_numbers, mixed
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ..source import runs
from .templates import LENGTHS, SITE_PLACES, TEMPLATE_SHIFT, Template, read_templates
from .tokens import MARKS, Places, SpanTokens, places_of, site_keys

__all__ = ["SpanTable"]

#: Sites whose keys are held at a time.
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class SpanTable:
    """Which features the sites of one kind have, and their numbers.

    A feature is an exact key: the number of its template and the codes of its
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
        The features, sorted; the place of a key is its number. Empty if hashed.
    n_hashed
        A power of two: features get numbers below it by hashing. 0 if they are listed.
    """

    kind: str
    templates: tuple[str, ...]
    vocabularies: tuple[Vocabulary, ...]
    keys: Ints
    n_hashed: int = 0
    _atoms: tuple[Template, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare the templates, and refuse those that cannot be read."""
        n_codes = [len(vocabulary) + len(MARKS) for vocabulary in self.vocabularies]
        atoms = read_templates(self.templates, n_codes, SITE_PLACES[self.kind])
        object.__setattr__(self, "_atoms", atoms)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self.n_hashed or len(self.keys)

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
            if self.n_hashed:
                # Of the features of a site that share a number, the first one counts.
                known &= first_in_row(numbers)
            sizes.append(np.count_nonzero(known, axis=1))
            indices.append(numbers[known])
        return Rows(
            np.cumsum(np.concatenate(sizes)), np.concatenate(indices), None, self.n_features
        )

    def describe_keys(self, keys: Ints) -> list[str]:
        """Return what features in exact form stand for: ``first.tag=DT last.tag=NN length=3``."""
        found = [""] * len(keys)
        template_of = keys >> TEMPLATE_SHIFT
        for template in np.unique(template_of).tolist():
            mine = np.flatnonzero(template_of == template)
            columns = []
            for (text, column), code in zip(
                self._columns(template), self.codes(template, keys[mine]), strict=True
            ):
                columns.append([f"{text}={self._value(column, c)}" for c in code.tolist()])
            for place, *texts in zip(mine.tolist(), *columns, strict=True):
                found[place] = " ".join(texts)
        return found

    def _value(self, column: int, code: int) -> str:
        if column < 0:
            return _length_text(code)
        if code < len(MARKS):
            return MARKS[code]
        return self.vocabularies[column].names[code - len(MARKS)]

    def slot_keys(self, tokens: SpanTokens) -> tuple[Ints, Ints]:
        """Return the features of some sentences in exact form, and the slots they are hashed to."""
        keys = [np.zeros(0, dtype=np.int64)]
        for which in self._chunks(tokens.lengths):
            places = places_of(tokens, which, self.kind)
            for number, atoms in enumerate(self._atoms):
                keys.append(np.unique(site_keys(atoms, number, tokens, places)))
        distinct = np.unique(np.concatenate(keys))
        distinct = distinct[distinct >= 0]
        return distinct, hashed_numbers(mixed(distinct), self.n_hashed).astype(np.int64)

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
        if self.n_hashed or other.n_hashed:
            # A hash is taken of codes, which mean the same with the same vocabularies only.
            same_codes = (
                self.templates == other.templates and self.vocabularies == other.vocabularies
            )
            if self.n_hashed != other.n_hashed or not same_codes:
                raise DataError(
                    "hashed features can be found again only if templates, words and number of "
                    "features are the same; start without a first model, or do not hash"
                )
            return same_numbers(self.n_hashed, other.n_hashed)
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
        _check(not (self.n_hashed and len(keys)), "keys where features are hashed")
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

    def _numbers(self, number: int, tokens: SpanTokens, places: Places) -> Ints:
        """Return the number of the feature of one template at every site, or -1."""
        if self.n_hashed:
            keys = site_keys(self._atoms[number], number, tokens, places)
            return np.where(keys < 0, -1, hashed_numbers(mixed(keys), self.n_hashed))
        first, last = self._bounds[number : number + 2].tolist()
        if first == last:
            return np.full(len(places.first), -1, dtype=np.int64)
        # The keys of one template alone: a shorter search, in less memory.
        mine = self.keys[first:last]
        keys = site_keys(self._atoms[number], number, tokens, places)
        at = np.minimum(np.searchsorted(mine, keys), len(mine) - 1)
        return np.where(mine[at] == keys, at + first, -1)

    def _chunks(self, lengths: Ints) -> Iterator[slice]:
        """Return runs of sentences that together have about _CHUNK sites."""
        sizes = {
            "word": lengths,
            "span": lengths * (lengths - 1) // 2,
            "split": lengths * (lengths * lengths - 1) // 6,
        }[self.kind]
        return (slice(first, last) for first, last in runs(sizes, _CHUNK))


def _length_text(code: int) -> str:
    low = LENGTHS[code - 1]
    if code == len(LENGTHS):
        return f"{low} or more"
    high = LENGTHS[code] - 1
    return str(low) if low == high else f"{low}-{high}"


def _check(sound: bool, why: str) -> None:
    if not sound:
        raise ModelFileError(f"span features: {why}; the model file is damaged")
