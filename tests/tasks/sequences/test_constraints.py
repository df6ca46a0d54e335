from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from partwise.errors import DataError, LabelError
from partwise.structures.base import Constraints
from partwise.tasks.sequences.constraints import check_labels, make_constraints

LABELS = {
    "IOB1": ["O", "I-A", "B-A", "I-B", "B-B"],
    "IOB2": ["O", "I-A", "B-A", "I-B", "B-B"],
    "IOE1": ["O", "I-A", "E-A", "I-B", "E-B"],
    "IOE2": ["O", "I-A", "E-A", "I-B", "E-B"],
    "IOBES": [tag + kind for tag in "BIES" for kind in ("-A", "-B")] + ["O"],
    "BILOU": [tag + kind for tag in "BILU" for kind in ("-A", "-B")] + ["O"],
}


def legal(constraints: Constraints, numbers: list[int]) -> bool:
    return (
        numbers[0] not in constraints.starts
        and numbers[-1] not in constraints.ends
        and not any(pair in constraints.transitions for pair in pairwise(numbers))
    )


def spelled(scheme: str, kinds: list[tuple[int, str]]) -> list[str]:
    """Write spans of a length and a type ("" outside) as labels."""
    labels: list[str] = []
    for place, (length, kind) in enumerate(kinds):
        before = kinds[place - 1][1] if place else ""
        after = kinds[place + 1][1] if place + 1 < len(kinds) else ""
        tags = ["I"] * length
        if not kind:
            labels += ["O"] * length
            continue
        if scheme == "IOB2" or (scheme == "IOB1" and before == kind):
            tags[0] = "B"
        if scheme == "IOE2" or (scheme == "IOE1" and after == kind):
            tags[-1] = "E"
        if scheme in ("IOBES", "BILOU"):
            first, last, alone = "BES" if scheme == "IOBES" else "BLU"
            tags[0], tags[-1] = first, last
            tags = [alone] if length == 1 else tags
        labels += [f"{tag}-{kind}" for tag in tags]
    return labels


@pytest.mark.parametrize("scheme", LABELS)
def test_legal_is_what_some_spans_spell(scheme: str) -> None:
    labels = LABELS[scheme]
    constraints = make_constraints(scheme, labels)
    assert constraints is not None

    def segmentations(length: int) -> list[list[tuple[int, str]]]:
        if length == 0:
            return [[]]
        return [
            [*rest, (size, kind)]
            for size in range(1, length + 1)
            for kind in ("", "A", "B")
            for rest in segmentations(length - size)
        ]

    for length in (1, 2, 3):
        possible = {tuple(spelled(scheme, kinds)) for kinds in segmentations(length)}
        for numbers in np.ndindex(*[len(labels)] * length):
            names = tuple(labels[n] for n in numbers)
            assert legal(constraints, list(numbers)) == (names in possible), names


def test_aliases_and_bare_tags() -> None:
    assert make_constraints("BIO", ["B", "I", "O"]) == make_constraints("IOB2", ["B", "I", "O"])
    bare = make_constraints("BIO", ["B", "I", "O"])
    assert bare == Constraints(transitions=[(2, 1)], starts=[1], ends=[])
    labels = LABELS["IOBES"]
    assert make_constraints("BIOES", labels) == make_constraints("IOBES", labels)
    assert make_constraints("BIOUL", LABELS["BILOU"]) == make_constraints("BILOU", LABELS["BILOU"])


def test_pairs_functions_and_numbers_agree() -> None:
    labels = ["a", "b", "c"]
    pairs = [("a", "b"), (None, "c"), ("a", None)]
    wanted = Constraints(transitions=[(0, 1)], starts=[2], ends=[0])
    assert make_constraints(pairs, labels) == wanted
    assert make_constraints(lambda a, b: (a, b) not in pairs, labels) == wanted
    assert make_constraints(wanted, labels) == wanted
    assert make_constraints(None, labels) is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("BMES", "unknown constraints 'BMES'; use one of"),
        ("IOBES", "the label 'a' does not fit"),
        ([("a", "z")], "names? the label 'z'"),
        (["ab"], "not a pair"),
        ([("a",)], "not a pair"),
        ([(None, None)], "forbids nothing"),
        (Constraints(starts=[7]), "label number 7"),
        (Constraints(allowed=[(0, [1])]), "cannot name positions"),
        (3, "constraints of type int"),
    ],
)
def test_nonsense_is_a_sentence(given: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        make_constraints(given, ["a", "b"])


def test_labels_that_do_not_fit_a_scheme_are_named() -> None:
    for label in ("X-A", "BA", "O-A", "", 3):
        with pytest.raises(LabelError, match="does not fit the constraints BIO") as caught:
            make_constraints("BIO", ["O", label])
        sent = pickle.loads(pickle.dumps(caught.value))
        assert sent.label == label
        assert str(sent) == str(caught.value)


def test_gold_labels_are_checked_by_place() -> None:
    labels = ["B", "I", "O"]
    constraints = make_constraints("BIO", labels)
    assert constraints is not None
    check_labels(constraints, [np.array([0, 1, 2]), np.zeros(0, np.int64)], labels)
    with pytest.raises(DataError, match=r"sequence 1, position 2 .* forbid 'I' after 'O'"):
        check_labels(constraints, [np.array([2]), np.array([0, 2, 1])], labels)
    with pytest.raises(DataError, match="forbid 'I' after the start"):
        check_labels(constraints, [np.array([1])], labels)
    closed = Constraints(ends=[0], labels=[2])
    with pytest.raises(DataError, match="forbid the end after 'B'"):
        check_labels(closed, [np.array([0])], labels)
    with pytest.raises(DataError, match="forbid 'O' after 'I'"):
        check_labels(closed, [np.array([1, 2, 1])], labels)
