"""What the trainers of models with kernels have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...arrays import Ints
from ...errors import DataError
from ...memory import byte_count
from ...problem.rows import Rows
from ...training.settings import as_json
from ...values import is_number
from ..trainer import Trainer
from .cliques import CliqueKernel
from .gram import factor_gram
from .kernel import Kernel, make_kernel

__all__ = ["KernelTrainer"]


@dataclass(eq=False, repr=False, kw_only=True)
class KernelTrainer(Trainer):
    """Base class of the trainers of models with kernels; not for direct use.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or callable
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree`` or ``x.z``; or a function that
        takes two float64 arrays, of n and of m rows, and returns the (n, m) matrix of their
        similarities. It must be positive semidefinite. A model with your own function can be used
        and pickled, but not saved, because model files hold no code.
    gamma : float, "scale" or "auto"
        "scale" is ``1 / (n_features * X.var())``, "auto" ``1 / n_features``.
    degree : int
        The degree of "poly".
    coef0 : float
        The constant of "poly", at least 0.
    gram_tol : float
        The share of the trace of the Gram matrix that may be left out. The default only leaves out
        rounding errors; a larger value saves memory and time, and the certificate then holds for
        the approximated Gram matrix.
    memory_limit : float or str
        The memory that training may take for a Gram matrix, in MiB or as in "4GB"; None is 4096.
    """

    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    gram_tol: float = 1e-10
    memory_limit: float | str | None = 4096
    out_of_core: Any = field(default=None, init=False)
    hashing: int | None = field(default=None, init=False)
    l1: float = field(default=0.0, init=False)
    weights: str = field(default="all", init=False)

    def check(self) -> None:
        super().check()
        if not is_number(self.gram_tol) or not 0.0 <= self.gram_tol < 1.0:
            raise DataError(f"gram_tol is {self.gram_tol!r}; give a number from 0, below 1")

    @property
    def memory_bytes(self) -> int | None:
        # The limit is one of the Gram matrix, which is made before all else.
        return None

    def solver_arguments(self) -> dict[str, Any]:
        given = super().solver_arguments()
        # With nearness 0 the weights belong to the duals of the hinge loss, so that few positions
        # support the model.
        if self.loss == "hinge" and self.solver == "auto":
            return {"nearness": 0.0, **given}
        return given

    def noted(self) -> dict[str, Any]:
        return {**super().noted(), **as_json({"memory_limit": self.memory_limit})}

    def clique_kernel(self, rows: Rows, index: Ints) -> CliqueKernel:
        """Return the kernel of the cliques of one kind, with their Gram matrix factorised.

        Parameters
        ----------
        rows : Rows
            Their inputs.
        index : ndarray of int
            Their numbers, among all cliques of the kind.
        """
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, rows)
        limit = byte_count(4096 if self.memory_limit is None else self.memory_limit)
        factor = factor_gram(kernel, rows, tol=float(self.gram_tol), max_bytes=limit)
        return CliqueKernel(kernel, rows, index, factor)


def kernel_parameters(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a trainer that make this kernel."""
    return {
        "kernel": kernel.function or kernel.name,
        "gamma": kernel.gamma,
        "degree": kernel.degree,
        "coef0": kernel.coef0,
    }
