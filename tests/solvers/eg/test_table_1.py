"""Table 1 of Collins et al. (2008): how many examples EG has to process for a dual accuracy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.instances import Explicit, batch, divergence, make_instance, online
from support.optima import optimal_duals

#: The accuracy, as a part of what the start lacks.
PARTS = (0.3, 0.03)


def bounds(explicit: Explicit, n: int, distance: float, lacks: float, eps: float) -> list[float]:
    """The entries of the table for batch and online EG."""
    a = explicit.largest()
    if explicit.tau == 0.0:
        return [n * n / eps * a * distance, n / eps * (a * distance + lacks)]
    c1 = (1.0 + n * a) * distance
    c2 = (1.0 + a) * distance + lacks
    return [n * (1.0 + n * a) * math.log(c1 / eps), n * (1.0 + a) * math.log(c2 / eps)]


@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("kind", ["multiclass", "chain"])
@pytest.mark.parametrize("part", PARTS)
def test_the_counts_of_table_1_suffice(kind: str, loss: str, part: float) -> None:
    """... with the longest steps of the theorems, from uniform distributions, and few do not."""
    instance = make_instance(kind, loss, 3, n=5)
    n = len(instance.lengths)
    explicit = Explicit(instance, 4.0)
    optimum, _ = optimal_duals(explicit)
    best, a, tau = explicit.dual(optimum), explicit.largest(), explicit.tau
    machine = batch(instance, 4.0, start=0.0, eta=1.0 / (tau + n * a))
    first = explicit.distributions(machine.duals.theta)
    distance, lacks = divergence(optimum, first), best - explicit.dual(first)
    # Section 5.1: at most n log |Y| from uniform distributions.
    assert distance <= sum(math.log(len(p)) for p in first) + 1e-12
    eps = part * lacks
    together, one_by_one = bounds(explicit, n, distance, lacks, eps)

    def missing(epochs: float) -> float:
        for _ in range(math.ceil(epochs)):
            dual = machine.epoch().dual
        return best - dual

    assert missing(together / n / 50.0) > eps
    assert missing(together / n) <= eps
    behind = []
    for seed in range(10):
        machine = online(instance, 4.0, seed, start=0.0, order="replacement", eta=1.0 / (tau + a))
        behind.append([missing(one_by_one / n / 50.0), missing(one_by_one / n)])
    few, enough = np.mean(behind, axis=0)
    assert enough <= eps < few
