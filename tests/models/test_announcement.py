"""The memory that a fit announces, against what tracemalloc counts; numpy reports to it."""

from __future__ import annotations

import logging
import re
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from support.instances import make_instance

from partwise import (
    ConvergenceWarning,
    DependencyParser,
    GraphLabeler,
    LinearClassifier,
    SegmentTagger,
    SequenceTagger,
)
from partwise.models.announcement import announcement
from partwise.problem.footprint import Footprint, held_bytes
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.solvers.registry import SOLVERS
from partwise.structures.multiclass import Multiclass
from partwise.training.loop import train
from partwise.training.settings import Settings

#: How far off the announcement may be.
NEAR = 0.25
MEASURED = (
    *("auto", "online-eg", "batch-eg", "proximal-eg", "lbfgs", "newton", "sag", "sgd"),
    *("crammer-singer", "bcfw", "svm-struct"),
)


def peak(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives, and the most that it has in memory beside what was there before."""
    tracemalloc.start()
    try:
        found = call()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_every_array_counts_once() -> None:
    numbers = np.zeros(1000)
    alone = held_bytes(numbers)
    assert 8000 <= alone < 8200
    assert held_bytes(numbers, numbers[:10], numbers[5:].reshape(5, -1)) == alone
    rows = Rows(np.array([0, 2]), np.array([0, 1], np.int32), None, 2)
    assert held_bytes(rows) == held_bytes(rows.indptr, rows.indices)
    assert held_bytes(rows, [rows], {"a": rows}) < held_bytes(rows) + 500
    assert held_bytes("x" * 1000) > 1000
    assert held_bytes(None, 1.0, object) == 0


def test_a_footprint_is_counted_in_arrays() -> None:
    problem = make_instance("chain", n=3, lengths=[2, 2, 2]).problem
    size = Footprint(vectors=2, parts=3, examples=4, other=5)
    numbers = 2 * problem.storage.n_places + 3 * problem.n_parts + 4 * 3
    assert size.nbytes(problem) == 8 * numbers + 5


def test_the_size_is_told() -> None:
    problem = make_instance("chain", n=3, lengths=[2, 2, 2]).problem
    text = announcement(problem, Settings(), ())
    assert "3 examples, 8 features, 27 weights, 54 parts; training takes about 0 MiB" in text


def _classes(n: int, n_features: int, n_labels: int, loss: str) -> Problem:
    rng = np.random.default_rng(0)
    of_each = 10
    indices = np.arange(of_each) * (n_features // of_each)
    indices = indices + rng.integers(n_features // of_each, size=(n, of_each))
    rows = Rows(np.arange(n + 1) * of_each, indices.ravel().astype(np.int32), None, n_features)
    gold = [np.array([label]) for label in indices.sum(axis=1) % n_labels]
    cost = make_loss(loss, n_labels, None)
    return build_problem(Multiclass(n_labels), np.ones(n, np.int64), [rows], gold, cost)


@pytest.mark.parametrize("shape", [(100, 40_000, 8), (3_000, 50, 100)], ids=["weights", "parts"])
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        (name, loss)
        for name in MEASURED
        for loss, other in (("log", "tau=0"), ("hinge", "tau>0"))
        if other not in SOLVERS[name].needs
    ],
)
def test_a_solver_says_what_it_takes(name: str, loss: str, shape: tuple[int, int, int]) -> None:
    solver = SOLVERS[name]
    problem = _classes(*shape, loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # The first time compiles: a small problem might be solved in another way.
        train(problem, 1.0, solver=name, tol=1e-9, max_passes=12)
        fit, taken = peak(lambda: train(problem, 1.0, solver=name, tol=1e-9, max_passes=12))
    said = solver.footprint(problem, 1.0, 0.0, {}).nbytes(problem)
    # Far from the optimum, w = 0 is tried as well.
    spare = 0.0 if fit.certificate.converged else 8.0 * problem.storage.n_places
    assert said * (1.0 - NEAR) <= taken <= (said + spare) * (1.0 + NEAR) + 2**18


def _sentences(n: int, length: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Tokens of six features each, and one of twelve labels."""
    rng = np.random.default_rng(0)
    words = rng.integers(4_000, size=(n, length))
    tokens = [[[f"{k}={word // (k + 1)}" for k in range(6)] for word in row] for row in words]
    labels = [[f"L{word % 12}" for word in row] for row in words]
    return tokens, labels


def _tagged(n: int, length: int, **settings: Any) -> Callable[[], Any]:
    tokens, labels = _sentences(n, length)
    return lambda: SequenceTagger(tol=0.5, **settings).fit(tokens, labels)


def _classified(n: int, loss: str) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    x = csr_matrix(rng.random((n, 200)))
    y = rng.integers(5, size=n)
    return lambda: LinearClassifier(loss=loss, tol=0.5).fit(x, y)


def _segmented(n: int, length: int, loss: str) -> Callable[[], Any]:
    tokens, labels = _sentences(n, length)
    tags = [["B-" + label for label in row] for row in labels]
    return lambda: SegmentTagger(loss=loss, tol=0.5, max_length=6).fit(tokens, tags)


def _parsed(n: int, length: int, labelled: bool, **settings: Any) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    texts = [[f"w{k}" for k in row] for row in rng.integers(300, size=(n, length))]
    sentences = [{"form": text, "lemma": text, "pos": text} for text in texts]
    trees = [np.arange(length) for _ in texts]
    relations = [[f"r{k % 7}" for k in range(length)] for _ in texts] if labelled else None
    parser = DependencyParser(tol=0.5, labelled=labelled, **settings)
    return lambda: parser.fit(sentences, trees, relations)


def _graphs(n: int, loss: str) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    edges = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    nodes = [rng.random((30, 20)) for _ in range(n)]
    labels = [x[:, :6].argmax(axis=1) for x in nodes]
    return lambda: GraphLabeler(loss=loss, tol=0.5).fit([(x, edges) for x in nodes], labels)


FITS: dict[str, Callable[[int, str], Callable[[], Any]]] = {
    "classify": lambda n, loss: _classified(100 * n, loss),
    "tag": lambda n, loss: _tagged(20 * n, 20, loss=loss),
    "tag observed": lambda n, loss: _tagged(20 * n, 20, loss=loss, weights="observed"),
    "tag order 2": lambda n, loss: _tagged(4 * n, 20, loss=loss, order=2),
    "segment": lambda n, loss: _segmented(10 * n, 20, loss),
    "parse": lambda n, loss: _parsed(2 * n, 30, False, loss=loss),
    "parse labelled": lambda n, loss: _parsed(n, 25, True, loss=loss, projective=False),
    "graph": lambda n, loss: _graphs(5 * n, loss),
}


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_says_what_it_takes(name: str, loss: str, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, logger="partwise"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = FITS[name](100, loss)
        fit()  # compiles, or loads what is compiled
        caplog.clear()
        _, taken = peak(fit)
    (said,) = re.findall(r"training takes about ([\d,]+) MiB", caplog.text)
    assert taken > 10 * 2**20
    assert float(said.replace(",", "")) * 2**20 == pytest.approx(taken, rel=NEAR)
