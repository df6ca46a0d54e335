"""The command in the hands of the clumsy and the malicious: a sentence, never a traceback."""

from __future__ import annotations

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.commands import SVMLIGHT, Run, process, runner, sentence
from support.grammar_of_arcs import treebank

from partwise import DataError, LinearClassifier, SequenceTagger, save_model
from partwise.cli import main
from partwise.formats import source
from partwise.formats.conll import write_conll
from partwise.formats.source import read_text
from partwise.formats.svmlight import read_svmlight


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.svm").write_text(SVMLIGHT, "ascii")
    train = ["train", "--task", "classify", f"{folder}/train.svm", "--model", f"{folder}/classify"]
    assert main([*train, "--quiet"]) == 0
    write_conll(folder / "trees", treebank(8))
    train = ["train", "--task", "parse", f"{folder}/trees", "--model", f"{folder}/parse"]
    assert main([*train, "--quiet", "--tol", "0.1"]) == 0
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Iterator[Run]:
    before = signal.getsignal(signal.SIGTERM)
    yield runner(capfd)
    assert signal.getsignal(signal.SIGTERM) is before


# Labels that UTF-8 cannot hold


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    X = np.random.default_rng(0).normal(size=(12, 4))
    y = np.array(["\ud800", "y"] * 6, dtype=object)
    save_model(LinearClassifier().fit(X, y), folder / "classify")
    tokens = [["a\ud800", "b"], ["b"]] * 3
    save_model(SequenceTagger().fit(tokens, [["\ud800", "y"], ["y"]] * 3), folder / "tag")
    (folder / "x.svm").write_text("y 1:1\nz 2:-9\n", "ascii")
    return folder


def test_half_a_surrogate_pair_is_written_in_ascii(odd: Path, run: Run) -> None:
    for name in ("classify", "tag"):
        code, out, _ = run("info", odd / name)
        assert code == 0
        assert r"labels      2: y, \ud800" in out.splitlines()
        assert json.loads(run("info", odd / name, "--json")[1])["labels"] == ["y", "\ud800"]
    code, out, err = run("predict", odd / "classify", odd / "x.svm", "--k", 2)
    assert (code, err) == (0, "")
    assert r"\ud800:" in out
    code, _, _ = run("predict", odd / "classify", odd / "x.svm", "--k", 2, "--output", odd / "out")
    assert (code, (odd / "out").read_text("utf-8")) == (0, out)
    code, out, _ = run("evaluate", odd / "classify", odd / "x.svm")
    assert code == 0
    assert r"\ud800" in out


def test_what_the_terminal_has_no_bytes_for_is_written_in_ascii(odd: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    program = [sys.executable, "-m", "partwise", "info", str(odd / "tag")]
    done = subprocess.run(program, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert rb"\ud800" in done.stdout


# Signals


def test_sigterm_while_reading(tmp_path: Path) -> None:
    pipe, model = tmp_path / "pipe", tmp_path / "a.model"
    os.mkfifo(pipe)
    child = process("train", "--task", "tag", pipe, "--model", model)
    with open(pipe, "w", encoding="ascii") as writer:  # opens when the command does
        writer.write("the DT\n")
        writer.flush()
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate()
    assert child.returncode == 143
    assert sentence(err) == "partwise: error: ended by SIGTERM; no file was left half-written\n"
    assert out == ""
    assert os.listdir(tmp_path) == ["pipe"]


ENDS = """
import os, signal, sys
from partwise.cli import main
from partwise.tasks.sequences.classify_task import ClassifyTask

def end(*given):
    os.kill(os.getpid(), signal.SIGTERM)

if sys.argv[1] == "features":
    ClassifyTask.make = end
elif sys.argv[1] == "writing":
    os.fsync = end
sys.exit(main(sys.argv[2:]))
"""


def ended(where: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", ENDS, where, *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_sigterm_while_features_are_made(files: Path, tmp_path: Path) -> None:
    train = ("train", "--task", "classify", files / "train.svm", "--model", tmp_path / "a.model")
    done = ended("features", *train)
    assert done.returncode == 143
    ended_by = "partwise: error: ended by SIGTERM; no file was left half-written\n"
    assert sentence(done.stderr) == ended_by
    assert done.stdout == ""
    done = ended("features", *train, "--json")
    assert done.returncode == 143
    error = {"command": "train", "error": "ended by SIGTERM; no file was left half-written"}
    assert json.loads(done.stdout) == error
    assert os.listdir(tmp_path) == []


def test_sigterm_while_writing_leaves_nothing(files: Path, tmp_path: Path) -> None:
    predict = ("predict", files / "classify", files / "train.svm", "--output", tmp_path / "out")
    train = ("train", "--task", "classify", files / "train.svm", "--model", tmp_path / "out", "-q")
    for command in (predict, train):
        done = ended("writing", *command)
        assert done.returncode == 143
        sentence(done.stderr)
        assert os.listdir(tmp_path) == []


def test_a_program_that_handles_sigterm_keeps_its_handler(files: Path, run: Run) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        assert run("info", files / "classify")[0] == 0
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


# Places


def test_links_are_followed(files: Path, tmp_path: Path, run: Run) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for name in ("model", "out"):
        (tmp_path / name).symlink_to(Path("store") / name)
    train = ("train", "--task", "classify", files / "train.svm", "--quiet")
    for _ in range(2):
        assert run(*train, "--model", tmp_path / "model")[0] == 0
        predict = ("predict", tmp_path / "model", files / "train.svm")
        assert run(*predict, "--output", tmp_path / "out")[0] == 0
    assert sorted(os.listdir(store)) == ["model", "out"]
    assert all((tmp_path / name).is_symlink() for name in ("model", "out"))
    (tmp_path / "astray").symlink_to("none/model")
    code, _, err = run(*train, "--model", tmp_path / "astray")
    assert code == 1
    assert "none does not exist; create it first" in sentence(err)


def test_a_full_disk_is_named(
    files: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    train = ("train", "--task", "classify", files / "train.svm", "--model", tmp_path / "a")
    predict = ("predict", files / "classify", files / "train.svm", "--output", tmp_path / "a")
    for command in ((*train, "--quiet"), predict):
        code, _, err = run(*command)
        assert code == 1
        assert "No space left on device" in sentence(err)
        assert "make room on that disk" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_device_is_named(files: Path, run: Run) -> None:
    code, _, err = run("predict", files / "classify", files / "train.svm", "--output", "/dev/full")
    assert code == 1
    assert "/dev/full: cannot be written (No space left on device); make room" in sentence(err)


# Options


def test_punctuation_that_no_word_has_is_told(files: Path, run: Run) -> None:
    evaluate = ("evaluate", files / "parse", files / "trees", "--punctuation")
    code, _, err = run(*evaluate, "NOSUCH,N")
    assert code == 0
    assert "partwise: --punctuation: no word has the part of speech 'NOSUCH', so nothing" in err
    assert err.count("\n") == 1
    assert "the file has " in err
    for rule in ("all", "conllx", "N"):
        assert run(*evaluate, rule)[2] == ""


# Files to read


def test_a_label_of_many_digits(tmp_path: Path, run: Run) -> None:
    many = "9" * 5000
    data = tmp_path / "many"
    data.write_text(f"+00{many} 1:1\n-00 1:2\n-{many} 1:3\n0{many} 1:4\n", "ascii")
    assert read_svmlight(data).labels == [many, "0", f"-{many}", many]
    code, _, err = run("train", "--task", "classify", data, "--model", tmp_path / "a", "--quiet")
    assert (code, err) == (0, "")


def test_a_long_line_is_not_quoted_whole(files: Path, tmp_path: Path, run: Run) -> None:
    data = tmp_path / "long"
    data.write_text(f"1 {'x' * 1_000_000}\n", "ascii")
    code, _, err = run("predict", files / "classify", data)
    assert code == 1
    assert "not a pair index:value" in sentence(err)
    assert len(err) < 3000


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no such devices")
@pytest.mark.parametrize(
    ("device", "says"), [("/dev/zero", "not text"), ("/dev/urandom", "not UTF-8 text")]
)
def test_endless_bytes_are_refused_at_once(files: Path, run: Run, device: str, says: str) -> None:
    code, _, err = run("predict", files / "classify", device)
    assert code == 1
    assert f"{device}:" in sentence(err)
    assert says in err


def test_more_text_than_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "memory_limit", lambda: float(8 << 22))
    large = tmp_path / "large"
    large.write_bytes(b"a b\n" * (1 << 20))
    assert len(read_text(large).text) == 1 << 22
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"a b\n" * (1 << 20) + b"\n"))
    large.write_bytes(b"a b\n" * (1 << 20) + b"\n")
    for path in (large, packed):
        with pytest.raises(DataError, match=f"{path.name}: more than 0.0 GiB of text"):
            read_text(path)


def test_text_that_is_cut_within_a_character(tmp_path: Path) -> None:
    text = "a" * ((1 << 20) - 1) + "\u20ac\n"
    (tmp_path / "text").write_text(text, "utf-8")
    assert read_text(tmp_path / "text").text == text


def test_a_bad_file_through_a_pipe_is_not_read_twice(files: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = process("predict", files / "classify", pipe)
    pipe.write_text("the DT B-NP\ndog NN I-NP\n", "ascii")
    _, err = child.communicate()
    assert child.returncode == 1
    assert f"{pipe}:1: " in sentence(err)


def test_a_pipe_is_no_model(tmp_path: Path, run: Run) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, _, err = run("info", tmp_path / "pipe")
    assert code == 1
    assert "not a plain file" in sentence(err)


def test_closed_stdin(files: Path) -> None:
    program = [sys.executable, "-m", "partwise", "predict", str(files / "classify"), "-"]
    command = ["sh", "-c", 'exec "$@" <&-', "sh", *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "<stdin>: is closed" in sentence(done.stderr)


def test_a_name_with_a_zero_byte() -> None:
    with pytest.raises(DataError, match=r"cannot be read .*null byte"):
        read_text("a\0b")
