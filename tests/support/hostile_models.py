"""Small models of every task, and what a hostile file may hold in their place.

As a program it changes models, reads them and predicts, so that a crash, an endless loop or a want
of memory ends a process of its own: ``python hostile_models.py FOLDER STEP [FIRST]`` tries every
STEP-th change. Without a STEP it makes the models.
"""

from __future__ import annotations

import contextlib
import copy
import io
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from partwise import (
    ConstituencyParser,
    DependencyParser,
    GraphLabeler,
    KernelClassifier,
    KernelTagger,
    LinearClassifier,
    PartwiseError,
    SegmentTagger,
    SequenceTagger,
    load_model,
    save_model,
)
from partwise.cli import main
from partwise.datasets import tagged_text, write
from partwise.files.container import read_container, write_container
from support.grammar_of_arcs import treebank as arc_treebank
from support.grammar_of_phrases import treebank as phrase_treebank
from support.graph_data import grids, mixed
from support.kernel_data import words

#: The memory that a process may take on top of what it has, for a model of a few kilobytes.
ROOM = 1 << 30
#: Seconds for one changed model.
PATIENCE = 300

Use = Callable[[Path], None]


def sentences(number: int) -> tuple[list[Any], list[list[str]]]:
    columns = tagged_text(number)
    assert columns.labels is not None
    X, y = [], []
    for a, b in pairwise([0, *np.cumsum(columns.lengths).tolist()]):
        X.append([{"w": word, "n": len(word)} for word in columns.fields[0][a:b]])
        y.append(columns.labels[a:b])
    return X, y


def rows() -> Any:
    rng = np.random.default_rng(0)
    return rng.integers(1, 3, (12, 30)) * (rng.random((12, 30)) < 0.08)


def estimators() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """What to fit, to which data."""
    X, y = sentences(5)
    numbers, labels = words(0, 4)
    arcs = arc_treebank(5)
    phrases = phrase_treebank(6)
    classes = np.arange(12) % 3
    return {
        "classifier": (LinearClassifier(), (rows(), classes)),
        "tagger": (SequenceTagger(constraints="BIO", start=True), (X, y)),
        "tagger of order 2": (SequenceTagger(order=2, end=True), (X, y)),
        "tagger, observed": (SequenceTagger(weights="observed"), (X, y)),
        "tagger of numbers": (SequenceTagger(), (numbers, labels)),
        "segmenter": (SegmentTagger(segment_features="text", start=True), (X, y)),
        "segmenter, observed": (SegmentTagger(weights="observed"), (X, y)),
        "parser": (DependencyParser(), (arcs,)),
        "parser, hashed": (DependencyParser(hashing=64, projective=False), (arcs,)),
        "parser, labelled": (DependencyParser(labelled=True, weights="observed"), (arcs,)),
        "parser, crossing": (DependencyParser(labelled=True, projective=False), (arcs,)),
        "constituency": (ConstituencyParser(), (phrases,)),
        "constituency, splits": (
            ConstituencyParser(splits=True, tags="predict", weights="observed"),
            (phrases,),
        ),
        "grid": (GraphLabeler(symmetric=True), grids(4)),
        "graph": (GraphLabeler(weights="observed"), mixed(6)),
        "kernel": (KernelClassifier(kernel="rbf"), (rows(), classes)),
        "kernel, poly": (KernelClassifier(kernel="poly"), (rows() + 1, classes)),
        "kernel tagger": (KernelTagger(kernel="rbf"), (numbers, labels)),
        "kernel tagger, names": (KernelTagger(kernel="poly"), (X[:2], y[:2])),
    }


#: The options of the commands that train a model, by its name.
COMMANDS = {
    "command tag": ["--task", "tag"],
    "command segment": ["--task", "segment"],
    "command tag, transitions": ["--task", "tag", "--transition-features"],
    "command tag, kernel": ["--task", "tag", "--kernel", "linear"],
}


def make_models(folder: Path) -> None:
    """Save a small model of every kind to the folder."""
    for name, (estimator, data) in estimators().items():
        save_model(estimator.set_params(tol=0.05).fit(*data), folder / name)
    write(tagged_text(4), folder / "text")
    train = ["train", str(folder / "text"), "--tol", "0.05", "--quiet"]
    for name, options in COMMANDS.items():
        with contextlib.redirect_stdout(io.StringIO()):
            assert main([*train, *options, "--model", str(folder / name)]) == 0


def uses(folder: Path) -> dict[str, Use]:
    """How to predict with each of the models."""
    found: dict[str, Use] = {}
    for name, (estimator, data) in estimators().items():

        def use(path: Path, estimator: Any = estimator, X: Any = data[0]) -> None:
            type(estimator).from_model(load_model(path)).predict(X)

        found[name] = use
    for name in COMMANDS:

        def command(path: Path) -> None:
            for arguments in (["predict", path, folder / "text"], ["info", path]):
                said = io.StringIO()
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                    code = main([*map(str, arguments), "--quiet"])
                assert code in (0, 1), said.getvalue()

        found[name] = command
    return found


# Changes


def values_for(array: Any) -> list[int]:
    n, bits = array.size, 8 * array.dtype.itemsize - 1
    given = [-1, -2, 0, 1, 7, n, n + 1, 2**31 - 1, 2**31, 2**62, 2**bits - 1, -(2**bits)]
    info = np.iinfo(array.dtype)
    return sorted({value for value in given if info.min <= value <= info.max})


def array_changes(arrays: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every integer array with other entries at some places, alone and in pairs that wrap."""
    for name, array in arrays.items():
        if array.dtype.kind not in "iu" or not array.size:
            continue
        flat = array.ravel()
        places = sorted(
            {0, 1, 2, flat.size // 2, flat.size - 2, flat.size - 1} & {*range(flat.size)}
        )
        for place in places:
            for value in values_for(array):
                changed = flat.copy()
                changed[place] = value
                yield f"{name}[{place}] = {value}", {**arrays, name: changed.reshape(array.shape)}
            if array.dtype.itemsize == 8 and place + 1 < flat.size:
                for pair in ((2**63 - 1, -2), (2**62, -(2**62)), (-(2**63), 2**63 - 1)):
                    changed = flat.copy()
                    changed[place : place + 2] = pair
                    yield f"{name}[{place}:] = {pair}", {**arrays, name: changed}


def deep(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = [made]
    return made


JUNK: list[Any] = [
    None, True, -1, 0, 1, 3, 2**14, 2**15, 2**24, 2**28, 2**30, 2**31 - 1, 2**31, 2**63 - 1, 2**63,
    10**400, -0.5, 1e308, 5e-324, "", "x", "\ud800", "\n", [], [0], [[0, 1]], [-1], [2**40], ["x"],
    {}, {"x": 1}, deep(200), deep(600),
]  # fmt: skip


def places_of(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be replaced in nested data, at most a few places of each list."""
    found = [prefix] if prefix else []
    if isinstance(value, dict):
        for key in value:
            found += places_of(value[key], (*prefix, key))
    elif isinstance(value, list):
        for place in range(min(len(value), 2)):
            found += places_of(value[place], (*prefix, place))
    return found


def header_changes(header: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The header with something else, or nothing, at some place."""
    for place in places_of(header):
        for value in (*JUNK, ...):
            made = copy.deepcopy(header)
            held: Any = made
            for key in place[:-1]:
                held = held[key]
            if value is ...:
                del held[place[-1]]
            else:
                held[place[-1]] = value
            text = repr(value)
            yield f"{'.'.join(map(str, place))} = {text[:40]}", made


def changes(path: Path) -> Iterator[tuple[str, Any, Any]]:
    """Every change of a model: what it is, the header and the arrays."""
    header, arrays = read_container(path)
    for what, changed in array_changes(arrays):
        yield what, header, changed
    for what, made in header_changes(header):
        yield what, made, arrays


def run(folder: Path, step: int, first: int = 0) -> None:
    """Try every step-th change from the first on; what goes wrong ends the process."""
    warnings.simplefilter("ignore")
    known = uses(folder)
    for name, use in known.items():
        use(folder / name)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, -1))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    number = -1
    for name, use in known.items():
        for what, header, arrays in changes(folder / name):
            number += 1
            if number < first or number % step:
                continue
            sys.stderr.write(f"{number}: {name}: {what}\n")
            target = folder / "hostile"
            with contextlib.suppress(PartwiseError):
                write_container(target, header, arrays)
                signal.alarm(PATIENCE)
                use(target)
            signal.alarm(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        make_models(Path(sys.argv[1]))
    else:
        run(Path(sys.argv[1]), *map(int, sys.argv[2:]))
