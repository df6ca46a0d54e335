"""How the work of the oracles grows with the example, in lines run: no clock is asked.

How long they take is measured by ``python -m benchmarks.scaling``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.counted import lines_run
from support.grammars import dense_grammar
from support.graph_shapes import grid, lattice
from support.laws import close

from partwise.compiled.jit import njit
from partwise.structures.base import Structure
from partwise.structures.dependency.projective import ProjectiveTree
from partwise.structures.dependency.spanning import SpanningTree
from partwise.structures.second_order.structure import SecondOrderChain
from partwise.structures.segments.structure import SemiMarkov


def lines_of(structure: Structure, shape: Any) -> int:
    """The lines that the marginals of one example take; their result is checked."""
    topo = structure.topology(shape)
    theta = np.random.default_rng(0).uniform(-1.0, 1.0, structure.n_parts(topo))
    mu, work = np.empty(len(theta)), np.empty(structure.work_size(topo))
    lines = lines_run(structure.marginals, structure.spec, topo, theta, mu, work)
    close(mu, structure.expected_parts(theta, topo)[1])
    return lines


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (SecondOrderChain(5), int),
        (SemiMarkov(5, 4), int),
        (lattice(3), lambda n: grid(2, n)),
    ],
    ids=["second order", "segments", "graph"],
)
def test_linear(structure: Structure, shape: Callable[[int], Any]) -> None:
    short, middle, long = (lines_of(structure, shape(n)) for n in (10, 50, 90))
    # As much for the second 40 positions as for the first.
    assert long - middle <= 1.01 * (middle - short)


@pytest.mark.parametrize(
    "structure",
    [ProjectiveTree(), SpanningTree(), SpanningTree(single_root=False), dense_grammar(5, 12)],
    ids=["projective", "single root", "many roots", "grammar"],
)
def test_cubic(structure: Structure) -> None:
    # 8 times as much for twice the length, and less while lower powers have a share in it.
    # The fourth power would come to 16.
    short, long = (lines_of(structure, n) for n in (15, 30))
    assert long <= 8 * short


@njit
def _row(x: Any) -> float:
    total = 0.0
    for k in range(x.size):
        total += x[k]
    return total


@njit
def _squared(x: Any) -> float:
    total = 0.0
    for _ in range(x.size):
        total += _row(x)
    return total


def test_lines_of_inner_kernels_are_counted() -> None:
    short, long = np.ones(20), np.ones(40)
    assert lines_run(_row, long) > 80
    assert 1.8 < lines_run(_row, long) / lines_run(_row, short) < 2.0
    assert 3.6 < lines_run(_squared, long) / lines_run(_squared, short) < 4.0
