"""Spans with their probabilities, as estimators return them and ``predict --spans`` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..errors import DataError, MismatchError
from ..formats.options import Option
from .predictions import Predictions

__all__ = [
    "SPANS",
    "THRESHOLD",
    "ProbableSpan",
    "SpanTable",
    "check_spans",
    "check_threshold",
]

SPANS: Final = Option(
    "--spans",
    "write spans with their probabilities instead: those of the best labels, or with --threshold "
    "all that are probable enough",
    default=False,
    kind="switch",
)
THRESHOLD: Final = Option(
    "--threshold",
    "with --spans: all spans whose probability is at least P, whether the best labels have them "
    "or not",
    kind="share",
    metavar="P",
)


class ProbableSpan(NamedTuple):
    """A span and its probability.

    Attributes
    ----------
    start, end : int
        Its first token and the token after its last one, counted from 0.
    label : str
        Its type.
    probability : float
        The probability that just these tokens are a span of this type.
    """

    start: int
    end: int
    label: Any
    probability: float


def check_threshold(threshold: Any) -> None:
    """Raise a DataError unless a threshold is None or a probability above 0."""
    from ..values import is_number

    if threshold is not None and not (is_number(threshold) and 0.0 < threshold <= 1.0):
        raise DataError(
            f"threshold is {threshold!r}; give a probability above 0 and at most 1, or None for "
            "the spans of the best labels"
        )


def check_spans(given: dict[str, Any] | Any, *others: str) -> None:
    """Raise a MismatchError if the options about spans do not go together.

    Parameters
    ----------
    given : mapping
        The values of the options of ``"predict"``.
    *others : str
        The flags of options that go without ``--spans`` only.
    """
    if given["threshold"] is not None and not given["spans"]:
        raise MismatchError("--threshold belongs to --spans; give --spans too, or leave it out")
    if given["threshold"] == 0.0:
        raise MismatchError("--threshold 0 would list every possible span; give a larger one")
    for flag in others:
        if given["spans"] and given[flag.lstrip("-").replace("-", "_")]:
            raise MismatchError(f"--spans and {flag} write different things; leave one of them out")


@dataclass(frozen=True, eq=False)
class SpanTable(Predictions):
    """The spans of every example, one per line.

    Attributes
    ----------
    found : list of list of ProbableSpan
        The spans of each example.
    words : sequence of sequences of str
        The words of each example.
    """

    found: list[list[ProbableSpan]]
    words: Sequence[Sequence[str]]

    def write(self, path: str) -> None:
        from ..formats.source import writing

        with writing(path) as stream:
            stream.write("example\tstart\tend\tlabel\tprobability\ttext\n")
            for number, some in enumerate(self._with_text()):
                for (start, end, label, probability), text in some:
                    text = text.replace("\t", " ")
                    stream.write(f"{number}\t{start}\t{end}\t{label}\t{probability:.6f}\t{text}\n")

    def record(self) -> dict[str, Any]:
        return {
            "spans": [
                [{**span._asdict(), "text": text} for span, text in some]
                for some in self._with_text()
            ]
        }

    def _with_text(self) -> Iterator[list[tuple[ProbableSpan, str]]]:
        """Yield the spans of every example with their words."""
        for some, words in zip(self.found, self.words, strict=True):
            yield [(span, " ".join(words[span.start : span.end])) for span in some]
