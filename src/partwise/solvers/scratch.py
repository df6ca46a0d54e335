"""The buffers that a compiled epoch works in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problem.problem import Problem


def scratch(problem: Problem, rows: int) -> tuple[Any, ...]:
    """Return ``rows`` buffers as long as the parts of one example, and one for the oracles."""
    return (*(np.empty(problem.max_parts) for _ in range(rows)), np.empty(problem.work_size))
