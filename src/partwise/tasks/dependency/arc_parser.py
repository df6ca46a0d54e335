"""A trained model as a parser: sentences in, trees and probabilities of arcs out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.conll import Sentence
from ...models.model import Model
from ...problem.rows import Rows
from .features import ArcFeatures

if TYPE_CHECKING:
    from ...structures.dependency.arcs import ArcConstraints

__all__ = ["ArcParser", "Stretch"]

#: Arcs whose features are held at a time, some 80 of 8 bytes each.
_ARCS: Final = 1 << 18


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some of the sentences, ready for a method of the model.

    Attributes
    ----------
    which
        Which sentences these are.
    features, shapes, own_constraints
        As the methods of :class:`partwise.models.model.Model` take them.
    """

    which: slice
    features: list[Rows]
    shapes: list[int]
    own_constraints: list[ArcConstraints | None] | None


@dataclass(frozen=True, eq=False)
class ArcParser:
    """A model that parses sentences.

    Parameters
    ----------
    model : Model
        A model with features of arcs.

    Raises
    ------
    DataError
        If the model is of another kind.
    """

    model: Model

    def __post_init__(self) -> None:
        """Refuse models of other kinds."""
        if not isinstance(self.model.encoder, ArcFeatures):
            raise DataError(
                f"a model of the task {self.model.task!r} with {self.model.encoder.name} features "
                "does not parse; use a model that was trained to parse"
            )

    @property
    def encoder(self) -> ArcFeatures:
        """How sentences become features."""
        assert isinstance(self.model.encoder, ArcFeatures)
        return self.model.encoder

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations in the order of their numbers; empty if arcs have none."""
        return tuple(str(label) for label in self.model.labels)

    def stretches(
        self,
        sentences: Sequence[Sentence],
        constraints: Sequence[ArcConstraints | None] | None = None,
    ) -> Iterator[Stretch]:
        """Make features for some sentences at a time: those of all may not fit.

        Parameters
        ----------
        sentences : sequence of Sentence
            The sentences.
        constraints : sequence or None
            For each sentence None, or what holds for its tree.
        """
        if constraints is not None and len(constraints) != len(sentences):
            raise DataError(
                f"constraints for {len(constraints)} sentences where there are {len(sentences)}"
            )
        arcs = np.cumsum([len(sentence) ** 2 for sentence in sentences])
        bounds = np.flatnonzero(np.diff(arcs // _ARCS, prepend=-1, append=-1))
        for first, last in pairwise(bounds.tolist()):
            some = sentences[first:last]
            own = None if constraints is None else list(constraints[first:last])
            shapes = [len(sentence) for sentence in some]
            yield Stretch(slice(first, last), self.encoder.features(some), shapes, own)

    def predict(
        self,
        sentences: Sequence[Sentence],
        *,
        constraints: Sequence[ArcConstraints | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Ints]:
        """Predict the best trees.

        Parameters
        ----------
        sentences : sequence of Sentence
            The sentences; trees that they have are not looked at.
        constraints : sequence or None
            For each sentence None, or what holds for its tree.
        n_jobs : int or None
            How many threads; None: 1, -1: one a core. They do not change the result.

        Returns
        -------
        list of ndarray of shape (T, 2)
            The head of every word, and the number of its relation, 0 if arcs have none.
        """
        trees: list[Ints] = []
        for some in self.stretches(sentences, constraints):
            trees += self.model.predict(
                some.features, some.shapes, own_constraints=some.own_constraints, n_jobs=n_jobs
            )
        return trees

    def k_best(
        self,
        sentences: Sequence[Sentence],
        k: int,
        *,
        constraints: Sequence[ArcConstraints | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[tuple[Floats, list[Ints]]]:
        """Predict the k best trees, best first, and their scores; fewer if there are fewer.

        Parameters as in `predict`.
        """
        best: list[tuple[Floats, list[Ints]]] = []
        for some in self.stretches(sentences, constraints):
            best += self.model.k_best(
                some.features, some.shapes, k, own_constraints=some.own_constraints, n_jobs=n_jobs
            )
        return best

    def marginals(
        self,
        sentences: Sequence[Sentence],
        *,
        constraints: Sequence[ArcConstraints | None] | None = None,
        n_jobs: int | None = 1,
    ) -> list[Floats]:
        """Compute the probability of every arc with every relation.

        Parameters as in `predict`.

        Returns
        -------
        list of ndarray of shape (T, T + 1, L)
            ``[m - 1, h, k]`` is that of an arc from h (0 is the root) to word m with relation k;
            L is 1 if arcs have none. It is 0 for h = m.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        found: list[Floats] = []
        for some in self.stretches(sentences, constraints):
            parts = self.model.marginals(
                some.features, some.shapes, own_constraints=some.own_constraints, n_jobs=n_jobs
            )
            width = self.model.structure.n_labels
            found += [_by_head(mu, t, width) for mu, t in zip(parts, some.shapes, strict=True)]
        return found

    def log_proba(
        self,
        sentences: Sequence[Sentence],
        trees: Sequence[Ints],
        *,
        n_jobs: int | None = 1,
    ) -> Floats:
        """Compute the log-probability of a tree of each sentence.

        Parameters
        ----------
        sentences, n_jobs
            As in `predict`.
        trees : sequence of ndarray of shape (T, 2)
            As `predict` gives them. A relation of -1 is one that the model does not know.

        Returns
        -------
        ndarray
            -inf for trees that the model never gives: of an unknown relation, with crossing arcs
            if it is projective, with several roots if it has one.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        found = [np.zeros(0)]
        for some in self.stretches(sentences):
            known = [tree if self._possible(tree) else None for tree in trees[some.which]]
            found.append(self.model.log_proba(some.features, some.shapes, known, n_jobs=n_jobs))
        return np.concatenate(found)

    def filled(self, sentences: Sequence[Sentence], trees: Sequence[Ints]) -> list[Sentence]:
        """Give the sentences with predicted trees; relations stay if arcs have none."""
        return [
            sentence.with_tree(tree[:, 0].tolist(), self.named(tree))
            for sentence, tree in zip(sentences, trees, strict=True)
        ]

    def named(self, tree: Ints) -> list[str] | None:
        """Give the relations of a tree; None if arcs have none."""
        names = self.relations
        return [names[number] for number in tree[:, 1].tolist()] if names else None

    def _possible(self, tree: Ints) -> bool:
        structure: Any = self.model.structure
        try:
            structure.check_tree(tree)
        except DataError:
            return False
        return True


def _by_head(mu: Floats, length: int, width: int) -> Floats:
    """Give a word that is its own head a place, with probability 0."""
    out = np.zeros((length, length + 1, width))
    own = np.eye(length, length + 1, k=1, dtype=bool)
    out[~own] = mu.reshape(-1, width)
    return out
