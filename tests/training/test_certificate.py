from __future__ import annotations

import json
import math

import pytest

from partwise.training.certificate import Certificate, relative_gap

DONE = Certificate(10.0, 9.99, 1e-2, 12.5, 0.75, "converged: the relative gap is at most tol")


def test_gaps() -> None:
    assert DONE.gap == pytest.approx(0.01)
    assert DONE.relative_gap == pytest.approx(1e-3)
    assert DONE.converged
    assert Certificate(1.0, 1.0 + 1e-15, 1e-30, 1, 1, "").gap == 0.0


@pytest.mark.parametrize(("primal", "dual"), [(-42.29, 0.0), (1.0, 1.001), (1.25e-15, 1.27e-15)])
def test_values_that_cannot_both_be_right_certify_nothing(primal: float, dual: float) -> None:
    false = Certificate(primal, dual, 0.5, 1, 1, "stopped: rounding exceeds tol")
    assert not false.consistent
    assert not false.converged
    assert false.gap == math.inf
    assert "cannot both be right" in false.doubt
    assert "false by rounding" in str(false)
    assert DONE.consistent
    assert DONE.doubt == ""


def test_tol_itself_is_converged() -> None:
    assert Certificate(2.0, 1.0, 0.5, 1, 1, "").converged
    assert not Certificate(2.0, 1.0, 0.499, 1, 1, "").converged


@pytest.mark.parametrize(
    ("primal", "dual", "expected"),
    [
        (10.0, 9.0, 0.1),
        (10.0, 10.0, 0.0),
        (10.0, 10.0 + 1e-12, 1e-13),  # the rounding of long sums may put the dual above
        (10.0, 10.0 + 1e-9, math.inf),  # nothing else may
        (0.0, 0.0, 0.0),
        (0.0, 1e-9, math.inf),
        (0.0, -1.0, math.inf),
        (-2.0, -3.0, math.inf),  # no objective is negative
        (-42.29, 0.0, math.inf),
    ],
)
def test_relative_gap(primal: float, dual: float, expected: float) -> None:
    assert relative_gap(primal, dual) == pytest.approx(expected, rel=1e-2)


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


def test_a_model_of_another_program_is_not_certified() -> None:
    nothing = Certificate.unknown("converted from Wapiti, not certified")
    assert DONE.known
    assert not nothing.known
    assert not nothing.converged
    assert nothing.gap == math.inf
    assert nothing.relative_gap == math.inf
    assert nothing.doubt == str(nothing) == "converted from Wapiti, not certified"
