"""The types of the arrays that the package works with."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Ints"]

#: Arrays of float64.
Floats = npt.NDArray[np.float64]
#: Arrays of int64.
Ints = npt.NDArray[np.int64]
