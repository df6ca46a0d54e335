from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise import SequenceTagger
from partwise.formats.registry import Chosen
from partwise.serve.words import sentences, tokenizer_for


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


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        ("words", ["don", "'", "t", "add", "1", "/", "2", "."]),
        ("compounds", ["don't", "add", "1/2", "."]),
        ("blanks", ["don't", "add", "1/2."]),
    ],
)
def test_files_and_texts_are_cut_alike(tmp_path: Path, tokenizer: str, tokens: list[str]) -> None:
    text = "don't add 1/2."
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"text": text}) + "\n", "utf-8")
    read = Chosen("spacy", {"tokenizer": tokenizer}).read("columns", path, labelled=False)
    assert read.fields == (tokens,)
    assert [[word.text for word in words] for words in sentences(text, tokenizer)] == [tokens]


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        (None, "compounds"),
        ({"name": "conllu", "options": {"label": "xpos"}}, "compounds"),
        ({"name": "spacy", "options": {}}, "words"),
        ({"name": "doccano", "options": {"tokenizer": "blanks"}}, "blanks"),
        ({"name": "spacy", "options": {"tokenizer": "compounds"}}, "compounds"),
        ({"name": "spacy", "options": {"tokenizer": "unheard of"}}, "words"),
        ("hostile", "compounds"),
    ],
)
def test_a_model_of_texts_gets_the_tokens_that_it_was_trained_on(
    noted: object, expected: str
) -> None:
    model = SequenceTagger(tol=0.1).fit([["a", "b"]], [["X", "Y"]]).model_
    model.meta["format"] = noted
    assert tokenizer_for(model) == expected
