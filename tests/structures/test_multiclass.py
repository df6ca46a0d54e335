from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st
from support.laws import Instance, Label, StructureLaws

from partwise.arrays import Ints
from partwise.structures.base import Constraints, Structure
from partwise.structures.multiclass import Multiclass


class TestMulticlass(StructureLaws):
    def instances(self) -> st.SearchStrategy[Instance]:
        return st.integers(1, 8).map(Multiclass).map(lambda s: (s, s.topology()))

    def labels(self, structure: Structure, topo: Ints) -> Iterable[Label]:
        return ((k,) for k in range(structure.n_labels))

    def parts(self, structure: Structure, topo: Ints, label: Label) -> list[int]:
        return list(label)

    def constraints(self, structure: Structure, topo: Ints) -> st.SearchStrategy[Constraints]:
        some = st.lists(st.integers(0, structure.n_labels - 1), max_size=structure.n_labels)
        allowed = st.lists(st.tuples(st.just(0), some), max_size=2)
        return st.tuples(some, allowed).map(lambda d: Constraints(labels=d[0], allowed=d[1]))


def test_the_first_of_equal_labels_wins() -> None:
    structure = Multiclass(4)
    topo = structure.topology()
    score, label = structure.best(np.array([0.0, 1.0, 1.0, 1.0]), topo)
    assert (score, label.tolist()) == (1.0, [1])
    scores, labels = structure.k_best(np.array([0.0, 1.0, 1.0, 2.0]), topo, 3)
    assert (scores.tolist(), [int(y[0]) for y in labels]) == ([2.0, 1.0, 1.0], [3, 1, 2])


def test_scores_need_not_be_contiguous() -> None:
    structure = Multiclass(3)
    wide = np.array([0.0, 9.0, 1.0, 9.0, 2.0, 9.0])
    topo = structure.topology()
    expected = structure.log_partition(np.array([0.0, 1.0, 2.0]), topo)
    assert structure.log_partition(wide[::2], topo) == expected
