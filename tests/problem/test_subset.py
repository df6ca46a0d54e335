"""Some examples of a problem: the same losses, slopes that add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instances import make_instance, variants
from support.plain_descent import first_weights

from partwise.problem.evaluation import Evaluator
from partwise.problem.subset import subset

VARIANTS = variants()
NAMES = [name for *_, name in VARIANTS]


@pytest.mark.parametrize(("kind", "loss", "options", "_name"), VARIANTS, ids=NAMES)
def test_losses_and_slopes(kind: str, loss: str, options: Any, _name: str) -> None:
    instance = make_instance(kind, loss, 1, n=9, **options)
    problem, w = instance.problem, first_weights(instance)
    whole = Evaluator(problem)
    halves = [np.array([7, 0, 3, 8]), np.array([1, 6, 2, 4, 5])]
    parts = [Evaluator(subset(problem, half)) for half in halves]
    for half, part in zip(halves, parts, strict=True):
        np.testing.assert_array_equal(part.losses(w), whole.losses(w)[half])
        np.testing.assert_array_equal(part.problem.reach, problem.reach[half])
        assert part.problem.storage is problem.storage
        assert part.problem.max_parts == np.diff(part.problem.arrays.part_ptr).max()
    if instance.loss.tau > 0.0:
        slopes = [part.slope(w) for part in parts]
        np.testing.assert_allclose(sum(s.v for s in slopes), whole.slope(w).v, atol=1e-12)


def test_an_example_may_be_taken_twice_or_never() -> None:
    instance = make_instance("chain")
    w = first_weights(instance)
    losses = Evaluator(instance.problem).losses(w)
    twice = subset(instance.problem, np.array([2, 2]))
    np.testing.assert_array_equal(Evaluator(twice).losses(w), losses[[2, 2]])
    assert subset(instance.problem, np.zeros(0, dtype=np.int64)).n_examples == 0


def test_arrays_have_the_types_that_kernels_expect() -> None:
    for options in ({"weights": "observed"}, {"real": False}, {"constrained": True}):
        arrays = make_instance("chain", "hinge", **options).problem
        other = subset(arrays, np.array([1, 0]))
        pairs = [
            *zip(arrays.arrays, other.arrays, strict=True),
            *zip(arrays.arrays.design, other.arrays.design, strict=True),
        ]
        for x, y in pairs:
            if isinstance(x, np.ndarray):
                assert (y.dtype, y.flags.c_contiguous) == (x.dtype, True)
