from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.metrics.attachment import attachment_scores, scored_words

FORMS = [["Ann", "sees", "it", "."], ["``", "$", "5", "''"]]
TAGS = [["NNP", "VBZ", "PRP", "."], ["``", "$", "CD", "''"]]
GOLD = [[2, 0, 2, 2], [3, 3, 0, 3]]
LABELS = [["sbj", "root", "obj", "p"], ["p", "dep", "root", "p"]]
PRED = [[2, 0, 2, 3], [3, 0, 0, 2]]
PRED_LABELS = [["sbj", "root", "sbj", "p"], ["p", "dep", "root", "x"]]


def score(**extra):
    return attachment_scores(GOLD, PRED, gold_labels=LABELS, pred_labels=PRED_LABELS, **extra)


def test_all_words():
    scores = score()
    assert scores.words == 8
    assert (scores.heads, scores.labels, scores.both) == (5, 6, 4)
    assert scores.uas == 5 / 8
    assert scores.las == 4 / 8
    assert scores.label_accuracy == 6 / 8
    assert scores.unlabelled_match == scores.labelled_match == 0
    assert scores.sentences == 2


def test_words_with_letters_or_digits():
    scores = score(punctuation="none", forms=FORMS)
    assert scores.words == 4
    assert (scores.heads, scores.labels, scores.both) == (4, 3, 3)
    assert scores.unlabelled_match == 1
    assert scores.labelled_match == 1 / 2


def test_the_policy_of_conllx():
    # The dollar and the grave accent are symbols, not punctuation.
    scores = score(punctuation="conllx", forms=FORMS)
    assert scores.words == 6
    assert scores.heads == 5


def test_a_set_of_tags():
    scores = score(punctuation={".", "``", "''"}, tags=TAGS)
    assert scores.words == 5
    assert scores.heads == 4
    assert score(punctuation=(), tags=TAGS) == score()


def test_policies_word_by_word():
    forms = ["a", "4", "\u00bd", "-", "...", "\u3002", "\u20ac", "a-b", "\u4e2d", "`", "+"]
    assert scored_words("all", forms) is None
    assert [f for f, s in zip(forms, scored_words("none", forms), strict=True) if not s] == [
        "-", "...", "\u3002", "\u20ac", "`", "+",
    ]  # fmt: skip
    assert [f for f, s in zip(forms, scored_words("conllx", forms), strict=True) if not s] == [
        "-", "...", "\u3002",
    ]  # fmt: skip


def test_unlabelled_trees():
    scores = attachment_scores([np.array(GOLD[0])], [np.array(GOLD[0])])
    assert scores.uas == scores.unlabelled_match == 1
    assert not scores.labelled
    assert scores.las == scores.label_accuracy == scores.labelled_match == 0


def test_a_sentence_of_punctuation_is_complete():
    scores = attachment_scores([[0]], [[0]], forms=[["."]], punctuation="none")
    assert scores.words == 0
    assert scores.uas == 0
    assert scores.unlabelled_match == 1
    assert attachment_scores([], []).unlabelled_match == 0


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), max_size=5))
def test_counts_are_consistent(pairs):
    gold = [[g for g, _ in sentence] for sentence in pairs]
    pred = [[p for _, p in sentence] for sentence in pairs]
    names = [[str(h % 2) for h in heads] for heads in gold]
    other = [[str(h % 2) for h in heads] for heads in pred]
    scores = attachment_scores(gold, pred, gold_labels=names, pred_labels=other)
    assert scores.both <= min(scores.heads, scores.labels)
    assert scores.complete <= scores.complete_heads <= scores.sentences == len(pairs)
    assert scores.heads == sum(g == p for sentence in pairs for g, p in sentence)
    perfect = attachment_scores(gold, gold, gold_labels=names, pred_labels=names)
    assert perfect.both == perfect.words
    assert perfect.complete == len(pairs)


def test_what_is_refused():
    with pytest.raises(DataError, match="relations are given on one side only"):
        attachment_scores(GOLD, PRED, gold_labels=LABELS)
    with pytest.raises(DataError, match="gold has 2 sentences and pred has 1"):
        attachment_scores(GOLD, PRED[:1])
    with pytest.raises(DataError, match=r"sentence 1 .*: gold has 4 words and forms has 3"):
        attachment_scores(GOLD, PRED, forms=[FORMS[0], FORMS[1][:3]])
    with pytest.raises(DataError, match=r"sentence 0 .* has a gold word without a head"):
        attachment_scores([[-1]], [[0]])
    with pytest.raises(DataError, match="no punctuation policy 'some'; choose from all, none"):
        score(punctuation="some")
    with pytest.raises(DataError, match="pass the forms"):
        score(punctuation="none")
    with pytest.raises(DataError, match="pass the tags"):
        score(punctuation={"."})
