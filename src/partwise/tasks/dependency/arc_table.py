"""The features f(x, h, m) of dependency arcs and their numbers, computed by compiled code."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...arrays import Ints
from ...errors import DataError, ModelFileError
from ...models.hashed_names import MAX_HASHED, hashed_numbers, is_size, mixed
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from .arc_counts import DISTANCE, ArcCounts, chunks
from .templates import (
    ARC_TEMPLATES,
    COLUMNS,
    DISTANCE_BITS,
    DISTANCES,
    PAD,
    TEMPLATE_SHIFT,
    ArcPlan,
    make_plan,
)
from .tokens import MARKS, ArcSentence, encode, read_fields

if TYPE_CHECKING:
    from .arc_keys import Table

__all__ = ["ArcTable"]


@dataclass(frozen=True, eq=False)
class ArcTable:
    """Which features arcs have, and their numbers.

    Made by `fit`. A template gives an arc a feature, and a second one that is conjoined with the
    direction of the arc and its distance in bins. Reading saved ones needs no compiler.

    Attributes
    ----------
    templates
        What to look at; see `partwise.tasks.dependency.templates`.
    vocabularies
        The values that were seen in training, one vocabulary per column.
    keys
        The features in exact form, sorted; the place of a key is its number. Empty if hashed.
    n_hashed
        A power of two: features get numbers below it by hashing. 0 if they are listed.
    plan
        The templates in the form that compiled code takes.
    """

    templates: tuple[str, ...]
    vocabularies: tuple[Vocabulary, ...]
    keys: Ints
    n_hashed: int = 0
    plan: ArcPlan = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Prepare the templates, and refuse those that cannot be read."""
        n_codes = [len(vocabulary) + len(MARKS) for vocabulary in self.vocabularies]
        object.__setattr__(self, "plan", make_plan(self.templates, n_codes))

    @classmethod
    def fit(
        cls,
        sentences: Sequence[ArcSentence],
        heads: Sequence[Sequence[int] | Ints],
        *,
        min_count: int = 1,
        n_hashed: int = 0,
        templates: Sequence[str] = ARC_TEMPLATES,
    ) -> ArcTable:
        """Collect the features of the arcs of trees.

        Parameters
        ----------
        sentences
            Their columns: form, lemma, cpos, pos and feats.
        heads
            For each sentence the heads of its tokens, 0 for the root; -1 for none.
        min_count
            On how many of these arcs a feature must occur.
        n_hashed
            If not 0, a power of two: keep no list, but give every feature of every arc a number
            below this by hashing. Features that share a number share a weight.
        templates
            What to look at.

        Returns
        -------
        ArcTable

        Raises
        ------
        DataError
            If sentences, heads, templates or counts are not sound.
        """
        if n_hashed and not is_size(n_hashed):
            raise DataError(f"n_hashed is {n_hashed}; expected a power of two, 2 to {MAX_HASHED}")
        if min_count < 1 or (n_hashed and min_count > 1):
            raise DataError(
                f"min_count is {min_count} with n_hashed={n_hashed}; expected at least 1, and 1 "
                "with hashing, which keeps no counts"
            )
        counts = ArcCounts(templates, listed=not n_hashed)
        counts.add(sentences, heads)
        return cls.of(counts, min_count, n_hashed)

    @classmethod
    def of(cls, counts: ArcCounts, min_count: int = 1, n_hashed: int = 0) -> ArcTable:
        """Number the features that were counted; parameters are those of `fit`."""
        vocabularies, keys = counts.finish(min_count)
        return cls(counts.templates, vocabularies, keys, n_hashed)

    def __getstate__(self) -> dict[str, Any]:
        # The table is built again from the keys: it is larger than they are.
        return {name: value for name, value in self.__dict__.items() if name != "_table"}

    @property
    def n_features(self) -> int:
        """One more than the highest number of a feature."""
        return self.n_hashed or len(self.keys)

    def rows(self, sentences: Sequence[ArcSentence]) -> Rows:
        """Return the features of all arcs of some sentences.

        Parameters
        ----------
        sentences
            As for `fit`.

        Returns
        -------
        Rows
            One row per arc: for each sentence of T tokens, for each modifier m = 1, ..., T, for
            each head h = 0, ..., T other than m. Features that have no number are left out.
        """
        from .arc_keys import arc_numbers

        given = read_fields(sentences)
        tokens = encode(given, [vocabulary.find for vocabulary in self.vocabularies])
        sizes = given.lengths**2
        arcs = np.cumsum([0, *sizes], dtype=np.int64)
        indptr = np.zeros(arcs[-1] + 1, np.int64)
        bucket = np.zeros(self.n_hashed, np.int64)
        pieces: deque[NDArray[np.int32]] = deque()
        distinct = list(map(len, self.vocabularies))
        for first, last, most, room in chunks(self.plan, distinct, tokens, given.lengths, sizes):
            begin, end = int(arcs[first]), int(arcs[last])
            found = np.empty(2 * room, np.int32)
            before, indptr[begin] = indptr[begin], 0
            what = self.plan, tokens, self._table, most, first, last
            arc_numbers(*what, begin, bucket, indptr, found)
            pieces.append(found[: indptr[end]].copy())
            indptr[begin : end + 1] += before
        # A piece is let go as soon as it is copied: two arrays of this size need not fit.
        indices = np.empty(int(indptr[-1]), np.int32)
        n = 0
        while pieces:
            piece = pieces.popleft()
            indices[n : n + len(piece)] = piece
            n += len(piece)
        return Rows(indptr, indices, None, self.n_features)

    def describe_keys(self, keys: Ints) -> list[str]:
        """Return what features in exact form stand for: ``h.pos=v m.form=a, right, distance 2``.

        *Right* means that the modifier is to the right of its head.
        """
        found = [""] * len(keys)
        template_of = keys >> TEMPLATE_SHIFT
        for template in np.unique(template_of).tolist():
            mine = np.flatnonzero(template_of == template)
            codes, _ = self.values(template, keys[mine])
            columns = []
            for text, atom in self.atoms(template):
                known = self._vocabulary(atom).names
                names = (
                    MARKS[code] if code < len(MARKS) else known[code - len(MARKS)]
                    for code in codes[text].tolist()
                )
                columns.append([f"{text}={name}" for name in names])
            ends = [_DISTANCES[distance] for distance in (keys[mine] & DISTANCE).tolist()]
            for place, end, *texts in zip(mine.tolist(), ends, *columns, strict=True):
                found[place] = " ".join(texts) + end
        return found

    def slot_keys(self, sentence: ArcSentence) -> tuple[Ints, Ints]:
        """Return the features of all arcs of a sentence in exact form, and their hashed slots."""
        from .arc_keys import arc_keys

        given = read_fields([sentence])
        tokens = encode(given, [vocabulary.find for vocabulary in self.vocabularies])
        length = int(given.lengths[0])
        distinct = list(map(len, self.vocabularies))
        found = [np.zeros(0, np.int64)]
        for head in range(length + 1):
            heads = np.full(len(tokens.code[0]), head, np.int64)
            heads[PAD + head] = -1
            # An arc for each of the other words.
            for _, _, _, room in chunks(self.plan, distinct, tokens, given.lengths, given.lengths):
                out = np.empty(room + 1, np.int64)
                keys = out[: arc_keys(self.plan, tokens, heads, 0, 1, out)]
                found += [np.unique(keys), np.unique(keys & ~DISTANCE)]
        keys = np.unique(np.concatenate(found))
        return keys, hashed_numbers(mixed(keys), self.n_hashed).astype(np.int64)

    def atoms(self, template: int) -> list[tuple[str, int]]:
        """Return the atoms of a template, each with its number in the plan."""
        plan = self.plan
        numbers = plan.atoms[plan.atoms_ptr[template] : plan.atoms_ptr[template + 1]].tolist()
        return list(zip(self.templates[template].split(), numbers, strict=True))

    def values(self, template: int, keys: Ints) -> tuple[dict[str, Ints], Ints]:
        """Return the code of every atom of a template in some of its keys.

        The second array is what is left of each key, which is 0 if the key is sound.
        """
        codes: dict[str, Ints] = {}
        rest = (keys & (2**TEMPLATE_SHIFT - 1)) >> DISTANCE_BITS
        for text, atom in reversed(self.atoms(template)):
            bits = int(self.plan.atom_bits[atom])
            codes[text] = rest & (2**bits - 1)
            rest = rest >> bits
        return codes, rest

    def _vocabulary(self, atom: int) -> Vocabulary:
        return self.vocabularies[int(self.plan.atom_column[atom])]

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can express; the rest is in `arrays`."""
        return {"templates": list(self.templates), "n_hashed": self.n_hashed}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the vocabularies and keys as arrays by name."""
        saved: dict[str, NDArray[Any]] = {"keys": self.keys}
        for column, vocabulary in zip(COLUMNS, self.vocabularies, strict=True):
            saved[f"{column}_bytes"], saved[f"{column}_offsets"] = vocabulary.pack()
        return saved

    @classmethod
    def from_saved(cls, data: Any, arrays: Mapping[str, NDArray[Any]]) -> ArcTable:
        """Rebuild features from what `to_json` and `arrays` returned.

        Raises
        ------
        ModelFileError
            If they cannot come from there.
        """
        _check(isinstance(data, dict) and data.keys() == {"templates", "n_hashed"}, "odd keys")
        templates, n_hashed = data["templates"], data["n_hashed"]
        _check(
            isinstance(templates, list) and all(isinstance(text, str) for text in templates),
            "the templates are not a list of strings",
        )
        _check(type(n_hashed) is int and (n_hashed == 0 or is_size(n_hashed)), "odd n_hashed")
        names = {f"{column}_{part}" for column in COLUMNS for part in ("bytes", "offsets")}
        _check(arrays.keys() == names | {"keys"}, "other arrays than expected")
        pairs = ((arrays[f"{c}_bytes"], arrays[f"{c}_offsets"]) for c in COLUMNS)
        vocabularies = tuple(Vocabulary.unpack(*pair) for pair in pairs)
        try:
            features = cls(tuple(templates), vocabularies, arrays["keys"], n_hashed)
        except DataError as error:
            raise ModelFileError(f"arc features: {error}; the model file is damaged") from error
        features._check_keys()
        return features

    @cached_property
    def _table(self) -> Table:
        from .arc_keys import Table, fill_table

        plain = int(np.count_nonzero(self.keys & DISTANCE == 0))
        # A load below 1/2: there is always a free slot to stop at, and few probes before it.
        slots = np.full((1 << (2 * plain).bit_length(), 2), -1, np.int64)
        fill_table(self.keys, slots)
        return Table(slots, self.n_hashed)

    def _check_keys(self) -> None:
        keys = self.keys
        _check(keys.dtype == np.int64 and keys.ndim == 1, "the keys are not a vector of int64")
        _check(not (self.n_hashed and len(keys)), "keys where features are hashed")
        if not len(keys):
            return
        _check(keys[0] >= 0 and bool((keys[1:] > keys[:-1]).all()), "the keys do not rise")
        distance, plain = keys & DISTANCE, keys >> DISTANCE_BITS
        _check(int(distance.max()) <= 2 * len(DISTANCES), "a key has an odd distance")
        follows = np.concatenate([[False], plain[1:] == plain[:-1]])
        _check(bool(((distance == 0) | follows).all()), "a key has no plain feature")
        bounds = np.searchsorted(keys, np.arange(len(self.templates) + 1) << TEMPLATE_SHIFT)
        _check(int(bounds[-1]) == len(keys), "a key has no template")
        for template, (first, last) in enumerate(pairwise(bounds.tolist())):
            codes, rest = self.values(template, keys[first:last])
            for text, atom in self.atoms(template):
                highest = len(self._vocabulary(atom)) + len(MARKS)
                sound = (codes[text] > 0) & (codes[text] < highest)
                _check(bool(sound.all()), "a key has an odd value")
            _check(not rest.any(), "a key has too many values")


#: How direction and distance are described, by the bits of a key that hold them.
_DISTANCES: Final = (
    "",
    *(f", {side}, distance {bin_}" for side in ("right", "left") for bin_ in DISTANCES),
)


def _check(sound: bool, why: str) -> None:
    if not sound:
        raise ModelFileError(f"arc features: {why}; the model file is damaged")
