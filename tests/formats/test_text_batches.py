"""Files that are read a part at a time: the same examples, places and messages."""

from __future__ import annotations

import gzip
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.errors import DataError, FormatError
from partwise.formats.columns import read_columns
from partwise.formats.registry import FORMATS
from partwise.formats.stream import TextBatches, check_cuttable
from partwise.tasks.registry import task_of
from partwise.tasks.stream import FileStream

COLUMNS = "".join(f"w{k} T{k % 3} L{k % 2}\n" + "\n" * (k % 4 == 3) for k in range(40))
TEXTS: dict[str, tuple[str, str]] = {
    "columns": ("tag", "-DOCSTART- -X- O\n\n" + COLUMNS),
    "crfsuite": ("tag", "".join(f"L{k % 2}\tw={k}\tv:0.{k}\n\n" for k in range(20))),
    "conllu": (
        "tag",
        "".join(f"# sent {k}\n1\tw{k}\t_\tN\t_\t_\t0\t_\t_\t_\n\n" for k in range(20)),
    ),
    "jsonl": (
        "tag",
        "".join(f'{{"words": ["w{k}", "x"], "ner_tags": [{k % 2}, 1]}}\n' for k in range(20)),
    ),
    "spacy": (
        "tag",
        "".join(f'{{"text": "Ann{k % 10} ran", "entities": [[0, 4, "P"]]}}\n' for k in range(20)),
    ),
    "svmlight": ("classify", "".join(f"{k % 2} {k + 1}:0.5 99:1\n" for k in range(30))),
    "conll": (
        "parse",
        "".join(
            f"# {k}\n1\ta{k}\t_\tN\tN\t_\t2\tx\t_\t_\n2\tb\t_\tV\tV\t_\t0\ty\t_\t_\n\n"
            for k in range(20)
        ),
    ),
    "brackets": ("brackets", "".join(f"(S\n (NP (N a{k}))\n (VP (V b)))\n" for k in range(20))),
    "graphs": (
        "graph",
        "".join(f"node a A f{k}\nnode b B g\nedge a b\n\n" for k in range(20)),
    ),
}


def stream(name: str, path: Path | str, size: int = 60, **options: Any) -> FileStream:
    task = task_of(TEXTS[name][0])
    given = {**task.defaults("train"), "format": name, **options}
    return FileStream(task, str(path), given, size)


def content(source: Any) -> list[Any]:
    """Return what a source holds, example by example, with its places."""
    if hasattr(source, "columns"):
        columns = source.columns
        inputs = [columns.split(field) for field in columns.fields]
        held = [[one[s] for one in inputs] for s in range(len(source))]
        if columns.attributes is not None:
            ends = np.cumsum(columns.lengths)
            tokens = [range(b - n, b) for b, n in zip(ends, columns.lengths, strict=True)]
            held = [[columns.attributes.of(t) for t in some] for some in tokens]
        places = [columns.place(s, 0) for s in range(len(source))]
        return list(zip(held, source.sentences(), places, strict=True))
    if hasattr(source, "sentences"):
        return [(s.form, s.head, s.deprel, s.rows[:3], s.where(1)) for s in source.sentences]
    if hasattr(source, "trees"):
        return list(map(str, source.trees))
    if hasattr(source, "file"):
        return [(g.rows, g.labels, g.lines, g.begin) for g in source.file.graphs]
    ends = source.X.indptr.tolist()
    pairs = zip(ends, ends[1:], source.y, strict=False)
    return [(source.X.indices[a:b].tolist(), label) for a, b, label in pairs]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_parts_make_up_the_file(name: str, packed: bool, tmp_path: Path) -> None:
    path, data = tmp_path / "train", TEXTS[name][1].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    parts = list(stream(name, path).batches())
    whole = list(stream(name, path, 10**6).batches())
    assert len(parts) > 3
    assert len(whole) == 1
    assert [one for part in parts for one in content(part)] == content(whole[0])


@pytest.mark.parametrize("name", TEXTS)
def test_stdin_is_read_as_it_arrives(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = TEXTS[name][1].encode()
    (tmp_path / "train").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    found = stream(name, "-")
    assert not found.again
    assert found.path == "<stdin>"
    parts = [one for part in found.batches() for one in content(part)]
    whole = [one for part in stream(name, tmp_path / "train").batches() for one in content(part)]
    assert str(parts).replace("<stdin>", str(tmp_path / "train")) == str(whole)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("columns", "too few\n\n"),
        ("crfsuite", "L\t:5\n\n"),
        ("conllu", "2\tw\n\n"),
        ("jsonl", '{"words": 3}\n'),
        ("svmlight", "1 0:1\n"),
        ("conll", "1\ta\t_\tN\tN\t_\t7\tx\t_\t_\n\n"),
        ("brackets", "(S (NP\n"),
        ("graphs", "node a A\nedge a c\n\n"),
        ("graphs", "node a A\nnode a A\n\n"),
    ],
)
def test_messages_are_those_of_the_file_at_once(name: str, bad: str, tmp_path: Path) -> None:
    path = tmp_path / "train"
    path.write_text(TEXTS[name][1] + bad)
    task, found = task_of(TEXTS[name][0]), []
    given = {**task.defaults("train"), "format": name}
    with pytest.raises(DataError) as caught:
        task.read(str(path), given)
    with pytest.raises(DataError) as parts:
        found += list(stream(name, path).batches())
    # A tree that does not end is only seen to be one at the end of the file.
    expected = str(caught.value)
    assert str(parts.value) == expected
    assert re.match(rf"{re.escape(str(path))}:\d+", expected)


def test_bytes_are_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "train"
    path.write_bytes(TEXTS["columns"][1].encode() + b"\xff T1 L1\n\n")
    with pytest.raises(DataError) as caught:
        read_columns(path)
    with pytest.raises(DataError) as parts:
        list(stream("columns", path).batches())
    assert str(parts.value) == str(caught.value)
    assert "byte 0xff is not UTF-8 text (byte 4" in str(caught.value)
    latin = tmp_path / "latin"
    latin.write_bytes((COLUMNS + "\u00e9 T1 L1\n\n").encode("latin-1"))
    from partwise.formats.registry import Chosen

    chosen = Chosen("columns", {"encoding": "latin-1"})
    last = list(stream("columns", latin, format=chosen).batches())[-1]
    assert content(last)[-1][0] == [["\u00e9"], ["T1"]]
    with pytest.raises(DataError, match="text in utf-16 cannot be read a part at a time"):
        check_cuttable("train", "utf-16")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(stream("columns", tmp_path / "none").batches())
    (tmp_path / "empty").write_text("\n\n")
    with pytest.raises(DataError, match="no tokens"):
        list(stream("columns", tmp_path / "empty").batches())
    (tmp_path / "cut.gz").write_bytes(gzip.compress(COLUMNS.encode())[:-20])
    with pytest.raises(DataError, match="damaged or truncated gzip file"):
        list(stream("columns", tmp_path / "cut.gz").batches())
    (tmp_path / "other").write_text(TEXTS["jsonl"][1])
    task = task_of("tag")
    with pytest.raises(FormatError, match="looks like the format jsonl"):
        list(FileStream(task, str(tmp_path / "other"), task.defaults("train"), 60).batches())


def test_the_first_sentence_says_how_the_file_is_laid_out(tmp_path: Path) -> None:
    # Without its first line, the second part would be separated by blanks.
    text = "a b\tX\n\n" + "".join(f"c d{k}\tY\n\n" for k in range(30))
    (tmp_path / "train").write_text(text)
    parts = list(stream("columns", tmp_path / "train").batches())
    assert len(parts) > 3
    assert all(part.columns.separator == "\t" for part in parts)
    assert [one for part in parts for one in part.columns.fields[0]][1] == "c d0"
    (tmp_path / "train").write_text(text + "e\n")
    with pytest.raises(DataError, match="train:63: 1 column where line 1 has 2"):
        list(stream("columns", tmp_path / "train").batches())


@given(
    st.lists(st.sampled_from(["a", "", " ", "b c", "-DOCSTART- x"]), max_size=12),
    st.integers(1, 9),
)
def test_nothing_is_lost(lines: list[str], size: int) -> None:
    text = "x y\n\n" + "".join(f"{line} z\n" if line.strip() else f"{line}\n" for line in lines)
    path = Path("text")
    seen: list[Any] = []

    def read() -> list[str]:
        from partwise.formats.source import read_text

        found = re.split(r"\n[ \t]*\n", read_text(path).text)
        seen.append(found)
        return [one for one in found if one.strip()]

    from unittest.mock import patch

    with patch("partwise.formats.stream.opened") as opened:
        opened.return_value.__enter__.return_value = io.BytesIO(text.encode())
        opened.return_value.__exit__.return_value = None
        parts = list(TextBatches("text", "blank line", read, size))
    joined = [one.strip() for part in parts for one in part.examples[part.skipped :]]
    assert joined == [one.strip() for one in re.split(r"\n[ \t]*\n", text) if one.strip()]


def test_all_formats_can_be_cut() -> None:
    assert {name for name in FORMATS if FORMATS[name].cut is None} == set()
