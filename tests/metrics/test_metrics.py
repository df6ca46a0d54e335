from __future__ import annotations

import pytest
import seqeval.scheme
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import classification_report
from seqeval.metrics.sequence_labeling import get_entities

from partwise.errors import DataError
from partwise.metrics.counts import Score, SpanScores
from partwise.metrics.labels import (
    SCHEMES,
    accuracy,
    looks_like_spans,
    sequence_accuracy,
    span_scores,
    spans,
)

STRICT = [scheme for scheme in SCHEMES if scheme != "conlleval"]
PREFIXES = {
    "conlleval": "BIES", "IOB1": "IB", "IOB2": "IB", "IOE1": "IE", "IOE2": "IE", "IOBES": "IBES",
    "BILOU": "BILU",
}  # fmt: skip


def labels_of(scheme):
    types = ["", "-X", "-Y", "-X-Y"]
    return st.sampled_from(["O"] * 3 + [p + t for p in PREFIXES[scheme] for t in types])


@given(st.lists(labels_of("conlleval"), max_size=12))
def test_lenient_spans_are_seqevals(labels):
    expected = [(start, stop + 1, type_) for type_, start, stop in get_entities(labels)]
    assert spans(labels) == expected


@given(st.sampled_from(STRICT), st.data())
def test_strict_spans_are_seqevals(scheme, data):
    labels = data.draw(st.lists(labels_of(scheme), max_size=12))
    tokens = seqeval.scheme.Tokens(labels, getattr(seqeval.scheme, scheme))
    expected = [(entity.start, entity.end, entity.tag) for entity in tokens.entities]
    assert spans(labels, scheme) == expected


@given(st.sampled_from(SCHEMES), st.data())
def test_scores_are_seqevals(scheme, data):
    pair = st.lists(st.tuples(labels_of(scheme), labels_of(scheme)), min_size=1, max_size=8)
    sequences = data.draw(st.lists(pair, min_size=1, max_size=4))
    gold = [[g for g, _ in sequence] for sequence in sequences]
    pred = [[p for _, p in sequence] for sequence in sequences]
    scores = span_scores(gold, pred, scheme)
    if not scores.by_type:
        # seqeval fails if there is no span at all.
        assert scores.overall == Score(0, 0, 0)
        return
    strict = {} if scheme == "conlleval" else {
        "mode": "strict", "scheme": getattr(seqeval.scheme, scheme)
    }  # fmt: skip
    report = classification_report(gold, pred, output_dict=True, zero_division=0, **strict)
    found = {**scores.by_type, "micro avg": scores.overall}
    assert set(found) == set(report) - {"macro avg", "weighted avg"}
    for name, score in found.items():
        expected = report[name]
        assert score.precision == pytest.approx(expected["precision"], abs=1e-12)
        assert score.recall == pytest.approx(expected["recall"], abs=1e-12)
        assert score.f1 == pytest.approx(expected["f1-score"], abs=1e-12)
        assert score.support == expected["support"]


def test_an_example_checked_by_hand():
    # Gold: NP(0,2) VP(2,3) NP(3,4) and PP(0,1) NP(1,3).
    # Predicted: NP(0,2) VP(2,3) and VP(3,4), since I-VP goes on; PP(0,1), NP(1,2) and NP(2,3).
    gold = [["B-NP", "I-NP", "B-VP", "B-NP", "O"], ["B-PP", "B-NP", "I-NP"]]
    pred = [["I-NP", "I-NP", "B-VP", "B-VP", "O"], ["B-PP", "B-NP", "B-NP"]]
    scores = span_scores(gold, pred)
    assert scores.overall == Score(correct=3, predicted=6, support=5)
    assert scores.by_type == {"NP": Score(1, 3, 3), "PP": Score(1, 1, 1), "VP": Score(1, 2, 1)}
    assert scores.overall.precision == 0.5
    assert scores.overall.recall == 0.6
    assert scores.overall.f1 == pytest.approx(6 / 11)
    assert scores.table().splitlines() == [
        "         precision   recall       F1  support",
        "NP           33.33    33.33    33.33        3",
        "PP          100.00   100.00   100.00        1",
        "VP           50.00   100.00    66.67        1",
        "overall      50.00    60.00    54.55        5",
    ]


@pytest.mark.parametrize(
    ("labels", "lenient", "strict"),
    [
        # An I- that opens a span counts for conlleval, and not for strict IOB2.
        (["I-X", "I-X", "O"], [(0, 2, "X")], []),
        (["B-X", "I-Y"], [(0, 1, "X"), (1, 2, "Y")], [(0, 1, "X")]),
        (["B-X", "B-X"], [(0, 1, "X"), (1, 2, "X")], [(0, 1, "X"), (1, 2, "X")]),
        (["B", "I", "O", "B"], [(0, 2, "_"), (3, 4, "_")], [(0, 2, "_"), (3, 4, "_")]),
        ([], [], []),
    ],
)
def test_lenient_and_strict_differ(labels, lenient, strict):
    assert spans(labels) == lenient
    assert spans(labels, "IOB2") == strict


@given(st.lists(labels_of("BILOU"), max_size=12))
def test_bilou_is_read_as_iobes(labels):
    renamed = [label.replace("L", "E", 1).replace("U", "S", 1) for label in labels]
    assert spans(labels) == spans(renamed)
    assert spans(labels, "BILOU") == spans(renamed, "IOBES")


def test_nothing_to_score():
    assert span_scores([], []) == SpanScores(Score(0, 0, 0))
    assert span_scores([["O"]], [["O"]]).overall.f1 == 0.0
    assert span_scores([["O"]], [["B-X"]]).overall.recall == 0.0
    assert span_scores([["B-X"]], [["O"]]).overall.precision == 0.0
    assert accuracy([], []) == accuracy([[]], [[]]) == sequence_accuracy([], []) == 0.0
    assert "overall" in span_scores([], []).table()


def test_accuracies():
    assert accuracy(["a", "b", "c", "d"], ["a", "b", "x", "d"]) == 0.75
    assert accuracy([["a", "b"], ["c"]], [["a", "x"], ["c"]]) == pytest.approx(2 / 3)
    assert sequence_accuracy([["a", "b"], ["c"]], [["a", "x"], ("c",)]) == 0.5


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        (["O", "B-NP", "I-NP"], True),
        (["I-NP"], True),
        (["S-X", "E-X", "U-X", "L-X"], True),
        (["O"], False),
        ([], False),
        (["O", "B-NP", "NN"], False),
        (["B", "I", "O"], False),
        (["E-", "O"], False),
        (["1", "2"], False),
        (["X-NP"], False),
    ],
)
def test_looks_like_spans(labels, answer):
    assert looks_like_spans(labels) is answer


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spans(["B-X"], "IOB3"), "unknown span scheme 'IOB3'; use one of conlleval, IOB1"),
        (lambda: spans(["O", "S-X"], "IOB2"), r"label 1 .*'S-X', but IOB2 labels begin with I"),
        (lambda: spans(["O", ""], "IOB2"), "label 1"),
        (lambda: spans(["O", ""]), "label 1 .* is empty"),
        (lambda: span_scores([["O"]], [["O"], ["O"]]), "1 sequences and pred has 2"),
        (lambda: span_scores([["O"], ["O"]], [["O"], []]), "sequence 1: gold has 1 labels"),
        (lambda: span_scores(["O"], ["O"]), "sequence 0 is a string"),
        (lambda: accuracy(["a"], []), "gold has 1 labels"),
        (lambda: accuracy([["a"]], [[]]), "sequence 0: gold has 1 labels and pred has 0"),
        (lambda: sequence_accuracy([["a"]], [["a", "b"]]), "sequence 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(DataError, match=message):
        call()
