"""The predictions of a model for a file, ready to be written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.model import Candidate

__all__ = ["Predictions", "Ranked", "heading", "ranking_record"]


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


@dataclass(frozen=True, eq=False)
class Ranked(Predictions):
    """The k best labels of every example, each written below a line with its rank and score.

    Attributes
    ----------
    candidates : list of list of Candidate
        The labels of each example, best first.
    probabilities : bool
        Whether to write their probabilities.
    name : str
        What a label is called in the record.
    lines : callable
        Returns the lines of an example with a label, from its number and the label.
    """

    candidates: list[list[Candidate]]
    probabilities: bool
    name: str
    lines: Callable[[int, Any], Iterable[str]]

    def write(self, path: str) -> None:
        from ..formats.source import writing

        with writing(path) as stream:
            for i, ranking in enumerate(self.candidates):
                for rank, one in enumerate(ranking, 1):
                    stream.write(heading(rank, one, self.probabilities) + "\n")
                    stream.writelines(f"{line}\n" for line in self.lines(i, one.label))

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, self.name)


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
