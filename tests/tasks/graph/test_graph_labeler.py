from __future__ import annotations

import doctest
import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from support.graph_data import GRID, Data, chains, grids, mixed, steps

import partwise.tasks.graph.estimator
from partwise import (
    DataError,
    GraphLabeler,
    LinearClassifier,
    MismatchError,
    ModelFileError,
    SequenceTagger,
    UnknownFeaturesWarning,
    load_model,
    save_model,
)
from partwise.models.features import Features, read_features
from partwise.tasks.graph.features import GraphFeatures


@pytest.fixture(scope="module")
def grid() -> Data:
    return grids()


@pytest.fixture(scope="module")
def labeler(grid: Data) -> GraphLabeler:
    return GraphLabeler(l2=0.1).fit(*grid)


@pytest.fixture(scope="module")
def several() -> GraphLabeler:
    return GraphLabeler(l2=0.2, tol=1e-6).fit(*mixed())


def objective(made: GraphLabeler, X: Any, y: Any) -> float:
    norm = sum(float((w**2).sum()) for w in made.coef_.values())
    return float(made.l2 / 2 * norm - made.log_proba(X, y).sum())


def test_docstring() -> None:
    failed, tried = doctest.testmod(partwise.tasks.graph.estimator)
    assert tried > 5
    assert failed == 0


@pytest.mark.parametrize("loss", ["log", "softmax-margin"])
def test_a_chain_is_a_graph(loss: str) -> None:
    X, y = chains()
    more: dict[str, Any] = {"loss": loss, "l2": 0.3, "tol": 1e-11}
    tagger = SequenceTagger(**more).fit(X, y)
    made = GraphLabeler(**more).fit([(table, steps(len(table))) for table in X], y)
    assert made.certificate_.primal == pytest.approx(tagger.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(made.coef_["node"], tagger.coef_.T, atol=1e-6)
    np.testing.assert_allclose(made.coef_["edge"][0], tagger.transitions_, atol=1e-6)
    assert made.classes_.tolist() == tagger.classes_.tolist()


def test_a_chain_with_edge_features_is_a_graph() -> None:
    X, y = chains()
    rng = np.random.default_rng(1)
    between = [rng.normal(size=(len(table) - 1, 2)) for table in X]
    tagger = SequenceTagger(l2=0.3, tol=1e-11).fit(X, y, X_transitions=between)
    graphs = [(t, steps(len(t)), b) for t, b in zip(X, between, strict=True)]
    made = GraphLabeler(l2=0.3, tol=1e-11).fit(graphs, y)
    np.testing.assert_allclose(made.coef_["node"], tagger.coef_.T, atol=1e-6)
    np.testing.assert_allclose(made.coef_["edge"][-1], tagger.transitions_, atol=1e-6)
    found, expected = made.predict_marginals(graphs), tagger.predict_marginals(X, None, between)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert GraphLabeler(constant=False).fit(graphs, y).coef_["edge"].shape == (2, 4, 4)


def test_a_loopy_grid_learns(grid: Data, labeler: GraphLabeler) -> None:
    assert labeler.certificate_.converged
    assert labeler.trace_[-1].certified
    assert labeler.n_iter_ >= 1
    assert labeler.classes_.tolist() == ["land", "sea"]
    held_out = grids(40, seed=1)
    alone = [nodes for nodes, _, _ in held_out[0]]
    flat = LinearClassifier(l2=0.1).fit(
        np.concatenate([nodes for nodes, _, _ in grid[0]]), list(itertools.chain(*grid[1]))
    )
    without = flat.score(np.concatenate(alone), list(itertools.chain(*held_out[1])))
    assert labeler.score(*held_out) > max(0.9, without + 0.03)
    assert labeler.certificate_.primal == pytest.approx(objective(labeler, *grid), rel=1e-10)
    assert {kind: w.shape for kind, w in labeler.coef_.items()} == {
        "node": (2, 2),
        "edge": (3, 2, 2),
    }
    assert labeler.vocabularies_ == {"node": None, "edge": None}


def test_predictions_agree_with_enumeration(grid: Data, labeler: GraphLabeler) -> None:
    nodes, edges, differs = grid[0][0]
    w = labeler.coef_
    labellings = list(itertools.product(range(2), repeat=6))
    wide = np.column_stack([differs, np.ones(len(edges))])
    scores = np.array(
        [
            sum(nodes[v] @ w["node"][:, y[v]] for v in range(6))
            + sum(wide[e] @ w["edge"][:, y[a], y[b]] for e, (a, b) in enumerate(edges))
            for y in labellings
        ]
    )
    order = np.argsort(-scores)[:4]
    (best,) = labeler.predict([grid[0][0]], k=4)
    assert [labels for labels, _ in best] == [
        [labeler.classes_[k] for k in labellings[i]] for i in order
    ]
    np.testing.assert_allclose([score for _, score in best], scores[order], rtol=1e-10)
    p = np.exp(scores - scores.max())
    p /= p.sum()
    ((vertices, factors),) = labeler.predict_marginals([grid[0][0]], factors=True)
    for v in range(6):
        expected = sum(p[i] for i, y in enumerate(labellings) if y[v] == 1)
        assert vertices[v, 1] == pytest.approx(expected, abs=1e-12)
    for e, (a, b) in enumerate(edges):
        expected = sum(p[i] for i, y in enumerate(labellings) if (y[a], y[b]) == (1, 0))
        assert factors["edge"][e, 1, 0] == pytest.approx(expected, abs=1e-12)
    assert sorted(factors) == ["edge", "node"]
    some = [labeler.classes_[k] for k in labellings[5]]
    assert labeler.log_proba([grid[0][0]], [some])[0] == pytest.approx(np.log(p[5]), rel=1e-9)


def test_marginals_of_edges_that_share_a_table() -> None:
    X, y = chains()
    graphs = [(table, steps(len(table))) for table in X]
    made = GraphLabeler().fit(graphs, y)
    for (vertices, factors), plain in zip(
        made.predict_marginals(graphs, factors=True), made.predict_marginals(graphs), strict=True
    ):
        np.testing.assert_allclose(vertices, plain, atol=1e-12)
        assert factors["edge"].shape == (len(vertices) - 1, 4, 4)
        np.testing.assert_allclose(factors["edge"].sum(axis=2), vertices[:-1], atol=1e-12)
        np.testing.assert_allclose(factors["edge"].sum(axis=1), vertices[1:], atol=1e-12)


@pytest.mark.parametrize("features", [False, True])
def test_symmetric_edges(grid: Data, features: bool) -> None:
    X = [x if features else x[:2] for x in grid[0]]
    turned = [(x[0], GRID[:, ::-1], *x[2:]) for x in X]
    made = GraphLabeler(symmetric=True, tol=1e-11).fit(X, grid[1])
    again = GraphLabeler(symmetric=True, tol=1e-11).fit(turned, grid[1])
    edge = made.coef_["edge"]
    np.testing.assert_allclose(edge, edge.transpose(0, 2, 1), atol=1e-10)
    np.testing.assert_allclose(edge, again.coef_["edge"], atol=1e-6)
    ((vertices, factors),) = made.predict_marginals(X[:1], factors=True)
    assert factors["edge"].shape == (7, 2, 2)
    np.testing.assert_allclose(factors["edge"].sum(axis=2), vertices[GRID[:, 0]], atol=1e-12)


def test_domains_and_factors_of_their_own(several: GraphLabeler) -> None:
    X, y = mixed()
    assert several.certificate_.converged
    assert several.certificate_.primal == pytest.approx(objective(several, X, y), rel=1e-9)
    assert {name: labels.tolist() for name, labels in several.classes_.items()} == {
        "tag": ["A", "N", "V"],
        "topic": ["art", "sport"],
    }
    assert {kind: w.shape for kind, w in several.coef_.items()} == {
        "topic": (1, 2),
        "word": (4, 3),
        "about": (1, 3, 2),
        "pair": (2, 3, 3, 2),
    }
    assert several.vocabularies_["word"] is not None
    assert several.score(X, y) > 0.9
    (first, *_) = several.predict(X)
    assert set(first[:-1]) <= {"A", "N", "V"}
    assert first[-1] in ("art", "sport")
    vertices, factors = several.predict_marginals(X, factors=True)[0]
    assert [len(row) for row in vertices] == [3, 3, 2]
    np.testing.assert_allclose(factors["pair"][0].sum(axis=(0, 1)), vertices[2], atol=1e-12)
    np.testing.assert_allclose(factors["about"].sum(axis=2), vertices[:2], atol=1e-12)


def test_fixed_labels(several: GraphLabeler) -> None:
    X, y = mixed(2)
    fixed = several.predict(X, fixed=[{2: "art"}, [None, ["A", "N"], "V", None]])
    assert fixed[0][2] == "art"
    assert fixed[1][1] in "AN"
    assert fixed[1][2] == "V"
    ranked = several.predict(X, k=50, fixed=[y[0], None])
    assert [labels for labels, _ in ranked[0]] == [y[0]]
    assert len(ranked[1]) == 50
    (vertices, _) = several.predict_marginals(X, fixed=[{0: "N"}, None])
    # What is forbidden has exp(-inf); the rest is a quotient of sums.
    assert not vertices[0][[0, 2]].any()
    assert vertices[0][1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ([None], "1 entries where X has 2 graphs"),
        ([{7: "N"}, None], r"fixed\[0\] names vertex 7; there are 0 to 2"),
        ([{0: "art"}, None], "vertex 0: the label 'art' was not seen"),
        ([{0: []}, None], "allows no label at vertex 0"),
        ([["N"], None], "1 entries for 3 vertices"),
        (["N", None], "give None, a dict or a list"),
    ],
)
def test_fixed_labels_that_are_none(several: GraphLabeler, fixed: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        several.predict(mixed(2)[0], fixed=fixed)


def test_hinge_is_certified(grid: Data) -> None:
    made = GraphLabeler(loss="hinge", l2=1.0, tol=1e-3).fit(*grid)
    assert made.certificate_.converged
    assert made.certificate_.gap <= 1e-3 * made.certificate_.primal
    assert made.score(*grid) > 0.9
    assert not hasattr(made, "predict_marginals")
    assert not hasattr(made, "log_proba")
    costly = GraphLabeler(loss="softmax-margin", cost_matrix=[[0, 3], [1, 0]]).fit(*grid)
    assert costly.certificate_.converged


def test_forbidden_labels(grid: Data) -> None:
    X, y = chains()
    graphs = [(table, steps(len(table))) for table in X]
    seen = {pair for labels in y for pair in itertools.pairwise(labels)}
    labels = sorted(set(itertools.chain(*y)))
    never = sorted(set(itertools.product(labels, labels)) - seen)
    assert never
    made = GraphLabeler(forbidden={"edge": never}).fit(graphs, y)
    for found in made.predict(graphs):
        assert not set(itertools.pairwise(found)) & set(never)
    assert made.log_proba(graphs[:1], [[*never[0], never[0][0]]])[0] == -np.inf
    with pytest.raises(DataError, match=r"example 0 .* break the constraints"):
        GraphLabeler(forbidden={"node": [y[0][0]]}).fit(graphs, y)
    for forbidden, message in (
        ({"corner": []}, "kind of factor 'corner'; the kinds are node, edge"),
        ({"edge": ["a"]}, "are no labels of the domains label, label"),
        ({"edge": [("a", "zz")]}, "are no labels"),
        ([("a", "b")], "give a dict"),
    ):
        with pytest.raises(DataError, match=message):
            GraphLabeler(forbidden=forbidden).fit(graphs, y)


@pytest.mark.parametrize("which", ["grid", "mixed", "chain"])
def test_save_and_load(which: str, tmp_path: Path) -> None:
    X, y = {"grid": grids(6), "mixed": mixed(), "chain": chains()}[which]
    more: dict[str, Any] = {}
    if which == "chain":
        X = [(table, steps(len(table))) for table in X]
        more = {"symmetric": True, "forbidden": {"node": []}}
    made = GraphLabeler(**more).fit(X, y)
    save_model(made, tmp_path / "m")
    again = GraphLabeler.from_model(load_model(tmp_path / "m"))
    assert again.predict(X, k=3) == made.predict(X, k=3)
    np.testing.assert_array_equal(again.log_proba(X, y), made.log_proba(X, y))
    assert repr(again.classes_) == repr(made.classes_)
    assert again.get_params() == made.get_params()
    refitted = again.fit(X, y)
    np.testing.assert_allclose(refitted.log_proba(X, y), made.log_proba(X, y), atol=0.1)
    assert pickle.loads(pickle.dumps(made)).predict(X) == made.predict(X)


def test_other_models_are_refused() -> None:
    model = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"]).model_
    with pytest.raises(DataError, match="'classify' does not label the vertices"):
        GraphLabeler.from_model(model)


def test_labels_that_cannot_be_saved(tmp_path: Path) -> None:
    labels = [[(0,), (1, 1)], [(1, 1), (0,)]]
    X = [(np.eye(2), [[0, 1]]), (np.eye(2)[::-1], [[0, 1]])]
    made = GraphLabeler(l2=0.01).fit(X, labels)
    assert made.predict(X) == labels
    assert made.classes_.tolist() == [(0,), (1, 1)]
    assert made.predict(X, fixed=[{0: (1, 1)}, {0: [(0,)]}])[1][0] == (0,)
    with pytest.raises(ModelFileError, match="neither strings nor numbers"):
        save_model(made, tmp_path / "m")


def saved() -> tuple[dict[str, Any], dict[str, Any]]:
    features = GraphLabeler(max_passes=1e6, l2=10.0).fit(*mixed(4)).model_.features
    return features.to_json(), features.arrays()


def test_features_from_a_file() -> None:
    data, arrays = saved()
    again = read_features("graphs", json.loads(json.dumps(data)), arrays)
    assert isinstance(again, GraphFeatures)
    assert again.to_json() == data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("labels",), {}),
        (("labels", 0), ["tag"]),
        (("labels", 0, 0), 3),
        (("labels", 0, 1), []),
        (("labels", 0, 1), ["A", 1]),
        (("labels", 0, 1), ["A", "A"]),
        (("labels", 0, 1), [["A"]]),
        (("labels", 1, 0), "tag"),
        (("kinds",), "word"),
        (("kinds", 0), []),
        (("kinds", 0, "kind"), 1),
        (("kinds", 0, "kind"), "word"),
        (("kinds", 0, "domains"), []),
        (("kinds", 0, "domains"), ["verb"]),
        (("kinds", 0, "domains"), [["tag"]]),
        (("kinds", 0, "n_inputs"), -1),
        (("kinds", 0, "n_inputs"), 1.0),
        (("kinds", 1, "n_inputs"), 9),
        (("kinds", 0, "constant"), "1"),
        (("kinds", 0, "constant"), float("inf")),
        (("kinds", 0, "constant"), 0.0),
        (("kinds", 0, "symmetric"), 0),
        (("kinds", 0, "symmetric"), 1),
        (("kinds", 0, "symmetric"), True),
        (("kinds", 0, "vocabulary"), 0),
        (("kinds", 0, "vocabulary"), True),
        (("kinds", 1, "vocabulary"), False),
        (("kinds", 1, "vocabulary"), None),
        (("more",), 1),
    ],
)
def test_hostile_features(path: tuple[Any, ...], value: Any) -> None:
    data, arrays = saved()
    held: Any = data
    for step in path[:-1]:
        held = held[step]
    held[path[-1]] = value
    with pytest.raises((DataError, ModelFileError)):
        read_features("graphs", data, arrays)


def test_features_of_another_structure(several: GraphLabeler, labeler: GraphLabeler) -> None:
    features: Features = several.model_.features
    with pytest.raises(DataError, match="do not go with this graph"):
        features.feature_counts(labeler.model_.structure)
    with pytest.raises(DataError, match="do not go with this multiclass"):
        features.feature_counts(LinearClassifier().fit([[0.0], [1.0]], [0, 1]).model_.structure)


def test_warm_start() -> None:
    X, y = mixed()
    made = GraphLabeler(l2=0.2, tol=1e-5, warm_start=True).fit(X, y)
    cold = made.certificate_
    made.fit(X, y)
    assert made.certificate_.passes < cold.passes
    made.fit(X[:-1], y[:-1])
    assert made.certificate_.converged
    cold = GraphLabeler(l2=0.2, tol=1e-5).fit(X[:-1], y[:-1]).certificate_
    assert made.certificate_.primal == pytest.approx(cold.primal, rel=2e-5)
    more = [[*y[0][:-1], "fish"], *y[1:]]
    with pytest.raises(MismatchError, match="other constants or labels"):
        made.fit(X, more)
    other = [[*labels[:-1], labels[-1].upper()] for labels in y]
    with pytest.raises(DataError, match="other labels or kinds"):
        made.fit(X, other)


def test_manners(grid: Data) -> None:
    made = GraphLabeler(l2=0.5, domains={"label": ["sea", "land"]}, callbacks=lambda _: None)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert "class_weight" not in made.get_params()
    assert not hasattr(made, "coef_")
    with pytest.raises(NotFittedError):
        made.predict(grid[0])
    assert made.fit(*grid).classes_.tolist() == ["sea", "land"]
    search = GridSearchCV(GraphLabeler(tol=1e-2), {"l2": [0.1, 10.0]}, cv=3).fit(*grid)
    assert search.best_score_ > 0.8
    np.testing.assert_array_equal(
        clone(made).set_params(n_jobs=2).fit(*grid).coef_["edge"], made.coef_["edge"]
    )


def test_forms_of_features() -> None:
    X, y = chains()
    plain = [(table, steps(len(table))) for table in X]
    forms = {
        "sparse": [(scipy.sparse.csr_array(t), e) for t, e in plain],
        "lists": [(t.tolist(), e.tolist()) for t, e in plain],
        "dicts": [([{f"f{j}": v for j, v in enumerate(row)} for row in t], e) for t, e in plain],
    }
    expected = GraphLabeler(tol=1e-8).fit(plain, y).log_proba(plain, y)
    for graphs in forms.values():
        made = GraphLabeler(tol=1e-8).fit(graphs, y)
        np.testing.assert_allclose(made.log_proba(graphs, y), expected, atol=1e-4)
    assert made.vocabularies_["node"] is not None
    unknown = [([{"new": 1.0}], np.zeros((0, 2), int))]
    with pytest.warns(UnknownFeaturesWarning, match="none of the 1 features"):
        found = made.predict_marginals(unknown)
    np.testing.assert_allclose(found[0], 0.25, atol=1e-12)


def test_sample_weight_and_empty_graphs(grid: Data) -> None:
    X, y = grid
    empty = (np.zeros((0, 2)), np.zeros((0, 2), int), np.zeros((0, 2)))
    weight = [1.0] * 10 + [0.0] * (len(X) - 10) + [2.0]
    made = GraphLabeler(tol=1e-11).fit([*X, empty], [*y, []], sample_weight=weight)
    again = GraphLabeler(tol=1e-11).fit(X[:10], y[:10])
    np.testing.assert_allclose(made.coef_["edge"], again.coef_["edge"], atol=1e-5)
    assert made.predict([empty]) == [[]]
    assert made.predict([]) == []
    assert made.predict_marginals([empty])[0].shape == (0, 2)
    with pytest.raises(DataError, match="no vertices to score"):
        made.score([empty], [[]])
    assert made.score(X, y, sample_weight=[1.0] + [0.0] * (len(X) - 1)) in (1.0, 5 / 6, 4 / 6)
    with pytest.raises(DataError, match="1 sample weights for 30"):
        made.score(X, y, sample_weight=[1.0])


def test_unseen_labels_score_and_have_no_probability(grid: Data, labeler: GraphLabeler) -> None:
    assert labeler.log_proba(grid[0][:1], [["fog"] * 6])[0] == -np.inf
    assert labeler.score(grid[0][:1], [["fog"] * 6]) == 0.0
