from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.serve.faults import Fault
from partwise.serve.json_text import read_json, write_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet='ab"\\[]{}\n'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)  # fmt: skip


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(_VALUES)
def test_reads_what_the_standard_library_reads(value: Any) -> None:
    assert read_json(json.dumps(value).encode(), 32) == value


@given(_VALUES, st.integers(1, 5))
def test_the_depth_is_counted(value: Any, most: int) -> None:
    text = json.dumps(value).encode()
    if _depth(value) <= most:
        assert read_json(text, most) == value
    else:
        with pytest.raises(Fault, match=f"deeper than {most} levels"):
            read_json(text, most)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_json"),
        (b"{", "too_deep"),
        (b'{"a": 1,}', "not_json"),
        (b"NaN", "not_json"),
        (b"[Infinity]", "not_json"),
        (b"-Infinity", "not_json"),
        (b"1" * 10_000, "not_json"),
        (b'{"a": 1, "a": 2}', "not_json"),
        (b'"\xff"', "not_utf8"),
        (b"'a'", "not_json"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 100_000, "too_deep"),
        (b"[" * 50 + b"]" * 50, "too_deep"),
        (b'["' + b"[" * 100_000, "too_deep"),
        (b"]]]]", "not_json"),
        (b'"\\', "not_json"),
    ],
)
def test_refuses(body: bytes, code: str) -> None:
    with pytest.raises(Fault) as caught:
        read_json(body, 32)
    assert (caught.value.status, caught.value.code) == (400, code)


def test_brackets_in_strings_are_no_depth() -> None:
    assert read_json(json.dumps({"a": '[[[[{{{"\\' * 20}).encode(), 2) == {"a": '[[[[{{{"\\' * 20}


def test_writes_ascii_even_for_what_is_no_unicode() -> None:
    assert json.loads(write_json({"é": "\ud800"})) == {"é": "\ud800"}
    assert write_json("é") == b'"\\u00e9"'


def test_writes_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(float("nan"))
