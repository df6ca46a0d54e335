"""How often each label of a file occurs, and which of them look misspelled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from partwise.formats.brackets import Brackets
from partwise.formats.graph_file import GraphFile
from partwise.formats.svmlight import SvmlightData
from partwise.formats.tag_rules import is_span_tag
from partwise.formats.tokens import Columns

__all__ = ["label_counts", "likely_slips"]

#: A label is taken for a slip if it occurs at most so many times,
_RARE: Final = 2
#: and one that is spelled nearly alike at least so many times as often.
_TIMES: Final = 20
#: In shorter names one character makes another word: NN and NNS.
_SHORTEST: Final = 3


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
    >>> from partwise.formats.columns import read_columns
    >>> from partwise.formats.label_counts import label_counts
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
    else:
        for sentence in examples:
            yield from (relation for relation in sentence.deprel if relation != "_")


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
    >>> from partwise.formats.label_counts import likely_slips
    >>> likely_slips({"B-PRED": 70, "I-PRED": 40, "O": 900, "B-PRE": 1})
    {'B-PRE': 'B-PRED'}
    """
    tags = any(is_span_tag(label) and label != "O" for label in counts)
    types: Counter[str] = Counter()
    for label, n in counts.items():
        types[_type(label, tags)] += n
    frequent: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
    for other, n in types.items():
        if n >= _TIMES:
            for key in _shortened(other):
                frequent[key].add((n, other))
    found = {}
    for label in counts:
        kind = _type(label, tags)
        n = types[kind]
        if n > _RARE or len(kind) < _SHORTEST:
            continue
        alike = set().union(*(frequent[key] for key in _shortened(kind) if key in frequent))
        near = [(m, other) for m, other in alike if m >= _TIMES * n and _nearly_alike(kind, other)]
        if near:
            found[label] = label[: len(label) - len(kind)] + max(near)[1]
    return found


def _type(label: str, tags: bool) -> str:
    return label[2:] if tags and is_span_tag(label) and label != "O" else label


def _shortened(name: str) -> set[str]:
    """Return a name in small letters, as it is and without any one character.

    Names that are nearly alike have one of these in common, by which they are found among many.
    """
    small = name.lower()
    return {small, *(small[:i] + small[i + 1 :] for i in range(len(small)))}


def _nearly_alike(a: str, b: str) -> bool:
    """Return whether two names differ by one slip of a writer."""
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
