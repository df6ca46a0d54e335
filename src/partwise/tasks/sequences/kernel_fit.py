"""From rows of positions to a kernel model: the weights of a label are sums over positions.

    w_k = sum_j beta_jk phi(x_j),    score of label k at x = sum_j beta_jk K(x_j, x)

The kernel of two labelled positions is K(x, x') where the labels are equal and 0 else; what does
not depend on the input (transitions, first and last labels, an intercept) has ordinary weights.

Training runs on the rows of L, K = L L^T (``gram.py``), as any linear problem does. What was found
there is then said in terms of positions, in one of two ways:

    beta_j = c_i (gold_j - mu_j) / l2       from the marginals of a dual point: where these are the
                                            gold label, the position is dropped
    beta_p = T^-T w,  T = L[pivots]         from any weights: the pivots of L, exactly
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...compiled.threads import thread_count
from ...errors import DataError
from ...models.fit import check_weights
from ...models.model import Label, Model
from ...problem.evaluation import Evaluator
from ...problem.layout import Layout
from ...problem.problem import Problem
from ...problem.rows import Rows
from ...solvers.gold_labels import gold_marginals
from ...training.certificate import Certificate, relative_gap
from ...training.loop import Fit
from ...training.settings import Settings
from ...values import is_number
from .features import PositionEncoder
from .fit import class_factors, fit_labeller
from .gram import GramFactor, factor_gram
from .kernel import Kernel, make_kernel
from .support import Support

__all__ = ["KernelSettings", "fit_kernel_labeller"]

#: Marginals that are so near to the gold label are those of the gold label.
_NEAR = 1e-9


@dataclass(frozen=True)
class KernelSettings:
    """Which kernel, and how its Gram matrix is held; see the estimators.

    Attributes
    ----------
    kernel, gamma, degree, coef0
        As :func:`partwise.tasks.sequences.kernel.make_kernel` takes them.
    gram_tol : float
        The share of the trace of the Gram matrix that may be left out.
    memory_limit : float
        The MiB that training may take for the Gram matrix.
    """

    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: Any = 3
    coef0: Any = 0.0
    gram_tol: Any = 1e-10
    memory_limit: Any = 4096

    def __post_init__(self) -> None:
        """Check what does not depend on the kernel."""
        if not is_number(self.gram_tol) or not 0.0 <= self.gram_tol < 1.0:
            raise DataError(f"gram_tol is {self.gram_tol!r}; give a number from 0, below 1")
        if not is_number(self.memory_limit) or not self.memory_limit > 0.0:
            raise DataError(f"memory_limit is {self.memory_limit!r}; give a positive number of MiB")

    def make(self, rows: Rows) -> Kernel:
        """Make the kernel for some rows to train on."""
        return make_kernel(self.kernel, self.gamma, self.degree, self.coef0, rows)

    def factor(self, kernel: Kernel, rows: Rows) -> GramFactor:
        """Factorise the Gram matrix of rows."""
        limit = float(self.memory_limit) * 2.0**20
        return factor_gram(kernel, rows, tol=float(self.gram_tol), max_bytes=limit)


def fit_kernel_labeller(
    kernel_settings: KernelSettings,
    task: str,
    rows: Rows,
    lengths: Ints,
    gold: Sequence[Ints],
    labels: Sequence[Label],
    settings: Settings,
    *,
    vocabulary: Any = None,
    sample_weight: npt.ArrayLike | None = None,
    initial: Model | None = None,
    **more: Any,
) -> tuple[Model, Fit]:
    """Train a kernel model that labels positions.

    Parameters are those of :func:`partwise.tasks.sequences.fit.fit_labeller`. Features must have
    numbers, not names, and `initial` must be a model with a kernel.
    """
    if vocabulary is not None:
        raise DataError(
            "X holds tokens with named features; a kernel takes matrices of numbers, such as "
            "scikit-learn's DictVectorizer makes of dicts"
        )
    rows.check_finite("the features")
    weight = check_weights(sample_weight, len(lengths))
    weight = weight * class_factors(settings.class_weight, lengths, gold, weight, labels)
    used = np.repeat(weight > 0.0, lengths)
    if not used.any():
        raise DataError("there are no positions to train on; give some of at least two labels")
    inputs = rows.take(used)
    kernel = kernel_settings.make(inputs)
    factor = kernel_settings.factor(kernel, inputs)
    machine = _Machine(
        kernel,
        inputs,
        np.flatnonzero(used),
        lengths[weight > 0.0],
        factor,
        thread_count(settings.n_jobs),
    )
    return fit_labeller(
        task,
        _spread(factor.rows, used),
        lengths,
        gold,
        labels,
        _without_nearness(settings),
        sample_weight=sample_weight,
        initial=None if initial is None else machine.begin(initial),
        finish=machine.finish,
        **more,
    )


def _without_nearness(settings: Settings) -> Settings:
    """Let the duals of the hinge have the weights that go with them: few positions then support."""
    if settings.loss != "hinge" or settings.solver != "auto":
        return settings
    return replace(settings, solver_options={"nearness": 0.0, **(settings.solver_options or {})})


def _spread(rows: Rows, used: npt.NDArray[np.bool_]) -> Rows:
    """Put empty rows in place of those that are not used."""
    sizes = np.zeros(len(used), dtype=np.int64)
    sizes[used] = np.diff(rows.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Rows(indptr, rows.indices, rows.values, rows.n_features)


@dataclass(frozen=True, eq=False)
class _Machine:
    """The positions of a fit: from weights of the rows of L to sums over positions, and back."""

    kernel: Kernel
    rows: Rows  # inputs
    index: Ints  # which positions of the training data they are
    lengths: Ints  # positions of each example
    factor: GramFactor
    n_jobs: int

    def begin(self, model: Model) -> Model:
        """Say a kernel model in weights of L: phi(x) = T^-1 K(pivots, x), so w = sum beta phi."""
        from scipy.linalg import solve_triangular

        held = model.encoder
        if not isinstance(held, PositionEncoder) or held.support is None:
            raise DataError("the first model has no kernel; start without a first model")
        if held.support.rows.n_features != self.rows.n_features:
            raise DataError(
                f"the first model has {held.support.rows.n_features} inputs and the data has "
                f"{self.rows.n_features}; start without a first model"
            )
        pivots = self.rows.take(self.factor.pivots)
        weights = model.layout.dense(model.weights, 0)  # scores and intercept x labels
        n = held.n_features
        known = replace(held.support, kernel=self.kernel).scores(pivots) @ weights[:n]
        w = solve_triangular(self.factor.triangle(), known, lower=True)
        encoder = replace(held, n_inputs=len(self.factor.pivots), support=None)
        return _with(model, encoder, w, weights[n:])

    def finish(self, problem: Problem, model: Model, fit: Fit) -> Model:
        """Say a model in terms of positions: of as few as certify it as well."""
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
        assert isinstance(model.encoder, PositionEncoder)
        encoder = replace(model.encoder, n_inputs=self.rows.n_features, support=support)
        return _with(model, encoder, np.eye(len(model.labels)), constants)

    def _sparse(
        self, problem: Problem, model: Model, fit: Fit
    ) -> tuple[Floats, Floats, Certificate, Floats] | None:
        """Give beta of the dual point, constants, certificate and weights; None without such.

        The weights of a dual point are not always those with the least primal that the solver
        found, so theirs is computed, and must do as well.
        """
        mu = fit.dual_point.mu
        if mu is None or not self.factor.exact:
            return None
        arrays, labels = problem.arrays, np.arange(len(model.labels))
        gold = gold_marginals(problem)
        # The parts of the positions are the first ones of each example.
        before = arrays.part_ptr[:-1] - len(labels) * (np.cumsum(self.lengths) - self.lengths)
        first = np.repeat(before, self.lengths) + len(labels) * np.arange(len(self.rows))
        places = first[:, None] + labels  # positions x labels
        missing = (gold - mu)[places]
        near = np.abs(missing).max(axis=1, initial=0.0) <= _NEAR
        missing[near] = 0.0
        pruned = mu.copy()
        pruned[places[near]] = gold[places[near]]
        evaluator = Evaluator(problem, self.n_jobs)
        stored = evaluator.dual_sum(pruned) / model.l2
        certificate = replace(fit.certificate, primal=evaluator.primal(stored, model.l2))
        enough = max(certificate.tol, fit.certificate.relative_gap)
        if relative_gap(certificate.primal, certificate.dual) > enough:
            return None
        weights = problem.storage.gather(stored)
        constants = problem.layout.dense(weights, 0)[len(self.factor.pivots) :]
        c = np.repeat(arrays.weight, self.lengths)
        return c[:, None] * missing / model.l2, constants, certificate, weights


def _with(model: Model, encoder: PositionEncoder, positions: Floats, constants: Floats) -> Model:
    """Give a model other features of positions, and their weights."""
    counts = encoder.feature_counts(model.structure)
    rest = (model.layout.dense(model.weights, kind) for kind in range(1, len(counts)))
    blocks = (positions, constants, *rest)
    return replace(
        model,
        encoder=encoder,
        layout=Layout.full(model.structure.widths, [np.zeros(n, np.int64) for n in counts]),
        weights=np.concatenate([block.ravel() for block in blocks]),
    )
