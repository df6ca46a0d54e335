"""What users gave: the words at each position, and the names that were hashed to slots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Ints
from ..models.hashed_names import hashed_numbers, mixed
from ..models.vocabulary import Vocabulary, fit_rows
from ..problem.rows import Rows, is_matrix
from ..tasks.constituency.tokens import encode
from ..tasks.graph.factor_features import read_rows
from ..tasks.sequences.column_file import ColumnFile
from ..tasks.sequences.segment_functions import function_of
from ..tasks.sequences.sources import Sequences, Table
from ..tasks.sequences.token_text import attribute_words, token_words
from ..tasks.sequences.tokens import made_tokens
from .feature_names import columns

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["GivenText", "given_text"]

_Some = Callable[[Sequence[int]], list[str]]


@dataclass(frozen=True)
class GivenText:
    """The examples of a user.

    Attributes
    ----------
    examples
        The examples after reading, as `Features.read` returned them.
    words : list of sequences of str
        The words of each example; empty where they are not known.
    behind : mapping of int to callable
        For each kind of site with hashed features a function of the number of an example, the row
        of a site (see `Entries.row`) and some slots, which returns the names that were hashed to
        each of them there.
    """

    examples: Any
    words: list[Sequence[str]]
    behind: Mapping[int, Callable[[int, int, Sequence[int]], list[list[str]]]]


def given_text(model: Model, examples: Any, more: Mapping[str, Any]) -> GivenText:
    """Read examples and note what can be shown of them."""
    features: Any = model.features
    if features.name in ("positions", "segments"):
        return _of_tokens(model, examples, more)
    read = features.read(model.structure, examples, **more)
    words: list[Sequence[str]] = []
    behind: dict[int, Any] = {}
    if features.name == "arcs":
        words = [sentence.form for sentence in read]
        table = features.arc_table
        if table.n_hashed:
            behind[0] = _Keys(table, [partial(table.slot_keys, one) for one in read])
    elif features.name == "spans":
        words = [sentence.words for sentence in read]
        for kind, held in enumerate(features.features_of.values()):
            if held.n_hashed:
                tokens = partial(_span_keys, held)
                behind[kind] = _Keys(held, [partial(tokens, one) for one in read])
    elif features.name == "graphs":
        for kind, (name, held) in enumerate(features.kinds.items()):
            if held.n_hashed and held.n_inputs is not None:
                behind[kind] = _of_factor(name, held, read)
    return GivenText(read, words, behind)


def _span_keys(table: Any, sentence: Any) -> tuple[Ints, Ints]:
    found: tuple[Ints, Ints] = table.slot_keys(encode([sentence], table.vocabularies))
    return found


class _Keys:
    """The names of the features of arcs or spans, found by their keys."""

    def __init__(self, table: Any, keys: Sequence[Callable[[], tuple[Ints, Ints]]]) -> None:
        self._table, self._make, self._example = table, keys, -1
        self._known: dict[int, list[str]] = {}

    def __call__(self, example: int, row: int, slots: Sequence[int]) -> list[list[str]]:
        if example != self._example:
            keys, owner = self._make[example]()
            order = np.argsort(owner, kind="stable")
            self._keys, self._slots = keys[order], owner[order]
            self._example, self._known = example, {}
        new = np.array([slot for slot in slots if slot not in self._known], dtype=np.int64)
        if len(new):
            ends = np.searchsorted(self._slots, [new, new + 1]).T.tolist()
            keys = np.concatenate([self._keys[first:last] for first, last in ends])
            names = iter(self._table.describe_keys(keys))
            for slot, (first, last) in zip(new.tolist(), ends, strict=True):
                self._known[slot] = [*islice(names, last - first)]
        return [self._known[slot] for slot in slots]


class _Named:
    """The names of rows of features before they were hashed."""

    def __init__(self, rows: Rows, slots: Any, names: _Some, copies: int = 1) -> None:
        self._rows, self._slots, self._names, self._copies = rows, slots, names, copies

    def __call__(self, example: int, row: int, slots: Sequence[int]) -> list[list[str]]:
        a, b = self._rows.indptr[row // self._copies :][:2].tolist()
        numbers = self._rows.indices[a:b]
        own = self._slots[numbers]
        return [self._names(numbers[own == slot].tolist()) for slot in slots]


def _hashed(rows: Rows, names: Vocabulary | None, known: Any, n: int, copies: int = 1) -> _Named:
    """Return the names behind the slots of rows, which have names or only numbers."""
    if names is None:
        slots = hashed_numbers(mixed(np.arange(rows.n_features)), n)
        return _Named(rows, slots, columns, copies)
    return _Named(rows, known.find(names.names), names.some, copies)


def _of_factor(kind: str, held: Any, graphs: Any) -> _Named:
    copies = 2 if held.symmetric else 1
    if held.vocabulary is None:
        rows, _ = read_rows(kind, graphs, held)
        assert rows is not None
        return _hashed(rows, None, None, held.n_hashed, copies)
    rows, names = read_rows(kind, graphs, None)
    assert rows is not None
    return _hashed(rows, names, held.vocabulary, held.n_hashed, copies)


def _of_tokens(model: Model, examples: Any, more: Mapping[str, Any]) -> GivenText:
    features: Any = model.features
    positions = features if features.name == "positions" else features.positions
    known = dict(more)
    lengths, steps = known.pop("lengths", None), known.pop("X_transitions", None)
    source: Any = examples
    if model.structure.name == "multiclass" and is_matrix(examples):
        source = Table(examples.tocsr() if hasattr(examples, "tocsr") else np.asarray(examples))
    elif not hasattr(examples, "tally"):
        source = positions.source(_listed(examples), lengths, steps)
    read = features.read(model.structure, source, **known)
    behind: dict[int, Any] = {}
    if positions.n_hashed:
        behind = _behind_tokens(model, features, positions, source, read)
    return GivenText(read, _words(source), behind)


def _listed(examples: Any) -> Any:
    """Return an iterator of sequences as a list, which can be read more than once."""
    if hasattr(examples, "__next__"):
        examples = list(examples)
    if isinstance(examples, list):
        return [list(item) if hasattr(item, "__next__") else item for item in examples]
    return examples


def _behind_tokens(
    model: Model, features: Any, positions: Any, source: Any, read: Any
) -> dict[int, Any]:
    tokens = read if features is positions else read.positions
    n, found = positions.n_hashed, {}
    if positions.vocabulary is None:
        found[0] = _hashed(tokens.rows, None, None, n)
        if tokens.transitions is not None:
            found[1] = _hashed(tokens.transitions, None, None, n)
    elif isinstance(source, (ColumnFile, Sequences)):
        raw = _unhashed(source, positions)
        found[0] = _hashed(raw.rows, raw.vocabulary, positions.vocabulary, n)
        if raw.transitions is not None:
            known = positions.transition_vocabulary
            found[1] = _hashed(raw.transitions, raw.transition_vocabulary, known, n)
    make = (
        function_of(features.segment_features, features.function)
        if features is not positions
        else None
    )
    if make is not None and features.segment_vocabulary is not None:
        structure: Any = model.structure
        sequences = (
            [make(of, a, b) for a, b in structure.segments(structure.topology(length)).tolist()]
            for of, length in zip(read.tokens, read.lengths.tolist(), strict=True)
        )
        rows, names, _ = fit_rows(sequences)
        found[1] = _hashed(rows, names, features.segment_vocabulary, n)
    return found


def _unhashed(source: ColumnFile | Sequences, positions: Any) -> Any:
    """Return the tokens of a source with the names of their features."""
    if isinstance(source, ColumnFile):
        if source.by_name or positions.templates is None:
            return source.tokens()
        return made_tokens(source.columns, positions.templates)
    return replace(source, templates=None, separator=positions.vocabulary.separator).tokens()


def _words(source: Any) -> list[Sequence[str]]:
    if isinstance(source, ColumnFile):
        named = source.columns.attributes
        if named is not None:
            return list(source.columns.split(attribute_words(named)))
        return list(source.words())
    if not isinstance(source, Sequences) or source.lengths is not None:
        return []
    return [token_words(sequence) for sequence in source.X]
