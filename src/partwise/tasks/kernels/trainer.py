"""What the trainers of models with kernels have in common."""

from __future__ import annotations

from typing import Any

from ...arrays import Ints
from ...memory import byte_count
from ...problem.rows import Rows
from ..trainer import Trainer
from .cliques import CliqueKernel
from .gram import factor_gram
from .kernel import Kernel, make_kernel
from .parameters import KernelParameters

__all__ = ["KernelTrainer"]


class KernelTrainer(KernelParameters, Trainer):
    """Base class of the trainers of models with kernels; not for direct use."""

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
