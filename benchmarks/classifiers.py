"""Compare classifiers with their peers, setting by setting: ``python -m benchmarks.classifiers``.

The CPU seconds of a whole ``fit`` on one thread, from the matrix to the weights, until the
objective is within 1e-2, 1e-4 and 1e-6 of the optimum, relative to it. partwise is fitted with that
``tol``, so its seconds cover the proof. A peer proves nothing: of its settings (``max_iter``, or
``-e`` of liblinear) the fastest is taken whose weights are near enough, which is more than a user
of it knows. Each is then fitted again, by turns, and the medians are compared. Peers get dense or
CSR rows, whichever is faster for them; partwise always gets CSR. Writes classifiers.json.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import data
from .contestants.liblinear_ import Liblinear, model_coef
from .contestants.sklearn_ import iteration_rungs, tolerance_rungs
from .limits import table
from .machine import describe_machine
from .problems import Floats, LinearProblem, linear_objective
from .report import tell, write_text

NEAR = (1e-2, 1e-4, 1e-6)
OURS = ("auto", "lbfgs", "newton", "dual-cd")
SKLEARN = {"lbfgs": 2, "newton-cg": 1, "newton-cholesky": 1}
#: A setting that takes this many times as long as `auto` to 1e-6, and some seconds, is the last.
HOPELESS = 10.0
PATIENCE = 3.0

Fit = Callable[[], Floats]


def softmax(x: Any, y: Any, l2: float) -> LinearProblem:
    """Return the problem of these rows; two classes have one vector, and half the l2."""
    n_classes = int(y.max()) + 1
    loss, l2 = ("logistic", l2 / 2.0) if n_classes == 2 else ("softmax", l2)
    return LinearProblem(loss, l2, x, y, x[:1], y[:1], n_classes)  # type: ignore[arg-type]


def images(n: int) -> LinearProblem:
    """Return the first ``n`` images of MNIST."""
    x, y = data.mnist("train")
    return softmax(x[:n], y[:n], 10.0)


def census() -> LinearProblem:
    """Return a9a."""
    return softmax(*data.svmlight("libsvm/a9a.gz", 123), 1.0)


def small_digits() -> LinearProblem:
    """Return the digits of scikit-learn."""
    return softmax(*data.digits(), 1.0)


def text(name: str) -> LinearProblem:
    """Return bags of words of film reviews, scaled as is usual (tf-idf)."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    path = data.data_file(f"movie_reviews/{name}.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    y = np.array([row["label"] == "pos" for row in rows], dtype=np.int64)
    return softmax(TfidfVectorizer().fit_transform(row["text"] for row in rows), y, 1.0)


def letters() -> LinearProblem:
    """Return the single letters of the OCR words: 128 pixels, 26 classes."""
    from scipy import sparse

    lines = gzip.decompress(data.data_file("ocr_letters/letter.data.gz").read_bytes()).split(b"\n")
    fields = [line.split(b"\t") for line in lines if line]
    y = np.array([field[1][0] - ord("a") for field in fields], dtype=np.int64)
    x = np.array([field[6:134] for field in fields]).astype(np.float64)
    return softmax(sparse.csr_matrix(x), y, 1.0)


SETS: dict[str, Callable[[], LinearProblem]] = {
    "digits": small_digits,
    "a9a": census,
    "mnist-10000": lambda: images(10_000),
    "mnist": lambda: images(60_000),
    "sentences": lambda: text("sentences"),
    "reviews": lambda: text("reviews"),
    "letters": letters,
}


def ours(problem: LinearProblem, solver: str, tol: float) -> Fit:
    """Return a fit of partwise to a certified gap of ``tol``."""
    from partwise import LinearClassifier

    logistic = problem.loss == "logistic"

    def fit() -> Floats:
        model = LinearClassifier(
            l2=problem.l2 * (2.0 if logistic else 1.0), solver=solver, tol=tol,
            fit_intercept=False, max_passes=20_000,
        )  # fmt: skip
        coef = np.asarray(model.fit(problem.x, problem.y).coef_)
        return coef[1:] - coef[:1] if logistic and len(coef) == 2 else coef

    return fit


def sklearn(problem: LinearProblem, solver: str, x: Any, max_iter: float) -> Fit:
    """Return a fit of scikit-learn's LogisticRegression."""
    from sklearn.linear_model import LogisticRegression

    def fit() -> Floats:
        model = LogisticRegression(
            C=1.0 / problem.l2, solver=solver, fit_intercept=False, tol=1e-14,
            max_iter=int(max_iter),
        )  # fmt: skip
        return np.asarray(model.fit(x, problem.y).coef_)

    return fit


def liblinear(problem: LinearProblem, number: int, tol: float) -> Fit:
    """Return a fit of liblinear, whose input is made from the matrix inside it."""
    from liblinear import liblinearutil

    def fit() -> Floats:
        given = liblinearutil.problem(problem.y.astype(np.float64), problem.x)
        options = f"-s {number} -c {1.0 / problem.l2!r} -e {tol!r} -q"
        model = liblinearutil.train(given, liblinearutil.parameter(options))
        return model_coef(model, problem)

    return fit


def clock(fit: Fit) -> tuple[float, Floats]:
    """Return the CPU seconds of a fit, and its weights."""
    begin = time.process_time()
    coef = fit()
    return time.process_time() - begin, coef


def settings(problem: LinearProblem) -> dict[str, list[Fit]]:
    """Return the peers of a problem with their settings, from the cheapest on."""
    found: dict[str, list[Fit]] = {}
    forms = {"CSR": problem.x}
    if problem.x.shape[0] * problem.x.shape[1] <= 60_000 * 784:
        forms["dense"] = problem.x.toarray()
    for solver, factor in SKLEARN.items():
        if solver == "newton-cholesky" and problem.x.shape[1] * problem.n_classes > 10_000:
            continue  # a Hessian of more than 800 MB
        for form, x in forms.items():
            rungs = (r for _, r in zip(range(22), iteration_rungs(factor), strict=False))
            found[f"sklearn {solver} {form}"] = [
                sklearn(problem, solver, x, rung) for rung in rungs
            ]
    if problem.loss == "logistic" and not Liblinear(0, "logistic").missing():
        for number in (0, 7):
            found[f"liblinear -s {number}"] = [
                liblinear(problem, number, tol) for tol in (32.0, 10.0, 3.2, *tolerance_rungs())
            ]
    return found


def fastest(
    problem: LinearProblem, best: float, longest: float, fits: list[Fit]
) -> dict[float, tuple[float, Fit]]:
    """Return for every nearness the first setting that reaches it, with its seconds."""
    found: dict[float, tuple[float, Fit]] = {}
    for fit in fits:
        seconds, coef = clock(fit)
        excess = linear_objective(problem, coef) / best - 1.0
        for near in NEAR:
            if excess <= near and near not in found:
                found[near] = (seconds, fit)
        if len(found) == len(NEAR) or seconds > longest:
            break
    return found


def compare(name: str, repeat: int) -> dict[str, Any]:
    """Return the seconds of all runs on one set, by contestant and nearness."""
    problem = SETS[name]()
    best = linear_objective(problem, ours(problem, "auto", 1e-10)())
    longest = PATIENCE + HOPELESS * clock(ours(problem, "auto", NEAR[-1]))[0]
    turns: dict[tuple[str, float], Fit] = {}
    for solver in OURS:
        for near in NEAR:
            fit = ours(problem, solver, near)
            seconds, coef = clock(fit)  # compiles
            if linear_objective(problem, coef) / best - 1.0 > near:
                tell(f"{name}: {solver} was not within {near:g}")
            elif seconds <= longest:
                turns[f"partwise {solver}", near] = fit
    held: dict[tuple[str, float], tuple[float, str, Fit]] = {}
    for peer, fits in settings(problem).items():
        short = peer.removesuffix(" CSR").removesuffix(" dense")
        for near, (seconds, fit) in fastest(problem, best, longest, fits).items():
            if (short, near) not in held or seconds < held[short, near][0]:
                held[short, near] = (seconds, peer, fit)
    turns |= {key: fit for key, (_, _, fit) in held.items()}
    seconds_of: dict[str, dict[str, list[float]]] = {}
    for _ in range(repeat):
        for (who, near), fit in turns.items():
            seconds_of.setdefault(who, {}).setdefault(f"{near:g}", []).append(clock(fit)[0])
    return {
        "rows": list(problem.x.shape), "entries": int(problem.x.nnz), "l2": problem.l2,
        "classes": problem.n_classes, "seconds": seconds_of,
    }  # fmt: skip


def tables(found: dict[str, dict[str, Any]]) -> str:
    """Return the medians as a table per set, with the ratio of auto to the best peer below it."""
    out = []
    for name, of_set in found.items():
        out.append(f"## {name}: {of_set['rows']}, {of_set['classes']} classes, l2 {of_set['l2']:g}")
        medians = {
            who: {near: statistics.median(runs) for near, runs in by_near.items()}
            for who, by_near in of_set["seconds"].items()
        }
        rows = [
            [who, *(f"{of.get(f'{near:g}', float('nan')):.3f}" for near in NEAR)]
            for who, of in medians.items()
        ]
        peers = [of for who, of in medians.items() if not who.startswith("partwise")]
        for solver, against in (("auto", ""), ("lbfgs", "sklearn lbfgs"), ("newton", "newton")):
            row = [f"{solver} / best{' ' + against if against else ''}"]
            for key in (f"{near:g}" for near in NEAR):
                rivals = [
                    of[key] for who, of in medians.items()
                    if not who.startswith("partwise") and key in of
                    and (against in who or (against == "newton" and who.endswith("-s 0")))
                ] if against else [of[key] for of in peers if key in of]  # fmt: skip
                own = medians[f"partwise {solver}"].get(key, float("nan"))
                row.append(f"{own / min(rivals):.2f}" if rivals else "")
            rows.append(row)
        out.append(table(["CPU seconds to", *(f"{near:g}" for near in NEAR)], rows))
    return "\n".join(out)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classifiers", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="which data")
    parser.add_argument("--repeat", type=int, default=5, help="how many runs by turns")
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # fits are stopped early on purpose
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        tell("set OPENBLAS_NUM_THREADS=1, or the threads of BLAS count too")
    options.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    for name in options.sets:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        tell(f"{name}, load {load:.2f}")
        try:
            found[name] = compare(name, options.repeat)
        except data.MissingDataError as error:
            tell(f"  left out: {error}")
            continue
        held = {"machine": describe_machine({"partwise", "scikit-learn"}), "sets": found}
        write_text(options.out / "classifiers.json", json.dumps(held, indent=1) + "\n")
    sys.stdout.write(tables(found))


if __name__ == "__main__":
    main()
