from __future__ import annotations

import json
import math

import pytest

from partwise.certificate import Certificate, relative_gap

DONE = Certificate(10.0, 9.99, 1e-2, 12.5, 0.75, "converged: the relative gap is at most tol")


def test_gaps() -> None:
    assert DONE.gap == pytest.approx(0.01)
    assert DONE.relative_gap == pytest.approx(1e-3)
    assert DONE.converged
    assert Certificate(1.0, 1.0 + 1e-15, 1e-30, 1, 1, "").gap == 0.0


def test_tol_itself_is_converged() -> None:
    assert Certificate(2.0, 1.0, 0.5, 1, 1, "").converged
    assert not Certificate(2.0, 1.0, 0.499, 1, 1, "").converged


@pytest.mark.parametrize(
    ("primal", "dual", "expected"),
    [
        (10.0, 9.0, 0.1),
        (10.0, 10.0, 0.0),
        (10.0, 10.0 + 1e-9, 0.0),  # rounding may put the dual above
        (0.0, 0.0, 0.0),
        (0.0, -1.0, math.inf),
        (-2.0, -3.0, 0.5),
    ],
)
def test_relative_gap(primal: float, dual: float, expected: float) -> None:
    assert relative_gap(primal, dual) == pytest.approx(expected)


def test_what_is_not_a_number_is_not_converged() -> None:
    for primal, dual in ((math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0), (1.0, -math.inf)):
        assert not Certificate(primal, dual, 1e-4, 1, 1, "").converged


def test_json_and_back() -> None:
    data = json.loads(json.dumps(DONE.to_json()))
    assert (data["gap"], data["relative_gap"], data["converged"]) == (
        DONE.gap,
        DONE.relative_gap,
        True,
    )
    assert Certificate.from_json(data) == DONE


def test_one_line() -> None:
    text = str(DONE)
    assert "\n" not in text
    for word in ("10.000000", "9.990000", "1.00e-03", "tol 1e-02", "12.5 passes"):
        assert word in text
