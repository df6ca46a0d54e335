"""Kernels of cliques: positions, pairs of neighbours, and factors of graphs.

The kernel of two labelled examples is a sum over pairs of their cliques of one kind,

    <F_i^T y, F_j^T y'> = sum_{c, c'} [y_c = y'_c'] K(x_c, x_c')

so the weights of the labels y of a clique, and its score, are sums over the cliques j of training:

    w_y = sum_j beta_jy phi(x_j),    score of y at x = sum_j beta_jy K(x_j, x)

Training uses the rows of L, K = L L^T (``gram.py``), as features of a linear problem: phi(x) is
T^-1 K(pivots, x) with T = L[pivots]. The result is then expressed in terms of the pivots,

    beta_p = T^-T w.

Cliques that do not depend on the input have ordinary weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...problem.rows import Rows
from ...problem.storage import Layout
from .gram import GramFactor
from .kernel import Kernel
from .support import Support

if TYPE_CHECKING:
    from ...models.features import Features
    from ...models.model import Model
    from ...models.vocabulary import Vocabulary

__all__ = ["CliqueKernel", "in_rows", "in_scores", "renumbered"]


@dataclass(frozen=True, eq=False)
class CliqueKernel:
    """The kernel of the cliques of one kind, and the factor of their Gram matrix.

    Attributes
    ----------
    kernel : Kernel
        The similarity.
    rows : Rows
        The inputs of the cliques of the training data.
    index : ndarray of int
        Their numbers, among all cliques of the kind.
    factor : GramFactor
        The factor L.
    """

    kernel: Kernel
    rows: Rows
    index: Ints
    factor: GramFactor

    @property
    def rank(self) -> int:
        """The number of columns of L."""
        return len(self.factor.pivots)

    def weights(self, support: Support) -> Floats:
        """Return weights of the rows of L with the scores of a model that has a kernel."""
        from scipy.linalg import solve_triangular

        known = replace(support, kernel=self.kernel).scores(self.rows.take(self.factor.pivots))
        weights: Floats = solve_triangular(self.factor.triangle(), known, lower=True)
        return weights

    def support(self, weights: Floats) -> Support:
        """Express weights of the rows of L in terms of the pivots."""
        from scipy.linalg import solve_triangular

        beta = solve_triangular(self.factor.triangle(), weights, lower=True, trans="T")
        return self.kept(self.factor.pivots, beta)

    def kept(self, which: Ints, beta: Floats) -> Support:
        """Return the support of some cliques with their coefficients, without those that are 0."""
        held = beta.any(axis=1)
        which, beta = which[held], np.ascontiguousarray(beta[held])
        return Support(self.kernel, self.rows.take(which), beta, self.index[which])


def renumbered(
    support: Support, known: Vocabulary | None, here: Vocabulary | None, n_inputs: int
) -> Support:
    """Return the support of another model, with its inputs numbered as in these data.

    Parameters
    ----------
    support : Support
        Of the other model.
    known, here : Vocabulary or None
        The names of the inputs in the other model and in these data.
    n_inputs : int
        How many inputs there are in these data.
    """
    if (known is None) != (here is None):
        raise DataError(
            "the first model names its features and the data numbers them, or the other way "
            "round; start from a model with the same kind of features"
        )
    old = support.rows
    if known is None or here is None:
        if old.n_features != n_inputs:
            raise DataError(
                f"the first model has {old.n_features} inputs and the data has {n_inputs}; start "
                "without a first model"
            )
        return support
    # Names that only the first model has come last: they count in the lengths of its rows.
    number = dict(here.index)
    same = [number.setdefault(name, len(number)) for name in known]
    indices = np.array(same, dtype=np.int32)[old.indices]
    return replace(support, rows=Rows(old.indptr, indices, old.values, len(number)))


def in_scores(model: Model, features: Features, ranks: Mapping[int, int]) -> Model:
    """Return a model whose features of some kinds of sites are the scores of the labels.

    Parameters
    ----------
    model : Model
        With weights of the rows of L.
    features : Features
        Those that compute the scores.
    ranks : mapping of int to int
        For each of these kinds how many rows of the weights belong to L; the others are constants,
        and stay.
    """
    widths = model.structure.widths
    blocks, n_scores, counts = [], [], []
    for kind, width in enumerate(widths):
        held = model.layout.dense(model.weights, kind)
        scores = width if kind in ranks else 0
        rest = held[ranks.get(kind, 0) :]
        blocks += [np.ones(scores), rest.ravel()]
        n_scores.append(scores)
        counts.append(scores + len(rest))
    return replace(
        model,
        features=features,
        layout=Layout.of_scores(widths, n_scores, counts),
        weights=np.concatenate(blocks),
    )


def in_rows(model: Model, features: Features, weights: Mapping[int, Floats]) -> Model:
    """Return a model with weights of the rows of L, the inverse of `in_scores`.

    Parameters
    ----------
    model : Model
        Whose features of some kinds are scores.
    features : Features
        Those of the rows of L.
    weights : mapping of int to ndarray
        For each of these kinds the weights of the rows of L.
    """
    widths = model.structure.widths
    blocks = []
    for kind, width in enumerate(widths):
        held = model.layout.dense(model.weights, kind)
        blocks.append(np.concatenate([weights[kind], held[width:]]) if kind in weights else held)
    counts = [np.zeros(len(block), np.int64) for block in blocks]
    return replace(
        model,
        features=features,
        layout=replace(Layout.full(widths, counts), counts=None),
        weights=np.concatenate([block.ravel() for block in blocks]),
    )
