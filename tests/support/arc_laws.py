"""The laws for structures of dependency arcs: what projective and other trees share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from hypothesis import strategies as st

from partwise.arrays import Floats, Ints
from partwise.structures.base import Structure
from partwise.structures.dependency.arcs import ArcConstraints, ArcStructure, arc_ends
from support.laws import Instance, Label, StructureLaws


def head_vectors(length: int) -> Iterator[tuple[int, ...]]:
    """All ways to give each word another word or the root as its head."""
    words = range(1, length + 1)
    return itertools.product(*([h for h in range(length + 1) if h != m] for m in words))


def is_tree(heads: tuple[int, ...]) -> bool:
    """Whether the heads above every word lead to the root."""
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


class ArcLaws(StructureLaws):
    """The laws, for trees of words and their arc labels."""

    # What a subclass provides.
    structure: type[ArcStructure]
    shapes: list[tuple[int, int]]  # numbers of labels and of words

    def trees(self, length: int, single: bool) -> list[tuple[int, ...]]:
        """The heads of all trees."""
        raise NotImplementedError

    def instances(self) -> st.SearchStrategy[Instance]:
        return st.tuples(st.sampled_from(self.shapes), st.booleans()).map(
            lambda d: (self.structure(d[0][0], d[1]), np.array([d[0][1]]))
        )

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        assert isinstance(structure, ArcStructure)
        for heads in self.trees(int(topo[0]), structure.single_root):
            for labels in itertools.product(range(structure.n_labels), repeat=len(heads)):
                yield tuple(itertools.chain(*zip(heads, labels, strict=True)))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        length, n = int(topo[0]), structure.n_labels
        arcs = [(h, m) for m in range(1, length + 1) for h in range(length + 1) if h != m]
        pairs = zip(label[::2], label[1::2], strict=True)
        return [arcs.index((h, m)) * n + k for m, (h, k) in enumerate(pairs, start=1)]

    def array(self, structure: Structure, topo: Ints, label: Label) -> Ints:
        return np.array(label, dtype=np.int64).reshape(-1, 2)

    def cost(
        self, structure: Structure, topo: Ints, gold: Label, label: Label, matrix: Floats | None
    ) -> float:
        total = 0.0
        for t in range(0, len(gold), 2):
            (h, k), (g, j) = gold[t : t + 2], label[t : t + 2]
            total += 1.0 if h != g else float(k != j) if matrix is None else float(matrix[k, j])
        return total

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[ArcConstraints]:
        length = int(topo[0])
        if length == 0:
            return st.just(ArcConstraints())
        heads, modifiers = arc_ends(length)
        arc = st.sampled_from(list(zip(heads.tolist(), modifiers.tolist(), strict=True)))
        label = st.integers(0, structure.n_labels - 1)
        fixed = st.integers(1, length).flatmap(
            lambda m: st.tuples(
                st.just(m),
                st.lists(st.sampled_from([h for h in range(length + 1) if h != m]), min_size=1),
            )
        )
        return st.builds(
            ArcConstraints,
            arcs=st.lists(arc, max_size=4),
            heads=st.lists(fixed, max_size=2),
            labels=st.one_of(st.just([]), st.lists(label, max_size=1)),
            allowed=st.lists(st.tuples(arc, st.lists(label, max_size=2)), max_size=3),
        )

    def permitted(
        self, structure: Structure, topo: Ints, label: Label, rules: ArcConstraints
    ) -> bool:
        arcs = [(label[t], t // 2 + 1, label[t + 1]) for t in range(0, len(label), 2)]
        return (
            not any((h, m) in rules.arcs or k in rules.labels for h, m, k in arcs)
            and all(arcs[m - 1][0] in only for m, only in rules.heads)
            and all(k in only for h, m, k in arcs for arc, only in rules.allowed if arc == (h, m))
        )

    def impossible(self, structure: Structure, topo: Ints) -> ArcConstraints:
        return ArcConstraints(labels=range(structure.n_labels))
