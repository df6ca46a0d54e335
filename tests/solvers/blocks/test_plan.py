"""What is decided from the data and the options alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.structure_cases import problem_of

from partwise.errors import MismatchError
from partwise.problem.subset import subset
from partwise.solvers.automatic import first_choice
from partwise.solvers.blocks.plan import BlockPlan, Extent, block_ends, make_plan
from partwise.solvers.blocks.solver import deal
from partwise.solvers.eg.base import default_annealing, easy_l2, is_small
from partwise.training.loop import train


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 12))
def test_blocks_are_whole_and_balanced(sizes: list[int], blocks: int) -> None:
    blocks = min(blocks, len(sizes))
    ends = block_ends(np.array(sizes), blocks)
    assert len(ends) == blocks
    assert ends[-1] == len(sizes)
    counts = np.diff([0, *ends])
    assert counts.min() >= 1
    held = [sum(part) for part in np.split(sizes, ends[:-1])]
    if min(counts) > 1:  # nothing was moved to give every block an example
        assert max(held) <= sum(sizes) / blocks + max(sizes)


@pytest.mark.parametrize("name", ["chain", "multiclass", "grammar"])
def test_every_example_is_in_one_block(name: str) -> None:
    problem = problem_of(name, "log")
    dealt = deal(problem, 3)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(problem.n_examples))
    parts = Extent.total([Extent.of(subset(problem, examples)) for examples in dealt])
    whole = Extent.of(problem)
    found = (parts.examples, parts.parts, parts.sites)
    assert found == (whole.examples, whole.parts, whole.sites)
    assert parts.squares == pytest.approx(whole.squares)
    assert whole.easy_l2 == pytest.approx(easy_l2(problem))


def plan_of(name: str, loss: str, l2: float, l1: float = 0.0) -> BlockPlan:
    problem = problem_of(name, loss)
    args = problem.layout.n_weights, problem.loss.tau, name == "multiclass", l2, l1
    return make_plan(Extent.of(problem), *args)


@pytest.mark.parametrize("l2", [1e-4, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("name", ["chain", "multiclass"])
def test_the_method_is_that_of_the_automatic_solver(name: str, loss: str, l2: float) -> None:
    problem, plan = problem_of(name, loss), plan_of(name, loss, l2)
    chosen = first_choice(problem, l2, 0.0, {})[0]
    if chosen == "newton":  # which takes all examples at once
        n_weights, n_sites = problem.layout.n_weights, len(problem.arrays.design.site_part)
        small = is_small(l2, easy_l2(problem), n_weights, n_sites)
        chosen = "proximal-eg" if small else "online-eg"
    assert plan.method == ("online-eg" if chosen == "proximal-eg" else chosen)
    assert (plan.nearness > 0.0) == (chosen != "online-eg")
    if chosen == "online-eg":
        assert plan.annealing == default_annealing(easy_l2(problem), l2)


def test_numbers_of_blocks_and_exchanges() -> None:
    def found(n: int, **given: int) -> tuple[int, int]:
        plan = make_plan(Extent(n, 9 * n, n, 1.0 * n), 10**6, 1.0, False, 1.0, **given)
        return plan.blocks, plan.exchanges

    assert found(3) == (3, 1)
    assert found(100) == (8, 2)
    assert found(9_000) == (8, 256)
    assert found(10**9) == (8, 256)
    assert found(9_000, blocks=100) == (100, 16)
    assert found(9_000, exchanges=3) == (8, 3)
    assert found(3, blocks=5) == (3, 1)


def test_l1_with_the_hinge_is_refused() -> None:
    with pytest.raises(MismatchError, match="no solver takes l1 > 0 with the hinge"):
        train(problem_of("chain", "hinge"), 1.0, l1=0.1, solver="blocks")
