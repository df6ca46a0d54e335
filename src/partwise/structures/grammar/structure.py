"""Weighted context-free grammars: a derivation of a sentence of T words.

The grammar is in Chomsky normal form: rules A -> B C, and *lexical* symbols that cover one word. A
chain of unary rules is to be a symbol of its own, so a word may be covered by any symbol that is
declared lexical. Every symbol has a *class*; by default it is alone in it.

Parts, in this order (P lexical symbols, Q classes, R rules, S start symbols):

    word     T x P                     lexical symbol p over word t
    span     allowed spans x Q         class of the symbol over words i .. j-1, two or more
    split    allowed (i, k, j)         where asked for: i..j is divided at k
    rule     R, tied                   how often each rule is used, T-1 rules in all
    root     S                         the symbol over the whole sentence

The papers take as parts all (A -> B C, i, k, j): O(T^3 R) numbers per sentence. Here their score is
factored, score(A -> B C) + score(i, j, class A) + score(i, k, j), which is O(R + T^2 Q + T^3): the
features of a rule do not see its position, those of a position see the class of its symbol. With
``anchored`` the parts are the papers' own: in place of splits and tied rules there is a site of
R parts for each allowed (i, k, j), which small grammars can afford.

A label is the int64 array of shape (2T-1, 4) whose rows (symbol, start, end, split) are the nodes
of the tree in pre-order; end is exclusive, split is where the right child begins and -1 for
a word.

The recursions are in ``oracles.py`` and ``search.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ..base import Sites, Structure
from ..steps import Steps
from .chart import cell_of, first_split, part_offsets, work_numbers
from .constraints import (
    GrammarConstraints,
    allowed_matrix,
    allowed_spans,
    allowed_splits,
    check_span,
    grammar_mask,
)
from .derivations import (
    Choice,
    Span,
    choices_of,
    confused_symbols,
    grammar_steps,
    read_rows,
    write_rows,
)
from .oracles import grammar_marginals
from .search import grammar_k_best, grammar_maximum, grammar_sample

#: Whether classes can be shared is decided on all pairs of symbols.
MAX_SYMBOLS: Final = 2**14


@final
class Grammar(Structure):
    """Derivations under a grammar.

    Parameters
    ----------
    n_symbols : int
        Symbols are the numbers 0 .. n_symbols-1.
    rules : sequence of (A, B, C)
        The binary rules A -> B C.
    lexical : sequence of int
        The symbols that can cover a word.
    starts : sequence of int
        The symbols that can cover a sentence.
    classes : sequence of int, optional
        The class of each symbol, numbered from 0; by default its own number.
    constituents : sequence of bool, optional
        For each class, whether its nodes are constituents, for the cost of an error: not so for
        symbols that only serve to make rules binary, nor for tags. By default the classes of
        all symbols that have rules.
    split : bool
        Whether the splits (i, k, j) have scores.
    anchored : bool
        Whether each rule has a score at each (i, k, j).
    """

    name: ClassVar[str] = "grammar"
    kinds = ("word", "span", "split", "rule", "root")
    marginals: ClassVar[Any] = grammar_marginals
    maximum: ClassVar[Any] = grammar_maximum

    def __init__(
        self,
        n_symbols: int,
        rules: Sequence[Sequence[int]],
        lexical: Sequence[int],
        starts: Sequence[int],
        classes: Sequence[int] | None = None,
        constituents: Sequence[bool] | None = None,
        split: bool = False,
        anchored: bool = False,
    ) -> None:
        if n_symbols > MAX_SYMBOLS:
            raise DataError(f"a grammar of {n_symbols} symbols; there can be {MAX_SYMBOLS}")
        self.n_labels = n_symbols
        self.rules = [(int(a), int(b), int(c)) for a, b, c in rules]
        self.lexical = [int(p) for p in lexical]
        self.starts = [int(s) for s in starts]
        self.classes = [int(q) for q in (range(n_symbols) if classes is None else classes)]
        self.split = bool(split)
        self.anchored = bool(anchored)
        self._check()
        self.n_classes = max(self.classes) + 1
        if constituents is None:
            inner = {self.classes[a] for a, _, _ in self.rules}
            constituents = [q in inner for q in range(self.n_classes)]
        self.constituents = [bool(flag) for flag in constituents]
        if len(self.constituents) != self.n_classes:
            raise DataError(
                f"constituents has {len(self.constituents)} flags for {self.n_classes} classes"
            )
        self._number = {rule: r for r, rule in enumerate(self.rules)}
        self._lexical_number = {p: number for number, p in enumerate(self.lexical)}
        self._start_number = {s: number for number, s in enumerate(self.starts)}
        self._parents: dict[tuple[int, int], list[int]] = defaultdict(list)
        for a, b, c in self.rules:
            self._parents[b, c].append(a)
        self._spec = self._make_spec()

    def _check(self) -> None:
        if not (self.rules and self.lexical and self.starts):
            raise DataError("a grammar needs at least one rule, lexical symbol and start symbol")
        if len(self.classes) != self.n_labels:
            raise DataError(f"{len(self.classes)} classes are given for {self.n_labels} symbols")
        if not 0 <= min(self.classes) <= max(self.classes) < self.n_labels:
            raise DataError(f"classes are numbered from 0 to at most {self.n_labels - 1}")
        named = {*self.lexical, *self.starts, *(symbol for rule in self.rules for symbol in rule)}
        for symbol in sorted(named):
            self._check_symbol(symbol)
        for what, held in (
            ("rules", self.rules),
            ("lexical symbols", self.lexical),
            ("starts", self.starts),
        ):
            if len(set(held)) != len(held):
                twice, _ = Counter(held).most_common(1)[0]
                raise DataError(f"the {what} name {twice} twice; give each once")
        if self.anchored and self.split:
            raise DataError("anchored rules see their split: give split or anchored, not both")
        if self.anchored or len(set(self.classes)) == self.n_labels:
            return
        pair = confused_symbols(
            np.array(self.rules), self.lexical, self.starts, np.array(self.classes)
        )
        if pair is not None:
            raise DataError(
                f"symbols {pair[0]} and {pair[1]} share class {self.classes[pair[0]]} and can "
                "stand over the same words: a derivation could not be read back from its "
                "brackets and classes; give them classes of their own, or use anchored=True"
            )

    def _check_symbol(self, symbol: int) -> None:
        if not 0 <= symbol < self.n_labels:
            raise DataError(f"symbol {symbol} is named; there are 0 to {self.n_labels - 1}")

    def _make_spec(self) -> Ints:
        rules = np.array(self.rules, dtype=np.int64)
        order = np.lexsort((rules[:, 0], rules[:, 2], rules[:, 1]))
        children = rules[order, 1:]
        first = np.flatnonzero(np.any(np.diff(children, axis=0, prepend=-1), axis=1))
        pairs = children[first]
        left_symbol, left_first = np.unique(pairs[:, 0], return_index=True)
        right_symbol, pair_right = np.unique(pairs[:, 1], return_inverse=True)
        head = [self.n_labels, len(self.lexical), self.n_classes, len(rules), len(self.starts)]
        head += [self.anchored, self.split, len(left_symbol), len(right_symbol), len(pairs)]
        arrays = [head, self.lexical, self.classes, self.starts, *rules.T]
        arrays += [left_symbol, left_first, [len(pairs)], right_symbol, pair_right.ravel(), first]
        arrays += [[len(rules)], order, rules[order, 0]]
        return np.concatenate([np.asarray(a, dtype=np.int64) for a in arrays])

    def constants(self) -> dict[str, Any]:
        """Return the arguments as given, with the defaults filled in."""
        return {
            "n_symbols": self.n_labels,
            "rules": [list(rule) for rule in self.rules],
            "lexical": self.lexical,
            "starts": self.starts,
            "classes": self.classes,
            "constituents": self.constituents,
            "split": self.split,
            "anchored": self.anchored,
        }

    @property
    def spec(self) -> Ints:
        """The grammar, as `chart.read_spec` takes it apart."""
        return self._spec

    @property
    def widths(self) -> tuple[int, ...]:
        return len(self.lexical), self.n_classes, int(self.split), len(self.rules), len(self.starts)

    def topology(self, shape: int | tuple[int, Iterable[tuple[int, int]]]) -> Ints:
        """Describe a sentence by its length T, or by (T, the allowed spans (i, j)).

        Words and the whole sentence are always allowed. The vector holds T, the numbers of spans
        and of splits, and for each (i, j) of two words or more, row by row, its number or -1 and
        how many splits come before its own.
        """
        length, allowed = (shape, None) if isinstance(shape, (int, np.integer)) else shape
        length = int(length)
        if length < 1:
            raise DataError(f"a sentence of {length} words has no derivation; at least 1 is needed")
        keep = np.full((length + 1, length + 1), allowed is None)
        for i, j in allowed or ():
            check_span(i, j, length)
            keep[i, j] = True
        keep[0, length] = True
        keep = np.triu(keep, 2) + np.eye(length + 1, k=1, dtype=bool)
        spans = np.triu_indices(length + 1, 2)
        kept = keep[spans]
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        # How many k are between i and j with both i..k and k..j allowed.
        splits = np.where(kept, (keep.astype(np.float64) @ keep)[spans], 0).astype(np.int64)
        first = np.cumsum(splits) - splits
        return np.concatenate([[length, kept.sum(), splits.sum()], number, first])

    def n_parts(self, topo: Ints) -> int:
        return int(part_offsets(self._spec, topo)[4])

    def work_size(self, topo: Ints) -> int:
        """Count the numbers in the inside and outside charts."""
        return work_numbers(self._spec, topo)

    def sites(self, topo: Ints) -> Sites:
        """List one site per word, allowed span and split, and one each for rules and root."""
        length, spans, splits = topo[:3].tolist()
        many = [length, spans, splits * self.split, splits if self.anchored else 1, 1]
        kind = np.repeat(np.arange(5), many)
        width = np.array(self.widths)[kind]
        uses = np.ones(len(kind), dtype=np.int64)
        if not self.anchored:
            uses[-2] = length - 1
        part = np.cumsum(width) - width
        return Sites(*(column.astype(np.int64) for column in (part, width, kind, uses)))

    def rivals(self, topo: Ints) -> Ints:
        # Spans of one length are the same or do not overlap, as none crosses another; a tree of T
        # words is divided once at each of the T - 1 places between them.
        found, length, n_spans = super().rivals(topo), int(topo[0]), int(topo[1])
        begin, end = allowed_spans(topo).T
        found[:, length : length + n_spans] = end - begin, begin, end, 0 * begin + length - 1
        if self.split or self.anchored:
            at = allowed_splits(topo)[:, 1]
            found[:, length + n_spans :][:, : len(at)] = 0 * at, at, at + 1, 0 * at + length - 1
        return found

    def steps(self, topo: Ints) -> Steps:
        return grammar_steps(self, topo)

    def encode(self, label: Ints, topo: Ints) -> tuple[Ints, Floats]:
        held = Counter(part for parts in self.node_parts(label, topo).values() for part in parts)
        parts = np.array(sorted(held), dtype=np.int64)
        return parts, np.array([held[part] for part in parts.tolist()], dtype=np.float64)

    def node_parts(self, label: Ints, topo: Ints) -> dict[Span, list[int]]:
        """Return the parts of each node of a derivation, by its span (start, end).

        The symbol of the node is its first part; that of the root belongs to the whole sentence.
        """
        length = int(topo[0])
        root, words, steps = read_rows(label, length, self._number)
        span_at, split_at, rule_at, root_at, _ = part_offsets(self._spec, topo)
        held: dict[Span, list[int]] = {}
        for t, symbol in enumerate(words):
            if symbol not in self._lexical_number:
                raise DataError(f"word {t} is covered by symbol {symbol}, which is not lexical")
            held[t, t + 1] = [t * len(self.lexical) + self._lexical_number[symbol]]
        if root not in self._start_number:
            raise DataError(f"a sentence is covered by symbol {root}, which is not a start symbol")
        keep = allowed_matrix(topo)
        for i, k, j, rule in steps:
            for a, b in ((i, j), (i, k), (k, j)):
                if not keep[a, b]:
                    raise DataError(f"a derivation has the span ({a}, {b}), which is not allowed")
            span = cell_of(topo, i, j) - length
            mine = [span_at + span * self.n_classes + self.classes[self.rules[rule][0]]]
            split = first_split(topo, i, j) + int((keep[i, :k] & keep[:k, j]).sum())
            if self.split:
                mine.append(split_at + split)
            mine.append(rule_at + rule + (split * len(self.rules) if self.anchored else 0))
            held[i, j] = mine
        held[0, length].append(root_at + self._start_number[root])
        return held

    def decode(self, mu: Floats, topo: Ints) -> Ints:
        """Return the tree whose parts have the counts mu; no rows if mu counts nothing."""
        length = int(topo[0])
        span_at, split_at, rule_at, root_at, end = part_offsets(self._spec, topo)
        roots = np.flatnonzero(mu[root_at:end] > 0.5)
        if len(roots) == 0:
            return np.zeros((0, 4), dtype=np.int64)
        root = self.starts[roots[0]]
        if self.anchored:
            choices = self._anchored_choices(mu[rule_at:root_at], topo)
        else:
            words = mu[:span_at].reshape(length, -1).argmax(axis=1)
            numbers, classes = np.nonzero(mu[span_at:split_at].reshape(-1, self.n_classes) > 0.5)
            spans = map(tuple, allowed_spans(topo)[numbers].tolist())
            choices = choices_of(
                [self.lexical[p] for p in words.tolist()],
                dict(zip(spans, classes.tolist(), strict=True)),
                self._parents,
                self.classes,
            )
        return write_rows(root, length, choices)

    def _anchored_choices(self, mu: Floats, topo: Ints) -> dict[Span, Choice]:
        """Return the only choice at each span, read off the rules."""
        choices: dict[Span, Choice] = {}
        numbers, rules = np.nonzero(mu.reshape(-1, len(self.rules)) > 0.5)
        for (i, k, j), r in zip(
            allowed_splits(topo)[numbers].tolist(), rules.tolist(), strict=True
        ):
            parent, left, right = self.rules[r]
            choices[i, j] = k, {parent: (left, right)}
        return choices

    def part_cost(self, label: Ints, topo: Ints, matrix: Floats | None) -> Floats:
        """Charge 1 for each (class, start, end) that the right tree does not have.

        Only the classes of `constituents` count, over a word as over a longer span.
        """
        if matrix is not None:
            raise DataError(
                "the cost of a derivation counts its wrong constituents; it takes no matrix"
            )
        length = int(topo[0])
        _, words, steps = read_rows(label, length, self._number)
        span_at, split_at, *_ = part_offsets(self._spec, topo)
        counted = np.array(self.constituents, dtype=np.float64)
        cost = np.zeros(self.n_parts(topo))
        classes = np.array(self.classes)[self.lexical]
        right = np.array(self.classes)[words]
        over_words = counted[classes] * (classes != right[:, None])
        cost[:span_at] = over_words.ravel()
        over_spans = cost[span_at:split_at].reshape(-1, self.n_classes)
        over_spans[:] = counted
        for i, _, j, rule in steps:
            over_spans[cell_of(topo, i, j) - length, self.classes[self.rules[rule][0]]] = 0.0
        return cost

    def mask(self, topo: Ints, constraints: GrammarConstraints) -> Floats:
        return grammar_mask(self, topo, constraints)

    def constraints_to_json(self, constraints: Any) -> Any:
        """Return the forbidden symbols; all else belongs to single sentences."""
        if not isinstance(constraints, GrammarConstraints):
            return super().constraints_to_json(constraints)
        return {"symbols": [int(symbol) for symbol in constraints.symbols]}

    def constraints_from_json(self, data: Any) -> Any:
        symbols = data.get("symbols") if isinstance(data, dict) and len(data) == 1 else None
        if not isinstance(symbols, list) or not all(type(symbol) is int for symbol in symbols):
            raise DataError(f"the constraints of a grammar must name symbols: {data!r}")
        for symbol in symbols:
            self._check_symbol(symbol)
        return GrammarConstraints(symbols=symbols)

    def k_best(self, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
        """Search best-first down the chart of best scores."""
        theta = np.ascontiguousarray(theta, dtype=np.float64)
        return grammar_k_best(self._spec, topo, theta, k)

    def sample(self, theta: Floats, topo: Ints, size: int, rng: np.random.Generator) -> list[Ints]:
        """Draw from the root down, each step by its share of the inside chart."""
        theta = self._drawable(theta, topo)
        return grammar_sample(self._spec, topo, theta, rng.random((size, int(topo[0]))))
