"""The built-in templates, written as pattern files in docs/templates.md, give the same features."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.extraction import extract_fit

from partwise import Templates
from partwise.formats.columns import Columns
from partwise.tasks.sequences.templates import template_for

PAGE = (Path(__file__).resolve().parents[3] / "docs/templates.md").read_text("utf-8")
_word = st.text("aAbZ19-.", min_size=1, max_size=6) | st.sampled_from(["The", "USA", "McX-12"])
_sentence = st.lists(st.lists(_word, min_size=3, max_size=3), min_size=1, max_size=6)
_sentences = st.lists(_sentence, min_size=1, max_size=4)


def block(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)
    assert len(found) == 1
    return str(found[0]).splitlines()


def built_in(sentences: list[list[list[str]]], n: int, spelling: bool) -> list[set[str]]:
    flat = [token for sentence in sentences for token in sentence]
    lengths = np.array(list(map(len, sentences)), np.int64)
    fields = tuple([token[k] for token in flat] for k in range(n))
    columns = Columns("memory", fields, None, lengths, np.arange(len(flat)))
    rows, vocabulary = extract_fit(columns, template_for(n, spelling))
    names = np.array(vocabulary.names)[rows.indices]
    return [set(some.tolist()) for some in np.split(names, rows.indptr[1:-1])]


@pytest.mark.parametrize("n", [1, 2, 3])
@given(_sentences)
def test_columns(n: int, sentences: list[list[list[str]]]) -> None:
    lines = [line for line in block("crfpp") if n > 1 or not line.startswith("Upos")]
    if n == 3:
        more = [line for line in lines if line.startswith("Upos")]
        lines += [line.replace("pos", "col3").replace(",1]", ",2]") for line in more]
    assert len(lines) == len(template_for(n).names) + 1
    given = [[token[:n] for token in sentence] for sentence in sentences]
    found = []
    for names in (names for sentence in Templates(lines).apply(given) for names in sentence):
        inside = {name.removeprefix("U") for name in names if "_B" not in name}
        ends = {"Uw[-1]=_B-1": "__BOS__", "Uw[1]=_B+1": "__EOS__"}
        found.append(inside | {ends[name] for name in names if name in ends})
    assert found == built_in(sentences, n, spelling=False)


@given(_sentences)
def test_spelling(sentences: list[list[list[str]]]) -> None:
    words = [[token[:1] for token in sentence] for sentence in sentences]
    ones = {"digit[0]=true", "hyphen[0]=true", "title[0]=true-false-false-false",
            "upper[0]=true-false"}  # fmt: skip
    found = []
    for names in (names for s in Templates(block("wapiti")).apply(words) for names in s):
        plain = [name.removeprefix("u") for name in names if "_x" not in name]
        tests = {name for name in plain if re.match("digit|hyphen|title|upper", name)}
        values = {name for name in plain if name not in tests and not name.endswith("=")}
        found.append(values | {re.sub("=.*", "=1", name) for name in tests & ones})
    expected = [
        {name for name in names if not re.match(r"__|w\[|shape", name)}
        for names in built_in(sentences, 1, spelling=True)
    ]
    assert found == expected
