from __future__ import annotations

import pytest

from partwise.errors import DataError
from partwise.serve.limits import Limits
from partwise.tasks.registry import task_of


def test_limits_are_above_0() -> None:
    with pytest.raises(DataError, match="max_bytes is 0"):
        Limits(max_bytes=0)
    with pytest.raises(DataError, match="no task 'x'"):
        Limits(lengths={"x": 1})
    with pytest.raises(DataError, match="the length for tag is 0"):
        Limits(lengths={"tag": 0})


def test_lengths_that_are_not_given_are_the_usual_ones() -> None:
    limits = Limits(lengths={"tag": 5})
    assert (limits.length("tag"), limits.length("parse")) == (5, task_of("parse").longest)


def test_all_limits_are_described() -> None:
    assert all(about for _, about in Limits.described().values())
    assert Limits().numbers() == {name: one for name, (one, _) in Limits.described().items()}
