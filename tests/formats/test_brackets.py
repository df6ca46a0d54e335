from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.brackets import (
    clean,
    escape,
    parse_tree,
    read_brackets,
    unescape,
    write_brackets,
)
from partwise.formats.tree import Tree

SMALL = """
( (S
    (NP-SBJ-1 (DT The) (NN dog) )
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )
        (PP=2 (-LRB- -LRB-) (IN by) (NP (NN me)) (-RRB- -RRB-)))) (. .)))

(FRAG (UH No))
"""


def put(folder: Path, data: bytes | str, name: str = "data.mrg") -> str:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def test_a_small_file(tmp_path):
    path = put(tmp_path, SMALL)
    brackets = read_brackets(path)
    assert brackets.path == path
    assert brackets.lines.tolist() == [2, 9]
    assert [str(tree) for tree in brackets.trees] == [
        "(S (NP (DT The) (NN dog)) (VP (VBD was) (VP (VBN seen) (PP (-LRB- -LRB-) (IN by) "
        "(NP (NN me)) (-RRB- -RRB-)))) (. .))",
        "(FRAG (UH No))",
    ]


def test_all_can_be_kept(tmp_path):
    tree = read_brackets(put(tmp_path, SMALL), traces=True, functions=True).trees[0]
    labels = [node.label for node in tree.nodes()]
    assert labels[1] == "NP-SBJ-1"
    assert "PP=2" in labels
    assert "-NONE-" in labels
    assert "*-1" in tree.words
    stripped = read_brackets(put(tmp_path, SMALL), traces=True).trees[0]
    assert [node.label for node in stripped.nodes()] == [
        label.split("=")[0].split("-SBJ")[0] for label in labels
    ]
    traceless = read_brackets(put(tmp_path, SMALL), functions=True).trees[0]
    assert "NP-SBJ-1" in str(traceless)
    assert "NONE" not in str(traceless)


@pytest.mark.parametrize(
    ("label", "category"),
    [
        ("NP-SBJ-1", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=2", "NP"),
        ("ADVP|PRT-CLR", "ADVP|PRT"),
        ("-LRB-", "-LRB-"),
        ("--", "--"),
        ("PRP$", "PRP$"),
        ("''", "''"),
    ],
)
def test_function_tags(label, category):
    assert clean(parse_tree(f"({label} x)")) == Tree(category, word="x")
    assert clean(parse_tree(f"({label} (X x))")) == Tree(category, (Tree("X", word="x"),))


def test_an_outermost_pair_without_a_label():
    assert str(parse_tree("((S (X a)))")) == "(S (X a))"
    several = parse_tree("( (S (X a)) (. .))")
    assert several.label == ""
    assert str(several) == "( (S (X a)) (. .))"
    # Once the trace is gone, one tree is left.
    assert str(clean(parse_tree("( (S (X a)) (NP (-NONE- *)))"))) == "(S (X a))"
    assert clean(parse_tree("(S (NP (-NONE- *)))")) is None


def test_written_trees_are_read_back(tmp_path):
    trees = [*read_brackets(put(tmp_path, SMALL)).trees, parse_tree("( (S (X a)) (. .))")]
    write_brackets(tmp_path / "out.mrg", trees)
    assert len((tmp_path / "out.mrg").read_text().splitlines()) == 3
    assert read_brackets(tmp_path / "out.mrg").trees == trees
    write_brackets(tmp_path / "out.gz", trees)
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).startswith(b"(S (NP (DT The)")
    assert read_brackets(tmp_path / "out.gz").trees == trees


def test_escapes(tmp_path):
    assert unescape("-LRB-") == "("
    assert unescape("1\\/2-RCB-\\*") == "1/2}*"
    assert escape("f(x[0])") == "f-LRB-x-LSB-0-RSB--RRB-"
    for word in ("(", "f(x)", "[]", "{a}", "plain"):
        assert unescape(escape(word)) == word
    write_brackets(tmp_path / "out.mrg", [Tree("SYM", word="(a)")])
    assert (tmp_path / "out.mrg").read_text() == "(SYM -LRB-a-RRB-)\n"


def test_stdin(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"(S (X a)\n")

    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(DataError, match=r"^<stdin>:1: the tree that begins here is never closed"):
        read_brackets("-")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no trees; expected brackets"),
        ("\n(S (X a)\n(Y b)\n", r":2: the tree that begins here is never closed; 1 \) are missing"),
        ("(S\n(X a)))\n", r":2: one \) too many"),
        ("(S (X a))\nfoo\n", ":2: 'foo' stands outside of brackets"),
        ("(S (X a)\n())", r":2: \(\) is empty"),
        ("(S (X a)\n(NP))", r":2: \(NP\) is empty; give it a word or children"),
        ("(S\n( (X a)))", r":2: brackets without a label; only the outermost pair"),
        ("(S\nthe (X a))", r":2: \(S \.\.\.\) holds the bare word 'the' beside something else"),
        ("(S (X a)\nthe)", r":2: \(S \.\.\.\) holds the bare word 'the'"),
        ("(X\na b)", r":2: \(X \.\.\.\) holds the bare word 'b'.*such as \(NN b\)"),
        ("(S (X a))\n(S (-NONE- *))", ":2: the tree holds nothing but empty elements"),
        (b"(X caf\xe9)", ":1: byte 0xe9 is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path, text, message):
    path = put(tmp_path, text)
    with pytest.raises(DataError, match=message) as caught:
        read_brackets(path)
    assert str(caught.value).startswith(path)


def test_one_tree_from_text():
    for text, n in (("", 0), ("(A a) (B b)", 2)):
        with pytest.raises(DataError, match=f"{n} trees where one is expected"):
            parse_tree(text)


@pytest.mark.parametrize(
    "tree",
    [
        Tree("", word="a"),
        Tree("A B", word="a"),
        Tree("(", word="a"),
        Tree("", (Tree("A", word="a"),)),
        Tree("A", (Tree("", (Tree("A", word="a"),) * 2),)),
        Tree("A", word=""),
        Tree("A", word="a b"),
        Tree("A", word="a\n"),
    ],
)
def test_what_brackets_cannot_hold(tmp_path, tree):
    with pytest.raises(DataError, match=r"tree 1: the (label|word) .* cannot be written"):
        write_brackets(tmp_path / "out.mrg", [tree])
    assert not (tmp_path / "out.mrg").exists()


def test_depth_has_no_limit(tmp_path):
    depth = 5 * sys.getrecursionlimit()
    path = put(tmp_path, "(NP-X " * depth + "(NN dog)" + ")" * depth)
    (tree,) = read_brackets(path).trees
    assert len(tree.brackets()) == depth
    write_brackets(tmp_path / "out.mrg", [tree])
    assert read_brackets(tmp_path / "out.mrg").trees == [tree]


TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\f\v()"), min_size=1
)
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, word=word), TEXT, TEXT),
    lambda below: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        TEXT,
        st.lists(below, min_size=1, max_size=4),
    ),
    max_leaves=12,
)


@given(TREES)
def test_any_tree_survives(tree):
    assert parse_tree(str(tree)) == tree
    assert parse_tree(str(tree).replace(" ", " \n\t ")) == tree
    kept = clean(tree, traces=True, functions=True)
    assert kept == tree
