"""All labels of an example, written out: what small structures are checked against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Floats

__all__ = ["Label", "Table", "flat", "log_sum", "probabilities"]

Label = tuple[int, ...]


def log_sum(scores: npt.NDArray[Any]) -> Any:
    """Compute log sum exp; -inf for nothing."""
    top = scores.max(initial=-np.inf)
    return top + np.log(np.exp(scores - top).sum()) if top > -np.inf else -np.inf


def probabilities(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the share of every score in the sum of exponentials."""
    shares: npt.NDArray[Any] = np.exp(scores - log_sum(scores))
    return shares


def flat(label: Any) -> Label:
    """Return a label as tables list it."""
    return tuple(np.ravel(label).tolist())


@dataclass(frozen=True)
class Table:
    """All labels of an example: ``counts[y, r]`` is how often label y holds part r."""

    labels: list[Label]
    counts: Floats

    @staticmethod
    def of(n_parts: int, labels: Iterable[Any], parts: Callable[[Any], Iterable[int]]) -> Table:
        """Write all labels out, with the parts that each one holds."""
        listed = list(labels)
        counts = np.zeros((len(listed), n_parts))
        for y, label in enumerate(listed):
            for part in parts(label):
                counts[y, part] += 1
        return Table([flat(label) for label in listed], counts)

    def scores(self, theta: Floats) -> npt.NDArray[np.longdouble]:
        """Return the score of every label."""
        forbidden = self.counts @ np.isneginf(theta) > 0
        finite = np.where(np.isneginf(theta), 0.0, theta)
        scores = self.counts.astype(np.longdouble) @ finite.astype(np.longdouble)
        scores[forbidden] = -np.inf
        return scores

    def keep(self, kept: Sequence[bool]) -> Table:
        """Keep some of the labels."""
        labels = [label for label, wanted in zip(self.labels, kept, strict=True) if wanted]
        return Table(labels, self.counts[np.array(kept, dtype=bool)])

    def place(self, label: Any) -> int:
        """Return the number of a label that the structure returned."""
        wanted = flat(label)
        if wanted not in self.labels:
            raise AssertionError(f"{wanted} is not a label of this shape")
        return self.labels.index(wanted)
