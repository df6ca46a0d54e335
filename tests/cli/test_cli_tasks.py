from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, final

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, one_object, runner, sentence

from partwise.cli import main
from partwise.cli.parser import build_parser
from partwise.compiled.compilation import NOTE
from partwise.datasets import tagged_text, write
from partwise.errors import DataError, Place
from partwise.formats.columns import Columns
from partwise.formats.options import Option
from partwise.formats.registry import FORMATS, Format
from partwise.formats.source import read_text, writing
from partwise.models.features import FEATURES, Features, Inputs
from partwise.models.model import Candidate, Model
from partwise.models.prepared import Prepared
from partwise.parameters import Count, Flag
from partwise.problem.batches import Batch
from partwise.problem.rows import Rows
from partwise.structures.multiclass import Multiclass
from partwise.tasks.base import Task, no_labels
from partwise.tasks.comparison import Comparison, LabelComparison
from partwise.tasks.parameters import FeatureParameters
from partwise.tasks.predictions import Predictions, ranking_record
from partwise.tasks.preparation import Preparation
from partwise.tasks.registry import TASKS, all_tasks
from partwise.tasks.source import Source
from partwise.tasks.trainer import Trainer

WORDS = "vowel:aeiou\nvowel:oui\nother:krst\nother:bcd\nvowel:aai\nother:xyz\n"


@dataclass(frozen=True, eq=False)
class Lines(Source):
    """Words with their labels, or None."""

    words: list[tuple[str | None, str]]
    path: str | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def n_positions(self) -> int:
        return sum(len(word) for _, word in self.words)

    def take(self, which: Sequence[int]) -> Lines:
        return Lines([self.words[i] for i in which], self.path)


@final
@dataclass(frozen=True)
class LetterCounts(Features):
    """Counts of letters: features of one's own."""

    name: ClassVar[str] = "letter counts"

    letters: int

    def rows(self, structure: Any, examples: Lines, tally: Any) -> Iterator[Inputs]:
        made = _rows(examples, self.letters)
        yield Inputs([made], np.ones(len(made), np.int64), examples=[None] * len(made))

    def named(self, model: Model, label: Any, example: Any) -> Any:
        return model.labels[int(label[0])]

    def feature_counts(self, structure: Any) -> tuple[int, ...]:
        return (self.letters,)

    def to_json(self) -> dict[str, Any]:
        return {"letters": self.letters}

    def arrays(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Any) -> LetterCounts:
        return cls(int(data["letters"]))

    def match(self, other: Features, structure: Any) -> tuple[Any, ...]:
        return (np.arange(self.letters),)


class LettersTrainer(FeatureParameters, Trainer, without=("hashing",)):
    """Trains classifiers of words."""

    task: ClassVar[str] = "letters"

    letters: Annotated[Count, Flag("--letters", "of the alphabet", "N")] = 26

    def _preparation(self, initial: Model | None, whole: bool = True) -> Preparation:
        return LettersPreparation(self)


class LettersPreparation(Preparation):
    """Prepares words and their classes."""

    def __init__(self, how: LettersTrainer) -> None:
        self.how, self.labels = how, []

    def batches(self, source: Lines, weight: Any) -> Iterator[Batch]:
        self.labels = sorted({str(label) for label, _ in source.words})
        if len(self.labels) == 1:
            raise DataError("one label is not enough")
        gold = [np.array([self.labels.index(str(label))]) for label, _ in source.words]
        ones = np.ones(len(source), np.int64)
        yield Batch(ones, [_rows(source, self.how.letters)], gold, weight)

    def finish(self) -> Prepared:
        return Prepared(
            Multiclass(len(self.labels)),
            LetterCounts(self.how.letters),
            self.labels,
            record={"letters": self.how.letters},
        )


class Letters(Task[Lines]):
    """Classifies words by their letters: a whole task, and nothing of it is in the package."""

    name = "letters"
    trainer = f"{__name__}:LettersTrainer"
    declares = LettersTrainer
    features = "letter counts"
    format = "svmlight"
    summary = "classify words"
    example = "words.txt --model words.model"
    reads = "reads lines label:word"
    writes = "writes label:word"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "predict": (Option("--shout", "in capitals", default=False, kind="switch"),),
        "evaluate": (Option("--digits", "of the accuracy", default=2, kind="whole number"),),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        return 2 * all(line.count(":") == 1 and line[-1].isalpha() for line in lines)

    def read(self, path: str, given: Mapping[str, Any], like: Lines | None = None) -> Lines:
        return _lines(path, labelled=True)

    def read_for(self, model: Model, path: str, labelled: bool, format: str | None = None) -> Lines:
        lines = _lines(path, labelled=False)
        if labelled and any(label is None for label, _ in lines.words):
            raise no_labels(path, len(lines), "before the colon")
        return lines

    def predict(
        self,
        model: Model,
        source: Lines,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
        shout: bool = False,
    ) -> Predictions:
        found = model.candidates(source, k or 1, probabilities=marginals, n_jobs=n_jobs)
        return Sorted(source, found, shout)

    def compare(
        self,
        model: Model,
        source: Lines,
        given: Mapping[str, Any],
        n_jobs: int | None = 1,
        *,
        probabilities: bool = False,
    ) -> Comparison:
        found = [[label] for label in model.predict(source, n_jobs=n_jobs)]
        made = Rounded([[label] for label, _ in source.words], found)
        made.digits = given["digits"]
        return made


class Rounded(LabelComparison):
    """The accuracy of words."""

    digits: int

    def text(self) -> str:
        return f"accuracy {self.value('accuracy'):.{self.digits}f}"


@dataclass(frozen=True, eq=False)
class Sorted(Predictions):
    source: Lines
    candidates: list[list[Candidate]]
    shout: bool

    def write(self, path: str) -> None:
        with writing(path) as stream:
            for (_, word), some in zip(self.source.words, self.candidates, strict=True):
                label = str(some[0].label)
                stream.write(f"{label.upper() if self.shout else label}:{word}\n")

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, "label")


def _lines(path: str, labelled: bool) -> Lines:
    text = read_text(path)
    found: list[tuple[str | None, str]] = []
    for number, line in text.lines():
        label, colon, word = line.rpartition(":")
        if line and labelled and (not colon or not word.isalpha()):
            where = Place(text.name, number)
            raise DataError("no word with a label; write label:word", place=where)
        if line:
            found.append((label if colon else None, word))
    return Lines(found, text.name)


def _rows(source: Lines, n: int) -> Rows:
    dense = np.zeros((len(source), n))
    for row, (_, word) in enumerate(source.words):
        for letter in word:
            dense[row, (ord(letter) - ord("a")) % n] += 1.0
    return Rows.from_dense(dense)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register the task, and write a file for it."""
    monkeypatch.setitem(TASKS, "letters", Letters)
    monkeypatch.setitem(FEATURES, LetterCounts.name, LetterCounts)
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
    assert "options of --task letters:\n  also: --missing, --min-count\n" in out
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
            for option in task.options_for(verb):
                for flag in option.spelled:
                    first = seen.setdefault(flag, option)
                    assert replace(first, help="", metavar=None) == replace(
                        option, help="", metavar=None
                    )
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
    monkeypatch.setattr(f"{module}._told", False)
    train = ["train", "--task", "letters", str(words), "--model", str(tmp_path / "m")]
    assert main(train) == 0
    assert capfd.readouterr().err.count(NOTE) == 1
    assert main([*train, "--quiet"]) == 0
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(f"{module}._PATIENCE", 1e9)
    assert main(train) == 0
    assert NOTE not in capfd.readouterr().err


# Formats


def test_a_format_of_ones_own(
    run: Run, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, **wanted: Any) -> Columns:
        given = read_text(path)
        name, text = given.name, given.text
        tokens = text.split()
        fields = [token.rpartition("/")[0] for token in tokens]
        labels = [token.rpartition("/")[2] for token in tokens]
        lengths = np.array([len(line.split()) for line in text.splitlines()])
        return Columns(name, (fields,), labels, lengths, np.ones(len(tokens), np.int64))

    slashes = Format("tokens in columns", read, "word/label word/label")
    monkeypatch.setitem(FORMATS, "slashes", slashes)
    text, model = tmp_path / "text", tmp_path / "m"
    text.write_text("the/D dog/N\na/D cat/N\n", "ascii")
    command = ("train", "--task", "tag", text, "--model", model, "--format", "slashes", "--quiet")
    assert run(*command)[0] == 0
    assert run("predict", model, text, "--format", "slashes")[1].split()[1::3] == list("DNDN")
    assert run("evaluate", model, text, "--format", "slashes")[0] == 0
    code, _, err = run(*command[:-2], "conll")
    assert code == 2
    assert "hold dependency trees, and not tokens in columns; use one of columns, " in err
    assert "slashes" in err
    code, _, err = run("predict", model, text, "--format", "nonesuch")
    assert code == 2
    assert "unknown format 'nonesuch'" in sentence(err)
