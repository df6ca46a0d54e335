"""The estimator of dependency trees and its gold trees."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from support.grammar_of_arcs import crossing, parsed, treebank

from partwise import (
    DataError,
    DependencyParser,
    DependencyParserCV,
    UnknownFeaturesWarning,
    load_model,
    save_model,
)
from partwise.cli import main
from partwise.formats.conll import read_conll, write_conll
from partwise.models.tally import Tally
from partwise.structures.dependency.arcs import ArcConstraints
from partwise.structures.dependency.projectivity import is_projective
from partwise.tasks.dependency.gold import gold_trees
from partwise.tasks.dependency.task import ParseTask

TRAIN, TEST = treebank(60), treebank(20, seed=1)
FAST: dict[str, Any] = {"l2": 0.1, "tol": 1e-3}


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    return DependencyParser(**FAST).fit(TRAIN)


@pytest.fixture(scope="module")
def labelled() -> DependencyParser:
    return DependencyParser(labelled=True, **FAST).fit(TRAIN)


# Fit and predict


def test_it_learns_the_grammar(parser: DependencyParser) -> None:
    assert parser.score(TEST) > 0.95
    assert parser.certificate_.converged
    assert parser.trace_[-1].certified
    assert parser.n_iter_ >= 1
    assert parser.classes_.tolist() == []
    heads = parser.predict(TEST)
    assert [len(of) for of in heads] == [len(sentence) for sentence in TEST]
    assert all(type(head) is int for of in heads for head in of)
    pairs = zip([h for s in TEST for h in s.head], [h for of in heads for h in of], strict=True)
    right = sum(a == b for a, b in pairs)
    assert parser.score(TEST) == pytest.approx(right / sum(map(len, TEST)))


def test_relations(labelled: DependencyParser) -> None:
    assert labelled.score(TEST) > 0.9
    assert labelled.classes_.tolist() == sorted({r for s in TRAIN for r in s.deprel})
    trees = labelled.predict(TEST)
    assert labelled.score(TEST, trees) == 1.0
    heads, names = ([[pair[i] for pair in tree] for tree in trees] for i in (0, 1))
    assert labelled.score(TEST, heads, names) == 1.0
    both = labelled.predict_marginals(TEST[:3], by_label=True)
    arcs = labelled.predict_marginals(TEST[:3])
    for mu, arc, sentence in zip(both, arcs, TEST, strict=False):
        t = len(sentence)
        assert mu.shape == (t, t + 1, len(labelled.classes_))
        np.testing.assert_allclose(mu.sum(axis=2), arc)


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("projective", [True, False])
def test_losses_and_structures(loss: str, projective: bool) -> None:
    # A small optimum takes the hinge long.
    l2 = 30.0 if loss == "hinge" else 1.0
    made = DependencyParser(loss=loss, projective=projective, l2=l2, tol=0.05).fit(TRAIN[:20])
    assert made.certificate_.converged
    assert made.score(TEST) > 0.85
    assert made.model_.structure.name == ("projective" if projective else "spanning-tree")
    assert hasattr(made, "predict_marginals") == (loss != "hinge")


def test_the_hinge_costs_one_a_wrong_word() -> None:
    # With next to no weights the hinge of a sentence is the cost of the costliest tree.
    made = DependencyParser(loss="hinge", l2=1e9, tol=1e-3, single_root=False).fit(TRAIN[:5])
    assert made.certificate_.primal == pytest.approx(sum(map(len, TRAIN[:5])), rel=1e-3)


def test_marginals(parser: DependencyParser) -> None:
    for mu, sentence in zip(parser.predict_marginals(TEST), TEST, strict=True):
        t = len(sentence)
        assert mu.shape == (t, t + 1)
        np.testing.assert_allclose(mu.sum(axis=1), 1.0)
        np.testing.assert_allclose(mu[:, 0].sum(), 1.0)
        assert not mu[np.arange(t), np.arange(1, t + 1)].any()
    with pytest.raises(DataError, match="without relations"):
        parser.predict_marginals(TEST, by_label=True)


def test_the_k_best_are_ranked_and_add_up(parser: DependencyParser) -> None:
    short = [{"form": ["the", "dog", "sees"], "pos": ["DT", "NN", "VB"]}]
    (ranking,) = parser.predict(short, k=100)
    scores = [score for _, score in ranking]
    assert scores == sorted(scores, reverse=True)
    trees = [tree for tree, _ in ranking]
    assert trees[0] == parser.predict(short)[0]
    # 3 words have 7 projective trees with a single root.
    assert len(trees) == len({tuple(tree) for tree in trees}) == 7
    assert np.exp([parser.log_proba(short, [tree])[0] for tree in trees]).sum() == pytest.approx(1)
    mu = parser.predict_marginals(short)[0]
    odds = np.exp([parser.log_proba(short, [tree])[0] for tree in trees])
    for word in range(3):
        for head in range(4):
            held = sum(p for p, tree in zip(odds, trees, strict=True) if tree[word] == head)
            assert mu[word, head] == pytest.approx(held)


def test_log_proba_of_trees_that_are_not_given(labelled: DependencyParser) -> None:
    words = ["the", "dog", "sees", "old"]
    given = [{"form": words}]
    fine = labelled.log_proba(given, [[2, 3, 0, 3]], [["det", "subj", "root", "amod"]])
    assert np.isfinite(fine).all()
    for heads, names in (
        ([3, 0, 2, 1], ["det", "subj", "root", "amod"]),  # crossing arcs
        ([2, 3, 0, 0], ["det", "subj", "root", "amod"]),  # two roots
        ([2, 3, 0, 3], ["det", "subj", "root", "new"]),
    ):
        assert labelled.log_proba(given, [heads], [names]) == -np.inf
    with pytest.raises(DataError, match="heads of each other"):
        labelled.log_proba(given, [[2, 1, 0, 3]], [["det"] * 4])


def test_fixed_arcs(parser: DependencyParser) -> None:
    sentence = TEST[0]
    t = len(sentence)
    (free,) = parser.predict([sentence])
    (tree,) = parser.predict([sentence], fixed=[{1: t}])
    assert tree[0] == t != free[0]
    assert parser.predict([sentence], fixed=[[t] + [None] * (t - 1)]) == [tree]
    assert parser.predict([sentence], fixed=[ArcConstraints(heads=[(1, [t])])]) == [tree]
    assert parser.predict([sentence], fixed=[None]) == [free]
    assert parser.predict([sentence], fixed=[{1: [free[0], t]}]) == [free]
    (ranking,) = parser.predict([sentence], k=3, fixed=[{1: t}])
    assert all(of[0] == t for of, _ in ranking)
    assert parser.parse([sentence], fixed=[{1: t}])[0].head == tree
    for wrong in ({0: 1}, {1: []}, {t + 1: 1}, [0], 7, {1: "x"}):
        with pytest.raises(DataError, match=r"fixed|no head"):
            parser.predict([sentence], fixed=[wrong])
    with pytest.raises(DataError, match="2 entries"):
        parser.predict([sentence], fixed=[None, None])


def test_parse_fills_trees_in(parser: DependencyParser, labelled: DependencyParser) -> None:
    bare = [s.with_tree([-1] * len(s), ["_"] * len(s)) for s in TEST]
    filled = parser.parse(bare)
    assert [s.head for s in filled] == parser.predict(TEST)
    assert all(set(s.deprel) == {"_"} for s in filled)
    filled = labelled.parse(bare)
    pairs = [list(zip(s.head, s.deprel, strict=True)) for s in filled]
    assert pairs == labelled.predict(TEST)
    assert [s.rows for s in labelled.parse(TEST)] == [s.rows for s in filled]


def test_sentences_in_other_shapes(parser: DependencyParser) -> None:
    columns = [{"form": s.form, "cpos": s.cpos, "pos": np.array(s.pos)} for s in TEST]
    words = [
        [{"form": f, "cpos": c, "pos": p} for f, c, p in zip(s.form, s.cpos, s.pos, strict=True)]
        for s in TEST
    ]
    assert parser.predict(columns) == parser.predict(words) == parser.predict(TEST)
    heads = [s.head for s in TRAIN]
    shaped = [{"form": s.form, "cpos": s.cpos, "pos": s.pos} for s in TRAIN]
    again = clone(parser).fit(shaped, heads)
    np.testing.assert_array_equal(again.model_.weights, parser.model_.weights)
    own = [[{"form": "a", "head": 2}, {"form": "b", "head": 0}]]
    assert clone(parser).fit(own).predict(own) == [[2, 0]]


@pytest.mark.parametrize(
    ("sentences", "heads", "message"),
    [
        ("text", None, "give a list of sentences"),
        ({"form": ["a"]}, None, "give a list of sentences"),
        ([["a", "b"]], None, "sentence 0 .* type list"),
        ([{"form": "abc"}], None, "one entry a word"),
        ([{"form": []}], None, "has no words"),
        ([{"pos": ["A"]}], None, "has no words"),
        ([{"form": ["a", 1]}], None, r"the form of word 2 .* is 1"),
        ([{"form": ["a"], "tag": ["b"]}], None, "no column 'tag'"),
        ([{"form": ["a"], "pos": ["b", "c"]}], None, "2 values of pos for 1 words"),
        ([{"form": ["a\tb"]}], [[0]], "sentence 0 .* cannot be written"),
        ([{"form": ["a"], "head": ["0"]}], None, "give a whole number"),
        ([{"form": ["a"]}], None, "has no head; it was left out or is -1"),
        ([{"form": ["a", "b"]}], [[1, -1]], "word 2 .* has no head.* count from 0, add 1 to each"),
        ([{"form": ["a", "b"]}], [[1, 1]], "word 1 .* is its own head; no word has the head 0"),
        ([{"form": ["a", "b", "c"]}], [[2, 1, 0]], "each other; correct one, so that all words"),
        ([{"form": ["a"]}], [[0], [0]], "heads of 2 sentences"),
        ([{"form": ["a"]}], [[0, 1]], "has 2 for 1 words"),
        ([{"form": ["a"]}], [["b"]], "no head"),
        ([{"form": ["a"]}], [[3]], "has head 3"),
        ([{"form": ["a", "b"]}], [[2, 1]], "heads of each other; no word has the head 0"),
        ([{"form": ["a", "b"]}], [[0, 0]], "allow several roots"),
        ([], None, "no sentences"),
    ],
)
def test_what_is_wrong_is_said(sentences: Any, heads: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        DependencyParser().fit(sentences, heads)


def test_relations_that_are_missing_or_odd() -> None:
    with pytest.raises(DataError, match="no relations"):
        DependencyParser(labelled=True).fit([{"form": ["a"], "head": [0]}])
    with pytest.raises(DataError, match="is no string"):
        DependencyParser(labelled=True).fit([{"form": ["a"]}], [[0]], [[3]])
    one = DependencyParser(labelled=True).fit([{"form": ["a", "b"]}], [[(0, "r"), (1, "r")]])
    assert one.predict([{"form": ["a", "b"]}]) == [[(0, "r"), (1, "r")]]


# Trees that are not projective, and roots


def test_nonprojective_gold_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    odd = crossing()
    assert not is_projective(odd.head)
    data = [*TRAIN[:10], odd, odd]
    caplog.set_level(logging.WARNING)
    made = DependencyParser(**FAST).fit(data)
    assert (made.n_lifted_, made.n_skipped_) == (2, 0)
    assert "2 of 12 trees are not projective: 2 words" in caplog.text
    caplog.clear()
    made = DependencyParser(nonprojective_gold="skip", **FAST).fit(data, sample_weight=range(1, 13))
    assert (made.n_lifted_, made.n_skipped_) == (0, 2)
    assert "2 of 12 trees are not projective: these sentences were left out" in caplog.text
    caplog.clear()
    with pytest.raises(DataError, match=r"sentence 10 .* cross"):
        DependencyParser(nonprojective_gold="raise").fit(data)
    with pytest.raises(DataError, match="lift, skip, raise"):
        DependencyParser(nonprojective_gold="drop").fit(data)
    free = DependencyParser(projective=False, **FAST).fit(data)
    assert (free.n_lifted_, free.n_skipped_) == (0, 0)
    assert free.predict([odd]) == [odd.head]
    assert caplog.text == ""


def test_what_is_compared_with_may_be_any_tree(
    parser: DependencyParser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    odd = crossing()
    (heads,) = parser.predict([odd])
    for gold in (odd.head, [0] * len(odd)):
        right = sum(a == b for a, b in zip(heads, gold, strict=True))
        assert parser.score([odd], [gold]) == pytest.approx(right / len(odd))
    assert caplog.text == ""


def test_gold_trees_keep_projective_ones() -> None:
    gold = gold_trees(TRAIN, [s.head for s in TRAIN], [s.deprel for s in TRAIN])
    assert gold.kept == list(range(len(TRAIN)))
    assert [tree[:, 0].tolist() for tree in gold.trees] == [s.head for s in TRAIN]
    names = [[gold.relations[k] for k in tree[:, 1]] for tree in gold.trees]
    assert names == [s.deprel for s in TRAIN]


def test_several_roots() -> None:
    data = [{"form": ["a", "b"], "head": [0, 0]}, {"form": ["a", "c"], "head": [0, 1]}]
    made = DependencyParser(single_root=False, **FAST).fit(data)
    assert made.predict(data) == [[0, 0], [0, 1]]


# Settings


def test_scikit_learn_manners(parser: DependencyParser) -> None:
    made = DependencyParser(l2=3.0, labelled=True)
    assert clone(made).get_params() == made.get_params()
    assert made.set_params(l2=2.0).l2 == 2.0
    scores = cross_val_score(DependencyParser(**FAST), TRAIN, [s.head for s in TRAIN], cv=2)
    assert (scores > 0.8).all()
    again = pickle.loads(pickle.dumps(parser))
    assert again.predict(TEST) == parser.predict(TEST)
    with pytest.raises(Exception, match="not fitted"):
        DependencyParser().predict(TEST)


def test_hashing_counts_and_templates() -> None:
    hashed = DependencyParser(hashing=2**12, **FAST).fit(TRAIN)
    assert len(hashed.model_.weights) == 2**12
    assert hashed.score(TEST) > 0.9
    few = DependencyParser(templates=["h.pos m.pos", "m.pos"], **FAST).fit(TRAIN)
    assert len(few.model_.weights) < 200
    rare = DependencyParser(templates=["h.pos m.pos", "m.pos"], min_count=50, **FAST).fit(TRAIN)
    assert len(rare.model_.weights) < len(few.model_.weights)
    with pytest.raises(DataError, match="power of two"):
        DependencyParser(hashing=1000).fit(TRAIN)
    for wrong in (0, 1.5, "2"):
        with pytest.raises(DataError, match=r"min_count is .*; give a whole number from 1"):
            DependencyParser(min_count=wrong).fit(TRAIN)  # type: ignore[arg-type]


def test_observed_weights() -> None:
    every = DependencyParser(labelled=True, **FAST).fit(TRAIN)
    seen = DependencyParser(labelled=True, weights="observed", **FAST).fit(TRAIN)
    assert len(seen.model_.weights) < len(every.model_.weights)
    assert seen.score(TEST) > 0.9
    plain = DependencyParser(weights="observed", **FAST).fit(TRAIN)
    assert not plain.model_.layout.slot.size


def test_threads_and_stretches_change_nothing(
    parser: DependencyParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = parser.predict_marginals(TEST)
    monkeypatch.setattr("partwise.tasks.dependency.features._ARCS", 100)
    model = parser.model_
    assert len(list(model.features.rows(model.structure, TEST, Tally()))) > 5
    two = clone(parser).set_params(n_jobs=2)
    two._adopt(parser.model_)
    for a, b in zip(two.predict_marginals(TEST), whole, strict=True):
        np.testing.assert_array_equal(a, b)
    assert two.predict(TEST) == parser.predict(TEST)
    np.testing.assert_array_equal(two.log_proba(TEST), parser.log_proba(TEST))
    assert parser.predict([]) == []
    assert parser.log_proba([]).shape == (0,)


def test_sample_weights_are_copies() -> None:
    twice = DependencyParser(**FAST).fit([*TRAIN[:10], *TRAIN[:5]])
    weighed = DependencyParser(**FAST).fit(TRAIN[:10], sample_weight=[2] * 5 + [1] * 5)
    gap = twice.certificate_.gap + weighed.certificate_.gap
    assert abs(twice.certificate_.primal - weighed.certificate_.primal) <= gap
    assert weighed.score(TEST, sample_weight=[0.0] * 19 + [1.0]) == weighed.score(TEST[19:])


def test_warm_start() -> None:
    made = DependencyParser(warm_start=True, l2=0.1, tol=1e-2).fit(TRAIN)
    first = made.certificate_
    made.set_params(tol=1e-4).fit(TRAIN)
    fresh = DependencyParser(l2=0.1, tol=1e-4).fit(TRAIN)
    assert made.certificate_.passes < fresh.certificate_.passes
    assert made.certificate_.primal <= first.primal + 1e-9
    # Other sentences, with new words: the weights of features that both have are the start.
    new = {"form": ["the", "unicorn", "sees"], "pos": ["DT", "NN", "VB"], "head": [2, 3, 0]}
    made.fit([*TRAIN, new])
    assert made.certificate_.converged
    hashed = DependencyParser(warm_start=True, hashing=2**10, l2=0.1, tol=1e-2).fit(TRAIN)
    before = hashed.certificate_.passes
    hashed.fit(TRAIN, sample_weight=[1.0] * 59 + [0.0])
    assert hashed.certificate_.passes < before
    with pytest.raises(DataError, match="hashed features"):
        hashed.fit([new])


# Models on disk


@pytest.mark.parametrize("labels", [False, True])
def test_save_and_load(
    labels: bool, parser: DependencyParser, labelled: DependencyParser, tmp_path: Path
) -> None:
    made = labelled if labels else parser
    save_model(made, tmp_path / "model")
    again = DependencyParser.from_model(load_model(tmp_path / "model"))
    assert again.predict(TEST) == made.predict(TEST)
    np.testing.assert_array_equal(again.log_proba(TEST), made.log_proba(TEST))
    assert again.labelled == labels
    assert again.n_lifted_ == 0
    assert again.projective
    check = (
        "import sys; from partwise.models.file import read_header;"
        "assert read_header(sys.argv[1])['encoder']['name'] == 'arcs';"
        "sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check, str(tmp_path / "model")], check=True)


def test_a_model_does_what_its_estimator_and_the_command_do(tmp_path: Path) -> None:
    write_conll(tmp_path / "train", TRAIN[:20])
    write_conll(tmp_path / "test", TEST)
    for labels in (False, True):
        train = ["train", "--task", "parse", f"{tmp_path}/train", "--model", f"{tmp_path}/model"]
        more = ["--labelled"] if labels else []
        assert main([*train, *more, "--l2", "0.1", "--tol", "1e-3", "--quiet"]) == 0
        model = load_model(tmp_path / "model")
        made = DependencyParser(labelled=labels, **FAST).fit(TRAIN[:20])
        # The command and the estimator train the same model.
        np.testing.assert_array_equal(made.model_.weights, model.weights)
        again = DependencyParser.from_model(model)
        assert again.get_params() == made.get_params()
        trees = model.predict(TEST)
        assert trees == again.predict(TEST) == made.predict(TEST)
        predict = ["predict", f"{tmp_path}/model", f"{tmp_path}/test"]
        assert main([*predict, "--output", f"{tmp_path}/out"]) == 0
        written = read_conll(tmp_path / "out")
        heads, names = [s.head for s in written], [s.deprel for s in written]
        pairs = [list(zip(h, r, strict=True)) for h, r in zip(heads, names, strict=True)]
        assert trees == (pairs if labels else heads)
        assert [s.rows for s in made.parse(TEST)] == [s.rows for s in written]
        columns = [{"form": s.form, "cpos": s.cpos, "pos": s.pos} for s in TEST]
        assert model.predict(columns) == model.predict(read_conll(tmp_path / "test")) == trees
        assert model.predict(TEST, k=2) == made.predict(TEST, k=2)
        last = len(TEST[0])
        fixed = [{1: last}, *[None] * (len(TEST) - 1)]
        assert model.predict(TEST, fixed=fixed) == made.predict(TEST, fixed=fixed)
        for a, b in zip(
            model.marginals(TEST), made.predict_marginals(TEST, by_label=labels), strict=True
        ):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(
            model.log_proba(TEST, labels=trees), made.log_proba(TEST, trees)
        )
        np.testing.assert_array_equal(model.log_proba(TEST), made.log_proba(TEST))
        drawn = model.sample(TEST[:2], size=3)
        assert all(len(tree) == len(s) for s, of in zip(TEST, drawn, strict=False) for tree in of)


def test_sentences_of_which_nothing_is_known(parser: DependencyParser) -> None:
    strange = [{"form": ["xx", "yy"], "pos": ["?", "??"]}, {"form": ["zz"]}]
    for method in (
        parser.predict,
        parser.predict_marginals,
        parser.parse,
        parser.model_.predict,
        lambda given: parser.log_proba(given, [[0, 1], [0]]),
        lambda given: parser.score(given, [[0, 1], [0]]),
    ):
        with pytest.warns(UnknownFeaturesWarning, match="none of the 5 words, tags and other"):
            method(strange)
    # A single value is enough, in whatever sentence it is.
    parser.predict([*strange, {"form": ["the"]}])


def test_weights_and_relations_follow_the_folds() -> None:
    names = [s.deprel for s in TRAIN]
    bare = [{"form": s.form, "pos": s.pos} for s in TRAIN]
    made = DependencyParserCV(labelled=True, l2_max=10.0, factor=0.1, steps=2, cv=2).fit(
        sentences=bare, heads=[s.head for s in TRAIN], labels=names, sample_weight=[1.0] * 60
    )
    assert made.scores_.shape == (2, 2)
    assert (made.scores_ > 0.6).all()
    assert made.classes_.tolist() == sorted({r for of in names for r in of})


def test_other_models_are_refused() -> None:
    from partwise import LinearClassifier

    other = LinearClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(DataError, match="does not parse"):
        DependencyParser.from_model(other.model_)
    with pytest.raises(DataError, match="trained to parse"):
        ParseTask().read_for(other.model_, "-", labelled=False)


def test_a_sentence_is_what_the_grammar_makes() -> None:
    assert parsed(3).rows == parsed(3).rows
    assert all(is_projective(s.head) and s.head.count(0) == 1 for s in TRAIN)
