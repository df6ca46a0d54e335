"""Kernel classifiers and taggers: kernels of positions, and of transitions that have features.

    w_k = sum_j beta_jk phi(x_j),    score of label k at x = sum_j beta_jk K(x_j, x)

The kernel of two labelled positions is K(x, x') if the labels are equal, and 0 otherwise; that of
two transitions is K of their features, if they have any, and 1 for their constant weight. Other
parts that do not depend on the input (first and last labels, an intercept) have ordinary weights.

Training uses rows of L as features (``tasks/kernels/cliques.py``). The result is then expressed in
terms of positions, in one of two ways:

    beta_j = c_i (gold_j - mu_j) / l2       from the marginals of a dual point: where these are the
                                            gold label, the position is dropped
    beta_p = T^-T w,  T = L[pivots]         from any weights: the pivots of L, exactly

and in terms of transitions in the second way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.threads import thread_count
from ...errors import DataError
from ...models.model import Model
from ...models.prepared import Prepared
from ...problem.matrix_evaluation import make_evaluator
from ...problem.problem import Problem
from ...problem.rows import Rows
from ...solvers.dual_points import gold_marginals
from ...training.certificate import Certificate, relative_gap
from ...training.result import Fit
from ..kernels.cliques import CliqueKernel, in_rows, in_scores, renumbered
from .features import PositionFeatures
from .preparation import PositionPreparation, TablePreparation
from .tokens import Tokens

if TYPE_CHECKING:
    from ...structures.base import Constraints
    from .kernel_estimators import KernelEstimator

__all__ = ["KernelPositions", "KernelPreparation", "KernelTablePreparation"]

#: Marginals that are this close to the gold label count as equal to it.
_NEAR: Final = 1e-9
#: The kinds of sites of a chain that may have a kernel.
_POSITION, _TRANSITION = 0, 1


@dataclass(frozen=True, eq=False)
class KernelPositions:
    """Converts weights of the rows of L to sums over the positions of a fit, and back.

    Attributes
    ----------
    tokens : Tokens
        All tokens.
    lengths : ndarray of int
        The number of tokens of each example that is used in the fit.
    positions : CliqueKernel
        The kernel of the tokens that are used.
    transitions : CliqueKernel or None
        The kernel of the transitions that are used, if they have features.
    n_jobs : int
        The number of threads.
    """

    tokens: Tokens
    lengths: Ints
    positions: CliqueKernel
    transitions: CliqueKernel | None
    n_jobs: int

    @property
    def cliques(self) -> dict[int, CliqueKernel]:
        """The kernels by the kind of site."""
        found = {_POSITION: self.positions}
        return found if self.transitions is None else {**found, _TRANSITION: self.transitions}

    def in_training(self) -> Tokens:
        """Return the tokens with rows of L as features."""
        rows = _spread(self.positions, len(self.tokens.rows))
        steps = self.tokens.transitions
        if self.transitions is not None and steps is not None:
            steps = _spread(self.transitions, len(steps))
        return replace(
            self.tokens,
            rows=rows,
            n_inputs=rows.n_features,
            vocabulary=None,
            templates=None,
            transitions=steps,
            transition_vocabulary=None if self.transitions else self.tokens.transition_vocabulary,
        )

    def begin(self, model: Model) -> Model:
        """Return a kernel model in weights of the rows of L."""
        held, tokens = model.features, self.tokens
        if not isinstance(held, PositionFeatures) or held.support is None:
            raise DataError("the first model has no kernel; start without a first model")
        support = renumbered(
            held.support, held.vocabulary, tokens.vocabulary, self.positions.rows.n_features
        )
        weights = {_POSITION: self.positions.weights(support)}
        n_steps = None
        if (self.transitions is None) != (held.transition_support is None):
            raise DataError(
                "the first model has a kernel of transitions and the data has none, or the other "
                "way round; start without a first model"
            )
        if self.transitions is not None and held.transition_support is not None:
            known, here = held.transition_vocabulary, tokens.transition_vocabulary
            n_inputs = self.transitions.rows.n_features
            support = renumbered(held.transition_support, known, here, n_inputs)
            weights[_TRANSITION] = self.transitions.weights(support)
            n_steps = self.transitions.rank
        features = replace(
            held,
            n_inputs=self.positions.rank,
            vocabulary=None,
            templates=None,
            support=None,
            n_transition_features=n_steps,
            transition_vocabulary=None,
            transition_support=None,
        )
        return in_rows(model, features, weights)

    def finish(self, problem: Problem, model: Model, fit: Fit) -> Model:
        """Express a model in terms of as few positions as give an equally good certificate."""
        found = self._sparse(problem, model, fit)
        if found is not None and found[0].any(axis=1).sum() < self.positions.rank:
            beta, certificate, weights = found
            model = replace(model, weights=weights, certificate=certificate)
            support = self.positions.kept(np.arange(len(beta)), beta)
        else:
            support = self.positions.support(self._of_rows(model, _POSITION))
        steps = None
        if self.transitions is not None:
            steps = self.transitions.support(self._of_rows(model, _TRANSITION))
        assert isinstance(model.features, PositionFeatures)
        tokens = self.tokens
        features = replace(
            model.features,
            n_inputs=tokens.n_inputs,
            vocabulary=tokens.vocabulary,
            templates=tokens.templates,
            support=support,
            n_transition_features=(
                None if tokens.transitions is None else tokens.transitions.n_features
            ),
            transition_vocabulary=tokens.transition_vocabulary,
            transition_support=steps,
        )
        ranks = {kind: clique.rank for kind, clique in self.cliques.items()}
        return in_scores(model, features, ranks)

    def _of_rows(self, model: Model, kind: int) -> Floats:
        return model.layout.dense(model.weights, kind)[: self.cliques[kind].rank]

    def _sparse(
        self, problem: Problem, model: Model, fit: Fit
    ) -> tuple[Floats, Certificate, Floats] | None:
        """Return beta of the dual point, certificate and weights, or None.

        The weights of a dual point are not always the best weights that the solver found, so their
        primal is computed. The result is None if their gap is larger, or if there are no marginals.
        """
        mu = fit.dual_point.mu
        if mu is None or not all(clique.factor.exact for clique in self.cliques.values()):
            return None
        arrays, labels = problem.arrays, np.arange(len(model.labels))
        gold = gold_marginals(problem)
        # The parts of the positions come first in each example.
        before = arrays.part_ptr[:-1] - len(labels) * (np.cumsum(self.lengths) - self.lengths)
        n = len(self.positions.rows)
        first = np.repeat(before, self.lengths) + len(labels) * np.arange(n)
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
        c = np.repeat(arrays.weight, self.lengths)
        return c[:, None] * missing / model.l2, certificate, problem.storage.gather(stored)


def _spread(clique: CliqueKernel, n: int) -> Rows:
    """Return rows for all cliques, with empty rows for those that are not used."""
    rows, sizes = clique.factor.rows, np.zeros(n, dtype=np.int64)
    sizes[clique.index] = np.diff(rows.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, rows.indices, rows.values, rows.n_features)


class KernelPreparation(PositionPreparation):
    """Prepares positions whose features are rows of L.

    Parameters
    ----------
    how : KernelEstimator
        The parameters.
    initial : Model or None
        A model to start from.
    """

    def __init__(self, how: KernelEstimator, initial: Model | None) -> None:
        super().__init__(how, initial, whole=True)
        self.kernels, self.initial = how, initial
        self.machine: KernelPositions | None = None

    def merged(
        self,
        tokens: Tokens,
        gold: Sequence[Ints],
        allowed: list[Constraints | None] | None,
        weight: Floats,
    ) -> tuple[Tokens, Sequence[Ints], list[Constraints | None] | None, Floats]:
        found = super().merged(tokens, gold, allowed, weight)
        if found[2] is not None:
            raise DataError(
                "some labels are missing or uncertain; a kernel needs labels that are known: leave "
                "these examples out, or use the estimator without a kernel"
            )
        return found

    def seen(self, tokens: Tokens, used: npt.NDArray[np.bool_]) -> Tokens:
        lengths = tokens.lengths
        which = np.repeat(used, lengths)
        if not which.any():
            raise DataError("there are no positions to train on; give some of at least two labels")
        kernel_of = self.kernels.clique_kernel
        positions = kernel_of(tokens.rows.take(which), np.flatnonzero(which))
        pairs, steps = np.repeat(used, np.maximum(lengths - 1, 0)), None
        if tokens.transitions is not None and pairs.any():
            steps = kernel_of(tokens.transitions.take(pairs), np.flatnonzero(pairs))
        n_jobs = thread_count(self.kernels.n_jobs)
        self.machine = KernelPositions(tokens, lengths[used], positions, steps, n_jobs)
        return self.machine.in_training()

    def finish(self) -> Prepared:
        assert self.machine is not None
        first = None if self.initial is None else self.machine.begin(self.initial)
        return replace(super().finish(), finish=self.machine.finish, initial=first)


class KernelTablePreparation(KernelPreparation, TablePreparation):
    """Prepares rows of a table whose features are rows of L."""

    def chosen(self, rows: Rows, label: Ints, weight: Floats) -> tuple[Ints, Floats]:
        # support_ and gamma="scale" refer to the rows as they are given.
        return np.arange(len(rows)), weight
