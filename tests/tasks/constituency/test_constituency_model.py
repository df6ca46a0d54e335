"""Phrase structure parsers by command, as estimators, and as bare models; the choice of l2."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Run, runner
from support.grammar_of_phrases import treebank

from partwise import (
    ConstituencyParser,
    ConstituencyParserCV,
    DataError,
    UnknownFeaturesWarning,
    load_model,
    path,
    save_model,
)
from partwise.formats.brackets import parse_tree, read_brackets, write_brackets
from partwise.formats.tree import Tree
from partwise.models.model import Model
from partwise.tasks.constituency import features as span_features
from partwise.tasks.constituency.features import SpanFeatures
from partwise.tasks.example_form import key_names

TRAIN, TEST = treebank(60), treebank(15, seed=1, longest=9)
ODD = parse_tree("(S (IN of) (IN of))")
STRANGE = [("7-up8", "?"), ("8-up9", "?")]
SHORT: dict[str, Any] = {"l2_max": 3.0, "factor": 0.3, "steps": 3, "cv": 3}


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture(scope="module")
def parser() -> ConstituencyParser:
    return ConstituencyParser(l2=0.3, tol=1e-3).fit(TRAIN)


def pairs(tree: Tree) -> list[tuple[str, str]]:
    return list(zip(tree.words, tree.tags, strict=True))


# One model, whoever uses it


@pytest.mark.parametrize("predict_tags", [False, True])
def test_command_estimator_and_model_agree(predict_tags: bool, run: Run, tmp_path: Path) -> None:
    write_brackets(tmp_path / "train", TRAIN)
    write_brackets(tmp_path / "test", [*TEST, ODD])
    options = ["--l2", "0.3", "--tol", "1e-3", "--quiet", "--max-length", "12", "--side", "left"]
    options += ["--predict-tags"] if predict_tags else []
    train = ["train", "--task", "brackets", tmp_path / "train", "--model", tmp_path / "model"]
    assert run(*train, *options)[0] == 0
    same: dict[str, Any] = {"l2": 0.3, "tol": 1e-3, "max_length": 12, "side": "left"}
    same["tags"] = "predict" if predict_tags else "gold"
    fitted = ConstituencyParser(**same).fit(TRAIN)
    model = load_model(tmp_path / "model")
    np.testing.assert_array_equal(model.weights, fitted.model_.weights)
    assert model.meta == fitted.model_.meta
    again = ConstituencyParser.from_model(model)
    assert again.get_params() == fitted.get_params()

    sentences = [tree.words if predict_tags else pairs(tree) for tree in [*TEST, ODD]]
    trees = fitted.predict(sentences)
    save_model(fitted, tmp_path / "fitted")
    for name in ("model", "fitted"):
        code, out, _ = run("predict", tmp_path / name, tmp_path / "test")
        assert (code, out.splitlines()) == (0, list(map(str, trees)))
    file = read_brackets(tmp_path / "test")
    for given in (sentences, [*TEST, ODD], file, model.features.read(model.structure, file)):
        assert model.predict(given) == trees
    assert again.predict(sentences) == trees
    assert model.predict(sentences, k=2) == fitted.predict(sentences, k=2)
    for mu, wanted in zip(model.marginals(file), fitted.predict_marginals(sentences), strict=True):
        np.testing.assert_array_equal(mu, wanted)
    logs = model.log_proba(sentences, labels=[*TEST, ODD])
    np.testing.assert_array_equal(logs, fitted.log_proba([*TEST, ODD]))
    assert np.isfinite(logs[:-1]).any()


def test_samples_are_trees(parser: ConstituencyParser) -> None:
    drawn = parser.model_.sample(TEST[:3], size=4)
    assert [tree.words for tree in TEST[:3]] == [some[0].words for some in drawn]
    assert np.isfinite(parser.log_proba([tree for some in drawn for tree in some])).all()


def test_candidates_without_a_derivation_have_no_probability(parser: ConstituencyParser) -> None:
    for probabilities in (False, True):
        (ranking,) = parser.model_.candidates([ODD], 3, probabilities=probabilities)
        (one,) = ranking
        assert (one.label, one.score, one.probability) == (ODD, -np.inf, 0.0)


def test_what_a_model_cannot_read(parser: ConstituencyParser) -> None:
    model = parser.model_
    with pytest.raises(TypeError, match="no argument 'lengths'"):
        model.predict(TEST, lengths=[1])
    with pytest.raises(DataError, match="takes no fixed labels"):
        model.predict(TEST, fixed=[{}])
    with pytest.raises(DataError, match="2 trees where there are 1 sentences"):
        model.log_proba(TEST[:1], labels=TEST[:2])
    with pytest.raises(DataError, match=r"tree 0 .* has other words"):
        model.log_proba(TEST[:1], labels=[ODD])


# Some sentences at a time


def test_stretches_do_not_matter(
    parser: ConstituencyParser,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    given = [ODD, *TEST, ODD]
    trees, ranked = parser.predict(given), parser.predict(given, k=3)
    marginals, logs = parser.predict_marginals(given), parser.log_proba(given)
    monkeypatch.setattr(span_features, "_SPANS", 40)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert parser.predict(given) == trees
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 17 sentences have no derivation under the grammar: they get a flat tree"
    ]
    assert parser.predict(given, k=3) == ranked
    np.testing.assert_array_equal(parser.log_proba(given), logs)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        found = parser.predict_marginals(given)
    assert caplog.text.count("2 of 17 sentences have no derivation") == 1
    assert "they have no phrases" in caplog.text
    for mu, wanted in zip(found, marginals, strict=True):
        np.testing.assert_array_equal(mu, wanted)


def damaged(model: Model, feature: str) -> Model:
    """Make a weight of one feature of words no number."""
    assert isinstance(model.features, SpanFeatures)
    table = model.features.features_of["word"]
    number = next(n for n in range(table.n_features) if key_names(table).names([n])[0] == feature)
    weights = model.weights.copy()
    weights[model.layout.first[number]] = np.nan
    return replace(model, weights=weights)


def test_scores_that_are_no_numbers_are_found(
    parser: ConstituencyParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_features, "_SPANS", 10)
    word = next(word for tree in TEST for word in tree.words if word not in TEST[0].words)
    model = damaged(parser.model_, f"first.form={word}")
    at = next(i for i, tree in enumerate(TEST) if word in tree.words)
    verbs: list[Any] = [
        model.predict,
        model.marginals,
        lambda trees: model.predict(trees, k=2),
        lambda trees: model.log_proba(trees, labels=trees),
    ]
    for verb in verbs:
        with pytest.raises(DataError, match=rf"example {at} \(counted from 0\) has no finite"):
            verb(TEST)


# Input of which nothing is known


def test_input_of_unknown_words_is_warned_of(
    parser: ConstituencyParser, run: Run, tmp_path: Path
) -> None:
    calls: list[Any] = [
        parser.predict,
        parser.predict_marginals,
        lambda given: parser.predict(given, k=2),
    ]
    for call in calls:
        match = "knows none of the 14 words, tags and other values"
        with pytest.warns(UnknownFeaturesWarning, match=match) as found:
            call([STRANGE])
        assert len(found) == 1
        assert found[0].filename == __file__
        # A single value that is known is enough.
        call([STRANGE, TEST[0]])
    save_model(parser, tmp_path / "model")
    (tmp_path / "strange").write_text("(? (?? 7-up8) (?? 8-up9))\n", "utf-8")
    for more in ([], ["--marginals"], ["--k", 2]):
        code, _, err = run("predict", tmp_path / "model", tmp_path / "strange", *more)
        assert code == 0
        assert err.count(f"{tmp_path / 'strange'}: the model knows none of the") == 1


# The choice of l2


def test_l2_is_chosen_by_folds() -> None:
    made = ConstituencyParserCV(**SHORT).fit(TRAIN[:30])
    own = {"l2_max", "factor", "steps", "extend", "cv", "rule", "scoring"}
    plain = ConstituencyParser().get_params().keys()
    assert made.get_params().keys() == (plain | own) - {"l2", "warm_start", "out_of_core"}
    assert [row["l2"] for row in made.path_] == pytest.approx([3.0, 0.9, 0.27])
    assert made.scores_.shape == (3, 3)
    assert made.l2_ == made.path_[int(made.scores_.mean(axis=1).argmax())]["l2"]
    assert made.certificate_.converged
    assert made.classes_.tolist() == ["NP", "PP", "S", "SBAR", "VP"]
    again = ConstituencyParserCV.from_model(made.model_)
    assert type(again) is ConstituencyParser
    assert (again.l2, again.tol) == (made.l2_, made.tol)
    assert (
        again.predict(TEST) == made.predict(TEST) == pickle.loads(pickle.dumps(made)).predict(TEST)
    )


def test_l2_is_chosen_by_trees_held_out() -> None:
    made = ConstituencyParserCV(**{**SHORT, "horizontal": 0}).fit(TRAIN[:30], dev=(TEST,))
    rows, best = path(
        ConstituencyParser(horizontal=0), TRAIN[:30], dev=(TEST,), l2_max=3.0, factor=0.3, steps=3
    )
    assert (made.l2_, made.score(TEST)) == (best.l2, best.score(TEST))
    assert made.scores_[:, 0].tolist() == [row["score"] for row in rows]


def test_weights_of_trees_count_in_folds_and_scores(parser: ConstituencyParser) -> None:
    weight = np.where(np.arange(30) < 24, 1.0, 0.0)
    made = ConstituencyParserCV(**SHORT).fit(TRAIN[:30], sample_weight=weight)
    few = ConstituencyParser(l2=made.l2_, tol=made.tol).fit(TRAIN[:30], sample_weight=weight)
    assert made.score(TEST) == pytest.approx(few.score(TEST), abs=0.05)
    twice = parser.score([*TEST, TEST[0]])
    assert parser.score(TEST, sample_weight=[2.0, *[1.0] * 14]) == pytest.approx(twice)
