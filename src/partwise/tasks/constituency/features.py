"""Features of words, spans, splits, rules and roots, for constituency parsers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError, ModelFileError, Place
from ...formats.tree import Tree
from ...models.features import Arrays, Features, Inputs, refuse_others, sound
from ...models.hashed_names import is_size
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows
from ..source import runs
from .bracketing import Bracketing
from .examples import read_sentences, read_trees
from .span_counts import SpanCounts
from .span_table import SpanTable
from .templates import COLUMNS, SITE_PLACES
from .tokens import SpanSentence, encode

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure

__all__ = ["SpanFeatures"]

_log = logging.getLogger(__name__)

_KINDS: Final = ("word", "span", "split", "rule", "root")
#: Spans whose features are held at a time, some 30 of 4 bytes each, and their scores.
_SPANS: Final = 1 << 16

#: A sentence, and what its call counts: the sentences without a derivation, by what they get.
_Example = tuple[SpanSentence, Counter[str]]


@final
@dataclass(frozen=True, eq=False)
class SpanFeatures(Features):
    """Features of every word, span and split of a sentence; a constant for rules and for roots.

    A sentence that the grammar does not derive gets a flat tree, all its words below the most
    frequent root of the training data. A warning of the log says how many there are.

    Parameters
    ----------
    tagged : bool
        Whether sentences have tags, which say which symbols can stand over their words.
    features_of : mapping of str to SpanTable
        Those of "word" and "span", and of "split" if splits have features; they share their
        vocabularies.
    """

    name: ClassVar[str] = "spans"
    answers_all: ClassVar[bool] = True

    tagged: bool
    features_of: Mapping[str, SpanTable]

    @classmethod
    def of(cls, counts: SpanCounts, min_count: int = 1, n_hashed: int = 0) -> SpanFeatures:
        """Number the features that were counted.

        Parameters
        ----------
        counts : SpanCounts
            The features of the words, spans and splits of all trees.
        min_count : int
            At how many of these words, spans or splits a feature must occur.
        n_hashed : int
            If not 0, a power of two: give every feature of every site a number below this by
            hashing, instead of a list.
        """
        names, keys = counts.finish(min_count)
        made = {
            kind: SpanTable(kind, texts, names, keys[kind], n_hashed)
            for kind, texts in counts.templates.items()
        }
        return cls(counts.tagged, made)

    def read(self, structure: Structure, examples: Any, **more: Any) -> list[SpanSentence]:
        """Read sentences of any of the known forms.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples : iterable
            Trees, of which the words and tags are taken; lists of pairs ``(word, tag)``; lists of
            words, if the model predicts tags; or a bracketed file, as
            :func:`partwise.formats.read_brackets` reads it.
        """
        refuse_others(more)
        sentences = read_sentences(examples)
        for i, sentence in enumerate(sentences):
            if self.tagged and sentence.tags is None:
                raise DataError(
                    "has no tags, and the parser was trained with "
                    "tags given; give pairs (word, tag), or train one that predicts the tags",
                    place=Place.nth("sentence", i),
                    subject=True,
                )
        return sentences

    def rows(
        self, structure: Structure, examples: list[SpanSentence], tally: Tally
    ) -> Iterator[Inputs]:
        tally.what = "words, tags and other values"
        lengths = [len(sentence.words) for sentence in examples]
        underived: Counter[str] = Counter()
        for first, last in runs(np.array(lengths, dtype=np.int64) ** 2 // 2, _SPANS):
            some = examples[first:last]
            self._count_known(some, tally)
            yield Inputs(
                self.site_rows(some),
                lengths[first:last],
                examples=[(sentence, underived) for sentence in some],
                which=slice(first, last),
            )
        # Here all sentences have their trees, and `named` and `table` have counted.
        for what, n in underived.items():
            _log.warning(
                "%d of %d sentences have no derivation under the grammar: they %s",
                n, len(examples), what,
            )  # fmt: skip

    def constraints(
        self, model: Model, examples: list[SpanSentence], fixed: Any
    ) -> list[Any] | None:
        if fixed is not None or not self.tagged:
            return super().constraints(model, examples, fixed)
        return Bracketing.of(model).tag_constraints(examples)

    def named(self, model: Model, label: Ints | None, example: _Example) -> Tree:
        sentence, underived = example
        bracketing = Bracketing.of(model)
        if label is not None:
            return bracketing.tree(label, sentence, self.tagged)
        underived["get a flat tree"] += 1
        return bracketing.flat_tree(sentence)

    def numbered(
        self, model: Model, labels: Any, examples: list[SpanSentence]
    ) -> list[Ints | None]:
        trees = read_trees(labels)
        if len(trees) != len(examples):
            raise DataError(
                f"{len(trees)} trees where there are {len(examples)} sentences; give one tree per "
                "sentence"
            )
        for i, (tree, sentence) in enumerate(zip(trees, examples, strict=True)):
            if tuple(tree.words) != sentence.words:
                raise DataError(
                    "has other words than its sentence; give a tree over the same words",
                    place=Place.nth("tree", i),
                    subject=True,
                )
        bracketing = Bracketing.of(model)
        return [bracketing.derivation(tree) for tree in trees]

    def table(self, model: Model, marginals: Floats, example: _Example) -> Floats:
        sentence, underived = example
        if not marginals.any():
            underived["have no phrases"] += 1
        return Bracketing.of(model).phrase_table(marginals, len(sentence.words))

    def site_rows(self, sentences: Sequence[SpanSentence]) -> list[Rows]:
        """Make rows for every word, span and split of some sentences, and the constants."""
        names = self.features_of["word"].vocabularies
        tokens = encode(sentences, names)
        constant = Rows(np.array([0, 1]), np.zeros(1, dtype=np.int32), None, 1)
        nothing = Rows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), None, 0)
        rows = [
            self.features_of[kind].rows(tokens) if kind in self.features_of else nothing
            for kind in SITE_PLACES
        ]
        return [*rows, constant, constant]

    def _count_known(self, sentences: Sequence[SpanSentence], tally: Tally) -> None:
        """Count the values that features look at, up to the first sentence with a known one."""
        names = self.features_of["word"].vocabularies
        columns = sorted({column for held in self.features_of.values() for column in held.columns})
        for sentence in sentences:
            if tally.known:
                return
            tokens = encode([sentence], names)
            first, length = int(tokens.first[0]), int(tokens.lengths[0])
            codes = tokens.code[columns, first : first + length]
            tally.add(codes.size, int((codes > 0).sum()))

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        if structure.kinds != _KINDS:
            raise DataError(
                f"features of spans for a {structure.name}, whose sites are "
                f"{', '.join(structure.kinds)}; use them with grammars"
            )
        counts = {kind: features.n_features for kind, features in self.features_of.items()}
        if ("split" in counts) != bool(structure.widths[_KINDS.index("split")]):
            raise DataError(
                "either the grammar or its features look at splits, and not both; make them for "
                "each other"
            )
        return (counts["word"], counts["span"], counts.get("split", 0), 1, 1)

    def to_json(self) -> dict[str, Any]:
        templates = {kind: list(held.templates) for kind, held in self.features_of.items()}
        n_hashed = self.features_of["word"].n_hashed
        # Only where it is not as in most models, so that their files are as they were.
        hashed = {"n_hashed": int(n_hashed)} if n_hashed else {}
        return {"tagged": self.tagged, "templates": templates, **hashed}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        saved: dict[str, npt.NDArray[Any]] = {
            f"{kind}_keys": held.keys for kind, held in self.features_of.items()
        }
        names = self.features_of["word"].vocabularies
        for column, vocabulary in zip(COLUMNS, names, strict=True):
            saved[f"{column}_bytes"], saved[f"{column}_offsets"] = vocabulary.pack()
        return saved

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> SpanFeatures:
        fields = data.keys() - {"n_hashed"}
        sound(fields == {"tagged", "templates"}, "features of spans with odd keys")
        tagged, templates, n_hashed = data["tagged"], data["templates"], data.get("n_hashed", 0)
        sound(type(n_hashed) is int and (n_hashed == 0 or is_size(n_hashed)), "odd n_hashed")
        sound(type(tagged) is bool, f"tagged is {tagged!r}; expected true or false")
        sound(
            isinstance(templates, dict)
            and {"word", "span"} <= templates.keys() <= SITE_PLACES.keys()
            and all(isinstance(texts, list) for texts in templates.values())
            and all(isinstance(text, str) for texts in templates.values() for text in texts),
            "the templates of spans are not lists of strings for word, span and perhaps split",
        )
        wanted = {f"{column}_{part}" for column in COLUMNS for part in ("bytes", "offsets")}
        wanted |= {f"{kind}_keys" for kind in templates}
        sound(arrays.keys() == wanted, "features of spans with other arrays than expected")
        names = tuple(
            Vocabulary.unpack(arrays[f"{c}_bytes"], arrays[f"{c}_offsets"]) for c in COLUMNS
        )
        made = {}
        # In one order, so that the same model gives the same file.
        for kind in (kind for kind in SITE_PLACES if kind in templates):
            try:
                keys = arrays[f"{kind}_keys"]
                held = SpanTable(kind, tuple(templates[kind]), names, keys, n_hashed)
            except DataError as error:
                raise ModelFileError(f"features: {error}; the model file is damaged") from error
            held.check_keys()
            made[kind] = held
        return cls(tagged, made)

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        if not isinstance(other, SpanFeatures):
            return super().match(other, structure)
        found = []
        for kind, count in zip(_KINDS, self.feature_counts(structure), strict=True):
            if kind in self.features_of and kind in other.features_of:
                found.append(self.features_of[kind].match(other.features_of[kind]))
            else:
                constant = kind not in SITE_PLACES
                found.append(np.full(count, 0 if constant else -1, dtype=np.int64))
        return tuple(found)
