"""Damaged files of all formats of tokens: a sentence or a sound reading, never a traceback.

``pytest tests/formats/test_mutated_files.py --mutations 2000`` tries more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import Run
from support.mutated_files import FILES, contents, mutations, put

from partwise.cli.outcome import deliver
from partwise.cli.parser import build_parser
from partwise.errors import PartwiseError
from partwise.formats.registry import FORMATS
from partwise.formats.validation import validate


@pytest.mark.parametrize("name", FILES)
def test_mutated_files(
    name: str,
    tmp_path: Path,
    pytestconfig: pytest.Config,
    capfd: pytest.CaptureFixture[str],
) -> None:
    kind, options, text = FILES[name]
    read, write = FORMATS[kind].read, FORMATS[kind].write
    assert write is not None
    run = commands(capfd)
    flags = [
        part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)
    ]
    n_inputs = len(read(put(tmp_path / "sound", text.encode()), **options).fields)
    accepted = refused = 0
    for data in mutations(text, pytestconfig.getoption("mutations"), seed=7):
        path = put(tmp_path / "in", data)
        found, unread = tried(validate, path, kind, **options)
        if found is None:
            # Only what is no text at all is not looked into.
            assert "gzip" in unread, (data, unread)
            continue
        columns, error = tried(read, path, **options)
        if columns is None:
            refused += 1
            # Reading stops at one of the faults.
            assert error.startswith(path), error
            assert any(fault.sentence in error for fault in found.faults), (data, error)
        else:
            accepted += 1
            # Tags are no matter of reading.
            assert all("--scheme" in fault.sentence for fault in found.faults), (data, found.faults)
            out = str(tmp_path / "out")
            write(out, columns, **_writing(options))
            again = read(out, **_again(kind, options, columns.labels is None))
            assert contents(again) == contents(columns), data
        for inputs in (n_inputs, 1):
            assert tried(read, path, inputs=inputs, **options)[1].startswith(path), data
        code, out_text, err = run("validate", path, "--format", kind, *flags)
        assert (code, err) == (1 if found.faults else 0, ""), data
        about = [line for line in out_text.splitlines() if line.startswith(path)]
        assert len(about) == len(found.faults) + 1
        code, _, err = run("validate", path, *(flags if kind == "columns" else ()))
        assert (code == 2) == ("looks like the format" in err), (data, err)
        ends = ("--from", kind, "--to", kind)
        code, _, err = run("convert", path, tmp_path / "out", *ends, *flags)
        assert code == (1 if columns is None else 0), (data, err)
        assert len(err.splitlines()) == code, err
    assert accepted
    assert refused


def commands(capfd: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command, as `support.commands.runner`, without a new parser for each."""
    parser = build_parser()

    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        parsed = parser.parse_args([str(argument) for argument in arguments])
        code = deliver(parsed)
        out, err = capfd.readouterr()
        return code, out, err

    return call


def tried(work: Callable[..., Any], path: str, *arguments: Any, **more: Any) -> tuple[Any, str]:
    """Return the result and the path, or None and the sentence that says what is wrong."""
    try:
        return work(path, *arguments, **more), path
    except PartwiseError as error:
        return None, str(error)


def _writing(options: dict[str, object]) -> dict[str, object]:
    return {"separator": options["separator"]} if "separator" in options else {}


def _again(kind: str, options: dict[str, object], unlabelled: bool) -> dict[str, object]:
    """Return the options for reading what was written: chosen columns are all there is."""
    kept = {k: v for k, v in options.items() if kind != "columns" or k == "separator"}
    return {**kept, "labelled": False} if unlabelled else kept
