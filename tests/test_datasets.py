from __future__ import annotations

import hashlib

import numpy as np
import pytest

from partwise.datasets import digits, tagged_text, write
from partwise.errors import DataError
from partwise.formats.columns import Columns, read_columns
from partwise.metrics.labels import looks_like_spans, spans


def fingerprint(columns: Columns) -> str:
    text = "\n".join("\t".join(row) for row in zip(*columns.fields, columns.labels, strict=True))
    return hashlib.sha256(f"{text}\n{columns.lengths.tolist()}".encode()).hexdigest()


@pytest.fixture(scope="module")
def text() -> Columns:
    return tagged_text(2000)


def test_the_text_is_the_same_everywhere():
    assert fingerprint(tagged_text(50, seed=0)) == fingerprint(tagged_text(50))
    assert fingerprint(tagged_text(50, seed=3)) == (
        "6ed89683550fb88861036ab61e35705c79a7b7b1abceac84f554d15d2638c6d7"
    )


def test_seeds_differ_and_prefixes_agree(text):
    assert fingerprint(tagged_text(20, seed=1)) != fingerprint(tagged_text(20, seed=2))
    short = tagged_text(10)
    assert short.fields[0] == text.fields[0][: len(short)]


def test_the_shape_of_the_text(text):
    kinds = ["NP", "VP", "PP", "ADVP", "PER", "LOC", "ORG"]
    expected = {"O"} | {f"{prefix}-{kind}" for prefix in "BI" for kind in kinds}
    assert set(text.labels) == expected
    assert 16 < text.lengths.mean() < 20
    assert text.lengths.min() >= 2
    assert 3000 < len(set(text.fields[0])) < 8000
    assert looks_like_spans(text.labels)
    assert int(text.lengths.sum()) == len(text.labels) == len(text)


def test_labels_are_well_formed_spans(text):
    for labels in text.split(text.labels):
        assert spans(labels) == spans(labels, "IOB2")


def test_words_and_tags_are_ambiguous(text):
    tags: dict[str, set[str]] = {}
    kinds: dict[str, set[str]] = {}
    for word, tag, label in zip(*text.fields, text.labels, strict=True):
        tags.setdefault(word, set()).add(tag)
        if tag == "NNP":
            kinds.setdefault(word, set()).add(label[2:])
    assert sum(len(some) > 1 for some in tags.values()) > 500
    assert sum(len(some) > 1 for some in kinds.values()) > 200


def test_unknown_words_at_test_time(text):
    known = set(text.fields[0])
    other = tagged_text(500, seed=9).fields[0]
    unknown = sum(word not in known for word in other) / len(other)
    assert 0.02 < unknown < 0.15


def test_write_and_read(tmp_path, text):
    write(text, tmp_path / "demo.txt.gz")
    back = read_columns(tmp_path / "demo.txt.gz")
    assert back.fields == text.fields
    assert back.labels == text.labels
    assert np.array_equal(back.lengths, text.lengths)
    assert np.array_equal(back.lines, text.lines)


@pytest.mark.parametrize("arguments", [(0, 0), (-1, 0), (1, -1)])
def test_refusals(arguments):
    with pytest.raises(DataError, match="give at least 1"):
        tagged_text(*arguments)


def test_digits():
    rows, labels = digits()
    assert len(rows) == len(labels) == 1797
    assert rows.n_features == 64
    assert rows.values is not None
    assert rows.values.max() == 1.0
    assert rows.values.min() > 0.0
    assert sorted(set(labels)) == list("0123456789")
