"""Files of all formats of tokens, and mutations of them: of single bytes and of their structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from partwise.formats.tokens import Attributes, Columns

COLUMNS: Final = """-DOCSTART- -X- O O

Ann NNP B-PER
Lee NNP I-PER
ran VBD O

Café NN B-LOC
. . O

-DOCSTART- -X- O O

It PRP O
works VBZ O
"""
TABS: Final = "B-PER\tAnn\tNNP\t_ _\nO\tran\t\tx\n\nO\tit\tPRP\tz\n"
CRFSUITE: Final = """@weight:2.5
B-PER\tw=Ann\tlen:3\tbias
I-PER\tw=Lee\tlen:3\tbias\tw\\:x=\\\\
O\tw=ran

O\tw=It\tcap:-0.5\tcap:1e-3
B-LOC
"""
CONLLU: Final = """# sent_id = 1
# text = Ann Lee didn't run
1\tAnn\tAnn\tPROPN\tNNP\tNumber=Sing\t4\tnsubj\t_\tNE=B-PER
2\tLee\tLee\tPROPN\tNNP\t_\t1\tflat\t_\tNE=I-PER|SpaceAfter=No
3-4\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
3\tdid\tdo\tAUX\tVBD\tTense=Past|VerbForm=Fin\t4\taux\t_\t_
3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_
4\tn't\tnot\tPART\tRB\t_\t0\troot\t_\t_

# sent_id = 2
1\tCafé\tcafé\tNOUN\tNN\t_\t0\troot\t_\tNE=B-LOC
"""
CONLLX: Final = """1\tAnn\t_\tN\tNNP\tnum=s\t2\tsubj\t_\t_
2\tran\trun\tV\tVBD\t_\t0\troot\t_\t_

1\tCafé\t_\tN\tNN\t_\t0\troot\t_\t_
"""
JSONL: Final = """{"id": 1, "tokens": ["Ann", "Lee", "ran"], "ner_tags": [1, 2, 0], \
"pos": ["N", "N", "V"]}
{"tokens": [], "ner_tags": [], "meta": {"deep": [1.5, null, true]}}
{"id": 3, "tokens": ["Caf\\u00e9", "\\ud83d\\ude00"], "ner_tags": [1, -100], "pos": ["N", "S"]}
"""
SPACY: Final = """{"text": "Ann Lee ran.", "entities": [[0, 7, "PER"]]}
{"text": "", "entities": [], "meta": {"x": 1}}
{"text": "In Caf\\u00e9 \\ud83d\\ude00, now", "entities": [[3, 7, "LOC"], [8, 9, "SYM"]]}
"""
PRODIGY: Final = """{"text": "Ann Lee ran", \
"tokens": [{"text": "Ann", "start": 0, "end": 3, "id": 0}, \
{"text": "Lee", "start": 4, "end": 7, "id": 1}, {"text": "ran", "start": 8, "end": 11, "id": 2}], \
"spans": [{"start": 0, "end": 7, "label": "PER", "token_start": 0, "token_end": 1}], \
"answer": "accept"}
{"text": "no", "spans": [], "answer": "reject"}
{"text": "In Rome", "spans": [{"start": 3, "end": 7, "label": "LOC"}], "_input_hash": -5}
"""
DOCCANO: Final = """{"id": 1, "text": "Ann Lee ran", "label": [[0, 7, "PER"]], "Comments": []}
{"id": 2, "text": "In Rome", "label": [[3, 7, "LOC"]]}
"""

#: For each name of a test: the format, its options, and a sound file.
FILES: Final[dict[str, tuple[str, dict[str, Any], str]]] = {
    "columns": ("columns", {}, COLUMNS),
    "chosen columns": ("columns", {"label_column": 1, "columns": "2-3"}, TABS),
    "separated": ("columns", {"separator": ","}, "Ann,N N,B-PER\nran,,O\n\nit,x,O\n"),
    "crfsuite": ("crfsuite", {}, CRFSUITE),
    "conllu": ("conllu", {"label": "misc:NE", "columns": "form,xpos"}, CONLLU),
    "conllx": ("conllx", {"label": "upos"}, CONLLX),
    "jsonl": ("jsonl", {"label_names": "O,B-PER,I-PER", "columns": "tokens,pos"}, JSONL.replace(
        '"tokens": [], ', '"tokens": [], "pos": [], ')),
    "spacy": ("spacy", {}, SPACY),
    "prodigy": ("prodigy", {}, PRODIGY),
    "doccano": ("doccano", {"span_tags": "BILOU"}, DOCCANO),
}  # fmt: skip

_MARKS: Final = (
    b"\t", b"\n", b"\r\n", b"\r", b"\0", b" ", b"_", b"#", b'"', b"\\", b"{", b"}", b"[", b"]",
    b":", b",", b"-", b"=", b"|", b"@weight:", b"-DOCSTART-", b"1e999", b"NaN", b"null", b"-1",
    b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"\\ud800",
    b"\xc2\x85",
    b"99999999999999999999", b"B-", b"I-PER", b"\xc2\xa0", b"1-2", b"0.1", b"\x1f\x8b",
)  # fmt: skip


def of_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, insert or remove some bytes, or insert marks that formats know."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(0, len(found) + 1))
        kind = int(rng.integers(0, 4))
        if kind == 0 and found:
            found[min(at, len(found) - 1)] = int(rng.integers(0, 256))
        elif kind == 1:
            found[at:at] = bytes([int(rng.integers(0, 256))])
        elif kind == 2:
            found[at:at] = _MARKS[int(rng.integers(0, len(_MARKS)))]
        else:
            del found[at : at + int(rng.integers(1, 8))]
    return bytes(found)


def of_structure(data: bytes, rng: np.random.Generator) -> bytes:
    """Change lines, fields, line ends, or the beginning and the end of the file."""
    for _ in range(int(rng.integers(1, 4))):
        data = _STRUCTURES[int(rng.integers(0, len(_STRUCTURES)))](data, rng)
    return data


def _on_lines(
    change: Callable[[list[bytes], int, np.random.Generator], None],
) -> Callable[[bytes, np.random.Generator], bytes]:
    def work(data: bytes, rng: np.random.Generator) -> bytes:
        lines = data.split(b"\n")
        change(lines, int(rng.integers(0, len(lines))), rng)
        return b"\n".join(lines)

    return work


def _ragged(lines: list[bytes], at: int, rng: np.random.Generator) -> None:
    mark = b"\t" if b"\t" in lines[at] else b" "
    fields = lines[at].split(mark)
    place = int(rng.integers(0, len(fields)))
    if rng.random() < 0.5:
        fields.insert(place, b"x")
    else:
        del fields[place]
    lines[at] = mark.join(fields)


def _emptied(lines: list[bytes], at: int, rng: np.random.Generator) -> None:
    mark = b"\t" if b"\t" in lines[at] else b" "
    fields = lines[at].split(mark)
    fields[int(rng.integers(0, len(fields)))] = b""
    lines[at] = mark.join(fields)


def _swapped(lines: list[bytes], at: int, rng: np.random.Generator) -> None:
    other = int(rng.integers(0, len(lines)))
    lines[at], lines[other] = lines[other], lines[at]


_STRUCTURES: Final[tuple[Callable[[bytes, np.random.Generator], bytes], ...]] = (
    lambda data, rng: b"\xef\xbb\xbf" + data,
    lambda data, rng: data.replace(b"\n", b"\r\n"),
    lambda data, rng: data.replace(b"\n", b"\r"),
    lambda data, rng: data.replace(b"n", b"\0", 1),
    lambda data, rng: data[: int(rng.integers(0, len(data) + 1))],
    lambda data, rng: data[int(rng.integers(0, len(data) + 1)) :],
    lambda data, rng: data + data,
    lambda data, rng: data.replace(b"\t", b" "),
    lambda data, rng: data.replace(b" ", b"\t"),
    lambda data, rng: data.replace(b"\n\n", b"\n"),
    lambda data, rng: data.replace(b"\n", b"\n\n"),
    lambda data, rng: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data, rng: data.replace(b"Ann", "\u2028\u202e\u0301\U0001f600".encode()),
    lambda data, rng: data.replace(b'"', b"'"),
    lambda data, rng: b"[" + data + b"]",
    _on_lines(lambda lines, at, rng: lines.insert(at, lines[at])),
    _on_lines(lambda lines, at, rng: lines.pop(at) and None),
    _on_lines(lambda lines, at, rng: lines.insert(at, b"")),
    _on_lines(lambda lines, at, rng: lines.insert(at, b" \t ")),
    _on_lines(lambda lines, at, rng: lines.insert(at, b"# comment")),
    _on_lines(lambda lines, at, rng: lines.insert(at, b"-DOCSTART-\t-X-")),
    _on_lines(lambda lines, at, rng: lines.insert(at, b"{}")),
    _on_lines(lambda lines, at, rng: lines.insert(at, b"[" * 5000)),
    _on_lines(_ragged),
    _on_lines(_emptied),
    _on_lines(_swapped),
)


def mutations(text: str, count: int, seed: int) -> Iterator[bytes]:
    """Return mutations of a file, half of them of bytes and half of its structure."""
    rng = np.random.default_rng(seed)
    data = text.encode()
    for number in range(count):
        yield (of_bytes if number % 2 else of_structure)(data, rng)


def contents(columns: Columns) -> tuple[Any, ...]:
    """Return what a file holds, to compare it with another."""

    def pairs(attributes: Attributes | None) -> list[list[tuple[str, float]]] | None:
        return None if attributes is None else [attributes.of(t) for t in range(len(attributes))]

    weights = None if columns.weights is None else columns.weights.tolist()
    return (
        columns.fields, columns.labels, columns.lengths.tolist(), pairs(columns.attributes),
        weights,
        {} if columns.layout is None else dict(columns.layout.extras),
    )  # fmt: skip


def put(path: Path, data: bytes) -> str:
    """Write a file and return its path."""
    path.write_bytes(data)
    return str(path)
