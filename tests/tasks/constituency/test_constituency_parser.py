"""The estimator of phrase structure, and its grammar."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from support.derivations import gold_derivations
from support.grammar_of_phrases import treebank

from partwise import (
    ConstituencyParser,
    ConstituencyParserCV,
    DataError,
    MismatchError,
    load_model,
    save_model,
)
from partwise.datasets import phrase_trees
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Tree
from partwise.metrics.bracketing import bracket_scores
from partwise.structures.multiclass import Multiclass
from partwise.tasks.constituency.bracketing import grammar_of
from partwise.tasks.constituency.normal_form import NormalForm

TRAIN, TEST = treebank(60), treebank(25, seed=1)
FAST: dict[str, Any] = {"l2": 0.3, "tol": 1e-3}
SHORT = parse_tree("(S (NP (NNP Kim)) (VP (VB sees) (NP (DT the) (NN dog))) (. .))")
AMBIGUOUS = parse_tree(
    "(S (NP (NNP Kim)) (VP (VB sees) (NP (NP (DT the) (NN dog)) (PP (IN in) (NP (DT the) "
    "(NN park))))) (. .))"
)


def pairs(tree: Tree) -> list[tuple[str, str]]:
    return list(zip(tree.words, tree.tags, strict=True))


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    return ConstituencyParser(**FAST).fit(TRAIN)


@pytest.fixture(scope="module")
def untagged() -> ConstituencyParser:
    return ConstituencyParser(tags="predict", **FAST).fit(TRAIN)


# Fit and predict


def test_it_learns_the_grammar(parser: ConstituencyParser) -> None:
    assert parser.score(TEST) > 0.9
    assert parser.certificate_.converged
    assert parser.trace_[-1].certified
    assert parser.n_iter_ >= 1
    assert parser.n_long_ == 0
    assert parser.classes_.tolist() == ["NP", "PP", "S", "SBAR", "VP"]
    trees = parser.predict(TEST)
    assert parser.score(TEST) == bracket_scores(TEST, trees).f1
    for tree, gold in zip(trees, TEST, strict=True):
        assert tree.words == gold.words
        assert tree.tags == gold.tags
    assert parser.predict([pairs(tree) for tree in TEST]) == trees
    assert parser.predict([]) == []


def test_tags_can_be_predicted(untagged: ConstituencyParser) -> None:
    assert untagged.score(TEST) > 0.85
    trees = untagged.predict([tree.words for tree in TEST])
    assert trees == untagged.predict(TEST)
    tags = [
        a == b
        for t, g in zip(trees, TEST, strict=True)
        for a, b in zip(t.tags, g.tags, strict=True)
    ]
    assert np.mean(tags) > 0.9


@pytest.mark.parametrize(
    ("loss", "tol"), [("log", 1e-6), ("hinge", 1e-3), ("softmax-margin", 1e-4)]
)
def test_fits_are_certified(loss: str, tol: float) -> None:
    made = ConstituencyParser(loss=loss, l2=1.0, tol=tol).fit(TRAIN[:20])
    assert made.certificate_.converged
    assert made.certificate_.relative_gap <= tol
    assert made.score(TRAIN[:20]) > 0.9
    assert hasattr(made, "predict_marginals") == hasattr(made, "log_proba") == (loss != "hinge")


@pytest.mark.parametrize(
    "more",
    [
        {"horizontal": 0},
        {"horizontal": None, "side": "left"},
        {"horizontal": 2, "vertical": 2},
        {"splits": True},
        {"weights": "observed", "min_count": 2},
    ],
)
def test_grammars_and_features(more: dict[str, Any]) -> None:
    made = ConstituencyParser(**FAST, **more).fit(TRAIN)
    assert made.certificate_.converged
    # Some sentences are not in the grammars with many symbols.
    assert made.score(TEST) > 0.8
    np.testing.assert_array_less(-np.inf, made.log_proba(TRAIN))
    again = ConstituencyParser.from_model(made.model_)
    np.testing.assert_array_equal(again.log_proba(TEST), made.log_proba(TEST))
    for name in ("horizontal", "vertical", "side", "splits", "tags"):
        assert getattr(again, name) == getattr(made, name)


def test_the_hinge_costs_one_a_wrong_phrase() -> None:
    # With next to no weights the hinge of a sentence is the cost of the costliest tree. Of this
    # sentence there are two trees, which differ in one phrase.
    text = "(S (NP (NNP Kim)) (VP (VB sees) (NP (NP (NNP Kim)) (PP (IN in) (NP (NNP Kim))))))"
    other = "(S (NP (NNP Kim)) (VP (VB sees) (NP (NNP Kim)) (PP (IN in) (NP (NNP Kim)))))"
    trees = [parse_tree(text), parse_tree(other)]
    made = ConstituencyParser(loss="hinge", l2=1e9, tol=1e-3, horizontal=None).fit(trees)
    # Against the first tree the second has VP -> VB VP| wrong in nothing that counts; against the
    # second the first has one NP too many.
    assert made.certificate_.primal == pytest.approx(1.0, rel=1e-3)


def test_marginals(parser: ConstituencyParser) -> None:
    short = treebank(12, seed=3, longest=7)
    for sentence, mu in zip(short, parser.predict_marginals(short), strict=True):
        n = len(sentence.words)
        assert mu.shape == (n + 1, n + 1, 5)
        (ranking,) = parser.model_.candidates([sentence], 5000, probabilities=True)
        odds = np.array([one.probability for one in ranking])
        assert odds.sum() == pytest.approx(1.0)
        expected = np.zeros_like(mu)
        for one, p in zip(ranking, odds, strict=True):
            for label, start, end in one.label.brackets():
                expected[start, end, parser.classes_.tolist().index(label)] += p
        np.testing.assert_allclose(mu, expected, atol=1e-9)


def test_the_k_best_are_ranked(parser: ConstituencyParser) -> None:
    (ranking,) = parser.predict([AMBIGUOUS], k=200)
    scores = [score for _, score in ranking]
    assert scores == sorted(scores, reverse=True)
    trees = [tree for tree, _ in ranking]
    assert trees[0] == parser.predict([AMBIGUOUS])[0]
    assert AMBIGUOUS in trees
    assert len({str(tree) for tree in trees}) == len(trees) < 200
    logs = parser.log_proba(trees)
    assert np.exp(logs).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(logs - logs[0], np.array(scores) - scores[0], atol=1e-9)
    assert parser.predict([AMBIGUOUS], k=2)[0] == ranking[:2]
    assert parser.predict([SHORT], k=9)[0][0][0] == SHORT


def test_log_proba_of_trees_that_are_never_given(parser: ConstituencyParser) -> None:
    strange = [
        parse_tree("(S (NP (NNP Kim)) (VP (VB sees)) (. .))"),
        parse_tree("(S (XP (NNP Kim)) (VP (VB sees)) (. .))"),
        parse_tree("(S (VP (NNP Kim)) (NP (VB sees)) (. .))"),
        parse_tree("(S (NP (XX Kim)) (VP (VB sees)) (. .))"),
    ]
    found = parser.log_proba(strange)
    assert np.isfinite(found[0])
    assert np.isneginf(found[1:]).all()


# What the grammar does not have


def test_sentences_without_a_derivation(
    parser: ConstituencyParser, caplog: pytest.LogCaptureFixture
) -> None:
    odd = [("of", "IN"), ("of", "IN")]
    with caplog.at_level(logging.WARNING):
        trees = parser.predict([odd, SHORT, odd])
    assert [str(trees[0]), trees[1]] == ["(S (IN of) (IN of))", SHORT]
    assert "2 of 3 sentences have no derivation" in caplog.text
    assert parser.predict([odd], k=3) == [[(trees[0], -np.inf)]]
    assert not parser.predict_marginals([odd])[0].any()
    assert np.isneginf(parser.log_proba([trees[0]])).all()


def test_an_unknown_tag_may_be_anything(parser: ConstituencyParser) -> None:
    sentence = [("Kim", "NNP"), ("blinks", "XX"), (".", ".")]
    (tree,) = parser.predict([sentence])
    assert str(tree) == "(S (NP (NNP Kim)) (VP (XX blinks)) (. .))"


def test_a_single_word_without_tags(untagged: ConstituencyParser) -> None:
    (tree,) = untagged.predict([["Kim"]])
    assert tree.label == "S"
    assert tree.words == ["Kim"]


def test_long_trees_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    long = sum(len(tree.words) > 6 for tree in TRAIN)
    with caplog.at_level(logging.WARNING):
        made = ConstituencyParser(max_length=6, **FAST).fit(TRAIN, sample_weight=np.ones(60))
    assert made.n_long_ == long > 0
    assert f"{long} of 60 trees have more than 6 words" in caplog.text


# Errors


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"tags": "maybe"}, "tags is 'maybe'"),
        ({"side": "up"}, "side is 'up'"),
        ({"horizontal": -1}, "horizontal is -1"),
        ({"vertical": None}, "vertical is None"),
        ({"max_length": 0}, "max_length is 0"),
        ({"max_length": 1}, "none has 1 words or fewer"),
        ({"l2": 0.0}, "l2 is 0.0"),
        ({"templates": {"word": ["first.tag"], "span": ["left.tag"]}}, "'left.tag'"),
        ({"templates": {"word": ["first.tag"]}}, "templates for word; expected"),
    ],
)
def test_parameters_are_checked(more: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=why):
        ConstituencyParser(**more).fit(TRAIN)


def test_data_are_checked(parser: ConstituencyParser) -> None:
    with pytest.raises(DataError, match="where a list of trees"):
        ConstituencyParser().fit(SHORT)
    with pytest.raises(DataError, match=r"tree 0 .* is a str"):
        ConstituencyParser().fit(["(S (NN dog))"])
    with pytest.raises(DataError, match="no trees to train on"):
        ConstituencyParser().fit([])
    with pytest.raises(DataError, match=r"sample_weight.shape"):
        ConstituencyParser().fit(TRAIN, sample_weight=[1.0])
    with pytest.raises(DataError, match="a list of sentences"):
        parser.predict("the dog")
    with pytest.raises(DataError, match=r"sentence 1 .* is 'dog'; expected"):
        parser.predict([SHORT, "dog"])
    with pytest.raises(DataError, match="at least one word"):
        parser.predict([[]])
    with pytest.raises(DataError, match=r"sentence 0 .* has no tags"):
        parser.predict([["the", "dog"]])
    with pytest.raises(DataError, match="k is 0"):
        parser.predict([SHORT], k=0)
    with pytest.raises(DataError, match="no trees to score"):
        parser.score([])


def test_hinge_scores_are_no_probabilities() -> None:
    made = ConstituencyParser(loss="hinge", l2=1.0, tol=0.1).fit(TRAIN[:10])
    with pytest.raises(AttributeError, match="predict_marginals"):
        made.predict_marginals([SHORT])
    with pytest.raises(MismatchError, match="not probabilities"):
        made.model_.marginals([])


# The manners of an estimator


def test_threads_do_not_matter(parser: ConstituencyParser) -> None:
    two = clone(parser).set_params(n_jobs=2).fit(TRAIN)
    np.testing.assert_array_equal(two.model_.weights, parser.model_.weights)
    assert two.predict(TEST) == parser.predict(TEST)


def test_warm_start() -> None:
    made = ConstituencyParser(warm_start=True, l2=1.0, tol=1e-4).fit(TRAIN)
    first = made.certificate_.passes
    assert made.fit(TRAIN).certificate_.passes < first
    made.set_params(tol=1e-3).fit(TRAIN[::-1])
    assert made.certificate_.passes < first
    with pytest.raises(MismatchError, match="other constants or labels"):
        made.fit(TRAIN[:5])


def test_pickle_and_model_file(parser: ConstituencyParser, tmp_path: Path) -> None:
    save_model(parser.model_, tmp_path / "model")
    model = load_model(tmp_path / "model")
    for again in (ConstituencyParser.from_model(model), pickle.loads(pickle.dumps(parser))):
        assert again.predict(TEST) == parser.predict(TEST)
        np.testing.assert_array_equal(again.log_proba(TEST), parser.log_proba(TEST))
        assert again.classes_.tolist() == parser.classes_.tolist()


def test_models_of_other_kinds_are_refused(parser: ConstituencyParser) -> None:
    from dataclasses import replace

    with pytest.raises(DataError, match="does not bracket"):
        ConstituencyParser.from_model(replace(parser.model_, task="other"))
    with pytest.raises(DataError, match="does not bracket"):
        ConstituencyParser.from_model(replace(parser.model_, structure=Multiclass(2)))


# Grammar


def test_classes_of_symbols_over_words() -> None:
    gold = gold_derivations(TRAIN, NormalForm())
    grammar = grammar_of(gold.grammar, False)
    named = dict(zip(gold.grammar.symbols, grammar.classes, strict=True))
    assert named["DT"] == named["NN"] != named["NP"]
    assert named["NP+NNP"] == named["NP"]
    assert named["NP|<DT>"] == named["NP|<NP>"] != named["NP"]
    assert [grammar.constituents[named[s]] for s in ("NP", "DT", "NP|<DT>")] == [True, False, False]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("horizontal", [0, 1, 2, None])
@pytest.mark.parametrize("vertical", [1, 2, 3])
def test_no_symbols_are_confused(side: str, horizontal: int | None, vertical: int) -> None:
    trees = treebank(60, longest=30)
    # A label that is a tag as well as a phrase, and chains of the same label.
    trees += [parse_tree("(S (NP (NP (DT a))) (VP (NN (NN b) (NN c)) (NP (NN d))) (. .))")]
    gold = gold_derivations(trees, NormalForm(side, horizontal, vertical))
    grammar = grammar_of(gold.grammar, False)
    for rows in gold.derivations:
        topo = grammar.topology((len(rows) + 1) // 2)
        parts, counts = grammar.encode(rows, topo)
        mu = np.zeros(grammar.n_parts(topo))
        mu[parts] = counts
        np.testing.assert_array_equal(grammar.decode(mu, topo), rows)


def test_an_unambiguous_grammar_is_certified_at_the_objective_0() -> None:
    # Under a grammar with one tree per sentence all objectives but the penalty are 0, and what is
    # computed for the entropy is rounding, which is above 0 in one of these folds.
    found = ConstituencyParserCV(l2_max=10.0, factor=0.1, steps=4, cv=3)
    assert found.fit(phrase_trees(20, seed=1)).certificate_.converged
