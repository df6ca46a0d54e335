from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import SVMLIGHT

from partwise.cli import main
from partwise.compiled.compilation import NOTE
from partwise.datasets import tagged_text, write

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "benchmarks/README.md"]
MIGRATION = sorted((ROOT / "docs" / "migration").glob("*.md"))
LINK = re.compile(r"\]\(([^)#]+)\)")
#: A block that begins so is that file, which the other blocks of its page may import.
MODULE = re.compile(r"# (\w+)\.py\n")


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


EXAMPLES = [
    pytest.param(page, code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"))
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize(("page", "code"), EXAMPLES)
def test_python(page: Path, code: str, tmp_path: Path) -> None:
    for block in blocks(page, "python"):
        if named := MODULE.match(block):
            (tmp_path / f"{named[1]}.py").write_text(block, "utf-8")
    # In a process of its own, where a warning is an error, as a reader would run it.
    module = MODULE.match(code)
    command = [sys.executable, "-W", "error", "-c", f"import {module[1]}" if module else code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Whoever runs it first waits for the compiler, and is told so.
    assert done.stderr.strip() in ("", NOTE)
    printed = done.stdout.splitlines()
    for promised in re.findall(r"# -> (.*)$", code, re.M):
        assert promised in printed


@pytest.mark.parametrize(
    "page",
    sorted(set((ROOT / "docs" / "migration").glob("*.md")) - {ROOT / "docs/migration/index.md"}),
    ids=lambda page: page.stem,
)
def test_migration_pages_have_a_worked_example(page: Path) -> None:
    assert any("# -> " in code for code in blocks(page, "python"))


def test_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    demo = tmp_path / "demo"
    demo.mkdir()
    write(tagged_text(60, seed=1), demo / "train.txt")
    write(tagged_text(20, seed=2), demo / "test.txt")
    for name in ("digits-train.svm", "digits-test.svm"):
        (demo / name).write_text(SVMLIGHT, "ascii")
    lines = [line for code in blocks(ROOT / "README.md", "sh") for line in code.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "partwise"
        assert main(arguments) == 0, (line, capfd.readouterr().err)


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_pages(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.isascii()
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), target
