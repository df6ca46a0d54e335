"""What is checked before a release: the tag, and the archive of the sources."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import partwise

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import release_check  # noqa: E402
import sdist_contents  # noqa: E402

CHANGES = """# Changelog

## [Unreleased]

## [0.2.0] - 2030-01-02

### Added

- A thing.

## [0.1.0]

- Another thing.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src/partwise").mkdir(parents=True)
    (tmp_path / "src/partwise/__init__.py").write_text('__version__ = "0.2.0"\n', "utf-8")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.2.0\n", "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, "utf-8")
    return tmp_path


def test_a_release_prints_its_changes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_check.main(["v0.2.0"], project) == 0
    assert capsys.readouterr().out == "### Added\n\n- A thing.\n"


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "fault"),
    [
        ("0.2.0", "CITATION.cff", "", "", "the tag '0.2.0' is no version"),
        ("v0.2", "CITATION.cff", "", "", "the tag 'v0.2' is no version"),
        ("v0.2.0", "src/partwise/__init__.py", "0.2.0", "0.1.9", "__init__.py says 0.1.9"),
        ("v0.2.0", "CITATION.cff", ": 0.2.0", ": 0.1.9", "CITATION.cff says 0.1.9"),
        ("v0.2.0", "CHANGELOG.md", "[0.2.0]", "[0.2.1]", "newest version of CHANGELOG.md is 0.2.1"),
        ("v0.2.0", "CHANGELOG.md", " - 2030-01-02", "", "has no date"),
        ("v0.2.0", "CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n- x\n", "under Unreleased"),
    ],
)
def test_what_does_not_agree(
    project: Path, tag: str, file: str, old: str, new: str, fault: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = project / file
    path.write_text(path.read_text("utf-8").replace(old, new) if old else path.read_text("utf-8"))
    assert release_check.main([tag], project) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert fault in errors[0]


def test_a_tag_is_needed(project: Path) -> None:
    assert release_check.main([], project) == 2


def test_the_citation_has_the_version_of_the_package() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert cited is not None
    assert cited[1] == partwise.__version__


def test_differences_of_an_archive() -> None:
    packed = ["PKG-INFO", "setup.cfg", "src/partwise.egg-info/SOURCES.txt", "a.py", "b.py"]
    assert sdist_contents.differences(["a.py", "b.py"], packed) == []
    assert sdist_contents.differences(["a.py", "c.py"], packed) == [
        "c.py is tracked and not packed; see MANIFEST.in",
        "b.py is packed and not tracked",
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with a clone of git")
def test_an_archive_is_compared_with_a_clone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("a.py", "b.py"):
        (clone / name).write_text("", "utf-8")
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(clone / "a.py", "x-1.0/a.py")
    assert sdist_contents.main([str(archive)], clone) == 2
    assert "not a clone" in capsys.readouterr().err
    subprocess.run(["git", "init", "--quiet"], cwd=clone, check=True)
    subprocess.run(["git", "add", "--all"], cwd=clone, check=True)
    assert sdist_contents.main([str(archive)], clone) == 1
    said = capsys.readouterr()
    assert said.err == "b.py is tracked and not packed; see MANIFEST.in\n"
    assert said.out == "2 files tracked, 1 packed, 1 differences\n"
    (clone / "b.py").unlink()
    assert sdist_contents.main([str(archive)], clone) == 0
    assert sdist_contents.main([]) == 2
