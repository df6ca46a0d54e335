from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.extraction import extract, extract_fit

import partwise.tasks.sequences.combinations
from partwise.errors import DataError, ModelFileError
from partwise.formats.columns import Columns
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows
from partwise.tasks.sequences.templates import TemplateSet, View, template_for

WORD_AND_TAG = template_for(2)

# CRFsuite's chunking tutorial, as it writes them.
CRFSUITE = (
    (("w", -2),), (("w", -1),), (("w", 0),), (("w", 1),), (("w", 2),),
    (("w", -1), ("w", 0)), (("w", 0), ("w", 1)),
    (("pos", -2),), (("pos", -1),), (("pos", 0),), (("pos", 1),), (("pos", 2),),
    (("pos", -2), ("pos", -1)), (("pos", -1), ("pos", 0)), (("pos", 0), ("pos", 1)),
    (("pos", 1), ("pos", 2)),
    (("pos", -2), ("pos", -1), ("pos", 0)), (("pos", -1), ("pos", 0), ("pos", 1)),
    (("pos", 0), ("pos", 1), ("pos", 2)),
)  # fmt: skip


def spell(word):
    """What template_for(spelling=True) adds for one word, spelled out again."""
    yield "lower", word.lower()
    for n in range(1, 5):
        if len(word) >= n:
            yield f"prefix{n}", word[:n]
            yield f"suffix{n}", word[len(word) - n :]
    shape = ""
    for c in word:
        kind = "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c
        shape += "" if shape.endswith(kind) else kind
    yield "shape", shape
    for name, holds in (
        ("digit", any(c.isdigit() for c in word)),
        ("hyphen", "-" in word),
        ("title", word.istitle()),
        ("upper", word.isupper()),
    ):
        if holds:
            yield name, "1"


def naive(sentences, spelling):
    """Build the feature strings of every token one by one."""
    for sentence in sentences:
        for t in range(len(sentence)):
            names = set()
            for template in CRFSUITE:
                places = [t + offset for _, offset in template]
                if all(0 <= place < len(sentence) for place in places):
                    name = "|".join(f"{field}[{offset}]" for field, offset in template)
                    texts = [sentence[t + o][0 if f == "w" else 1] for f, o in template]
                    names.add(f"{name}={'|'.join(texts)}")
            if t == 0:
                names.add("__BOS__")
            if t == len(sentence) - 1:
                names.add("__EOS__")
            if spelling:
                names |= {f"{name}[0]={text}" for name, text in spell(sentence[t][0])}
                for o in (-1, 1):
                    if 0 <= t + o < len(sentence):
                        names.add(f"lower[{o}]={sentence[t + o][0].lower()}")
            yield names


def as_columns(sentences):
    flat = [token for sentence in sentences for token in sentence]
    fields = tuple([token[k] for token in flat] for k in range(2))
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    return Columns("memory", fields, None, lengths, np.arange(len(flat)))


def names_of(rows: Rows, vocabulary: Vocabulary) -> list[list[str]]:
    pairs = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [[vocabulary.names[k] for k in rows.indices[a:b]] for a, b in pairs]


_word = st.text("aAB1-|=\u00e9", max_size=6) | st.sampled_from(["the", "Dog", "USA", "a|b"])
_sentence = st.lists(st.tuples(_word, st.text("NV|", max_size=2)), min_size=1, max_size=6)
_sentences = st.lists(_sentence, min_size=1, max_size=5)


@given(_sentences, st.booleans())
def test_fit_equals_strings(sentences, spelling):
    rows, vocabulary = extract_fit(as_columns(sentences), template_for(2, spelling))
    found = names_of(rows, vocabulary)
    expected = list(naive(sentences, spelling))
    assert [set(names) for names in found] == expected
    assert [len(names) for names in found] == [len(names) for names in expected]
    assert set(vocabulary.names) == set().union(*expected)
    assert rows.values is None


@given(_sentences, _sentences, st.booleans())
def test_extract_equals_strings(train, test, spelling):
    templates = template_for(2, spelling)
    _, vocabulary = extract_fit(as_columns(train), templates)
    rows = extract(as_columns(test), templates, vocabulary)
    expected = [names & set(vocabulary.names) for names in naive(test, spelling)]
    assert [set(names) for names in names_of(rows, vocabulary)] == expected
    assert rows.n_features == len(vocabulary)


@given(_sentences)
def test_large_keys_are_recoded(sentences):
    columns = as_columns(sentences)
    expected = extract_fit(columns, WORD_AND_TAG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partwise.tasks.sequences.combinations, "_MAX_KEY", 3)
        found = extract_fit(columns, WORD_AND_TAG)
    assert names_of(*found) == names_of(*expected)


def test_the_features_of_one_token():
    sentence = [("the", "DT"), ("dog", "NN"), ("ran", "VBD")]
    rows, vocabulary = extract_fit(as_columns([sentence]), WORD_AND_TAG)
    assert names_of(rows, vocabulary)[1] == [
        "w[-1]=the", "w[0]=dog", "w[1]=ran", "w[-1]|w[0]=the|dog", "w[0]|w[1]=dog|ran",
        "pos[-1]=DT", "pos[0]=NN", "pos[1]=VBD", "pos[-1]|pos[0]=DT|NN", "pos[0]|pos[1]=NN|VBD",
        "pos[-1]|pos[0]|pos[1]=DT|NN|VBD",
    ]  # fmt: skip


def test_word_and_tag_is_crfsuites():
    expected = ["|".join(f"{field}[{o}]" for field, o in template) for template in CRFSUITE]
    assert list(map(WORD_AND_TAG.name, WORD_AND_TAG.conjunctions)) == expected


def test_other_numbers_of_columns():
    assert len(template_for(1).conjunctions) == 7
    third = template_for(3)
    assert [view.name for view in third.views] == ["w", "pos", "col3"]
    assert len(third.conjunctions) == 7 + 12 + 12
    assert third.n_columns == template_for(3, True).n_columns == 3
    with pytest.raises(DataError, match="at least 1"):
        template_for(0)


def test_no_tokens_and_no_edges():
    empty = Columns("x", ([], []), None, np.zeros(0, np.int64), np.zeros(0, np.int64))
    rows, vocabulary = extract_fit(empty, template_for(2, True))
    assert len(rows) == len(vocabulary) == 0
    bare = TemplateSet((View("w", 0),), (((0, 0),),), edges=False)
    rows, vocabulary = extract_fit(as_columns([[("a", "b")]]), bare)
    assert names_of(rows, vocabulary) == [["w[0]=a"]]


def test_too_few_columns():
    with pytest.raises(DataError, match="memory: 2 input columns where the templates look at 3"):
        extract_fit(as_columns([[("a", "b")]]), template_for(3))


@pytest.mark.parametrize("templates", [WORD_AND_TAG, template_for(1), template_for(4, True)])
def test_json_round_trip(templates):
    text = json.dumps(templates.to_json())
    assert TemplateSet.from_json(json.loads(text)) == templates
    assert len(text) < 2500


def damaged(**changes):
    return {**template_for(1).to_json(), **changes}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "not an object"),
        ([], "not an object"),
        ({}, "unexpected keys"),
        (damaged(more=1), "unexpected keys"),
        (damaged(edges=1), "edges"),
        (damaged(views={}), "no lists"),
        (damaged(views=[]), "no views"),
        (damaged(views=[["w", 0]]), "a view is not"),
        (damaged(views=[["w=", 0, "same"]]), "bad view name"),
        (damaged(views=[[3, 0, "same"]]), "bad view name"),
        (damaged(views=[["w", -1, "same"]]), "bad column"),
        (damaged(views=[["w", True, "same"]]), "bad column"),
        (damaged(views=[["w", 0, "eval"]]), "unknown kind"),
        (damaged(views=[["w", 0, []]]), "unknown kind"),
        (damaged(views=[["w", 0, "same"], ["w", 1, "same"]]), "a view occurs twice"),
        (damaged(conjunctions=[[]]), "not a list of items"),
        (damaged(conjunctions=[3]), "not a list of items"),
        (damaged(conjunctions=[[[0]]]), "an item is not"),
        (damaged(conjunctions=[[[1, 0]]]), "bad view number"),
        (damaged(conjunctions=[[[0, 10**9]]]), "bad offset"),
        (damaged(conjunctions=[[[0, 0.5]]]), "bad offset"),
        (damaged(conjunctions=[[[0, 0]], [[0, 0]]]), "a conjunction occurs twice"),
    ],
)
def test_damaged_templates_are_refused(data, message):
    with pytest.raises(ModelFileError, match=message):
        TemplateSet.from_json(data)
