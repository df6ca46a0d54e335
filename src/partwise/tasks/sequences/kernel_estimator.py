"""What the estimators with kernels share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...arrays import Floats, Ints
from ...errors import DataError
from ..estimator import TrainedEstimator
from .labeller import PositionLabeller
from .support import Support

if TYPE_CHECKING:
    from ...models.model import Model
    from ...training.loop import Fit

__all__ = ["KernelEstimator", "kernel_parameters"]


class KernelEstimator(TrainedEstimator):
    """Base of the estimators with kernels; not for use on its own.

    A class derived from it also derives from the linear estimator of the same task.
    """

    def _labeller_fit(self) -> Callable[..., tuple[Model, Fit]]:
        from .kernel_fit import KernelSettings, fit_kernel_labeller

        names = ("kernel", "gamma", "degree", "coef0", "gram_tol", "memory_limit")
        settings = KernelSettings(**{name: getattr(self, name) for name in names})
        return partial(fit_kernel_labeller, settings)

    @property
    def _support(self) -> Support:
        return _support(self.model_)

    @property
    def support_(self) -> Ints:
        """The supporting positions, counted through the training data."""
        return self._support.index

    @property
    def n_support_(self) -> int:
        """How many supporting positions there are."""
        return len(self._support)

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients of the supporting positions."""
        coef: Floats = self._support.coef.T
        return coef


def _support(model: Model) -> Support:
    support = PositionLabeller(model).encoder.support
    if support is None:
        raise DataError("the model has no kernel; use the linear estimator of its task")
    return support


def kernel_parameters(model: Model) -> dict[str, Any]:
    """Give the parameters of the kernel of a model."""
    kernel = _support(model).kernel
    return {
        "kernel": kernel.function or kernel.name,
        "gamma": kernel.gamma,
        "degree": kernel.degree,
        "coef0": kernel.coef0,
    }
