"""Graphs with labels, for the tests of the labeller."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise import GraphExample

Data = tuple[list[Any], list[list[Any]]]

GRID = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]])


def chains(seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Draw rows of numbers for the vertices of chains, and labels that follow them."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 4)) for n in (3, 1, 5, 2, 4, 6)]
    y = [["ab"[int(row[0] > 0)] + "xy"[int(row[1] > 0.3)] for row in table] for table in X]
    return X, y


def steps(n: int) -> Any:
    """Return the edges of a chain of n vertices."""
    return np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)


def grids(number: int = 30, seed: int = 0) -> Data:
    """Draw noisy 2x3 grids with one label in the last column and another one elsewhere."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(number):
        side = int(rng.integers(2))
        labels = [side, side, 1 - side, side, side, 1 - side]
        noisy = np.array([[label + rng.normal(0, 0.6), 1.0] for label in labels])
        differs = np.array([[float(labels[a] != labels[b]), 1.0] for a, b in GRID])
        X.append((noisy, GRID, differs))
        y.append(["land" if label else "sea" for label in labels])
    return X, y


def mixed(number: int = 12, seed: int = 0) -> Data:
    """Draw words with tags and one topic for all of them, with factors of up to three vertices."""
    rng = np.random.default_rng(seed)
    X: list[Any] = []
    y: list[list[Any]] = []
    for i in range(number):
        n = 2 + i % 3
        topic = int(rng.integers(2))
        tags = [("N", "V", "A")[int(rng.integers(2)) + topic] for _ in range(n)]
        words: list[Any] = [{"w": tag.lower() if rng.random() < 0.7 else "?"} for tag in tags]
        factors = {
            "word": (np.arange(n), words),
            "topic": ([[n]], None),
            "about": ([[v, n] for v in range(n)], None),
            "pair": ([[v, v + 1, n] for v in range(n - 1)], np.ones((n - 1, 1))),
        }
        domains = ["tag"] * n + ["topic"]
        if i % 2:
            X.append(GraphExample(domains, factors))
        else:
            X.append({"domains": domains, "factors": factors})
        y.append([*tags, ("sport", "art")[topic]])
    return X, y
