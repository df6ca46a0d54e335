from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.grammars import Row, dense_grammar, derivations
from support.laws import close

from partwise.arrays import Ints
from partwise.errors import DataError
from partwise.structures.grammar.derivations import confused_symbols
from partwise.structures.grammar.structure import Grammar, GrammarConstraints


def test_shared_classes_are_read_back() -> None:
    # 0 -> 1 3 and 3 -> 1 4 with 3, 4 in one class: the way down tells them apart.
    rules = [(0, 1, 3), (3, 1, 4), (4, 1, 1), (4, 1, 2), (0, 2, 4), (3, 2, 2)]
    grammar = Grammar(5, rules, [1, 2], [0], classes=[0, 1, 1, 2, 2])
    for length in (3, 4):
        topo = grammar.topology(length)
        trees = derivations(grammar, topo)
        assert trees
        for tree in trees:
            label = np.array(tree)
            parts, counts = grammar.encode(label, topo)
            mu = np.zeros(grammar.n_parts(topo))
            mu[parts] = counts
            np.testing.assert_array_equal(grammar.decode(mu, topo), label)


def test_classes_that_hide_a_symbol_are_refused() -> None:
    # The counts of A -> X w and A -> Y w are the same whichever of the two comes first.
    start, a, x, y, w = range(5)
    rules = [(start, a, a), (a, x, w), (a, y, w), (x, w, w), (y, w, w)]
    classes = [0, 1, 2, 2, 3]
    with pytest.raises(DataError, match="symbols 2 and 3 share class 2"):
        Grammar(5, rules, [w], [start], classes)
    grammar = Grammar(5, rules, [w], [start], classes, anchored=True)
    topo = grammar.topology(6)
    assert len(grammar.k_best(np.zeros(grammar.n_parts(topo)), topo, 10)[1]) == 4
    # Without the second rule of A there is nothing to confuse.
    Grammar(5, [rule for rule in rules if rule != (a, y, w)], [w], [start], classes)


def test_one_word_is_covered_by_the_root() -> None:
    grammar = Grammar(3, [(0, 1, 1)], [1, 2], [2, 0])
    topo = grammar.topology(1)
    score, label = grammar.best(np.array([5.0, 1.0, 7.0, 2.0, 9.0]), topo)
    assert (score, label.tolist()) == (3.0, [[2, 0, 1, -1]])
    topo = grammar.topology(2)
    score, label = grammar.best(np.arange(float(grammar.n_parts(topo))), topo)
    assert label.tolist() == [[0, 0, 2, 1], [1, 0, 1, -1], [1, 1, 2, -1]]


def test_a_sentence_without_words_is_refused() -> None:
    with pytest.raises(DataError, match="a sentence of 0 words has no derivation"):
        dense_grammar(5, 9).topology(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": []}, "at least one rule"),
        ({"lexical": []}, "at least one rule, lexical symbol"),
        ({"rules": [(0, 1, 1), (0, 1, 3)]}, "symbol 3 is named; there are 0 to 2"),
        ({"rules": [(0, 1, 1), (0, 1, 1)]}, r"the rules name \(0, 1, 1\) twice"),
        ({"starts": [0, 0]}, "the starts name 0 twice"),
        ({"classes": [0, 1]}, "2 classes are given for 3 symbols"),
        ({"classes": [0, 1, -1]}, "classes are numbered from 0 to at most 2"),
        ({"classes": [0, 1, 2**40]}, "classes are numbered from 0 to at most 2"),
        ({"n_symbols": 2**31}, "there can be 16384"),
        ({"constituents": [True]}, "constituents has 1 flags for 3 classes"),
        ({"split": True, "anchored": True}, "give split or anchored, not both"),
    ],
)
def test_bad_grammars_are_refused(change: dict[str, Any], message: str) -> None:
    given = {"n_symbols": 3, "rules": [(0, 1, 1)], "lexical": [1, 2], "starts": [0]}
    with pytest.raises(DataError, match=message):
        Grammar(**{**given, **change})


@pytest.mark.parametrize(
    ("row", "value", "message"),
    [
        (0, (0, 0, 3, 3), "row 0 covers words 0 to 3 and is split at 3"),
        (1, (1, 0, 1, 0), "row 1 covers one word; its split is -1"),
        (2, (0, 0, 3, 2), "row 2 of a derivation covers words 0 to 3; in pre-order .* 1 to 3"),
        (2, (2, 1, 3, 2), "0 -> 1 2 over words 0 to 3: that is not a rule"),
        (0, (3, 0, 3, 1), "covered by symbol 3, which is not a start symbol"),
        (4, (4, 2, 3, -1), "word 2 is covered by symbol 4, which is not lexical"),
    ],
)
def test_bad_derivations_are_refused(row: int, value: Row, message: str) -> None:
    rules = [(0, 1, 0), (0, 1, 1), (3, 1, 0), (0, 1, 4)]
    grammar = Grammar(5, rules, [1], [0])
    label = np.array([(0, 0, 3, 1), (1, 0, 1, -1), (0, 1, 3, 2), (1, 1, 2, -1), (1, 2, 3, -1)])
    grammar.encode(label, grammar.topology(3))
    with pytest.raises(DataError, match=r"a derivation of 4 words has 7 rows .* \(5, 4\)"):
        grammar.encode(label, grammar.topology(4))
    with pytest.raises(DataError, match=r"the span \(1, 3\), which is not allowed"):
        grammar.encode(label, grammar.topology((3, [(0, 2)])))
    with pytest.raises(DataError, match="takes no matrix"):
        grammar.part_cost(label, grammar.topology(3), np.zeros((4, 4)))
    label[row] = value
    with pytest.raises(DataError, match=message):
        grammar.encode(label, grammar.topology(3))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (GrammarConstraints(spans=[(1, 2)]), "word 1 cannot be forbidden"),
        (GrammarConstraints(spans=[(2, 5)]), r"span \(2, 5\) is not in a sentence of 4 words"),
        (GrammarConstraints(brackets=[(3, 3)]), r"span \(3, 3\) is not in"),
        (GrammarConstraints(symbols=[9]), "the constraints name symbol 9"),
        (GrammarConstraints(words=[(0, [9])]), "the constraints name symbol 9"),
        (GrammarConstraints(words=[(4, [1])]), r"span \(4, 5\) is not in"),
        (GrammarConstraints(brackets=[(0, 2, [3])]), "class 2 and not symbol 4"),
    ],
)
def test_bad_constraints_are_refused(rules: GrammarConstraints, message: str) -> None:
    grammar = Grammar(5, [(0, 1, 3), (3, 1, 4), (4, 1, 1)], [1, 2], [0], [0, 1, 1, 2, 2])
    with pytest.raises(DataError, match=message):
        grammar.mask(grammar.topology(4), rules)


def test_anchored_brackets_tell_the_symbols_of_a_class_apart() -> None:
    rules = [(0, 1, 0), (2, 1, 1), (0, 1, 1), (0, 2, 1)]
    grammar = Grammar(3, rules, [1], [0], classes=[0, 1, 0], anchored=True)
    topo = grammar.topology(3)
    mask = grammar.mask(topo, GrammarConstraints(brackets=[(0, 2, [2])]))
    _, labels = grammar.k_best(mask, topo, 9)
    assert [label[:2].tolist() for label in labels] == [[[0, 0, 3, 2], [2, 0, 2, 1]]]


def test_the_errors_of_constituents() -> None:
    # 0 is a phrase, 1 makes rules binary, 2 and 3 are tags: 3 also stands for a phrase of one word.
    rules = [(0, 2, 1), (1, 2, 2), (0, 2, 0), (0, 2, 2), (0, 3, 1)]
    flags = [True, False, False, True]
    grammar = Grammar(4, rules, [2, 3], [0], constituents=flags)
    topo = grammar.topology(3)
    flat = np.array([(0, 0, 3, 1), (2, 0, 1, -1), (1, 1, 3, 2), (2, 1, 2, -1), (2, 2, 3, -1)])
    deep, tagged = flat.copy(), flat.copy()
    deep[2, 0], tagged[1, 0] = 0, 3

    def cost(gold: Ints, label: Ints) -> float:
        parts, counts = grammar.encode(label, topo)
        return float(grammar.part_cost(gold, topo, None)[parts] @ counts)

    assert [cost(flat, y) for y in (flat, deep, tagged)] == [0.0, 1.0, 1.0]
    assert [cost(deep, y) for y in (flat, deep, tagged)] == [0.0, 0.0, 1.0]
    assert Grammar(4, rules, [2, 3], [0]).constituents == [True, True, False, False]


def test_k_best_of_a_long_sentence() -> None:
    grammar = dense_grammar(20, 120)
    topo = grammar.topology(25)
    theta = np.random.default_rng(1).normal(size=grammar.n_parts(topo))
    scores, labels = grammar.k_best(theta, topo, 200)
    assert (np.diff(scores) <= 0.0).all()
    assert len({label.tobytes() for label in labels}) == 200
    for score, label in zip(scores, labels, strict=True):
        parts, counts = grammar.encode(label, topo)
        close(theta[parts] @ counts, score)
    top, best = grammar.best(theta, topo)
    close(top, scores[0])
    np.testing.assert_array_equal(best, labels[0])


def test_pruning_saves_parts_and_keeps_the_kept() -> None:
    grammar = dense_grammar(10, 60, split=True)
    rng = np.random.default_rng(0)
    full = grammar.topology(9)
    spans = tuple((i, j) for i in range(9) for j in range(i + 2, 10) if rng.random() < 0.6)
    pruned = grammar.topology((9, spans))
    assert grammar.n_parts(pruned) < grammar.n_parts(full)
    theta = rng.normal(size=grammar.n_parts(full))
    gone = [(i, j) for i in range(9) for j in range(i + 2, 10) if (i, j) not in {*spans, (0, 9)}]
    mask = grammar.mask(full, GrammarConstraints(spans=gone))
    # The scores of the parts that are left, in their order.
    kept = np.concatenate([np.arange(9 * len(grammar.lexical)), kept_parts(grammar, full, spans)])
    log_z, mu = grammar.expected_parts(theta + mask, full)
    again, less = grammar.expected_parts(theta[kept], pruned)
    close(again, log_z)
    close(less, mu[kept])


def kept_parts(grammar: Grammar, topo: Ints, spans: tuple[tuple[int, int], ...]) -> Ints:
    length = int(topo[0])
    kept = {*spans, (0, length), *pairwise(range(length + 1))}
    at = length * len(grammar.lexical)
    parts: list[int] = []
    every = [(i, j) for i in range(length) for j in range(i + 2, length + 1)]
    for span in every:
        parts += range(at, at + grammar.n_classes) if span in kept else []
        at += grammar.n_classes
    for i, j in every:
        for k in range(i + 1, j):
            parts += [at] if {(i, j), (i, k), (k, j)} <= kept else []
            at += 1
    return np.array([*parts, *range(at, grammar.n_parts(topo))])


def test_what_confuses_symbols_by_enumeration() -> None:
    rng = np.random.default_rng(0)
    found = {False: 0, True: 0}
    for _ in range(150):
        n = int(rng.integers(2, 5))
        rules = np.unique(rng.integers(0, n, (rng.integers(1, 6), 3)), axis=0)
        lexical = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
        starts = rng.permutation(n)[: rng.integers(1, n + 1)].tolist()
        classes = rng.integers(0, n - 1, n)
        grammar = Grammar(n, rules.tolist(), lexical, starts)
        trees = [
            t for length in range(1, 6) for t in derivations(grammar, grammar.topology(length))
        ]
        seen = {
            (tree[0][0], *((a if k < 0 else -1 - classes[a], i, j, k) for a, i, j, k in tree))
            for tree in trees
        }
        confused = confused_symbols(rules, lexical, starts, classes) is not None
        found[confused] += 1
        # Some need more than five words to be confused.
        assert confused or len(seen) == len(trees)
    assert min(found.values()) > 10


def test_forbidden_symbols_can_be_saved() -> None:
    grammar = dense_grammar(5, 9)
    given = GrammarConstraints(symbols=[np.int64(3)], words=[(0, [1])])
    saved = json.loads(json.dumps(grammar.constraints_to_json(given)))
    assert grammar.constraints_from_json(saved) == GrammarConstraints(symbols=[3])
    for bad in (None, {}, {"symbols": 3}, {"symbols": ["3"]}, {"symbols": [9]}, {"spans": []}):
        with pytest.raises(DataError, match="symbol"):
            grammar.constraints_from_json(bad)
    with pytest.raises(DataError, match="cannot be saved"):
        grammar.constraints_to_json("none")


def test_constants_from_a_file_make_the_grammar() -> None:
    grammar = dense_grammar(5, 9, split=True)
    Grammar.check_constants(json.loads(json.dumps(grammar.constants())))
