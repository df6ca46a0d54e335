"""Every option of every solver: what it is offered for is accepted, everything else is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import goal_of

from partwise import LinearClassifier
from partwise.errors import DataError, MismatchError
from partwise.problem.evaluation import DualPoint
from partwise.solvers.base import Solver
from partwise.solvers.coordinate.dual import Tolerance
from partwise.solvers.coordinate.entropy_blocks import Epsilons
from partwise.solvers.eg.base import Annealing
from partwise.solvers.options import Preset, default_options, settled_options
from partwise.solvers.registry import SOLVERS, make_solver

#: Values that make sense, for every option that some solver has.
SENSIBLE: dict[str, tuple[Any, ...]] = {
    "annealing": (None, Annealing(10.0), Annealing(10.0, 2, 0.5), (10.0, 2), [10.0, 2, 0.5, 0.1]),
    "average": (True, np.bool_(False)),
    "batch": (1, 5),
    "blocks": (None, 1, 3),
    "decay": (0, 0.5, 1.0),
    "delta": (1e-3, 2),
    "epsilon": (0, 0.0),  # a larger one, and a number for every, go with slack="each" only
    "eta": ("search", 0.01, np.float64(0.1)),
    "every": (None,),
    "exchanges": (None, 1, 5, "each"),
    "method": (None, "online-eg"),
    "first_batch": (None, 1, 4),
    "first_curvature": (None, 1, 0.5),
    "first_step": (0.25, 1),
    "gold": (0, 0.0, 3.0),
    "group": (True, False),
    "halvings": (None, "few", "any", 2, 10),
    "growth": (1, 1.5),
    "inner": (0.5, 2),
    "memory": (1, 5),
    "meta": (0.0, 0.1),
    "nearness": (None, 0, 2.5),
    "order": ("permutation",),
    "pairwise": (True, np.bool_(False)),
    "patience": (1, 7, None),
    "rescaling": ("margin", "slack"),
    "room": (None, 2, 30),
    "safe": (True, False),
    "regulariser": ("shared", "whole"),
    "schedule": ("decreasing", "constant", "sqrt", "inverse"),
    "share": (0.1, 1),
    "skipping": (None, True, np.bool_(False)),
    "slack": ("one", "each"),
    "smo_epochs": (None, 1, 3),
    "start": (0, 3.0, 60),
    "step": ("search", "growing", "constant"),
}
#: Options whose values have another meaning in other solvers, or that need others beside them.
DUAL_CD: dict[str, tuple[Any, ...]] = {
    "beta": (0.5,),
    "block": ("multiplier", "violating", "heap", "cyclic"),
    "epsilons": (Epsilons(), (0.1, 1e-3, 0.2), [0.5]),
    "gamma": (0.01,),
    "newton": ("modified",),
    "once": (True, False),
    "start": ("near-gold", "uniform"),
    "tolerance": (Tolerance(), (1, 1e-6), [1e-1, 1e-3, 0, 0]),
    "xi": (0.1,),
    "xi_0": (0.1,),
}
NONSENSE = (-1, -0.5, math.nan, math.inf, "nonsense", "", object(), {}, [1.0, 2.0], 1j, b"1")

ALL = [(name, option) for name in SOLVERS for option in default_options(SOLVERS[name])]


def sensible(name: str, option: str) -> tuple[Any, ...]:
    if option == "sampling":
        return {"bcfw": ("gap", "uniform"), "svrg": ("uniform",)}.get(
            name, ("uniform", "nus", "nus-2013")
        )
    if option == "delta" and name in ("sgd", "asgd"):
        return (None,)  # a number goes with one schedule only
    if name == "dual-cd" and option in DUAL_CD:
        return DUAL_CD[option]
    if name in ("sag", "saga", "sag-nus") and option in ("delta", "eta"):
        return (None, 0.1) if option == "delta" else ("search", "bound", 0.01)
    if (name, option) == ("excessive-gap", "eta"):
        return ("search", "safe", "theorem")
    values = SENSIBLE[option]
    if option == "eta" and name.endswith("-eg"):
        return (*values, "theorem", "safe")
    return (
        (*values, "trial", "carried") if (name, option) == ("online-eg", "first_step") else values
    )


def make(name: str, **options: Any) -> Solver:
    solver = SOLVERS[name]
    loss = "hinge" if "tau=0" in solver.needs or name == "bmrm" else "log"
    problem = make_instance("multiclass", loss, n=12).problem
    if "skipping" in options:
        options["sampling"] = "nus"
    return make_solver(name, goal_of(problem), options)


@pytest.mark.parametrize(("name", "option"), ALL)
def test_sensible_values_are_taken(name: str, option: str) -> None:
    for value in sensible(name, option):
        machine = make(name, **{option: value})
        machine.close()


@pytest.mark.parametrize(("name", "option"), ALL)
def test_nonsense_is_refused_in_a_sentence(name: str, option: str) -> None:
    for value in NONSENSE:
        with pytest.raises(DataError) as error:
            make(name, **{option: value})
        begin, _, allowed = str(error.value).partition("; give ")
        assert begin == f"the option {option} of {name} is {value!r}"
        assert allowed


@pytest.mark.parametrize(("name", "option"), ALL)
def test_truth_values_are_no_numbers(name: str, option: str) -> None:
    if any(isinstance(value, bool) for value in sensible(name, option)):
        with pytest.raises(DataError, match="give True or False"):
            make(name, **{option: 1})
    else:
        with pytest.raises(DataError, match=f"the option {option} of {name} is True; give "):
            make(name, **{option: True})


def test_the_words() -> None:
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("online-eg", {"first_step": -1}, "first_step of online-eg is -1; give a positive number "
         "or 'trial' or 'carried' or None"),
        ("online-eg", {"start": "x"}, "start of online-eg is 'x'; give a number from 0 or None"),
        ("online-eg", {"annealing": (10.0, 0.5)}, "annealing of online-eg is (10.0, 0.5); give "
         "(start, hold, factor, cutoff) with start a positive number, hold a whole number from 0, "
         "factor a number from 0 and below 1, cutoff a number from 0 or None"),
        ("auto", {"first_step": 0}, "first_step of online-eg is 0; give a positive number"),
        ("saga", {"share": 2.0}, "share of saga is 2.0; give a number above 0 and up to 1"),
        ("dual-cd", {"newton": "quasi"}, "newton of dual-cd is 'quasi'; give 'modified' or "
         "'line-search' or 'bisection'"),
    )  # fmt: skip
    for name, options, words in cases:
        with pytest.raises(DataError) as error:
            make(name, **options)
        assert words in str(error.value)


@pytest.mark.parametrize("name", ["sdca", "sag-nus", "lbfgs", "sgd", "newton"])
def test_where_an_earlier_fit_is_continued_is_no_option(name: str) -> None:
    """These begin at the duals of another fit, which train() hands over."""
    with pytest.raises(DataError, match=f"{name} has no option start; it has ") as error:
        make(name, start=3.0)
    assert "start" not in str(error.value).partition("it has")[2]
    with pytest.raises(DataError, match="has no option start"):
        LinearClassifier(solver=name, solver_options={"start": 3.0}).fit([[0.0], [1.0]], [0, 1])


def test_a_start_of_another_size() -> None:
    problem = make_instance().problem
    with pytest.raises(DataError, match=r"start has shape \(3,\); give one number for each of the"):
        make_solver("online-eg", goal_of(problem, point=DualPoint(np.zeros(3))))


def test_a_plain_tuple_is_an_annealing() -> None:
    first, second = (make("online-eg", annealing=a) for a in ((9.0, 1), Annealing(9.0, 1)))
    assert [first.epoch().l2 for _ in range(4)] == [second.epoch().l2 for _ in range(4)]


def test_options_that_do_not_go_together_are_another_error() -> None:
    problem = make_instance("multiclass", "hinge").problem
    with pytest.raises(MismatchError, match="use order='permutation'"):
        make_solver("online-eg", goal_of(problem), {"order": "focused"})


@pytest.mark.parametrize(
    ("name", "preset"), [(name, preset) for name in SOLVERS for preset in SOLVERS[name].presets]
)
def test_a_preset_stands_for_ordinary_options(name: str, preset: str) -> None:
    form, options = SOLVERS[name].presets[preset]
    assert form.endswith(".")
    assert options
    assert settled_options(SOLVERS[name], {"preset": preset}) == options
    assert settled_options(SOLVERS[name], options) == options


def test_a_preset_and_what_contradicts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = SOLVERS["batch-eg"]
    monkeypatch.setattr(batch, "presets", {"slow": Preset("The slow one.", {"first_step": 0.25})})
    assert make("batch-eg", preset="slow", first_step=0.25).eta == 0.25  # type: ignore[attr-defined]
    assert make("batch-eg", preset="slow", start=1.0).eta == 0.25  # type: ignore[attr-defined]
    words = "the preset slow of batch-eg stands for first_step=0.25, and first_step is 0.5; leave"
    with pytest.raises(DataError, match=words):
        make("batch-eg", preset="slow", first_step=0.5)
    with pytest.raises(DataError, match="batch-eg has no preset 'fast'; it has slow"):
        make("batch-eg", preset="fast")
    model = LinearClassifier(solver="batch-eg", solver_options={"preset": "slow"}, max_passes=1)
    with pytest.warns(UserWarning, match="gap"):
        model.fit([[0.0], [1.0]], [0, 1])


def test_a_solver_from_elsewhere_need_not_say_what_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Plain(SOLVERS["batch-eg"]):  # type: ignore[name-defined,misc]
        name = "plain"

        def __init__(self, goal, *, speed=1):  # type: ignore[no-untyped-def]
            super().__init__(goal)
            self.speed = speed

    monkeypatch.setitem(SOLVERS, "plain", Plain)
    assert tuple(default_options(Plain)) == ("speed",)
    assert make("plain", speed="any").speed == "any"  # type: ignore[attr-defined]
