"""The predictions of a model for a file, ready to be written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.model import Candidate

__all__ = ["Predictions", "heading", "ranking_record"]


class Predictions(ABC):
    """The predictions of a model for a file."""

    @abstractmethod
    def write(self, path: str) -> None:
        """Write a file; ``-`` is stdout. See :func:`partwise.formats.source.writing`."""

    def write_more(self, path: str) -> None:
        """Write what follows the predictions for an earlier part of the same file."""
        self.write(path)

    @abstractmethod
    def record(self) -> dict[str, Any]:
        """Return the predictions as JSON can hold them.

        ``predictions`` has one item per example; with ``--k``, ``candidates`` has one list per
        example, best first, each with a ``score`` and a ``probability`` (nan if it was not asked
        for).
        """


def heading(rank: int, candidate: Candidate, probabilities: bool) -> str:
    """Return the line above a candidate: ``# k=1 score=...``, optionally with its probability."""
    text = f"# k={rank} score={candidate.score:.6f}"
    return text + (f" probability={candidate.probability:.6g}" if probabilities else "")


def ranking_record(rankings: list[list[Candidate]], name: str) -> dict[str, Any]:
    """Return rankings as JSON can hold them, with the label of each candidate under a name."""
    return {
        "candidates": [
            [
                {name: one.label, "score": one.score, "probability": one.probability}
                for one in ranking
            ]
            for ranking in rankings
        ]
    }
