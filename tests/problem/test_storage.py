"""Blocks made fit for vector instructions hold the same weights and give the same scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.compiled.lanes import LINE
from partwise.errors import DataError
from partwise.problem.design import make_design, scatter, scatter_between, score, site_rows
from partwise.problem.rows import Rows
from partwise.problem.storage import Layout, Storage, filled_width
from partwise.structures.chain.structure import Chain


def random_layout(n_labels: int, n_features: int, share: float, seed: int) -> Layout:
    rng = np.random.default_rng(seed)
    counts = [rng.integers(1, 9, n_features), np.array([5])]
    layout = Layout.full([n_labels, n_labels**2, 0, 0], [*counts, *[np.zeros(0, int)] * 2])
    if share < 1.0:
        layout = layout.restricted(rng.random(layout.n_weights) < share)
    return layout


@pytest.mark.parametrize(
    ("width", "filled"), [(0, 0), (1, 1), (7, 7), (8, 8), (9, 9), (15, 16), (22, 24), (484, 488)]
)
def test_filled_width(width: int, filled: int) -> None:
    assert filled_width(width) == filled


sizes = st.tuples(
    st.sampled_from([2, 5, 8, 10, 15, 22]),
    st.integers(1, 12),
    st.sampled_from([0.1, 0.4, 0.8, 1.0]),
    st.integers(0, 2**31),
)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_every_weight_has_a_place_of_its_own(size: tuple[int, int, float, int]) -> None:
    layout = random_layout(*size)
    storage = Storage.spread(layout)
    places = storage.places()
    assert len(set(places.tolist())) == layout.n_weights
    assert places.max() < storage.n_places
    weights = 1.0 + np.arange(layout.n_weights)
    stored = storage.scatter(weights)
    np.testing.assert_array_equal(storage.gather(stored), weights)
    assert np.count_nonzero(stored) == layout.n_weights
    if storage.live.size:
        np.testing.assert_array_equal(storage.live > 0, stored > 0)


@settings(max_examples=60, deadline=None)
@given(sizes)
def test_scores_and_their_adjoint_are_those_of_the_layout(
    size: tuple[int, int, float, int],
) -> None:
    layout = random_layout(*size)
    n_labels, n_features, _, seed = size
    rng = np.random.default_rng(seed)
    structure = Chain(n_labels)
    topologies = [structure.topology(t) for t in (3, 0, 1, 4)]
    dense = (rng.random((8, n_features)) < 0.6) * rng.normal(size=(8, n_features))
    one = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
    none = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    sites = site_rows(structure, topologies, [Rows.from_dense(dense), one, none, none])
    storage = Storage.spread(layout)
    plain, spread = make_design(Storage.plain(layout), *sites), make_design(storage, *sites)
    w = rng.normal(size=layout.n_weights)
    stored = storage.scatter(w.copy()).copy()
    cut = int(rng.integers(0, storage.n_places + 1))
    for i, topo in enumerate(topologies):
        n = structure.n_parts(topo)
        q, r = np.empty(n), np.empty(n)
        score(plain, i, w, q)
        score(spread, i, stored, r)
        np.testing.assert_allclose(r, q, rtol=1e-12, atol=1e-12)
        delta = rng.normal(size=n)
        parted = stored.copy()
        for low, high in ((0, cut), (cut, storage.n_places)):
            scatter_between(spread, i, delta, parted, low, high)
        change = scatter(plain, i, delta, w)
        assert scatter(spread, i, delta, stored) == pytest.approx(change, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(storage.gather(stored), w, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(parted, stored, rtol=1e-12, atol=1e-12)
        # What is not a weight stays 0.
        assert np.count_nonzero(stored) <= layout.n_weights


def test_blocks_that_are_filled_begin_at_a_cache_line() -> None:
    storage = Storage.spread(random_layout(22, 9, 1.0, 0))
    assert (storage.first[:9] % LINE == 0).all()
    assert storage.zeros().ctypes.data % 64 == 0
    assert len(storage.zeros()) == storage.n_places


def test_what_needs_no_change_keeps_its_places() -> None:
    for share in (0.5, 1.0):
        layout = random_layout(2, 7, share, 1)
        storage = Storage.spread(layout)
        assert storage.n_places == layout.n_weights
        w = np.arange(layout.n_weights, dtype=float)
        assert storage.gather(w) is w
        assert storage.scatter(w) is w


def test_a_matrix_that_does_not_fit_into_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layout = Layout.full((3,), [np.ones(4, dtype=np.int64)])
    assert layout.dense(np.arange(12.0), 0).shape == (4, 3)
    n = 1_000_000
    layout = Layout.full((3,), [np.ones(n, dtype=np.int64)])
    monkeypatch.setattr("partwise.memory.memory_limit", lambda: 24.0 * n - 1.0)
    with pytest.raises(DataError, match="a matrix of 1,000,000 features by 3 labels would need"):
        layout.dense(np.zeros(3 * n), 0)
