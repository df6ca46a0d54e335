"""The examples of the migration pages, which run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from partwise.compiled.compilation import NOTE

PAGES = sorted((Path(__file__).resolve().parent.parent / "docs" / "migration").glob("*.md"))
IDS = [page.stem for page in PAGES]


def program(page: Path) -> str:
    """The Python blocks of a page, one after the other."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    return "\n".join(blocks)


def test_there_are_pages() -> None:
    assert len(PAGES) >= 2


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_examples(page: Path, tmp_path: Path) -> None:
    code = program(page)
    # A page has an example with results that it promises.
    promises = re.findall(r"# -> (.*)$", code, re.M)
    assert promises
    # In a process of its own, where a warning is an error, as a reader would run it.
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() in ("", NOTE)
    printed = done.stdout.splitlines()
    for promised in promises:
        assert promised in printed


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_pages(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.isascii()
    assert re.search(r"^\|---\|---\|$", text, re.M)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target
