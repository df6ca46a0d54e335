"""Kernels: similarities of rows of features, computed in blocks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import DataError, ModelFileError
from ...problem.rows import Rows
from ...values import is_integer, is_number
from .parameters import KERNELS

__all__ = ["Kernel", "make_kernel"]

Floats = npt.NDArray[np.float64]

#: The name of a kernel that is a function of the user.
_FUNCTION: Final = "function"
#: Rows with at least this share of nonzero values are faster as dense arrays.
_DENSE: Final = 0.1
#: The number of values in a block of rows and in a block of similarities: 16 MB.
_BLOCK: Final = 1 << 21
#: The largest float; integers in a file can be larger.
_MOST: Final = sys.float_info.max
#: The number of rows whose similarities to themselves are computed at once.
_DIAGONAL: Final = 64


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite function of two rows.

    Attributes
    ----------
    name : {"linear", "poly", "rbf", "function"}
        ``x.z``, ``(gamma x.z + coef0)^degree``, ``exp(-gamma |x - z|^2)``, or `function`.
    gamma, coef0 : float
        As above.
    degree : int
        As above.
    function : callable or None
        Takes two float64 arrays of rows, and returns the matrix of their similarities.
    """

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    function: Callable[[Any, Any], Any] | None = None

    def gram(self, left: Rows, right: Rows) -> Floats:
        """Compute the similarities of all rows of `left` with all rows of `right`.

        Besides the result this takes about 50 MB, or the memory of one row of each.
        """
        out = np.empty((len(left), len(right)))
        if not out.size:
            return out
        dense = self.function is not None or min(map(_density, (left, right))) >= _DENSE
        if not dense:
            left, right = _compact(left, right)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            for a, x in _blocks(left, dense, len(right)):
                for b, z in _blocks(right, dense, 1):
                    out[a, b] = self._block(x, z)
        if not np.isfinite(out).all():
            raise DataError(
                f"the {self.name} kernel gives similarities that are not finite; scale the "
                "features, or use a smaller gamma or degree"
            )
        return out

    def diagonal(self, rows: Rows) -> Floats:
        """Compute the similarity of each row with itself."""
        out = np.empty(len(rows))
        for begin in range(0, len(rows), _DIAGONAL):
            some = rows.take(slice(begin, begin + _DIAGONAL))
            out[begin : begin + _DIAGONAL] = self.gram(some, some).diagonal()
        return out

    def _block(self, x: Any, z: Any) -> Any:
        from sklearn.metrics import pairwise

        if self.function is not None:
            found = np.asarray(self.function(x, z), dtype=np.float64)
            if found.shape != (len(x), len(z)):
                raise DataError(
                    f"the kernel function gave an array of shape {found.shape} for {len(x)} and "
                    f"{len(z)} rows; it must give {(len(x), len(z))}"
                )
            return found
        if self.name == "linear":
            return pairwise.linear_kernel(x, z)
        if self.name == "rbf":
            return pairwise.rbf_kernel(x, z, gamma=self.gamma)
        return pairwise.polynomial_kernel(x, z, self.degree, self.gamma, self.coef0)

    def to_json(self) -> dict[str, Any]:
        """Return the name and the numbers as JSON can hold them."""
        if self.function is not None:
            raise ModelFileError(
                "the model's kernel is a function of your own, and a model file holds data, never "
                f"code; train with one of {', '.join(KERNELS)} to save the model, or pickle the "
                "estimator"
            )
        return {
            "name": self.name,
            "gamma": float(self.gamma),
            "degree": int(self.degree),
            "coef0": float(self.coef0),
        }

    @classmethod
    def from_json(cls, data: Any) -> Kernel:
        """Make a kernel from the data of a file, after checking it."""
        known = {"name", "gamma", "degree", "coef0"}
        if not isinstance(data, dict) or data.keys() != known:
            raise DataError(f"a kernel that does not have just {', '.join(sorted(known))}")
        _check(**data)
        return cls(data["name"], float(data["gamma"]), data["degree"], float(data["coef0"]))


def make_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, rows: Rows) -> Kernel:
    """Make a kernel from the parameters of a user, which are those of scikit-learn's SVC.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"} or callable
        The name of the kernel, or a function.
    gamma : float, "scale" or "auto"
        "scale" is 1 / (n_features * variance of all values of the rows), "auto" 1 / n_features.
    degree, coef0 : int, float
        For "poly".
    rows : Rows
        The rows to train on.
    """
    if gamma in ("scale", "auto") and isinstance(gamma, str):
        # Constant rows have no scale: gamma = 1, as in scikit-learn.
        with np.errstate(over="ignore", invalid="ignore"):
            spread = _variance(rows) if gamma == "scale" else 1.0
        if not math.isfinite(spread):
            raise DataError(
                "the features are too large for gamma='scale', their variance overflows; scale the "
                "features"
            )
        gamma = 1.0 / (max(1, rows.n_features) * spread) if spread > 0.0 else 1.0
    if callable(kernel):
        return Kernel(_FUNCTION, function=kernel)
    return Kernel(kernel, float(gamma), int(degree), float(coef0))


def _check(name: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    if not isinstance(name, str) or name not in KERNELS:
        raise DataError(f"kernel is {name!r}; use one of {', '.join(KERNELS)}")
    if not is_number(gamma) or not 0.0 < gamma <= _MOST:
        raise DataError(f"gamma is {gamma!r}; give a positive number")
    if not is_integer(degree) or not 1 <= degree <= 100:
        raise DataError(f"degree is {degree!r}; give a whole number from 1 to 100")
    if not is_number(coef0) or not 0.0 <= coef0 <= _MOST:
        raise DataError(
            f"coef0 is {coef0!r}; give a number from 0: below it the poly kernel is not positive "
            "semidefinite"
        )


def _variance(rows: Rows) -> float:
    size = len(rows) * rows.n_features
    if not size:
        return 0.0
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    mean = float(values.sum()) / size
    return float(np.square(values - mean).sum() + (size - len(values)) * (mean * mean)) / size


def _density(rows: Rows) -> float:
    return len(rows.indices) / max(1, len(rows) * rows.n_features)


def _compact(left: Rows, right: Rows) -> tuple[Rows, Rows]:
    """Renumber the features if there are more of them than values, to save memory in products."""
    if left.n_features <= len(left.indices) + len(right.indices):
        return left, right
    both = np.concatenate([left.indices, right.indices])
    used, number = np.unique(both, return_inverse=True)
    numbers = np.split(number.astype(np.int32), [len(left.indices)])
    pairs = zip((left, right), numbers, strict=True)
    first, second = (Rows(of.indptr, new, of.values, len(used)) for of, new in pairs)
    return first, second


def _blocks(rows: Rows, dense: bool, width: int) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows, as dense or sparse matrices; each row has `width` similarities."""
    from scipy.sparse import csr_matrix

    step = max(1, _BLOCK // max(1, width, rows.n_features if dense else 1))
    for begin in range(0, len(rows), step):
        some = rows.take(slice(begin, begin + step))
        values = np.ones(len(some.indices)) if some.values is None else some.values
        shape = (len(some), some.n_features)
        matrix = csr_matrix((values, some.indices, some.indptr), shape=shape)
        yield slice(begin, begin + len(some)), matrix.toarray() if dense else matrix
