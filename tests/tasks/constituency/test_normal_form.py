from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Tree
from partwise.tasks.constituency.normal_form import NormalForm, restore, split_symbol, symbol_class

FLAT = parse_tree("(NP (DT a) (JJ b) (JJ c) (NN d) (NN e))")
NESTED = parse_tree("(S (NP (NNP I)) (S (VP (VB go) (ADVP (RB away)) (NP (NN now)))))")

LABELS = st.sampled_from(
    ["S", "NP", "VP", "A|B", "A+B", "A^", "X%2B", "<", ">;", "|", "A|<B>", "%", "", "NP^<S>"]
)
WORDS = st.sampled_from(["a", "b", "+", "|<"])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), LABELS, WORDS),
    lambda below: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        LABELS,
        st.lists(below, min_size=1, max_size=5),
    ),
    max_leaves=15,
)
FORMS = [
    NormalForm(side, horizontal, vertical)
    for side in ("left", "right")
    for horizontal in (0, 1, 2, None)
    for vertical in (1, 2, 3)
]


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        (
            NormalForm("right", None),
            "(NP (DT a) (NP|<DT> (JJ b) (NP|<DT;JJ> (JJ c) (NP|<DT;JJ;JJ> (NN d) (NN e)))))",
        ),
        (
            NormalForm("right", 2),
            "(NP (DT a) (NP|<DT> (JJ b) (NP|<DT;JJ> (JJ c) (NP|<JJ;JJ> (NN d) (NN e)))))",
        ),
        (
            NormalForm("right", 1),
            "(NP (DT a) (NP|<DT> (JJ b) (NP|<JJ> (JJ c) (NP|<JJ> (NN d) (NN e)))))",
        ),
        (
            NormalForm("right", 0),
            "(NP (DT a) (NP|<> (JJ b) (NP|<> (JJ c) (NP|<> (NN d) (NN e)))))",
        ),
        (
            NormalForm("left", 2),
            "(NP (NP|<NN> (NP|<NN;NN> (NP|<JJ;NN> (DT a) (JJ b)) (JJ c)) (NN d)) (NN e))",
        ),
    ],
)
def test_a_long_phrase(form, wanted):
    assert str(form.apply(FLAT)) == wanted
    assert restore(form.apply(FLAT)) == FLAT


def test_chains_and_ancestors():
    assert str(NormalForm("right", 0).apply(NESTED)) == (
        "(S (NP+NNP I) (S+VP (VB go) (VP|<> (ADVP+RB away) (NP+NN now))))"
    )
    assert str(NormalForm("right", 1, 2).apply(NESTED)) == (
        "(S (NP+NNP I) (S+VP^<S> (VB go) (VP|<VB>^<S> (ADVP+RB away) (NP+NN now))))"
    )
    assert str(NormalForm("left", 1, 3).apply(NESTED)) == (
        "(S (NP+NNP I) (S+VP^<S> (VP|<NP>^<S;S> (VB go) (ADVP+RB away)) (NP+NN now)))"
    )


def test_labels_with_reserved_characters():
    tree = parse_tree("(A+B (X;Y a) (<> b) (50% c) (PRT|ADVP d))")
    normal = NormalForm("right", None).apply(tree)
    assert str(normal) == (
        "(A%2BB (X%3BY a) (A%2BB|<X%3BY> (%3C%3E b) (A%2BB|<X%3BY;%3C%3E> (50%25 c) (PRT|ADVP d))))"
    )
    assert restore(normal) == tree


@given(TREES)
def test_the_normal_form_is_undone_exactly(tree):
    for form in FORMS:
        normal = form.apply(tree)
        assert restore(normal) == tree
        assert normal.words == tree.words
        assert all(len(node.children) in (0, 2) for node in normal.nodes())


def test_symbols():
    assert split_symbol("S+VP^<S>") == (("S", "VP"), False)
    assert split_symbol("VP|<VB;NP>^<S>") == (("VP",), True)
    assert split_symbol("A%2BB") == (("A+B",), False)
    assert symbol_class("S+VP^<S>") == "S+VP"
    assert symbol_class("VP|<VB;NP>^<S>") == "VP|<>"
    assert symbol_class("A||<>") == "A||<>"
    assert symbol_class("A|") == "A|"


def test_settings_are_checked():
    with pytest.raises(DataError, match="choose 'left' or 'right'"):
        NormalForm("up")
    with pytest.raises(DataError, match="horizontal order is -1"):
        NormalForm(horizontal=-1)
    with pytest.raises(DataError, match="vertical order is 0"):
        NormalForm(vertical=0)


def test_partial_phrases_out_of_place():
    with pytest.raises(DataError, match="stands at the root"):
        restore(parse_tree("(NP|<> (A a) (B b))"))
    with pytest.raises(DataError, match="stands over the word 'a'"):
        restore(parse_tree("(NP (NP|<> a) (B b))"))


def test_depth_and_width_have_no_limit():
    many = 3 * sys.getrecursionlimit()
    wide = Tree("NP", (Tree("NN", word="a"),) * many)
    for side in ("left", "right"):
        assert restore(NormalForm(side, 1).apply(wide)) == wide
    deep = Tree("NN", word="a")
    for _ in range(many):
        deep = Tree("NP", (deep, Tree("NN", word="a")))
    assert restore(NormalForm(vertical=3).apply(deep)) == deep
