from __future__ import annotations

import sys

import pytest

from partwise.errors import DataError
from partwise.formats.tree import Bracket, Tree

DOG = Tree("NP", (Tree("DT", word="the"), Tree("NN", word="dog")))
BARKS = Tree("S", (DOG, Tree("VP", (Tree("VBZ", word="barks"),))))


def test_what_a_tree_holds():
    assert BARKS.words == ["the", "dog", "barks"]
    assert BARKS.tags == ["DT", "NN", "VBZ"]
    assert [node.label for node in BARKS.nodes()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]
    assert BARKS.brackets() == [Bracket("S", 0, 3), Bracket("NP", 0, 2), Bracket("VP", 2, 3)]
    assert Tree("NN", word="dog").brackets() == []
    assert str(BARKS) == "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
    assert repr(DOG) == "<Tree (NP (DT the) (NN dog))>"
    assert BARKS.fold(lambda leaf: 1, lambda node, values: 1 + max(values)) == 3


def test_equality():
    again = Tree("S", (DOG, Tree("VP", (Tree("VBZ", word="barks"),))))
    assert again == BARKS
    assert hash(again) == hash(BARKS)
    assert DOG != BARKS
    assert Tree("NN", word="dog") != Tree("NN", word="cat")
    assert DOG != "(NP (DT the) (NN dog))"


def test_a_node_has_a_word_or_children():
    with pytest.raises(DataError, match="'X' with neither a word nor children"):
        Tree("X")
    with pytest.raises(DataError, match="'X' with a word and children"):
        Tree("X", (DOG,), "word")


def test_depth_has_no_limit():
    deep = [Tree("NN", word="dog")] * 2
    for _ in range(5 * sys.getrecursionlimit()):
        deep = [Tree("NP", (tree,)) for tree in deep]
    assert deep[0] == deep[1]
    assert len(deep[0].brackets()) == 5 * sys.getrecursionlimit()
    assert len(repr(deep[0])) < 300
    assert str(deep[0]).endswith("(NN dog" + ")" * (5 * sys.getrecursionlimit() + 1))
