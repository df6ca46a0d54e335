"""Weights against CRFsuite's own: the same keys, and the optimum of the same objective."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from support.crfsuite_data import assert_same_weights, both, random_sequences, trained

from partwise.compat import pycrfsuite as ours
from partwise.compat.pycrfsuite import learning


@pytest.mark.parametrize("least", [0, 2.5, 4, -3])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
def test_keys_and_optimum_are_those_of_crfsuite(
    states: bool, transitions: bool, least: float, tmp_path: Path
) -> None:
    seed = int(least) + 10 * states + 20 * transitions
    X, y = random_sequences(seed)
    (_, theirs), (trainer, mine) = both(
        "lbfgs",
        X,
        y,
        tmp_path,
        feature__minfreq=least,
        feature__possible_states=states,
        feature__possible_transitions=transitions,
        c1=0.4 * (seed % 3 == 0),
        c2=0.5,
        delta=1e-9,
        epsilon=1e-9,
    )
    assert_same_weights(theirs, mine, 1e-4)
    assert trainer.certificate.converged


def test_the_objective_is_not_above_that_of_crfsuite(tmp_path: Path) -> None:
    X, y = random_sequences(5, 60)
    for c1, c2 in ((0.0, 0.1), (0.3, 0.05)):
        (theirs, _), (mine, _) = both("lbfgs", X, y, tmp_path, c1=c1, c2=c2, delta=1e-7)
        loss = theirs.logparser.last_iteration["loss"]
        assert mine.certificate.primal <= loss * (1 + 1e-6)
        # The bound is one on CRFsuite's objective too.
        assert mine.certificate.dual <= loss
        assert mine.certificate.relative_gap <= 1e-7


def test_l2sgd_minimises_the_same_objective(tmp_path: Path) -> None:
    X, y = random_sequences(6)
    _, one = trained(ours, "lbfgs", X, y, tmp_path / "a", c2=0.3, delta=1e-10)
    _, other = trained(ours, "l2sgd", X, y, tmp_path / "b", c2=0.3, delta=1e-10)
    assert_same_weights(one, other, 1e-4)


ONLINE: list[tuple[str, dict[str, Any]]] = [
    ("ap", {}),
    ("ap", {"max_iterations": 3}),
    ("ap", {"epsilon": 0.5}),
    ("pa", {}),
    ("pa", {"type": 0, "max_iterations": 5}),
    ("pa", {"type": 2, "c": 0.3}),
    ("pa", {"type": 1, "c": 0.1, "averaging": False}),
    ("pa", {"error_sensitive": False, "max_iterations": 4, "feature__possible_states": True}),
    ("pa", {"epsilon": 0.7, "averaging": False}),
    ("arow", {}),
    ("arow", {"variance": 0.5, "gamma": 3.0}),
    ("arow", {"max_iterations": 2, "feature__possible_transitions": True}),
    ("arow", {"epsilon": 0.5, "feature__minfreq": 2}),
]


@pytest.mark.parametrize(("algorithm", "parameters"), ONLINE)
def test_online_learners_are_those_of_crfsuite(
    algorithm: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    """With a single sequence there is only one order."""
    for seed in range(4):
        X, y = random_sequences(seed, 1)
        X, y = [X[0] * 2], [y[0] * 2]
        (original, theirs), (trainer, mine) = both(algorithm, X, y, tmp_path, **parameters)
        assert_same_weights(theirs, mine, 1e-6)
        # They also stop after the same number of passes.
        logs = original.logparser.iterations, trainer.logparser.iterations
        assert len(logs[0]) == len(logs[1])
        assert trainer.certificate is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="CRFsuite draws by C's rand()")
@pytest.mark.parametrize(("algorithm", "parameters"), ONLINE)
def test_online_learners_in_the_order_of_crfsuite(
    algorithm: str, parameters: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its orders come from the C library, where its state can be set."""
    libc = ctypes.CDLL(None)
    X, y = random_sequences(7, 30)

    def drawn(n: int) -> Iterator[Any]:
        order = np.arange(n)
        while True:
            for i in range(n):
                j = libc.rand() % n
                order[[i, j]] = order[[j, i]]
            yield order.copy()

    monkeypatch.setattr(learning, "shuffled", drawn)
    libc.srand(5)
    _, theirs = trained(pycrfsuite, algorithm, X, y, tmp_path / "theirs", **parameters)
    libc.srand(5)
    _, mine = trained(ours, algorithm, X, y, tmp_path / "ours", **parameters)
    assert_same_weights(theirs, mine, 2e-6)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_same_data_same_file(algorithm: str, tmp_path: Path) -> None:
    X, y = random_sequences(8)
    for name in "ab":
        trained(ours, algorithm, X, y, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([], []),
        ([[]], [[]]),
        ([[], [{"a": 1}, {"b": 1}]], [[], ["x", "y"]]),
        ([[{"a": 1}], [{"b": 2}]], [["x"], ["x"]]),
        ([[{}], [{}]], [["x"], ["y"]]),
        ([[{"a": 0}, {"a": False}]], [["x", "y"]]),
        ([[{"a": -1}, {"a": -2}]], [["x", "y"]]),
    ],
)
def test_little_data(algorithm: str, X: Any, y: Any, tmp_path: Path) -> None:
    """No data, one label, no features, features of value 0: a model, as from CRFsuite."""
    # The steps of CRFsuite's l2sgd end far from the optimum.
    original = "lbfgs" if algorithm == "l2sgd" else algorithm
    _, theirs = trained(pycrfsuite, original, X, y, tmp_path / "theirs")
    _, mine = trained(ours, algorithm, X, y, tmp_path / "ours")
    assert_same_weights(theirs, mine, 1e-3)
    for tokens in X:
        assert mine.tag(tokens) == theirs.tag(tokens)


def test_values_of_the_same_name_add_up(tmp_path: Path) -> None:
    X = [[{"a": "b", "a:b": True}, {"c": 1, "a": {"b": 0.5}, "a:b": 2}, {"a:b": False, "a": "b"}]]
    (_, theirs), (_, mine) = both("lbfgs", X, [["x", "y", "x"]], tmp_path, c2=0.1, delta=1e-9)
    assert_same_weights(theirs, mine, 1e-3)
    mine.set(X[0])
    theirs.set(X[0])
    for t in range(3):
        assert mine.marginal("x", t) == pytest.approx(theirs.marginal("x", t), abs=1e-3)


def test_empty_sequences_change_nothing(tmp_path: Path) -> None:
    X, y = random_sequences(9, 5)
    for algorithm in ("lbfgs", "ap"):
        trained(ours, algorithm, X, y, tmp_path / "a")
        trained(ours, algorithm, [[], *X, []], [[], *y, []], tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_labels_and_attributes_of_the_held_out_group(tmp_path: Path) -> None:
    """Those that only occur there are known to the model, as in CRFsuite, and have no weights."""
    taggers = []
    for module, name in ((pycrfsuite, "theirs"), (ours, "ours")):
        trainer = module.Trainer("lbfgs", {"c2": 0.2, "delta": 1e-9, "epsilon": 1e-9}, False)
        trainer.set("feature.possible_states", True)
        trainer.append([{"z": 1}, {"a": 1}], ["new", "A"], 1)
        trainer.append([{"a": 1}, {"b": 1}, {"a": 2}], ["A", "B", "A"])
        trainer.append([{"c": 1}], ["B"], 3)
        trainer.train(str(tmp_path / name), holdout=1)
        tagger = module.Tagger()
        tagger.open(str(tmp_path / name))
        taggers.append(tagger)
    assert taggers[1].labels() == ["new", "A", "B"]
    assert_same_weights(*taggers, 1e-4)
