"""The command ``partwise serve``: its arguments and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import runner


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a.model", "b/a.model"], "two models are called 'a'"),
        (["=a.model"], "is neither a file nor NAME=FILE"),
        (["a.model", "--port", "70000"], "not from 0 to 65535"),
        (["a.model", "--max-bytes", "0"], "below 1"),
        (["a.model", "--body-seconds", "inf"], "not a finite number"),
        (["a.model", "--max-length", "tag"], "is not TASK=N"),
        (["a.model", "--max-length", "tag=0"], "the length for tag is 0"),
        (["a.model", "--allowed-host", "http://x"], "is no name of a host"),
        ([], "MODEL"),
    ],
)
def test_usage(arguments: list[str], why: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = runner(capfd)("serve", *arguments)
    assert (code, out) == (2, "")
    assert why in err


def test_a_missing_model_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, _, err = runner(capfd)("serve", tmp_path / "none.model", "--port", "0")
    assert code == 1
    assert "none.model" in err


def test_help_names_every_limit_and_needs_no_server() -> None:
    script = (
        "import sys; from partwise.cli.parser import build_parser; build_parser(); "
        "print([m for m in ('h11', 'numpy', 'asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_without_h11_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    code, _, err = runner(capfd)("serve", "a.model")
    assert code == 1
    assert "pip install 'partwise[serve]'" in err
