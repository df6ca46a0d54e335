"""Which spans and symbols a derivation may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from .chart import cell_of, first_split, part_offsets


class GrammarConstraints(NamedTuple):
    """Hard constraints on derivations; spans are (i, j) with j exclusive.

    ``spans`` of two words or more are forbidden. ``brackets`` hold (i, j), which must be a node of
    the tree, or (i, j, symbols), which must be a node with one of these symbols. ``symbols`` are
    forbidden everywhere. ``words`` holds, for some words, the only lexical symbols allowed there,
    so a tagged sentence fixes its tags.
    """

    spans: Sequence[tuple[int, int]] = ()
    brackets: Sequence[Any] = ()
    symbols: Sequence[int] = ()
    words: Sequence[tuple[int, Sequence[int]]] = ()


class _Grammar(Protocol):
    rules: list[tuple[int, int, int]]
    lexical: list[int]
    classes: list[int]
    n_labels: int
    n_classes: int
    anchored: bool

    @property
    def spec(self) -> Ints: ...


def check_span(i: int, j: int, length: int) -> None:
    """Raise a DataError for a span that is not in the sentence."""
    if not 0 <= i < j <= length:
        raise DataError(
            f"span ({i}, {j}) is not in a sentence of {length} words: 0 <= i < j <= {length}"
        )


def allowed_matrix(topo: Ints) -> npt.NDArray[np.bool_]:
    """Return whether i..j is a word or an allowed span, for all i and j."""
    length = int(topo[0])
    keep = np.eye(length + 1, k=1, dtype=bool)
    spans = np.triu_indices(length + 1, 2)
    keep[spans] = topo[3 : 3 + len(spans[0])] >= 0
    return keep


def allowed_spans(topo: Ints) -> Ints:
    """Return the allowed spans (i, j) of two words or more, in the order of their numbers."""
    return np.argwhere(np.triu(allowed_matrix(topo), 2))


def allowed_splits(topo: Ints) -> Ints:
    """Return the splits (i, k, j), in the order of their numbers."""
    keep = allowed_matrix(topo)
    by_end = np.argwhere(np.triu(keep, 2)[:, :, None] & keep[:, None, :] & keep.T[None])
    return by_end[:, [0, 2, 1]]


class _Mask:
    """A mask over the parts, and its parts by kind."""

    def __init__(self, grammar: _Grammar, topo: Ints) -> None:
        self.grammar, self.topo, self.length = grammar, topo, int(topo[0])
        span_at, split_at, rule_at, root_at, end = part_offsets(grammar.spec, topo)
        self.all = np.zeros(end)
        self.words = self.all[:span_at].reshape(self.length, -1)
        self.spans = self.all[span_at:split_at].reshape(-1, grammar.n_classes)
        self.rules = self.all[rule_at:root_at].reshape(-1, len(grammar.rules))

    def forbid_symbol(self, symbol: int) -> None:
        self.check_symbols([symbol])
        self.words[:, [p == symbol for p in self.grammar.lexical]] = -np.inf
        self.rules[:, [symbol in rule for rule in self.grammar.rules]] = -np.inf

    def forbid_span(self, i: int, j: int) -> None:
        check_span(i, j, self.length)
        if j == i + 1:
            raise DataError(f"word {i} cannot be forbidden as a span: every word is a node")
        cell = cell_of(self.topo, i, j)
        if cell >= 0:
            self.spans[cell - self.length] = -np.inf

    def fix_word(self, t: int, symbols: Sequence[int]) -> None:
        check_span(t, t + 1, self.length)
        self.check_symbols(symbols)
        self.words[t, [p not in symbols for p in self.grammar.lexical]] = -np.inf

    def fix_bracket(self, i: int, j: int) -> None:
        """Require a bracket: in a binary tree, a span that no other span crosses is a node."""
        check_span(i, j, self.length)
        a, b = allowed_spans(self.topo).T
        crossing = ((a < i) & (i < b) & (b < j)) | ((i < a) & (a < j) & (j < b))
        self.spans[crossing] = -np.inf

    def fix_symbols(self, i: int, j: int, symbols: Sequence[int]) -> None:
        if j == i + 1:
            self.fix_word(i, symbols)
            return
        self.check_symbols(symbols)
        grammar, cell = self.grammar, cell_of(self.topo, i, j)
        if cell < 0:
            return
        others = [rule[0] not in symbols for rule in grammar.rules]
        if grammar.anchored:
            keep = allowed_matrix(self.topo)
            at = first_split(self.topo, i, j)
            self.rules[at : at + int((keep[i] & keep[:, j]).sum()), others] = -np.inf
            return
        wanted = {grammar.classes[a] for a in symbols}
        for rule in grammar.rules:
            if rule[0] not in symbols and grammar.classes[rule[0]] in wanted:
                raise DataError(
                    f"the bracket ({i}, {j}) allows some symbols of class "
                    f"{grammar.classes[rule[0]]} and not symbol {rule[0]}, but spans are scored "
                    "by class: allow it too, or use anchored=True"
                )
        self.spans[
            cell - self.length, [q not in wanted for q in range(grammar.n_classes)]
        ] = -np.inf

    def check_symbols(self, symbols: Sequence[int]) -> None:
        for symbol in symbols:
            if not 0 <= symbol < self.grammar.n_labels:
                raise DataError(
                    f"the constraints name symbol {symbol}; there are 0 to "
                    f"{self.grammar.n_labels - 1}"
                )


def grammar_mask(grammar: _Grammar, topo: Ints, constraints: GrammarConstraints) -> Floats:
    """Return the mask over the parts of a sentence: 0 for allowed, -inf for forbidden."""
    mask = _Mask(grammar, topo)
    for symbol in constraints.symbols:
        mask.forbid_symbol(symbol)
    for i, j in constraints.spans:
        mask.forbid_span(i, j)
    for t, symbols in constraints.words:
        mask.fix_word(t, symbols)
    for i, j, *symbols in constraints.brackets:
        mask.fix_bracket(i, j)
        if symbols:
            mask.fix_symbols(i, j, symbols[0])
    return mask.all
