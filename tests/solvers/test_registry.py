from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from support.instances import make_instance
from support.solvers import goal_of

from partwise.errors import DataError, MismatchError
from partwise.problem.problem import Problem
from partwise.solvers import registry
from partwise.solvers.base import Solver
from partwise.solvers.eg.batch import BatchEG
from partwise.solvers.eg.online import OnlineEG
from partwise.solvers.registry import SOLVERS, make_solver, offered


def make(name: str, problem: Problem | None = None, l2: float = 1.0, **more: Any) -> Solver:
    problem = problem or make_instance().problem
    return make_solver(name, goal_of(problem, l2), **more)


class Smooth(Solver):
    """Stands for a solver that needs a temperature."""

    name = "smooth"
    needs = frozenset({"marginals", "tau>0"})


def test_names() -> None:
    assert next(iter(SOLVERS)) == "auto"
    assert {name: type(make(name)) for name in ("online-eg", "batch-eg")} == {
        "online-eg": OnlineEG,
        "batch-eg": BatchEG,
    }
    assert all(name == solver.name for name, solver in SOLVERS.items())


def test_an_unknown_solver() -> None:
    with pytest.raises(
        DataError, match="unknown solver 'perceptron'; use one of auto, online-eg, batch-eg"
    ):
        make("perceptron")


def test_an_unknown_option() -> None:
    with pytest.raises(
        DataError, match=r"batch-eg has no option order, speed; it has .*first_step"
    ):
        make("batch-eg", options={"order": "permutation", "speed": 1})
    with pytest.raises(DataError, match=r"online-eg has no option speed; it has .*order"):
        make("auto", options={"speed": 1})


def test_an_unknown_order() -> None:
    with pytest.raises(DataError, match="order of online-eg is 'random'; give 'permutation'"):
        make("online-eg", options={"order": "random"})


def test_what_a_loss_offers() -> None:
    log = offered(make_instance("chain", "log").problem)
    assert {"marginals", "maximum", "tau>0"} <= log
    hinge = offered(make_instance("chain", "hinge").problem)
    assert {"marginals", "maximum"} <= hinge
    assert "tau>0" not in hinge
    assert "entropy" in offered(make_instance("untied", "hinge").problem)


def test_a_product_that_cannot_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOLVERS, "smooth", Smooth)
    with pytest.raises(MismatchError) as error:
        make("smooth", make_instance("chain", "hinge").problem)
    assert str(error.value).startswith(
        "smooth needs the log or the softmax-margin loss; for chain labels with the hinge loss use "
        "one of auto, online-eg, "
    )
    assert "sag" not in str(error.value)
    assert "bmrm" in str(error.value)


def test_solvers_whose_package_is_missing_are_not_proposed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MismatchError) as error:
        make("sag", make_instance("chain", "hinge").problem)
    assert "bcfw" in str(error.value)
    assert "bmrm" not in str(error.value)
    assert "svm-struct" not in str(error.value)


def test_no_solver_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in reversed(list(SOLVERS)):  # so that they come back in their order
        monkeypatch.delitem(SOLVERS, name)
    monkeypatch.setitem(SOLVERS, "smooth", Smooth)
    with pytest.raises(MismatchError, match="use another solver or loss"):
        make("smooth", make_instance(loss="hinge").problem)


def test_a_solver_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys; from partwise.solvers.registry import SOLVERS; "
        "within = lambda: {m for m in sys.modules if m.startswith('partwise.solvers.')}; "
        "before = within(); assert 'sdca' in SOLVERS and len(SOLVERS) > 20; "
        "assert within() == before; SOLVERS['bcfw']; "
        "assert 'partwise.solvers.margin.frank_wolfe' in within(); "
        "assert 'partwise.solvers.coordinate.sdca' not in within(); SOLVERS['auto']; "
        "assert 'scipy.optimize' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
