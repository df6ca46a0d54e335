"""Compare the memory that fits announce with what they take: ``python -m benchmarks.announced``.

Every fit runs in its own process. A first fit of a few examples loads the compiled code. Then the
data are read, the resident memory is recorded, and the peak is reset to it. The result is the peak
of the second fit above that memory. If the data are already features, as for classifiers, the size
of their arrays is added, since the announcement counts the features. Peaks can be reset on Linux
only.

In the folder ``PARTWISE_DATA`` it reads ``conll2000/train.txt.gz``,
``conllx_es_cast3lb/train.conll.gz``, ``ptb_sample/wsj_00.mrg.gz`` and ``mnist``; in place of
missing files it uses generated data.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import gzip
import io
import json
import logging
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .data import MissingDataError, data_file, demo_text, mnist
from .limits import table
from .recorder import forget_peak

PASSES = "10"
TOL = "0.02"
FEW = 40
LOSSES = ("log", "hinge")


class Case(NamedTuple):
    """A task: what makes the text of a number of examples, that number, and the options."""

    text: Callable[[int], str]
    size: int
    options: tuple[str, ...]


def _beginning(relative: str, n: int, between: str = r"\n(?=\n)") -> str:
    with gzip.open(data_file(relative), "rt", encoding="utf-8") as stream:
        return "\n".join(re.split(between, stream.read())[:n]) + "\n\n"


def columns(n: int) -> str:
    """Return words, parts of speech and chunks."""
    try:
        return _beginning("conll2000/train.txt.gz", n)
    except MissingDataError:
        return "".join(
            "".join(" ".join(row) + "\n" for row in sentence) + "\n"
            for sentence in demo_text(n, seed=0)
        )


def dependencies(n: int) -> str:
    """Return dependency trees with relations; in generated ones each head is the word before."""
    try:
        return _beginning("conllx_es_cast3lb/train.conll.gz", n)
    except MissingDataError:
        sentences = [
            "".join(
                f"{t}\t{word}\t{word}\t{tag[0]}\t{tag}\t_\t{t - 1}\t{label}\t_\t_\n"
                for t, (word, tag, label) in enumerate(sentence, 1)
            )
            for sentence in demo_text(n, seed=0)
        ]
        return "\n".join(sentences) + "\n"


def brackets(n: int) -> str:
    """Return phrase structure trees; generated ones have flat phrases."""
    try:
        return _beginning("ptb_sample/wsj_00.mrg.gz", n, r"\n(?=\()")
    except MissingDataError:
        trees = []
        for sentence in demo_text(n, seed=0):
            words = "".join(f"(NP ({tag} {word}))" for word, tag, _ in sentence)
            trees.append(f"( (S {words}) )\n")
        return "".join(trees)


def dense(n: int) -> str:
    """Return images of digits as svmlight; generated ones have 200 numbers per example."""
    try:
        x, y = mnist("train")
        x, y = x[:n], y[:n]
        ends, indices, values = x.indptr, x.indices, x.data
    except MissingDataError:
        rng = np.random.default_rng(0)
        ends, values = np.arange(n + 1) * 200, rng.random(n * 200)
        indices, y = np.tile(np.arange(200), n), rng.integers(10, size=n)
    lines = []
    for i in range(n):
        pairs = zip(indices[ends[i] : ends[i + 1]], values[ends[i] : ends[i + 1]], strict=True)
        lines.append(f"{y[i]} " + " ".join(f"{k + 1}:{value:.4g}" for k, value in pairs))
    return "\n".join(lines) + "\n"


def sparse(n: int) -> str:
    """Generate examples with 25 of 100,000 features and one of 20 classes."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(n):
        found = np.unique(rng.integers(1, 100_001, size=25)).tolist()
        lines.append(f"{found[0] % 20} " + " ".join(f"{k}:1" for k in found))
    return "\n".join(lines) + "\n"


CASES = {
    "classify, dense": Case(dense, 20_000, ("--task", "classify")),
    "classify, sparse": Case(sparse, 60_000, ("--task", "classify")),
    "tag, all weights": Case(columns, 8_936, ("--task", "tag")),
    "tag, observed weights": Case(columns, 8_936, ("--task", "tag", "--weights", "observed")),
    "tag, order 2": Case(columns, 1_500, ("--task", "tag", "--order", "2")),
    "segment": Case(columns, 3_000, ("--task", "segment")),
    "parse, projective": Case(dependencies, 600, ("--task", "parse")),
    "parse, any tree": Case(dependencies, 600, ("--task", "parse", "--trees", "any")),
    "parse, labelled": Case(dependencies, 600, ("--task", "parse", "--labelled")),
    "parse, labelled, observed": Case(
        dependencies, 600, ("--task", "parse", "--labelled", "--weights", "observed")
    ),
    "brackets": Case(
        brackets, 1_921, ("--task", "brackets", "--max-length", "20", "--horizontal", "0")
    ),
}


def status(name: str) -> float:
    """Return a number of MiB that the operating system gives for this process."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    if found is None:
        raise OSError(f"/proc/self/status has no {name}")
    return int(found.group(1)) / 1024.0


def begin() -> float:
    """Release free memory, reset the peak, and return the memory that is still resident."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    forget_peak()
    return status("VmRSS")


@contextlib.contextmanager
def heard() -> Iterator[io.StringIO]:
    """Collect what the package logs."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    logger = logging.getLogger("partwise")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield text
    finally:
        logger.removeHandler(handler)


def by_command(case: Case, loss: str, solver: str) -> tuple[str, float]:
    """Return what the command logs, and the MiB that its fit takes."""
    from partwise.cli import main
    from partwise.cli import train as module
    from partwise.problem.footprint import held_bytes

    measured = 0.0
    train: Any = module
    fit = train._fit

    def watched(arguments: Any, task: Any, given: Any, source: Any, *more: Any) -> Any:
        nonlocal measured
        before = begin()
        made = fit(arguments, task, given, source, *more)
        read = held_bytes(source.rows) / 2**20 if arguments.task == "classify" else 0.0
        measured = status("VmHWM") - before + read
        return made

    train._fit = watched
    with tempfile.TemporaryDirectory() as folder:
        for name, n in (("few", FEW), ("all", case.size)):
            path = Path(folder) / name
            path.write_text(case.text(n), encoding="utf-8")
            command = ["train", str(path), "--model", f"{folder}/model", "--loss", loss, "-v"]
            command += ["--solver", solver, "--tol", TOL, "--max-passes", PASSES, *case.options]
            with heard() as text, contextlib.redirect_stdout(io.StringIO()):
                code = main(command)
            if code not in (0, 3):
                raise RuntimeError(f"{' '.join(command)} ended with {code}: {text.getvalue()}")
    return text.getvalue(), measured


def grids(n: int, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """Generate graphs of 4 by 10 nodes with 5 labels and 50 features."""
    places = np.arange(40).reshape(4, 10)
    edges = np.concatenate(
        [
            np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1),
            np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1),
        ]
    )
    nodes = [rng.random((40, 50)) for _ in range(n)]
    return [(x, edges) for x in nodes], [x[:, :5].argmax(axis=1) for x in nodes]


def points(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Generate points of the plane in three classes."""
    x = rng.normal(size=(n, 2))
    return x, (np.hypot(*x.T) * 1.5).astype(int).clip(0, 2)


def by_estimator(name: str, loss: str, solver: str) -> tuple[str, float]:
    """Return what an estimator logs, and the MiB that its fit takes."""
    from partwise import GraphLabeler, KernelClassifier

    make, data, size = {
        "graph": (GraphLabeler, grids, 3_000),
        "kernel": (KernelClassifier, points, 4_000),
    }[name]
    settings: dict[str, Any] = {
        "loss": loss, "solver": solver, "tol": float(TOL), "max_passes": float(PASSES),
    }  # fmt: skip
    rng = np.random.default_rng(0)
    make(**settings).fit(*data(FEW, rng))
    x, y = data(size, rng)
    with heard() as text:
        before = begin()
        made = make(**settings).fit(x, y)
        measured = status("VmHWM") - before
    del made
    return text.getvalue(), measured


NAMES = (*CASES, "graph", "kernel")


def measure(name: str, loss: str, solver: str) -> dict[str, Any]:
    """Fit once, in this process."""
    warnings.simplefilter("ignore")
    if name in CASES:
        text, measured = by_command(CASES[name], loss, solver)
    else:
        text, measured = by_estimator(name, loss, solver)
    said = re.findall(r"about ([\d,]+) MiB", text)
    chosen = re.findall(r"solver auto: ([\w-]+)", text)
    return {
        "solver": chosen[0] if chosen else solver,
        "said": float(said[-1].replace(",", "")),
        "measured": measured,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.announced", description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=NAMES, choices=NAMES, metavar="TASK")
    parser.add_argument("--losses", nargs="+", default=LOSSES, metavar="LOSS")
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--only", action="store_true", help="measure here and print JSON")
    options = parser.parse_args(arguments)
    if options.only:
        found = measure(options.tasks[0], options.losses[0], options.solver)
        sys.stdout.write(json.dumps(found) + "\n")
        return
    sys.stdout.write(table(["task", "loss", "solver", "said, MiB", "measured, MiB", "ratio"], []))
    for name in options.tasks:
        for loss in options.losses:
            command = [sys.executable, "-m", "benchmarks.announced", "--only", "--tasks", name]
            command += ["--losses", loss, "--solver", options.solver]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.stdout.write(f"| {name} | {loss} | {done.stderr.strip().splitlines()[-1]} |\n")
                continue
            found = json.loads(done.stdout)
            said, measured = found["said"], found["measured"]
            sys.stdout.write(
                f"| {name} | {loss} | {found['solver']} | {said:.0f} | {measured:.0f} | "
                f"{said / measured:.2f} |\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
