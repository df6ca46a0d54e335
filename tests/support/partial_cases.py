"""Small problems whose labels are known in part, and the same with every label written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.problem.example_arrays import make_topologies
from partwise.problem.losses import make_loss
from partwise.problem.problem import Problem, build_problem
from partwise.structures.base import Constraints, Structure
from partwise.structures.dependency.arcs import ArcConstraints
from partwise.structures.grammar.constraints import GrammarConstraints
from partwise.structures.graph.structure import GraphConstraints
from partwise.structures.segments.structure import SegmentConstraints
from support.instances import _matrix
from support.laws import log_sum
from support.structure_cases import case, rows_for

#: The examples of the usual cases that are small enough to write all labels out.
SMALL = (0, 1, 4, 6, 9)


def hidden(structure: Structure, gold: Ints, rng: np.random.Generator) -> Any:
    """Hide some of a label: what is returned allows it, and as a rule other labels too."""
    name, n = structure.name, structure.n_labels

    def several(label: int, most: int = n) -> list[int]:
        return sorted({int(label), int(rng.integers(most))})

    if name == "multiclass":
        return Constraints(allowed=[(0, several(gold[0]))])
    if name in ("chain", "second-order-chain", "graph"):
        known = [(t, several(k)) for t, k in enumerate(gold) if rng.random() < 0.6]
        return GraphConstraints(allowed=known) if name == "graph" else Constraints(allowed=known)
    if name == "semi-markov":
        labels = np.repeat(gold[:, 2], gold[:, 1] - gold[:, 0])
        inner = [t for t in range(1, len(labels)) if rng.random() < 0.6]
        starts = set(gold[:, 0].tolist())
        return SegmentConstraints(
            allowed=[(t, [int(k)]) for t, k in enumerate(labels) if rng.random() < 0.5],
            begins=[t for t in inner if t in starts],
            joins=[t for t in inner if t not in starts],
        )
    if name == "grammar":
        spans = [(int(i), int(j)) for _, i, j, _ in gold if j > i + 1 and rng.random() < 0.5]
        return GrammarConstraints(brackets=spans)
    heads, arcs = [], []
    for word, (head, label) in enumerate(gold.tolist(), 1):
        others = [h for h in range(len(gold) + 1) if h != word]
        if rng.random() < 0.6:
            heads.append((word, sorted({head, int(rng.choice(others))})))
        if rng.random() < 0.5:
            arcs += [((h, word), [label]) for h in others]
    return ArcConstraints(heads=heads, allowed=arcs)


def partial_problem(name: str, seed: int = 2, weights: str = "all") -> tuple[Problem, list[Any]]:
    """Return a problem and what is allowed; the labels of every third example are whole."""
    structure, shapes = case(name)
    rng = np.random.default_rng(seed)
    shapes = [shapes[i] for i in SMALL]
    topologies = make_topologies(structure, shapes)
    features = rows_for(structure, topologies, rng)
    gold, allowed = [], []
    for i, topo in enumerate(topologies):
        theta = rng.normal(size=structure.n_parts(topo))
        gold += structure.sample(theta, topo, 1, rng)
        allowed.append(None if i % 3 == 2 else hidden(structure, gold[-1], rng))
    weight = rng.uniform(0.5, 1.5, len(shapes))
    loss = make_loss("log", structure.n_labels)
    problem = build_problem(
        structure, shapes, features, gold, loss, weights=weights, sample_weight=weight,
        allowed=allowed,
    )  # fmt: skip
    return problem, allowed


class WrittenOut:
    """The objective of a problem with partial labels, and its gradient, over all labels."""

    def __init__(self, problem: Problem, allowed: list[Any], l2: float) -> None:
        self.l2, self.weight = l2, problem.arrays.weight
        arrays, structure = problem.arrays, problem.structure
        self.all, self.some = [], []
        for i, mine in enumerate(allowed):
            topo = arrays.topo[arrays.topo_ptr[i] : arrays.topo_ptr[i + 1]]
            n = structure.n_parts(topo)
            _, labels = structure.k_best(np.zeros(n), topo, 100_000)
            counts = np.zeros((len(labels), n))
            for row, label in zip(counts, labels, strict=True):
                parts, times = structure.encode(label, topo)
                row[parts] = times
            if mine is None:
                begin, end = arrays.gold_ptr[i : i + 2]
                gold = np.zeros(n)
                gold[arrays.gold_part[begin:end]] = arrays.gold_count[begin:end]
                kept = (counts == gold).all(axis=1)
                assert kept.sum() == 1
            else:
                kept = ~(counts[:, np.isneginf(structure.mask(topo, mine))] > 0).any(axis=1)
                assert kept.any()
            features = counts @ _matrix(problem, i)
            self.all.append(features)
            self.some.append(features[kept])

    def objective(self, w: Floats) -> float:
        losses = [log_sum(a @ w) - log_sum(s @ w) for a, s in zip(self.all, self.some, strict=True)]
        return float(self.weight @ np.array(losses, dtype=float) + 0.5 * self.l2 * (w @ w))

    def gradient(self, w: Floats) -> Floats:
        """l2 w plus the expected features of all labels minus those of the allowed ones."""
        total = self.l2 * w
        for c, every, some in zip(self.weight, self.all, self.some, strict=True):
            total = total + c * (_mean(every, w) - _mean(some, w))
        return np.asarray(total, dtype=float)


def _mean(features: Floats, w: Floats) -> Floats:
    scores = features @ w
    return np.asarray(np.exp(scores - log_sum(scores)) @ features, dtype=float)
