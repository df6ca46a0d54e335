"""Sentences with highlighted spans, or with a label below every word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import DataError
from .markup import N_HUES, Markup, element, joined

__all__ = ["hues", "spans_html", "tags_html"]


def hues(labels: Iterable[str]) -> dict[str, int]:
    """Return the colour of every label, so that several sentences use the same ones.

    Parameters
    ----------
    labels : iterable of str
        The labels, also repeated.

    Returns
    -------
    dict
        The number of the colour of each label, in the order in which labels are first seen.

    Examples
    --------
    >>> from partwise.pictures import hues
    >>> hues(["PER", "LOC", "PER"])
    {'PER': 0, 'LOC': 1}
    """
    return {label: number % N_HUES for number, label in enumerate(dict.fromkeys(labels))}


def spans_html(
    words: Sequence[str],
    spans: Sequence[tuple[int, int, str]],
    *,
    colours: Mapping[str, int] | None = None,
    wrong: Iterable[tuple[int, int, str]] = (),
) -> Markup:
    """Return a sentence with highlighted spans, which wraps like any other text.

    Parameters
    ----------
    words : sequence of str
        The words.
    spans : sequence of (start, end, label)
        The spans, from word `start` up to but not including `end`, counted from 0. They must not
        overlap.
    colours : mapping or None
        The colours of labels, see :func:`partwise.pictures.hues`.
    wrong : iterable of (start, end, label)
        The spans to be marked as wrong.

    Returns
    -------
    Markup
        An element of HTML.

    Examples
    --------
    >>> from partwise.pictures import spans_html
    >>> html = spans_html(["Ada", "Lovelace", "wrote"], [(0, 2, "PER")])
    >>> html.count("<mark"), "PER" in html
    (1, True)
    """
    known = colours or hues(label for _, _, label in spans)
    marked = set(map(tuple, wrong))
    parts: list[object] = []
    at = 0
    for start, end, label in sorted(spans, key=lambda span: span[:2]):
        if not at <= start < end <= len(words):
            raise DataError(
                f"the span {label!r} from {start} to {end} is empty, overlaps another one, or "
                f"exceeds the {len(words)} words; draw spans that lie side by side"
            )
        parts += _words(words[at:start])
        parts.append(_span(words, (start, end, label), known, (start, end, label) in marked))
        parts.append(" ")
        at = end
    parts += _words(words[at:])
    return element("div", *parts, class_="pw-text")


def _words(words: Sequence[str]) -> list[object]:
    return [part for word in words for part in (element("bdi", word), " ")]


def _span(
    words: Sequence[str], span: tuple[int, int, str], known: Mapping[str, int], wrong: bool
) -> Markup:
    start, end, label = span
    inside = _words(words[start:end])[:-1]
    note = _unseen(" wrong") if wrong else ""
    return element(
        "mark", *inside, element("b", label, note),
        class_=f"pw-span pw-hue-{known.get(label, 0)}" + (" pw-span-wrong" if wrong else ""),
        data_start=start, data_stop=end,
    )  # fmt: skip


def _unseen(text: str) -> Markup:
    """Return text for screen readers only."""
    return element("span", text, class_="pw-hidden")


def tags_html(
    words: Sequence[str],
    tags: Sequence[str],
    *,
    right: Sequence[str | None] | None = None,
    colours: Mapping[str, int] | None = None,
    plain: str | None = "O",
) -> Markup:
    """Return a sentence with a label below every word, which wraps like any other text.

    Parameters
    ----------
    words, tags : sequence of str
        The words, and their labels.
    right : sequence of str or None
        The right labels. Where they differ, the label is struck out and the right one is below it;
        None if the right label of a word is not known.
    colours : mapping or None
        The colours of labels, see :func:`partwise.pictures.hues`.
    plain : str or None
        A label that is not written unless it is wrong.

    Returns
    -------
    Markup
        An element of HTML.

    Examples
    --------
    >>> from partwise.pictures import tags_html
    >>> html = tags_html(["dogs", "bark"], ["NOUN", "NOUN"], right=["NOUN", "VERB"])
    >>> html.count("NOUN"), html.count("VERB")
    (2, 1)
    """
    meant = list(tags) if right is None else [a or b for a, b in zip(right, tags, strict=True)]
    if not len(words) == len(tags) == len(meant):
        raise DataError(f"{len(words)} words with {len(tags)} labels; give one label per word")
    known = colours or hues([*tags, *meant])
    tokens = []
    for number, (word, tag, wanted) in enumerate(zip(words, tags, meant, strict=True)):
        labels: list[Markup] = []
        if tag != wanted:
            labels = [
                element("b", _unseen("wrong: "), tag, class_="pw-missed"),
                element("b", _unseen(" right: "), wanted, class_="pw-meant"),
            ]
        elif tag != plain:
            labels = [element("b", tag, class_=f"pw-hue-{known.get(tag, 0)}")]
        tokens.append(
            element("span", element("bdi", word), " ", *labels, class_="pw-token", data_word=number)
        )
    return element(
        "div", joined(part for token in tokens for part in (token, " ")), class_="pw-tokens"
    )
