"""Scores of one number, and scorers by name."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import seqeval.metrics
import seqeval.scheme
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

import partwise.metrics
from partwise.errors import DataError
from partwise.formats.brackets import parse_tree
from partwise.metrics import (
    attachment_scores,
    bracket_f1_score,
    bracket_precision_score,
    bracket_recall_score,
    bracket_scores,
    get_scorer,
    get_scorers,
    las_score,
    scorer_names,
    sentence_accuracy_score,
    span_f1_score,
    span_precision_score,
    span_recall_score,
    token_accuracy_score,
    token_f1_score,
    token_precision_score,
    token_recall_score,
    uas_score,
)
from partwise.metrics.counts import AVERAGES

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
GOLD = [["B-X", "I-X", "O", "B-Y"], ["O", "B-Y"], ["B-X"]]
PRED = [["B-X", "I-X", "B-Y", "B-Y"], ["O", "O"], ["B-X"]]


@st.composite
def pairs(draw: Any) -> tuple[list[list[str]], list[list[str]], list[float]]:
    """Right and predicted tags, and weights, which are powers of 2 so that sums are exact."""
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    tags = st.sampled_from(TAGS)
    gold, found = (
        [draw(st.lists(tags, min_size=n, max_size=n)) for n in lengths] for _ in range(2)
    )
    weights = draw(
        st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=len(lengths), max_size=len(lengths))
    )
    return gold, found, weights


@given(pairs(), st.sampled_from(AVERAGES), st.booleans())
def test_scores_of_tokens_are_those_of_scikit_learn(given: Any, average: str, some: bool) -> None:
    gold, found, weights = given
    flat = [[tag for one in labels for tag in one] for labels in (gold, found)]
    if not flat[0]:
        return
    weight = np.repeat(weights, list(map(len, gold)))
    accuracy = sklearn.metrics.accuracy_score(*flat, sample_weight=weight)
    assert token_accuracy_score(gold, found, sample_weight=weights) == pytest.approx(accuracy)
    labels = TAGS[1:] if some else None
    options: dict[str, Any] = {"average": average, "labels": labels}
    for ours, theirs in (
        (token_precision_score, sklearn.metrics.precision_score),
        (token_recall_score, sklearn.metrics.recall_score),
        (token_f1_score, sklearn.metrics.f1_score),
    ):
        expected = theirs(*flat, sample_weight=weight, zero_division=0.0, **options)
        assert ours(gold, found, sample_weight=weights, **options) == pytest.approx(expected)


@given(pairs(), st.sampled_from(AVERAGES), st.sampled_from(["conlleval", "IOB2", "BIO"]))
def test_scores_of_spans_are_those_of_seqeval(given: Any, average: str, scheme: str) -> None:
    gold, found, _ = given
    strict = {} if scheme == "conlleval" else {"mode": "strict", "scheme": seqeval.scheme.IOB2}
    if not any(tag != "O" for labels in (gold, found) for one in labels for tag in one):
        assert span_f1_score(gold, found, scheme=scheme, average=average) == 0.0
        return
    for ours, theirs in (
        (span_precision_score, seqeval.metrics.precision_score),
        (span_recall_score, seqeval.metrics.recall_score),
        (span_f1_score, seqeval.metrics.f1_score),
    ):
        expected = theirs(gold, found, average=average, zero_division=0, **strict)
        mine = ours(gold, found, scheme=scheme, average=average)
        assert mine == pytest.approx(expected)


def test_weights_count_examples_as_often_as_they_say() -> None:
    often = [0, 1, 1, 1, 2]
    repeated = [GOLD[i] for i in often], [PRED[i] for i in often]
    for metric in (
        token_accuracy_score, token_f1_score, span_f1_score, span_recall_score,
        sentence_accuracy_score,
    ):  # fmt: skip
        weighted = metric(GOLD, PRED, sample_weight=[1.0, 3.0, 1.0])
        assert weighted == pytest.approx(metric(*repeated))
        assert weighted != pytest.approx(metric(GOLD, PRED))


def test_spans_by_hand() -> None:
    # Three of the four right spans are found, and four are predicted.
    assert span_precision_score(GOLD, PRED) == 3 / 4
    assert span_recall_score(GOLD, PRED) == 3 / 4
    assert span_f1_score(GOLD, PRED, types=["X"]) == 1.0
    assert span_f1_score(GOLD, PRED, types=["Y"]) == 2 * 1 / (2 + 2)
    assert span_f1_score(GOLD, PRED, types=["Z"]) == 0.0
    assert span_f1_score(GOLD, PRED, average="macro") == (1.0 + 0.5) / 2
    assert sentence_accuracy_score(GOLD, PRED) == 1 / 3
    as_segments = [
        [[(0, 2, "X"), (2, 3, "O"), (3, 4, "Y")], [(0, 1, "O"), (1, 2, "Y")], [(0, 1, "X")]],
        [[(0, 2, "X"), (2, 3, "Y"), (3, 4, "Y")], [], [(0, 1, "X")]],
    ]
    assert span_f1_score(*as_segments) == span_f1_score(GOLD, PRED)
    assert span_f1_score(GOLD, as_segments[1]) == span_f1_score(GOLD, PRED)
    assert span_f1_score(*as_segments, outside="X") != span_f1_score(GOLD, PRED)


def test_arrays_and_tuples_are_lists() -> None:
    gold = np.empty(3, dtype=object)
    for i, labels in enumerate(GOLD):
        gold[i] = np.array(labels)
    assert token_accuracy_score(gold, [tuple(one) for one in PRED]) == 5 / 7
    assert span_f1_score(gold, PRED) == span_f1_score(GOLD, PRED)
    assert sentence_accuracy_score(gold, GOLD) == 1.0
    assert sentence_accuracy_score([[(0, 1, "X")]], [[[0, 1, "X"]]]) == 1.0


def test_attachment() -> None:
    gold = [[(2, "det"), (0, "root")], [(0, "root"), (1, "obj"), (1, "adv")]]
    found = [[(2, "det"), (0, "root")], [(0, "root"), (1, "adv"), (2, "adv")]]
    heads, relations = (
        [[[word[side] for word in tree] for tree in trees] for trees in (gold, found)]
        for side in (0, 1)
    )
    whole = attachment_scores(*heads, gold_labels=relations[0], pred_labels=relations[1])
    assert uas_score(gold, found) == uas_score(*heads) == uas_score(gold, heads[1]) == whole.uas
    assert las_score(iter(gold), iter(found)) == whole.las
    assert uas_score(gold, found, sample_weight=[3, 1]) == (6 + 2) / 9
    assert las_score(gold, found, sample_weight=[3, 1]) == (6 + 1) / 9
    assert uas_score([], []) == 0.0
    with pytest.raises(DataError, match=r"y_pred: tree 0 .* heads without relations"):
        las_score(gold, heads[1])


def test_brackets() -> None:
    gold = [parse_tree("(S (NP (D a) (N b)) (VP (V c)))"), parse_tree("(S (N a) (V b))")]
    found = [parse_tree("(S (D a) (VP (N b) (V c)))"), parse_tree("(S (N a) (V b))")]
    whole = bracket_scores(gold, found)
    for metric, expected in (
        (bracket_precision_score, whole.precision),
        (bracket_recall_score, whole.recall),
        (bracket_f1_score, whole.f1),
    ):
        assert metric(gold, found) == pytest.approx(expected)
        assert metric(gold, found, sample_weight=[0, 1]) == 1.0
    assert bracket_f1_score(gold, found, ignore=["NP", "VP"]) == 1.0
    assert sentence_accuracy_score(gold, found) == 0.5


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((GOLD, PRED[:2]), "y_true has 3 examples and y_pred has 2"),
        ((GOLD, [*PRED[:2], ["O", "O"]]), r"sequence 2 .* has 1 labels in y_true and 2 in y_pred"),
        ((["O"], ["O"]), "y_true: sequence 0 .* single label 'O'"),
        (([["O"]], [3]), "y_pred: sequence 0 .* single label 3"),
    ],
)
def test_labels_that_do_not_belong_together(arguments: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        token_accuracy_score(*arguments)
    with pytest.raises(DataError, match=what):
        span_f1_score(*arguments)


def test_options_are_checked() -> None:
    with pytest.raises(DataError, match=r"sample_weight has the shape \(2,\) for 3 examples"):
        token_accuracy_score(GOLD, PRED, sample_weight=[1, 2])
    with pytest.raises(DataError, match="average is 'mean'"):
        span_f1_score(GOLD, PRED, average="mean")
    with pytest.raises(DataError, match="unknown span scheme 'XYZ'"):
        span_f1_score(GOLD, PRED, scheme="XYZ")


# Scorers


class Guess:
    """Predicts what it was made of, and counts how often."""

    def __init__(self, labels: Any) -> None:
        self.labels, self.times = labels, 0

    def predict(self, X: Any, **more: Any) -> Any:
        self.times, self.more = self.times + 1, more
        return self.labels


def test_every_scorer_has_a_name() -> None:
    for name in scorer_names():
        made = get_scorer(name)
        assert pickle.loads(pickle.dumps(made)) == made
        assert eval(repr(made)) == made
    assert {"token_accuracy", "span_f1", "sentence_accuracy", "uas", "las", "bracket_f1"} <= set(
        scorer_names()
    )


def test_scorers_are_their_metrics() -> None:
    guess = Guess(PRED)
    assert get_scorer("span_f1")(guess, None, GOLD) == span_f1_score(GOLD, PRED)
    macro = get_scorer("span_f1_macro")(guess, None, GOLD)
    assert macro == get_scorer("span_f1", average="macro")(guess, None, GOLD) == 0.75
    strict = get_scorer("span_f1", scheme="IOB2", types=["Y"])
    assert strict(guess, None, GOLD, sample_weight=[1, 0, 0]) == 2 / 3


def test_a_group_predicts_once() -> None:
    guess = Guess(PRED)
    found = get_scorers(["token_accuracy", get_scorer("span_f1", types=["X"])])(guess, None, GOLD)
    assert found == {"token_accuracy": 5 / 7, "span_f1": 1.0}
    assert guess.times == 1


def test_flat_labels_are_cut_by_lengths() -> None:
    guess = Guess(PRED)
    flat = np.array([tag for labels in GOLD for tag in labels])
    scorer = get_scorer("token_accuracy")
    assert scorer(guess, None, flat, lengths=[4, 2, 1], X_transitions=None) == 5 / 7
    assert guess.more == {"lengths": [4, 2, 1]}
    assert scorer(guess, None, GOLD, lengths=[4, 2, 1]) == 5 / 7


def test_requests_do_not_change_the_scorer() -> None:
    plain = get_scorer("span_f1")
    asking = plain.set_score_request(sample_weight=True)
    assert asking != plain == get_scorer("span_f1")
    requests = asking.get_metadata_routing().score.requests
    assert requests == {"lengths": True, "X_transitions": True, "sample_weight": True}
    group = get_scorers(["span_f1", "uas"]).set_score_request(sample_weight="weight")
    assert group.get_metadata_routing().score.requests["sample_weight"] == "weight"


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: get_scorer("f2"), "no scorer 'f2'; choose from bracket_f1, "),
        (lambda: get_scorer("span_f1", mode="x"), "no option 'mode'; it has average, outside, "),
        (lambda: get_scorer("uas", scheme="x"), "no option 'scheme'; it has none"),
        (lambda: get_scorer("span_f1", scheme="BILOUX"), "scheme is 'BILOUX'; use one of conll"),
        (lambda: get_scorer("span_f1", average="all"), "average is 'all'; use one of micro, macro"),
        (lambda: get_scorer("token_f1_macro", average=None), "average is None; .* flat_f1_score"),
        (lambda: get_scorers(["uas", "uas"]), "each of them once"),
        (lambda: get_scorers([]), "at least one"),
    ],
)
def test_scorers_that_there_are_not(call: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        call()


@pytest.mark.parametrize("name", partwise.metrics.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(partwise.metrics, name).__doc__
    assert name in dir(partwise.metrics)
