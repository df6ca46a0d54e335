"""Probabilities of segments and phrases, against sums over the k best for a k of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise import ConstituencyParser, SegmentTagger
from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.formats.tree import Tree
from partwise.tasks.spans import ProbableSpan, SpanTable, check_spans, check_threshold

ALL = 100_000


def _sums(ranked: list[tuple[Any, float]], parts: Any) -> dict[Any, float]:
    scores = np.array([score for _, score in ranked])
    odds = np.exp(scores - scores.max())
    odds /= odds.sum()
    found: dict[Any, float] = {}
    for (label, _), p in zip(ranked, odds.tolist(), strict=True):
        for part in parts(label):
            found[part] = found.get(part, 0.0) + p
    return found


def test_segments() -> None:
    X = [[["w=a"], ["w=b"], ["w=c"], ["w=a"]], [["w=c"]]]
    y = [[(0, 2, "x"), (3, 4, "y")], []]
    tagger = SegmentTagger(l2=0.05, max_length=3, outside="O").fit(X, y)
    every = tagger.predict_spans(X, threshold=1e-300)
    for x, found in zip(X, every, strict=True):
        ranked = tagger.predict([x], k=ALL)[0]
        assert len(ranked) < ALL
        wanted = _sums(ranked, lambda segments: segments)
        assert {span[:3] for span in found} == wanted.keys()
        for span in found:
            assert span.probability == pytest.approx(wanted[span[:3]], rel=1e-9)
    best = tagger.predict_spans(X)
    assert [[span[:3] for span in some] for some in best] == tagger.predict(X)
    assert all(span in of for some, of in zip(best, every, strict=True) for span in some)
    known = tagger.predict_spans(X, fixed=[[(1, 3, "y")], None])
    assert ProbableSpan(1, 3, "y", 1.0) in [
        span._replace(probability=round(span.probability, 9)) for span in known[0]
    ]


def test_phrases() -> None:
    texts = [
        "(S (NP (D the) (N dog)) (VP (V saw) (NP (D a) (N cat))))",
        "(S (NP (N dog)) (VP (V saw) (NP (N cat)) (PP (P of) (NP (N dog)))))",
        "(S (NP (N dog)) (VP (V saw) (NP (NP (N cat)) (PP (P of) (NP (N cat))))))",
    ]
    trees = [parse_tree(text) for text in texts]
    parser = ConstituencyParser(l2=0.3).fit(trees)
    every = parser.predict_spans(trees, threshold=1e-300)
    for tree, found in zip(trees, every, strict=True):
        ranked = parser.predict([tree], k=1000)[0]
        assert len(ranked) < 1000

        def phrases(one: Tree) -> list[tuple[int, int, str]]:
            return [(start, end, label) for label, start, end in one.brackets()]

        wanted = _sums(ranked, phrases)
        got = {span[:3]: span.probability for span in found}
        assert got.keys() == {key for key, p in wanted.items() if p > 1e-12}
        assert all(p == pytest.approx(min(wanted[key], 1.0), rel=1e-9) for key, p in got.items())
    best = parser.predict_spans(trees)
    for tree, some in zip(parser.predict(trees), best, strict=True):
        assert [(label, start, end) for start, end, label, _ in some] == tree.brackets()


def test_thresholds() -> None:
    for good in (None, 1e-9, 0.5, 1, 1.0):
        check_threshold(good)
    for bad in (0.0, -0.1, 1.1, float("nan"), "0.5", True):
        with pytest.raises(DataError, match="threshold is"):
            check_threshold(bad)
    check_spans({"spans": True, "threshold": 0.5})


def test_words_may_hold_tabs(tmp_path: Any) -> None:
    table = SpanTable([[ProbableSpan(0, 2, "x", 0.5)], []], [["a\tb", "c"], ["d"]])
    table.write(str(tmp_path / "spans"))
    assert (tmp_path / "spans").read_text("utf-8") == (
        "example\tstart\tend\tlabel\tprobability\ttext\n0\t0\t2\tx\t0.500000\ta b c\n"
    )
