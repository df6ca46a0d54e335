from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from partwise.compiled import library
from partwise.compiled.jit import FAST, njit

# A sum and two kernels that use it. LLVM optimises the sum alone, in `first`, in `second` and in
# `both`, which contains copies of all of them.
KERNELS = """
from partwise.compiled.jit import FAST, njit


@njit(fastmath=FAST)
def spread(x, y, out):
    total = norm = 0.0
    for i in range(x.size):
        d = x[i] - y[i]
        norm += d * d
        out[i] = d
    for i in range(x.size):
        total += out[i] * x[i] / (1.0 + norm)
    for i in range(x.size):
        total += out[i] * y[i] / (1.0 + norm)
    return total


@njit
def first(x, y, out):
    return spread(x, y, out) + spread(y, x, out)


@njit
def second(x, y, out):
    total = 0.0
    for _ in range(3):
        total += first(x, y, out) * spread(x, y, out)
    return total


@njit
def both(x, y, out):
    return first(x, y, out) - second(x, y, out) + spread(y, x, out)
"""

# Calls the functions that are named, in that order, on arrays that lie far apart.
RUN_KERNELS = """
import json, sys

import kernels
import numpy as np

room = np.random.default_rng(0).normal(size=(3, 4096))
values, loaded = {}, []
for name in sys.argv[1:]:
    function = getattr(kernels, name)
    values[name] = [function(*(a[:n] for a in room)).hex() for n in range(3, 60)]
    if function.stats.cache_hits:
        loaded.append(name)
print(json.dumps({"values": values, "loaded": loaded}))
"""

# Trains the models that are named, in that order.
RUN_FITS = """
import hashlib, json, sys, warnings

import numpy as np
import partwise
from sklearn.datasets import load_digits

warnings.simplefilter("ignore", partwise.ConvergenceWarning)
pixels, labels = load_digits(return_X_y=True)
found = {}
for name in sys.argv[1:]:
    loss, solver = name.split(":")
    made = partwise.LinearClassifier(loss=loss, solver=solver, l2=0.1, max_passes=6, tol=1e-9)
    made.fit(pixels[:60] / 16.0, labels[:60])
    numbers = [made.model_.weights, *([row.dual, row.gap_estimate] for row in made.trace_)]
    found[name] = hashlib.sha256(np.concatenate(numbers).tobytes()).hexdigest()
print(json.dumps(found))
"""


def run(script: str, *names: str, folder: Path, cache: str) -> dict[str, Any]:
    """Run a script in a process of its own, with a cache of compiled code below the folder."""
    (folder / "kernels.py").write_text(KERNELS)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", script, *names],
        env={**kept, "NUMBA_CACHE_DIR": str(folder / cache)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_kernels_round_alike_whatever_was_loaded_before(tmp_path: Path) -> None:
    def called(*names: str, cache: str) -> dict[str, Any]:
        return run(RUN_KERNELS, *names, folder=tmp_path, cache=cache)

    compiled = called("both", "second", "first", "spread", cache="one")
    others = [
        called("spread", "first", "second", "both", cache="one"),
        called("second", "first", cache="one"),
        # Another cache, which is filled in several processes.
        called("first", cache="two"),
        called("second", "spread", "both", cache="two"),
    ]
    assert "both" not in compiled["loaded"]
    assert "both" in others[0]["loaded"]
    for other in others:
        for name, values in other["values"].items():
            assert values == compiled["values"][name], name


def test_fits_round_alike_whatever_was_fitted_before(tmp_path: Path) -> None:
    names = ["log:sgd", "hinge:pegasos"]
    compiled = run(RUN_FITS, *names, folder=tmp_path, cache="one")
    assert run(RUN_FITS, *names[::-1], folder=tmp_path, cache="one") == compiled
    assert run(RUN_FITS, names[1], folder=tmp_path, cache="one")[names[1]] == compiled[names[1]]


def test_functions_have_copies_of_their_own_of_what_they_call() -> None:
    # Not those of partwise, which come from the cache, where there is no text to look at.
    own = {"pipeline_class": library.compiler()}

    @numba.njit(fastmath=set(FAST), **own)
    def inside(x: Any) -> Any:
        total = 0.0
        for k in range(x.size):
            total += x[k] ** 0.5 if x[k] > 0.0 else x[k]
        return total

    @numba.njit(**own)
    def outside(x: Any) -> Any:
        return inside(x) + inside(x[::-1])

    @numba.cfunc("float64(float64[::1])", **own)
    def callback(x: Any) -> Any:
        return inside(x)

    assert outside(np.ones(3)) == 6.0
    for text in (*outside.inspect_llvm().values(), callback.inspect_llvm()):
        assert "define " in text
        assert "define linkonce_odr" not in text


@njit(fastmath=FAST)
def stored_and_added(x: Any, y: Any, out: Any) -> Any:
    total = 0.0
    for k in range(x.size):
        product = x[k] * y[k]
        total += product
        out[k] = 2.0 * product
    return total


@njit(fastmath=FAST)
def through(x: Any, y: Any, out: Any) -> Any:
    return stored_and_added(x, y, out)


@pytest.mark.parametrize("function", [stored_and_added, through])
def test_sums_do_not_depend_on_where_arrays_lie(function: Any) -> None:
    numbers = np.random.default_rng(0).normal(size=(2, 64))
    room = np.empty(4096)
    for n in range(1, 64):
        found = set()
        for gap in (0, 1, 2, 4, 8, 16, 64, 512):
            # In memory, in this order.
            for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
                x, y, out = (room[k * (n + gap) : k * (n + gap) + n] for k in order)
                x[:], y[:] = numbers[:, :n]
                found.add(function(x, y, out))
                np.testing.assert_array_equal(out, 2.0 * numbers[0, :n] * numbers[1, :n])
        assert len(found) == 1, n


# What LLVM makes of a loop that sums and stores: the check, wide vectors, narrow ones, the rest.
DISTANCE = """
define double @f(ptr %x, ptr %out, i64 %n) {
iter.check:
  %few = icmp ult i64 %n, 4
  br i1 %few, label %rest.preheader, label %vector.memcheck

vector.memcheck:                                  ; preds = %iter.check
  %diff.check = icmp ult i64 %apart, 128
  br i1 %diff.check, label %rest.preheader, label %vector.main.loop.iter.check

vector.main.loop.iter.check:                      ; preds = %vector.memcheck
  br i1 %some, label %vec.epilog.ph, label %vector.ph

vector.ph:                                        ; preds = %vector.main.loop.iter.check
  br label %exit

vec.epilog.ph:                                    ; preds = %vector.main.loop.iter.check
  br label %vec.epilog.vector.body

vec.epilog.vector.body:                           ; preds = %vec.epilog.vector.body, %vec.epilog.ph
  %vec.phi = phi <4 x double> [ %start, %vec.epilog.ph ], [ %sum, %vec.epilog.vector.body ]
  br i1 %done, label %exit, label %vec.epilog.vector.body

rest.preheader:                                   ; preds = %iter.check, %vector.memcheck
  br label %exit

exit:
  ret double %total
}
"""


def test_sums_that_depend_on_the_distance_of_arrays_are_recognised() -> None:
    assert library.depends_on_distance(DISTANCE)
    # A check of whole ranges; a loop without a sum; a loop without narrow vectors.
    assert not library.depends_on_distance(DISTANCE.replace("diff.check", "found.conflict"))
    assert not library.depends_on_distance(DISTANCE.replace("phi <4 x double>", "phi i64"))
    assert not library.depends_on_distance(DISTANCE.replace("vec.epilog.", "other."))


def test_other_internals_of_numba_leave_its_own_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = library.compiler.__wrapped__
    with monkeypatch.context() as changed:
        changed.setattr(library, "_METHODS", ("is_not_there",))
        assert plain() is None
    with monkeypatch.context() as changed:
        changed.setattr(library, "_ATTRIBUTES", ("is_not_there",))
        kind = plain()

        @numba.njit(pipeline_class=kind)
        def half(x: float) -> float:
            return x / 2.0

        assert half(3.0) == 1.5
        assert type(half.overloads[(numba.float64,)].library).__name__ == "JITCodeLibrary"
