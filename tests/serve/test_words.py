from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.serve.words import sentences


def _texts(text: str) -> list[list[str]]:
    return [[word.text for word in words] for words in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dog barks.", [["The", "dog", "barks", "."]]),
        ("Stop! Go on? Yes.", [["Stop", "!"], ["Go", "on", "?"], ["Yes", "."]]),
        ("one\ntwo\n\n three", [["one"], ["two"], ["three"]]),
        ("It cost $1,000.50 on 3/4.", [["It", "cost", "$", "1,000.50", "on", "3/4", "."]]),
        ("don't be well-kept", [["don't", "be", "well-kept"]]),
        ("Mr. J. Smith came.", [["Mr", ".", "J", ".", "Smith", "came", "."]]),
        ('He said "no." Then left.', [["He", "said", '"', "no", ".", '"'], ["Then", "left", "."]]),
        ("e.g. this and etc. that", [["e", ".", "g", ".", "this", "and", "etc", ".", "that"]]),
        ("well... Fine", [["well", "..."], ["Fine"]]),
        ("a_b", [["a", "_", "b"]]),
        ("日本語 café", [["日本語", "café"]]),
        (" \n\t ", []),
        ("", []),
    ],
)
def test_cuts_text(text: str, expected: list[list[str]]) -> None:
    assert _texts(text) == expected


@given(st.text(alphabet="aB1.,!?'\"()- \n\t_é…", max_size=60))
def test_tokens_are_all_of_the_text_but_white_space(text: str) -> None:
    words = [word for sentence in sentences(text) for word in sentence]
    assert all(text[word.start : word.end] == word.text for word in words)
    assert "".join(word.text for word in words) == "".join(text.split())
    assert all(a.end <= b.start for a, b in itertools.pairwise(words))


@pytest.mark.parametrize("text", [".", "a'", ". A", '"', "1.", "! ", "'", "-"])
def test_long_texts_of_one_kind_take_linear_time(text: str) -> None:
    # A search that is quadratic would run into the time limit of the test.
    found = sentences(text * 200_000)
    assert sum(map(len, found)) >= 1
