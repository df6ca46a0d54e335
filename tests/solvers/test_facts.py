"""What users are told about the solvers is what the solvers do."""

from __future__ import annotations

import pytest
from support.instances import make_instance
from support.solver_tables import PAGE, option_table, solver_table, tables_of
from support.solvers import goal_of

from partwise.cli.train_and_path import spelled
from partwise.errors import MismatchError, OptionError
from partwise.solvers.automatic import first_choice, first_choices
from partwise.solvers.facts import facts_of
from partwise.solvers.options import default_options, read_option
from partwise.solvers.registry import SOLVERS, make_solver


def test_the_page_has_the_tables_of_the_registry() -> None:
    """`python -m support.solver_tables` writes them."""
    assert tables_of(PAGE.read_text("utf-8")) == [solver_table(), option_table()]


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "auto"])
def test_every_solver_is_described(name: str) -> None:
    facts = facts_of(SOLVERS[name])
    assert facts.summary.endswith((".", "..."))
    assert facts.papers
    assert [option.name for option in facts.options] == list(default_options(SOLVERS[name]))
    for option in facts.options:
        assert option.values, option
        assert len(option.description) > 10, option
        assert ":class:" not in option.description


@pytest.mark.parametrize("name", list(SOLVERS))
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
def test_the_losses_are_those_that_are_not_refused(name: str, loss: str) -> None:
    problem = make_instance("multiclass", loss, n=6).problem
    facts = facts_of(SOLVERS[name])
    try:
        make_solver(name, goal_of(problem)).close()
    except MismatchError:
        assert loss not in facts.losses
    else:
        assert loss in facts.losses


def test_defaults_can_be_read_from_text() -> None:
    for name in SOLVERS:
        for option, value in default_options(SOLVERS[name]).items():
            assert read_option(SOLVERS[name], option, spelled(value)) == value


@pytest.mark.parametrize(
    ("name", "option", "text", "value"),
    [
        ("online-eg", "annealing", "1000,5,0.9", (1000, 5, 0.9)),
        ("online-eg", "annealing", "(1e3, 5)", (1000.0, 5)),
        ("online-eg", "annealing", "none", None),
        ("online-eg", "first_step", "trial", "trial"),
        ("online-eg", "first_step", "2", 2),
        ("online-eg", "eta", "safe", "safe"),
        ("lbfgs", "memory", "5", 5),
        ("sgd", "eta", "1e-3", 1e-3),
    ],
)
def test_values_from_text(name: str, option: str, text: str, value: object) -> None:
    found = read_option(SOLVERS[name], option, text)
    assert found == value
    assert isinstance(found, type(value))


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [
        ("online-eg", "annealing", "1000,5,0.9,3,4"),
        ("online-eg", "annealing", "1000,half"),
        ("online-eg", "eta", "true"),
        ("online-eg", "first_step", "-1"),
        ("lbfgs", "memory", "5.0"),
        ("lbfgs", "memory", "none"),
        ("lbfgs", "memory", ""),
    ],
)
def test_text_that_is_no_value(name: str, option: str, text: str) -> None:
    with pytest.raises(OptionError, match=f"the option {option} of {name} is {text!r}; give "):
        read_option(SOLVERS[name], option, text)


@pytest.mark.parametrize("structure", ["multiclass", "chain"])
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin"])
@pytest.mark.parametrize("l1", [0.0, 1.0])
@pytest.mark.parametrize("l2", [1e-9, 1e3])
def test_auto_begins_with_one_of_the_announced(
    structure: str, loss: str, l1: float, l2: float
) -> None:
    if l1 and loss == "hinge":
        return
    problem = make_instance(structure, loss, n=6).problem
    name, _ = first_choice(problem, l2, l1, {"any": 1})
    assert name in first_choices(loss, l1)
