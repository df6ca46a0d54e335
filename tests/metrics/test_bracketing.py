from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Tree
from partwise.metrics.bracketing import PUNCTUATION, bracket_scores

GOLD = parse_tree("(TOP (S (NP (A a) (A b)) (, ,) (VP (B c) (PP (C d) (NP (D e)))) (. .)))")
PRED = parse_tree("(TOP (S (NP (A a)) (VP (B b) (, ,) (NP (B c) (C d))) (NP (D e)) (. .)))")


def test_a_pair_of_trees():
    # gold: S 0-7, NP 0-2, VP 3-6, PP 4-6, NP 5-6; pred: S 0-7, NP 0-1, VP 1-5, NP 3-5, NP 5-6
    scores = bracket_scores([GOLD], [PRED])
    overall = scores.labelled.overall
    assert (overall.correct, overall.predicted, overall.support) == (2, 5, 5)
    assert scores.precision == scores.recall == scores.f1 == 2 / 5
    assert scores.unlabelled.correct == 2
    assert scores.labelled.by_type["NP"].correct == 1
    assert scores.labelled.by_type["NP"].predicted == 3
    assert scores.labelled.by_type["PP"].predicted == 0
    assert "TOP" not in scores.labelled.by_type
    # VP 1-5 crosses NP 0-2, VP and PP; NP 3-5 crosses PP.
    assert scores.crossing == 2
    assert scores.average_crossing == 2
    assert scores.no_crossing == scores.complete_match == 0


def test_punctuation_is_deleted():
    # The comma is inside of the one NP and beside the other.
    gold = parse_tree("(S (NP (A a) (A b)) (, ,) (VP (B c)))")
    pred = parse_tree("(S (NP (A a) (A b) (, ,)) (VP (B c)))")
    assert bracket_scores([gold], [pred]).complete_match == 0
    scores = bracket_scores([gold], [pred], delete=PUNCTUATION)
    assert scores.complete_match == scores.f1 == 1
    # A phrase of nothing but punctuation goes with it, and the gold tags decide what is deleted.
    alone = parse_tree("(S (NP (A a) (A b)) (X (, ,)) (VP (B c)))")
    assert bracket_scores([gold], [alone], delete=PUNCTUATION).complete_match == 1
    retagged = parse_tree("(S (NP (, a) (A b)) (A ,) (VP (B c)))")
    assert bracket_scores([gold], [retagged], delete=PUNCTUATION).complete_match == 1


def test_labels():
    gold = parse_tree("(S (ADVP (RB out)) (VP (VB go)))")
    pred = parse_tree("(S (PRT (RB out)) (VP (VB go)))")
    scores = bracket_scores([gold], [pred])
    assert scores.f1 == pytest.approx(2 / 3)
    assert scores.unlabelled.f1 == 1
    assert scores.complete == 0
    assert bracket_scores([gold], [pred], equal={"PRT": "ADVP"}).complete == 1
    assert bracket_scores([gold], [pred], ignore={"PRT", "ADVP"}).labelled.overall.support == 2


def test_equal_brackets_count_as_often_as_they_occur():
    gold = parse_tree("(S (NP (NP (NN a))) (NN b))")
    pred = parse_tree("(S (NP (NN a)) (NN b))")
    overall = bracket_scores([gold], [pred]).labelled.overall
    assert (overall.correct, overall.predicted, overall.support) == (2, 2, 3)
    overall = bracket_scores([pred], [gold]).labelled.overall
    assert (overall.correct, overall.predicted, overall.support) == (2, 3, 2)
    assert bracket_scores([gold], [pred]).complete == 0


def test_no_trees():
    scores = bracket_scores([], [])
    assert scores.f1 == scores.complete_match == scores.average_crossing == scores.no_crossing == 0
    assert bracket_scores([parse_tree("(A a)")], [parse_tree("(B a)")]).complete_match == 1


def test_what_is_refused():
    with pytest.raises(DataError, match="gold has 1 trees and pred has 0"):
        bracket_scores([GOLD], [])
    with pytest.raises(DataError, match=r"tree 0 .*: word 1 is 'b' in gold and 'c' in pred"):
        bracket_scores([parse_tree("(S (A a) (A b))")], [parse_tree("(S (A a) (A c))")])
    with pytest.raises(DataError, match="word 1 is 'b' in gold and 'no word' in pred"):
        bracket_scores([parse_tree("(S (A a) (A b))")], [parse_tree("(S (A a))")])


@st.composite
def trees(draw, n):
    if n == 1:
        leaf = Tree(draw(st.sampled_from("AB,")), word="w")
        return Tree("NP", (leaf,)) if draw(st.booleans()) else leaf
    at = draw(st.integers(1, n - 1))
    children = (draw(trees(at)), draw(trees(n - at)))
    return Tree(draw(st.sampled_from(["S", "NP", "TOP"])), children)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(trees(n), trees(n))))
def test_counts_are_consistent(pair):
    gold, pred = pair
    forth, back = bracket_scores([gold], [pred]), bracket_scores([pred], [gold])
    assert forth.precision == back.recall
    assert forth.unlabelled.recall == back.unlabelled.precision
    for delete in ((), PUNCTUATION):
        scores = bracket_scores([gold], [pred], delete=delete)
        assert scores.labelled.overall.correct <= scores.unlabelled.correct
        same = bracket_scores([gold, pred], [gold, pred], delete=delete)
        assert same.complete_match == 1
        assert same.crossing == 0
        assert same.labelled.overall.correct == same.labelled.overall.support
