"""Tiny random problems, and the same problems with every label written out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.arrays import Floats, Ints
from partwise.problem.losses import Loss
from partwise.problem.problem import Problem, build_problem
from partwise.problem.rows import Rows
from partwise.solvers.eg.batch import BatchEG
from partwise.solvers.eg.online import OnlineEG
from partwise.structures.base import Constraints, Structure
from partwise.structures.chain.structure import Chain
from partwise.structures.multiclass import Multiclass
from support.laws import log_sum, permitted
from support.solvers import solver_of

LOSSES = {
    "log": Loss("log", 1.0, False),
    "hinge": Loss("hinge", 0.0, True),
    "softmax-margin": Loss("softmax-margin", 1.0, True),
    "between": Loss("between", 0.5, True),
}
STRUCTURES = ("multiclass", "chain", "untied")


@dataclass(frozen=True)
class Instance:
    """A problem and what it was made of."""

    structure: Structure
    lengths: Ints
    gold: list[Ints]
    rules: Constraints | None
    loss: Loss
    problem: Problem


def make_instance(
    kind: str = "multiclass",
    loss: str | Loss = "log",
    seed: int = 0,
    *,
    n: int = 6,
    n_labels: int = 3,
    n_features: int = 5,
    real: bool = True,
    weighted: bool = False,
    constrained: bool = False,
    weights: str = "all",
    lengths: Sequence[int] | None = None,
    scale: float = 1.0,
) -> Instance:
    """Draw a problem; its gold labels follow the features, with noise.

    ``weighted`` gives the examples weights, the last one none at all; ``constrained`` forbids some
    labels, transitions and ends.
    """
    rng = np.random.default_rng(seed)
    structure, lengths = _shape(
        kind, n_labels, rng.integers(2, 5, n) if lengths is None else lengths
    )
    rules = _rules(kind, n_labels) if constrained else None
    positions = int(np.sum(lengths))
    dense = rng.random((positions, n_features)) < 0.6
    values = dense * rng.normal(size=dense.shape) if real else dense.astype(float)
    unary = Rows.from_dense(scale * values)
    truth = dense @ rng.normal(size=(n_features, n_labels))
    truth += rng.normal(size=truth.shape)
    gold = [_gold(structure, part, rules) for part in np.split(truth, np.cumsum(lengths)[:-1])]
    features = [unary]
    if isinstance(structure, Chain):
        steps = int(np.maximum(np.asarray(lengths) - 1, 0).sum())
        pairs = [[float(k == 0), 0.5 * (k % 2)] for k in range(steps)]
        between = constant() if structure.tied else Rows.from_dense(np.reshape(pairs, (-1, 2)))
        features += [between, constant(), constant()]
    problem = build_problem(
        structure,
        np.asarray(lengths),
        features,
        gold,
        LOSSES[loss] if isinstance(loss, str) else loss,
        weights=weights,
        sample_weight=_weights(len(lengths), rng) if weighted else None,
        constraints=rules,
    )
    return Instance(structure, np.asarray(lengths), gold, rules, problem.loss, problem)


def _shape(kind: str, n_labels: int, lengths: Any) -> tuple[Structure, Ints]:
    if kind == "multiclass":
        return Multiclass(n_labels), np.ones(len(lengths), dtype=np.int64)
    tied = kind == "chain"
    return Chain(n_labels, tied=tied, start=tied, end=not tied), np.asarray(lengths, dtype=np.int64)


def _rules(kind: str, n_labels: int) -> Constraints:
    last = n_labels - 1
    if kind == "multiclass":
        return Constraints(labels=(last,))
    return Constraints(transitions=[(0, 1), (last, last)], starts=[last], ends=[0])


def _weights(n: int, rng: np.random.Generator) -> Floats:
    weight: Floats = rng.uniform(0.3, 2.5, n)
    weight[-1] = 0.0
    return weight


def constant() -> Rows:
    """One feature, shared by all sites of a kind."""
    return Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)


def all_labels(structure: Structure, length: int, rules: Constraints | None) -> list[Any]:
    """List the labels that the constraints allow."""
    labels = itertools.product(range(structure.n_labels), repeat=length)
    return [y for y in labels if rules is None or permitted(y, rules)]


def _gold(structure: Structure, truth: Floats, rules: Constraints | None) -> Ints:
    labels = all_labels(structure, len(truth), rules)
    best = max(labels, key=lambda y: sum(truth[t, k] for t, k in enumerate(y)))
    return np.array(best, dtype=np.int64)


class Explicit:
    """The dual over all labels: D(u) = b.u + tau H(u) - 1/2 u'A u, each u_i a distribution.

    ``counts[i]`` holds a row a label, ``parts[i]`` is F_i, ``g[i]`` holds F_i^T (gold_i - y).
    """

    def __init__(self, instance: Instance, l2: float) -> None:
        self.l2 = l2
        self.tau = instance.loss.tau
        arrays = instance.problem.arrays
        self.weight = arrays.weight
        self.part_ptr = arrays.part_ptr
        self.counts, self.costs, self.features, self.g = [], [], [], []
        for i, (length, gold) in enumerate(zip(instance.lengths, instance.gold, strict=True)):
            labels = all_labels(instance.structure, int(length), instance.rules)
            topo = instance.structure.topology(int(length))
            counts = np.zeros((len(labels), instance.structure.n_parts(topo)))
            for row, label in zip(counts, labels, strict=True):
                parts, times = instance.structure.encode(np.array(label, dtype=np.int64), topo)
                row[parts] = times
            features = _matrix(instance.problem, i)
            mine = labels.index(tuple(gold.tolist()))
            self.counts.append(counts)
            self.costs.append(np.array([_cost(instance.loss, gold, y) for y in labels]))
            self.features.append(counts @ features)
            self.g.append((counts[mine] - counts) @ features)

    def distributions(self, theta: Floats) -> list[Floats]:
        """u_i(y) ~ exp(theta_i.y)."""
        pieces = np.split(theta, self.part_ptr[1:-1])
        return [_softmax(c @ part) for c, part in zip(self.counts, pieces, strict=True)]

    def dual_sum(self, u: list[Floats]) -> Floats:
        return np.sum([c * (p @ g) for c, p, g in zip(self.weight, u, self.g, strict=True)], axis=0)

    def dual(self, u: list[Floats]) -> float:
        v = self.dual_sum(u)
        terms = [self.tau * entropy(p) + cost @ p for p, cost in zip(u, self.costs, strict=True)]
        return float(self.weight @ np.array(terms) - v @ v / (2 * self.l2))

    def losses(self, w: Floats) -> Floats:
        out = []
        for g, cost in zip(self.g, self.costs, strict=True):
            q = cost - g @ w
            out.append(self.tau * log_sum(q / self.tau) if self.tau else q.max())
        return np.array(out)

    def primal(self, w: Floats) -> float:
        return float(self.weight @ self.losses(w) + 0.5 * self.l2 * (w @ w))

    def stepped(self, u: list[Floats], i: int, eta: float, w: Floats) -> Floats:
        """Exponentiated gradient: u_i(y) exp(-eta dQ/du_i(y)) / Z, the gradient per unit weight."""
        gradient = self.tau * (1.0 + np.log(u[i])) - self.costs[i] + self.g[i] @ w
        return _softmax(np.log(u[i]) - eta * gradient)

    def batch(self, u: list[Floats], eta: float) -> list[Floats]:
        w = self.dual_sum(u) / self.l2
        return [self.stepped(u, i, eta, w) for i in range(len(u))]

    def online(self, u: list[Floats], eta: Floats, order: Any) -> list[Floats]:
        u = list(u)
        for i in order:
            if self.weight[i] > 0:
                u[i] = self.stepped(u, i, eta[i], self.dual_sum(u) / self.l2)
        return u

    def largest(self) -> float:
        """|A|_inf, the largest entry of all g.g' / l2."""
        g = np.concatenate(self.g)
        return float(np.abs(g @ g.T).max() / self.l2)


def _matrix(problem: Problem, i: int) -> Floats:
    """F_i written out, a row a part."""
    d = problem.arrays.design
    lo, hi = problem.arrays.part_ptr[i : i + 2]
    out = np.zeros((hi - lo, problem.storage.n_places))
    for s in range(d.site_ptr[i], d.site_ptr[i + 1]):
        for e in range(d.entry_ptr[s], d.entry_ptr[s + 1]):
            x = d.value[e] if d.value.size else 1.0
            at = d.start[e]
            if e < d.sparse_ptr[s]:
                for k in range(d.site_width[s]):
                    out[d.site_part[s] + k, at + k] += x * (d.live[at + k] if d.live.size else 1.0)
                continue
            for j in range(at, at + d.size[e]):
                out[d.site_part[s] + d.slot[j], j] += x
    return out


def _cost(loss: Loss, gold: Ints, label: Any) -> float:
    if not loss.has_cost:
        return 0.0
    if loss.cost_matrix is None:
        return float(sum(a != b for a, b in zip(gold, label, strict=True)))
    return float(sum(loss.cost_matrix[a, b] for a, b in zip(gold, label, strict=True)))


def _softmax(scores: Floats) -> Floats:
    return np.asarray(np.exp(scores - log_sum(scores)))


def entropy(p: Floats) -> float:
    p = p[p > 0]
    return float(-(p @ np.log(p)))


def divergence(p: list[Floats], q: list[Floats]) -> float:
    """D[p||q], summed over the examples."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        used = a > 0
        total += float(a[used] @ (np.log(a[used]) - np.log(b[used])))
    return total


def online(instance: Instance, l2: float, seed: int = 0, **options: Any) -> OnlineEG:
    """Build online EG."""
    return solver_of(OnlineEG, instance.problem, l2, seed, **options)


def batch(instance: Instance, l2: float, **options: Any) -> BatchEG:
    """Build batch EG."""
    return solver_of(BatchEG, instance.problem, l2, **options)


def variants() -> list[Any]:
    """Every structure with every loss, the further options spread over them."""
    out = []
    for number, (kind, loss) in enumerate(itertools.product(STRUCTURES, LOSSES)):
        options = {
            "real": number % 2 == 0,
            "weighted": number % 3 == 0,
            "constrained": number % 3 == 1,
            "weights": ("all", "observed")[number % 5 == 2],
        }
        named = [k for k, v in options.items() if v is True] + [str(options["weights"])]
        out.append((kind, loss, options, "-".join([kind, loss, *named])))
    return out
