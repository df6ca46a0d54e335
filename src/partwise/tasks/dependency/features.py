"""Features of the arcs of dependency trees, for parsers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...models.features import Arrays, Features, same_numbers
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from .arc_features import ArcTable
from .templates import DISTANCE_BITS, TEMPLATE_SHIFT, Plan, make_plan
from .tokens import MARKS, ArcSentence, read_fields

if TYPE_CHECKING:
    from ...arrays import Ints
    from ...structures.base import Structure

__all__ = ["ArcFeatures"]


@final
@dataclass(frozen=True, eq=False)
class ArcFeatures(Features):
    """Features of every arc of a sentence.

    Parameters
    ----------
    arc_features : ArcTable
        Which features arcs have, and their numbers.
    """

    name: ClassVar[str] = "arcs"

    arc_features: ArcTable

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """One kind of site, the arcs."""
        if structure.kinds != ("arc",):
            raise DataError(
                f"features of arcs for a {structure.name}, whose sites are "
                f"{', '.join(structure.kinds)}; use them with dependency trees"
            )
        return (self.arc_features.n_features,)

    def features(self, sentences: Sequence[ArcSentence]) -> list[Rows]:
        """Make a row for every arc of some sentences."""
        return [self.arc_features.rows(sentences)]

    def tally(self, sentences: Sequence[ArcSentence]) -> Tally:
        """Count the values that features look at, up to the first that is known."""
        columns = set(_plan(self.arc_features).atom_column.tolist())
        known = [vocabulary.index for vocabulary in self.arc_features.vocabularies]
        found = Tally(what="words, tags and other values")
        for sentence in sentences:
            values = read_fields([sentence]).values
            for column in columns:
                given = [value for value in values[column] if value]
                found.add(len(given), int(any(value in known[column] for value in given)))
            if found.known:
                break
        return found

    def to_json(self) -> dict[str, Any]:
        """Templates, and how many features are hashed."""
        return self.arc_features.to_json()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Vocabularies and keys."""
        return self.arc_features.arrays()

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> ArcFeatures:
        """Check templates, vocabularies and keys, one against the other."""
        return cls(ArcTable.from_saved(data, arrays))

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """By what features stand for; hashed ones by number, if they are hashed alike."""
        if not isinstance(other, ArcFeatures):
            return super().match(other, structure)
        new, old = self.arc_features, other.arc_features
        if new.n_hashed or old.n_hashed:
            # A hash is taken of codes, which mean the same with the same vocabularies only.
            if _hashing(new) != _hashing(old):
                raise DataError(
                    "hashed features can be found again only if templates, words and number of "
                    "features are the same; start without a first model, or do not hash"
                )
            return (same_numbers(new.n_hashed, old.n_hashed),)
        return (_same_features(new, old),)


def _hashing(features: ArcTable) -> tuple[Any, ...]:
    names = tuple(vocabulary.names for vocabulary in features.vocabularies)
    return features.n_hashed, features.templates, names


def _same_features(new: ArcTable, old: ArcTable) -> Ints:
    """For each new feature the number of the old one with the same template and values, or -1."""
    plans = _plan(new), _plan(old)
    recoded = [_recoded(a, b) for a, b in zip(new.vocabularies, old.vocabularies, strict=True)]
    place = {frozenset(text.split()): t for t, text in enumerate(old.templates)}
    bounds = np.searchsorted(new.keys, np.arange(len(new.templates) + 1) << TEMPLATE_SHIFT)
    same = np.full(len(new.keys), -1, dtype=np.int64)
    for t, (first, last) in enumerate(pairwise(bounds.tolist())):
        there = place.get(frozenset(new.templates[t].split()))
        if there is None or first == last:
            continue
        keys = _translated(new, old, plans, (t, there), new.keys[first:last], recoded)
        at = np.minimum(np.searchsorted(old.keys, keys), len(old.keys) - 1)
        if len(old.keys):
            same[first:last] = np.where(old.keys[at] == keys, at, -1)
    return same


def _plan(features: ArcTable) -> Plan:
    n_codes = [len(vocabulary) + len(MARKS) for vocabulary in features.vocabularies]
    return make_plan(features.templates, n_codes)


def _recoded(new: Vocabulary, old: Vocabulary) -> Ints:
    """The old code of every new one; 0 for a value that the old vocabulary does not have."""
    words = (old.index.get(name, -len(MARKS)) + len(MARKS) for name in new)
    return np.array([*range(len(MARKS)), *words], dtype=np.int64)


def _translated(
    new: ArcTable,
    old: ArcTable,
    plans: tuple[Plan, Plan],
    templates: tuple[int, int],
    keys: Ints,
    recoded: Sequence[Ints],
) -> Ints:
    """Give the keys of one template as the old features write them; -1 if they cannot."""
    codes: dict[str, Ints] = {}
    plan, t = plans[0], templates[0]
    rest = (keys & ((1 << TEMPLATE_SHIFT) - 1)) >> DISTANCE_BITS
    for text, atom in reversed(_atoms(new, plan, t)):
        bits, column = int(plan.atom_bits[atom]), int(plan.atom_column[atom])
        codes[text] = recoded[column][rest & ((1 << bits) - 1)]
        rest = rest >> bits
    known = np.all([code > 0 for code in codes.values()], axis=0)
    plan, t = plans[1], templates[1]
    made = np.zeros(len(keys), dtype=np.int64)
    for text, atom in _atoms(old, plan, t):
        made = (made << int(plan.atom_bits[atom])) | codes[text]
    distance = keys & ((1 << DISTANCE_BITS) - 1)
    made = (t << TEMPLATE_SHIFT) | (made << DISTANCE_BITS) | distance
    return np.where(known, made, -1)


def _atoms(features: ArcTable, plan: Plan, template: int) -> list[tuple[str, int]]:
    numbers = plan.atoms[plan.atoms_ptr[template] : plan.atoms_ptr[template + 1]].tolist()
    return list(zip(features.templates[template].split(), numbers, strict=True))
