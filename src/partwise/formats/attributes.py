"""Attributes with values: the features of tokens where a file gives them by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Attributes"]


@dataclass(frozen=True, eq=False)
class Attributes:
    """The attributes of all tokens, one after the other.

    Attributes
    ----------
    names : list of str
        The names. A name may occur several times in a token; its values are then added up.
    values : ndarray of float
        The value of each.
    ends : ndarray of int
        Where the attributes of each token begin, and where the last ones end.
    """

    names: list[str]
    values: NDArray[np.float64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.ends) - 1

    def of(self, token: int) -> list[tuple[str, float]]:
        """Return the names and values of a token, counted from 0."""
        begin, end = self.ends[token], self.ends[token + 1]
        return list(zip(self.names[begin:end], self.values[begin:end].tolist(), strict=True))

    def take(self, tokens: Sequence[int]) -> Attributes:
        """Return the attributes of some of the tokens."""
        if isinstance(tokens, range) and tokens.step == 1 and len(tokens):
            ends = self.ends[tokens[0] : tokens[-1] + 2]
            begin, end = int(ends[0]), int(ends[-1])
            return Attributes(self.names[begin:end], self.values[begin:end], ends - begin)
        pairs = [pair for token in tokens for pair in self.of(token)]
        counts = np.diff(self.ends)[tokens] if len(tokens) else np.zeros(0, np.int64)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return Attributes(
            [name for name, _ in pairs], np.array([value for _, value in pairs], np.float64), ends
        )
