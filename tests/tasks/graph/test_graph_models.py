"""Models of graphs predict from their files what the estimator predicts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.graph_data import Data, chains, grids, mixed, steps

from partwise import (
    DataError,
    GraphLabeler,
    GraphLabelerCV,
    MismatchError,
    UnknownFeaturesWarning,
    load_model,
    path,
    save_model,
)

SHORT: dict[str, Any] = {"l2_max": 10.0, "factor": 0.1, "steps": 3, "cv": 3}


def plain_chains() -> Data:
    X, y = chains()
    return [(table, steps(len(table))) for table in X], y


def unseen_pairs(y: list[list[Any]]) -> list[tuple[Any, Any]]:
    seen = {pair for labels in y for pair in itertools.pairwise(labels)}
    every = sorted(set(itertools.chain(*y)))
    return sorted(set(itertools.product(every, every)) - seen)


CASES: dict[str, tuple[dict[str, Any], Data]] = {
    "grid": ({}, grids(6)),
    "symmetric grid": ({"symmetric": True, "constant": False}, grids(6)),
    "domains": ({}, mixed()),
    "shared table": ({}, plain_chains()),
    "forbidden": ({"forbidden": {"edge": unseen_pairs(chains()[1])}}, plain_chains()),
    "softmax-margin": ({"loss": "softmax-margin"}, plain_chains()),
}


def assert_same(found: Any, wanted: Any) -> None:
    """Compare arrays that may be in lists, tuples and dicts."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        found, wanted = list(found.values()), list(wanted.values())
    if isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted)
        return
    assert type(found) is type(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", CASES)
def test_a_model_file_labels_as_the_estimator_does(name: str, tmp_path: Path) -> None:
    parameters, (X, y) = CASES[name]
    made = GraphLabeler(l2=0.2, **parameters).fit(X, y)
    save_model(made, tmp_path / "m")
    model = load_model(tmp_path / "m")
    again = GraphLabeler.from_model(model)
    assert model.task == "label-graph"
    fixed = [{0: labels[0]} for labels in y]
    wanted = made.predict(X)
    assert model.predict(X) == again.predict(X) == wanted
    assert model.predict(X, k=3, fixed=fixed) == again.predict(X, 3, fixed)
    assert model.predict(X, k=3, fixed=fixed) == made.predict(X, 3, fixed)
    assert_same(model.marginals(X, fixed=fixed), made.predict_marginals(X, fixed))
    assert_same(again.predict_marginals(X, factors=True), made.predict_marginals(X, factors=True))
    assert_same(model.log_proba(X, labels=y), made.log_proba(X, y))
    best = model.candidates(X, 1, probabilities=True)
    assert [one.label for (one,) in best] == wanted
    np.testing.assert_allclose(
        np.log([one.probability for (one,) in best]), made.log_proba(X, wanted), atol=1e-12
    )
    for labels, drawn in zip(y, model.sample(X, size=2), strict=True):
        assert [len(one) for one in drawn] == [len(labels)] * 2


def test_every_parameter_comes_back(tmp_path: Path) -> None:
    X, y = grids(6)
    parameters: dict[str, Any] = {
        "loss": "softmax-margin", "l2": 0.5, "l1": 0.01, "solver": "owl-qn", "tol": 0.3,
        "max_passes": 70, "weights": "observed", "cost_matrix": [[0.0, 2.0], [1.0, 0.0]],
        "random_state": 3, "solver_options": {"memory": 4}, "domains": {"label": ("sea", "land")},
        "symmetric": True, "constant": False, "forbidden": {"node": []}, "max_megabytes": 99,
        "missing_label": "?", "hashing": 64,
    }  # fmt: skip
    made = GraphLabeler(**parameters).fit(X, y)
    session = {
        "n_jobs", "warm_start", "verbose", "callbacks", "checkpoint", "out_of_core", "memory_limit",
    }  # fmt: skip
    assert made.get_params().keys() - parameters.keys() == session
    save_model(made, tmp_path / "m")
    assert GraphLabeler.from_model(load_model(tmp_path / "m")).get_params() == made.get_params()


def test_models_name_the_example_that_they_refuse() -> None:
    X, y = mixed(4)
    made = GraphLabeler(tol=0.1).fit(X, y)
    other = {"domains": ["tag", "fog"], "factors": {"word": ([0], ["a"]), "topic": ([1], None)}}
    message = r"example 4 \(counted from 0\): vertex 1 has the domain 'fog'; give one of"
    for method in (made.model_.predict, made.predict, made.predict_marginals):
        with pytest.raises(DataError, match=message):
            method([*X, other])
    with pytest.raises(TypeError, match="take no argument 'lengths'"):
        made.model_.predict(X, lengths=[1])
    hinge = GraphLabeler(loss="hinge", tol=0.1).fit(X, y).model_
    with pytest.raises(MismatchError, match="scores, not probabilities"):
        hinge.marginals(X)


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_fits_name_the_example_that_they_refuse(weight: float) -> None:
    X, y = mixed(4)
    odd = {"domains": ["tag", "tag"], "factors": {"word": ([0], ["a"])}}
    weights = [weight, *[1.0] * 4]
    with pytest.raises(DataError, match=r"example 4 \(counted from 0\): vertex 1 is in no factor"):
        GraphLabeler().fit([*X, odd], [*y, ["N", "V"]], sample_weight=weights)


def test_models_warn_of_unknown_features() -> None:
    X, y = mixed(6)
    strange = [{"domains": ["tag"], "factors": {"word": ([0], [{"w": "unseen"}])}}]
    model = GraphLabeler(tol=0.1).fit(X, y).model_
    for method in (model.predict, model.marginals):
        with pytest.warns(UnknownFeaturesWarning, match="none of the 1 features") as found:
            method(strange)
        assert [one.filename for one in found] == [__file__]
    # What is known of one graph is enough.
    model.predict([*strange, *X])


# l2 by cross-validation


@pytest.fixture(scope="module")
def chosen() -> GraphLabelerCV:
    made: GraphLabelerCV = GraphLabelerCV(**SHORT).fit(*grids(12))
    return made


def test_l2_is_chosen_by_folds(chosen: GraphLabelerCV) -> None:
    X, y = grids(12)
    assert chosen.scores_.shape == (3, 3)
    for row, scores in zip(chosen.path_, chosen.scores_, strict=True):
        for fold, score in enumerate(scores.tolist()):
            test = range(4 * fold, 4 * fold + 4)
            train = [i for i in range(12) if i not in test]
            alone = GraphLabeler(l2=row["l2"], tol=1e-7).fit(
                [X[i] for i in train], [y[i] for i in train]
            )
            # Within the gap both models label nearly all vertices alike.
            assert score == pytest.approx(
                alone.score([X[i] for i in test], [y[i] for i in test]), abs=2 / 24
            )
    assert chosen.l2_ == chosen.path_[int(chosen.scores_.mean(axis=1).argmax())]["l2"]
    assert chosen.certificate_.converged
    assert chosen.predict(X) == GraphLabeler(l2=chosen.l2_, tol=1e-7).fit(X, y).predict(X)
    assert chosen.classes_.tolist() == ["land", "sea"]


def test_parameters_of_the_one_that_chooses() -> None:
    own, given = GraphLabelerCV().get_params(), GraphLabeler().get_params()
    assert own.keys() - given.keys() == {
        "cv",
        "extend",
        "factor",
        "l2_max",
        "rule",
        "scoring",
        "steps",
    }
    assert given.keys() - own.keys() == {"l2", "warm_start", "out_of_core"}


def test_l2_is_chosen_by_data_held_out(tmp_path: Path) -> None:
    X, y = mixed(18)
    held_out = (X[12:], y[12:])
    made = GraphLabelerCV(**SHORT).fit(iter(X[:12]), y[:12], dev=held_out)
    assert made.scores_.shape == (3, 1)
    assert made.score(*held_out) == pytest.approx(made.scores_.max())
    rows, best = path(
        GraphLabeler(), X[:12], y[:12], dev=held_out, l2_max=10.0, factor=0.1, steps=3
    )
    assert [row["score"] for row in rows] == made.scores_[:, 0].tolist()
    assert best.l2 == made.l2_
    assert set(made.classes_) == {"tag", "topic"}
    save_model(made, tmp_path / "m")
    again = GraphLabelerCV.from_model(load_model(tmp_path / "m"))
    assert type(again) is GraphLabeler
    assert again.l2 == made.l2_
    assert again.predict(X) == made.predict(X)


def test_folds_with_weights_and_their_errors() -> None:
    X, y = grids(12)
    weight = [1.0, 0.0, *[1.0] * 10]
    made = GraphLabelerCV(**SHORT).fit(X, y, sample_weight=weight)
    assert made.scores_.shape == (3, 3)
    scored = []

    def scoring(estimator: Any, graphs: Any, labels: Any) -> float:
        # Those who score see the graphs as they gave them.
        scored.append(all(any(graph is one for one in X) for graph in graphs))
        return float(estimator.score(graphs, labels))

    GraphLabelerCV(**SHORT, scoring=scoring).fit(X, y)
    assert scored == [True] * 9
    alone = [*X[:11], (np.ones((6, 1)), X[0][1], X[0][2])]
    message = r"fold 0 \(counted from 0, and so are its examples\): example 7 .*with 1 features"
    with pytest.raises(DataError, match=message):
        GraphLabelerCV(**SHORT).fit(alone, y)
