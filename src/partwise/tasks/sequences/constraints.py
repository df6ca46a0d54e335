"""Hard constraints on label sequences: named schemes, forbidden pairs, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ...arrays import Ints
from ...errors import DataError, LabelError, Place
from ...formats.tag_schemes import SCHEME_ALIASES, TAG_SCHEMES, fits, may_follow
from ...structures.base import Constraints
from .segment_tags import numbered_place

__all__ = ["SCHEME_NAMES", "check_labels", "make_constraints"]

#: The names of schemes that can be given as constraints.
SCHEME_NAMES: Final = (*TAG_SCHEMES, *SCHEME_ALIASES)


def make_constraints(given: Any, labels: Sequence[Any]) -> Constraints | None:
    """Convert the constraints of a user to constraints in label numbers.

    Parameters
    ----------
    given : None, str, callable, iterable of pairs, or Constraints
        None for no constraints, or one of these:

        - the name of a scheme: ``"BIO"`` (the same as ``"IOB2"``), ``"IOB1"``, ``"IOE1"``,
          ``"IOE2"``, ``"IOBES"`` (``"BIOES"``) or ``"BILOU"`` (``"BIOUL"``);
        - a function of two neighbouring labels that returns whether the second may follow the
          first; it is called with None as the first label for the start of a sequence, and with
          None as the second for its end;
        - pairs of labels ``(a, b)`` such that b must not follow a, with the same meaning of None;
        - constraints in label numbers, which are only checked.
    labels : sequence
        The labels in the order of their numbers.

    Returns
    -------
    Constraints or None
    """
    if given is None:
        return None
    if isinstance(given, Constraints):
        return _checked(given, len(labels))
    if isinstance(given, str):
        return _from_function(_scheme(given, labels), labels)
    if callable(given):
        return _from_function(given, labels)
    if isinstance(given, Iterable):
        return _from_pairs(given, labels)
    raise DataError(
        f"constraints of type {type(given).__name__}; give the name of a scheme, pairs of labels "
        "that must not follow each other, or a function of two labels"
    )


def check_labels(
    constraints: Constraints,
    gold: Sequence[Ints],
    labels: Sequence[Any],
    place: Callable[[int, int], Place] = numbered_place,
) -> None:
    """Raise a DataError that names the first place where a gold sequence is forbidden.

    ``place`` names a position of a sequence. If the end is forbidden, it is called with the last
    position. A label of -1 is not known, and nothing is forbidden beside it.
    """
    n = len(labels)
    # Row and column n are the start and the end, and the last ones are labels that are not known.
    table = np.zeros((n + 2, n + 2), dtype=bool)
    for a, b in constraints.transitions:
        table[a, b] = True
    table[n, list(constraints.starts)] = True
    table[list(constraints.ends), n] = True
    table[:-1, list(constraints.labels)] = True
    for i, y in enumerate(gold):
        if not len(y):
            continue
        padded = np.concatenate([[n], y, [n]])
        bad = np.flatnonzero(table[padded[:-1], padded[1:]])
        if len(bad):
            t = int(bad[0])
            before = "the start" if t == 0 else repr(labels[y[t - 1]])
            after = "the end" if t == len(y) else repr(labels[y[t]])
            raise DataError(
                f"the constraints forbid {after} after {before}; "
                "correct the labels or relax the constraints",
                place=place(i, min(t, len(y) - 1)),
            )


def _checked(given: Constraints, n_labels: int) -> Constraints:
    pairs = [label for pair in given.transitions for label in pair]
    for label in (*given.labels, *pairs, *given.starts, *given.ends):
        if not 0 <= label < n_labels:
            raise DataError(
                f"the constraints name label number {label}; there are 0 to {n_labels - 1}"
            )
    if given.allowed:
        raise DataError(
            "constraints for all sequences cannot name positions; fix labels in predict"
        )
    return given


def _from_function(allowed: Callable[[Any, Any], Any], labels: Sequence[Any]) -> Constraints:
    numbered = list(enumerate(labels))
    return Constraints(
        transitions=[(i, j) for i, a in numbered for j, b in numbered if not allowed(a, b)],
        starts=[j for j, b in numbered if not allowed(None, b)],
        ends=[i for i, a in numbered if not allowed(a, None)],
    )


def _from_pairs(given: Iterable[Any], labels: Sequence[Any]) -> Constraints:
    index: dict[Any, int] = {label: number for number, label in enumerate(labels)}

    def number(label: Any) -> int:
        if label not in index:
            raise DataError(
                f"the constraints name the label {label!r}, which does not occur in training; "
                f"labels are {_some(labels)}"
            )
        return index[label]

    transitions: list[tuple[int, int]] = []
    starts: list[int] = []
    ends: list[int] = []
    for pair in given:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"the constraint {pair!r} is not a pair of labels (from, to)")
        a, b = pair
        if a is None and b is None:
            raise DataError("the constraint (None, None) forbids nothing; name at least one label")
        if a is None:
            starts.append(number(b))
        elif b is None:
            ends.append(number(a))
        else:
            transitions.append((number(a), number(b)))
    return Constraints(transitions=transitions, starts=starts, ends=ends)


def _scheme(name: str, labels: Sequence[Any]) -> Callable[[Any, Any], bool]:
    scheme = TAG_SCHEMES.get(SCHEME_ALIASES.get(name, name))
    if scheme is None:
        raise DataError(f"unknown constraints {name!r}; use one of {', '.join(SCHEME_NAMES)}")
    for label in labels:
        if not fits(scheme, label):
            raise LabelError(
                f"the label {label!r} does not fit the constraints {name}: a label is O, or one "
                f"of {', '.join(sorted(set(scheme.sides) - {'O'}))} followed by '-' and a type",
                label=label,
            )
    return partial(may_follow, scheme)


def _some(labels: Sequence[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:10])
    return shown + (", ..." if len(labels) > 10 else "")
