from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Tree
from partwise.tasks.constituency.bracketing import grammar_of, phrase_labels
from partwise.tasks.constituency.normal_form import NormalForm, restore
from partwise.tasks.constituency.treebank import from_derivation, productions, to_derivation

TREES = [
    parse_tree("(S (NP (NNP Ann)) (VP (VBZ sees) (NP (DT the) (JJ big) (NN dog))))"),
    parse_tree("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"),
    parse_tree("(NP (DT the) (NN dog))"),
]
LABELS = st.sampled_from(["S", "NP", "VP", "X+Y"])
RANDOM = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS, st.sampled_from("ab")),
    lambda below: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        LABELS,
        st.lists(below, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


def test_a_grammar_is_read_off():
    found = productions(NormalForm("right", 0).apply(tree) for tree in TREES)
    names = found.symbols
    assert names == (
        "DT", "JJ", "NN", "NP", "NP+NNP", "NP|<>", "S", "VBZ", "VP", "VP+VBZ",
    )  # fmt: skip
    assert found.numbers["NP"] == 3
    rules = {
        tuple(names[s] for s in rule): count
        for rule, count in zip(found.rules.tolist(), found.rule_counts.tolist(), strict=True)
    }
    assert rules == {
        ("S", "NP+NNP", "VP"): 1,
        ("S", "NP", "VP+VBZ"): 1,
        ("VP", "VBZ", "NP"): 1,
        ("NP", "DT", "NP|<>"): 1,
        ("NP|<>", "JJ", "NN"): 1,
        ("NP", "DT", "NN"): 2,
    }
    assert found.rules.tolist() == sorted(found.rules.tolist())
    assert {names[s]: int(n) for s, n in zip(found.lexical, found.lexical_counts, strict=True)} == {
        "DT": 3, "JJ": 1, "NN": 3, "NP+NNP": 1, "VBZ": 1, "VP+VBZ": 1,
    }  # fmt: skip
    assert {names[s]: int(n) for s, n in zip(found.start, found.start_counts, strict=True)} == {
        "S": 2,
        "NP": 1,
    }
    for array in (found.rules, found.rule_counts, found.lexical, found.start, found.class_of):
        assert array.dtype == np.int64
        assert array.flags.c_contiguous


def test_labels_are_those_of_whole_phrases():
    found = productions(NormalForm("right", 0).apply(tree) for tree in TREES)
    grammar = grammar_of(found, split=False)
    assert phrase_labels(grammar, found.symbols) == ("NP", "S", "VP")
    first = productions([NormalForm().apply(TREES[2])])
    assert phrase_labels(grammar_of(first, split=True), first.symbols) == ("NP",)


def test_classes_of_spans():
    found = productions(NormalForm("right", 1, 2).apply(tree) for tree in TREES)
    class_of = {s: found.classes[c] for s, c in zip(found.symbols, found.class_of, strict=True)}
    assert class_of["NP"] == class_of["NP^<S>"] == class_of["NP^<VP>"] == "NP"
    assert class_of["NP|<DT>^<VP>"] == "NP|<>"
    assert class_of["NP+NNP"] == "NP+NNP"
    assert class_of["DT"] == "DT"
    flags = dict(zip(found.classes, found.constituent.tolist(), strict=True))
    assert [name for name, flag in flags.items() if flag] == ["NP", "NP+NNP", "S", "VP", "VP+VBZ"]


def test_a_label_may_be_a_tag_and_a_phrase():
    found = productions([parse_tree("(NP (NP a) (NP b))")])
    assert found.symbols == ("NP",)
    assert found.rules.tolist() == [[0, 0, 0]]
    assert found.lexical.tolist() == found.start.tolist() == [0]
    assert found.constituent.tolist() == [True]


def test_sentences_of_one_word():
    found = productions([NormalForm().apply(parse_tree("(FRAG (UH No))"))])
    assert found.symbols == ("FRAG+UH",)
    assert found.rules.shape == (0, 3)
    assert found.rule_counts.shape == (0,)


def test_a_derivation():
    tree = NormalForm("right", 0).apply(TREES[0])
    found = productions([tree])
    rows = to_derivation(tree, found.numbers)
    named = [(found.symbols[s], start, end, split) for s, start, end, split in rows.tolist()]
    assert named == [
        ("S", 0, 5, 1),
        ("NP+NNP", 0, 1, -1),
        ("VP", 1, 5, 2),
        ("VBZ", 1, 2, -1),
        ("NP", 2, 5, 3),
        ("DT", 2, 3, -1),
        ("NP|<>", 3, 5, 4),
        ("JJ", 3, 4, -1),
        ("NN", 4, 5, -1),
    ]
    assert rows.dtype == np.int64
    assert from_derivation(rows, found.symbols, tree.words) == tree


@given(RANDOM, st.sampled_from(["left", "right"]), st.sampled_from([0, 1, None]))
def test_derivations_are_undone_exactly(tree, side, horizontal):
    normal = NormalForm(side, horizontal).apply(tree)
    found = productions([normal])
    rows = to_derivation(normal, found.numbers)
    assert rows.shape == (2 * len(tree.words) - 1, 4)
    known = {tuple(rule) for rule in found.rules.tolist()}
    first = {(start, end): symbol for symbol, start, end, _ in rows.tolist()}
    for symbol, start, end, split in rows.tolist():
        if split >= 0:
            assert (symbol, first[start, split], first[split, end]) in known
        else:
            assert symbol in found.lexical
    assert rows[0, 0] in found.start
    assert restore(from_derivation(rows, found.symbols, tree.words)) == tree


def test_what_is_refused():
    with pytest.raises(DataError, match="no trees"):
        productions([])
    with pytest.raises(DataError, match=r"tree 1 .*: the node 'NP' has 3 children where 2"):
        productions([TREES[2], parse_tree("(NP (A a) (B b) (C c))")])
    with pytest.raises(DataError, match="put the tree into normal form first"):
        to_derivation(TREES[1], dict.fromkeys(["S", "NP", "VP", "DT", "NN", "VBZ"], 0))
    with pytest.raises(DataError, match="the symbol 'NN' is not in the grammar"):
        to_derivation(TREES[2], {"NP": 0})


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 0, 2, 1], [0, 0, 1, -1]],
        [[0, 0, 2, 1], [0, 1, 2, -1], [0, 0, 1, -1]],
        [[0, 0, 2, 1], [0, 0, 1, -1], [1, 1, 2, -1]],
        [[0, 0, 2, 1], [0, 0, 1, -1], [0, 1, 3, -1]],
        [[0, 0, 2, 0], [0, 0, 1, -1], [0, 1, 2, -1]],
        [[0, 0, 1, -1], [0, 0, 1, -1], [0, 1, 2, -1]],
        [[0, 0, 1, -1], [0, 1, 2, -1], [0, 0, 2, 1]],
        [[0, 0, 2, 1], [0, 5, 6, -1], [0, 1, 2, -1]],
    ],
)
def test_arrays_that_are_no_derivation(rows):
    with pytest.raises(DataError, match=r"derivation of shape|does not fit the rows below it"):
        from_derivation(np.array(rows), ["A"], ["a", "b"])
