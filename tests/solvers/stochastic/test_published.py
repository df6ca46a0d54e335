"""What the presets of Schmidt et al. (2015) stand for: section 6 and footnotes 6, 7 and 9."""

from __future__ import annotations

from typing import Any

import pytest

from partwise.solvers.registry import SOLVERS

DRAWN: dict[str, Any] = {"order": "replacement", "batch": 1}
OEG: dict[str, Any] = {"first_step": 0.5, "halvings": "few", "eta": "search"}
THEN = "permutation-then-draws"
FORMS: dict[tuple[str, str], dict[str, Any]] = {
    ("pegasos", "pegasos"): {**DRAWN, "average": False},
    ("pegasos", "pegasos-averaged"): {**DRAWN, "average": True},
    ("sgd", "sg"): {**DRAWN, "schedule": "constant"},
    ("sgd", "sg-sqrt"): {**DRAWN, "schedule": "sqrt"},
    ("sgd", "sg-inverse"): {**DRAWN, "schedule": "inverse"},
    ("asgd", "asg"): {**DRAWN, "schedule": "constant"},
    ("asgd", "asg-sqrt"): {**DRAWN, "schedule": "sqrt"},
    ("asgd", "asg-inverse"): {**DRAWN, "schedule": "inverse"},
    ("adagrad", "adagrad"): {"order": "replacement", "delta": 1.0},
    ("smd", "smd"): {"order": "replacement", "regulariser": "whole"},
    ("hybrid", "hybrid"): {"first_batch": 1, "growth": 1.1},
    ("online-eg", "oeg"): {**OEG, "start": 3.0, "order": THEN},
    ("online-eg", "oeg-norp"): {**OEG, "start": 3.0, "order": "replacement"},
    ("online-eg", "oeg-10"): {**OEG, "start": 10.0, "order": THEN},
}


@pytest.mark.parametrize(("solver", "form"), FORMS)
def test_a_published_form(solver: str, form: str) -> None:
    assert SOLVERS[solver].presets[f"schmidt2015-{form}"].options == FORMS[solver, form]
