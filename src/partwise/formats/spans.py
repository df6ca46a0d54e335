"""JSON lines of texts and character spans, as spaCy, Prodigy and doccano write them.

The text is cut into tokens, and spans become tags such as B-PER and I-PER. Predicted tags are
written as spans again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from partwise.errors import DataError, Place
from partwise.formats.column_choice import check_inputs
from partwise.formats.faults import STRICT, Faults
from partwise.formats.json_records import (
    Record,
    Sentences,
    labels_given,
    read_objects,
    write_objects,
    written_objects,
)
from partwise.formats.options import OPTIONS
from partwise.formats.registry import Format
from partwise.formats.source import Text, read_text
from partwise.formats.span_styles import EXAMPLES, STYLES, signs, tokenizer_of
from partwise.formats.tag_schemes import (
    PREFIXES,
    SCHEME_ALIASES,
    TAG_SCHEMES,
    Span,
    lenient_spans,
    span_tags,
)
from partwise.formats.tokens import Columns

__all__ = ["DOCCANO", "PRODIGY", "SPACY", "read_spans", "write_spans"]

#: The first and the last but one character of each token, or of each span, with its label.
_Borders = list[tuple[int, int]]
_Spans = list[tuple[int, int, str]]


def read_spans(
    source: str | os.PathLike[str] | Text,
    style: str,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    tokenizer: str | None = None,
    span_tags: str | None = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> Columns:
    r"""Read JSON lines of texts and character spans.

    Spans must begin and end where tokens do, and must not overlap.

    Parameters
    ----------
    source
        A path (plain or gzipped), or ``"-"`` for standard input.
    style
        "spacy": ``{"text": ..., "entities": [[0, 4, "PER"]]}``; "prodigy": ``{"text": ...,
        "spans": [{"start": 0, "end": 4, "label": "PER"}]}``, where ``tokens`` are used if they are
        given, and texts whose ``answer`` is not "accept" are not trained on; "doccano":
        ``{"text": ..., "label": [[0, 4, "PER"]]}``.
    labelled
        Whether spans are read. They are optional if `inputs` is given.
    n_columns, inputs
        As in :func:`partwise.formats.read_columns`; there is one input, the token.
    tokenizer
        How texts are cut: "words" (the default) into runs of letters, digits and underscores
        (``\w+``) and every other character that is no blank; "blanks" at blanks only.
    span_tags
        The scheme of the tags; None is "IOB2".
    encoding
        The encoding of the file; None is UTF-8.
    faults
        Where faults are reported.

    Returns
    -------
    Columns
        Texts without tokens are no sentences; they are kept for the output.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_spans
    >>> _ = Path("t.jsonl").write_text('{"text": "Ada left", "label": [[0, 3, "PER"]]}')
    >>> read_spans("t.jsonl", "doccano").labels
    ['B-PER', 'O']
    """
    cut = tokenizer_of(tokenizer)
    scheme = SCHEME_ALIASES.get(span_tags or "IOB2", span_tags or "IOB2")
    if scheme not in TAG_SCHEMES:
        raise DataError(f"unknown scheme {span_tags!r}; use one of {', '.join(TAG_SCHEMES)}")
    text = read_text(source, encoding, faults)
    name = text.name
    check_inputs(name, 1, n_columns, inputs)
    records = list(read_objects(text, faults))
    key = next((k for r in records for k in STYLES[style].keys if k in r.value), None)
    has_labels = labels_given(records, key, labelled, inputs)
    reading = _Reading(name, style, key or STYLES[style].keys[0], cut, scheme, faults)
    for record in records:
        reading.read(record, has_labels, inputs is None)
    if not reading.kept and inputs is None:
        faults.add(name, None, f"no text with tokens; expected lines such as {EXAMPLES[style]}")
    return reading.columns(style, has_labels, {"key": reading.key})


class _Reading(Sentences):
    """The texts that were read so far."""

    def __init__(
        self,
        name: str,
        style: str,
        key: str,
        cut: re.Pattern[str],
        scheme: str,
        faults: Faults,
    ) -> None:
        super().__init__(name, faults, ("text",))
        self.style, self.key, self.cut, self.scheme = style, key, cut, scheme

    def read(self, record: Record, has_labels: bool, training: bool) -> None:
        """Read an object."""
        value = record.value
        text = value.get("text")
        if not isinstance(text, str):
            self.fault(record, "text", f"no text; expected an object such as "
                       f"{EXAMPLES[self.style]}")  # fmt: skip
            return
        rejected = self.style == "prodigy" and value.get("answer", "accept") != "accept"
        if rejected and training:
            self.leave_out(value, "texts that were not accepted")
            return
        borders = self._borders(record, text)
        spans = self._spans(record, text) if has_labels else []
        if borders is None or spans is None:
            return
        tags = self._tags(record, text, borders, spans)
        if tags is None:
            return
        if not borders:
            self.leave_out(value, "texts without tokens")
            return
        words = [text[start:end] for start, end in borders]
        self.add(record, [words], tags, {"text", "tokens", self.key}, borders)
        if text != " ".join(words):
            self.extras["texts that are more than tokens with single blanks between them"] += 1

    def _borders(self, record: Record, text: str) -> _Borders | None:
        """Return where tokens begin and end; None after a fault."""
        tokens = record.value.get("tokens") if self.style == "prodigy" else None
        if tokens is None:
            return [found.span() for found in self.cut.finditer(text)]
        remedy = "correct it, or remove tokens, so that the text is cut as --tokenizer says"
        if not isinstance(tokens, list):
            self.fault(record, "tokens", f"tokens is no list; {remedy}")
            return None
        borders: _Borders = []
        for place, token in enumerate(tokens):
            start, end = _numbers(token, ("start", "end"))
            last = borders[-1][1] if borders else 0
            if start is None or end is None or not last <= start < end <= len(text):
                self.fault(
                    record, "tokens", f"token {place} (counted from 0) does not begin and end "
                    f"inside of the text, after the one before it; {remedy}"
                )  # fmt: skip
                return None
            borders.append((start, end))
        return borders

    def _spans(self, record: Record, text: str) -> _Spans | None:
        """Return the spans in order; None after a fault."""
        given = record.value.get(self.key)
        if not isinstance(given, list):
            self.fault(
                record, self.key, f"no list of spans in {self.key!r}; expected an object such as "
                f"{EXAMPLES[self.style]}"
            )  # fmt: skip
            return None
        names = STYLES[self.style].names
        spans: _Spans = []
        for place, one in enumerate(given):
            start, end = _numbers(one, names[:2])
            label = one.get(names[2]) if isinstance(one, dict) else None
            if isinstance(one, list) and len(one) == 3:
                label = one[2]
            where = f"span {place} (counted from 0) of {self.key!r}"
            if start is None or end is None or not isinstance(label, str) or not label:
                self.fault(
                    record, self.key, f"{where} has no start, end and label; expected an object "
                    f"such as {EXAMPLES[self.style]}"
                )  # fmt: skip
                return None
            if not 0 <= start < end <= len(text):
                self.fault(
                    record, self.key, f"{where} goes from {start} to {end} in a text of "
                    f"{len(text)} characters; correct it"
                )  # fmt: skip
                return None
            spans.append((start, end, label))
        return sorted(spans)

    def _tags(
        self, record: Record, text: str, borders: _Borders, spans: _Spans
    ) -> list[str] | None:
        """Return the tags that spans become; None after a fault."""
        starts = {start: token for token, (start, _) in enumerate(borders)}
        ends = {end: token + 1 for token, (_, end) in enumerate(borders)}
        found: list[Span] = []
        sound = True
        for start, end, label in spans:
            shown = f"the span {text[start:end][:40]!r} ({start} to {end}, {label})"
            if start not in starts or end not in ends:
                near = [text[a:b] for a, b in borders if a < end and b > start]
                self.fault(
                    record, self.key, f"{shown} does not begin and end where tokens do; the tokens "
                    f"there are {' '.join(map(repr, near[:5])) or 'none'}; correct it, or choose "
                    "another --tokenizer" + (", or mend tokens" if "tokens" in record.value else "")
                )  # fmt: skip
                sound = False
            elif found and found[-1].end > starts[start]:
                self.fault(
                    record, self.key, f"{shown} overlaps with the one before it; a token has one "
                    "tag, so remove one of them"
                )  # fmt: skip
                sound = False
            else:
                found.append(Span(starts[start], ends[end], label))
        return span_tags(found, len(borders), self.scheme) if sound else None


def _numbers(one: Any, names: Sequence[str]) -> list[int | None]:
    """Return whole numbers from an object, or from the beginning of a list."""
    if isinstance(one, dict):
        found = [one.get(name) for name in names]
    else:
        found = one[: len(names)] if isinstance(one, list) and len(one) == 3 else []
    found += [None] * (len(names) - len(found))
    return [n if isinstance(n, int) and not isinstance(n, bool) else None for n in found]


def write_spans(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Sequence[dict[str, Any]] | None = None,
    *,
    style: str,
) -> None:
    r"""Write JSON lines of texts and character spans.

    Texts that were read from such a file keep everything else that they hold. Tokens of other
    formats are joined by blanks; Prodigy's files also get the borders of the tokens.

    Parameters
    ----------
    path
        Where to write; ``"-"`` is standard output and ``.gz`` is gzipped.
    columns
        The tokens.
    labels
        The tags to write as spans; None writes those that the tokens have.
    probabilities
        The probability of each tag, which is written as ``token_probabilities``.
    notes
        What to add to the object of each text.
    style
        "spacy", "prodigy" or "doccano".

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_spans, write_spans
    >>> _ = Path("t.jsonl").write_text('{"text": "Ada left", "label": [[0, 3, "PER"]]}')
    >>> write_spans("out.jsonl", read_spans("t.jsonl", "doccano"), ["B-ORG", "O"], style="doccano")
    >>> Path("out.jsonl").read_text()
    '{"text": "Ada left", "label": [[0, 3, "ORG"]]}\n'
    """
    written = columns.labels if labels is None else labels
    layout = columns.layout_of(style)
    key = STYLES[style].keys[0] if layout is None else layout.settings["key"]
    if layout is None and len(columns.fields) != 1:
        raise DataError(
            f"{len(columns.fields)} input columns; a text has one, so choose it with --columns",
            place=Place(columns.path),
        )
    _check_tags(columns.path, written)

    def make(part: slice) -> tuple[Any, ...]:
        return _new(style, columns.fields[0][part])

    def put(part: slice, value: dict[str, Any], borders: _Borders) -> dict[str, Any]:
        # Without new labels, the spans that were read are kept as they are.
        if written is None or (layout is not None and labels is None):
            return value
        return {
            **value,
            key: [_span(style, key, borders, of) for of in lenient_spans(written[part])],
        }

    write_objects(path, written_objects(columns, layout, make, put, probabilities, notes))


def _check_tags(path: str, labels: Sequence[str] | None) -> None:
    for label in set(labels or ()):
        if label != "O" and not (label[:1] in PREFIXES and label[1:2] in ("", "-")):
            raise DataError(
                f"the label {label!r} is no tag of a span such as B-PER or I-PER, so it "
                "cannot be written as a span; choose a format of tokens, such as jsonl",
                place=Place(path),
            )


def _new(style: str, words: Sequence[str]) -> tuple[dict[str, Any], _Borders]:
    """Return a text of some words, and their borders."""
    borders: _Borders = []
    at = 0
    for word in words:
        if not word or (style != "prodigy" and not tokenizer_of("blanks").fullmatch(word)):
            raise DataError(
                f"the token {word!r} cannot be found again in a text where blanks separate tokens; "
                "replace its blanks, or use the format prodigy, which holds tokens"
            )
        borders.append((at, at + len(word)))
        at += len(word) + 1
    value: dict[str, Any] = {"text": " ".join(words)}
    if style == "prodigy":
        value["tokens"] = [
            {"text": word, "start": start, "end": end, "id": number}
            for number, (word, (start, end)) in enumerate(zip(words, borders, strict=True))
        ]
    return value, borders


def _span(style: str, key: str, borders: _Borders, found: Span) -> Any:
    first, stop, label = found
    start, end = borders[first][0], borders[stop - 1][1]
    how = STYLES[style]
    if how.objects:
        places = {"token_start": first, "token_end": stop - 1}
        return {**dict(zip(how.names, (start, end, label), strict=True)), **places}
    if style == "doccano" and key == "entities":
        return dict(zip(how.names, (start, end, label), strict=True))
    return [start, end, label]


def _format(style: str) -> Format:
    read: Callable[..., Columns] = partial(read_spans, style=style)
    return Format(
        "tokens in columns",
        read,
        f"JSON lines: {EXAMPLES[style]}",
        partial(write_spans, style=style),
        OPTIONS[style],
        partial(signs, style),
        finds_all=True,
        separate="line",
    )


SPACY: Final = _format("spacy")
PRODIGY: Final = _format("prodigy")
DOCCANO: Final = _format("doccano")
