"""A small problem for every structure, its labels drawn from a random model of the structure."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from partwise.arrays import Ints
from partwise.problem.example_arrays import make_topologies
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.structures.base import Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.dependency.projective import ProjectiveTree
from partwise.structures.dependency.spanning import SpanningTree
from partwise.structures.grammar.structure import Grammar
from partwise.structures.graph.structure import Graph, GraphShape
from partwise.structures.multiclass import Multiclass
from partwise.structures.second_order.structure import SecondOrderChain
from partwise.structures.segments.structure import SemiMarkov

LENGTHS = [3, 1, 5, 4, 2, 6, 3, 4, 5, 2]


def loop(n: int) -> GraphShape:
    """A ring of n vertices with a chord."""
    edges = [(i, (i + 1) % n) for i in range(n)] if n > 2 else [(0, 1)]
    edges += [(0, 2)] if n > 3 else []
    factors = [("node", (i,)) for i in range(n)] + [("edge", e) for e in edges]
    return GraphShape(("x",) * n, tuple(factors))


@cache
def case(name: str) -> tuple[Structure, list[Any]]:
    """A structure and the shapes of some examples."""
    if name == "graph":
        graph = Graph({"x": 3}, {"node": ["x"], "edge": ["x", "x"]})
        return graph, [loop(max(n, 2)) for n in LENGTHS]
    made: dict[str, Structure] = {
        "multiclass": Multiclass(4),
        "chain": Chain(3, start=True),
        "second-order-chain": SecondOrderChain(3),
        "semi-markov": SemiMarkov(2, 3),
        "projective": ProjectiveTree(2),
        "spanning-tree": SpanningTree(2),
        "grammar": Grammar(
            3, rules=[(0, 1, 2), (0, 0, 1), (1, 2, 0)], lexical=[0, 1, 2], starts=[0]
        ),
    }
    structure = made[name]
    return structure, [1] * len(LENGTHS) if name == "multiclass" else LENGTHS


def rows_for(structure: Structure, topologies: list[Ints], rng: np.random.Generator) -> list[Rows]:
    kinds = np.concatenate([structure.sites(topo).kind for topo in topologies])
    features = []
    for kind, width in enumerate(structure.widths):
        n = int(np.count_nonzero(kinds == kind)) if width else 0
        features.append(Rows.from_dense(rng.normal(size=(n, 3))))
    return features


@cache
def problem_of(name: str, loss: str) -> Problem:
    """Labels drawn from a random model of the structure itself."""
    structure, shapes = case(name)
    rng = np.random.default_rng(1)
    topologies = make_topologies(structure, shapes)
    features = rows_for(structure, topologies, rng)
    gold = []
    for topo in topologies:
        theta = rng.normal(size=structure.n_parts(topo))
        gold += structure.sample(theta, topo, 1, rng)
    return build_problem(structure, shapes, features, gold, make_loss(loss, structure.n_labels))
