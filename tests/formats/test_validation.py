"""Labels that look misspelled."""

from __future__ import annotations

import tracemalloc

import pytest

from partwise.formats.validation import likely_slips


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("PRE", "PRED"),
        ("PREED", "PRED"),
        ("PRAD", "PRED"),
        ("PERD", "PRED"),
        ("pred", "PRED"),
        ("B-pred", "B-PRED"),
        ("I-ORGG", "I-ORG"),
        ("B-ORGG", "I-ORG"),
    ],
)
def test_slips(rare: str, common: str) -> None:
    meant = rare[:2] + common[2:] if common[1] == "-" else common
    assert likely_slips({common: 100, rare: 2}) == {rare: meant}


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"only": 1},
        {"PRED": 100, "PRE": 3},  # not rare enough
        {"PRED": 19, "PRE": 1},  # not rare beside the other one
        {"B-PRED": 100, "I-PRED": 1},  # another tag of the same type
        {"B-PRED": 100, "I-PRE": 2, "B-PRE": 1},  # three of the type
        {"NN": 100, "NS": 1},  # too short to tell
        {"PRED": 100, "DERP": 1},
        {"PRED": 100, "PR": 1},
        {"O": 100, "B-OR": 1},
    ],
)
def test_no_slips(counts: dict[str, int]) -> None:
    assert likely_slips(counts) == {}


def test_long_labels_take_memory_for_their_length() -> None:
    def most(length: int) -> int:
        tracemalloc.start()
        assert likely_slips({"a" * length + "b": 40, "a" * length: 1}) == {
            "a" * length: "a" * length + "b"
        }
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert most(8000) < 3 * most(4000)
