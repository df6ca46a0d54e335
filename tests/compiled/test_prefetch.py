"""Prefetching changes no result, wherever it points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from partwise.compiled.jit import njit
from partwise.compiled.lanes import prefetch


@njit
def total(x: Any, ahead: int) -> Any:
    """Add numbers up, asking for others."""
    found = 0.0
    for i in range(x.size):
        prefetch(x, i + ahead)
        found += x.flat[i]
    return found


@pytest.mark.parametrize("ahead", [0, 3, -(10**9), 10**12])
def test_nothing_changes(ahead: int) -> None:
    x = np.arange(24.0)
    assert total(x, ahead) == 276.0
    assert total(x.reshape(6, 4), ahead) == 276.0
    np.testing.assert_array_equal(x, np.arange(24.0))
