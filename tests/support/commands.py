"""Running the commands: in this process or in one of their own, with data for them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from partwise.cli import main
from partwise.compiled.compilation import NOTE
from partwise.datasets import tagged_text, write
from partwise.formats.brackets import write_brackets
from partwise.formats.conll import write_conll
from support import grammar_of_arcs, grammar_of_phrases

SVMLIGHT = "".join(
    f"{label} {label}:1 {4 + k % 3}:{0.5 + 0.1 * (k % 4):g}\n"
    for k in range(12)
    for label in (1, 2, 3)
)

Run = Callable[..., tuple[int, str, str]]


def runner(capfd: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command in this process: its exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        # Whether this is said depends on the cache on disk, which no test can rely on.
        return code, out, err.replace(f"partwise: {NOTE}\n", "")

    return call


def trained(folder: Path) -> Path:
    """Fill a folder with data and a model of each task."""
    write(tagged_text(60, seed=1), folder / "train.txt")
    write(tagged_text(20, seed=2), folder / "test.txt")
    (folder / "train.svm").write_text(SVMLIGHT, "ascii")
    for task, data in (("tag", "train.txt"), ("classify", "train.svm")):
        train = ["train", "--task", task, f"{folder}/{data}", "--model", f"{folder}/{task}"]
        assert main([*train, "--quiet"]) == 0
    return folder


def training_file(task: str, path: Path) -> Path:
    """Write a few examples for a task."""
    if task == "classify":
        path.write_text(SVMLIGHT)
    elif task == "parse":
        write_conll(path, grammar_of_arcs.treebank(12))
    elif task == "brackets":
        write_brackets(path, grammar_of_phrases.treebank(12))
    elif task == "graph":
        graph = "node a A x\nnode b B y\nedge a b z\n\nnode a B y\nnode b B y\nedge a b\n\n"
        path.write_text(graph * 4)
    else:
        write(tagged_text(20), path)
    return path


def one_object(out: str) -> dict[str, Any]:
    """Return the JSON object that is the one line of an output."""

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    found = json.loads(out, parse_constant=refuse)
    assert isinstance(found, dict)
    assert out.count("\n") == 1
    return found


def sentence(err: str) -> str:
    """Return an error after checking that it is one line."""
    assert err.startswith("partwise: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def process(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "partwise", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )
