"""Exact probabilities of the spans that tags spell.

Whether a span begins, goes on or ends between two tokens depends on the tags of both, and on
whether a span is open. So the probability that just the tokens from s to e are a span is a sum over
the tags of these tokens and their neighbours, computed by moving the mass of all label sequences
that begin a span at s along the chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.tag_schemes import TAG_SCHEMES
from ...metrics.labels import SCHEMES, looks_like_spans, pair_rule, span_type, spans
from ..spans import ProbableSpan, check_threshold
from .posterior import Posterior

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["TagRules", "pair_marginals", "span_probabilities"]

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TagRules:
    """What pairs of neighbouring tags say about spans, as tables of label numbers.

    The number after the last one stands for what is outside of the sequence.

    Attributes
    ----------
    starts : ndarray of bool
        Whether a span begins at the second tag, if no span goes on there.
    inside : ndarray of bool
        Whether an open span goes on from the first tag to the second.
    ends : ndarray of bool
        Whether an open span that does not go on is complete with the first tag; otherwise it does
        not count.
    types : list of str
        The types of spans.
    type_of : ndarray of int
        The number of the type of each label.
    """

    starts: _Mask
    inside: _Mask
    ends: _Mask
    types: list[str]
    type_of: Ints

    @classmethod
    def of(cls, labels: Sequence[Any], scheme: str) -> TagRules:
        """Make the tables for some labels, read by a scheme of :func:`partwise.metrics.spans`."""
        if scheme not in SCHEMES:
            raise DataError(f"unknown span scheme {scheme!r}; use one of {', '.join(SCHEMES)}")
        if not all(isinstance(label, str) for label in labels) or not looks_like_spans(labels):
            shown = ", ".join(map(repr, labels[:5]))
            raise DataError(
                f"the labels {shown}{', ...' if len(labels) > 5 else ''} do not spell spans, as "
                "B-X, I-X and O do; ask for the probabilities of labels instead"
            )
        if scheme in TAG_SCHEMES:
            spans(labels, scheme)  # raises an error for tags that the scheme does not know
        read = pair_rule(scheme)
        tags = [*labels, "O"]
        tables = np.array([[read(a, b) for b in tags] for a in tags], dtype=bool)
        of = [span_type(label, scheme) for label in labels]
        types = sorted(set(of))
        numbers = np.array([types.index(name) for name in of], dtype=np.int64)
        return cls(tables[..., 0], tables[..., 1], tables[..., 2], types, numbers)


class _Spans:
    """The spans of one sequence."""

    def __init__(self, posterior: Posterior, rules: TagRules) -> None:
        self.posterior, self.rules = posterior, rules
        self.length = len(posterior.steps) + 1
        n = len(rules.type_of)
        self._starts, self._inside = rules.starts[:n, :n], rules.inside[:n, :n]
        self._ends = rules.ends[:n, :n] & ~self._inside
        self._first = rules.starts[n, :n]
        # The probability that a span that is open in a state is complete there.
        self._complete = [(step * self._ends).sum(axis=-1) for step in posterior.steps]
        self._complete.append(rules.ends[None, :n, n].astype(np.float64))

    def begun(self) -> Iterator[Floats]:
        """Yield for each position the mass of the label sequences in which a span begins there."""
        posterior = self.posterior
        begun = posterior.first * self._first
        opened, closed = begun, posterior.first * ~self._first
        yield begun
        for t in range(self.length - 1):
            fresh = self._starts & ~self._inside
            begun = posterior.step(t, opened, fresh) + posterior.step(t, closed, self._starts)
            on = posterior.step(t, opened, self._inside)
            closed = posterior.step(t, opened, ~self._starts & ~self._inside) + posterior.step(
                t, closed, ~self._starts
            )
            opened = begun + on
            yield begun

    def ended(self, t: int, mass: Floats) -> Floats:
        """Return by type the mass of the sequences whose span is complete with position t."""
        by_label = (mass * self._complete[t]).sum(axis=0)
        rules, found = self.rules, np.zeros(len(self.rules.types))
        np.add.at(found, rules.type_of, by_label)
        return found

    def found(self, threshold: float | None, wanted: set[tuple[int, int, str]]) -> list[Any]:
        """Return the spans above a threshold; without one, those that are wanted."""
        rules, listed = self.rules, []
        last = {start: end for start, end, _ in wanted}
        for start, mass in enumerate(self.begun()):
            if threshold is None and start not in last:
                continue
            for t in range(start, self.length):
                odds = self.ended(t, mass)
                for number in np.flatnonzero(odds >= (threshold or 0.0)):
                    span = (start, t + 1, rules.types[number])
                    if threshold is not None or span in wanted:
                        listed.append(ProbableSpan(*span, min(float(odds[number]), 1.0)))
                if t == self.length - 1 or (threshold is None and t + 1 >= last[start]):
                    break
                mass = self.posterior.step(t, mass, self._inside)
                if threshold is not None and mass.sum() < threshold:
                    break
        return listed


def span_probabilities(
    model: Model,
    examples: Any,
    *,
    threshold: float | None = None,
    scheme: str = "conlleval",
    fixed: Any = None,
    **more: Any,
) -> list[list[ProbableSpan]]:
    """Compute the probabilities of spans for a tagger.

    Parameters
    ----------
    model : Model
        A model of the task "tag".
    examples, fixed, **more
        As in :meth:`partwise.models.model.Model.predict`.
    threshold : float or None
        The least probability. If None, the spans are those of the best labels.
    scheme : str
        How tags spell spans.
    """
    check_threshold(threshold)
    rules = TagRules.of(model.labels, scheme)
    read = model.features.read(model.structure, examples, **more)
    best: list[Any] = []
    if threshold is None:
        best = model.predict(read, fixed=fixed)
    found: list[list[ProbableSpan]] = []
    for posterior in _posteriors(model, read, fixed):
        wanted: set[tuple[int, int, str]] = set()
        if threshold is None:
            labels = best[len(found)]
            wanted = {(one.start, one.stop, one.type) for one in spans(labels, scheme)}
        found.append([] if posterior is None else _Spans(posterior, rules).found(threshold, wanted))
    return found


def pair_marginals(model: Model, examples: Any, *, fixed: Any = None, **more: Any) -> list[Floats]:
    """Compute the probability of every pair of neighbouring labels for a tagger.

    Parameters are those of `span_probabilities`.

    Returns
    -------
    list of ndarray of shape (length - 1, labels, labels)
    """
    n = len(model.labels)
    read = model.features.read(model.structure, examples, **more)
    return [
        np.zeros((0, n, n)) if posterior is None else posterior.pairs()
        for posterior in _posteriors(model, read, fixed)
    ]


def _posteriors(model: Model, read: Any, fixed: Any) -> Iterator[Posterior | None]:
    """Yield the distribution of the labels of each sequence; None for one without tokens."""
    for theta, topo in model.part_scores(read, fixed=fixed):
        yield Posterior.of(model.structure, theta, topo) if topo[0] else None
