"""The data of Yu, Huang and Lin (2011), section 6.1, and generated data of like shape.

a9a is their own. The others are not in the folder of data, so rows with as many features, words as
frequent as in text, tf-idf values and length 1 stand for them, as many rows as fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import data
from ..problems import Floats, Ints

if TYPE_CHECKING:
    from partwise.problem.problem import Problem


@dataclass(frozen=True)
class Documents:
    """Documents of two classes, with C by cross-validation in the paper."""

    name: str
    title: str
    real: bool
    c: float
    problem: Problem
    x: Any  # CSR
    y: Ints
    x_test: Any
    y_test: Ints

    @property
    def l2(self) -> float:
        """One vector stands for two, so l2 = 2 / C."""
        return 2.0 / self.c

    def difference(self, weights: Floats) -> Floats:
        """Return the one vector of the paper."""
        halves = self.problem.layout.dense(weights, 0)
        w: Floats = halves[:, 1] - halves[:, 0]
        return w

    def error(self, weights: Floats) -> float:
        """Return the share of wrong labels of the test."""
        found = self.x_test @ self.difference(weights) > 0.0
        return float(np.mean(found != (self.y_test == 1)))

    def gradient(self, weights: Floats) -> float:
        """Return the norm of the gradient of (1)."""
        w, sign = self.difference(weights), 2.0 * self.y - 1.0
        margin = np.clip(sign * (self.x @ w), -700.0, 700.0)
        return float(np.linalg.norm(w - self.c * (self.x.T @ (sign / (1.0 + np.exp(margin))))))


@dataclass(frozen=True)
class Shape:
    """A row of Table 2: l, n, the non-zeros, and C; ``part`` of the rows is made."""

    name: str
    rows: int
    features: int
    nonzeros: int
    c: float
    part: float


SHAPES = (
    Shape("a9a", 32_561, 123, 451_592, 4.0, 1.0),
    Shape("real-sim", 72_309, 20_958, 3_709_083, 8.0, 0.5),
    Shape("yahoo-japan", 176_203, 832_026, 23_506_415, 4.0, 0.1),
    Shape("rcv1", 677_399, 47_236, 49_556_258, 8.0, 0.04),
)


def documents(shape: Shape, quick: bool) -> Documents:
    """Return one of the four sets; a small one of every shape if ``quick``."""
    if shape.name == "a9a" and not quick:
        x, y = data.svmlight("libsvm/a9a.gz", 123)
        x_test, y_test = data.svmlight("libsvm/a9a.t.gz", 123)
        title = "a9a"
    else:
        n = 200 if quick else int(shape.part * shape.rows)
        features = min(shape.features, 100) if quick else shape.features
        each = min(shape.nonzeros // shape.rows, 10 if quick else 1000)
        x, y = generated(n + n // 4, features, each, seed=len(shape.name))
        x, x_test, y, y_test = x[:n], x[n:], y[:n], y[n:]
        title = f"like {shape.name}, {n:,} of {shape.rows:,} rows"
    problem = problem_of(x, y)
    real = shape.name == "a9a" and not quick
    return Documents(shape.name, title, real, shape.c, problem, x, y, x_test, y_test)


def problem_of(x: Any, y: Ints) -> Problem:
    """Return the problem of two classes."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.structures.multiclass import Multiclass

    ones = np.ones(x.shape[0], dtype=np.int64)
    return build_problem(
        Multiclass(2), ones, [Rows.from_scipy(x)], list(y[:, None]), make_loss("log", 2)
    )


def generated(n: int, features: int, each: int, seed: int) -> tuple[Any, Ints]:
    """Return n rows of about ``each`` words, the frequent ones first, and labels that follow."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    # log-uniform ranks are Zipf's law
    words = (np.exp(rng.random(int(1.25 * n * each)) * np.log(features)) - 1.0).astype(np.int64)
    rows = np.repeat(np.arange(n), int(1.25 * each))[: len(words)]
    shape = (n, features)
    x = sparse.csr_matrix((np.ones(len(rows)), (rows, words[: len(rows)])), shape)
    x.sum_duplicates()
    seen = np.bincount(x.indices, minlength=features)
    x.data = (1.0 + np.log(x.data)) * np.log(1.0 + n / np.maximum(seen, 1))[x.indices]
    scale: Callable[[Floats], Any] = sparse.diags
    x = (scale(1.0 / np.sqrt(x.multiply(x).sum(axis=1).A1)) @ x).tocsr()
    margin = x @ rng.normal(size=features)
    margin *= 6.0 / margin.std()
    return x, (rng.random(n) < 1.0 / (1.0 + np.exp(-margin))).astype(np.int64)
