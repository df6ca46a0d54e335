"""All faults of a file at once, with their places, and labels that look misspelled."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from partwise.errors import DataError, FormatError
from partwise.formats.brackets import Brackets
from partwise.formats.faults import Faults
from partwise.formats.graph_file import GraphFile
from partwise.formats.registry import Chosen
from partwise.formats.source import NotTextError, Text, read_text
from partwise.formats.svmlight import SvmlightData
from partwise.formats.tag_schemes import (
    SCHEME_ALIASES,
    TAG_SCHEMES,
    broken_rule,
    is_span_tag,
    likely_scheme,
)
from partwise.formats.tokens import Columns

__all__ = ["Verdict", "label_counts", "likely_slips", "validate"]


@dataclass(frozen=True)
class Verdict:
    """What was found in a file.

    Attributes
    ----------
    path : str
        The file.
    faults : list of DataError
        The faults, in the order of their lines; empty if the file is sound.
    n_examples : int
        The number of sentences or other examples that could be read.
    scheme : str or None
        The scheme that tags were checked by.
    complete : bool
        Whether these are all faults. Some formats can only be read up to the first one.
    labels : dict of str to int
        How often each label occurs in the examples that could be read, the most frequent one first.
    readable : bool
        Whether all lines could be read, so that all faults are about tags and `labels` counts all
        labels.
    """

    path: str
    faults: list[DataError]
    n_examples: int
    scheme: str | None = None
    complete: bool = True
    labels: dict[str, int] = field(default_factory=dict)
    readable: bool = True


def validate(
    path: str | os.PathLike[str],
    format: Chosen | str | None = None,
    *,
    default: str = "columns",
    scheme: str | None = None,
    **options: Any,
) -> Verdict:
    r"""Find all faults of a file.

    Parameters
    ----------
    path
        The file; ``-`` is stdin.
    format
        The name of its format; None is `default`, unless the file looks like another one.
    default
        The format of the task that the file is for.
    scheme
        The scheme of its tags, such as "BIO" or "IOBES". If None, it is guessed from the tags, and
        nothing is checked if the labels do not look like tags of spans.
    **options
        The options of the format, such as ``label="xpos"``.

    Returns
    -------
    Verdict

    Raises
    ------
    FormatError
        If no format was named and the file looks like another one than the default.
    DataError
        If the format, the scheme or an option is unknown, or the file cannot be read at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import validate
    >>> _ = Path("t.txt").write_text("the B-NP\ndog I-VP\n")
    >>> verdict = validate("t.txt", scheme="BIO")
    >>> len(verdict.faults), verdict.faults[0].place.line
    (1, 2)
    """
    chosen = Chosen.of(format)
    chosen = Chosen(chosen.name, {**chosen.options, **options})
    if scheme is not None and SCHEME_ALIASES.get(scheme, scheme) not in TAG_SCHEMES:
        known = ", ".join([*TAG_SCHEMES, *SCHEME_ALIASES])
        raise DataError(f"unknown scheme {scheme!r}; use one of {known}")
    form = chosen.format(default)
    faults = Faults(keep=True)
    source: Any = path
    name = "<stdin>" if os.fspath(path) == "-" else os.fspath(path)
    wanted: dict[str, Any] = {}
    if form.finds_all:
        try:
            source = read_text(path, chosen.options.get("encoding"), faults)
        except NotTextError as error:
            # Faults of lines mean nothing in a text that was not decoded.
            with faults.from_errors(name):
                raise error
            return Verdict(name, faults.found, 0, None, False, {}, False)
        wanted["faults"] = faults
    found: Any = None
    try:
        found = chosen.read(default, source, **wanted)
    except FormatError:
        raise
    except DataError as error:
        # What concerns the whole file ends the reading.
        with faults.from_errors(name):
            raise error
    readable = not faults.found
    complete = form.finds_all or readable
    labels = {} if found is None else label_counts(found)
    if not isinstance(found, Columns):
        n_examples = 0 if found is None else len(getattr(found, "lines", found))
        return Verdict(name, _ordered(faults), n_examples, None, complete, labels, readable)
    if found.labels is None:
        scheme = None
    else:
        scheme = scheme or likely_scheme(found.split(found.labels) if len(found) else [])
        if scheme is not None:
            text = source.text.split("\n") if isinstance(source, Text) else None
            _check_tags(found, text, scheme, faults)
    n_examples = len(found.lengths)
    return Verdict(name, _ordered(faults), n_examples, scheme, complete, labels, readable)


def _ordered(faults: Faults) -> list[DataError]:
    return sorted(faults.found, key=lambda fault: (fault.place.line or 0, fault.place.column or 0))


def _check_tags(columns: Columns, text: list[str] | None, scheme: str, faults: Faults) -> None:
    """Report all tags that break a scheme, but not beside lines that have faults already."""
    assert columns.labels is not None
    known = {fault.place.line for fault in faults.found}
    lines = columns.lines.tolist()
    begin = 0
    for length in columns.lengths.tolist():
        before: str | None = None
        sound = True
        for token in range(begin, begin + length + 1):
            ended = token == begin + length
            now = None if ended else columns.labels[token]
            line = lines[token - ended]
            here = ended or line not in known
            wrong = broken_rule(scheme, before, now) if sound and here else None
            if wrong is not None:
                label = columns.labels[token - ended]
                at = None if text is None else _column(columns, text[line - 1], label)
                faults.add(columns.path, line, wrong, at)
            before, sound = now, here
        begin += length


def _column(columns: Columns, line: str, label: str) -> int:
    """Return where a label stands in its line, counted from 1."""
    layout = columns.layout
    settings: Mapping[str, Any] = {} if layout is None else layout.settings
    if layout is not None and layout.format == "crfsuite":
        return 1
    if line.lstrip(" \t").startswith("{"):
        key = settings.get("label") or settings.get("key") or "text"
        return line.find(json.dumps(key, ensure_ascii=False)) + 1 or 1
    mark = re.escape(columns.separator)
    places = [found.start(1) for found in re.finditer(
        rf"(?:^|[\t=| ]|{mark})({re.escape(label)})(?=$|[\t| ]|{mark})", line)]  # fmt: skip
    return places[-1] + 1 if places else 1


#: A label is taken for a slip if it occurs at most so many times,
_RARE: Final = 2
#: and one that is spelled nearly alike at least so many times as often.
_TIMES: Final = 20
#: In shorter names one character makes another word: NN and NNS.
_SHORTEST: Final = 3
#: Names are hashed by a polynomial in this base, modulo a prime.
_BASE: Final = 1 << 21
_PRIME: Final = (1 << 61) - 1


def label_counts(examples: Any) -> dict[str, int]:
    r"""Count the labels of the examples of a file.

    Parameters
    ----------
    examples
        What a reader returned: tokens in columns, rows of numbers, sentences with dependency trees,
        phrase-structure trees or graphs.

    Returns
    -------
    dict of str to int
        Labels of tokens, rows or vertices, relations of dependencies, or categories of phrases,
        with their numbers, the most frequent one first. Empty if there are no labels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats import read_columns
    >>> from partwise.formats.validation import label_counts
    >>> _ = Path("t.txt").write_text("the DET\ndog NOUN\nsaw VERB\nthe DET\n")
    >>> label_counts(read_columns("t.txt"))
    {'DET': 2, 'NOUN': 1, 'VERB': 1}
    """
    counts = Counter(_labels(examples))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _labels(examples: Any) -> Iterator[str]:
    if isinstance(examples, (Columns, SvmlightData)):
        yield from examples.labels or []
    elif isinstance(examples, Brackets):
        for tree in examples.trees:
            yield from (node.label for node in tree.nodes() if node.children)
    elif isinstance(examples, GraphFile):
        for graph in examples.graphs:
            yield from (label for label in graph.labels if label is not None)
    elif isinstance(examples, list):
        for sentence in examples:
            yield from (relation for relation in sentence.deprel if relation != "_")
    elif hasattr(examples, "all_labels"):
        # What a format of another package or task reads says itself what its labels are.
        yield from examples.all_labels()


def likely_slips(counts: Mapping[str, int]) -> dict[str, str]:
    """Return labels that look misspelled, each with the label that may have been meant.

    A label looks misspelled if it occurs once or twice, and another one that differs from it in one
    character, in two that have changed places or in capital letters only is far more frequent. Of
    tags such as ``B-NP`` the types are compared.

    Parameters
    ----------
    counts : mapping of str to int
        Labels, and how often they occur.

    Examples
    --------
    >>> from partwise.formats.validation import likely_slips
    >>> likely_slips({"B-PRED": 70, "I-PRED": 40, "O": 900, "B-PRE": 1})
    {'B-PRE': 'B-PRED'}
    """
    tags = any(is_span_tag(label) and label != "O" for label in counts)
    types: Counter[str] = Counter()
    for label, n in counts.items():
        types[_type(label, tags)] += n
    frequent: defaultdict[int, set[tuple[int, str]]] = defaultdict(set)
    for other, n in types.items():
        if n >= _TIMES:
            for key in _keys(other):
                frequent[key].add((n, other))
    found = {}
    for label in counts:
        kind = _type(label, tags)
        n = types[kind]
        if n > _RARE or len(kind) < _SHORTEST:
            continue
        alike = set().union(*(frequent[key] for key in _keys(kind) if key in frequent))
        near = [(m, other) for m, other in alike if m >= _TIMES * n and _nearly_alike(kind, other)]
        if near:
            found[label] = label[: len(label) - len(kind)] + max(near)[1]
    return found


def _type(label: str, tags: bool) -> str:
    return label[2:] if tags and is_span_tag(label) and label != "O" else label


def _keys(name: str) -> set[int]:
    """Return hashes of a name in small letters, as it is and without any one character.

    Names that are nearly alike have one of these in common, by which they are found among many.
    Each hash follows from those of what is before and after the character, so that the time and the
    memory grow with the length of the name, not with its square.
    """
    codes = [ord(character) for character in name.lower()]
    before = list(accumulate(codes, lambda held, code: (held * _BASE + code) % _PRIME, initial=1))
    keys = {before.pop()}
    after, power = 0, 1
    for held, code in zip(reversed(before), reversed(codes), strict=True):
        keys.add((held * power + after) % _PRIME)
        after, power = (code * power + after) % _PRIME, power * _BASE % _PRIME
    return keys


def _nearly_alike(a: str, b: str) -> bool:
    """Return whether two names differ by one typing error."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    if a.lower() == b.lower():
        return True
    short, long = sorted((a, b), key=len)
    same = 0
    while same < len(short) and short[same] == long[same]:
        same += 1
    if len(short) < len(long):
        return short[same:] == long[same + 1 :]
    swapped = short[same : same + 2] == long[same : same + 2][::-1]
    return short[same + 1 :] == long[same + 1 :] or (
        swapped and short[same + 2 :] == long[same + 2 :]
    )
