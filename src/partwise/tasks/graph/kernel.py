"""Labellers of the vertices of graphs with kernels of their factors.

Every kind of factor that has features has a kernel of its own. A factor that has the features x and
the joint labels y scores sum_j beta_jy K(x_j, x), over the factors j of its kind in the training
data; the constant features of factors have ordinary weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.prepared import Prepared
from ...problem.numbering import Numbering
from ...problem.rows import Rows
from ..kernels.cliques import CliqueKernel, in_rows, in_scores, renumbered
from ..kernels.support import Support
from ..kernels.trainer import KernelTrainer, kernel_parameters
from .estimator import GraphLabeler
from .examples import ReadGraph
from .factor_features import FactorFeatures, read_rows
from .features import GraphFeatures
from .preparation import GraphPreparation, factor_counts

if TYPE_CHECKING:
    from ...models.model import Model
    from ...problem.problem import Problem
    from ...training.result import Fit
    from ..preparation import Preparation

__all__ = ["KernelGraphLabeler"]


@dataclass(frozen=True, eq=False)
class _KernelFactors:
    """Converts weights of the rows of L to sums over the factors of a fit, and back.

    Attributes
    ----------
    given : GraphFeatures
        The features of the inputs.
    trained : GraphFeatures
        Those of the rows of L.
    cliques : mapping of int to CliqueKernel
        The kernels, by the number of the kind of factor.
    """

    given: GraphFeatures
    trained: GraphFeatures
    cliques: Mapping[int, CliqueKernel]

    def finish(self, problem: Problem, model: Model, fit: Fit) -> Model:
        """Express a model in terms of the factors of the training data."""
        kinds: dict[str, FactorFeatures] = {}
        for number, (kind, held) in enumerate(self.given.kinds.items()):
            kinds[kind] = held
            if number in self.cliques:
                clique = self.cliques[number]
                weights = model.layout.dense(model.weights, number)[: clique.rank]
                kinds[kind] = replace(held, support=clique.support(weights))
        ranks = {number: clique.rank for number, clique in self.cliques.items()}
        return in_scores(model, replace(self.given, kinds=kinds), ranks)

    def begin(self, model: Model) -> Model:
        """Return a model with kernels in weights of the rows of L."""
        known = model.features
        names = list(self.given.kinds)
        if not isinstance(known, GraphFeatures) or list(known.kinds) != names:
            raise DataError("the first model has other kinds of factors; start without one")
        weights = {}
        for number, clique in self.cliques.items():
            old, here = known.kinds[names[number]], self.given.kinds[names[number]]
            if old.support is None:
                raise DataError("the first model has no kernel; start without a first model")
            n_inputs = clique.rows.n_features
            support = renumbered(old.support, old.vocabulary, here.vocabulary, n_inputs)
            weights[number] = clique.weights(support)
        return in_rows(model, self.trained, weights)


class _KernelPreparation(GraphPreparation):
    """Prepares graphs whose factors have rows of L as features."""

    def __init__(self, how: KernelGraphLabeler, initial: Model | None) -> None:
        super().__init__(how, whole=True)
        self.kernels, self.initial = how, initial
        self.cliques: dict[str, CliqueKernel] = {}

    def _rows(self, kind: str, held: FactorFeatures, graphs: list[ReadGraph], used: Any) -> Rows:
        found = super()._rows(kind, held, graphs, used)
        inputs = read_rows(kind, graphs, None)[0]
        if inputs is None:
            return found
        clique = self.kernels.clique_kernel(inputs, np.arange(len(inputs)))
        self.cliques[kind] = clique
        rows = replace(held, n_inputs=clique.rank).complete(clique.factor.rows)
        if used.all():
            return rows
        return rows.take(np.repeat(used, factor_counts(kind, graphs) * (1 + held.symmetric)))

    def finish(self) -> Prepared:
        if not self.cliques:
            raise DataError("no factors have features, so that there is nothing for a kernel")
        prepared = super().finish()
        given = prepared.features
        assert isinstance(given, GraphFeatures)
        kinds, cliques = dict(given.kinds), {}
        for number, (kind, held) in enumerate(given.kinds.items()):
            if kind in self.cliques:
                cliques[number] = self.cliques[kind]
                kinds[kind] = replace(held, n_inputs=cliques[number].rank, vocabulary=None)
        machine = _KernelFactors(given, replace(given, kinds=kinds), cliques)
        return replace(
            prepared,
            features=machine.trained,
            numbering=Numbering(),
            finish=machine.finish,
            initial=None if self.initial is None else machine.begin(self.initial),
        )


class KernelGraphLabeler(KernelTrainer, GraphLabeler):
    """A labeller of the vertices of graphs with kernels, trained to a certified optimum.

    Every kind of factor that has features, such as the nodes and the edges of simple graphs, has a
    kernel of these: joint labels y of a factor with the features x score
    ``sum_j beta_jy K(x_j, x)`` over the factors x_j of that kind in the training data. The
    objective is the one of :class:`GraphLabeler` in the feature space of the kernels.

    For n factors of a kind, training takes up to ``32 n^2`` bytes, and the kernel is computed once
    per pair of factors. Both are less if the Gram matrix has a lower rank.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or dict of such
        The labels; with several domains, those of each.
    support_ : dict of ndarray
        For each kind of factor with features, the numbers of the factors that support the model,
        across the graphs of the training data.
    dual_coef_ : dict of ndarray
        Their coefficients beta: factors by labels of the first vertex, by labels of the second, and
        so on.
    certificate_, trace_, n_iter_, model_
        As in :class:`GraphLabeler`.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise import KernelGraphLabeler
    >>> nodes = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> edges = np.array([[0, 1], [1, 2], [2, 0]])
    >>> X = [(nodes, edges), (nodes[::-1], edges)]
    >>> y = [["sea", "land", "sea"], ["sea", "land", "sea"]]
    >>> labeler = KernelGraphLabeler(gamma=1.0, l2=0.1).fit(X, y)
    >>> labeler.predict(X[:1])
    [['sea', 'land', 'sea']]
    >>> labeler.certificate_.converged
    True
    """

    @classmethod
    def _held(cls, model: Model) -> dict[str, Any]:
        found = super()._held(model)
        return {**found, **kernel_parameters(next(iter(_supports(model).values())).kernel)}

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        return _KernelPreparation(self, initial)

    @property
    def coef_(self) -> dict[str, Floats]:
        """A model with kernels has none; see ``dual_coef_``."""
        raise AttributeError("a model with kernels has no coef_; see dual_coef_ and support_")

    @property
    def support_(self) -> dict[str, Ints]:
        """The numbers of the supporting factors of each kind."""
        return {kind: held.index for kind, held in _supports(self._fitted()).items()}

    @property
    def dual_coef_(self) -> dict[str, Floats]:
        """The coefficients of the supporting factors of each kind."""
        features, found = self._features(), {}
        for kind, held in _supports(self._fitted()).items():
            sizes = [len(features.labels[domain]) for domain in features.kinds[kind].domains]
            found[kind] = held.coef.reshape(len(held), *sizes)
        return found


def _supports(model: Model) -> dict[str, Support]:
    """Return the supporting factors of each kind that has a kernel."""
    kinds = model.features.kinds if isinstance(model.features, GraphFeatures) else {}
    found = {kind: held.support for kind, held in kinds.items()}
    if not any(found.values()):
        raise DataError("the model has no kernel; use GraphLabeler.from_model")
    return {kind: support for kind, support in found.items() if support is not None}
