"""The features as an operator and its adjoint, against a matrix written out entry by entry."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.arrays import Floats, Ints
from partwise.problem.design import Design, make_design, scatter, scatter_between, score, site_rows
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.problem.storage import Layout, Storage
from partwise.structures.base import Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass


@dataclass(frozen=True)
class Case:
    """Examples with features: ``features[kind]`` is a row a site of the kind, or one for all."""

    structure: Structure
    lengths: Ints
    features: list[Rows]

    @property
    def topologies(self) -> list[Ints]:
        return [self.structure.topology(int(t)) for t in self.lengths]

    def row(self, kind: int, number: int) -> list[tuple[int, float]]:
        """The features, with their values, of the site with this number among its kind."""
        rows = self.features[kind]
        number = number if len(rows) > 1 else 0
        entries = range(rows.indptr[number], rows.indptr[number + 1])
        return [
            (int(rows.indices[e]), 1.0 if rows.values is None else rows.values[e]) for e in entries
        ]


def random_rows(n: int, n_features: int, real: bool, rng: np.random.Generator) -> Rows:
    dense = (rng.random((n, n_features)) < rng.choice([0.3, 0.8])).astype(float)
    return Rows.from_dense(dense * rng.normal(size=dense.shape) if real else dense)


def no_rows() -> Rows:
    return Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)


def one_row() -> Rows:
    """A constant feature, shared by all sites of its kind."""
    return Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)


@st.composite
def cases(draw: Any, max_length: int = 5) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels, real = draw(st.integers(1, 4)), draw(st.booleans())
    n = draw(st.integers(1, 4))
    n_features = draw(st.integers(1, 9))
    if draw(st.booleans()):
        rows = random_rows(n, n_features, real, rng)
        return Case(Multiclass(n_labels), np.ones(n, np.int64), [rows])
    tied, start, end = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    chain = Chain(n_labels, tied=tied, start=start, end=end)
    lengths = np.array(draw(st.lists(st.integers(0, max_length), min_size=n, max_size=n)))
    steps = int(np.maximum(lengths - 1, 0).sum())
    if tied or draw(st.booleans()):
        between = one_row()
    else:
        between = random_rows(steps, draw(st.integers(1, 3)), real, rng)
    # A row for a kind of site that does not occur is no error.
    ends = [one_row() if wanted or draw(st.booleans()) else no_rows() for wanted in (start, end)]
    unary = random_rows(int(lengths.sum()), n_features, real, rng)
    return Case(chain, lengths, [unary, between, *ends])


def widths_of(structure: Structure) -> list[int]:
    n = structure.n_labels
    if isinstance(structure, Chain):
        return [n, n * n, n * structure.start, n * structure.end]
    return [n]


def weight_numbers(layout: Layout) -> list[Ints]:
    """For each kind, a matrix (feature, part) of the number of the weight, or -1."""
    numbers = []
    feature = 0
    for width, n_features in zip(layout.widths, layout.n_features, strict=True):
        table = np.full((n_features, width), -1)
        for f in range(n_features):
            at = layout.first[feature]
            if not layout.slot.size:
                table[f] = at + np.arange(width)
            elif width:
                while layout.slot[at] >= 0:
                    table[f, layout.slot[at]] = at
                    at += 1
                table[f, ~layout.slot[at]] = at
            feature += 1
        numbers.append(table)
    return numbers


def matrices(case: Case, layout: Layout) -> list[Floats]:
    """F_i of every example, a row a part and a column a weight."""
    numbers = weight_numbers(layout)
    passed = [0] * len(case.features)
    out = []
    for topo in case.topologies:
        dense = np.zeros((case.structure.n_parts(topo), layout.n_weights))
        sites = case.structure.sites(topo)
        for part, width, kind in zip(sites.part, sites.width, sites.kind, strict=True):
            for f, x in case.row(kind, passed[kind]):
                for k in range(width):
                    if numbers[kind][f, k] >= 0:
                        dense[part + k, numbers[kind][f, k]] += x
            passed[kind] += 1
        out.append(dense)
    return out


def lay_out(case: Case, observed: bool, rng: np.random.Generator) -> Layout:
    layout = Layout.full(widths_of(case.structure), [rows.counts() for rows in case.features])
    if not observed:
        return layout
    return layout.restricted(rng.random(layout.n_weights) < rng.choice([0.1, 0.5, 0.9]))


def operator(case: Case, layout: Layout) -> Design:
    return make_design(
        Storage.plain(layout), *site_rows(case.structure, case.topologies, case.features)
    )


@settings(max_examples=100)
@given(cases(), st.booleans(), st.integers(0, 2**32 - 1))
def test_score_and_scatter(case: Case, observed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = lay_out(case, observed, rng)
    design = operator(case, layout)
    w = rng.normal(size=layout.n_weights)
    for i, dense in enumerate(matrices(case, layout)):
        q = np.full(len(dense), np.nan)
        score(design, i, w, q)
        np.testing.assert_allclose(q, dense @ w, atol=1e-12)

        delta = rng.normal(size=len(dense))
        before = rng.normal(size=layout.n_weights)
        v = before.copy()
        change = scatter(design, i, delta, v)
        np.testing.assert_allclose(v, before + dense.T @ delta, atol=1e-12)
        np.testing.assert_allclose(change, v @ v - before @ before, atol=1e-10)
        np.testing.assert_allclose(q @ delta, w @ (v - before), atol=1e-11)


@given(cases(), st.booleans(), st.integers(0, 2**32 - 1))
def test_scatter_in_pieces(case: Case, observed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = lay_out(case, observed, rng)
    design = operator(case, layout)
    cuts = np.sort(rng.integers(0, layout.n_weights + 1, rng.integers(0, 5)))
    bounds = [0, *cuts.tolist(), layout.n_weights]
    for i, topo in enumerate(case.topologies):
        delta = rng.normal(size=case.structure.n_parts(topo))
        whole = rng.normal(size=layout.n_weights)
        pieces = whole.copy()
        scatter(design, i, delta, whole)
        for low, high in itertools.pairwise(bounds):
            scatter_between(design, i, delta, pieces, low, high)
        np.testing.assert_allclose(pieces, whole, atol=1e-13)


@given(cases(), st.booleans(), st.integers(0, 2**32 - 1))
def test_dense_round_trip(case: Case, observed: bool, seed: int) -> None:
    layout = lay_out(case, observed, np.random.default_rng(seed))
    weights = 1.0 + np.arange(layout.n_weights)  # a weight that is its own number
    held = []
    for kind, numbers in enumerate(weight_numbers(layout)):
        dense = layout.dense(weights, kind)
        np.testing.assert_array_equal(dense, numbers + 1)
        held.append(dense[dense > 0])
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), weights)


@given(cases(), st.integers(0, 2**32 - 1))
def test_restricted_keeps_what_was_seen(case: Case, seed: int) -> None:
    full = Layout.full(widths_of(case.structure), [rows.counts() for rows in case.features])
    seen = np.random.default_rng(seed).random(full.n_weights) < 0.3
    kept = weight_numbers(full.restricted(seen))
    for before, after in zip(weight_numbers(full), kept, strict=True):
        expected = seen[before]
        expected[~expected.any(axis=1), :1] = True  # no block is empty
        np.testing.assert_array_equal(after >= 0, expected)


def test_frequent_features_come_first() -> None:
    layout = Layout.full([2, 4], [np.array([1, 5, 3]), np.array([4])])
    assert layout.first.tolist() == [8, 0, 6, 2]
    assert layout.n_weights == 10
    assert [layout.feature_offset(kind) for kind in (0, 1)] == [0, 3]


def test_a_wrong_number_of_rows() -> None:
    chain = Chain(2, tied=False)
    topologies = [chain.topology(4)]
    features = [random_rows(4, 3, False, np.random.default_rng(0))] * 2
    features += [no_rows(), no_rows()]
    with pytest.raises(ValueError, match="4 feature rows for the 3 transition sites"):
        site_rows(chain, topologies, features)


def test_a_wrong_number_of_kinds() -> None:
    chain = Chain(2, start=True)
    with pytest.raises(ValueError, match="features for 2 kinds of sites; a chain has 4: label"):
        site_rows(chain, [chain.topology(1)], [one_row(), one_row()])


# The problem that is built from it.


def random_gold(case: Case, rng: np.random.Generator) -> list[Ints]:
    return [rng.integers(0, case.structure.n_labels, t) for t in case.lengths]


def build(case: Case, gold: list[Ints], weights: str) -> Problem:
    loss = make_loss("log", case.structure.n_labels)
    return build_problem(case.structure, case.lengths, case.features, gold, loss, weights=weights)


def counts_of(structure: Structure, label: Ints, topo: Ints) -> Floats:
    parts, counts = structure.encode(label, topo)
    dense = np.zeros(structure.n_parts(topo))
    dense[parts] = counts
    return dense


@given(cases(), st.integers(0, 2**32 - 1))
def test_gold_parts(case: Case, seed: int) -> None:
    gold = random_gold(case, np.random.default_rng(seed))
    a = build(case, gold, "all").arrays
    for i, topo in enumerate(case.topologies):
        mine = slice(a.gold_ptr[i], a.gold_ptr[i + 1])
        dense = np.zeros(a.part_ptr[i + 1] - a.part_ptr[i])
        dense[a.gold_part[mine]] = a.gold_count[mine]
        np.testing.assert_array_equal(dense, counts_of(case.structure, gold[i], topo))
        np.testing.assert_array_equal(a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]], topo)


@given(cases(), st.integers(0, 2**32 - 1))
def test_observed_weights_are_the_pairs_seen(case: Case, seed: int) -> None:
    gold = random_gold(case, np.random.default_rng(seed))
    seen = [
        np.zeros((rows.n_features, width), dtype=bool)
        for rows, width in zip(case.features, widths_of(case.structure), strict=True)
    ]
    passed = [0] * len(case.features)
    for y, topo in zip(gold, case.topologies, strict=True):
        counts = counts_of(case.structure, y, topo)
        sites = case.structure.sites(topo)
        for part, width, kind in zip(sites.part, sites.width, sites.kind, strict=True):
            for f, _ in case.row(kind, passed[kind]):
                seen[kind][f] |= counts[part : part + width] > 0
            passed[kind] += 1
    numbers = weight_numbers(build(case, gold, "observed").layout)
    for kind, expected in enumerate(seen):
        expected[~expected.any(axis=1), :1] = True  # a feature never seen keeps one weight
        np.testing.assert_array_equal(numbers[kind] >= 0, expected)


def test_observed_weights_of_a_tiny_tagger() -> None:
    # Two sequences, words a b and b b c, labelled 0 1 and 1 1 0.
    words = Rows(np.arange(6), np.array([0, 1, 1, 1, 2]), None, 3)
    case = Case(Chain(2), np.array([2, 3]), [words, one_row(), no_rows(), no_rows()])
    gold = [np.array([0, 1]), np.array([1, 1, 0])]
    problem = build(case, gold, "observed")
    unary, pairs, *_ = weight_numbers(problem.layout)
    assert (unary >= 0).tolist() == [[True, False], [False, True], [True, False]]
    assert (pairs >= 0).tolist() == [[False, True, True, True]]
    assert problem.layout.n_weights == 6
    # A word with one weight counts once, however often it is there, and the tied transition, whose
    # gold ones are 1 and 2, once for any label and once for the gold label.
    np.testing.assert_allclose(problem.reach**2, [1 + 1 + (1 + 1), 4 + 1 + (4 + 2)])
    assert problem.arrays.gold_count.tolist() == [1, 1, 1, 1, 1, 1, 1, 1]
