"""Which tags may follow each other, and which scheme a file seems to use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from partwise.formats.tag_schemes import PREFIXES, SCHEME_ALIASES, TAG_SCHEMES, TagScheme

__all__ = ["broken_rule", "fits", "is_span_tag", "likely_scheme", "may_follow"]

#: The share of labels that must be tags of spans for a file to be taken as one of spans.
_MOST = 0.8


def is_span_tag(label: str) -> bool:
    """Return whether a label is ``O``, or a letter of a scheme with ``-`` and a type: ``B-NP``."""
    return label == "O" or (len(label) > 2 and label[0] in PREFIXES and label[1] == "-")


def fits(scheme: TagScheme, label: object) -> bool:
    """Return whether a label is O, or a letter of the scheme, alone or with ``-`` and a type."""
    if not isinstance(label, str) or label[:1] not in scheme.sides:
        return False
    return label == "O" if label[:1] == "O" else label[1:2] in ("", "-")


def may_follow(scheme: TagScheme, before: str | None, now: str | None) -> bool:
    """Return whether a tag may follow another one; None is the start or the end of a sentence."""
    a, b = before or "O", now or "O"
    right, left = scheme.sides[a[0]][1], scheme.sides[b[0]][0]
    same = a != "O" and b != "O" and a[1:] == b[1:]
    if "t" in (right, left):
        return same and "y" not in (right, left)
    return (same and right in "y?" and left in "y?") or (right in "n?" and left in "n?")


def likely_scheme(sentences: Iterable[Sequence[str]]) -> str | None:
    """Return the scheme of the tags of a file, by their letters; None if they are no tags.

    ``B``, ``I`` and ``O`` are IOB1 if every ``B`` follows a tag of the same type and some ``I``
    does not, and otherwise IOB2.
    """
    letters: set[str] = set()
    tagged = other = typed = 0
    first_b = first_i = 0
    for labels in sentences:
        before = "O"
        for label in labels:
            if is_span_tag(label):
                tagged += 1
                typed += label != "O"
                letters.add(label[0])
                same = before[0] != "O" and before[1:] == label[1:]
                first_b += label[0] == "B" and not same
                first_i += label[0] == "I" and not same
            else:
                other += 1
            before = label or "O"
    if not typed or tagged < _MOST * (tagged + other):
        return None
    if letters & {"L", "U"}:
        return "BILOU"
    if letters & {"E", "S"}:
        return "IOBES" if letters & {"B", "S"} else "IOE2"
    return "IOB1" if first_i and not first_b else "IOB2"


def broken_rule(name: str, before: str | None, now: str | None) -> str | None:
    """Return what is wrong with a tag after another one, and what to do; None if nothing is.

    Parameters
    ----------
    name : str
        The name of a scheme.
    before, now : str or None
        The tags; None is the start or the end of a sentence.
    """
    name = SCHEME_ALIASES.get(name, name)
    scheme = TAG_SCHEMES[name]
    if now is not None and not fits(scheme, now):
        letters = ", ".join(sorted(set(scheme.sides) - {"O"}))
        return (
            f"{now!r} is no tag of {name}: a tag is O, or one of {letters} followed by - and a "
            "type; correct it, or name another --scheme"
        )
    if (before is not None and not fits(scheme, before)) or may_follow(scheme, before, now):
        return None
    first = "at the start of a sentence" if before is None else f"after {before}"
    what = f"a sentence that ends {first}" if now is None else f"{now} {first}"
    return f"{what} breaks {name}; {_remedy(scheme, before, now)}, or name another --scheme"


def _remedy(scheme: TagScheme, before: str | None, now: str | None) -> str:
    for letter in scheme.sides:
        instead = "O" if letter == "O" else letter + (now or "O")[1:]
        if now not in (None, "O") and letter != "O" and may_follow(scheme, before, instead):
            return f"write {instead}" + (", correct the tag before it" if before else "")
    return "correct one of the two tags" if now is not None else f"correct {before}"
