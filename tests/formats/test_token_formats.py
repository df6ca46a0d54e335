"""Readers and writers of the formats of tokens, one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.mutated_files import CONLLU, CRFSUITE, FILES, contents, put

from partwise import SequenceTagger
from partwise.errors import DataError, FormatError
from partwise.formats.columns import read_columns, write_columns
from partwise.formats.conllu import read_conllu, read_conllx, write_conllu
from partwise.formats.crfsuite import read_crfsuite, write_crfsuite
from partwise.formats.faults import Faults
from partwise.formats.jsonl import read_jsonl, write_jsonl
from partwise.formats.registry import FORMATS, Chosen, format_options
from partwise.formats.spans import read_spans, write_spans
from partwise.formats.tag_schemes import Span, likely_scheme, span_tags
from partwise.formats.tokens import Attributes
from partwise.formats.validation import validate


@pytest.mark.parametrize("name", FILES)
def test_sound_files_are_sound_and_written_back(name: str, tmp_path: Path) -> None:
    kind, options, text = FILES[name]
    path = put(tmp_path / "in", text.encode())
    found = validate(path, kind, **options)
    assert [fault for fault in found.faults if "-100" not in fault.sentence] == []
    assert found.n_examples >= 2
    columns = FORMATS[kind].read(path, **options)
    if kind in ("conllu", "conllx"):
        write = FORMATS[kind].write
        assert write is not None
        write(tmp_path / "out", columns)
        assert (tmp_path / "out").read_text("utf-8").rstrip() == text.rstrip()
    twice = columns.take([1, 0, 1])
    assert twice.lengths.tolist() == columns.lengths[[1, 0, 1]].tolist()
    assert twice.layout is None or len(twice.layout.sentences) == 3


def test_every_format_declares_its_options() -> None:
    for name, options in format_options().items():
        assert FORMATS[name].options == options


def test_crfsuite(tmp_path: Path) -> None:
    found = read_crfsuite(put(tmp_path / "in", CRFSUITE.encode()))
    assert found.attributes is not None
    assert found.attributes.of(1) == [("w=Lee", 1.0), ("len", 3.0), ("bias", 1.0), ("w:x=\\", 1.0)]
    assert found.attributes.of(3) == [("w=It", 1.0), ("cap", -0.5), ("cap", 0.001)]
    assert found.attributes.of(4) == []
    assert found.labels == ["B-PER", "I-PER", "O", "O", "B-LOC"]
    assert found.lengths.tolist() == [3, 2]
    assert found.weights is not None
    assert found.weights.tolist() == [2.5, 1.0]
    # A weight may stand on the line of a token, and the last one counts.
    text = "@weight:3\tA\tx\nB\ty\n@weight:0.5\n\nA\tx\n"
    found = read_crfsuite(put(tmp_path / "in", text.encode()))
    assert found.weights is not None
    assert (found.weights.tolist(), found.labels) == ([0.5, 1.0], ["A", "B", "A"])


def test_names_are_escaped_in_crfsuites_data(tmp_path: Path) -> None:
    names = ["a:b", "\\", "a\\:b", "a\\\\b", ":", "a\\b", " "]
    ends = np.array([0, len(names)])
    found = read_crfsuite(put(tmp_path / "in", b"A\tx\n"))
    found = replace(found, attributes=Attributes(names, np.full(len(names), 0.1), ends))
    write_crfsuite(tmp_path / "out", found, ["x:\\"])
    again = read_crfsuite(tmp_path / "out")
    assert again.attributes is not None
    assert again.attributes.of(0) == [(name, 0.1) for name in names]
    assert again.labels == ["x:\\"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("\tw=x", ":2: empty label"),
        ("O\tw=x:y", ":2: 'y' after the colon in 'w=x:y' is not a finite number; write"),
        ("O\tw:1e999", "is not a finite number"),
        ("O\tw:nan", "is not a finite number"),
        ("O\tw:1:2", "is not a finite number"),
        ("O\t:2", ":2: an attribute without a name"),
        ("@wait:2", ":2: unknown declaration '@wait'"),
        ("@weight", ":2: '@weight' where a weight is expected"),
        ("@weight:-1", ":2: '@weight:-1' where a weight is expected"),
    ],
)
def test_faults_of_crfsuites_data(line: str, says: str, tmp_path: Path) -> None:
    path = put(tmp_path / "in", f"O\ta\n{line}\n".encode())
    with pytest.raises(DataError, match=says.replace("(", r"\(").replace("-", r"\-")):
        read_crfsuite(path)


def test_labels_that_crfsuites_data_cannot_hold(tmp_path: Path) -> None:
    found = read_crfsuite(put(tmp_path / "in", b"A\tx\n"))
    for label, says in (("@x", "@ begins"), ("", "empty label"), ("a\tb", "hold no tabs")):
        with pytest.raises(DataError, match=says):
            write_crfsuite(tmp_path / "out", found, [label])
    assert not (tmp_path / "out").exists()


def test_conllu(tmp_path: Path) -> None:
    path = put(tmp_path / "in", CONLLU.encode())
    found = read_conllu(path, label="misc:NE", columns=["form", "feats:Tense"])
    assert found.fields == (
        ["Ann", "Lee", "did", "n't", "Café"],
        ["_", "_", "Past", "_", "_"],
    )
    assert found.labels == ["B-PER", "I-PER", "_", "_", "B-LOC"]
    assert found.lines.tolist() == [3, 4, 6, 8, 11]
    out = tmp_path / "out"
    write_conllu(out, found, ["_", "O", "B-X", "_", "B-LOC"])
    rows = [line.split("\t")[-1] for line in out.read_text("utf-8").splitlines() if "\t" in line]
    assert rows == ["_", "NE=O|SpaceAfter=No", "_", "NE=B-X", "_", "_", "NE=B-LOC"]
    # Features stay sorted by name.
    write_conllu(out, read_conllu(path), ["Ind"] * 5, label="feats:Mood")
    assert "\tMood=Ind|Tense=Past|VerbForm=Fin\t" in out.read_text("utf-8")
    with pytest.raises(DataError, match="cannot be written to feats:Mood"):
        write_conllu(out, read_conllu(path), ["a|b"] * 5, label="feats:Mood")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2\tLee", "3\tLee", ":4: word number 3 where 2 is expected"),
        ("2\tLee", "x\tLee", ":4: 'x' is not a word number; expected 2, or a range such as"),
        ("\tLee\tPROPN", "\tLee\t\tPROPN", ":4: 11 columns where 10 columns are expected"),
        ("Lee\tLee", "Lee\t", ":4: column 3 is empty; write _"),
        ("1\tCafé", "\n1\tCafé", ":10: a sentence without words"),
        ("1\tCafé\tcafé\tNOUN", "Café", ":11: 7 columns"),
    ],
)
def test_faults_of_conllu(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = put(tmp_path / "in", CONLLU.replace(old, new, 1).encode())
    with pytest.raises(DataError, match=says):
        read_conllu(path)


def test_names_of_conll_columns(tmp_path: Path) -> None:
    path = put(tmp_path / "in", CONLLU.encode())
    for options, says in (
        ({"label": "size"}, "'size' is no column of CoNLL files"),
        ({"label": "upos:x"}, "'upos:x' is no column of CoNLL files"),
        ({"label": "form"}, "form is the label and an input"),
        ({"label": "misc:X"}, "no labels: misc:X is _ everywhere"),
    ):
        with pytest.raises(DataError, match=says):
            read_conllu(path, **options)
    with pytest.raises(DataError, match="no tab in '# sent_id = 1'"):
        read_conllx(path)
    assert read_conllu(path, label="misc:X", inputs=1).labels is None


def test_jsonl(tmp_path: Path) -> None:
    kind, options, text = FILES["jsonl"]
    path = put(tmp_path / "in", text.encode())
    found = read_jsonl(path, **options)
    assert found.fields[0] == ["Ann", "Lee", "ran", "Café", "\U0001f600"]
    assert found.labels == ["B-PER", "I-PER", "O", "B-PER", "-100"]
    write_jsonl(tmp_path / "out", found, ["O", "O", "B-PER", "O", "I-PER"])
    lines = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert [line["ner_tags"] for line in lines] == [[0, 0, 1], [], [0, 2]]
    assert lines[1]["meta"] == {"deep": [1.5, None, True]}
    assert kind == "jsonl"
    numbers = read_jsonl(path)
    assert numbers.labels == ["1", "2", "0", "1", "-100"]
    write_jsonl(tmp_path / "out", numbers, ["7", "x", "0", "1", "-100"])
    first = json.loads((tmp_path / "out").read_text("utf-8").splitlines()[0])
    assert first["ner_tags"] == [7, "x", 0]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"tokens": ["a"], "tags": ["x", "y"]}', ":2: 2 values of 'tags' for 1 tokens"),
        ('{"tokens": ["a"]}', ":2: no 'tags'; each object needs"),
        ('{"tokens": "a", "tags": ["x"]}', ":2: no list 'tokens'"),
        ('{"tokens": ["a"], "tags": [1.5]}', ":2: value 0 .* of 'tags' is '1.5'; give strings"),
        ('{"tokens": ["a"], "tags": [null]}', ":2: value 0 .* is 'None'; give strings"),
        ('{"tokens": ["a"], "tags": [true]}', "give strings"),
        ('{"tokens": ["a"], "tags": [""]}', "give strings"),
        ('{"tokens": ["a"], "tags": [9]}', "there are names for 0 to 1"),
        ('["a"]', ":2: JSON, but no object in braces"),
        ("{", ":2: not JSON .*write one object per line"),
        ('[{"tokens": ["a"]},', "without brackets around all of them"),
        ('{"x": NaN}', "NaN is not a finite number"),
        ('{"x": ' + "9" * 5000 + "}", ":2: not JSON"),
        ("[" * 100_000, "nested too deeply|not JSON"),
    ],
)
def test_faults_of_jsonl(line: str, says: str, tmp_path: Path) -> None:
    text = '{"tokens": ["a", "b"], "tags": ["x", "y"]}\n' + line + "\n"
    with pytest.raises(DataError, match=says):
        read_jsonl(put(tmp_path / "in", text.encode()), label_names="x,y")


def test_a_label_that_is_an_input(tmp_path: Path) -> None:
    found = read_jsonl(put(tmp_path / "in", b'{"tokens": ["a"], "tags": ["x"]}'))
    with pytest.raises(DataError, match="key of an input and of the labels"):
        write_jsonl(tmp_path / "out", found, label="tokens")


def test_spans(tmp_path: Path) -> None:
    path = put(tmp_path / "in", FILES["spacy"][2].encode())
    found = read_spans(path, "spacy")
    words = ["Ann", "Lee", "ran", ".", "In", "Café", "\U0001f600", ",", "now"]
    assert found.fields == (words,)
    assert found.labels == ["B-PER", "I-PER", "O", "O", "O", "B-LOC", "B-SYM", "O", "O"]
    assert read_spans(path, "spacy", span_tags="BILOU").labels == (
        ["B-PER", "L-PER", "O", "O", "O", "U-LOC", "U-SYM", "O", "O"]
    )
    # Adjacent spans of one type stay apart in schemes that can tell them apart.
    text = '{"text": "a b c", "entities": [[2, 3, "X"], [0, 1, "X"], [4, 5, "Y"]]}'
    path = put(tmp_path / "in", text.encode())
    for scheme, tags in (
        ("IOB1", "I-X B-X I-Y"),
        ("IOBES", "S-X S-X S-Y"),
        ("IOE1", "E-X I-X I-Y"),
    ):
        assert read_spans(path, "spacy", span_tags=scheme).labels == tags.split()
    for scheme, tags in (("IOB1", "I-X O I-X"), ("IOE1", "I-X O I-X")):
        assert span_tags([Span(0, 1, "X"), Span(2, 3, "X")], 3, scheme) == tags.split()
    write_spans(tmp_path / "out", read_spans(path, "spacy"), ["B-Z", "I-Z", "O"], style="spacy")
    assert json.loads((tmp_path / "out").read_text()) == {
        "text": "a b c", "entities": [[0, 3, "Z"]]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("style", "line", "says"),
    [
        ("spacy", '{"text": "Ann ran", "entities": [[0, 2, "X"]]}',
         r":1: the span 'An' \(0 to 2, X\) does not begin and end where tokens do; the tokens "
         "there are 'Ann'; correct it, or choose another --tokenizer"),
        ("spacy", '{"text": "Ann ran", "entities": [[0, 7, "X"], [4, 7, "Y"]]}', "overlaps"),
        ("spacy", '{"text": "Ann ran", "entities": [[0, 8, "X"]]}', "in a text of 7 characters"),
        ("spacy", '{"text": "Ann ran", "entities": [[3, 3, "X"]]}', "goes from 3 to 3"),
        ("spacy", '{"text": "Ann ran", "entities": [[0, 3]]}', "no start, end and label"),
        ("spacy", '{"text": "Ann ran", "entities": [[0, 3, ""]]}', "no start, end and label"),
        ("spacy", '{"text": "Ann ran", "entities": [[true, 3, "X"]]}', "no start, end and label"),
        ("spacy", '{"text": "Ann ran"}', "no list of spans in 'entities'"),
        ("spacy", '{"entities": []}', ":1: no text"),
        ("spacy", "", "no text with tokens; expected lines such as"),
        ("prodigy", '{"text": "ab", "spans": [], "tokens": [{"start": 1, "end": 9}]}',
         r"token 0 \(counted from 0\) does not begin and end inside of the text"),
        ("prodigy", '{"text": "ab", "spans": [], "tokens": 3}', "tokens is no list"),
        ("doccano", '{"text": "ab", "label": [{"start": 0}]}', "no start, end and label"),
    ],
)  # fmt: skip
def test_faults_of_spans(style: str, line: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=says):
        read_spans(put(tmp_path / "in", line.encode()), style)


def test_spans_of_objects_in_doccano(tmp_path: Path) -> None:
    text = '{"text": "In Rome", "entities": [{"start_offset": 3, "end_offset": 7, "label": "LOC"}]}'
    path = put(tmp_path / "in", text.encode())
    found = read_spans(path, "doccano")
    assert found.labels == ["O", "B-LOC"]
    write_spans(tmp_path / "out", found, ["B-X", "O"], style="doccano")
    assert json.loads((tmp_path / "out").read_text())["entities"] == [
        {"start_offset": 0, "end_offset": 2, "label": "X"}
    ]
    with pytest.raises(FormatError, match="--format doccano"):
        Chosen().read("columns", path)


def test_labels_that_are_no_spans(tmp_path: Path) -> None:
    found = read_columns(put(tmp_path / "in", b"a NN\nb VB\n"))
    with pytest.raises(DataError, match="is no tag of a span such as B-PER"):
        write_spans(tmp_path / "out", found, style="spacy")
    found = read_columns(put(tmp_path / "in", "a\u00a0b O\nc B-X\n".encode()))
    with pytest.raises(DataError, match="cannot be found again"):
        write_spans(tmp_path / "out", found, style="spacy")
    write_spans(tmp_path / "out", found, style="prodigy")
    assert read_spans(tmp_path / "out", "prodigy").fields == found.fields


def test_columns_by_choice(tmp_path: Path) -> None:
    path = put(tmp_path / "in", b"B x Ann 1\nO y ran 2\n")
    for options, fields, labels in (
        ({"label_column": 1}, (["x", "y"], ["Ann", "ran"], ["1", "2"]), ["B", "O"]),
        ({"label_column": -4, "columns": "3"}, (["Ann", "ran"],), ["B", "O"]),
        ({"columns": [3, "1-2"]}, (["Ann", "ran"], ["B", "O"], ["x", "y"]), ["1", "2"]),
        ({"columns": "-2"}, (["Ann", "ran"],), ["1", "2"]),
    ):
        found = read_columns(path, **options)
        assert (found.fields, found.labels) == (fields, labels)
    # In prediction a file may lack the label.
    found = read_columns(path, columns="3", label_column=9, inputs=1)
    assert (found.fields, found.labels) == ((["Ann", "ran"],), None)
    found = read_columns(path, columns="4", inputs=1)
    assert (found.fields, found.labels) == ((["1", "2"],), None)
    for options, says in (
        ({"columns": "1,2", "inputs": 3}, "2 inputs where 3 are expected"),
        ({"label_column": 1, "inputs": 2}, "3 inputs where 2 are expected"),
        ({"columns": "3-2"}, "run backwards"),
        ({"columns": "9"}, "there is no column 9"),
        ({"columns": "0"}, "'0' is no column"),
        ({"label_column": 0}, "columns count from 1"),
        ({"separator": ""}, "cannot separate columns"),
    ):
        with pytest.raises(DataError, match=says):
            read_columns(path, **options)


def test_a_separator_is_kept(tmp_path: Path) -> None:
    found = read_columns(put(tmp_path / "in", b"a b,x,O\n\nc,,B\n"), separator=",")
    write_columns(tmp_path / "out", found, ["P", "Q"])
    assert (tmp_path / "out").read_text() == "a b,x,O,P\n\nc,,B,Q\n\n"
    with pytest.raises(DataError, match="',' separates columns"):
        write_columns(tmp_path / "out", found, ["P,Q", "Q"])


def test_all_faults_are_collected(tmp_path: Path) -> None:
    path = put(tmp_path / "in", b"a x\nb\nc x y\n\nd \n\xff e\n")
    faults = Faults(keep=True)
    found = read_columns(path, faults=faults)
    assert sorted((fault.place.line, fault.place.column) for fault in faults.found) == [
        (2, 2), (3, 4), (5, 2), (6, 1)
    ]  # fmt: skip
    assert found.lengths.tolist() == [3, 2]
    assert str(faults.found[0]).startswith(f"{path}:6:1: byte 0xff")


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("B-X I-X O", "IOB2"), ("I-X I-X O B-X", "IOB2"), ("I-X B-X O I-Y", "IOB1"),
        ("B-X E-X S-Y", "IOBES"), ("B-X L-X U-Y", "BILOU"), ("I-X E-X O", "IOE2"),
        ("NN VB", None), ("O O", None), ("B I O", None),
    ],
)  # fmt: skip
def test_likely_schemes(tags: str, scheme: str | None) -> None:
    assert likely_scheme([tags.split()]) == scheme


def test_python_fits_what_readers_return(tmp_path: Path) -> None:
    path = put(tmp_path / "in", CRFSUITE.encode())
    found = read_crfsuite(path)
    one = SequenceTagger(tol=1e-8).fit(found)
    two = SequenceTagger(tol=1e-8).fit(found, sample_weight=[2.5, 1.0])
    three = SequenceTagger(tol=1e-8).fit(found, sample_weight=[1.0, 1.0])
    assert np.array_equal(one.coef_, two.coef_)
    assert not np.allclose(one.coef_, three.coef_)
    with pytest.raises(DataError, match="labels of its own; leave y out"):
        SequenceTagger().fit(found, [["x"] * 3, ["y"] * 2])
    bare = read_columns(put(tmp_path / "bare", b"a b\nc d\n"), labelled=False)
    with pytest.raises(DataError, match="bare was read without labels; read it with labelled=True"):
        SequenceTagger().fit(bare)
    words = read_columns(put(tmp_path / "in", b"a b X\nc d Y\n"))
    assert words.sentences() == [[["a", "b"], ["c", "d"]]]
    assert repr(words).endswith("1 sentence, 2 tokens, 2 columns and a label>")
    assert repr(found).endswith("2 sentences, 5 tokens, features by name and a label>")
    with pytest.raises(DataError, match="features by name and no columns"):
        found.sentences()
    tagger = SequenceTagger(l2=0.01).fit(words)
    assert tagger.predict(words) == [["X", "Y"]]
    assert tagger.score(words) == tagger.score(words, [["X", "Y"]]) == 1.0
    assert tagger.score(words, [["X", "X"]]) == 0.5
    assert tagger.log_proba(words) == tagger.log_proba(words, [["X", "Y"]])
    with pytest.raises(DataError, match="scored by its labels; give y"):
        tagger.score([[["a", "b"]]])


def test_a_choice_and_what_a_model_keeps_of_it() -> None:
    chosen = Chosen("conllu", {"label": "xpos", "encoding": "latin-1"})
    kept: Any = chosen.record()
    assert kept == {"name": "conllu", "options": {"label": "xpos"}}
    assert Chosen().after(kept) == Chosen("conllu", {"label": "xpos"})
    assert Chosen(None, {"label": "upos"}).after(kept) == Chosen("conllu", {"label": "upos"})
    assert Chosen("jsonl").after(kept) == Chosen("jsonl")
    assert Chosen().record() is None
    odd_values = {"label": 3, "columns": [1], "label_column": "x"}
    assert Chosen().after({"name": "conllu", "options": odd_values}) == Chosen("conllu")
    for odd in (None, 3, {"name": 3, "options": {}}, {"name": "x"}):
        assert Chosen().after(odd) == Chosen()


def test_files_are_compared_by_their_contents(tmp_path: Path) -> None:
    found = [read_columns(put(tmp_path / "in", text)) for text in (b"a X\n", b"a Y\n")]
    assert contents(found[0]) != contents(found[1])
