"""The features of phrase structure, their templates and their encoder."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from support.derivations import gold_derivations
from support.grammar_of_phrases import treebank

from partwise import ConstituencyParser, DataError, ModelFileError
from partwise.formats.brackets import parse_tree
from partwise.models.features import read_features
from partwise.structures.grammar.constraints import allowed_spans, allowed_splits
from partwise.structures.multiclass import Multiclass
from partwise.tasks.constituency.bracketing import grammar_of
from partwise.tasks.constituency.normal_form import NormalForm
from partwise.tasks.constituency.span_table import SpanTable
from partwise.tasks.constituency.templates import COLUMNS, read_templates, standard_templates
from partwise.tasks.constituency.tokens import SpanSentence, encode, places_of
from partwise.tasks.example_form import key_names

TRAIN, TEST = treebank(60), treebank(25, seed=1)
SHORT = parse_tree("(S (NP (NNP Kim)) (VP (VB sees) (NP (DT the) (NN dog))) (. .))")


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    return ConstituencyParser(l2=0.3, tol=1e-3).fit(TRAIN)


def test_sites_are_those_of_the_grammar() -> None:
    gold = gold_derivations(TRAIN, NormalForm())
    grammar = grammar_of(gold.grammar, True)
    templates = standard_templates(True)
    features = gold.features(templates)
    names = features.features_of["word"].vocabularies
    tokens = encode(gold.sentences[:3], names)
    spans, splits = [], []
    for at, n in zip(tokens.first, tokens.lengths, strict=True):
        topo = grammar.topology(int(n))
        spans.append(allowed_spans(topo) + at)
        splits.append(allowed_splits(topo) + at)
    places = places_of(tokens, slice(None), "span")
    np.testing.assert_array_equal(
        np.stack([places.first, places.last + 1], axis=1), np.concatenate(spans)
    )
    places = places_of(tokens, slice(None), "split")
    np.testing.assert_array_equal(
        np.stack([places.first, places.right, places.last + 1], axis=1), np.concatenate(splits)
    )


def described(features: SpanTable, sentence: SpanSentence, row: int) -> set[str]:
    rows = features.rows(encode([sentence], features.vocabularies))
    numbers = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
    return {key_names(features).names([int(number)])[0] for number in numbers}


def test_features_say_what_they_are(parser: ConstituencyParser) -> None:
    encoder = parser.model_.features
    sentence = SpanSentence(tuple(SHORT.words), tuple(SHORT.tags))
    # The spans of 5 words by start: 4 from the first word, then (1, 3), (1, 4), ...
    seen = described(encoder.features_of["span"], sentence, 5)
    assert {
        "length=3",
        "first.tag=VB last.tag=NN length=3",
        "first-1.tag=NNP first.tag=VB last.tag=NN last+1.tag=.",
        "last+1.form=.",
    } <= seen
    assert described(encoder.features_of["span"], sentence, 0) & {"first-1.tag=<begin>"}
    words = described(encoder.features_of["word"], sentence, 0)
    assert {"first.tag=NNP first.shape=Xx", "first.tag=NNP first-1.tag=<begin>"} <= words
    # What was not seen in training has no features.
    strange = SpanSentence(("blinks",) * 4, ("XX",) * 4)
    assert described(encoder.features_of["span"], strange, 3) == {"length=2"}


def test_only_features_of_right_spans_have_weights() -> None:
    trees = [parse_tree("(S (A a) (X (B b) (C c)))")]
    gold = gold_derivations(trees, NormalForm())
    texts = {"word": ["first.form"], "span": ["first.form", "length"]}
    encoder = gold.features(texts)
    span = encoder.features_of["span"]
    seen = {key_names(span).names([number])[0] for number in range(span.n_features)}
    assert seen == {"first.form=a", "first.form=b", "length=2", "length=3"}
    # The span of a and b is in no tree, but what it looks like is.
    assert described(span, gold.sentences[0], 0) == {"first.form=a", "length=2"}
    few = gold.features(texts, min_count=2)
    assert few.feature_counts(grammar_of(gold.grammar, False)) == (0, 0, 0, 1, 1)


@pytest.mark.parametrize("tagged", [True, False])
def test_standard_templates_can_be_read(tagged: bool) -> None:
    for kind, texts in standard_templates(tagged).items():
        assert read_templates(texts, [2**12] * len(COLUMNS)), kind
        assert any(".tag" in text for text in texts) == tagged


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ([], "0 templates"),
        (["first.tag first.tag"], "names an atom twice"),
        (["first.tag last.tag", "last.tag first.tag"], "occurs twice"),
        (["first+3.tag"], "cannot be read"),
        (["first.colour"], "cannot be read"),
        ([""], "has no atoms"),
        (["first.form last.form first-1.form last+1.form first+1.form"], "needs 60 bits"),
    ],
)
def test_templates_are_checked(texts: list[str], why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_templates(texts, [2**12] * len(COLUMNS))


def test_features_of_another_encoder_are_found() -> None:
    made = []
    for trees in (TRAIN[:30], [*TEST, *TRAIN]):
        gold = gold_derivations(trees, NormalForm())
        texts = standard_templates(True)
        made.append(gold.features(texts))
    small, large = made
    for kind in ("word", "span", "split"):
        a, b = small.features_of[kind], large.features_of[kind]
        there, back = a.match(b), b.match(a)
        assert (there >= 0).all()
        np.testing.assert_array_equal(back[there], np.arange(a.n_features))
        assert (back < 0).sum() == b.n_features - a.n_features
        for number in range(0, a.n_features, 97):
            assert key_names(a).names([number])[0] == key_names(b).names([int(there[number])])[0]


@pytest.mark.parametrize("change", ["templates", "tagged", "keys", "falling", "value", "arrays"])
def test_damaged_files_are_refused(parser: ConstituencyParser, change: str) -> None:
    encoder = parser.model_.features
    data, arrays = encoder.to_json(), encoder.arrays()
    read_features("spans", data, arrays)
    if change == "templates":
        data["templates"]["span"] = ["first.tag", 3]
    elif change == "tagged":
        data["tagged"] = 1
    elif change == "keys":
        arrays["span_keys"] = arrays["span_keys"].astype(np.float64)
    elif change == "falling":
        arrays["span_keys"] = arrays["span_keys"][::-1].copy()
    elif change == "value":
        arrays["span_keys"] = arrays["span_keys"] | (1 << 55)
    else:
        del arrays["word_keys"]
    with pytest.raises((DataError, ModelFileError)):
        read_features("spans", data, arrays)


def test_encoders_go_with_grammars(parser: ConstituencyParser) -> None:
    encoder = parser.model_.features
    with pytest.raises(DataError, match="use them with grammars"):
        encoder.feature_counts(Multiclass(2))
    gold = gold_derivations(TRAIN, NormalForm())
    with pytest.raises(DataError, match="look at splits"):
        encoder.feature_counts(grammar_of(gold.grammar, True))


def test_the_encoder_needs_no_compiler() -> None:
    check = "import sys, partwise.tasks.constituency.features; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)
