"""The options of kernels, and the tasks that have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from ...errors import DataError, MismatchError
from ..base import Task
from ..options import Option

if TYPE_CHECKING:
    from ..source import Source
    from ..trainer import Trainer

__all__ = ["KERNEL_OPTIONS", "KernelTask"]

Examples = TypeVar("Examples", bound="Source")

KERNEL_OPTIONS: Final = (
    Option(
        "--kernel",
        "a kernel of the features: linear, x.z; poly, (gamma x.z + coef0)^degree; or rbf, "
        "exp(-gamma |x - z|^2) (default: none; memory grows with the square of the positions)",
        choices=("linear", "poly", "rbf"),
    ),
    Option(
        "--gamma",
        "of --kernel poly and rbf: a number, scale for 1 / (features x variance), or auto for "
        "1 / features (default: scale)",
        default="scale",
        kind="number or scale",
        metavar="X",
    ),
    Option(
        "--degree",
        "of --kernel poly (default: 3)",
        default=3,
        kind="whole number",
        metavar="N",
    ),
    Option(
        "--coef0",
        "of --kernel poly (default: 0)",
        default=0.0,
        kind="number",
        metavar="X",
    ),
    Option(
        "--gram-tol",
        "share of the trace of the Gram matrix that may be left out (default: 1e-10)",
        default=1e-10,
        kind="share",
        metavar="X",
    ),
)


class KernelTask(Task[Examples]):
    """Base class of the tasks whose models may have a kernel.

    Attributes
    ----------
    kernel_trainer : str
        The class that trains models with a kernel: ``"module:class"``.
    without_kernel : tuple of str
        The flags of the options that models with a kernel do not have.
    """

    kernel_trainer: ClassVar[str]
    without_kernel: ClassVar[tuple[str, ...]] = ()

    def trainer_for(self, given: Mapping[str, Any]) -> str:
        return self.trainer if given["kernel"] is None else self.kernel_trainer

    def make(self, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> Trainer:
        if given["kernel"] is not None:
            for name, default in (("l1", 0.0), ("weights", "all"), ("out_of_core", None)):
                if parameters.get(name, default) != default:
                    flag = name.replace("_", "-")
                    raise DataError(f"--kernel takes no --{flag}; leave one of them out")
        return super().make(parameters, given)

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        """Refuse options of kernels without a kernel, and those that none has with one."""
        if verb != "train":
            return
        alone = given["kernel"] is None
        mine = {option.flag for option in KERNEL_OPTIONS}
        for option in self.options["train"]:
            if given[option.name] == option.default:
                continue
            if alone and option.flag in mine:
                raise MismatchError(
                    f"{option.flag} belongs to --kernel; give --kernel too, or leave it out"
                )
            if not alone and option.flag in self.without_kernel:
                raise MismatchError(f"--kernel takes no {option.flag}; leave one of them out")
