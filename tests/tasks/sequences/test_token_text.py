from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.formats.tokens import Attributes
from partwise.tasks.sequences.token_text import (
    attribute_words,
    shown_attributes,
    shown_tokens,
    token_words,
)


@pytest.mark.parametrize(
    ("token", "word", "shown"),
    [
        ("cat", "cat", "cat"),
        ({"pos": "NN", "word": "cat"}, "cat", "cat"),
        ({"lower": "cat", "form": "Cat"}, "Cat", "Cat"),
        (["bias", "w=cat"], "cat", "cat"),
        (["cat", "NN"], "cat", "cat"),
        ({"pos": "NN", "digit": True, "size": 2.0}, "", "pos=NN,digit,size=2.0"),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, "", "a=1,b=2,c=3,..."),
        ({"a": "x" * 60}, "", "a=" + "x" * 35 + "..."),
        ({}, "", "#1"),
    ],
)
def test_tokens(token: Any, word: str, shown: str) -> None:
    assert token_words([token]) == [word]
    assert shown_tokens([token]) == [shown]


def test_matrices_have_no_words() -> None:
    assert token_words(np.zeros((2, 3))) == []
    assert shown_tokens(np.zeros((2, 3))) == ["#1", "#2"]


def test_attributes() -> None:
    names = ["bias", "word.lower():cat", "w[0]=dog", "w=", "pos=NN"]
    held = Attributes(names, np.ones(5), np.array([0, 2, 3, 5, 5]))
    assert attribute_words(held) == ["cat", "dog", "", ""]
    assert shown_attributes(held, [2, 2]) == ["cat", "dog", "w=,pos=NN", "#2"]
