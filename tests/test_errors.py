"""Errors say where they are, and whoever knows more adds to it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from partwise.errors import DataError, LabelError, ModelFileError, PartwiseError, Place


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (Place(), ""),
        (Place("a.txt"), "a.txt"),
        (Place("a.txt", 3), "a.txt:3"),
        (Place("a.txt", 3, 7), "a.txt:3:7"),
        (Place.item("y", 3), "y[3]"),
        (Place.item("fixed", 3, "position", 1), "fixed[3], position 1"),
        (Place.nth("tree", 3), "tree 3 (counted from 0)"),
        (Place.nth("sequence", 3, "token", 1), "sequence 3, token 1 (counted from 0)"),
        (Place.nth("row", 3, argument="X"), "X: row 3 (counted from 0)"),
        (Place(part="token", position=1), "token 1 (counted from 0)"),
        (Place("a.txt", unit="example", example=3), "a.txt: example 3 (counted from 0)"),
    ],
)
def test_places(place: Place, told: str) -> None:
    assert str(place) == told


def test_sentences() -> None:
    place = Place.item("y", 3)
    assert str(DataError("no label")) == "no label"
    assert str(DataError("no label", place=place)) == "y[3]: no label"
    assert str(DataError("is no label", place=place, subject=True)) == "y[3] is no label"
    both = DataError("no label", place=place, remedy="add one")
    assert (str(both), both.sentence) == ("y[3]: no label; add one", "no label; add one")


@pytest.mark.parametrize(
    ("place", "outer", "found"),
    [
        (Place(), {"file": "a"}, Place("a")),
        (Place(line=3), {"file": "a", "line": 9}, Place("a", 3)),
        (Place("a", 3), {"file": "b"}, Place("a", 3)),
        (Place.nth("tree", 2), {"first": 10}, Place.nth("tree", 12)),
        (Place.nth("tree", 2), {"first": 10, "example": 7, "unit": "row"}, Place.nth("tree", 12)),
        (Place("a", 3), {"first": 10}, Place("a", 3)),
        (
            Place(part="token", position=1),
            {"unit": "sequence", "example": 0},
            Place.nth("sequence", 0, "token", 1),
        ),
    ],
)
def test_who_knows_more_adds_to_the_place(
    place: Place, outer: dict[str, Any], found: Place
) -> None:
    error = DataError("wrong", place=place)
    assert error.within(**outer) is error
    assert error.place == found


@pytest.mark.parametrize(
    "error",
    [
        DataError("wrong", place=Place("a", 3), remedy="mend it"),
        LabelError("is wrong", label="B", place=Place.item("y", 3), subject=True),
        ModelFileError("is damaged", place=Place("m"), subject=True),
    ],
)
def test_errors_cross_processes(error: PartwiseError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))
