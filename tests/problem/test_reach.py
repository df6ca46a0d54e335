"""The bounds on how far apart the features of two labels can be, against all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.structure_cases import case

from partwise.arrays import Floats, Ints
from partwise.problem.example_arrays import make_topologies
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.structures.base import Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.dependency.projective import ProjectiveTree
from partwise.structures.grammar.structure import Grammar
from partwise.structures.segments.structure import SemiMarkov

ANCHORED = Grammar(2, rules=[(0, 0, 1), (1, 1, 0)], lexical=[0, 1], starts=[0, 1], anchored=True)
SPLIT = Grammar(2, rules=[(0, 0, 1), (1, 1, 0)], lexical=[0, 1], starts=[0, 1], split=True)
STRUCTURES: dict[str, tuple[Structure, list[Any]]] = {
    **{
        name: (case(name)[0], case(name)[1][:6:2])
        for name in (
            "multiclass", "chain", "second-order-chain", "graph", "semi-markov", "projective",
            "spanning-tree", "grammar",
        )
    },
    "anchored grammar": (ANCHORED, [3, 4]),
    "grammar with splits": (SPLIT, [3, 4]),
    "untied chain": (Chain(2, tied=False, end=True), [3, 1, 4]),
}  # fmt: skip


def explicit(problem: Problem, i: int) -> tuple[Floats, Floats]:
    """Return F_i^T y of all labels, one per row, and of the gold label."""
    structure, a = problem.structure, problem.arrays
    topo = a.topo[a.topo_ptr[i] : a.topo_ptr[i + 1]]
    n = structure.n_parts(topo)
    _, labels = structure.k_best(np.zeros(n), topo, 5_000)
    matrix = np.zeros((n, problem.storage.n_places))
    design = a.design
    for s in range(design.site_ptr[i], design.site_ptr[i + 1]):
        first, width = design.site_part[s], design.site_width[s]
        for e in range(design.entry_ptr[s], design.entry_ptr[s + 1]):
            x = design.value[e] if design.value.size else 1.0
            begin = design.start[e]
            if e >= design.sparse_ptr[s]:
                for place in range(begin, begin + design.size[e]):
                    matrix[first + design.slot[place], place] += x
            else:
                live = design.live[begin : begin + width] if design.live.size else 1
                matrix[np.arange(first, first + width), np.arange(begin, begin + width)] += x * live
    counts = np.zeros((len(labels), n))
    for row, label in zip(counts, labels, strict=True):
        parts, times = structure.encode(label, topo)
        row[parts] = times
    gold = np.zeros(n)
    mine = slice(a.gold_ptr[i], a.gold_ptr[i + 1])
    gold[a.gold_part[mine]] = a.gold_count[mine]
    return counts @ matrix, gold @ matrix


def furthest(problem: Problem) -> tuple[Floats, Floats]:
    """Return max |F_i^T (gold_i - y)| and max |F_i^T (y - z)| of every example."""
    found = []
    for i in range(problem.n_examples):
        y, gold = explicit(problem, i)
        squares = (y**2).sum(axis=1)
        apart = squares[:, None] + squares - 2.0 * y @ y.T
        found.append([((y - gold) ** 2).sum(axis=1).max(), apart.max()])
    reach, diameter = np.sqrt(np.maximum(found, 0.0)).T
    return reach, diameter


def draw(name: str, values: str, weights: str, seed: int) -> Problem:
    structure, shapes = STRUCTURES[name]
    rng = np.random.default_rng(seed)
    topologies = make_topologies(structure, shapes)
    kinds = np.concatenate([structure.sites(topo).kind for topo in topologies])
    features = []
    for kind, width in enumerate(structure.widths):
        n = int(np.count_nonzero(kinds == kind)) if width else 0
        dense = (rng.random((n, 4)) < 0.5).astype(float)
        dense *= {"one": 1.0, "positive": rng.random((n, 4)), "real": rng.normal(size=(n, 4))}[
            values
        ]
        features.append(Rows.from_dense(dense))
    gold = [structure.k_best(rng.normal(size=structure.n_parts(t)), t, 1)[1][0] for t in topologies]
    loss = make_loss("hinge" if not structure.has_oracle("marginals") else "log", 2)
    return build_problem(structure, shapes, features, gold, loss, weights=weights)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("weights", ["all", "observed"])
def test_no_label_is_further_away(name: str, weights: str) -> None:
    for seed, values in enumerate(("one", "positive", "real", "real")):
        problem = draw(name, values, weights, seed)
        reach, diameter = furthest(problem)
        assert (reach <= problem.reach * (1 + 1e-12)).all()
        assert (diameter <= problem.diameter * (1 + 1e-12)).all()
        assert (problem.reach <= problem.diameter).all()


def rows(matrix: list[list[float]]) -> Rows:
    return Rows.from_dense(np.array(matrix))


def built(
    structure: Structure, features: list[Rows], gold: list[list[Any]], weights: str = "all"
) -> Problem:
    shape = len(gold)
    label = np.array(gold, dtype=np.int64)
    loss = make_loss("log", structure.n_labels)
    return build_problem(structure, [shape], features, [label], loss, weights=weights)


def nothing(n: int = 1) -> Rows:
    return Rows(np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), None, 0)


def exact(problem: Problem, reach: float, diameter: float) -> None:
    """Check the squares of the bounds, which some labels attain."""
    found = np.array(furthest(problem)).ravel() ** 2
    np.testing.assert_allclose(found, [reach, diameter], rtol=1e-12)
    np.testing.assert_allclose([problem.reach[0] ** 2, problem.diameter[0] ** 2], found, rtol=1e-12)


def test_a_feature_of_all_words_is_summed_before_it_is_squared() -> None:
    chain = Chain(3)
    words = rows([[1.0], [1.0], [2.0]])
    exact(built(chain, [words, nothing(), nothing(0), nothing(0)], [0, 0, 0]), 32.0, 32.0)
    # Where the gold label spreads it over its blocks, no label is that far.
    exact(built(chain, [words, nothing(), nothing(0), nothing(0)], [0, 0, 1]), 16 + 8.0, 32.0)


def test_a_block_of_one_number_counts_once() -> None:
    words = rows([[1.0], [1.0], [2.0]])
    problem = built(Chain(2), [words, nothing(), nothing(0), nothing(0)], [0, 0, 0], "observed")
    exact(problem, 16.0, 16.0)
    mixed = rows([[1.0], [-1.0], [2.0]])
    problem = built(Chain(2), [mixed, nothing(), nothing(0), nothing(0)], [0, 0, 0], "observed")
    assert problem.diameter[0] ** 2 == pytest.approx(furthest(problem)[1][0] ** 2) == 16.0


def test_values_of_both_signs_among_rivals() -> None:
    # Word 1 has the head 0 or 2, and the feature of the first arc is 1, of the second -1.
    arcs = rows([[1.0], [-1.0], [0.0], [0.0]])
    exact(built(ProjectiveTree(1, single_root=False), [arcs], [[0, 0], [0, 0]]), 4.0, 4.0)
    arcs = rows([[1.0], [0.5], [0.0], [0.0]])
    problem = built(ProjectiveTree(1, single_root=False), [arcs], [[0, 0], [0, 0]])
    assert problem.diameter[0] ** 2 == 1.0


def test_a_word_has_one_head() -> None:
    n = 4
    arcs = rows([[1.0]] * n**2)
    problem = built(ProjectiveTree(2), [arcs], [[0, 0], [1, 0], [2, 0], [3, 0]])
    exact(problem, 2.0 * n**2, 2.0 * n**2)


def test_segments_do_not_overlap() -> None:
    structure = SemiMarkov(2, 3)
    segments = structure.segments(np.array([4]))
    third = rows([[float(a <= 2 < b), 1.0] for a, b in segments])
    features = [nothing(4), third, nothing(), nothing(), nothing(0), nothing(0)]
    gold = [[0, 1, 0], [1, 2, 0], [2, 3, 0], [3, 4, 0]]
    label = np.array(gold, dtype=np.int64)
    problem = build_problem(structure, [4], features, [label], make_loss("log", 2))
    exact(problem, 2.0 + 2.0 * 4**2, 2.0 + 2.0 * 4**2)


@pytest.mark.parametrize(("grammar", "last"), [(ANCHORED, 2.0), (SPLIT, 1.0)])
def test_a_tree_is_divided_once_at_each_place(grammar: Grammar, last: float) -> None:
    """Spans of two symbols, and two rules or one split: four times each."""
    length = 5
    topo = grammar.topology(length)
    kinds = grammar.sites(topo).kind
    features = []
    for kind in range(5):
        n = int(np.count_nonzero(kinds == kind))
        used = kind == 1 or kind == (3 if grammar.anchored else 2)
        features.append(rows([[1.0]] * n) if used else nothing(n))
    gold = grammar.k_best(np.zeros(grammar.n_parts(topo)), topo, 1)[1]
    problem = build_problem(grammar, [length], features, gold, make_loss("log", 2))
    assert problem.diameter[0] ** 2 == pytest.approx((2.0 + last) * 4**2)


def test_labels_that_are_known_in_part_have_the_bound_of_any_label() -> None:
    words = rows([[1.0], [1.0], [2.0]])
    none: Ints = np.array([0, 0, 1])
    problem = build_problem(
        Chain(2), [3], [words, nothing(), nothing(0), nothing(0)], [none], make_loss("log", 2),
        allowed=[None],
    )  # fmt: skip
    assert problem.reach[0] ** 2 == pytest.approx(32.0)
