from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError
from partwise.formats.columns import Columns, read_columns, write_columns
from partwise.formats.source import read_text, writing

SMALL = "He PRP B-NP\nsaw VBD B-VP\n\nit PRP B-NP\n"


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def put(folder: Path, data: bytes | str, name: str = "data.txt") -> str:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def same(a: Columns, b: Columns) -> bool:
    return (
        a.fields == b.fields
        and a.labels == b.labels
        and np.array_equal(a.lengths, b.lengths)
        and np.array_equal(a.lines, b.lines)
    )


def test_a_small_file(tmp_path):
    path = put(tmp_path, SMALL)
    columns = read_columns(path)
    assert columns.path == path
    assert columns.fields == (["He", "saw", "it"], ["PRP", "VBD", "PRP"])
    assert columns.labels == ["B-NP", "B-VP", "B-NP"]
    assert columns.lengths.tolist() == [2, 1]
    assert columns.lines.tolist() == [1, 2, 4]
    assert columns.lengths.dtype == columns.lines.dtype == np.int64
    assert columns.split(columns.fields[0]) == [["He", "saw"], ["it"]]
    assert len(columns) == 3


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("\n", "\r\n"),
        SMALL.replace("\n", "\r"),
        SMALL.rstrip("\n"),
        SMALL + "\n\n  \n",
        "\ufeff" + SMALL,
        SMALL.replace(" ", "   "),
        SMALL.replace(" ", "\t"),
        SMALL.replace("\n\n", "\n \t \n"),
        SMALL.replace(" ", "\t").replace("\n\n", "\n\t \n"),
        SMALL.replace("it PRP", "it\tPRP"),
        " " + SMALL.replace("\n", " \n  "),
    ],
)
def test_spellings_of_the_same_file(tmp_path, text):
    assert same(read_columns(put(tmp_path, SMALL)), read_columns(put(tmp_path, text, "other")))


def test_gzip_is_known_by_its_bytes(tmp_path):
    plain = read_columns(put(tmp_path, SMALL))
    assert same(plain, read_columns(put(tmp_path, gzip.compress(SMALL.encode()), "a.txt")))
    assert same(plain, read_columns(put(tmp_path, SMALL, "plain.gz")))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(sys, "stdin", Stdin(pack(SMALL.encode())))
    columns = read_columns("-")
    assert columns.path == "<stdin>"
    assert same(columns, read_columns(put(tmp_path, SMALL)))


def test_leading_blank_lines_count(tmp_path):
    columns = read_columns(put(tmp_path, "\n\na b\n\n\nc d"))
    assert columns.lines.tolist() == [3, 6]
    assert columns.lengths.tolist() == [1, 1]


def test_tabs_let_fields_hold_blanks_and_be_empty(tmp_path):
    columns = read_columns(put(tmp_path, "New York\t\tB\nis\tV\tO\n"))
    assert columns.fields == (["New York", "is"], ["", "V"])
    assert columns.separator == "\t"


def test_only_blanks_and_tabs_separate(tmp_path):
    text = "a\xa0b X\n\u3000\u2028 Y\n\x0c\x85 Z\n"
    columns = read_columns(put(tmp_path, text))
    assert columns.fields == (["a\xa0b", "\u3000\u2028", "\x0c\x85"],)
    assert columns.labels == ["X", "Y", "Z"]


def test_unlabelled(tmp_path):
    columns = read_columns(put(tmp_path, SMALL), labelled=False)
    assert columns.labels is None
    assert len(columns.fields) == 3


def test_inputs_decide_whether_there_are_labels(tmp_path):
    path = put(tmp_path, SMALL)
    assert read_columns(path, inputs=3).labels is None
    assert read_columns(path, inputs=2).labels == ["B-NP", "B-VP", "B-NP"]
    with pytest.raises(DataError, match=r"3 columns where the model takes 4 .* or 5"):
        read_columns(path, inputs=4)
    assert read_columns(put(tmp_path, "a\nb\n"), inputs=1).fields == (["a", "b"],)


def test_nothing_to_predict_is_fine(tmp_path):
    columns = read_columns(put(tmp_path, "\n \n"), inputs=2)
    assert columns.fields == ([], [])
    assert len(columns) == len(columns.lengths) == 0
    write_columns(tmp_path / "out", columns, [])
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "no tokens"),
        (" \n\t\n", "no tokens"),
        ("a b c d\n\na b c\n", r":3: 3 columns where line 1 has 4; "),
        ("\na\tb\n\na b\n", r":4: 1 column where line 2 has 2; "),
        ("a\nb\n", "1 column where at least 2"),
        ("a\tB\nb\t\n", ":2: empty label"),
        (b"a B\n\nc\xe9 B\n", r":3: byte 0xe9 is not UTF-8 .*iconv"),
        (b"a B\r\rc\xe9 B\n", r":3: byte 0xe9"),
        (SMALL.encode("utf-16"), ":1: byte 0xff .*iconv -f UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", ":1: byte 0x89 .*not text at all"),
        (gzip.compress(SMALL.encode(), mtime=0)[:-9], "damaged or truncated gzip"),
        (gzip.compress(SMALL.encode(), mtime=0)[:12] + b"xxxx", "damaged or truncated gzip"),
        (b"\x1f\x8bnonsense", "damaged or truncated gzip"),
    ],
)
def test_refusals_name_the_place(tmp_path, data, message):
    path = put(tmp_path, data)
    with pytest.raises(DataError, match=message) as caught:
        read_columns(path)
    assert str(caught.value).startswith(path)


def test_a_corrupted_gzip_body(tmp_path):
    data = bytearray(gzip.compress(b"some text " * 50))
    data[-6] ^= 255
    with pytest.raises(DataError, match="damaged"):
        read_text(put(tmp_path, bytes(data)))


def test_wrong_number_of_columns(tmp_path):
    with pytest.raises(DataError, match=":1: 3 columns where 4 are expected"):
        read_columns(put(tmp_path, SMALL), n_columns=4)
    assert len(read_columns(put(tmp_path, SMALL), n_columns=3)) == 3


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_columns(tmp_path / "none")
    with pytest.raises(DataError, match="cannot be read"):
        read_columns(tmp_path)
    with pytest.raises(DataError, match="cannot be written"), writing(tmp_path / "no" / "out"):
        pass


def test_split_checks_the_length(tmp_path):
    with pytest.raises(DataError, match="2 values for 3 tokens"):
        read_columns(put(tmp_path, SMALL)).split(["a", "b"])


@pytest.mark.parametrize("separator", [" ", "\t"])
def test_predictions_come_last(tmp_path, separator):
    columns = read_columns(put(tmp_path, SMALL.replace(" ", separator)))
    write_columns(tmp_path / "out", columns, ["X", "Y", "Z"], ["1", "2", "3"])
    lines = [["He", "PRP", "B-NP", "X", "1"], ["saw", "VBD", "B-VP", "Y", "2"], []]
    lines += [["it", "PRP", "B-NP", "Z", "3"], [], []]
    expected = "\n".join(separator.join(line) for line in lines)
    assert (tmp_path / "out").read_text() == expected


def test_writing_to_stdout(tmp_path, capfdbinary):
    columns = read_columns(put(tmp_path, "\u00e9 A\n"))
    write_columns("-", columns)
    assert capfdbinary.readouterr().out == "\u00e9 A\n\n".encode()


def test_writing_to_a_plain_text_stdout(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    with writing("-") as out:
        out.write("text")
    assert stream.getvalue() == "text"


def test_gzipped_output_is_reproducible(tmp_path):
    columns = read_columns(put(tmp_path, SMALL))
    for name in ("a.gz", "b.gz"):
        write_columns(tmp_path / name, columns)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == SMALL + "\n"


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_a_failed_write_leaves_nothing(tmp_path, name):
    (tmp_path / name).write_bytes(b"before")

    def fail() -> None:
        with writing(tmp_path / name) as stream:
            stream.write("half")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"before"


@pytest.mark.skipif(sys.platform == "win32", reason="no links or devices")
def test_links_and_devices_survive(tmp_path):
    (tmp_path / "target").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with writing(tmp_path / "link") as stream:
        stream.write("after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "after"
    with writing("/dev/null") as stream:
        stream.write("gone")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((["a\nb"],), "line ends cannot be written"),
        ((["a\tb"], ["c"]), "column 1 holds"),
        ((["a b"],), "one column cannot hold blanks"),
        ((["a"], ["b", "c"]), "column 2 has 2 values for 1 tokens"),
        (([" "], [""]), "only empty columns"),
    ],
)
def test_what_cannot_be_written(tmp_path, fields, message):
    one = np.ones(1, np.int64)
    with pytest.raises(DataError, match=message):
        write_columns(tmp_path / "out", Columns("x", fields, None, one, one))
    assert list(tmp_path.iterdir()) == []


_field = st.text(st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]))
_label = st.text("BIO-xy \u00e9", min_size=1).filter(str.strip)
_sentences = st.lists(
    st.lists(st.tuples(_field, _field, _label), min_size=1, max_size=5), min_size=1, max_size=5
)


@given(_sentences, st.booleans())
def test_round_trip(tmp_path_factory, sentences, packed):
    flat = [token for sentence in sentences for token in sentence]
    words, tags, labels = (list(column) for column in zip(*flat, strict=True))
    lengths = np.array([len(sentence) for sentence in sentences])
    columns = Columns("memory", (words, tags), labels, lengths, np.arange(len(flat)))
    path = tmp_path_factory.mktemp("round") / ("out.gz" if packed else "out")
    write_columns(path, columns)
    back = read_columns(path)
    assert back.fields == columns.fields
    assert back.labels == labels
    assert back.lengths.tolist() == lengths.tolist()
