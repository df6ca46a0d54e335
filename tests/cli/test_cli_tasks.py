from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, one_object, runner, sentence

from partwise.cli import main
from partwise.cli.compilation import NOTE
from partwise.cli.parser import build_parser
from partwise.datasets import tagged_text, write
from partwise.errors import DataError
from partwise.formats.source import read_text, writing
from partwise.models.fit import fit_model
from partwise.models.model import Model
from partwise.models.numbered import NumberedEncoder
from partwise.problem.rows import Rows
from partwise.structures.multiclass import Multiclass
from partwise.tasks.base import Predictions, Task, Trained, no_labels, settings_of
from partwise.tasks.candidates import Candidate, find_candidates
from partwise.tasks.options import MIN_COUNT, Option
from partwise.tasks.registry import TASKS, all_tasks
from partwise.training.loop import Callback

WORDS = "vowel:aeiou\nvowel:oui\nother:krst\nother:bcd\nvowel:aai\nother:xyz\n"

Lines = list[tuple[str | None, str]]


class Letters(Task[Lines]):
    """Classifies words by their letters: a whole task, and nothing of it is in the package."""

    name = "letters"
    summary = "classify words"
    example = "words.txt --model words.model"
    reads = "reads lines label:word"
    writes = "writes label:word"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            Option("--letters", type=int, default=26, metavar="N", help="of the alphabet"),
        ),
        "predict": (Option("--shout", action="store_true", default=False, help="in capitals"),),
        "evaluate": (Option("--digits", type=int, default=2, help="of the accuracy"),),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        return 2 * all(line.count(":") == 1 and line[-1].isalpha() for line in lines)

    def read(self, path: str, arguments: argparse.Namespace, like: Lines | None = None) -> Lines:
        return _lines(path, labelled=True)

    def read_for(self, model: Model, path: str, labelled: bool) -> Lines:
        lines = _lines(path, labelled=False)
        if labelled and any(label is None for label, _ in lines):
            raise no_labels(path, len(lines), "before the colon")
        return lines

    def sizes(self, source: Lines) -> tuple[int, int]:
        return len(source), sum(len(word) for _, word in source)

    def fit(
        self,
        arguments: argparse.Namespace,
        source: Lines,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        labels = sorted({str(label) for label, _ in source})
        if len(labels) == 1:
            raise DataError("one label is not enough")
        model, fit = fit_model(
            self.name,
            Multiclass(len(labels)),
            [_rows(source, arguments.letters)],
            np.ones(len(source), np.int64),
            [np.array([labels.index(str(label))]) for label, _ in source],
            NumberedEncoder((arguments.letters,)),
            settings_of(arguments, min_count=arguments.min_count),
            labels=labels,
            callbacks=callbacks,
            initial=initial,
        )
        return Trained(model, fit, len(source), {"letters": arguments.letters})

    def predict(self, model: Model, source: Lines, arguments: argparse.Namespace) -> Predictions:
        found = find_candidates(
            model,
            [_rows(source, model.layout.n_features[0])],
            np.ones(len(source), np.int64),
            arguments.k or 1,
            probabilities=arguments.marginals,
            n_jobs=arguments.jobs,
        )
        names = [str(label).upper() if arguments.shout else str(label) for label in model.labels]
        return Sorted(source, names, found)

    def score(
        self, model: Model, source: Lines, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        rows = _rows(source, model.layout.n_features[0])
        labels = model.predict([rows], np.ones(len(source), np.int64), n_jobs=arguments.jobs)
        pairs = zip(source, labels, strict=True)
        right = [gold == model.labels[int(label[0])] for (gold, _), label in pairs]
        accuracy = sum(right) / len(right)
        return {"accuracy": accuracy}, f"accuracy {accuracy:.{arguments.digits}f}"


@dataclass(frozen=True, eq=False)
class Sorted(Predictions):
    source: Lines
    names: list[str]
    candidates: list[list[Candidate]]

    def write(self, path: str) -> None:
        with writing(path) as stream:
            for (_, word), some in zip(self.source, self.candidates, strict=True):
                stream.write(f"{self.names[int(some[0].label[0])]}:{word}\n")

    def record(self) -> dict[str, Any]:
        return {
            "candidates": [
                [{"score": one.score, "probability": one.probability} for one in some]
                for some in self.candidates
            ]
        }


def _lines(path: str, labelled: bool) -> Lines:
    name, text = read_text(path)
    found: Lines = []
    for number, line in enumerate(text.split("\n"), 1):
        label, colon, word = line.rpartition(":")
        if line and labelled and (not colon or not word.isalpha()):
            raise DataError(f"{name}:{number}: no word with a label; write label:word")
        if line:
            found.append((label if colon else None, word))
    return found


def _rows(source: Lines, n: int) -> Rows:
    dense = np.zeros((len(source), n))
    for row, (_, word) in enumerate(source):
        for letter in word:
            dense[row, (ord(letter) - ord("a")) % n] += 1.0
    return Rows.from_dense(dense)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register the task, and write a file for it."""
    monkeypatch.setitem(TASKS, "letters", f"{__name__}:Letters")
    (tmp_path / "words").write_text(WORDS, "ascii")
    return tmp_path / "words"


# A task of one's own


def test_a_new_task_is_one_file(run: Run, words: Path, tmp_path: Path) -> None:
    model, out = tmp_path / "model", tmp_path / "out"
    train = ("train", "--task", "letters", words, "--model", model, "--dev", words, "--json")
    code, text, _ = run(*train, "--letters", 30, "--l2", "0.1")
    record = one_object(text)
    assert code == 0
    assert record["converged"] is True
    assert (record["n_examples"], record["letters"]) == (6, 30)
    assert record["metrics"]["accuracy"] == 1.0

    assert run("predict", model, words)[:2] == (0, WORDS)
    assert run("predict", model, words, "--shout", "--output", out)[0] == 0
    assert out.read_text("ascii").startswith("VOWEL:aeiou\n")
    record = one_object(run("predict", model, words, "--k", 2, "--marginals", "--json")[1])
    assert record["n_positions"] == 5 + 3 + 4 + 3 + 3 + 3
    for some in record["candidates"]:
        assert sum(one["probability"] for one in some) == pytest.approx(1.0, abs=1e-12)

    assert run("evaluate", model, words)[1] == "accuracy 1.00\n"
    assert run("evaluate", model, words, "--digits", 4)[1] == "accuracy 1.0000\n"
    assert run("train", *train[1:], "--resume", model, "--letters", 30)[0] == 0
    record = one_object(run("info", model, "--json")[1])
    assert record["task"] == "letters"


def test_errors_of_a_new_task(run: Run, words: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "letters", "--model", tmp_path / "model")
    assert run(*train, words, "--quiet")[0] == 0
    same, bare = tmp_path / "same", tmp_path / "bare"
    same.write_text("vowel:a\nvowel:e\n", "ascii")
    bare.write_text("aei\n", "ascii")
    code, _, err = run(*train, same)
    assert code == 1
    assert f"error: {same}: one label is not enough" in sentence(err)
    code, _, err = run("evaluate", tmp_path / "model", bare)
    assert code == 1
    assert "before the colon" in sentence(err)


def test_help_knows_a_new_task(run: Run, words: Path) -> None:
    _, out, _ = run("train", "--help")
    assert "{tag,classify" in out
    assert "options of --task letters:\n  also: --min-count\n" in out
    assert "--task letters reads lines label:word." in out
    assert "partwise train --task letters words.txt --model words.model" in out
    _, out, _ = run("predict", "--help")
    assert "--task letters writes label:word." in out
    assert "--shout" in out


# Options


@pytest.mark.parametrize(
    ("task", "option", "owners"),
    [
        ("letters", ["--bias", "0"], "classify"),
        ("letters", ["--class-weight", "balanced"], "tag or classify"),
        ("tag", ["--letters", "26"], "letters"),
        ("classify", ["--no-spelling"], "tag"),
        ("classify", ["--start-end"], "tag"),
    ],
)
def test_options_of_other_tasks_are_refused(
    run: Run, words: Path, tmp_path: Path, task: str, option: list[str], owners: str
) -> None:
    train = ("train", "--task", task, words, "--model", tmp_path / "m", *option)
    code, _, err = run(*train)
    assert code == 2
    assert option[0] in sentence(err)
    # Tasks to come may share an option, so the owners need not be all.
    assert f"belongs to --task {owners}" in err
    assert f"not to --task {task}" in err


def test_options_of_other_models_are_refused(run: Run, words: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    assert run("train", "--task", "letters", words, "--model", model, "--quiet")[0] == 0
    code, _, err = run("evaluate", model, words, "--scheme", "IOB2")
    assert code == 2
    assert "--scheme belongs to --task tag" in sentence(err)


def test_tasks_agree_on_what_they_share() -> None:
    for verb in ("train", "predict", "evaluate"):
        seen: dict[str, Option] = {}
        for task in all_tasks():
            assert TASKS[task.name].startswith(f"partwise.cli.tasks.{task.name}:")
            for option in task.options.get(verb, ()):
                for flag in option.spelled:
                    first = seen.setdefault(flag, option)
                    assert first.flags == option.flags
                    differ = {"help", "metavar"}
                    assert {k: v for k, v in first.settings.items() if k not in differ} == {
                        k: v for k, v in option.settings.items() if k not in differ
                    }
    build_parser()


def test_examples_in_help_can_be_parsed() -> None:
    for task in all_tasks():
        build_parser().parse_args(["train", "--task", task.name, *task.example.split()])


def test_tasks_come_without_numpy() -> None:
    check = (
        "import sys; from partwise.tasks.registry import all_tasks; all_tasks();"
        "heavy = {'numba', 'numpy', 'scipy'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", check], check=True)


def test_a_model_of_a_task_that_is_gone(
    run: Run, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m"
    assert run("train", "--task", "letters", words, "--model", model, "--quiet")[0] == 0
    monkeypatch.delitem(TASKS, "letters")
    for verb in ("predict", "evaluate"):
        code, _, err = run(verb, model, words)
        assert code == 1
        assert "'letters'" in sentence(err)
        assert "load_model" in err


# Files for another task


def test_a_file_for_another_task_is_recognised(run: Run, words: Path, tmp_path: Path) -> None:
    write(tagged_text(5, seed=1), tmp_path / "text")
    (tmp_path / "svm").write_text("1 1:1\n" + SVMLIGHT, "ascii")
    for task, name, other in (
        ("tag", "svm", "classify"),
        ("tag", "words", "letters"),
        ("classify", "words", "letters"),
        ("letters", "svm", "classify"),
        ("letters", "text", "tag"),
    ):
        train = ("train", "--task", task, tmp_path / name, "--model", tmp_path / "m")
        code, _, err = run(*train)
        assert code == 1
        assert f"it looks like a file for --task {other}" in sentence(err)
    train = ("train", "--task", "letters", words, "--model", tmp_path / "m", "--quiet")
    code, _, err = run(*train, "--dev", tmp_path / "svm")
    assert f"{tmp_path / 'svm'}:1: " in sentence(err)
    assert "--task classify" in err


def test_a_file_of_the_right_kind_gets_no_hint(run: Run, words: Path, tmp_path: Path) -> None:
    (tmp_path / "same").write_text("a X\nb X\n", "ascii")
    _, _, err = run("train", "--task", "tag", tmp_path / "same", "--model", tmp_path / "m")
    assert "looks like" not in sentence(err)
    _, _, err = run("train", "--task", "tag", tmp_path / "gone", "--model", tmp_path / "m")
    assert "looks like" not in sentence(err)


# A cold cache


def test_compiling_is_said_once_and_quiet_stays_quiet(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from numba.core import event

    now = 0.0

    def slow(self: Letters, path: str, *_: object) -> Lines:
        nonlocal now
        # As numba does where the cache has nothing: passes, and passes within passes.
        for _ in range(3):
            with event.trigger_event("numba:run_pass"), event.trigger_event("numba:run_pass"):
                now += 2.0
        return _lines(path, labelled=True)

    monkeypatch.setattr(Letters, "read", slow)
    module = "partwise.compiled.compilation"
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(f"{module}._PATIENCE", 1.0)
    train = ["train", "--task", "letters", str(words), "--model", str(tmp_path / "m")]
    assert main(train) == 0
    assert capfd.readouterr().err.count(NOTE) == 1
    assert main([*train, "--quiet"]) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(f"{module}._PATIENCE", 1e9)
    assert main(train) == 0
    assert NOTE not in capfd.readouterr().err
