"""Which weights exist, with CRFsuite as the oracle of its rule on frequencies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pycrfsuite
import pytest

from partwise import SequenceTagger
from partwise.errors import DataError

Keys = set[tuple[str, str]]


def signed_data(seed: int) -> tuple[list[Any], list[Any]]:
    """Tokens whose features have positive and negative values."""
    draw = random.Random(seed)
    X, y = [], []
    for _ in range(25):
        n = draw.randint(1, 6)
        X.append(
            [
                {f"f{draw.randint(0, 12)}": draw.choice([1.0, -1.0, 2.0, 0.5]) for _ in range(3)}
                for _ in range(n)
            ]
        )
        y.append([draw.choice("ABC") for _ in range(n)])
    return X, y


def crfsuite_keys(X: Any, y: Any, path: Path, **parameters: Any) -> tuple[Keys, Keys]:
    trainer = pycrfsuite.Trainer(verbose=False)
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.set_params({"c2": 0.5, **parameters})
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    return set(info.state_features), set(info.transitions)


def own_keys(tagger: SequenceTagger) -> tuple[Keys, Keys]:
    assert tagger.vocabulary_ is not None
    labels, names = tagger.classes_.tolist(), tagger.vocabulary_.names
    states = {
        (name, label)
        for column, name in enumerate(names)
        for row, label in enumerate(labels)
        if tagger.coef_[row, column] != 0.0
    }
    transitions = {
        (a, b)
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
        if tagger.transitions_[i, j] != 0.0
    }
    return states, transitions


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
@pytest.mark.parametrize("least", [0, 2.5, 4, 15])
def test_frequencies_are_those_of_crfsuite(
    states: bool, transitions: bool, least: float, tmp_path: Path
) -> None:
    X, y = signed_data(int(least) + states + 2 * transitions)
    theirs = crfsuite_keys(
        X,
        y,
        tmp_path / "m",
        **{
            "feature.minfreq": least,
            "feature.possible_states": states,
            "feature.possible_transitions": transitions,
        },
    )
    tagger = SequenceTagger(
        weights="all" if states else "observed",
        transition_weights="all" if transitions else "observed",
        min_frequency=least,
        tol=1e-6,
    )
    assert own_keys(tagger.fit(X, y)) == theirs


def test_transitions_are_chosen_apart_from_states() -> None:
    X = [[{"a": 1.0}, {"b": 1.0}], [{"a": 1.0}]]
    y = [["A", "B"], ["A"]]
    some = SequenceTagger(weights="observed", transition_weights="all").fit(X, y)
    states, transitions = own_keys(some)
    assert states == {("a", "A"), ("b", "B")}
    assert len(transitions) == 4
    other = SequenceTagger(weights="all", transition_weights="observed").fit(X, y)
    states, transitions = own_keys(other)
    assert len(states) == 4
    assert transitions == {("A", "B")}


@pytest.mark.parametrize("bad", ["some", True, float("nan")])
def test_bad_frequencies_are_refused(bad: Any) -> None:
    with pytest.raises(DataError, match="min_frequency"):
        SequenceTagger(min_frequency=bad).fit([["a"], ["b"]], [["A"], ["B"]])
    with pytest.raises(DataError, match="transition_weights"):
        SequenceTagger(transition_weights=bad).fit([["a"], ["b"]], [["A"], ["B"]])
