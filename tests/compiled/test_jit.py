from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import partwise
from partwise.compiled import jit
from partwise.compiled.jit import FAST, cfunc, njit

PACKAGE = Path(partwise.__file__).parent

# What partwise does with its oracles: callbacks of one signature inside a NamedTuple.
ORACLES = """
from typing import Any, NamedTuple

import numpy as np

from partwise.compiled.jit import FAST, cfunc, njit

SIGNATURE = "float64(int64[::1], int64[::1], float64[::1], float64[::1], float64[::1])"


class Oracles(NamedTuple):
    marginals: Any
    maximum: Any


@njit(fastmath=FAST)
def double(x):
    return 2.0 * x


@cfunc(SIGNATURE)
def first(spec, topo, theta, mu, work):
    mu[0] = theta[0]
    return double(theta[0])


@cfunc(SIGNATURE, fastmath=FAST)
def second(spec, topo, theta, mu, work):
    mu[0] = -theta[0]
    return -theta[0]


@njit
def solve(oracles, spec, topo, theta, mu, work):
    z = oracles.marginals(spec, topo, theta, mu, work)
    return z + 100.0 * oracles.maximum(spec, topo, theta, mu, work)


def arguments():
    return (np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1), np.zeros(1), np.zeros(1))
"""

RUN = """
import json, logging, sys

logging.basicConfig(level=logging.WARNING)
import oracles as o

first, second = o.first.compiled, o.second.compiled
values = [
    o.solve(o.Oracles(first, second), *o.arguments()),
    o.solve(o.Oracles(second, first), *o.arguments()),
]
report = {
    "values": values,
    "compiled": sum(o.solve.stats.cache_misses.values()),
    "loaded": sum(o.solve.stats.cache_hits.values()),
    "overloads": len(o.solve.overloads),
    "callbacks_loaded": first.cache_hits + second.cache_hits,
    "cache": o.solve.stats.cache_path,
    "stamped": type(o.solve._cache).__name__,
}
print(json.dumps(report))
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A copy of the compiler's part of the package, beside a user's own structure file."""
    package = tmp_path / "lib" / "partwise"
    package.mkdir(parents=True)
    for source in PACKAGE.glob("*.py"):
        shutil.copy(source, package)
    shutil.copytree(
        PACKAGE / "compiled", package / "compiled", ignore=shutil.ignore_patterns("__pycache__")
    )
    user = tmp_path / "user"
    user.mkdir()
    (user / "oracles.py").write_text(ORACLES)
    (user / "run.py").write_text(RUN)
    return tmp_path


def run(sandbox: Path, **changes: str) -> tuple[dict[str, Any], str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment = {
        **kept,
        "PYTHONPATH": str(sandbox / "lib"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(sandbox / "cache"),
        **changes,
    }
    done = subprocess.run(
        [sys.executable, str(sandbox / "user" / "run.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["values"] == [-98.0, 199.0]
    assert report["overloads"] == 1
    return report, done.stderr


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_second_process_compiles_nothing_until_a_source_changes(sandbox: Path) -> None:
    first, _ = run(sandbox)
    assert (first["compiled"], first["loaded"], first["callbacks_loaded"]) == (1, 0, 0)
    assert first["stamped"] == "StampedCache"
    assert first["cache"] == str(sandbox / "user" / "__pycache__")

    second, _ = run(sandbox)
    assert (second["compiled"], second["loaded"], second["callbacks_loaded"]) == (0, 1, 2)

    # A source of the package that the user's file does not import.
    append(sandbox / "lib" / "partwise" / "compiled" / "threads.py", "\n")
    third, _ = run(sandbox)
    assert (third["compiled"], third["loaded"], third["callbacks_loaded"]) == (0, 1, 2)

    # One that it imports.
    append(sandbox / "lib" / "partwise" / "compiled" / "jit.py", "\n")
    third, _ = run(sandbox)
    assert (third["compiled"], third["loaded"], third["callbacks_loaded"]) == (1, 0, 0)

    append(sandbox / "user" / "oracles.py", "\n")
    fourth, _ = run(sandbox)
    assert (fourth["compiled"], fourth["loaded"], fourth["callbacks_loaded"]) == (1, 0, 0)


def test_user_cache_serves_where_the_source_folder_cannot_be_written(sandbox: Path) -> None:
    # A file where the folder should be stops even the superuser.
    (sandbox / "user" / "__pycache__").write_text("")
    report, errors = run(sandbox)
    assert Path(report["cache"]).is_relative_to(sandbox / "cache")
    assert errors == ""


def test_nowhere_to_write_is_one_warning(sandbox: Path) -> None:
    (sandbox / "user" / "__pycache__").write_text("")
    (sandbox / "cache").write_text("")
    report, errors = run(sandbox, NUMBA_CACHE_DIR=str(sandbox / "cache" / "deeper"))
    assert report["cache"] is None
    assert report["compiled"] == 1
    assert errors.count("WARNING") == 1
    assert "NUMBA_CACHE_DIR" in errors


def test_bad_entries_of_a_named_cache_are_compiled_again(sandbox: Path) -> None:
    named = {"NUMBA_CACHE_DIR": str(sandbox / "named")}
    report, _ = run(sandbox, **named)
    folder = Path(report["cache"])
    assert folder.is_relative_to(sandbox / "named")
    assert not (sandbox / "user" / "__pycache__").exists()

    # Code in the place of another function's, as two processes that save at once may leave it:
    # an entry says what it is, so the function is compiled again (`run` checks the values).
    (first,) = folder.glob("oracles.first-*.nbc")
    (second,) = folder.glob("oracles.second-*.nbc")
    shutil.copy(first, second)
    report, _ = run(sandbox, **named)
    assert report["callbacks_loaded"] == 1

    for entry in folder.glob("*.nb[ci]"):
        entry.write_bytes(entry.read_bytes()[:20])
    report, _ = run(sandbox, **named)
    assert (report["compiled"], report["loaded"]) == (1, 0)
    report, _ = run(sandbox, **named)
    assert (report["compiled"], report["loaded"]) == (0, 1)


#: Ends every attempt to write below a folder, also those of the superuser.
READ_ONLY = """
import os, sys

def refuse(event, arguments):
    if event in ("open", "os.mkdir") and str(arguments[0]).startswith({folder!r}):
        flags = arguments[2] if event == "open" else os.O_WRONLY
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(13, "Permission denied", arguments[0])

sys.addaudithook(refuse)
"""


def test_a_named_cache_that_cannot_be_written_is_read(sandbox: Path) -> None:
    named = {"NUMBA_CACHE_DIR": str(sandbox / "named")}
    first, _ = run(sandbox, **named)
    forbidden = READ_ONLY.format(folder=str(sandbox / "named"))
    (sandbox / "user" / "run.py").write_text(forbidden + RUN)
    second, errors = run(sandbox, **named)
    assert (second["compiled"], second["loaded"], second["callbacks_loaded"]) == (0, 1, 2)
    assert (second["cache"], errors) == (first["cache"], "")

    # What it does not hold is compiled in every process.
    append(sandbox / "user" / "oracles.py", "\n")
    for _ in range(2):
        third, errors = run(sandbox, **named)
        assert (third["compiled"], third["loaded"], third["callbacks_loaded"]) == (1, 0, 0)
        assert errors.count("WARNING") == 1
        assert "set NUMBA_CACHE_DIR to a folder that can be written" in errors


def test_other_internals_of_numba_fall_back_to_its_own_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit, "_stamped_cache", lambda: None)

    @njit
    def half(x: float) -> float:
        return x / 2.0

    assert half(3.0) == 1.5
    assert type(half._cache) is numba.core.caching.FunctionCache


def test_options() -> None:
    @njit
    def plain(x: float, y: float) -> float:
        return x / y

    @njit(fastmath=FAST, boundscheck=True)
    def fast(x: Any) -> float:
        total: float = x[0] + x[1]
        return total

    assert plain.targetoptions["nogil"] is True
    assert fast.targetoptions["nogil"] is True
    assert plain(1.0, 0.0) == np.inf
    assert fast(np.array([np.inf, 1.0])) == np.inf
    assert np.isnan(fast(np.array([np.inf, -np.inf])))
    with pytest.raises(IndexError):
        fast(np.zeros(1))


def test_fast_flags_never_assume_finite_numbers() -> None:
    assert frozenset({"reassoc", "contract", "arcp", "nsz"}) == FAST


@cfunc("float64(float64[::1])")
def total(x: Any) -> float:
    value: float = x.sum()
    return value


@njit
def through(function: Any, x: Any) -> float:
    value: float = function(x)
    return value


def test_callbacks_take_one_flavour_of_array() -> None:
    x = np.arange(6.0)
    assert through(total.compiled, x) == 15.0
    frozen = x.copy()
    frozen.flags.writeable = False
    for other in (frozen, x[::2], x.astype(np.float32)):
        with pytest.raises((ValueError, numba.core.errors.TypingError)):
            through(total.compiled, other)


def test_types_are_remembered_as_numba_makes_them() -> None:
    @jit.typed_by_looks
    class Quick(NamedTuple):
        function: Any
        inner: Any
        number: Any

    class Plain(NamedTuple):
        function: Any
        inner: Any
        number: Any

    @cfunc("float64(float64)")
    def one(x: Any) -> Any:
        return x

    @cfunc("int64(int64)")
    def two(x: Any) -> Any:
        return x

    wide = np.zeros((4, 6))
    locked = np.zeros(3)
    locked.flags.writeable = False
    arrays = [
        np.zeros(3), np.zeros(3, np.float32), np.zeros(3, np.int64), wide, wide.T, wide[:, ::2],
        np.zeros(6)[::2], locked,
    ]  # fmt: skip
    values = [
        (function, (array, held), number)
        for function in (one.compiled, two.compiled)
        for array in arrays
        for held in (1, 1.0, True)
        for number in (2, 2.5, False, np.float32(1.0), np.int32(1))
    ]
    for _ in range(2):
        for value in values:
            quick, plain = numba.typeof(Quick(*value)), numba.typeof(Plain(*value))
            assert quick.instance_class is Quick
            assert quick.types == plain.types


@njit
def sum_less_first(a: float, b: float) -> float:
    return (a + b) - a


@njit(fastmath=FAST)
def fast_caller(a: float, b: float) -> float:
    return sum_less_first(a, b)


def test_a_kernel_does_not_take_the_flags_of_its_caller() -> None:
    # With "reassoc" the sum is put together in another way, and the answer is 1.
    assert fast_caller(1e16, 1.0) == 0.0


def test_a_callback_is_compiled_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core.ccallback import CFunc

    compiled: list[str] = []
    compile_ = CFunc.compile

    def noted(callback: Any) -> None:
        compiled.append(callback.__name__)
        compile_(callback)

    monkeypatch.setattr(CFunc, "compile", noted)

    @cfunc("float64(float64)")
    def twice(x: Any) -> Any:
        return 2.0 * x

    class Holder:
        function = twice

    assert twice(1.5) == 3.0
    assert compiled == []
    assert Holder().function is Holder.function is twice.compiled
    assert isinstance(twice.compiled, CFunc)
    assert twice.compiled.ctypes(1.5) == 3.0
    assert compiled == ["twice"]
