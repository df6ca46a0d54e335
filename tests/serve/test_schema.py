from __future__ import annotations

from typing import Any

import pytest

from partwise.serve.declarations import predict_schema
from partwise.serve.faults import Fault
from partwise.serve.limits import Limits
from partwise.serve.schema import checker

_CHECK = checker(predict_schema(Limits(max_sentences=3, max_k=5)))


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
    _CHECK(body, "")


@pytest.mark.parametrize(
    ("body", "status", "code", "where"),
    [
        ([], 422, "wrong_type", None),
        (None, 422, "wrong_type", None),
        ("text", 422, "wrong_type", None),
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
        ({"k": 0}, 422, "out_of_range", "k"),
        ({"k": 6}, 422, "out_of_range", "k"),
        ({"k": True}, 422, "wrong_type", "k"),
        ({"k": 1.0}, 422, "wrong_type", "k"),
        ({"probabilities": 1}, 422, "wrong_type", "probabilities"),
        ({"path": "/etc/passwd"}, 422, "unknown", None),
        ({"model": ["m"]}, 422, "wrong_type", "model"),
    ],
)
def test_refuses(body: Any, status: int, code: str, where: str | None) -> None:
    with pytest.raises(Fault) as caught:
        _CHECK(body, "")
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
        _CHECK({"inputs": [given]}, "")
    assert str(caught.value.record()["error"]["message"]).startswith(said)
