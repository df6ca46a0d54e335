"""One declaration of a parameter makes its constructor, check, option, and what a model keeps."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Annotated, Any

import pytest

from partwise import SequenceTagger
from partwise.cli.parser import build_parser
from partwise.errors import DataError
from partwise.parameters import (
    HELD,
    PROCESS,
    Count,
    Declared,
    Flag,
    HashSize,
    OneOf,
    Positive,
    Within,
    declared,
)
from partwise.registry import added
from partwise.tasks.parameters import flagged, given_parameters, option_of, options_of
from partwise.tasks.registry import all_tasks
from partwise.training.settings import Parameters

ESTIMATORS = {
    name: getattr(import_module(f"partwise.{module}"), name)
    for name, module in added("estimators").items()
}


class Base(Declared):
    """Some parameters."""

    size: Annotated[Count, Flag("--size", "how many (default: {default})", "N")] = 3
    rate: Annotated[Positive | None, PROCESS] = None
    kind: Annotated[str, OneOf(("a", "b")), HELD] = "a"
    straight: Annotated[bool, Flag("--bent", "bend it", sets=False)] = True
    slots: HashSize | None = None


class Derived(Base, without=("rate",)):
    """Fewer, with another default."""

    size = 7


def test_a_class_collects_the_parameters_of_its_bases() -> None:
    assert Derived.names() == ["kind", "size", "slots", "straight"]
    assert Derived().as_dict() == {"kind": "a", "size": 7, "slots": None, "straight": True}
    assert (Base().size, Derived(size=2).size, Derived().rate) == (3, 2, None)
    assert list(inspect.signature(Derived).parameters) == ["size", "kind", "straight", "slots"]
    made = Derived(kind="b")
    made.size = 9
    assert made.fresh().as_dict() == made.as_dict()


def test_a_constructor_of_its_own_is_kept() -> None:
    class Own(Base):
        def __init__(self, both: int = 1) -> None:
            super().__init__(size=both)

    class Further(Own):
        pass

    assert Further(4).size == 4


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"size": 0}, "size is 0; give a whole number from 1"),
        ({"size": True}, "size is True; give a whole number from 1"),
        ({"rate": float("inf")}, "rate is inf; give a positive number, or None"),
        ({"rate": "1"}, "rate is '1'; give a positive number, or None"),
        ({"kind": "c"}, "kind is 'c'; use one of a, b"),
        ({"straight": 1}, "straight is 1; give True or False"),
        ({"slots": 6}, "slots is 6; give a power of two, 2 to 268435456, or None"),
        ({"slots": 10**400}, "give a power of two"),
    ],
)
def test_values_are_checked(given: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=re.escape(why)):
        Base(**given).check()
    Base(size=2, rate=0.5, slots=64).check()


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(TypeError, match=r"Base has no parameter 'sizes'; did you mean size\?"):
        Base(sizes=1)
    with pytest.raises(TypeError, match="Derived has no parameter 'rate'"):
        Derived(rate=1.0)
    with pytest.raises(TypeError, match=r"takes its parameters by name, .* name 3"):
        Base(3)


def test_a_flag_is_an_option() -> None:
    size, bent = options_of(Base)
    assert (size.flag, size.default, size.help) == ("--size", 3, "how many (default: 3)")
    assert (bent.flag, bent.default, bent.kind) == ("--bent", False, "switch")
    assert given_parameters(Base, {"size": 5, "bent": True}) == {"size": 5, "straight": False}
    assert given_parameters(Base, {"size": None, "bent": False}) == {}
    assert option_of(declared(Base)["size"], 4).default == 4


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_described_with_its_choices(name: str) -> None:
    kind = ESTIMATORS[name]
    section = inspect.cleandoc(kind.__doc__).partition("Parameters\n----------\n")[2]
    section = section.partition("\n\n")[0]
    headers = re.findall(r"^(?=\S)([^\n:]+?) : ([^\n]*)$", section, re.MULTILINE)
    told = {one.strip(): text for names, text in headers for one in names.split(",")}
    assert told.keys() == set(kind.names())
    for parameter in declared(kind).values():
        for _, limits in parameter.kinds:
            if isinstance(limits, OneOf):
                assert all(repr(one).strip("'") in told[parameter.name] for one in limits.choices)


def test_the_defaults_of_the_command_are_those_of_the_parameters() -> None:
    arguments = vars(
        build_parser().parse_args(["train", "--task", "tag", "file", "--model", "model"])
    )
    found = given_parameters(Parameters, arguments)
    own = Parameters().as_dict()
    assert {**found, "n_jobs": None} == {name: own[name] for name in {*found, "n_jobs"}}
    for task in all_tasks():
        kind: Any = import_module(task.trainer.partition(":")[0])
        trainer = getattr(kind, task.trainer.partition(":")[2])
        assert trainer.names() == task.declares.names()
        given = given_parameters(task.declares, task.defaults("train"))
        default = trainer()
        assert given == {name: getattr(default, name) for name in given}


def test_the_command_and_python_refuse_the_same_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parser, checked = build_parser(), 0
    command = ["train", "--task", "tag", "file", "--model", "model"]
    for several in flagged(SequenceTagger).values():
        (parameter, *_) = several
        plain, limits = parameter.kinds[0]
        if plain not in (int, float) or not isinstance(limits, Within):
            continue
        for value in (limits.low - 1, limits.low, limits.high, 2 * limits.high + 1):
            number = plain(value) if abs(value) < 1e300 else value
            try:
                parameter.check_value(number)
                sound = True
            except DataError:
                sound = False
            flag = parameter.flag.name if parameter.flag else ""
            try:
                parser.parse_args([*command, f"{flag}={number}"])
                taken = True
            except Exception:
                taken = False
            assert taken == sound, (parameter.name, number)
            checked += 1
    assert checked > 20
