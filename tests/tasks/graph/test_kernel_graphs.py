"""Labellers of graphs with kernels: the same as with the features of the kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwise import DataError, GraphLabeler, KernelGraphLabeler, load_model, save_model
from partwise.cli import main


def graphs(seed: int, n: int) -> tuple[list[Any], list[list[str]]]:
    """Loops of four nodes whose labels depend on products of the inputs of nodes and edges."""
    rng = np.random.default_rng(seed)
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    X, y = [], []
    for _ in range(n):
        nodes, between = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
        high = nodes[:, 0] * nodes[:, 1] > 0
        same = between[:, 0] * between[:, 1] > 1.0
        for (a, b), tied in zip(edges, same, strict=True):
            high[b] = high[a] if tied else high[b]
        X.append((nodes, edges, between))
        y.append(["high" if one else "low" for one in high])
    return X, y


def squares(x: Any) -> Any:
    """The features of (x.z + 1)^2."""
    n, d = x.shape
    pairs = [
        x[:, i] * x[:, j] * (1.0 if i == j else np.sqrt(2.0)) for i in range(d) for j in range(i, d)
    ]
    return np.stack([*pairs, *(np.sqrt(2.0) * x.T), np.ones(n)], axis=1)


SHARED: dict[str, Any] = {"tol": 1e-7, "max_passes": 1e5, "l2": 2.0}
POLY: dict[str, Any] = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_kernel_is_its_features(loss: str, symmetric: bool) -> None:
    X, y = graphs(0, 12)
    given: dict[str, Any] = {"loss": loss, "symmetric": symmetric, **SHARED}
    explicit = GraphLabeler(**given).fit([(squares(a), e, squares(b)) for a, e, b in X], y)
    kernel = KernelGraphLabeler(**POLY, **given).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=2e-7)
    other, _ = graphs(1, 10)
    known = explicit.predict([(squares(a), e, squares(b)) for a, e, b in other], k=2)
    for mine, theirs in zip(kernel.predict(other, k=2), known, strict=True):
        assert mine[0][1] == pytest.approx(theirs[0][1], abs=2e-2)
    coef = kernel.dual_coef_
    assert coef["node"].shape[1:] == (2,)
    assert coef["edge"].shape[1:] == (2, 2)
    assert len(coef["edge"]) == len(kernel.support_["edge"]) <= 6
    with pytest.raises(AttributeError, match="see dual_coef_"):
        _ = kernel.coef_


def test_edges_without_features_have_ordinary_weights() -> None:
    X, y = graphs(0, 12)
    bare = [(nodes, edges) for nodes, edges, _ in X]
    explicit = GraphLabeler(**SHARED).fit([(squares(a), e) for a, e in bare], y)
    kernel = KernelGraphLabeler(**POLY, **SHARED).fit(bare, y)
    assert kernel.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=2e-7)
    assert set(kernel.support_) == {"node"}


def test_saved_loaded_and_a_start(tmp_path: Path) -> None:
    X, y = graphs(0, 12)
    kernel = KernelGraphLabeler(gamma=0.5, tol=1e-5, warm_start=True).fit(X, y)
    save_model(kernel, tmp_path / "a.model")
    model = load_model(tmp_path / "a.model")
    again = KernelGraphLabeler.from_model(model)
    assert again.predict(X, k=2) == kernel.predict(X, k=2)
    assert again.gamma == 0.5
    with pytest.raises(DataError, match=r"use KernelGraphLabeler\.from_model"):
        GraphLabeler.from_model(model)
    with pytest.raises(DataError, match=r"use GraphLabeler\.from_model"):
        KernelGraphLabeler.from_model(GraphLabeler(max_passes=1, tol=1.0).fit(X, y).model_)
    more, labels = graphs(2, 2)
    kernel.fit([*X, *more], [*y, *labels])
    cold = KernelGraphLabeler(gamma=0.5, tol=1e-5).fit([*X, *more], [*y, *labels])
    assert kernel.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-5)
    assert kernel.trace_[0].dual > cold.trace_[0].dual


def test_it_is_better_where_labels_are_products() -> None:
    (X, y), (other, known) = graphs(0, 60), graphs(1, 40)
    linear = GraphLabeler(tol=1e-2).fit(X, y)
    kernel = KernelGraphLabeler(gamma=0.5, tol=1e-2).fit(X, y)
    assert kernel.score(other, known) > linear.score(other, known) + 0.1


def test_on_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(8):
        values = rng.normal(size=(3, 2))
        for k, (a, b) in enumerate(values):
            lines.append(f"node v{k} {'high' if a * b > 0 else 'low'} a:{a:.3f} b:{b:.3f}")
        lines += [f"edge v0 v1 near:{values[0, 0]:.3f}", "edge v1 v2 near:0.5", ""]
    file, model = tmp_path / "a.graphs", str(tmp_path / "a.model")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = ["train", "--task", "graph", str(file), "--model", model, "-q", "--kernel", "rbf"]
    assert main([*given, "--gamma", "1", "--l2", "0.01"]) == 0
    assert main(["evaluate", model, str(file)]) == 0
    assert "vertex accuracy  100" in capfd.readouterr().out
    assert main([*given, "--hashing", "16"]) == 2
    assert "--kernel takes no --hashing" in capfd.readouterr().err


def test_graphs_without_features_are_refused() -> None:
    X = [{"domains": ["label", "label"], "factors": {"own": ([[0], [1]], None)}}]
    with pytest.raises(DataError, match="no factors have features"):
        KernelGraphLabeler().fit(X, [["a", "b"]])
