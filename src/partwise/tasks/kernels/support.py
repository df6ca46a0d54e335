"""The supporting positions of a kernel model, and the similarities to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...problem.rows import Rows
from .kernel import Floats, Kernel

__all__ = ["Support"]

_TYPES: Final = {
    "indptr": np.int64,
    "indices": np.int32,
    "values": np.float64,
    "index": np.int64,
    "coef": np.float64,
}
#: The number of similarities that are held at once: 16 MB.
_HELD: Final = 1 << 21


@dataclass(frozen=True, eq=False)
class Support:
    """Some positions of the training data, and what each adds to the score of each label.

        score of label k at x = sum_j coef_jk K(x_j, x)

    These scores are the features of a position, so that prediction is a matrix product for any
    number of supporting positions. The weight of each feature is 1 for its own label and 0 for the
    others.

    Attributes
    ----------
    kernel : Kernel
        The similarity K.
    rows : Rows
        The inputs of the positions x_j.
    coef : ndarray of float64, positions x labels
        The coefficients.
    index : ndarray of int64
        Their numbers, across all sequences of the training data.
    """

    kernel: Kernel
    rows: Rows
    coef: Floats
    index: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of positions."""
        return len(self.rows)

    @property
    def n_scores(self) -> int:
        """The number of features of a position."""
        return int(self.coef.shape[1])

    def scores(self, rows: Rows) -> Floats:
        """Compute the scores of all labels for some rows; unknown inputs are ignored."""
        rows = rows.resize(self.rows.n_features)
        out = np.empty((len(rows), self.n_scores))
        step = max(1, _HELD // max(1, len(self)))
        for begin in range(0, len(rows), step):
            some = slice(begin, begin + step)
            out[some] = self.kernel.gram(rows.take(some), self.rows) @ self.coef
        return out

    def features(self, rows: Rows) -> Rows:
        """Return the scores of some rows as features."""
        n, width = len(rows), self.n_scores
        indices = np.tile(np.arange(width, dtype=np.int32), n)
        ends = np.arange(n + 1, dtype=np.int64) * width
        return Rows(ends, indices, self.scores(rows).ravel(), width)

    def to_json(self) -> dict[str, Any]:
        """Return the kernel and the width of the rows."""
        return {"kernel": self.kernel.to_json(), "n_inputs": int(self.rows.n_features)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the rows, their numbers and the coefficients."""
        found: dict[str, npt.NDArray[Any]] = {
            "indptr": self.rows.indptr,
            "indices": self.rows.indices,
            "index": self.index,
            "coef": self.coef,
        }
        if self.rows.values is not None:
            found["values"] = self.rows.values
        return found

    @classmethod
    def from_saved(cls, data: Any, arrays: dict[str, npt.NDArray[Any]]) -> Support:
        """Make a support from the data of a file, which may hold anything, after checking it."""
        if not isinstance(data, dict) or data.keys() != {"kernel", "n_inputs"}:
            raise DataError("supporting positions that do not have just a kernel and n_inputs")
        kernel, width = Kernel.from_json(data["kernel"]), data["n_inputs"]
        if type(width) is not int:
            raise DataError("n_inputs of the supporting positions is no count")
        if not _TYPES.keys() - {"values"} <= arrays.keys() <= _TYPES.keys():
            raise DataError("supporting positions with arrays missing, or too many")
        for name, array in arrays.items():
            if array.ndim != 1 + (name == "coef") or array.dtype != _TYPES[name]:
                raise DataError(f"{name} of the supporting positions has another type")
        rows = Rows(arrays["indptr"], arrays["indices"], arrays.get("values"), width)
        rows.check_finite("the supporting positions")
        if len(arrays["index"]) != len(rows) or (arrays["index"] < 0).any():
            raise DataError("the numbers of the supporting positions are not those of positions")
        coef = arrays["coef"]
        if len(coef) != len(rows) or not np.isfinite(coef).all():
            raise DataError("the supporting positions do not have a finite coefficient each")
        return cls(kernel, rows, coef, arrays["index"])
