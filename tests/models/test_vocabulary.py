from __future__ import annotations

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError, ModelFileError
from partwise.models.vocabulary import Vocabulary, fit_rows, transform_rows

any_text = st.text(st.characters(codec=None))


@given(st.lists(any_text, unique=True))
def test_pack_round_trip(names):
    vocabulary = Vocabulary(names)
    data, offsets = vocabulary.pack()
    assert data.dtype == np.uint8
    assert offsets.dtype == np.int64
    back = Vocabulary.unpack(data, offsets)
    assert back == vocabulary
    assert hash(back) == hash(vocabulary)
    assert back.names == tuple(names) == tuple(back)
    assert back.index == {name: i for i, name in enumerate(names)}
    assert len(back) == len(names)


def test_hard_names_survive():
    names = ["", "\n", ":", "a:b=c|d", " ", "\x00", "\ud800", "\U0001f600", "w[0]=\\"]
    assert Vocabulary.unpack(*Vocabulary(names).pack()).names == tuple(names)


def test_vocabulary_is_immutable_and_distinct():
    vocabulary = Vocabulary(["a", "b"])
    with pytest.raises(AttributeError):
        vocabulary.names = ()  # type: ignore[misc]
    with pytest.raises(DataError, match="'b' occurs twice"):
        Vocabulary(["a", "b", "b"])
    assert vocabulary.keep(np.array([False, True])).names == ("b",)
    with pytest.raises(DataError, match="mask"):
        vocabulary.keep(np.array([True]))
    assert vocabulary != ("a", "b")
    assert repr(vocabulary) == "Vocabulary of 2 names"


@pytest.mark.parametrize(
    ("data", "offsets", "message"),
    [
        (b"ab", [], "do not rise"),
        (b"ab", [0, 1], "do not rise"),
        (b"ab", [1, 2], "do not rise"),
        (b"ab", [0, 3], "do not rise"),
        (b"ab", [0, 2, 1, 2], "do not rise"),
        (b"\xff", [0, 1], "not UTF-8"),
        ("\u00e9".encode(), [0, 1, 2], "not UTF-8"),
        (b"aa", [0, 1, 2], "occurs twice"),
    ],
)
def test_damaged_names_are_refused(data, offsets, message):
    with pytest.raises(ModelFileError, match=message):
        Vocabulary.unpack(np.frombuffer(data, np.uint8), np.array(offsets, np.int64))


def test_damaged_types_are_refused():
    data, offsets = Vocabulary(["a"]).pack()
    for bad in ((data.astype(float), offsets), (data, offsets * 1.0), (data[None], offsets)):
        with pytest.raises(ModelFileError, match="uint8 and int64"):
            Vocabulary.unpack(*bad)


def tokens(sequences):
    rows, vocabulary, lengths = fit_rows(sequences)
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    found = [
        {vocabulary.names[rows.indices[k]]: float(values[k]) for k in range(a, b)}
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    return found, lengths.tolist()


@pytest.mark.parametrize(
    ("token", "features"),
    [
        ("the", {"the": 1}),
        ("", {"": 1}),
        (["a", "b"], {"a": 1, "b": 1}),
        (("a", "a"), {"a": 2}),
        ({"b", "a"}, {"a": 1, "b": 1}),
        ([], {}),
        ({}, {}),
        ({"w": "the"}, {"w=the": 1}),
        ({"len": 3}, {"len": 3}),
        ({"len": np.float32(0.5), "n": np.int8(2)}, {"len": 0.5, "n": 2}),
        ({"half": Fraction(1, 2)}, {"half": 0.5}),
        ({"zero": 0, "minus": -0.0}, {}),
        ({"title": True, "upper": False, "none": None}, {"title": 1}),
        ({"none": None, "w": "the", "upper": False, "len": 3}, {"w=the": 1, "len": 3}),
        ({"title": np.True_, "upper": np.False_}, {"title": 1}),
        ({"k": ["a", "b", "a"]}, {"k=a": 2, "k=b": 1}),
        ({"k": {"b", "a"}}, {"k=a": 1, "k=b": 1}),
        ({"next": {"w": "dog", "len": 3, "deep": {"x": True}}},
         {"next:w=dog": 1, "next:len": 3, "next:deep:x": 1}),
        ({"w=a": True, "w": "a"}, {"w=a": 2}),
        ((name for name in "xy"), {"x": 1, "y": 1}),
    ],
)  # fmt: skip
def test_what_a_token_may_be(token, features):
    assert tokens([[token]]) == ([features], [1])


def test_generators_lengths_and_order():
    rows, vocabulary, lengths = fit_rows((t for t in s) for s in (["b", "a"], [], [{"a", "c"}]))
    assert vocabulary.names == ("b", "a", "c")
    assert lengths.tolist() == [2, 0, 1]
    assert rows.values is None
    assert rows.indptr.tolist() == [0, 1, 2, 4]
    assert rows.indices.tolist() == [0, 1, 1, 2]


def test_nothing_at_all():
    rows, vocabulary, lengths = fit_rows([])
    assert len(rows) == len(vocabulary) == len(lengths) == 0


def test_transform_drops_unknown_names():
    _, vocabulary, _ = fit_rows([["a", "b"]])
    rows, lengths = transform_rows([[["b", "new"], {"a": 3.0}], [{"x": 1}]], vocabulary)
    assert rows.n_features == 2
    assert rows.indptr.tolist() == [0, 1, 2, 2]
    assert rows.indices.tolist() == [1, 0]
    assert rows.values.tolist() == [1, 3]
    assert lengths.tolist() == [2, 1]
    assert len(vocabulary) == 2


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ("text", "str where a list of sequences"),
        ({"a": 1}, "dict where a list of sequences"),
        (3, "int where a list of sequences"),
        (["w=a", "w=b"], r"sequence 0 \(counted from 0\) is a single str .* wrap"),
        ([["a"], {"w": "a"}], r"sequence 1 \(counted from 0\) is a single dict"),
        ([["a"], 3], r"sequence 1 \(counted from 0\) is a single int"),
        ([["a"], ["a", 3]], r"sequence 1, token 1 .*: int where"),
        ([["a"], ["a", b"x"]], r"sequence 1, token 1 .*: bytes where"),
        ([np.ones((2, 3))], r"sequence 0, token 0 .* not a string; use a dict for numbers"),
        ([[["a", None]]], r"sequence 0, token 0 .*holds None"),
        ([[{"k": ["a", 1]}]], r"feature 'k' holds 1"),
        ([[{3: "a"}]], r"feature name 3 is not a string"),
        ([["a"], ["a", {"n": math.nan}]], r"sequence 1, token 1 .*'n' is nan"),
        ([[{"n": math.inf}]], r"sequence 0, token 0 .*'n' is inf"),
        ([[{"n": 10**400}]], r"'n' is inf"),
        ([[{"a": {"n": -math.inf}}]], r"'a:n' is -inf"),
        ([[{"n": object()}]], r"'n' is of type object"),
        ([["a"], [], ["b", {"a:b": 1e308, "a": {"b": 1e308}}]], r"sequence 2, token 1 .*the sum"),
    ],
)
def test_refusals_name_the_place(sequences, message):
    with pytest.raises(DataError, match=message):
        fit_rows(sequences)
    if "the sum" not in message:
        with pytest.raises(DataError, match=message):
            transform_rows(sequences, Vocabulary(["a"]))


_values = st.one_of(st.text(max_size=2), st.booleans(), st.none(), st.integers(-3, 3))
_dicts = st.dictionaries(st.text("ab=:", max_size=2), _values, max_size=4)
_token = _dicts | st.lists(st.text("ab", max_size=2), max_size=3) | st.text("ab", max_size=2)


@given(st.lists(st.lists(_token, max_size=3), max_size=4))
def test_transform_agrees_with_fit(sequences):
    rows, vocabulary, lengths = fit_rows(sequences)
    again, same_lengths = transform_rows(sequences, vocabulary)
    assert np.array_equal(rows.indptr, again.indptr)
    assert np.array_equal(rows.indices, again.indices)
    assert (rows.values is None) == (again.values is None)
    assert rows.values is None or np.array_equal(rows.values, again.values)
    assert lengths.tolist() == same_lengths.tolist() == [len(s) for s in sequences]


def test_sets_do_not_depend_on_the_hash_seed():
    code = (
        "from partwise.models.vocabulary import fit_rows\n"
        "print(fit_rows([[{'delta', 'alpha', 'beta'}, {'k': frozenset('xyz')}]])[1].names)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert outputs == {"('alpha', 'beta', 'delta', 'k=x', 'k=y', 'k=z')\n"}
