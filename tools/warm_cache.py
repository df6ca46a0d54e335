"""Compile ahead what models of every task need, into ``NUMBA_CACHE_DIR``.

    NUMBA_CACHE_DIR=/opt/partwise/cache python tools/warm_cache.py
    NUMBA_CACHE_DIR=/opt/partwise/cache python tools/warm_cache.py --serve

It runs ``partwise demo``, trains a small model of every task with every loss, and predicts,
explains and scores with it. With ``--serve`` it asks a server about such models instead, and with
``--dask`` it trains on a small cluster. The images of ``docker/Dockerfile`` are built with it, so
that no container has to wait for the compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from partwise.cli import main as partwise
from partwise.datasets import dependency_trees, phrase_trees, tagged_text, write
from partwise.formats.brackets import write_brackets
from partwise.formats.conll import write_conll
from partwise.problem.losses import LOSS_NAMES

__all__ = ["main"]

#: The file of each task, and the options that its users mostly give.
_TASKS: Final = {
    "tag": ("tokens.txt", ((), ("--start-end",))),
    "segment": ("tokens.txt", ((), ("--segment-features", "text"))),
    "classify": ("rows.svm", ((), ("--bias", "1"))),
    "parse": ("trees.conll", ((), ("--labelled",))),
    "brackets": ("phrases.mrg", ((), ("--horizontal", "0"))),
    "graph": ("maps.graphs", ((), ("--symmetric",))),
}
#: Tasks that a cluster trains.
_CLUSTER: Final = ("tag", "classify", "parse", "brackets")
#: Code is compiled in the first passes; how good the models are does not matter.
_SHORT: Final = ("--tol", "0.01", "--max-passes", "20")
_STOPPED: Final = 3  # the exit code of a training that ends before its gap is reached
_EXPLAINED: Final = 2  # examples


def main(argv: Sequence[str] | None = None) -> int:
    """Run all tasks in a folder that is removed again, and print the seconds of each."""
    parser = argparse.ArgumentParser(description="Compile ahead what models of every task need.")
    parser.add_argument("--serve", action="store_true", help="only what a server needs beyond that")
    parser.add_argument("--dask", action="store_true", help="only what a cluster needs beyond that")
    arguments = parser.parse_args(argv)
    if not os.environ.get("NUMBA_CACHE_DIR"):
        print("NUMBA_CACHE_DIR is not set: set it to the folder for the code", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        _write_data(here)
        if arguments.serve:
            _serve(here)
        elif arguments.dask:
            for task in _CLUSTER:
                _train(here, task, f"{task}.model", "--dask", "local", "--dask-workers", "1")
        else:
            # Some code is needed only by thousands of examples.
            _run("demo", "--output", str(here / "demo"))
            for task in _TASKS:
                began = time.perf_counter()
                _run_task(here, task)
                print(f"{task}: {time.perf_counter() - began:.1f} s", flush=True)
    return 0


def _write_data(here: Path) -> None:
    write(tagged_text(40, seed=1), here / "tokens.txt")
    write_conll(here / "trees.conll", dependency_trees(40, seed=1))
    write_brackets(here / "phrases.mrg", phrase_trees(40, seed=1))
    rows = [f"{k % 3 + 1} {k % 3 + 1}:1 {4 + k % 5}:{0.1 * (k % 7):g}\n" for k in range(60)]
    (here / "rows.svm").write_text("".join(rows), "ascii")
    one = "node a {0} l{0}\nnode b {1} r{1}\nnode c {0} l{0}\nedge a b near\nedge b c far\n"
    graphs = [one.format(k % 2, (k + 1) % 3 % 2) for k in range(20)]
    (here / "maps.graphs").write_text("\n".join(graphs), "ascii")


def _run_task(here: Path, task: str) -> None:
    file, variants = _TASKS[task]
    data = str(here / file)
    for loss in LOSS_NAMES:
        for options in variants:
            _train(here, task, "a.model", "--loss", loss, *options)
            model = str(here / "a.model")
            _run("predict", model, data, "--k", "2")
            _run("predict", model, data, "--jobs", "2")
            if loss != "hinge":
                _run("predict", model, data, "--marginals")
            _run("explain", model, data, "--first", str(_EXPLAINED))
            _run("report", model, data, "--output", str(here / "report.html"))
    _train(here, task, "a.model", "--l1", "0.1")


def _train(here: Path, task: str, model: str, *options: str) -> None:
    data = str(here / _TASKS[task][0])
    _run("train", "--task", task, data, "--model", str(here / model), *_SHORT, *options)


def _run(*arguments: str) -> None:
    """Run a command; what it prints is of no interest unless it fails."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        code = partwise([*arguments, "--quiet"])
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
    if code not in (0, _STOPPED):
        sys.exit(f"exit code {code}: partwise {' '.join(arguments)}")


def _serve(here: Path) -> None:
    """Start a server of all tasks, and ask it what the page asks."""
    for task in _TASKS:
        _train(here, task, f"{task}.model")
    command = [sys.executable, "-m", "partwise", "serve", "--port", "0", "--json", "--quiet"]
    models = [str(here / f"{task}.model") for task in _TASKS]
    with subprocess.Popen([*command, *models], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"].rstrip("/")
            for model in _asked(url + "/models")["models"]:
                question = {"model": model["name"], "input": model["sample"]}
                predicted = {**question, "k": 2, "probabilities": True, "marginals": True}
                _asked(url + "/predict", predicted)
                _asked(url + "/explain", question)
        finally:
            server.send_signal(signal.SIGTERM)


def _asked(url: str, question: object = None) -> dict[str, list[dict[str, object]]]:
    body = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found: dict[str, list[dict[str, object]]] = json.load(answer)
    return found


if __name__ == "__main__":
    sys.exit(main())
