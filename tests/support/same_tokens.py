"""The same tokens in all formats that carry tokens, and a digest of the models trained on them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from partwise.formats.conversion import convert
from partwise.models.model import Model

#: For each format: its name on the command line, the options to read it, and those to write it.
WAYS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tabs": ("columns", {"separator": "tab"}, {"separator": "tab"}),
    "bars": ("columns", {"separator": "¦"}, {"separator": "¦"}),
    "conllu": ("conllu", {"label": "misc:NE"}, {"label": "misc:NE"}),
    "conllx": ("conllx", {"label": "postag"}, {"label": "postag"}),
    "jsonl": ("jsonl", {}, {}),
    "spacy": ("spacy", {"tokenizer": "blanks"}, {}),
    "prodigy": ("prodigy", {}, {}),
    "doccano": ("doccano", {"tokenizer": "blanks"}, {}),
}


def spread(words: Path, folder: Path) -> dict[str, Path]:
    """Write a column file of words and tags in all formats."""
    found: dict[str, Path] = {}
    for name, (kind, _, out) in WAYS.items():
        found[name] = folder / f"words.{name}"
        convert(words, found[name], "columns", kind, out=out)
    # Labels in the first column, among columns that are not used; and labels that are numbers.
    lines = words.read_text("utf-8").split("\n")
    rows = [line.split(" ") if line else [] for line in lines]
    text = "\n".join("\t".join([row[1], "x", row[0], "y"]) if row else "" for row in rows)
    found["first"] = folder / "words.first"
    found["first"].write_text(text, "utf-8")
    objects = [json.loads(line) for line in found["jsonl"].read_text("utf-8").splitlines()]
    names = sorted({tag for one in objects for tag in one["tags"]})
    found["numbers"] = folder / "words.numbers"
    with found["numbers"].open("w", encoding="utf-8") as file:
        for one in objects:
            tags = [names.index(tag) for tag in one["tags"]]
            file.write(json.dumps({"words": one["tokens"], "labels": tags}) + "\n")
    return found


def reading(name: str, files: dict[str, Path]) -> tuple[str, dict[str, Any]]:
    """Return the format and the options to read one of the files."""
    if name == "first":
        return "columns", {"label_column": 1, "columns": "3"}
    if name == "numbers":
        text = files["jsonl"].read_text("utf-8")
        tags = {tag for line in text.splitlines() for tag in json.loads(line)["tags"]}
        return "jsonl", {"label_names": ",".join(sorted(tags))}
    kind, options, _ = WAYS[name]
    return kind, options


def digest(model: Model) -> str:
    """Return a digest of labels, names of features and weights."""
    features: Any = model.features
    found = hashlib.sha256(repr((list(model.labels), features.vocabulary.names)).encode())
    found.update(model.weights.tobytes())
    return found.hexdigest()
