from __future__ import annotations

import math

import pytest

from partwise.training.certificate import Certificate
from partwise.training.result import Start

DONE = Certificate(10.0, 9.5, 0.1, 1, 1, "converged")


def test_the_optimum_lies_between_dual_and_primal() -> None:
    start = Start(12.0, 7, 7)
    assert start.above(DONE) == (2.0, 2.5)
    assert start.to_json(DONE)["relative"] == pytest.approx(2.5 / 12)
    words = start.in_words(DONE)
    assert "objective 12.000000" in words
    assert "between 9.500000 and 10.000000" in words
    assert "have no place" not in words
    assert "3 of their 7 have no place" in Start(12.0, 7, 4).in_words(DONE)


def test_a_start_at_the_optimum() -> None:
    assert Start(10.0, 1, 1).above(DONE) == (0.0, 0.5)
    # Rounding may put it below both.
    assert Start(9.4, 1, 1).above(DONE) == (0.0, 0.0)


def test_nothing_is_known_without_a_certificate() -> None:
    start = Start(10.0, 1, 1)
    assert start.above(Certificate.unknown("converted")) == (0.0, math.inf)
