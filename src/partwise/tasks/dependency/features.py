"""Features of the arcs of dependency trees, for parsers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.conll import Sentence
from ...models.features import Arrays, Features, Inputs, refuse_others, same_numbers
from ..source import runs
from .arc_table import ArcTable
from .examples import read_fixed_heads, read_sentences, read_trees
from .gold import check_trees, number_trees
from .templates import DISTANCE_BITS, TEMPLATE_SHIFT
from .tokens import MARKS, read_fields
from .treebank import Treebank

if TYPE_CHECKING:
    from ...models.model import Model
    from ...models.tally import Tally
    from ...structures.base import Structure

__all__ = ["ArcFeatures", "arc_features_of"]

#: How many arcs have their features held at a time, some 80 features of 8 bytes each.
_ARCS: Final = 1 << 18


@final
@dataclass(frozen=True, eq=False)
class ArcFeatures(Features):
    """Features of every arc of a sentence.

    Parameters
    ----------
    arc_table : ArcTable
        Which features arcs have, and their numbers.
    """

    name: ClassVar[str] = "arcs"

    arc_table: ArcTable

    def read(self, structure: Structure, examples: Any, **more: Any) -> list[Sentence]:
        """Read sentences of any of the known forms.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples
            Sentences as :class:`partwise.DependencyParser` takes them, for example those of a file
            that :func:`partwise.formats.read_conll` read.
        """
        refuse_others(more)
        return examples.sentences if isinstance(examples, Treebank) else read_sentences(examples)

    def rows(
        self, structure: Structure, examples: list[Sentence], tally: Tally
    ) -> Iterator[Inputs]:
        tally.what = "words, tags and other values"
        # The features of all sentences may not fit.
        arcs = np.array([len(sentence) ** 2 for sentence in examples], dtype=np.int64)
        for first, last in runs(arcs, _ARCS):
            some = examples[first:last]
            self._count(some, tally)
            lengths = [len(sentence) for sentence in some]
            made = [self.arc_table.rows(some)]
            yield Inputs(made, lengths, examples=some, which=slice(first, last))

    def _count(self, sentences: Sequence[Sentence], tally: Tally) -> None:
        """Count the values that features look at, up to the first sentence with a known one."""
        columns = set(self.arc_table.plan.atom_column.tolist())
        known = self.arc_table.vocabularies
        for sentence in sentences:
            if tally.known:
                return
            values = read_fields([sentence]).values
            for column in columns:
                given = [value for value in values[column] if value]
                tally.add(len(given), int((known[column].find(given) >= 0).any()))

    def constraints(self, model: Model, examples: list[Sentence], fixed: Any) -> list[Any] | None:
        return read_fixed_heads(fixed, examples)

    def named(self, model: Model, label: Ints, example: Sentence) -> list[Any]:
        if not model.labels:
            heads: list[Any] = label[:, 0].tolist()
            return heads
        return [(head, model.labels[number]) for head, number in label.tolist()]

    def numbered(self, model: Model, labels: Any, examples: list[Sentence]) -> list[Ints | None]:
        heads, relations = read_trees(examples, labels, None, bool(model.labels))
        check_trees(examples, heads, relations)
        trees = number_trees(heads, relations, model.labels)
        return [tree if _possible(model.structure, tree) else None for tree in trees]

    def table(self, model: Model, marginals: Floats, example: Sentence) -> Floats:
        length, width = len(example), model.structure.n_labels
        # A word that is its own head has a place in the table, with probability 0.
        found = np.zeros((length, length + 1, width))
        found[~np.eye(length, length + 1, k=1, dtype=bool)] = marginals.reshape(-1, width)
        return found if model.labels else found[:, :, 0]

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        if structure.kinds != ("arc",):
            raise DataError(
                f"features of arcs for a {structure.name}, whose sites are "
                f"{', '.join(structure.kinds)}; use them with dependency trees"
            )
        return (self.arc_table.n_features,)

    def to_json(self) -> dict[str, Any]:
        return self.arc_table.to_json()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return self.arc_table.arrays()

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> ArcFeatures:
        return cls(ArcTable.from_saved(data, arrays))

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """Find features by what they stand for; hashed ones by number, if they are hashed alike."""
        if not isinstance(other, ArcFeatures):
            return super().match(other, structure)
        new, old = self.arc_table, other.arc_table
        if new.n_hashed or old.n_hashed:
            # A hash is taken of codes, which mean the same with the same vocabularies only.
            if _hashing(new) != _hashing(old):
                raise DataError(
                    "hashed features can be found again only if templates, words and number of "
                    "features are the same; start without a first model, or do not hash"
                )
            return (same_numbers(new.n_hashed, old.n_hashed),)
        return (_same_features(new, old),)


def arc_features_of(model: Model) -> ArcFeatures:
    """Return the features of a model; a DataError if they are not those of arcs."""
    if not isinstance(model.features, ArcFeatures):
        raise DataError(
            f"a model of the task {model.task!r} with {model.features.name} features does not "
            "parse; use a model that was trained to parse"
        )
    return model.features


def _possible(structure: Any, tree: Ints) -> bool:
    """Return whether a model of the structure can predict a tree."""
    try:
        structure.check_tree(tree)
    except DataError:
        return False
    return True


def _hashing(table: ArcTable) -> tuple[Any, ...]:
    names = tuple(vocabulary.names for vocabulary in table.vocabularies)
    return table.n_hashed, table.templates, names


def _same_features(new: ArcTable, old: ArcTable) -> Ints:
    """For each new feature the number of the old one with the same template and values, or -1."""
    recoded = [
        a.codes_in(b, len(MARKS)) for a, b in zip(new.vocabularies, old.vocabularies, strict=True)
    ]
    place = {frozenset(text.split()): t for t, text in enumerate(old.templates)}
    bounds = np.searchsorted(new.keys, np.arange(len(new.templates) + 1) << TEMPLATE_SHIFT)
    same = np.full(len(new.keys), -1, dtype=np.int64)
    for t, (first, last) in enumerate(pairwise(bounds.tolist())):
        there = place.get(frozenset(new.templates[t].split()))
        if there is None or first == last:
            continue
        keys = _translated(new, old, (t, there), new.keys[first:last], recoded)
        at = np.minimum(np.searchsorted(old.keys, keys), len(old.keys) - 1)
        if len(old.keys):
            same[first:last] = np.where(old.keys[at] == keys, at, -1)
    return same


def _translated(
    new: ArcTable,
    old: ArcTable,
    templates: tuple[int, int],
    keys: Ints,
    recoded: Sequence[Ints],
) -> Ints:
    """Return the keys of one template as the old features write them; -1 if they cannot."""
    here, there = templates
    values, _ = new.values(here, keys)
    codes = {
        text: recoded[new.plan.atom_column[atom]][values[text]] for text, atom in new.atoms(here)
    }
    known = np.all([code > 0 for code in codes.values()], axis=0)
    made = np.zeros(len(keys), dtype=np.int64)
    for text, atom in old.atoms(there):
        made = (made << int(old.plan.atom_bits[atom])) | codes[text]
    distance = keys & ((1 << DISTANCE_BITS) - 1)
    made = (there << TEMPLATE_SHIFT) | (made << DISTANCE_BITS) | distance
    return np.where(known, made, -1)
