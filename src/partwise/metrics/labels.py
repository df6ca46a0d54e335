"""Scores of predicted labels: by token, by sequence and by labelled span."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import DataError
from ..formats.tag_schemes import (
    TAG_SCHEMES,
    UNTYPED,
    Rule,
    Span,
    is_span_tag,
    lenient_pair,
    lenient_spans,
    lenient_tag,
)
from .counts import Counts, SpanScores, ratio

__all__ = [
    "SCHEMES",
    "Span",
    "accuracy",
    "looks_like_spans",
    "pair_rule",
    "sequence_accuracy",
    "span_scores",
    "span_type",
    "spans",
]

SCHEMES: tuple[str, ...] = ("conlleval", *TAG_SCHEMES)
"""The names of the span schemes; the first is lenient, the others are strict."""


def accuracy(
    gold: Sequence[str] | Sequence[Sequence[str]], pred: Sequence[str] | Sequence[Sequence[str]]
) -> float:
    """Return the fraction of labels that are correct; 0 if there are no labels.

    Parameters
    ----------
    gold, pred
        Lists of labels, or lists of sequences of labels.

    Examples
    --------
    >>> from partwise.metrics import accuracy
    >>> accuracy([["A", "B"], ["A"]], [["A", "A"], ["B"]])
    0.3333333333333333
    """
    _same_length(gold, pred, "gold has", "labels or sequences")
    right = total = 0
    for place, (g, p) in enumerate(zip(gold, pred, strict=True)):
        if isinstance(g, str) or isinstance(p, str):
            right += g == p
            total += 1
        else:
            _same_length(g, p, f"sequence {place}: gold has", "labels")
            right += sum(a == b for a, b in zip(g, p, strict=True))
            total += len(g)
    return ratio(right, total)


def sequence_accuracy(gold: Sequence[Sequence[str]], pred: Sequence[Sequence[str]]) -> float:
    """Return the fraction of sequences whose labels are all correct; 0 if there are none.

    Examples
    --------
    >>> from partwise.metrics import sequence_accuracy
    >>> sequence_accuracy([["A", "B"], ["A"]], [["A", "A"], ["A"]])
    0.5
    """
    _pairs(gold, pred)
    right = sum(list(g) == list(p) for g, p in zip(gold, pred, strict=True))
    return ratio(right, len(gold))


def looks_like_spans(labels: Iterable[str]) -> bool:
    """Return whether labels are `O` or prefixed (`B-NP`), and at least one of them is prefixed."""
    distinct = set(labels) - {"O"}
    return bool(distinct) and all(map(is_span_tag, distinct))


def spans(labels: Sequence[str], scheme: str = "conlleval") -> list[Span]:
    """Return the spans that the labels of one sequence express, in order.

    Parameters
    ----------
    labels
        Labels such as ``B-NP``. A label without a type (``B``) has the type ``_``.
    scheme
        ``"conlleval"`` reads labels as the CoNLL evaluation script does: a span also starts where
        the type changes, regardless of the prefixes. ``L`` and ``U``, which that script does not
        know, are read as ``E`` and ``S``. The strict schemes ``"IOB1"``, ``"IOB2"``, ``"IOE1"``,
        ``"IOE2"``, ``"IOBES"`` and ``"BILOU"`` drop spans that break their rules.

    Returns
    -------
    list of Span

    Raises
    ------
    DataError
        If the scheme is unknown, or a strict scheme does not know a prefix.

    Examples
    --------
    >>> from partwise.metrics import spans
    >>> spans(["B-NP", "I-NP", "O", "B-VP"])
    [Span(start=0, end=2, label='NP'), Span(start=3, end=4, label='VP')]
    """
    if scheme == "conlleval":
        return lenient_spans(labels)
    if scheme not in TAG_SCHEMES:
        raise DataError(f"unknown span scheme {scheme!r}; use one of {', '.join(SCHEMES)}")
    return _strict_spans(labels, scheme)


def pair_rule(scheme: str) -> Callable[[str, str], tuple[bool, bool, bool]]:
    """Return a function of two neighbouring labels that says what becomes of spans between them.

    It returns three truth values: whether a span begins at the second label, if none goes on there;
    whether a span goes on from the first label to the second; and whether a span that does not go
    on is complete with the first label. Outside of a sequence, the label is ``O``. `spans` reads
    labels by these rules.

    Parameters
    ----------
    scheme
        As for `spans`.
    """
    if scheme == "conlleval":
        return lenient_pair
    _, starts, inside, ends = TAG_SCHEMES[scheme]

    def strict(before: str, now: str) -> tuple[bool, bool, bool]:
        pair = _strict_tag(before), _strict_tag(now)
        return _holds(starts, *pair), _holds(inside, *pair), _holds(ends, *pair)

    return strict


def span_type(label: str, scheme: str) -> str:
    """Return the type of the spans that a label spells in a scheme of `spans`."""
    return (lenient_tag(label) if scheme == "conlleval" else _strict_tag(label))[1]


def _strict_tag(label: str) -> tuple[str, str]:
    return label[0], label[1:].strip("-") or UNTYPED


def _strict_spans(labels: Sequence[str], scheme: str) -> list[Span]:
    sides, starts, inside, ends = TAG_SCHEMES[scheme]
    tagged = []
    for place, label in enumerate(labels):
        if not label or label[0] not in sides:
            raise DataError(
                f"label {place} (counting from 0) is {label!r}, but {scheme} labels begin with "
                f"{', '.join(sides)}; choose the scheme that the labels were made with"
            )
        tagged.append(_strict_tag(label))
    tagged.append(("O", UNTYPED))
    found = []
    before, place = ("O", UNTYPED), 0
    while place < len(tagged):
        stop = place + 1
        if _holds(starts, before, tagged[place]):
            while stop < len(tagged) and _holds(inside, tagged[stop - 1], tagged[stop]):
                stop += 1
            if _holds(ends, tagged[stop - 1], tagged[stop]):
                found.append(Span(place, stop, tagged[place][1]))
        before, place = tagged[stop - 1], stop
    return found


def _holds(rules: Sequence[Rule], before: tuple[str, str], now: tuple[str, str]) -> bool:
    same = "=" if before[1] == now[1] else "!"
    return any(
        before[0] in tags and now[0] in now_tags and types in ("*", same)
        for tags, now_tags, types in rules
    )


def span_scores(
    gold: Sequence[Sequence[str]], pred: Sequence[Sequence[str]], scheme: str = "conlleval"
) -> SpanScores:
    """Compare the spans of gold and predicted labels.

    Parameters
    ----------
    gold, pred
        Sequences of labels; each pair has the same length.
    scheme
        As for `spans`.

    Returns
    -------
    SpanScores
        A predicted span is correct if its start, end and label are those of a gold span.

    Examples
    --------
    >>> from partwise.metrics import span_scores
    >>> gold = [["B-NP", "I-NP", "O"], ["B-NP", "O"]]
    >>> found = [["B-NP", "I-NP", "O"], ["O", "O"]]
    >>> span_scores(gold, found).overall.f1
    0.6666666666666666
    """
    _pairs(gold, pred)
    counts = Counts()
    for g, p in zip(gold, pred, strict=True):
        wanted, got = set(spans(g, scheme)), set(spans(p, scheme))
        counts.add(*([span.label for span in some] for some in (wanted & got, got, wanted)))
    return counts.by_type()


def _pairs(gold: Sequence[Sequence[str]], pred: Sequence[Sequence[str]]) -> None:
    _same_length(gold, pred, "gold has", "sequences")
    for place, (g, p) in enumerate(zip(gold, pred, strict=True)):
        if isinstance(g, str) or isinstance(p, str):
            raise DataError(
                f"sequence {place} is a string where a list of labels is expected; pass a list of "
                "sequences"
            )
        _same_length(g, p, f"sequence {place}: gold has", "labels")


def _same_length(gold: Sequence[object], pred: Sequence[object], where: str, what: str) -> None:
    if len(gold) != len(pred):
        raise DataError(
            f"{where} {len(gold)} {what} and pred has {len(pred)}; they must be parallel"
        )
