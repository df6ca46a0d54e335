from __future__ import annotations

import logging
import subprocess
import sys
from types import SimpleNamespace

import pytest
from numba.core import event

from partwise.compiled.compilation import NOTE, noted_compilation

UNTOUCHED = """
import sys
from partwise.compiled.compilation import noted_compilation

with noted_compilation():
    pass
assert "numba" not in sys.modules
"""

LATE = """
import logging, sys
import partwise.compiled.compilation as compilation

compilation._PATIENCE = -1.0
assert "numba" not in sys.modules
with compilation.noted_compilation():
    from partwise.compiled.jit import njit

    @njit
    def twice(x):
        return 2 * x

    twice(1)
twice(1.5)
"""


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_numba_is_not_imported_for_the_note() -> None:
    run(UNTOUCHED)


def test_the_note_comes_where_numba_is_imported_later() -> None:
    assert run(LATE).count(NOTE) == 1


def compile_for(seconds: list[float], clock: list[float]) -> None:
    for time in seconds:
        # As numba does: passes, and passes within passes.
        with event.trigger_event("numba:run_pass"), event.trigger_event("numba:run_pass"):
            clock[0] += time


def test_only_a_long_wait_is_noted_and_only_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    name = "partwise.compiled.compilation"
    monkeypatch.setattr(f"{name}.time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(f"{name}._told", False)
    with caplog.at_level(logging.WARNING, logger=name):
        with noted_compilation():
            compile_for([0.3, 0.3], clock)
        compile_for([5.0, 5.0], clock)
        assert caplog.messages == []
        with noted_compilation(), noted_compilation():
            compile_for([0.7, 0.7, 0.7, 5.0, 5.0], clock)
        assert caplog.messages == [NOTE]
        with noted_compilation():
            compile_for([2.0, 2.0], clock)
        assert caplog.messages == [NOTE]
