from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from partwise.errors import ModelFileError
from partwise.files.container import FORMAT_VERSION, read_container, write_container

DTYPES = ["<f8", "<f4", "<i8", "<i4", "<i2", "|u1", "|b1"]
SAME_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
headers = st.dictionaries(st.text(), json_values, max_size=4)
arrays_of = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0))
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "a.model"
    arrays = {"w": np.arange(40.0), "mask": np.array([True, False]), "none": np.zeros((0, 7))}
    write_container(path, {"kind": "tagger", "l2": 1.0}, arrays)
    return path


def refuses(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        read_container(path)
    message = str(caught.value)
    assert str(path) in message
    assert "; " in message
    assert "\n" not in message
    return message


def with_checksum(version: int, text: bytes, rest: bytes, text_length: int | None = None) -> bytes:
    length = 64 + len(text) + len(rest)
    body = struct.pack("<QQ", length, len(text) if text_length is None else text_length)
    body += text + rest
    prologue = struct.pack("<9sxHxxxx", b"partwise\n", version)
    return prologue + hashlib.sha256(body).digest() + body


def padded(text: bytes, rest: bytes = b"") -> bytes:
    text = text.ljust(-(-len(text) // 64) * 64)
    return with_checksum(FORMAT_VERSION, text, rest)


def entry(**changes: Any) -> dict[str, Any]:
    return {"name": "w", "dtype": "<f8", "shape": [2], "offset": 256, "nbytes": 16, **changes}


def with_entries(*entries: Any, rest: bytes = bytes(16), header: Any = None) -> bytes:
    document = {"header": {} if header is None else header, "arrays": list(entries)}
    text = json.dumps(document).encode()
    return with_checksum(FORMAT_VERSION, text.ljust(192) if len(text) <= 192 else text, rest)


@SAME_FOLDER
@given(header=headers, arrays=st.dictionaries(st.text(), arrays_of, max_size=4))
def test_round_trip(tmp_path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    path = tmp_path / "a.model"
    write_container(path, header, arrays)
    found_header, found = read_container(path)
    assert found_header == header
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.c_contiguous
        assert found[name].flags.writeable
        address = found[name].__array_interface__["data"][0]
        assert array.size == 0 or address % 64 == 0
    assert os.listdir(tmp_path) == ["a.model"]


def test_orders_and_endianness_are_normalised(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    grid = np.arange(12.0).reshape(3, 4)
    write_container(path, {}, {"t": grid.T, "step": grid[:, ::2], "big": grid.astype(">f8")})
    _, found = read_container(path)
    np.testing.assert_array_equal(found["t"], grid.T)
    np.testing.assert_array_equal(found["step"], grid[:, ::2])
    np.testing.assert_array_equal(found["big"], grid)
    assert {array.dtype.str for array in found.values()} == {"<f8"}


def test_brackets_in_strings_are_not_nesting(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    write_container(path, {"vocabulary": ["[", "{"] * 3000}, {})
    assert read_container(path)[0] == {"vocabulary": ["[", "{"] * 3000}


def test_one_map_is_shared_by_all_arrays(model: Path) -> None:
    _, found = read_container(model)
    assert all(isinstance(array.base, np.memmap) for array in found.values())


def test_writing_to_an_array_changes_neither_the_file_nor_other_readers(model: Path) -> None:
    before = model.read_bytes()
    _, mine = read_container(model)
    _, other = read_container(model)
    mine["w"][0] = 7.0
    assert other["w"][0] == 0.0
    assert model.read_bytes() == before


def test_same_content_gives_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_container(tmp_path / name, {"x": [1, 2]}, {"w": np.ones(3)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# Damage


@SAME_FOLDER
@given(data=st.data())
def test_any_truncation_is_refused(model: Path, data: st.DataObject) -> None:
    whole = model.read_bytes()
    length = data.draw(st.integers(0, len(whole) - 1))
    message = refuses(model.with_name("cut"), whole[:length])
    if length >= 64:
        assert f"truncated: {length:,} bytes where its header promises {len(whole):,}" in message


@SAME_FOLDER
@given(data=st.data())
def test_any_flipped_bit_is_refused(model: Path, data: st.DataObject) -> None:
    damaged = bytearray(model.read_bytes())
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    refuses(model.with_name("flipped"), bytes(damaged))


@SAME_FOLDER
@given(tail=st.binary(min_size=1, max_size=100))
def test_appended_bytes_are_refused(model: Path, tail: bytes) -> None:
    assert "too long" in refuses(model.with_name("long"), model.read_bytes() + tail)


@SAME_FOLDER
@given(noise=st.binary(max_size=300), magic=st.booleans())
def test_random_bytes_are_refused(tmp_path: Path, noise: bytes, magic: bool) -> None:
    prefix = struct.pack("<9sxHxxxx", b"partwise\n", FORMAT_VERSION) if magic else b""
    refuses(tmp_path / "noise", prefix + noise)


def test_other_version_is_refused_by_both_numbers(tmp_path: Path) -> None:
    message = refuses(tmp_path / "later", with_checksum(7, b"{}", b""))
    assert "version 7" in message
    assert f"version {FORMAT_VERSION}" in message


# Malice: the checksum is right, the contents are not


@SAME_FOLDER
@given(text=st.binary(max_size=200), rest=st.binary(max_size=100))
def test_any_bytes_as_header_are_refused(tmp_path: Path, text: bytes, rest: bytes) -> None:
    refuses(tmp_path / "hostile", with_checksum(FORMAT_VERSION, text, rest))


@SAME_FOLDER
@given(document=json_values)
def test_any_json_as_header_is_refused(tmp_path: Path, document: Any) -> None:
    refuses(tmp_path / "hostile", padded(json.dumps(document).encode()))


def test_crafted_file_is_accepted_when_honest(tmp_path: Path) -> None:
    path = tmp_path / "honest"
    path.write_bytes(with_entries(entry()))
    assert read_container(path)[1]["w"].tolist() == [0.0, 0.0]


wild = json_values | st.sampled_from(
    [-1, 0, 2, 8, 16, 255, 256, 2**31, 2**63, 2**64, 10**30, True, 2.0, "<f8", "|O", ">f8", "<M8"]
)
shapes = st.lists(wild, max_size=10)


@SAME_FOLDER
@given(field=st.sampled_from(sorted(entry())), value=wild | shapes)
def test_any_change_of_an_entry_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / "hostile"
    data = with_entries(entry(**{field: value}))
    path.write_bytes(data)
    try:
        _, arrays = read_container(path)
    except ModelFileError:
        return
    # What is accepted must be another honest description of the same 16 bytes.
    (array,) = arrays.values()
    assert array.nbytes == 16
    assert array.tobytes() == bytes(16)


@pytest.mark.parametrize(
    "entries",
    [
        [entry(), entry()],
        [entry(), entry(name="v")],
        [entry(shape=[-2])],
        [entry(shape=[2**62, 2**62], nbytes=16)],
        [entry(shape=[0, 2**62, 2**62], nbytes=0)],
        [entry(shape=[2**40], nbytes=2**43)],
        [entry(shape=[1] * 40 + [2])],
        [entry(offset=0)],
        [entry(offset=-256)],
        [entry(offset=True)],
        [entry(dtype="|O")],
        [entry(dtype=["<f8"])],
        [entry(name=None)],
        [entry(extra=1)],
        [{"name": "w"}],
        [None],
        [],
    ],
)
def test_hostile_entries_are_refused(tmp_path: Path, entries: list[Any]) -> None:
    refuses(tmp_path / "hostile", with_entries(*entries))


@pytest.mark.parametrize(
    "text",
    [
        b'{"header": {"a": 1, "a": 2}, "arrays": []}',
        b'{"header": {"a": NaN}, "arrays": []}',
        b'{"header": {"a": -Infinity}, "arrays": []}',
        b'{"header": {"a": 1e999}, "arrays": []}',
        b'{"header": {"a": ' + b"9" * 10_000 + b'}, "arrays": []}',
        b'{"header": {"a": ' + b"[" * 200_000 + b"]" * 200_000 + b'}, "arrays": []}',
        b'{"header": ' + b'{"a":' * 200_000,
        b'{"header": {}, "arrays": {}}',
        b'{"header": [], "arrays": []}',
        b'{"header": {}}',
        b'\xef\xbb\xbf{"header": {}, "arrays": []}',
        b'{"header": {"\xff": 1}, "arrays": []}',
        b"",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_hostile_json_is_refused(tmp_path: Path, text: bytes) -> None:
    refuses(tmp_path / "hostile", padded(text))


def test_lists_in_lists_are_refused(tmp_path: Path) -> None:
    for levels in (63, 500):
        text = b'{"header": {"a": ' + b"[" * levels + b"]" * levels + b'}, "arrays": []}'
        assert "levels" in refuses(tmp_path / "hostile", padded(text))
    made: Any = []
    for _ in range(61):
        made = [made]
    write_container(tmp_path / "deep", {"a": made}, {})
    assert read_container(tmp_path / "deep")[0] == {"a": made}
    with pytest.raises(ModelFileError, match="levels"):
        write_container(tmp_path / "deeper", {"a": [made]}, {})


def test_header_longer_than_the_file_is_refused(tmp_path: Path) -> None:
    refuses(tmp_path / "hostile", with_checksum(FORMAT_VERSION, b"{}", b"", 2**63))


def test_truth_values_other_than_0_and_1_are_refused(tmp_path: Path) -> None:
    mask = entry(dtype="|b1", shape=[16])
    message = refuses(tmp_path / "hostile", with_entries(mask, rest=bytes(15) + b"\2"))
    assert "neither 0 nor 1" in message


# Writing


@pytest.mark.parametrize(
    ("header", "arrays", "says"),
    [
        ({"a": float("nan")}, {}, "header"),
        ({"a": {1, 2}}, {}, "header"),
        ({1: "a", "1": "b"}, {}, "twice"),
        ({}, {"w": np.array(["a"])}, "dtype"),
        ({}, {"w": np.array([object()])}, "dtype"),
        ({}, {"w": np.ones(2, dtype=np.complex128)}, "dtype"),
        ({}, {"w": np.ones((1,) * 9)}, "dimensions"),
        ({}, {3: np.ones(2)}, "name"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    tmp_path: Path, header: Any, arrays: Any, says: str
) -> None:
    with pytest.raises(ModelFileError, match=says):
        write_container(tmp_path / "a.model", header, arrays)
    assert os.listdir(tmp_path) == []


def test_unwritable_places_are_sentences(tmp_path: Path) -> None:
    for path in (tmp_path / "none" / "a.model", tmp_path):
        with pytest.raises(ModelFileError, match=re.escape(str(path)) + " cannot be written"):
            write_container(path, {}, {})
    assert os.listdir(tmp_path) == []


def test_unreadable_places_are_sentences(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(ModelFileError, match=re.escape(str(path)) + " cannot be read"):
            read_container(path)


def test_streams_are_refused() -> None:
    with pytest.raises(ModelFileError, match="stream"):
        write_container("-", {}, {})
    with pytest.raises(ModelFileError, match="stream"):
        read_container("-")


def test_failed_write_keeps_the_old_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.read_bytes()

    def fails(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(ModelFileError, match="No space left"):
        write_container(model, {}, {"w": np.zeros(1000)})
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_loaded_arrays_survive_replacement(model: Path) -> None:
    _, old = read_container(model)
    write_container(model, {}, {"w": np.zeros(3)})
    assert old["w"].tolist() == list(range(40))
