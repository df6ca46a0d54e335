"""``partwise predict MODEL -``: answers as the input arrives, the same as for the whole file."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import SVMLIGHT, Run, process, runner, sentence, trained
from support.grammar_of_arcs import treebank as arcs
from support.grammar_of_phrases import treebank as phrases

from partwise.cli import main
from partwise.formats.brackets import write_brackets
from partwise.formats.conll import write_conll

#: For each task its training file, and the file that is labelled.
FILES = {
    "tag": ("train.txt", "test.txt"),
    "segment": ("train.txt", "test.txt"),
    "classify": ("train.svm", "train.svm"),
    "parse": ("train.conll", "dev.conll"),
    "brackets": ("train.mrg", "dev.mrg"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = trained(tmp_path_factory.mktemp("filter"))
    write_conll(folder / "train.conll", arcs(30))
    write_conll(folder / "dev.conll", arcs(12, seed=1))
    write_brackets(folder / "train.mrg", phrases(30))
    write_brackets(folder / "dev.mrg", phrases(8, seed=1, longest=8))
    for task in ("segment", "parse", "brackets"):
        data = folder / FILES[task][0]
        given = ["--model", f"{folder}/{task}", "--quiet", "--tol", "1e-2"]
        assert main(["train", "--task", task, str(data), *given]) == 0
    return folder


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(capfd)


class Arriving(io.BytesIO):
    """Bytes of which a read returns a few at a time."""

    def read1(self, size: int | None = -1) -> bytes:
        return self.read(97)


def fed(monkeypatch: pytest.MonkeyPatch, data: bytes, kind: Any = Arriving) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(kind(data), "utf-8"))


@pytest.mark.parametrize("task", list(FILES))
@pytest.mark.parametrize(
    "options", [(), ("--marginals",), ("--k", 2), ("--k", 2, "--marginals"), ("--jobs", 2)]
)
def test_the_answers_are_those_for_the_file(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, task: str, options: tuple[Any, ...]
) -> None:
    data = files / FILES[task][1]
    code, whole, err = run("predict", files / task, data, *options)
    assert (code, err) == (0, "")
    for kind in (Arriving, io.BytesIO):
        fed(monkeypatch, data.read_bytes(), kind)
        assert run("predict", files / task, "-", *options) == (0, whole, "")


@pytest.mark.parametrize("task", list(FILES))
def test_every_way_to_end_a_file(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: str
) -> None:
    text = (files / FILES[task][1]).read_bytes()
    for data in (
        b"",
        b"\n\n",
        b"\xef\xbb\xbf" + text,
        b"\n\n" + text,
        text.rstrip(b"\n"),
        text.rstrip(b"\n") + b"\n\n\n\n",
        text.replace(b"\n\n", b"\n \n\n\n"),
        text.replace(b"\n", b"\r\n"),
        gzip.compress(text),
    ):
        (tmp_path / "file").write_bytes(data)
        code, whole, err = run("predict", files / task, tmp_path / "file")
        fed(monkeypatch, data)
        found = run("predict", files / task, "-")
        assert found == (code, whole, err.replace(str(tmp_path / "file"), "<stdin>"))


def test_errors_name_the_line_and_the_rest_is_answered(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = (files / "test.txt").read_bytes()
    lines = good.count(b"\n")
    bad = good + b"one two three four five\n\n" + good
    (tmp_path / "file").write_bytes(bad)
    code, _, err = run("predict", files / "tag", tmp_path / "file")
    assert (code, f":{lines + 1}:" in err) == (1, True)
    fed(monkeypatch, bad)
    code, out, told = run("predict", files / "tag", "-")
    assert code == 1
    assert sentence(told) == err.replace(str(tmp_path / "file"), "<stdin>")
    assert run("predict", files / "tag", files / "test.txt")[1].startswith(out)
    assert out
    for task, wrong in (("classify", b"1 1:x\n"), ("brackets", b"(S (A a\n(B b)))\n)\n")):
        data = (files / FILES[task][1]).read_bytes()
        (tmp_path / "file").write_bytes(data + wrong)
        err = run("predict", files / task, tmp_path / "file")[2]
        fed(monkeypatch, data + wrong)
        told = run("predict", files / task, "-")[2]
        assert sentence(told) == err.replace(str(tmp_path / "file"), "<stdin>")


def test_a_later_sentence_with_other_columns(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first sentence says that there are labels, so a later one must have them too."""
    first = b"\n".join((files / "test.txt").read_bytes().split(b"\n\n")[0].split(b"\n"))
    fed(monkeypatch, first + b"\n\nthe DT\n\n", io.BytesIO)
    code, _, err = run("predict", files / "tag", "-")
    assert code == 1
    at = first.count(b"\n") + 3
    assert f"<stdin>:{at}: 2 columns where line 1 has 3" in sentence(err)


def test_unknown_input_is_said_once_and_only_if_all_of_it_is(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = b"qqq QQ\n\n"
    fed(monkeypatch, strange * 30)
    code, _, err = run("predict", files / "tag", "-")
    assert code == 0
    assert err.count("the model knows none of the") == 1
    fed(monkeypatch, strange * 30 + (files / "test.txt").read_bytes().split(b"\n\n")[0] + b"\n\n")
    assert "knows none" not in run("predict", files / "tag", "-")[2]


def test_a_coprocess_gets_its_answer_at_once(files: Path) -> None:
    blocks = (files / "test.txt").read_text("utf-8").rstrip("\n").split("\n\n")[:4]
    trees = (files / "dev.mrg").read_text("utf-8").splitlines()[:3]
    rows = SVMLIGHT.splitlines()[:3]
    for task, asked, n_lines in (
        ("tag", [block + "\n\n" for block in blocks], None),
        ("brackets", [tree + "\n" for tree in trees], 1),
        ("classify", [row + "\n" for row in rows], 1),
    ):
        with process("predict", files / task, "-", bufsize=1) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            for text in asked:
                running.stdin.write(text)
                running.stdin.flush()
                # This would wait for ever if the answer came at the end of the input.
                for _ in range(n_lines or text.count("\n")):
                    assert running.stdout.readline()
            running.stdin.close()
            assert running.wait() == 0
            assert running.stdout.read() == ""


def test_json_is_one_object(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fed(monkeypatch, (files / "test.txt").read_bytes())
    code, out, _ = run("predict", files / "tag", "-", "--json")
    assert code == 0
    assert out.count("\n") == 1
    fed(monkeypatch, (files / "test.txt").read_bytes())
    target = files / "out.txt"
    assert run("predict", files / "tag", "-", "--output", target)[0] == 0
    assert target.read_text("utf-8") == run("predict", files / "tag", files / "test.txt")[1]


def test_a_reader_that_goes_away(files: Path) -> None:
    command = (
        f"yes '' | cat {files}/test.txt - | {sys.executable} -m partwise predict {files}/tag -"
    )
    done = subprocess.run(["bash", "-c", f"{command} | head -n 1"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
