"""The features of the words, spans and splits of trees, counted as batches of trees come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...arrays import Ints
from ...models.vocabulary import Vocabulary
from .templates import COLUMNS, SITE_PLACES, TEMPLATE_SHIFT, Template, read_templates
from .tokens import MARKS, Places, SpanSentence, code_sentences, places_of, site_keys

__all__ = ["SpanCounts"]


class _Keys:
    """The sorted keys of the features of one template, and how often each occurs."""

    def __init__(self) -> None:
        self.keys, self.counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[Ints] = []

    def add(self, keys: Ints) -> None:
        """Count some more sites; the key of one without the feature is negative."""
        self._waiting.append(keys[keys >= 0])
        # As many new keys as old ones: the sorting is then shared by all of them.
        if sum(map(len, self._waiting)) > len(self.keys):
            self.merge()

    def merge(self) -> None:
        """Sort what has come since the last time."""
        new, counts = np.unique(
            np.concatenate([*self._waiting, np.zeros(0, np.int64)]), return_counts=True
        )
        self._waiting = []
        self.join(new, counts)

    def join(self, new: Ints, counts: Ints) -> None:
        """Add distinct keys that were counted elsewhere."""
        every = np.concatenate([self.keys, new])
        self.keys, place = np.unique(every, return_inverse=True)
        found = np.zeros(len(self.keys), np.int64)
        np.add.at(found, place, np.concatenate([self.counts, counts]))
        self.counts = found


class SpanCounts:
    """The values of columns and the features of sites that occur in the trees so far.

    Parameters
    ----------
    templates : mapping of str to sequence of str
        For "word", "span" and, if splits are to have features, "split".
    tagged : bool
        Whether tags are looked at.
    listed : bool
        Whether features are counted; otherwise only the values of columns are kept.
    """

    def __init__(
        self, templates: Mapping[str, Sequence[str]], tagged: bool, listed: bool = True
    ) -> None:
        # The compiler is not needed to read a model.
        from ...models.name_table import NameTable

        self.templates = {kind: tuple(texts) for kind, texts in templates.items()}
        self.tagged, self._listed = tagged, listed
        self._tables = [NameTable() for _ in COLUMNS]
        self._atoms = self._read()
        self._keys = {kind: [_Keys() for _ in texts] for kind, texts in self.templates.items()}

    def _read(self) -> dict[str, tuple[Template, ...]]:
        n_codes = [len(table) + len(MARKS) for table in self._tables]
        return {
            kind: read_templates(texts, n_codes, SITE_PLACES[kind])
            for kind, texts in self.templates.items()
        }

    def add(self, sentences: Sequence[SpanSentence], derivations: Sequence[Ints]) -> None:
        """Count the features of some more trees.

        Parameters
        ----------
        sentences : sequence of SpanSentence
            The sentences.
        derivations : sequence of ndarray of shape (2T - 1, 4)
            For each sentence, as `treebank.to_derivation` returns it. The symbols are not looked
            at.
        """
        find = [table.add for table in self._tables]
        if not self.tagged:
            find[COLUMNS.index("tag")] = self._tables[COLUMNS.index("tag")].find
        tokens = code_sentences(sentences, find)
        self._widen()
        if not self._listed or not len(sentences):
            return
        rows = np.concatenate(
            [rows[:, 1:] + at for rows, at in zip(derivations, tokens.first, strict=True)]
        )
        # The split of a word is -1, which stands before the first position now.
        long = np.concatenate([rows[:, 3] >= 0 for rows in derivations])
        first, end, split = rows[long].T
        inner = Places(first, end - 1, split - 1, split)
        words = places_of(tokens, slice(None), "word")
        for kind, templates in self._atoms.items():
            gold = words if kind == "word" else inner
            for number, template in enumerate(templates):
                self._keys[kind][number].add(site_keys(template, number, tokens, gold))

    def join(self, other: SpanCounts) -> None:
        """Add the counts of the trees that come next.

        Parameters
        ----------
        other : SpanCounts
            Made with the same arguments. It is not used any more.
        """
        marks = np.arange(len(MARKS))
        codes = [
            np.append(marks, here.join(there) + len(MARKS)).astype(np.int64)
            for here, there in zip(self._tables, other._tables, strict=True)
        ]
        self._widen()
        for kind, several in other._keys.items():
            templates = zip(other._atoms[kind], self._atoms[kind], strict=True)
            for number, (held, (old, new)) in enumerate(zip(several, templates, strict=True)):
                held.merge()
                keys = _widened(old, new, number, held.keys, codes)
                self._keys[kind][number].join(keys, held.counts)

    def _widen(self) -> None:
        """Make room in the keys for the codes of values that are new; their order is kept."""
        atoms = self._read()
        for kind, templates in atoms.items():
            for number, (old, new) in enumerate(zip(self._atoms[kind], templates, strict=True)):
                if old != new:
                    held = self._keys[kind][number]
                    held.merge()
                    held.keys = _widened(old, new, number, held.keys)
        self._atoms = atoms

    def finish(self, min_count: int) -> tuple[tuple[Vocabulary, ...], dict[str, Ints]]:
        """Return the values of each column, and for each kind the keys of the features to keep.

        Parameters
        ----------
        min_count : int
            At how many words, spans or splits a feature must occur.
        """
        kept: dict[str, Ints] = {}
        for kind, several in self._keys.items():
            for held in several:
                held.merge()
            some = [held.keys[held.counts >= min_count] for held in several]
            kept[kind] = np.concatenate([*some, np.zeros(0, np.int64)])
        return tuple(table.finish() for table in self._tables), kept


def _widened(
    old: Template, new: Template, number: int, keys: Ints, codes: Sequence[Ints] | None = None
) -> Ints:
    """Return the keys of a template with more bits for the values of some atoms, or other codes."""
    rest = keys & ((1 << TEMPLATE_SHIFT) - 1)
    made = np.zeros(len(keys), np.int64)
    shift = 0
    for before, after in zip(reversed(old), reversed(new), strict=True):
        own = rest & ((1 << before.bits) - 1)
        if codes is not None and before.column >= 0:  # a length is no code
            own = codes[before.column][own]
        made |= own << shift
        rest = rest >> before.bits
        shift += after.bits
    return made | (number << TEMPLATE_SHIFT)
