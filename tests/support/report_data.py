"""A model and a file to score it on for every task, for the tests of reports."""

from __future__ import annotations

from pathlib import Path

from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.formats.brackets import write_brackets
from partwise.formats.conll import write_conll

from .commands import SVMLIGHT
from .grammar_of_arcs import treebank as arcs
from .grammar_of_phrases import treebank as phrases

__all__ = ["HOSTILE", "MODELS", "hostile_tagger", "model_and_data"]

HOSTILE = "<script>alert(1)</script>"

#: The options of a training for each model: its task, and how it differs from the default.
MODELS = {
    "classify": ["classify", "--bias", "1"],
    "classify-hinge": ["classify", "--loss", "hinge"],
    "classify-kernel": ["classify", "--kernel", "rbf"],
    "tag": ["tag"],
    "tag-hinge": ["tag", "--loss", "hinge"],
    "tag-hashed": ["tag", "--hashing", "256"],
    "segment": ["segment"],
    "parse": ["parse"],
    "parse-labelled": ["parse", "--labelled"],
    "parse-hinge": ["parse", "--labelled", "--loss", "hinge"],
    "brackets": ["brackets"],
    "brackets-hinge": ["brackets", "--loss", "hinge", "--max-length", "8"],
    "graph": ["graph", "--symmetric"],
}

_MIXED = SVMLIGHT.replace("1 1:1 5:0.6\n", "2 1:1 5:0.6\n")


def _maps(n: int) -> str:
    """Return graphs: colours that mostly tell the label of a vertex."""
    blocks = []
    for i in range(n):
        labels = ["sea" if (i + v) % 3 else "land" for v in range(4)]
        lines = [
            f"node v{v} {label} {'blue' if (label == 'sea') == ((i + v) % 5 > 0) else 'green'}"
            for v, label in enumerate(labels)
        ]
        lines += [f"edge v{v} v{(v + 1) % 4} near:1" for v in range(4)]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _write(folder: Path, task: str) -> tuple[Path, Path]:
    train, test = folder / f"{task}.train", folder / f"{task}.test"
    if task == "classify":
        train.write_text(SVMLIGHT, "ascii")
        test.write_text(_MIXED, "ascii")
    elif task in ("tag", "segment"):
        write(tagged_text(40, seed=1), train)
        write(tagged_text(20, seed=2), test)
    elif task == "parse":
        write_conll(train, arcs(4))
        write_conll(test, arcs(12, seed=1))
    elif task == "brackets":
        write_brackets(train, phrases(40))
        write_brackets(test, phrases(10, seed=1, longest=8))
        test.write_text(test.read_text("utf-8").replace("(NP ", "(VP ", 2), "utf-8")
    else:
        train.write_text(_maps(12), "utf-8")
        test.write_text(_maps(9), "utf-8")
    return train, test


def model_and_data(folder: Path, name: str) -> tuple[Path, Path]:
    """Train one of the models in a folder, unless it is there; return it and a file to score."""
    task, *options = MODELS[name]
    model, test = folder / name, folder / f"{task}.test"
    if not model.exists():
        train, test = _write(folder, task)
        command = ["train", "--task", task, str(train), "--model", str(model), *options]
        assert main([*command, "--quiet", "--tol", "0.05", "--max-passes", "60"]) in (0, 3)
    return model, test


def hostile_tagger(folder: Path) -> tuple[Path, Path]:
    """Train a tagger with a label, features and words that look like a script."""
    block = f"{HOSTILE} DT B-{HOSTILE}\ndog NN O\n\nzebra{HOSTILE} NN O\n{HOSTILE} DT B-X|`*\n\n"
    (folder / "train").write_text(block * 4, "utf-8")
    (folder / "test").write_text(f"{HOSTILE} NN B-X|`*\ndog NN B-{HOSTILE}\n\n" * 3, "utf-8")
    train = ["train", "--task", "tag", f"{folder}/train", "--model", f"{folder}/m{HOSTILE[:7]}"]
    assert main([*train, "-q"]) == 0
    return folder / f"m{HOSTILE[:7]}", folder / "test"
