"""The entropy of a chain as a function of its marginals, if every pair of neighbours has its own.

H = sum_t H(mu[t-1, t]) - sum over inner t of H(mu[t]),    -dH/dmu = log mu + 1, with that sign
"""

from __future__ import annotations

from typing import Any

from ...compiled.jit import FAST, cfunc
from ..base import ORACLE
from ..entropy import add_entropy


@cfunc(ORACLE, fastmath=FAST)
def chain_entropy(spec: Any, topo: Any, mu: Any, slope: Any, work: Any) -> Any:
    """Return H and fill in its derivatives; mu holds the unary parts, then the pairs."""
    n, length = spec[0], topo[0]
    for r in range(slope.size):
        slope[r] = 0.0
    if length == 1:
        return add_entropy(mu[:n], slope[:n], 1.0)
    unary, pairs = length * n, (length - 1) * n * n
    inner = max(unary - n, n)
    total = add_entropy(mu[n:inner], slope[n:inner], -1.0)
    return total + add_entropy(mu[unary : unary + pairs], slope[unary : unary + pairs], 1.0)
