from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from partwise import (
    DataError,
    SegmentTagger,
    SegmentTaggerCV,
    SequenceTagger,
    UnknownFeaturesWarning,
    load_model,
    save_model,
)
from partwise.datasets import tagged_text
from partwise.errors import ModelFileError
from partwise.formats.tag_schemes import SEGMENT_SCHEMES
from partwise.metrics.labels import span_scores, spans
from partwise.structures.segments.structure import SemiMarkov
from partwise.tasks.sequences.constraints import check_labels, make_constraints
from partwise.tasks.sequences.segment_features import SegmentFeatures
from partwise.tasks.sequences.segment_functions import candidate_rows, seen_rows, text_features
from partwise.tasks.sequences.segment_tags import guess_scheme, segments_of, tags_of

Sentences = tuple[list[list[dict[str, Any]]], list[list[str]]]
TOKEN = {"w": "a"}


def sentences(number: int, seed: int = 0) -> Sentences:
    columns = tagged_text(number, seed)
    assert columns.labels is not None
    X, y = [], []
    for a, b in pairwise([0, *np.cumsum(columns.lengths).tolist()]):
        words, tags = columns.fields[0][a:b], columns.fields[1][a:b]
        X.append([{"w": w, "p": p} for w, p in zip(words, tags, strict=True)])
        y.append(columns.labels[a:b])
    return X, y


def segments(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    found = segments_of(tags, "IOB2", "O", str)
    return [segment for segment in found if segment[2] != "O"]


@pytest.fixture(scope="module")
def text() -> Sentences:
    return sentences(40)


@pytest.fixture(scope="module")
def fitted(text: Sentences) -> SegmentTagger:
    return SegmentTagger(tol=1e-6).fit(*text)


# Tags and segments


@st.composite
def covers(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    for label in draw(st.lists(st.sampled_from(["O", "X", "Y-z", "_"]), max_size=8)):
        at = found[-1][1] if found else 0
        found.append((at, at + (1 if label == "O" else draw(st.integers(1, 4))), label))
    return found


@given(covers(), st.sampled_from(SEGMENT_SCHEMES))
def test_tags_spell_segments(cover: list[tuple[int, int, str]], scheme: str) -> None:
    tags = tags_of(cover, scheme, "O")
    assert len(tags) == (cover[-1][1] if cover else 0)
    assert segments_of(tags, scheme, "O", str) == cover


@given(covers(), st.sampled_from(SEGMENT_SCHEMES))
def test_tags_keep_to_constraints_and_are_scored(
    cover: list[tuple[int, int, str]], scheme: str
) -> None:
    tags = tags_of(cover, scheme, "O")
    inside = [span for span in cover if span[2] != "O"]
    assert spans(tags, scheme) == inside
    names = sorted(set(tags))
    rules = make_constraints(scheme, names)
    assert rules is not None
    check_labels(rules, [np.array([names.index(tag) for tag in tags], np.int64)], names)


def test_the_spelling_of_every_scheme() -> None:
    cover = [(0, 1, "X"), (1, 4, "X"), (4, 5, "O"), (5, 7, "Y")]
    for scheme, spelled in (
        ("IOB1", "I-X B-X I-X I-X O I-Y I-Y"),
        ("IOB2", "B-X B-X I-X I-X O B-Y I-Y"),
        ("IOBES", "S-X B-X I-X E-X O B-Y E-Y"),
        ("BILOU", "U-X B-X I-X L-X O B-Y L-Y"),
    ):
        assert tags_of(cover, scheme, "O") == spelled.split()
        assert guess_scheme(spelled.split()) == ("IOB2" if scheme == "IOB1" else scheme)


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y"]), max_size=6))
def test_only_tags_of_the_scheme_are_read(tags: list[str]) -> None:
    for scheme in SEGMENT_SCHEMES:
        with suppress(DataError):
            assert tags_of(segments_of(tags, scheme, "O", str), scheme, "O") == tags


# The estimator


def test_one_token_a_segment_is_a_chain(text: Sentences) -> None:
    X, _ = text
    tags = [[token["p"] for token in sentence] for sentence in X]
    single = [[(t, t + 1, tag) for t, tag in enumerate(some)] for some in tags]
    how: dict[str, Any] = {"tol": 1e-9, "l2": 0.5, "start": True, "end": True}
    a = SegmentTagger(max_length=1, **how).fit(X, single)
    b = SequenceTagger(**how).fit(X, tags)
    assert a.certificate_.converged
    assert a.certificate_.primal == pytest.approx(b.certificate_.primal, rel=2e-9)
    assert a.predict(X) == [
        [(t, t + 1, tag) for t, tag in enumerate(some)] for some in b.predict(X)
    ]
    for one, other in zip(a.predict_marginals(X), b.predict_marginals(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_certified(text: Sentences, fitted: SegmentTagger) -> None:
    assert fitted.certificate_.converged
    assert fitted.certificate_.relative_gap <= 1e-6
    assert fitted.trace_[-1].certified
    model = fitted.model_
    objective = -fitted.log_proba(*text).sum() + 0.5 * (model.weights**2).sum()
    assert fitted.certificate_.primal == pytest.approx(objective, rel=1e-9)
    assert fitted.max_length_ == max(b - a for tags in text[1] for a, b, _ in segments(tags))
    assert fitted.classes_.tolist() == sorted(
        {"O", *(x[2:] for tags in text[1] for x in tags)} - {""}
    )


def test_both_forms_are_one_problem(text: Sentences, fitted: SegmentTagger) -> None:
    X, y = text
    spans = [segments(tags) for tags in y]
    other = SegmentTagger(tol=1e-6).fit(X, [reversed(some) for some in spans])
    np.testing.assert_array_equal(other.model_.weights, fitted.model_.weights)
    found = fitted.predict(X)
    assert all(type(tag) is str for tags in found for tag in tags)
    assert other.predict(X) == [segments(tags) for tags in found]
    explicit = [segments_of(tags, "IOB2", "O", str) for tags in y]
    np.testing.assert_array_equal(other.log_proba(X, explicit), fitted.log_proba(X, y))
    iobes = [tags_of(some, "IOBES", "O") for some in explicit]
    third = SegmentTagger(tol=1e-6).fit(X, iobes)
    np.testing.assert_array_equal(third.model_.weights, fitted.model_.weights)
    assert third.predict(X[:9]) == [
        tags_of(segments_of(tags, "IOB2", "O", str), "IOBES", "O") for tags in found[:9]
    ]
    assert third.score(X, iobes) == fitted.score(X, y) == other.score(X, spans)


def test_tags_for_a_tagger_of_segments(text: Sentences, tmp_path: Path) -> None:
    """Tags are read in the scheme that it was given, though it was fitted on segments."""
    X, y = text
    covers = [segments_of(tags, "IOB2", "O", str) for tags in y]
    made = SegmentTagger(tol=0.01, scheme="IOB1").fit(X, covers)
    tags = [tags_of(some, "IOB1", "O") for some in covers]
    save_model(made, tmp_path / "m")
    for tagger in (made, SegmentTagger.from_model(load_model(tmp_path / "m"))):
        assert tagger.score(X, tags) == tagger.score(X, covers)
        np.testing.assert_array_equal(tagger.log_proba(X, tags), tagger.log_proba(X, covers))
    odd = replace(made.model_, settings={"scheme": 3})
    with pytest.raises(DataError, match="scheme is 3"):
        odd.log_proba(X, labels=tags)


def test_the_score_is_that_of_spans(text: Sentences, fitted: SegmentTagger) -> None:
    X, y = text
    assert fitted.score(X, y) == pytest.approx(span_scores(y, fitted.predict(X)).overall.f1)
    some = np.arange(len(X)) % 3 == 0
    kept = [i for i in range(len(X)) if some[i]]
    weighted = fitted.score(X, y, sample_weight=some.astype(float))
    assert weighted == pytest.approx(fitted.score([X[i] for i in kept], [y[i] for i in kept]))


def test_k_best_marginals_and_fixed(text: Sentences, fitted: SegmentTagger) -> None:
    X = text[0][:6]
    best = fitted.predict(X)
    for ranking, tags in zip(fitted.predict(X, k=4), best, strict=True):
        assert ranking[0][0] == tags
        scores = [score for _, score in ranking]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(some) for some, _ in ranking}) == 4
    tables = fitted.predict_marginals(X)
    by_segment = fitted.predict_marginals(X, segments=True)
    for sentence, table, cube in zip(X, tables, by_segment, strict=True):
        assert table.shape == (len(sentence), len(fitted.classes_))
        assert cube.shape == (len(sentence), fitted.max_length_, len(fitted.classes_))
        covered = np.zeros_like(table)
        for start in range(len(sentence)):
            for d in range(fitted.max_length_):
                covered[start : start + d + 1] += cube[start, d]
        np.testing.assert_allclose(covered, table, atol=1e-10)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
        assert (cube[:, 1:, fitted.classes_.tolist().index("O")] == 0).all()
    found = fitted.predict(X, fixed=[[(1, 3, "PP")], *[None] * 5])
    assert found[0][1:3] == ["B-PP", "I-PP"]
    assert found[1:] == best[1:]
    assert fitted.predict([]) == []
    assert fitted.predict([[]]) == [[]]


def test_what_is_never_given_has_no_probability(text: Sentences, fitted: SegmentTagger) -> None:
    X, y = text
    long = ["B-NP", *["I-NP"] * (len(X[0]) - 1)]
    strange = ["B-Z", *["O"] * (len(X[1]) - 1)]
    found = fitted.log_proba(X[:3], [long, strange, y[2]])
    assert found[:2].tolist() == [-np.inf, -np.inf]
    assert np.isfinite(found[2])


def test_features_of_segments(text: Sentences, fitted: SegmentTagger, tmp_path: Path) -> None:
    X, y = text
    made = SegmentTagger(tol=1e-6, segment_features="text").fit(X, y)
    assert made.certificate_.primal < fitted.certificate_.primal
    assert made.score(X, y) > fitted.score(X, y)
    held_out = sentences(40, seed=1)
    assert made.score(*held_out) > fitted.score(*held_out)

    def same(tokens: Sequence[Any], start: int, end: int) -> list[str]:
        return text_features([[token["w"] for token in tokens]], start, end)

    own = SegmentTagger(tol=1e-6, segment_features=same).fit(X, y)
    np.testing.assert_array_equal(own.model_.weights, made.model_.weights)
    for tagger in (fitted, made, own):
        save_model(tagger, tmp_path / "m")
        function = same if tagger is own else None
        again = SegmentTagger.from_model(load_model(tmp_path / "m"), segment_features=function)
        assert again.predict(X, k=2) == tagger.predict(X, k=2)
        assert again.get_params() == tagger.get_params()
        assert again.max_length_ == tagger.max_length_
        assert again.score(X, y) == tagger.score(X, y)
    with pytest.raises(DataError, match="give the function"):
        SegmentTagger.from_model(own.model_)
    with pytest.raises(DataError, match="leave segment_features out"):
        SegmentTagger.from_model(made.model_, segment_features=same)
    with pytest.raises(DataError, match=r"hold no functions; give .*SegmentTagger.from_model\("):
        load_model(tmp_path / "m").predict(X)
    # In memory the model has its function, whatever becomes of the parameters of the estimator.
    assert own.model_.predict(X) == own.set_params(segment_features=None).predict(X)
    tags = SequenceTagger(tol=0.1).fit(X, y).model_
    for odd in (tags, replace(made.model_, features=tags.features)):
        with pytest.raises(DataError, match="does not segment"):
            SegmentTagger.from_model(odd)
    assert pickle.loads(pickle.dumps(made)).predict(X) == made.predict(X)
    rare = SegmentTagger(tol=0.01, segment_features="text", min_count=2).fit(X, y)
    observed = SegmentTagger(tol=0.01, segment_features="text", weights="observed").fit(X, y)
    for smaller in (rare, observed):
        assert smaller.model_.layout.n_weights < made.model_.layout.n_weights
        assert len(smaller.predict(X)) == len(X)


def test_streams_of_tokens(text: Sentences, fitted: SegmentTagger) -> None:
    X, y = text
    made = SegmentTagger(tol=1e-6, segment_features="text")
    made.fit((iter(tokens) for tokens in X), (iter(tags) for tags in y))
    assert made.certificate_.primal < fitted.certificate_.primal
    for tagger in (made, fitted):
        assert tagger.predict(iter(tokens) for tokens in X) == tagger.predict(X)
        assert tagger.model_.predict(iter(tokens) for tokens in X) == tagger.predict(X)


def test_unknown_features_are_warned_of_by_every_method(
    text: Sentences, fitted: SegmentTagger
) -> None:
    strange = [[{"w": "7-up"}, {"w": "8-up"}]]
    gold = [["O", "O"]]
    methods = (
        fitted.predict,
        fitted.model_.predict,
        fitted.predict_marginals,
        lambda X: fitted.predict_marginals(X, segments=True),
        lambda X: fitted.log_proba(X, gold),
        lambda X: fitted.score(X, gold),
    )
    for method in methods:
        with pytest.warns(UnknownFeaturesWarning, match="none of the 2 features") as found:
            method(strange)
        assert len(found) == 1
        assert found[0].filename == __file__
    with pytest.raises(TypeError, match="take no argument 'X_transitions'"):
        fitted.model_.predict(strange, X_transitions=[[{}]])


def test_l2_is_chosen(text: Sentences, tmp_path: Path) -> None:
    X, y = text
    short: dict[str, Any] = {"l2_max": 10.0, "factor": 0.1, "steps": 3, "cv": 2, "max_length": 7}
    made = SegmentTaggerCV(**short).fit(X, y)
    assert made.scores_.shape == (3, 2)
    assert made.max_length_ == 7
    plain = SegmentTagger(l2=made.l2_, max_length=7).fit(X, y)
    assert made.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-3)
    dev = sentences(20, seed=1)
    held_out = SegmentTaggerCV(**short, segment_features=first_word).fit(X, y, dev=dev)
    best = max(held_out.path_, key=lambda row: row["score"])
    assert held_out.l2_ == best["l2"]
    assert held_out.score(*dev) == best["score"]
    save_model(held_out, tmp_path / "m")
    again = SegmentTaggerCV.from_model(load_model(tmp_path / "m"), segment_features=first_word)
    assert type(again) is SegmentTagger
    assert (again.l2, again.max_length) == (held_out.l2_, 7)
    assert again.predict(dev[0]) == held_out.predict(dev[0])
    assert "max_length : int or None" in (SegmentTaggerCV.__doc__ or "")


def first_word(tokens: Sequence[Any], start: int, end: int) -> list[str]:
    return [f"{tokens[start]['w']} {end - start}"]


def test_l2_is_chosen_for_stacked_matrices() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 6, size=12)
    X = rng.normal(size=(lengths.sum(), 3))
    y = [[(0, 2, "X")] if n % 2 else [(1, 2, "Y")] for n in lengths.tolist()]
    short: dict[str, Any] = {"l2_max": 10.0, "factor": 0.2, "steps": 2, "cv": 3}
    made = SegmentTaggerCV(**short).fit(X, y, lengths=lengths)
    listed = SegmentTaggerCV(**short).fit(np.split(X, np.cumsum(lengths)[:-1]), y)
    np.testing.assert_array_equal(made.scores_, listed.scores_)
    np.testing.assert_array_equal(made.model_.weights, listed.model_.weights)
    tags = [
        tag
        for segments, n in zip(y, lengths.tolist(), strict=True)
        for tag in tags_of(covered(segments, n), "IOB2", "O")
    ]
    flat = SegmentTaggerCV(**short).fit(X, tags, lengths=lengths)
    np.testing.assert_array_equal(made.model_.weights, flat.model_.weights)


def covered(found: list[tuple[int, int, str]], length: int) -> list[tuple[int, int, str]]:
    inside = {t for start, end, _ in found for t in range(start, end)}
    return sorted(found + [(t, t + 1, "O") for t in range(length) if t not in inside])


def test_text_is_looked_up_as_it_is_made() -> None:
    columns = tagged_text(20, seed=3)
    assert columns.labels is not None
    fields = [columns.split(field) for field in columns.fields]
    tokens = [[list(part) for part in sentence] for sentence in zip(*fields, strict=True)]
    gold = [segments_of(tags, "IOB2", "O", str) for tags in columns.split(columns.labels)]
    tokens, gold = [*tokens, [[], []]], [*gold, []]
    lengths = np.append(columns.lengths, 0)
    _, vocabulary = seen_rows(text_features, tokens, gold)

    def slowly(*segment: Any) -> list[str]:
        return text_features(*segment)

    a, b = (
        candidate_rows(function, tokens, lengths, SemiMarkov(2, 5), vocabulary)
        for function in (text_features, slowly)
    )
    assert a.values is b.values is None
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)


def test_matrices() -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in (4, 1, 0, 6, 5)]
    y = [[(0, 2, 1), (2, 4, 1)], [(0, 1, 2)], [], [(1, 4, 2)], [(3, 5, 1)]]
    lengths = [len(table) for table in X]
    made = SegmentTagger(outside=0).fit(X, y)
    assert made.classes_.tolist() == [0, 1, 2]
    assert made.max_length_ == 3
    stacked = SegmentTagger(outside=0).fit(np.concatenate(X), y, lengths=lengths)
    np.testing.assert_array_equal(stacked.model_.weights, made.model_.weights)
    assert stacked.predict(np.concatenate(X), lengths=lengths) == made.predict(X)
    assert made.predict(X)[2] == []

    def mean(tokens: Any, start: int, end: int) -> dict[str, float]:
        return {"mean": float(tokens[start:end].mean())}

    one = SegmentTagger(outside=0, segment_features=mean).fit(X, y)
    two = SegmentTagger(outside=0, segment_features=mean).fit(np.concatenate(X), y, lengths=lengths)
    np.testing.assert_array_equal(one.model_.weights, two.model_.weights)
    assert one.model_.layout.n_features[1] == 1


def test_words_without_spaces() -> None:
    """One label that covers everything: what is learnt is where words end."""
    texts = ("the cat sat", "a cat on the mat", "the mat", "on a cat", "sat on the cat")
    words = [sentence.split() for sentence in texts]
    X = [list("".join(some)) for some in words]
    y = []
    for some in words:
        ends = np.cumsum([len(word) for word in some]).tolist()
        y.append([(a, b, "W") for a, b in pairwise([0, *ends])])
    made = SegmentTagger(outside=None, segment_features="text", l2=0.01).fit(X, y)
    assert made.classes_.tolist() == ["W"]
    assert made.score(X, y) == 1.0
    assert made.predict(X) == y


def test_features_of_segments_are_matched_by_name() -> None:
    y = [["B-X", "I-X"]]
    old, new = (
        SegmentTagger(segment_features="text", tol=0.1).fit([words], y).model_
        for words in (["a", "b"], ["b", "c"])
    )
    known, wanted = old.features.segment_vocabulary, new.features.segment_vocabulary
    found = new.features.match(old.features, new.structure)[1]
    assert found.tolist() == [known.index.get(name, -1) for name in wanted]
    assert min(found) == -1
    assert max(found) >= 0
    plain = SegmentTagger(tol=0.1).fit([["b", "c"]], y).model_
    assert set(new.features.match(plain.features, new.structure)[1].tolist()) == {-1}


def test_warm_start_constraints_and_weights(text: Sentences) -> None:
    X, y = text
    cold = SegmentTagger(tol=1e-6).fit(X, y)
    made = SegmentTagger(warm_start=True, tol=1e-3).fit(X, y)
    made.set_params(tol=1e-6).fit(X, y)
    assert made.n_iter_ < cold.n_iter_
    made.set_params(tol=1e-4, segment_features="text", max_length=8).fit(*sentences(50))
    assert made.certificate_.converged
    apart = SegmentTagger(constraints=lambda a, b: (a, b) != ("O", "PER"), tol=1e-3)
    kept = [i for i in range(len(X)) if not _follows(y[i], "O", "PER")]
    apart.fit([X[i] for i in kept], [y[i] for i in kept])
    assert not any(_follows(tags, "O", "PER") for tags in apart.predict(X))
    with pytest.raises(DataError, match=r"example .* break the constraints"):
        apart.fit(X, y)
    with pytest.raises(DataError, match="names a scheme"):
        SegmentTagger(constraints="BIO").fit(X, y)
    balanced = SegmentTagger(class_weight="balanced", tol=1e-2).fit(X, y)
    assert balanced.certificate_.converged
    hinge = SegmentTagger(loss="hinge", l2=50.0, tol=0.05).fit(X[:9], y[:9])
    assert not hasattr(hinge, "predict_marginals")
    assert len(hinge.predict(X)) == len(X)


def _follows(tags: list[str], a: str, b: str) -> bool:
    cover = segments_of(tags, "IOB2", "O", str)
    return any((x[2], z[2]) == (a, b) for x, z in pairwise(cover))


def test_grid_search_and_unfitted(text: Sentences) -> None:
    X, y = text
    grid = GridSearchCV(SegmentTagger(tol=0.01), {"l2": [0.3, 30.0]}, cv=KFold(2)).fit(X, y)
    assert grid.best_params_ == {"l2": 0.3}
    assert "max_length=3" in repr(SegmentTagger(max_length=3))
    with pytest.raises(NotFittedError):
        SegmentTagger().predict(X)


@pytest.mark.parametrize(
    ("how", "X", "y", "says"),
    [
        ({}, [[TOKEN] * 3], [["B-X", "O", "I-X"]], "sequence 0, position 2 .* 'I-X' between 'O'"),
        ({}, [[TOKEN] * 2], [["NN", "VB"]], "position 0 .* 'NN' is none of the scheme IOB2"),
        ({}, [[TOKEN] * 2], [[1, 2]], "tags such as 1, which spell no segments"),
        ({}, [[TOKEN] * 2], [["B-O", "O"]], "'B-O' has the type 'O'"),
        ({"outside": None}, [[TOKEN] * 2], [["B-X", "O"]], "'O' is none of the scheme"),
        ({"scheme": "IOBES"}, [[TOKEN]], [["B-X"]], "does not fit the scheme IOBES"),
        ({"scheme": "BIOX"}, [[TOKEN]], [["B-X"]], "scheme is 'BIOX'"),
        ({"max_length": 1}, [[TOKEN], [TOKEN] * 3], [["O"], ["O", "B-X", "I-X"]],
         "sequence 1, position 1 .* 'X' of 2 tokens .* max_length is 1"),
        ({"max_length": 0}, [[TOKEN]], [["B-X"]], "max_length is 0"),
        ({"max_length": 2.5}, [[TOKEN]], [["B-X"]], "max_length is 2.5"),
        ({}, [[TOKEN]], [["O"]], "one label only, 'O'"),
        ({}, [], [], "no sequences"),
        ({}, [[TOKEN] * 2], [[(0, 3, "X")]], r"\(0, 3, 'X'\) is not .* <= 2"),
        ({}, [[TOKEN] * 2], [[(0, 2)]], r"y\[0\] holds \(0, 2\)"),
        ({}, [[TOKEN] * 2], [[(0.5, 2, "X")]], "whole numbers"),
        ({}, [[TOKEN] * 2], [[(0, 2, "X"), (1, 2, "Y")]], "must not overlap"),
        ({}, [[TOKEN] * 2], [[(0, 1, 3)]], "use one type for all labels"),
        ({}, [[TOKEN] * 2], [[(0, 1, ())]], r"is \(\); use strings"),
        ({"outside": None}, [[TOKEN] * 2], [[(0, 1, "X")]], "no segment holds token 1"),
        ({}, [[TOKEN] * 2], [[(0, 1, "X")], []], "2 sequences where X has 1"),
        ({}, [[TOKEN] * 2], [["O"]], "2 tokens in X and 1 labels in y"),
        ({}, [[TOKEN]], "O", "y is of type str"),
        ({"segment_features": "words"}, [[TOKEN]], [["B-X"]], "segment_features is 'words'"),
        ({"segment_features": "text"}, [[{"v": "a"}, TOKEN]], [["B-X", "I-X"]],
         "sequence 0, token 0 .* no word"),
        ({"segment_features": lambda *_: 3}, [[TOKEN] * 2], [["B-X", "I-X"]],
         "segment_features: sequence 0, segment 0 "),
        ({"segment_features": "text"}, np.zeros((2, 2)), [["B-X", "I-X"]], "give the lengths"),
    ],
)  # fmt: skip
def test_bad_data_is_a_sentence(how: dict[str, Any], X: Any, y: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        SegmentTagger(**how).fit(X, y)


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ([None], "fixed has 1 entries"),
        ([[(0, 2, "Z")], None], "'Z' was not seen"),
        ([[(0, 99, "NP")], None], "fixed segment"),
        ([["NP"], None], r"fixed\[0\] holds 'NP'"),
    ],
)
def test_bad_fixed_segments(fixed: Any, says: str, text: Sentences, fitted: SegmentTagger) -> None:
    with pytest.raises(DataError, match=says):
        fitted.predict(text[0][:2], fixed=fixed)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"segment_features": "shell"}, "unknown segment features"),
        ({"lengths": 1}, "lengths is neither"),
        ({"positions": []}, "no object"),
        ({"more": 1}, "do not have just"),
        ({"segment_features": "none"}, "odd arrays"),
    ],
)
def test_hostile_encoders_are_refused(change: dict[str, Any], says: str, text: Sentences) -> None:
    encoder = SegmentTagger(tol=0.1, segment_features="text").fit(*text).model_.features
    assert isinstance(encoder, SegmentFeatures)
    saved = encoder.to_json()
    arrays = encoder.arrays()
    assert SegmentFeatures.from_saved(saved, arrays).to_json() == saved
    with pytest.raises((DataError, ModelFileError), match=says):
        SegmentFeatures.from_saved({**saved, **change}, arrays)
