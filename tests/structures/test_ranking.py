from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import close, draw_scores, flat

from partwise.arrays import Floats, Ints
from partwise.errors import DataError
from partwise.structures import ranking
from partwise.structures.chain.structure import Chain
from partwise.structures.dependency.projective import ProjectiveTree
from partwise.structures.multiclass import Multiclass
from partwise.structures.ranking import k_best_choices


def chain_k_best(chain: Chain, theta: Floats, topo: Ints, k: int) -> tuple[Floats, list[Ints]]:
    """By partition: the choices are the unary parts, the transitions follow from them."""
    bounds = np.arange(topo[0] + 1) * chain.n_labels
    return k_best_choices(chain, theta, topo, k, bounds)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(Chain, st.integers(1, 3), st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 5),
    st.integers(0, 300),
    st.sampled_from(["zero", "small", "large", "masked", "steep", "masked steep"]),
    st.integers(0, 2**32 - 1),
)
def test_partition_agrees_with_back_pointers(
    chain: Chain, length: int, k: int, pattern: str, seed: int
) -> None:
    topo = chain.topology(length)
    theta = draw_scores(pattern, chain.n_parts(topo), np.random.default_rng(seed))
    expected, labels = chain.k_best(theta, topo, k)
    scores, found = chain_k_best(chain, theta, topo, k)
    close(scores, expected)
    assert len({flat(y) for y in found}) == len(found) == len(labels)
    for score, y in zip(scores, found, strict=True):
        parts, counts = chain.encode(y, topo)
        close(theta[parts] @ counts, score)


def test_ties_give_every_label_once() -> None:
    chain = Chain(3)
    topo = chain.topology(4)
    scores, labels = chain_k_best(chain, np.ones(chain.n_parts(topo)), topo, 1000)
    assert len({flat(y) for y in labels}) == len(labels) == 81
    np.testing.assert_array_equal(scores, 7.0)


def test_one_position() -> None:
    theta = np.array([1.0, -np.inf, 3.0, 2.0])
    one = Multiclass(4)
    scores, labels = k_best_choices(one, theta, one.topology(), 9, np.array([0, 4]))
    assert scores.tolist() == [3.0, 2.0, 1.0]
    assert [flat(y) for y in labels] == [(2,), (3,), (0,)]


@pytest.mark.parametrize("k", [0, 1, 2, 7, 40])
def test_maxima_are_few(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return call(*arguments)

    call = ranking.call
    monkeypatch.setattr(ranking, "call", counted)
    tree = ProjectiveTree(2)
    topo = tree.topology(6)
    theta = draw_scores("small", tree.n_parts(topo), np.random.default_rng(0))
    before = theta.copy()
    scores, labels = tree.k_best(theta, topo, k)
    assert len(labels) == k
    assert (np.diff(scores) <= 0).all()
    assert len(calls) <= max(k - 1, 0) * 6 + 1
    assert (theta == before).all()


def test_scores_that_have_no_order() -> None:
    tree = ProjectiveTree()
    for bad in (np.nan, np.inf):
        with pytest.raises(DataError, match="the scores hold nan or"):
            tree.k_best(np.array([0.0, bad, 0.0, 0.0]), tree.topology(2), 2)
