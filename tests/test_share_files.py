"""The completions and manual pages that the wheel installs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from partwise.cli.parser import build_parser
from partwise.solvers.registry import SOLVERS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import share_files  # noqa: E402
from share_files import described_parser, verbs_of  # noqa: E402


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, made in a process of its own: other tests register solvers and formats."""
    folder = tmp_path_factory.mktemp("share")
    # Where the wheel is built there is no numpy.
    program = (
        "import sys; sys.modules |= dict.fromkeys(('numpy', 'scipy', 'numba', 'sklearn'))\n"
        f"sys.path[:0] = {[str(ROOT / 'tools'), str(share_files.SOURCES)]!r}\n"
        f"import share_files; sys.exit(share_files.main([{str(folder)!r}]))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    return folder


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert share_files.main([]) == 2
    assert capsys.readouterr().err == "usage: python tools/share_files.py FOLDER\n"


def test_every_file_is_in_the_wheel(share: Path) -> None:
    """What is made is what ``data-files`` of ``pyproject.toml`` names."""
    named = re.findall(r'"build/share/(.*)"\]$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    found = {path for pattern in named for path in share.glob(pattern)}
    assert found == {path for path in share.rglob("*") if path.is_file()}
    assert len(found) == 4 + len(verbs_of(build_parser()))


def test_values_are_described() -> None:
    verbs = verbs_of(described_parser())
    found = {
        (name, (action.option_strings or [action.dest])[-1]): action
        for name, verb in verbs.items()
        for action in verb._actions
    }
    assert "online-eg" in (found["train", "--solver"].choices or ())
    assert set(found["solvers", "name"].choices or ()) == set(SOLVERS)
    assert "conllu" in (found["predict", "--format"].choices or ())
    assert {"jsonl", "crfpp-model"} <= set(found["convert", "--from"].choices or ())
    for key in (("train", "file"), ("train", "--model"), ("serve", "models"), ("report", "--card")):
        assert hasattr(found[key], "complete"), key


@pytest.mark.parametrize("verb", verbs_of(build_parser()))
def test_every_verb_has_a_page_with_all_of_its_options(verb: str, share: Path) -> None:
    page = (share / f"man/man1/partwise-{verb}.1").read_text("utf-8")
    plain = page.replace(r"\-", "-")
    whole = (share / "man/man1/partwise.1").read_text("utf-8").replace(r"\-", "-")
    assert rf"\fBpartwise-{verb}\fR(1)" in whole
    for action in verbs_of(build_parser())[verb]._actions:
        for flag in action.option_strings:
            assert rf"\fB{flag}\fR" in plain
    assert re.search(r"^\.SH EXIT STATUS\n\.TP\n\\fB0\\fR\ndone$", page, re.M)
    assert re.search(r"^partwise " + verb, plain, re.M), "an example"
    # Lines that begin with a dot or an apostrophe are requests.
    requests = set(re.findall(r"^[.'](\S*)", page, re.M))
    assert requests <= {'\\"', "TH", "nh", "ad", "SH", "PP", "RS", "RE", "nf", "fi", "TP"}
    assert page.isascii()


def completed(line: str, folder: Path, bash: Path) -> list[str]:
    """What bash offers for the last word of a line."""
    script = f"""
source {bash}
COMP_WORDS=({line})
case {line!r} in *" ") COMP_WORDS+=("") ;; esac
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_partwise
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="completes in bash"
)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("partwise pre", {"predict"}),
        ("partwise train --task ", {"tag", "classify", "segment", "parse", "brackets", "graph"}),
        ("partwise train --task tag --loss h", {"hinge"}),
        ("partwise train --solver sag-", {"sag-batch", "sag-nus"}),
        ("partwise predict --mar", {"--marginals"}),
        ("partwise predict a.model x.txt --format conllu --jo", {"--jobs"}),
        ("partwise convert a b --from crfpp", {"crfpp-model"}),
        ("partwise solvers newt", {"newton"}),
        ("partwise train a.", {"a.model"}),
        ("partwise train a.model --dev a", {"a.model"}),
        ("partwise demo --output f", {"folder"}),
    ],
)
def test_bash(line: str, offered: set[str], tmp_path: Path, share: Path) -> None:
    (tmp_path / "a.model").write_text("", "utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("", "utf-8")
    bash = share / "bash-completion/completions/partwise"
    assert set(completed(line, tmp_path, bash)) == offered
