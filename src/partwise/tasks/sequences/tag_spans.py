"""Exact probabilities of the spans that tags spell.

Whether a span begins, goes on or ends between two tokens depends on the tags of both, and on
whether a span is open. So the probability that just the tokens from s to e are a span is a sum over
the tags of these tokens and their neighbours, computed by moving the mass of all label sequences
that begin a span at s along the chain.

The labels of a sequence are a Markov chain. With beta_t(a), the log of the sum of the scores of all
that may follow label a at position t,

    p(y_t+1 = b | y_t = a) = exp(transition(a, b) + unary(t+1, b) + beta_t+1(b) - beta_t(a))

and the same with pairs of labels for chains of order 2. All sums are computed in log space, so
that what is nearly impossible keeps its digits, and what is forbidden has probability 0.
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
from ...metrics.labels import SCHEMES, Span, looks_like_spans, pair_rule, span_type, spans
from ..spans import ProbableSpan, check_threshold

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure

__all__ = ["Posterior", "TagRules", "pair_marginals", "span_probabilities"]

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

    def found(self, threshold: float | None, wanted: set[Span]) -> list[Any]:
        """Return the spans above a threshold; without one, those that are wanted."""
        rules, listed = self.rules, []
        last = {start: end for start, end, _ in wanted}
        for start, mass in enumerate(self.begun()):
            if threshold is None and start not in last:
                continue
            for t in range(start, self.length):
                odds = self.ended(t, mass)
                for number in np.flatnonzero(odds >= (threshold or 0.0)):
                    span = Span(start, t + 1, rules.types[number])
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
        wanted: set[Span] = set()
        if threshold is None:
            labels = best[len(found)]
            wanted = set(spans(labels, scheme))
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


@dataclass(frozen=True, eq=False)
class Posterior:
    """The distribution of the labels of one sequence.

    The state at a position is its label or, for order 2 and from the second position on, the pair
    of the label before and its own. A mass has one number per state, with the shape (1, labels) or
    (labels, labels).

    Attributes
    ----------
    first : ndarray of shape (1, labels)
        The probability of every label at the first position.
    steps : list of ndarray
        For each position but the last, the probability of the next label given the state: an array
        with the shape of the state, and one more axis for the next label.
    order : int
        The number of preceding labels that a label depends on.
    """

    first: Floats
    steps: list[Floats]
    order: int

    @classmethod
    def of(cls, structure: Structure, theta: Floats, topo: Ints) -> Posterior:
        """Compute the distribution.

        Parameters
        ----------
        structure : Chain or SecondOrderChain
            The structure.
        theta : ndarray
            The scores of the parts; -inf for those that are forbidden.
        topo : ndarray
            The shape of the sequence, which is not empty.
        """
        chain: Any = structure
        n, length = chain.n_labels, int(topo[0])
        unary = theta[: length * n].reshape(length, n)
        pairs = theta[chain.parts_of("transition", topo)].reshape(-1, n, n)
        ends = {
            name: theta[chain.parts_of(name, topo)] if getattr(chain, name) else np.zeros(n)
            for name in ("start", "end")
        }
        order = 2 if "triple" in chain.kinds else 1
        triples = None
        if order == 2:
            triples = theta[chain.parts_of("triple", topo)].reshape(n, n, n)
        after: Floats = np.broadcast_to(ends["end"], (n, n) if order == 2 else (1, n))
        steps: list[Floats] = []
        for t in range(length - 2, -1, -1):
            # scores[a, b, c] is the sum of everything after the state (a, b) if label c is next.
            scores = pairs[t if len(pairs) > 1 else 0][None] + unary[t + 1]
            if order == 1 or t == 0:
                scores = scores + (after if order == 2 else after[0])
            else:
                assert triples is not None
                scores = scores + triples + after
            after, step = _normalised(scores)
            steps.append(step)
        total, first = _normalised((ends["start"] + unary[0] + after[0])[None, None])
        if not np.isfinite(total).all():
            raise DataError("a sequence has no possible labels; relax what is forbidden or known")
        return cls(first[0], steps[::-1], order)

    def step(self, t: int, mass: Floats, allowed: npt.NDArray[np.bool_]) -> Floats:
        """Move mass from position t to the next one, along the allowed pairs of labels.

        Parameters
        ----------
        t : int
            The position.
        mass : ndarray
            The probability of every state.
        allowed : ndarray of bool, labels x labels
            Which label may follow which.
        """
        moved: Floats = np.einsum("ab,abc->bc", mass, self.steps[t]) * allowed
        return moved if self.order == 2 else moved.sum(axis=0, keepdims=True)

    def pairs(self) -> Floats:
        """Return the probability of every pair of labels at every two neighbouring positions."""
        n = self.first.shape[1]
        found = np.empty((len(self.steps), n, n))
        mass = self.first
        for t, step in enumerate(self.steps):
            found[t] = np.einsum("ab,abc->bc", mass, step)
            mass = found[t] if self.order == 2 else found[t].sum(axis=0, keepdims=True)
        return found


def _normalised(scores: Floats) -> tuple[Floats, Floats]:
    """Return the log of the sum over the last axis, and the probabilities along it.

    Both are those of states that nothing can follow where the sum is 0: -inf, and 0.
    """
    top = scores.max(axis=-1, keepdims=True)
    odds = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    sums = odds.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        total = top[..., 0] + np.log(sums[..., 0])
    return total, np.divide(odds, sums, out=np.zeros_like(odds), where=sums > 0.0)
