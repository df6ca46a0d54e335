"""Probabilities of spans and of pairs of labels, against sums over all label sequences."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from partwise import SequenceTagger, load_model, save_model
from partwise.errors import DataError, MismatchError
from partwise.metrics.labels import SCHEMES, spans
from partwise.tasks.sequences.tag_spans import span_probabilities

LETTERS = {
    "conlleval": ("B-x", "I-x", "O", "B-y", "I-y", "E-x", "S-y"),
    "IOB1": ("B-x", "I-x", "O", "B-y", "I-y"),
    "IOB2": ("B-x", "I-x", "O", "B-y", "I-y"),
    "IOE1": ("E-x", "I-x", "O", "E-y", "I-y"),
    "IOE2": ("E-x", "I-x", "O", "E-y", "I-y"),
    "IOBES": ("B-x", "I-x", "E-x", "S-x", "O", "S-y"),
    "BILOU": ("B-x", "I-x", "L-x", "U-x", "O", "U-y"),
}


def _tagger(labels: tuple[str, ...], seed: int, length: int, **settings: Any) -> Any:
    """Return a tagger with random weights, and some sequences."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(length, 2)), rng.normal(size=(1, 2)), rng.normal(size=(2, 2))]
    every = [*labels, *labels]
    more = {}
    if settings.pop("untied", False):
        more["X_transitions"] = [rng.normal(size=(len(every) - 1, 2))]
    tagger = SequenceTagger(max_passes=1, tol=1.0, **settings)
    tagger.fit([rng.normal(size=(len(every), 2))], [every], **more)
    model = tagger.model_
    tagger._adopt(replace(model, weights=rng.normal(size=len(model.weights)) * 1.5))
    steps = [rng.normal(size=(len(x) - 1, 2)) for x in X] if more else None
    return tagger, X, steps


def _enumerated(tagger: Any, x: Any, step: Any, scheme: str) -> tuple[dict[Any, float], Any]:
    """Return the probabilities of spans and of pairs, by summing over all label sequences."""
    labels = tagger.classes_.tolist()
    sequences = [list(one) for one in product(labels, repeat=len(x))]
    steps = None if step is None else [step] * len(sequences)
    odds = np.exp(tagger.log_proba([x] * len(sequences), sequences, X_transitions=steps))
    assert odds.sum() == pytest.approx(1.0, abs=1e-9)
    found: dict[Any, float] = {}
    pairs = np.zeros((len(x) - 1, len(labels), len(labels)))
    for sequence, p in zip(sequences, odds.tolist(), strict=True):
        for span in spans(sequence, scheme):
            found[span] = found.get(span, 0.0) + p
        numbers = [labels.index(label) for label in sequence]
        for t in range(len(x) - 1):
            pairs[t, numbers[t], numbers[t + 1]] += p
    return found, pairs


CASES: list[dict[str, Any]] = [
    {},
    {"start": True, "end": True},
    {"order": 2},
    {"order": 2, "start": True, "end": True},
    {"untied": True, "end": True},
]


@pytest.mark.parametrize("settings", CASES, ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_they_are_sums_over_all_label_sequences(scheme: str, settings: dict[str, Any]) -> None:
    length = 3 if scheme == "conlleval" else 4
    tagger, X, steps = _tagger(LETTERS[scheme], 3, length, **settings)
    found = tagger.predict_spans(X, threshold=1e-300, scheme=scheme, X_transitions=steps)
    pairs = tagger.predict_pair_marginals(X, X_transitions=steps)
    for i, x in enumerate(X):
        wanted, table = _enumerated(tagger, x, None if steps is None else steps[i], scheme)
        got = {span[:3]: span.probability for span in found[i]}
        assert got.keys() == {key for key, p in wanted.items() if p > 1e-300}
        for key, p in got.items():
            assert p == pytest.approx(wanted[key], rel=1e-9, abs=1e-14)
        assert_allclose(pairs[i], table, atol=1e-12)
        assert [one[:2] for one in found[i]] == sorted(one[:2] for one in found[i])


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_thresholds_and_best_labels_choose_among_them(settings: dict[str, Any]) -> None:
    tagger, X, steps = _tagger(LETTERS["IOB2"], 5, 4, **settings)
    more = {"X_transitions": steps}
    every = tagger.predict_spans(X, threshold=1e-300, **more)
    some = tagger.predict_spans(X, threshold=0.2, **more)
    assert some == [[span for span in of if span.probability >= 0.2] for of in every]
    assert any(some)
    best = tagger.predict_spans(X, **more)
    for labels, got, of in zip(tagger.predict(X, **more), best, every, strict=True):
        wanted = set(spans(labels))
        assert {span[:3] for span in got} == wanted
        known = {span[:3]: span.probability for span in of}
        assert all(known[span[:3]] == pytest.approx(span.probability, rel=1e-12) for span in got)


def test_no_threshold_loses_a_span() -> None:
    labels = ("B-x", "I-x", "E-x", "L-x", "O")
    for seed in range(5):
        tagger, X, _ = _tagger(labels, seed, 4)
        every = tagger.predict_spans(X[:1], threshold=1e-300)[0]
        for least in sorted({span.probability for span in every}):
            found = tagger.predict_spans(X[:1], threshold=least)[0]
            assert found == [span for span in every if span.probability >= least]


@pytest.mark.parametrize("order", [1, 2])
def test_what_is_forbidden_or_known_is_respected(order: int) -> None:
    tagger, X, _ = _tagger(LETTERS["IOB2"], 7, 4, order=order, constraints="BIO")
    wanted, _ = _enumerated(tagger, X[0], None, "IOB2")
    found = tagger.predict_spans(X[:1], threshold=1e-300, scheme="IOB2")[0]
    assert {span[:3] for span in found} == {key for key, p in wanted.items() if p > 0.0}
    for span in found:
        assert span.probability == pytest.approx(wanted[span[:3]], rel=1e-9)
    known = [{0: "B-x", 1: "I-x", 2: "O"}]
    found = tagger.predict_spans(X[:1], threshold=1e-9, fixed=known)[0]
    assert (0, 2, "x") in {span[:3] for span in found}
    assert next(span for span in found if span[:3] == (0, 2, "x")).probability == pytest.approx(1)
    pairs = tagger.predict_pair_marginals(X[:1], fixed=known)[0]
    names = tagger.classes_.tolist()
    assert pairs[0, names.index("B-x"), names.index("I-x")] == pytest.approx(1.0)


def test_scores_of_any_size() -> None:
    tagger, X, _ = _tagger(LETTERS["IOB2"], 9, 6)
    tagger._adopt(replace(tagger.model_, weights=tagger.model_.weights * 400.0))
    best = tagger.predict_spans(X)
    assert all(0.0 <= span.probability <= 1.0 for some in best for span in some)
    # A probability of exp(-1000) would be 0 in a sum of exponentials.
    pairs = tagger.predict_pair_marginals(X)[0]
    assert_allclose(pairs.sum(axis=(1, 2)), 1.0, atol=1e-12)


def test_models_of_files_and_empty_sequences(tmp_path: Path) -> None:
    X = [[["w=a"], ["w=b"]], [], [["w=b"]]]
    tagger = SequenceTagger(l2=0.1).fit(X, [["B-x", "I-x"], [], ["O"]])
    save_model(tagger.model_, tmp_path / "model")
    again = SequenceTagger.from_model(load_model(tmp_path / "model"))
    found = again.predict_spans(X)
    assert found == tagger.predict_spans(X)
    assert [[span[:3] for span in some] for some in found] == [[(0, 2, "x")], [], []]
    assert [table.shape for table in again.predict_pair_marginals(X)] == [
        (1, 3, 3), (0, 3, 3), (0, 3, 3),
    ]  # fmt: skip


def test_what_cannot_be_asked_is_refused() -> None:
    tagger, X, _ = _tagger(LETTERS["IOB2"], 0, 3)
    for threshold in (0, -1, 2, float("nan"), "x"):
        with pytest.raises(DataError, match="threshold is"):
            tagger.predict_spans(X, threshold=threshold)
    with pytest.raises(DataError, match="unknown span scheme 'IOX'"):
        tagger.predict_spans(X, scheme="IOX")
    with pytest.raises(DataError, match="IOE1 labels begin with"):
        tagger.predict_spans(X, scheme="IOE1")
    plain = SequenceTagger().fit([np.eye(2)], [["NN", "DT"]])
    with pytest.raises(DataError, match="do not spell spans, as B-X"):
        plain.predict_spans([np.eye(2)])
    hinge = SequenceTagger(loss="hinge").fit([np.eye(2)], [["B-x", "O"]])
    for name in ("predict_spans", "predict_pair_marginals"):
        with pytest.raises(AttributeError, match=name):
            getattr(hinge, name)
    with pytest.raises(MismatchError, match="not probabilities"):
        span_probabilities(hinge.model_, [np.eye(2)])
