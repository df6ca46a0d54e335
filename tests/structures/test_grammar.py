from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st
from support.grammars import dense_grammar, derivations, random_grammar, rows_of, spans_of
from support.laws import Instance, Label, StructureLaws, close, draw_scores, largest, law, log_sum

from partwise.arrays import Floats, Ints
from partwise.structures.base import Structure
from partwise.structures.grammar import logspace as grammar_log
from partwise.structures.grammar import oracles as grammar_kernels
from partwise.structures.grammar.structure import Grammar, GrammarConstraints


@st.composite
def grammars(draw: Any) -> Instance:
    kind = draw(st.sampled_from(["tied", "split", "anchored"]))
    grammar = None
    while grammar is None:
        grammar = random_grammar(
            draw(st.integers(0, 5000)),
            draw(st.integers(1, 4)),
            draw(st.integers(1, 7)),
            draw(st.booleans()),
            kind == "split",
            kind == "anchored",
        )
        length = draw(st.integers(1, 6))
        shape: Any = length
        if draw(st.booleans()):
            rng = np.random.default_rng(draw(st.integers(0, 100)))
            pairs = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
            shape = (length, tuple(pair for pair in pairs if rng.random() < 0.8))
        topo = grammar.topology(shape) if grammar else np.zeros(0)
        if grammar and not 1 <= n_derivations(grammar, topo) <= 400:
            grammar = None
    return grammar, topo


def n_derivations(grammar: Grammar, topo: Ints) -> float:
    """Count them by a plain inside recursion."""
    length, spans = int(topo[0]), spans_of(topo)
    many: dict[Any, float] = {}
    for t in range(length):
        for a in grammar.lexical:
            many[a, t, t + 1] = 1.0
    for d in range(2, length + 1):
        for i in range(length - d + 1):
            if (i, i + d) in spans:
                for a, b, c in grammar.rules:
                    for k in range(i + 1, i + d):
                        more = many.get((b, i, k), 0.0) * many.get((c, k, i + d), 0.0)
                        many[a, i, i + d] = many.get((a, i, i + d), 0.0) + more
    return sum(many.get((s, 0, length), 0.0) for s in grammar.starts)


class TestGrammar(StructureLaws):
    def instances(self) -> st.SearchStrategy[Instance]:
        return grammars()

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        assert isinstance(structure, Grammar)
        return [tuple(x for row in tree for x in row) for tree in derivations(structure, topo)]

    def array(self, structure: Structure, topo: Ints, label: Label) -> Ints:
        return np.array(label, dtype=np.int64).reshape(-1, 4)

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        assert isinstance(structure, Grammar)
        length, spans = int(topo[0]), sorted(spans_of(topo))
        allowed = {*spans, *pairwise(range(length + 1))}
        splits = [
            (i, k, j)
            for i, j in spans
            for k in range(i + 1, j)
            if (i, k) in allowed and (k, j) in allowed
        ]
        n_classes, n_rules = max(structure.classes) + 1, len(structure.rules)
        span_at = length * len(structure.lexical)
        split_at = span_at + len(spans) * n_classes
        rule_at = split_at + (len(splits) if structure.split else 0)
        root_at = rule_at + n_rules * (len(splits) if structure.anchored else 1)
        rows = rows_of(label)
        symbol = {(i, j): a for a, i, j, _ in rows}
        parts = [root_at + structure.starts.index(symbol[0, length])]
        for a, i, j, k in rows:
            if k < 0:
                parts.append(i * len(structure.lexical) + structure.lexical.index(a))
                continue
            parts.append(span_at + spans.index((i, j)) * n_classes + structure.classes[a])
            number = splits.index((i, k, j))
            if structure.split:
                parts.append(split_at + number)
            rule = structure.rules.index((a, symbol[i, k], symbol[k, j]))
            parts.append(rule_at + rule + (number * n_rules if structure.anchored else 0))
        return parts

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[Any]:
        assert isinstance(structure, Grammar)
        length = int(topo[0])
        symbol = st.integers(0, structure.n_labels - 1)
        place = st.integers(0, length - 1)
        pair = st.tuples(place, place).map(lambda d: (min(d), max(d) + 1))
        # All the symbols of a class, so that brackets can be fixed whatever the parts are.
        closed = st.lists(symbol, max_size=3).map(
            lambda d: [
                a
                for a in range(structure.n_labels)
                if structure.classes[a] in {structure.classes[b] for b in d}
            ]
        )
        bracket = st.one_of(pair, st.tuples(pair, closed).map(lambda d: (*d[0], d[1])))
        return st.builds(
            GrammarConstraints,
            spans=st.lists(pair.filter(lambda d: d[1] - d[0] > 1), max_size=2)
            if length > 1
            else st.just(()),
            brackets=st.lists(bracket, max_size=2),
            symbols=st.lists(symbol, max_size=1),
            words=st.lists(st.tuples(place, st.lists(symbol, min_size=1)), max_size=2),
        )

    def permitted(self, structure: Structure, topo: Ints, label: Label, rules: Any) -> bool:
        symbol = {(i, j): a for a, i, j, _ in rows_of(label)}
        return (
            not any(span in symbol for span in rules.spans)
            and all((i, j) in symbol for i, j, *_ in rules.brackets)
            and all(symbol[i, j] in only[0] for i, j, *only in rules.brackets if only)
            and not set(symbol.values()) & set(rules.symbols)
            and all(symbol[t, t + 1] in only for t, only in rules.words)
        )

    def impossible(self, structure: Structure, topo: Ints) -> Any:
        return GrammarConstraints(words=[(0, [])])

    def matrix(self, structure: Structure, rng: np.random.Generator) -> None:
        return None

    def cost(
        self, structure: Structure, topo: Ints, gold: Label, label: Label, matrix: Floats | None
    ) -> float:
        assert isinstance(structure, Grammar)
        right = {(structure.classes[a], i, j) for a, i, j, _ in rows_of(gold)}
        predicted = [(structure.classes[a], i, j) for a, i, j, _ in rows_of(label)]
        return sum(structure.constituents[c[0]] and c not in right for c in predicted)

    @law(120)
    def test_log_space_agrees_with_linear_weights(self, data: st.DataObject) -> None:
        structure, topo, table, theta = self.draw(data, "small", "large", "tiny", "steep", "masked")
        log_z, mu = in_log_space(structure, topo, theta)
        close(log_z, log_sum(table.scores(theta)))
        again, expected = structure.expected_parts(theta, topo)
        close(again, log_z)
        if log_z > -np.inf:
            close(mu, expected)


def in_log_space(grammar: Structure, topo: Ints, theta: Floats) -> tuple[float, Floats]:
    mu = np.zeros(grammar.n_parts(topo))
    work = np.empty(grammar.work_size(topo))
    return float(grammar_log.log_marginals(grammar.spec, topo, theta, mu, work)), mu


def is_scaled(grammar: Grammar, topo: Ints, theta: Floats) -> bool:
    """Whether the linear weights are accepted as right."""
    work = np.empty(grammar.work_size(topo))
    return bool(np.isfinite(grammar_kernels._scaled(grammar.spec, topo, theta, np.empty(0), work)))


def chain_like(split: bool = False) -> Grammar:
    """Two components, {0} and {1}, that never mix: label t of either may be far ahead."""
    return Grammar(2, [(0, 0, 0), (1, 1, 1)], [0, 1], [0, 1], split=split)


def check(grammar: Grammar, topo: Ints, theta: Floats, scaled: bool | None = None) -> None:
    """Compare the oracle with log space, which the laws compare with enumeration."""
    if scaled is not None:
        assert is_scaled(grammar, topo, theta) == scaled
    log_z, mu = in_log_space(grammar, topo, theta)
    got, got_mu = grammar.expected_parts(theta, topo)
    # Rounding grows with the scores.
    scale = 1e-3 * max(1.0, largest(theta)) * float(topo[0])
    close(got, log_z, scale)
    close(got_mu, mu, scale)
    close(grammar.log_partition(theta, topo), got)


@pytest.mark.parametrize("split", [False, True])
def test_a_flushed_symbol_comes_back(split: bool) -> None:
    # Symbol 1 loses 100 nats on each of 8 words and regains 300 on each of 3 later ones.
    grammar = chain_like(split)
    topo = grammar.topology(12)
    theta = np.zeros(grammar.n_parts(topo))
    words = theta[:24].reshape(12, 2)
    words[:8, 1] = -100.0
    words[9:, 0] = -300.0
    check(grammar, topo, theta, scaled=False)
    words[11, 0] = 0.0
    check(grammar, topo, theta, scaled=True)


def test_a_symbol_flushed_at_one_word_comes_back_at_the_root() -> None:
    grammar = chain_like()
    topo = grammar.topology(6)
    theta = np.zeros(grammar.n_parts(topo))
    for loss, scaled in ((600.0, True), (650.0, False), (800.0, False), (2000.0, False)):
        theta[1], theta[-1] = -loss, loss
        check(grammar, topo, theta, scaled)


def test_a_span_whose_every_weight_underflows() -> None:
    # No class, rule or split of the span is cheap together with the others.
    grammar = Grammar(3, [(0, 1, 1), (1, 2, 2), (0, 0, 0)], [0, 1, 2], [0])
    topo = grammar.topology(4)
    rng = np.random.default_rng(0)
    for _ in range(200):
        theta = rng.choice([-700.0, -350.0, 0.0, 350.0], grammar.n_parts(topo))
        check(grammar, topo, theta)


@pytest.mark.parametrize("scale", [3.0, 30.0, 100.0, 300.0, 700.0, 1500.0])
def test_long_sentences_with_scores_of_any_size(scale: float) -> None:
    rng = np.random.default_rng(int(scale))
    for _ in range(30):
        grammar = None
        while grammar is None:
            grammar = random_grammar(int(rng.integers(1e6)), 4, 9, False, rng.random() < 0.5, False)
        topo = grammar.topology(int(rng.integers(2, 16)))
        theta = rng.uniform(-scale, scale, grammar.n_parts(topo))
        if rng.random() < 0.5:
            theta *= rng.random(len(theta)) < rng.choice([0.02, 0.1, 0.3])
        theta[rng.random(len(theta)) < rng.choice([0.0, 0.1])] = -np.inf
        check(grammar, topo, theta)


def test_ordinary_scores_stay_linear() -> None:
    rng = np.random.default_rng(0)
    grammar = dense_grammar(12, 60)
    for length in (1, 2, 30):
        topo = grammar.topology(length)
        check(grammar, topo, rng.uniform(-5.0, 5.0, grammar.n_parts(topo)), scaled=True)


def plain(grammar: Grammar, length: int, theta: Floats) -> tuple[float, Floats]:
    """Inside-outside with NumPy: probabilities of cells from the top down."""
    n, n_classes = grammar.n_labels, grammar.n_classes
    rules = np.array(grammar.rules)
    classes = np.array(grammar.classes)
    chart: dict[tuple[int, int], npt.NDArray[Any]] = {}
    words = theta[: length * len(grammar.lexical)].reshape(length, -1)
    at = words.size
    spans, span_parts = {}, {}
    for i in range(length):
        for j in range(i + 2, length + 1):
            spans[i, j], span_parts[i, j] = theta[at : at + n_classes], at
            at += n_classes
    weights, rule_at = theta[at : at + len(rules)], at
    for t in range(length):
        chart[t, t + 1] = np.full(n, -np.inf)
        chart[t, t + 1][grammar.lexical] = words[t]
    terms = {}
    for d in range(2, length + 1):
        for i in range(length - d + 1):
            j = i + d
            table = [chart[i, k][rules[:, 1]] + chart[k, j][rules[:, 2]] for k in range(i + 1, j)]
            terms[i, j] = np.array(table) + weights
            chart[i, j] = np.full(n, -np.inf)
            for a in np.unique(rules[:, 0]):
                inside = log_sum(terms[i, j][:, rules[:, 0] == a].ravel())
                chart[i, j][a] = inside + spans[i, j][classes[a]]
    top = chart[0, length][grammar.starts] + theta[-len(grammar.starts) :]
    log_z = float(log_sum(top))
    mu = np.zeros(len(theta))
    mu[-len(grammar.starts) :] = np.exp(top - log_z)
    p = {span: np.zeros(n) for span in chart}
    p[0, length][grammar.starts] = np.exp(top - log_z)
    for d in range(length, 1, -1):
        for i in range(length - d + 1):
            j = i + d
            np.add.at(mu, span_parts[i, j] + classes, p[i, j])
            given = (chart[i, j] - spans[i, j][classes])[rules[:, 0]]
            given[np.isneginf(given)] = 0.0
            share = np.exp(terms[i, j] - given) * p[i, j][rules[:, 0]]
            mu[rule_at : rule_at + len(rules)] += share.sum(axis=0)
            for k in range(i + 1, j):
                np.add.at(p[i, k], rules[:, 1], share[k - i - 1])
                np.add.at(p[k, j], rules[:, 2], share[k - i - 1])
    for t in range(length):
        mu[t * words.shape[1] : (t + 1) * words.shape[1]] = p[t, t + 1][grammar.lexical]
    return log_z, mu


def test_a_plain_recursion_agrees() -> None:
    grammar = dense_grammar(40, 200)
    length = 14
    topo = grammar.topology(length)
    theta = np.random.default_rng(0).normal(size=grammar.n_parts(topo))
    expected, expected_mu = plain(grammar, length, theta)
    log_z, mu = grammar.expected_parts(theta, topo)
    close(log_z, expected)
    close(mu, expected_mu)


def test_scores_of_a_thousand() -> None:
    rng = np.random.default_rng(0)
    grammar = dense_grammar(6, 30, split=True)
    topo = grammar.topology(20)
    for pattern in ("large", "steep", "masked steep"):
        for _ in range(5):
            check(grammar, topo, 0.1 * draw_scores(pattern, grammar.n_parts(topo), rng))
            check(grammar, topo, draw_scores(pattern, grammar.n_parts(topo), rng))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_one_bad_score_in_a_long_sentence(bad: float) -> None:
    grammar = dense_grammar(6, 30)
    topo = grammar.topology(20)
    for part in (0, 50, grammar.n_parts(topo) - 3, grammar.n_parts(topo) - 1):
        theta = np.zeros(grammar.n_parts(topo))
        theta[part] = bad
        assert np.isnan(grammar.log_partition(theta, topo))
        assert np.isnan(grammar.best(theta, topo)[0])
