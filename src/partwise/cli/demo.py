"""``partwise demo``: train and evaluate on built-in data, with commands that users can repeat."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from partwise.errors import DataError, Place
from partwise.problem.rows import Rows

from .outcome import DONE, Outcome

__all__ = ["run"]

_N_TRAIN = 2000
_N_TEST = 500
_N_DIGITS_TEST = 500
_REPORT = "partwise report "
_TAGGER, _CLASSIFIER = "tagger.model", "digits.model"


def run(arguments: argparse.Namespace) -> Outcome:
    """Generate data, then train, certify and evaluate a tagger and a classifier."""
    began = time.perf_counter()
    folder = Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot be made ({error.strerror}); give --output another folder",
            place=Place(str(folder)),
        ) from error
    compiled = _compile(arguments)
    steps = [*_tagging(arguments, folder), *_digits(arguments, folder)]
    codes = [step.pop("exit_code") for step in steps]
    reports = [step["report"] for step in steps if step["command_line"].startswith(_REPORT)]
    models = [str(folder / name) for name in (_TAGGER, _CLASSIFIER)]
    serve = shlex.join(["partwise", "serve", *models])
    ready = "" if find_spec("h11") else "pip install 'partwise[serve]'\n"
    _say(
        arguments,
        f"\nAll of it took {time.perf_counter() - began:.1f} s; the files are in {folder}. Open "
        f"{' and '.join(reports)} in a browser: they say all there is to say about the two models. "
        "To try them on input of your own, run the following, and open the address that it prints:"
        f"\n\n{ready}{serve}",
    )
    record = {
        "output": str(folder),
        "compile_seconds": compiled,
        "total_seconds": time.perf_counter() - began,
        "reports": reports,
        "serve": serve,
        "steps": steps,
    }
    return Outcome(record, code=max(codes, default=DONE))


def _tagging(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    from partwise.datasets import tagged_text, write

    train, test, model = folder / "train.txt", folder / "test.txt", folder / _TAGGER
    write(tagged_text(_N_TRAIN, seed=1), train)
    write(tagged_text(_N_TEST, seed=2), test)
    _say(
        arguments,
        f"\nA tagger. {train} has {_N_TRAIN:,} sentences with words, parts of speech and chunks, "
        f"{test} another {_N_TEST:,}.",
    )
    command = ["train", "--task", "tag", str(train), "--model", str(model), "--tol", "1e-6"]
    # The demo must also run where only the library is installed.
    if find_spec("matplotlib") is not None:
        command += ["--plot", str(folder / "tagger.png")]
    return [
        _step(arguments, command),
        _step(arguments, ["evaluate", str(model), str(test)]),
        _step(arguments, _report(model, test, folder / "tagger.html")),
    ]


def _digits(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    from partwise.datasets import digits

    train, test = folder / "digits-train.svm", folder / "digits-test.svm"
    model = folder / _CLASSIFIER
    rows, labels = digits()
    cut = len(labels) - _N_DIGITS_TEST
    _write_svmlight(train, rows.take(slice(0, cut)), labels[:cut])
    _write_svmlight(test, rows.take(slice(cut, None)), labels[cut:])
    _say(
        arguments,
        f"\nA classifier. {train} has {cut:,} images of digits, {test} another {_N_DIGITS_TEST:,}.",
    )
    command = ["train", "--task", "classify", str(train), "--model", str(model)]
    return [
        _step(arguments, [*command, "--bias", "1", "--tol", "1e-6"]),
        _step(arguments, ["evaluate", str(model), str(test)]),
        _step(arguments, _report(model, test, folder / "digits.html")),
    ]


def _report(model: Path, test: Path, page: Path) -> list[str]:
    return ["report", str(model), str(test), "--output", str(page)]


def _compile(arguments: argparse.Namespace) -> float:
    """Run the compiled functions once on tiny data, and return the seconds until they are ready."""
    from partwise.datasets import tagged_text, write

    _say(arguments, "Preparing compiled code: the first run compiles it, in about a minute.")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        text, model = f"{name}/text", f"{name}/model"
        write(tagged_text(3), text)
        _run(["train", "--task", "tag", text, "--model", model, "--dev", text], "--quiet")
        Path(text).write_text("1 1:1\n2 2:1\n3 3:1\n", "ascii")
        _run(["train", "--task", "classify", text, "--model", model, "--dev", text], "--quiet")
    seconds = time.perf_counter() - began
    _say(
        arguments,
        f"Loading or compiling the code took {seconds:.1f} s. Compiled code is cached on disk, so "
        "only the first run waits for it.",
    )
    return seconds


def _step(arguments: argparse.Namespace, command: list[str]) -> dict[str, Any]:
    """Show a command, run it, show its result, and return its record."""
    line = shlex.join(["partwise", *command])
    _say(arguments, f"\n$ {line}")
    outcome = _run(command, *(["--quiet"] if arguments.quiet else []))
    _say(arguments, outcome.text)
    return {"command_line": line, "exit_code": outcome.code, **outcome.record}


def _run(command: list[str], *options: str) -> Outcome:
    """Run a command, with options that a report on it does not show."""
    from .parser import build_parser

    parsed = build_parser(command).parse_args([*command, *options])
    parsed.command_line = shlex.join(["partwise", *command])
    outcome: Outcome = import_module(f"partwise.cli.{parsed.command}").run(parsed)
    return outcome


def _say(arguments: argparse.Namespace, text: str) -> None:
    if arguments.json:
        return
    sys.stdout.write(text + "\n")
    # Progress goes to stderr; without the flush the two would come out of order.
    sys.stdout.flush()


def _write_svmlight(path: Path, rows: Rows, labels: list[str]) -> None:
    from partwise.formats.source import writing

    ends = rows.indptr.tolist()
    indices = rows.indices.tolist()
    values = [1.0] * len(indices) if rows.values is None else rows.values.tolist()
    with writing(path) as stream:
        for row, label in enumerate(labels):
            entries = range(ends[row], ends[row + 1])
            pairs = (f"{indices[entry] + 1}:{values[entry]:g}" for entry in entries)
            stream.write(" ".join([label, *pairs]) + "\n")
