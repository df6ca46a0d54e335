"""Measure the dual of Crammer and Singer by time: ``python -m benchmarks.duals --out DIR``.

partwise and scikit-learn's LinearSVC (liblinear -s 4) train the same classifier, MNIST by default.
liblinear reports its dual objective only at its end, so it is run from scratch with smaller and
smaller tolerances, and partwise once before and once after. The table says when partwise had the
same dual. Both clocks cover the whole of ``fit``, starting from a CSR matrix. Prints a Markdown
table and writes duals.json.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .limits import table
from .report import tell

TOLERANCES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
#: CPU seconds, and the dual at that time.
Ascent = list[tuple[float, float]]


def digits() -> tuple[Any, Any]:
    """Return the digits of scikit-learn, with pixels from 0 to 1."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def mnist() -> tuple[Any, Any]:
    """Return the first 59,000 images of the training set, as in Collins et al. (2008)."""
    X, y = data.mnist("train")
    return X[:59_000], y[:59_000]


TASKS = {"mnist": mnist, "digits": digits}


def partwise_ascent(X: Any, y: Any, l2: float, tol: float) -> Ascent:
    """Train once and record the dual after every epoch."""
    from partwise import LinearClassifier
    from partwise.training.result import Progress

    points: Ascent = []
    begin = time.process_time()

    def note(progress: Progress) -> None:
        points.append((time.process_time() - begin, progress.row.dual))

    model = LinearClassifier(
        loss="hinge", l2=l2, fit_intercept=False, tol=tol, max_passes=1e5, callbacks=[note]
    )
    model.fit(X, y)
    return points


def liblinear_dual(X: Any, y: Any, l2: float, tol: float) -> tuple[float, float]:
    """Train once, and return the CPU seconds and the dual that liblinear prints."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        multi_class="crammer_singer", C=1.0 / l2, fit_intercept=False, tol=tol,
        max_iter=1_000_000, verbose=1, random_state=0,
    )  # fmt: skip
    with tempfile.TemporaryFile() as told, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sys.stdout.flush()
        screen = os.dup(1)
        try:
            os.dup2(told.fileno(), 1)
            begin = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - begin
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(screen, 1)
            os.close(screen)
        told.seek(0)
        found = re.search(rb"Objective value = (\S+)", told.read())
    if found is None:
        raise RuntimeError("liblinear did not print its objective value")
    return seconds, -l2 * float(found[1])


def reached(points: Ascent, dual: float) -> float:
    """Return when a run first had that dual; inf if it never had."""
    return next((seconds for seconds, value in points if value >= dual), np.inf)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    import scipy.sparse as sp

    parser = argparse.ArgumentParser(prog="python -m benchmarks.duals", description=__doc__)
    parser.add_argument("--task", choices=TASKS, default="mnist", help="what to train on")
    parser.add_argument("--l2", type=float, default=10.0, help="l2 = 1 / C")
    parser.add_argument(
        "--tolerances", type=float, nargs="+", default=TOLERANCES, help="those of liblinear"
    )
    parser.add_argument("--tol", type=float, default=3e-6, help="the relative gap of partwise")
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    options = parser.parse_args(arguments)
    X, y = TASKS[options.task]()
    X = sp.csr_matrix(X)
    partwise_ascent(X, y, 1e6, 0.1)  # compiles
    ascents = [partwise_ascent(X, y, options.l2, options.tol)]
    tell(f"partwise: {ascents[0][-1][0]:.1f} s, dual {ascents[0][-1][1]:.6f}")
    peers = []
    for tol in options.tolerances:
        peers.append(liblinear_dual(X, y, options.l2, tol))
        tell(f"LinearSVC, tol {tol:g}: {peers[-1][0]:.1f} s, dual {peers[-1][1]:.6f}")
    ascents.append(partwise_ascent(X, y, options.l2, options.tol))
    best = max([dual for _, dual in peers] + [dual for points in ascents for _, dual in points])
    rows = [
        [
            f"{(best - dual) / best:.1e}",
            " / ".join(f"{reached(points, dual):.1f}" for points in ascents),
            f"{seconds:.1f}",
        ]
        for seconds, dual in peers
    ]
    sys.stdout.write(table(["below the best dual", "partwise, two runs, s", "LinearSVC, s"], rows))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"task": options.task, "l2": options.l2, "partwise": ascents, "liblinear": peers}
    (options.out / "duals.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
