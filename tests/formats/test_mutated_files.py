"""Damaged files of all formats of tokens: a sentence or a sound reading, never a traceback.

``pytest tests/formats/test_mutated_files.py --mutations 2000`` tries more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import runner
from support.mutated_files import FILES, contents, mutations, put

from partwise.errors import PartwiseError
from partwise.formats.convert import convert
from partwise.formats.registry import FORMATS
from partwise.formats.validate import validate


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
    run = runner(capfd)
    flags = [
        part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)
    ]
    n_inputs = len(read(put(tmp_path / "sound", text.encode()), **options).fields)
    accepted = refused = 0
    for number, data in enumerate(mutations(text, pytestconfig.getoption("mutations"), seed=7)):
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
            assert any(fault.text in error for fault in found.faults), (data, error)
        else:
            accepted += 1
            # Tags are no matter of reading.
            assert all("--scheme" in fault.text for fault in found.faults), (data, found.faults)
            out = str(tmp_path / "out")
            write(out, columns, **_writing(options))
            again = read(out, **_again(kind, options, columns.labels is None))
            assert contents(again) == contents(columns), data
            convert(path, out, kind, kind, **options)
        for inputs in (n_inputs, 1):
            assert tried(read, path, inputs=inputs, **options)[1].startswith(path), data
        if number % 20 == 0:
            code, out_text, err = run("validate", path, "--format", kind, *flags)
            assert (code, err) == (1 if found.faults else 0, ""), data
            assert len(out_text.splitlines()) == len(found.faults) + 1
            code, _, err = run("validate", path, *(flags if kind == "columns" else ()))
            assert code in (0, 1, 2)
            assert "Traceback" not in err
    assert accepted
    assert refused


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
