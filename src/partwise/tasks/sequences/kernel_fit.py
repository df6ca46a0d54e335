"""Kernel models: the weights of a label are sums over positions.

    w_k = sum_j beta_jk phi(x_j),    score of label k at x = sum_j beta_jk K(x_j, x)

The kernel of two labelled positions is K(x, x') if the labels are equal, and 0 otherwise. Parts
that do not depend on the input (transitions, first and last labels, an intercept) have ordinary
weights.

Training uses the rows of L, K = L L^T (``gram.py``), as features of a linear problem. The result is
then expressed in terms of positions, in one of two ways:

    beta_j = c_i (gold_j - mu_j) / l2       from the marginals of a dual point: where these are the
                                            gold label, the position is dropped
    beta_p = T^-T w,  T = L[pivots]         from any weights: the pivots of L, exactly
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.model import Model
from ...problem.layout import Layout
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.rows import Rows
from ...solvers.gold_labels import gold_marginals
from ...training.certificate import Certificate, relative_gap
from ...training.fit import Fit
from .features import PositionFeatures
from .gram import GramFactor
from .kernel import Kernel
from .support import Support
from .tokens import Tokens

__all__ = ["KernelPositions", "kernel_positions"]

#: Marginals that are this close to the gold label count as equal to it.
_NEAR: Final = 1e-9


def kernel_positions(
    kernel: Kernel,
    tokens: Tokens,
    used: npt.NDArray[np.bool_],
    lengths: Ints,
    factor: GramFactor,
    n_jobs: int,
) -> tuple[Tokens, KernelPositions]:
    """Return tokens whose features are the rows of the factor L of the Gram matrix.

    Parameters
    ----------
    kernel : Kernel
        The similarity.
    tokens : Tokens
        All tokens.
    used : ndarray of bool
        Which of them are used in the fit.
    lengths : ndarray of int
        The number of tokens of each example that is used in the fit.
    factor : GramFactor
        The factor for the tokens that are used.
    n_jobs : int
        The number of threads.
    """
    machine = KernelPositions(
        kernel,
        replace(tokens, rows=tokens.rows.take(used)),
        np.flatnonzero(used),
        lengths,
        factor,
        n_jobs,
    )
    rows = _spread(factor.rows, used)
    made = replace(tokens, rows=rows, n_inputs=rows.n_features, vocabulary=None, templates=None)
    return made, machine


def _spread(rows: Rows, used: npt.NDArray[np.bool_]) -> Rows:
    """Return rows for all positions, with empty rows for those that are not used."""
    sizes = np.zeros(len(used), dtype=np.int64)
    sizes[used] = np.diff(rows.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, rows.indices, rows.values, rows.n_features)


@dataclass(frozen=True, eq=False)
class KernelPositions:
    """Converts weights of the rows of L to sums over the positions of a fit, and back."""

    kernel: Kernel
    tokens: Tokens  # inputs
    index: Ints  # which positions of the training data they are
    lengths: Ints  # positions of each example
    factor: GramFactor
    n_jobs: int

    @property
    def rows(self) -> Rows:
        """The inputs of the positions."""
        return self.tokens.rows

    def begin(self, model: Model) -> Model:
        """Return a kernel model in weights of L.

        phi(x) = T^-1 K(pivots, x), so w = sum beta phi.
        """
        from scipy.linalg import solve_triangular

        held = model.features
        if not isinstance(held, PositionFeatures) or held.support is None:
            raise DataError("the first model has no kernel; start without a first model")
        support = self._renumbered(held)
        pivots = self.rows.take(self.factor.pivots)
        weights = model.layout.dense(model.weights, 0)  # scores and intercept x labels
        n = held.n_features
        known = replace(support, kernel=self.kernel).scores(pivots) @ weights[:n]
        w = solve_triangular(self.factor.triangle(), known, lower=True)
        rank = len(self.factor.pivots)
        encoder = replace(held, n_inputs=rank, vocabulary=None, templates=None, support=None)
        return _with(model, encoder, w, weights[n:])

    def _renumbered(self, held: PositionFeatures) -> Support:
        """Return the supporting positions of a model, with the features numbered as here."""
        support, here = held.support, self.tokens.vocabulary
        assert support is not None
        if (held.vocabulary is None) != (here is None):
            raise DataError(
                "the first model names its features and the data numbers them, or the other way "
                "round; start from a model with the same kind of features"
            )
        old = support.rows
        if held.vocabulary is None or here is None:
            if old.n_features != self.rows.n_features:
                raise DataError(
                    f"the first model has {old.n_features} inputs and the data has "
                    f"{self.rows.n_features}; start without a first model"
                )
            return support
        # Names that only the first model has come last: they count in the lengths of its rows.
        number = dict(here.index)
        same = [number.setdefault(name, len(number)) for name in held.vocabulary]
        indices = np.array(same, dtype=np.int32)[old.indices]
        return replace(support, rows=Rows(old.indptr, indices, old.values, len(number)))

    def finish(self, problem: Problem, model: Model, fit: Fit) -> Model:
        """Express a model in terms of as few positions as give an equally good certificate."""
        from scipy.linalg import solve_triangular

        rank = len(self.factor.pivots)
        w = model.layout.dense(model.weights, 0)  # rank and intercept x labels
        found = self._sparse(problem, model, fit)
        if found is not None and found[0].any(axis=1).sum() < rank:
            beta, constants, certificate, weights = found
            model = replace(model, weights=weights, certificate=certificate)
            index = np.arange(len(self.rows))
        else:
            index, constants = self.factor.pivots, w[rank:]
            beta = solve_triangular(self.factor.triangle(), w[:rank], lower=True, trans="T")
        held = beta.any(axis=1)
        index, beta = index[held], beta[held]
        support = Support(self.kernel, self.rows.take(index), beta, self.index[index])
        assert isinstance(model.features, PositionFeatures)
        tokens = self.tokens
        encoder = replace(
            model.features,
            n_inputs=tokens.n_inputs,
            vocabulary=tokens.vocabulary,
            templates=tokens.templates,
            support=support,
        )
        return _with(model, encoder, np.eye(len(model.labels)), constants)

    def _sparse(
        self, problem: Problem, model: Model, fit: Fit
    ) -> tuple[Floats, Floats, Certificate, Floats] | None:
        """Return beta of the dual point, constants, certificate and weights, or None.

        The weights of a dual point are not always the best weights that the solver found, so their
        primal is computed. The result is None if their gap is larger, or if there are no marginals.
        """
        mu = fit.dual_point.mu
        if mu is None or not self.factor.exact:
            return None
        arrays, labels = problem.arrays, np.arange(len(model.labels))
        gold = gold_marginals(problem)
        # The parts of the positions come first in each example.
        before = arrays.part_ptr[:-1] - len(labels) * (np.cumsum(self.lengths) - self.lengths)
        first = np.repeat(before, self.lengths) + len(labels) * np.arange(len(self.rows))
        places = first[:, None] + labels  # positions x labels
        missing = (gold - mu)[places]
        near = np.abs(missing).max(axis=1, initial=0.0) <= _NEAR
        missing[near] = 0.0
        pruned = mu.copy()
        pruned[places[near]] = gold[places[near]]
        evaluator = make_evaluator(problem, self.n_jobs)
        stored = evaluator.dual_sum(pruned) / model.l2
        certificate = replace(fit.certificate, primal=evaluator.primal(stored, model.l2))
        enough = max(certificate.tol, fit.certificate.relative_gap)
        if relative_gap(certificate.primal, certificate.dual) > enough:
            return None
        weights = problem.storage.gather(stored)
        constants = problem.layout.dense(weights, 0)[len(self.factor.pivots) :]
        c = np.repeat(arrays.weight, self.lengths)
        return c[:, None] * missing / model.l2, constants, certificate, weights


def _with(model: Model, encoder: PositionFeatures, positions: Floats, constants: Floats) -> Model:
    """Return a model with other features of positions and their weights."""
    counts = encoder.feature_counts(model.structure)
    rest = (model.layout.dense(model.weights, kind) for kind in range(1, len(counts)))
    blocks = (positions, constants, *rest)
    return replace(
        model,
        features=encoder,
        # The features of positions are scores now, which do not occur.
        layout=replace(
            Layout.full(model.structure.widths, [np.zeros(n, np.int64) for n in counts]),
            counts=None,
        ),
        weights=np.concatenate([block.ravel() for block in blocks]),
    )
