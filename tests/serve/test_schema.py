from __future__ import annotations

from typing import Any

import pytest

from partwise.serve.api import routes
from partwise.serve.faults import Fault
from partwise.serve.limits import Limits
from partwise.serve.schema import checker

_ONE: dict[str, Any] = {"input": {"text": "a"}}


def _check(body: Any, *models: str) -> None:
    request = routes(Limits(max_sentences=3, max_k=5), models)["/predict"].request
    assert request is not None
    checker(request.schema)(body, "")


@pytest.mark.parametrize(
    "body",
    [
        {"input": {"text": "a"}},
        {"inputs": [{"tokens": ["a"]}, {"features": {"a": 1}}, {"features": [1]}], "k": 5},
        {"input": {"nodes": [[1]], "edges": [[0, 1]]}, "probabilities": True, "marginals": False},
        {"model": "m", "input": {"tokens": [{"w": {"x": []}}], "transitions": []}},
    ],
)
def test_accepts(body: Any) -> None:
    _check(body)


@pytest.mark.parametrize(
    ("body", "status", "code", "where"),
    [
        ([], 422, "wrong_type", None),
        (None, 422, "wrong_type", None),
        ("text", 422, "wrong_type", None),
        ({}, 422, "missing", None),
        ({"k": 2}, 422, "missing", None),
        ({**_ONE, "inputs": [_ONE["input"]]}, 422, "missing", None),
        ({"inputs": {}}, 422, "wrong_type", "inputs"),
        ({"inputs": []}, 422, "too_short", "inputs"),
        ({"inputs": [{"text": "a"}] * 4}, 413, "too_long", "inputs"),
        ({"input": {}}, 422, "missing", "input"),
        ({"input": {"text": "a", "tokens": ["a"]}}, 422, "missing", "input"),
        ({"input": {"text": 1}}, 422, "wrong_type", "input.text"),
        ({"input": {"text": "a" * 200_001}}, 413, "too_long", "input.text"),
        ({"input": {"text": "a", "x": 1}}, 422, "unknown", "input"),
        ({"inputs": [{"text": "a"}, {"tokens": []}]}, 422, "too_short", "inputs[1].tokens"),
        ({"input": {"tokens": "abc"}}, 422, "wrong_type", "input.tokens"),
        ({"input": {"nodes": [1], "edges": [1]}}, 422, "wrong_type", "input.edges[0]"),
        ({"input": "a"}, 422, "wrong_type", "input"),
        ({**_ONE, "k": 0}, 422, "out_of_range", "k"),
        ({**_ONE, "k": 6}, 422, "out_of_range", "k"),
        ({**_ONE, "k": 10**400}, 422, "out_of_range", "k"),
        ({**_ONE, "k": True}, 422, "wrong_type", "k"),
        ({**_ONE, "k": 1.0}, 422, "wrong_type", "k"),
        ({**_ONE, "probabilities": 1}, 422, "wrong_type", "probabilities"),
        ({**_ONE, "path": "/etc/passwd"}, 422, "unknown", None),
        ({**_ONE, "model": ["m"]}, 422, "wrong_type", "model"),
    ],
)
def test_refuses(body: Any, status: int, code: str, where: str | None) -> None:
    with pytest.raises(Fault) as caught:
        _check(body)
    fault = caught.value
    assert (fault.status, fault.code, fault.where) == (status, code, where)
    assert fault.record()["error"]["message"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"txet": "a"}, "inputs[0] has 'txet' only; give one of 'text' or 'tokens'"),
        ({"a": 1, "b": 2}, "inputs[0] has 'a' and 'b' only; give one of"),
        ({}, "inputs[0] is empty; give one of"),
        ({"text": "a", "tokens": ["a"]}, "inputs[0] has 'text' and 'tokens'; give one of"),
        ({"x" * 500: 1}, "inputs[0] has '" + "x" * 39 + " only; give one of"),
    ],
)
def test_names_the_keys_that_are_there(given: dict[str, Any], said: str) -> None:
    with pytest.raises(Fault) as caught:
        _check({"inputs": [given]})
    assert str(caught.value.record()["error"]["message"]).startswith(said)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "the body is empty; give one of 'input' or 'inputs'"),
        ({"k": 1}, "the body has 'k' only; give one of 'input' or 'inputs'"),
        ({**_ONE, "model": 1}, "model is the number 1; give a string"),
        ({**_ONE, "model": True}, "model is true; give a string"),
        ({**_ONE, "k": None}, "k is null; give a whole number"),
        ({**_ONE, "k": 10**400}, "k is 1" + "0" * 35 + " ...; give 1 to 5"),
    ],
)
def test_what_is_told(body: Any, said: str) -> None:
    with pytest.raises(Fault) as caught:
        _check(body)
    assert caught.value.message == said


def test_a_model_must_be_named_if_there_are_several() -> None:
    _check(_ONE, "a")
    _check({**_ONE, "model": "a"}, "a", "b")
    with pytest.raises(Fault, match=r"has no 'model'\. There are several models; name one: a, b"):
        _check(_ONE, "a", "b")
