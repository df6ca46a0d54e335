from __future__ import annotations

import gzip
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.svmlight import read_svmlight
from partwise.problem.rows import Rows


def dense(rows: Rows) -> np.ndarray:
    array = np.zeros((len(rows), rows.n_features))
    values = np.ones(len(rows.indices)) if rows.values is None else rows.values
    array[np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), rows.indices] = values
    return array


@pytest.fixture
def put(tmp_path):
    def write(text: str | bytes) -> str:
        path = tmp_path / "data.svm"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_a_small_file(put):
    path = put("# a comment\n+1 3:0.5 1:2e-1 # more\n\n-1\n1.0\t2:-.5 4:0\r\n")
    data = read_svmlight(path)
    assert data.path == path
    assert data.labels == ["1", "-1", "1"]
    assert data.lines.tolist() == [2, 4, 5]
    assert dense(data.rows).tolist() == [[0.2, 0, 0.5, 0], [0, 0, 0, 0], [0, -0.5, 0, 0]]
    assert data.rows.indices.tolist() == [0, 2, 1]


def test_gzip_and_unit_values(put):
    data = read_svmlight(put(gzip.compress(b"a 1:1 2:1.0\nb 2:1\n")))
    assert data.rows.values is None
    assert data.labels == ["a", "b"]


@pytest.mark.parametrize(
    ("label", "canonical"),
    [
        ("+1", "1"), ("01", "1"), ("1.0", "1"), ("-1e0", "-1"), ("-0", "0"), ("-0.0", "0"),
        ("1.5", "1.5"), ("cat", "cat"), ("1_0", "1_0"), ("1e300", "1e300"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)  # fmt: skip
def test_labels_are_canonical(put, label, canonical):
    assert read_svmlight(put(f"{label} 1:1\n")).labels == [canonical]


def test_qid_is_counted(put, caplog):
    caplog.set_level(logging.INFO, "partwise")
    data = read_svmlight(put("1 qid:3 1:5\n2 qid:4\n"))
    assert dense(data.rows).tolist() == [[5], [0]]
    assert "ignored 2 qid fields" in caplog.text


def test_unlabelled(put):
    data = read_svmlight(put("1:2 2:3\nqid:1 2:1\n"), labelled=False)
    assert data.labels is None
    assert dense(data.rows).tolist() == [[2, 3], [0, 1]]
    assert read_svmlight(put("a 1:2\nb 1:3\n"), labelled=False).labels == ["a", "b"]
    assert read_svmlight(put("a 1:2\n1:3\n"), labelled=False).labels is None
    assert len(read_svmlight(put(""), labelled=False).rows) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no examples"),
        ("# only a comment\n", "no examples"),
        ("1 1:1\n3:1 4:1\n", r":2: begins with '3:1' where a label is expected"),
        ("1 1:1\n1 2\n", r":2: '2': not a pair"),
        ("1 1:1\n1 2:\n", r":2: '2:': not a pair"),
        ("1 2:3:4 5\n", r":1: '2:3:4': not a pair"),
        ("1 a:3\n", r":1: 'a:3': not a pair"),
        ("1 1:x\n", r":1: '1:x': not a pair"),
        ("1 1:1_0\n", r"not a pair"),
        ("1 1:\u0663\n", r"not a pair"),
        ("1 1.5:1\n", r"not a pair"),
        ("1\n1 1:1 0:1\n", r":2: '0:1': indices begin at 1; .* add 1"),
        ("1 -3:1\n", r":1: '-3:1': indices begin at 1"),
        ("1 99999999999999999999:1\n", r"indices end at"),
        ("1 1:1\n1 2:nan\n", r":2: '2:nan': values must be finite"),
        ("1 2:-inf\n", r":1: '2:-inf': values must be finite"),
        ("1 2:1e999\n", r":1: '2:1e999': values must be finite"),
        ("1 1:1\n1 2:1 1:1 2:3\n", r":2: '2:3': the index occurs twice"),
        ("1 2:0 2:0\n", r":1: '2:0': the index occurs twice"),
        ("1 1:1\n1,2 1:1\n", r":2: label '1,2' names several classes"),
        ("nan 1:1\n", r":1: label 'nan' is not a class"),
        (b"1 1:1\n\xff 1:1\n", r":2: byte 0xff is not UTF-8"),
    ],
)
def test_refusals_name_the_place(put, text, message):
    path = put(text)
    with pytest.raises(DataError, match=message) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(path)


_row = st.dictionaries(
    st.integers(0, 12), st.floats(allow_nan=False, allow_infinity=False), max_size=6
)


@given(st.lists(st.tuples(st.integers(-3, 3), _row), min_size=1, max_size=8))
def test_reads_what_was_written(tmp_path_factory, examples):
    lines = (
        f"{label} " + " ".join(f"{index + 1}:{value!r}" for index, value in row.items())
        for label, row in examples
    )
    path = tmp_path_factory.mktemp("svm") / "data"
    path.write_text("\n".join(lines))
    data = read_svmlight(path)
    assert data.labels == [str(label) for label, _ in examples]
    expected = np.zeros((len(examples), data.rows.n_features))
    for i, (_, row) in enumerate(examples):
        for index, value in row.items():
            expected[i, index] = value
    assert np.array_equal(dense(data.rows), expected)
