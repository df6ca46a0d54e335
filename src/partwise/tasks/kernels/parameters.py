"""The parameters of kernels, and the tasks whose models may have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar

from ...errors import DataError, MismatchError
from ...formats.options import Option
from ...memory import byte_count
from ...parameters import Check, Declared, Factor, Flag, OneOf, Positive, Within
from ...training.settings import Parameters
from ..base import Task
from ..parameters import flagged, given_parameters, options_of

if TYPE_CHECKING:
    from ..source import Source
    from ..trainer import Trainer

__all__ = ["KERNELS", "KernelParameters", "KernelTask"]

Examples = TypeVar("Examples", bound="Source")

#: The kernels by name.
KERNELS: Final = ("linear", "poly", "rbf")


def _size(given: Any) -> None:
    if given is not None:
        byte_count(given)


# A kernel takes the place of the features, and its Gram matrix is held in memory.
class KernelParameters(Declared, without=("l1", "weights", "min_count", "hashing", "out_of_core")):
    """The parameters of kernels.

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

    kernel: Annotated[
        Annotated[str, OneOf(KERNELS)] | Callable[..., Any],
        Flag(
            "--kernel",
            "a kernel of the features: linear, x.z; poly, (gamma x.z + coef0)^degree; or rbf, "
            "exp(-gamma |x - z|^2) (default: none; memory grows with the square of the positions)",
            words={name: name for name in KERNELS},
            default=None,
        ),
    ] = "rbf"
    gamma: Annotated[
        Positive | Annotated[str, OneOf(("scale", "auto"))],
        Flag(
            "--gamma",
            "of --kernel poly and rbf: a number, scale for 1 / (features x variance), or auto for "
            "1 / features (default: {default})",
            "X",
        ),
    ] = "scale"
    degree: Annotated[
        int,
        Within("a whole number from 1 to 100", 1.0, 100.0),
        Flag("--degree", "of --kernel poly (default: {default})", "N"),
    ] = 3
    coef0: Annotated[
        float,
        Within("a number from 0: below it the poly kernel is not positive semidefinite"),
        Flag("--coef0", "of --kernel poly (default: {default})", "X"),
    ] = 0.0
    gram_tol: Annotated[
        Factor,
        Flag(
            "--gram-tol",
            "share of the trace of the Gram matrix that may be left out (default: {default})",
            "X",
        ),
    ] = 1e-10
    # Unlike the limits of other fits, it decides about the result and is kept.
    memory_limit: Annotated[Any, Check(_size)] = 4096


class KernelTask(Task[Examples]):
    """Base class of the tasks whose models may have a kernel.

    Attributes
    ----------
    kernel_trainer : str
        The class that trains models with a kernel: ``"module:class"``.
    without_kernel : tuple of str
        The parameters of the task that models with a kernel do not have.
    """

    kernel_trainer: ClassVar[str]
    without_kernel: ClassVar[tuple[str, ...]] = ()

    def options_for(self, verb: str) -> tuple[Option, ...]:
        own = super().options_for(verb)
        return (*own, *options_of(KernelParameters)) if verb == "train" else own

    def trainer_for(self, given: Mapping[str, Any]) -> str:
        return self.trainer if given["kernel"] is None else self.kernel_trainer

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {**super().parameters(given), **given_parameters(KernelParameters, given)}

    def make(self, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> Trainer:
        if given["kernel"] is not None:
            for name in KernelParameters.without:
                default = getattr(Parameters, name, None)
                if parameters.get(name, default) != default:
                    flag = name.replace("_", "-")
                    raise DataError(f"--kernel takes no --{flag}; leave one of them out")
        return super().make(parameters, given)

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        super().check_given(verb, given)
        if verb != "train":
            return
        alone = given["kernel"] is None
        mine = flagged(KernelParameters)
        lacking = {*KernelParameters.without, *self.without_kernel}
        for option in self.options_for("train"):
            if given[option.name] == option.default:
                continue
            if alone and option.name in mine:
                raise MismatchError(
                    f"{option.flag} belongs to --kernel; give --kernel too, or leave it out"
                )
            if not alone and option.name in lacking:
                raise MismatchError(f"--kernel takes no {option.flag}; leave one of them out")
