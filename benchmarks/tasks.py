"""The tasks: what is trained, with which l2, on which data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import data
from .problems import ChainProblem, LinearLoss, LinearProblem, Problem


@dataclass(frozen=True)
class Task:
    """One problem under one name. ``group`` selects several tasks at once."""

    name: str
    group: str
    title: str
    kind: str
    files: tuple[str, ...]
    load: Callable[[], Problem]

    def require_data(self) -> None:
        """Raise a MissingDataError if a file of this task is missing."""
        for file in self.files:
            data.data_file(file)


def _chunking(all_weights: bool, l2: float = 1.0, l1: float = 0.0) -> Callable[[], Problem]:
    def load() -> Problem:
        return ChainProblem(
            l2=l2,
            l1=l1,
            all_weights=all_weights,
            train_columns=data.read_columns(data.data_file("conll2000/train.txt.gz")),
            test_columns=data.read_columns(data.data_file("conll2000/test.txt.gz")),
        )

    return load


def _mnist(l2: float, loss: LinearLoss = "softmax") -> Callable[[], Problem]:
    def load() -> Problem:
        x, y = data.mnist("train")
        x_test, y_test = data.mnist("t10k")
        return LinearProblem(loss, l2, x[:59_000], y[:59_000], x_test, y_test, 10)

    return load


def _digits() -> Problem:
    x, y = data.digits()
    return LinearProblem("softmax", 1.0, x[:1_400], y[:1_400], x[1_400:], y[1_400:], 10)


def _svm_digits() -> Problem:
    x, y = data.digits()
    return LinearProblem("hinge", 1.0, x[:1_400], y[:1_400], x[1_400:], y[1_400:], 10)


def _a9a() -> Problem:
    x, y = data.svmlight("libsvm/a9a.gz", 123)
    x_test, y_test = data.svmlight("libsvm/a9a.t.gz", 123)
    return LinearProblem("logistic", 0.25, x, y, x_test, y_test, 2)


def _demo_text() -> Problem:
    return ChainProblem(
        l2=1.0,
        all_weights=True,
        train_columns=data.demo_text(500, seed=0),
        test_columns=data.demo_text(500, seed=1),
    )


_CONLL = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")
_MNIST = tuple(
    f"mnist/{part}-{content}-ubyte.gz"
    for part in ("train", "t10k")
    for content in ("images-idx3", "labels-idx1")
)

TASKS: tuple[Task, ...] = (
    Task("digits", "digits", "8x8 digits, log loss, l2=1", "softmax", (), _digits),
    Task("svm-digits", "svm", "8x8 digits, Crammer-Singer hinge, l2=1", "hinge", (), _svm_digits),
    Task("demo-text", "demo-text", "generated text, CRF, l2=1", "chain", (), _demo_text),
    Task(
        "chunking-observed",
        "chunking",
        "CoNLL-2000 chunking, CRF with the observed weights, l2=1",
        "chain",
        _CONLL,
        _chunking(False),
    ),
    Task(
        "chunking-all",
        "chunking",
        "CoNLL-2000 chunking, CRF with all weights, l2=1",
        "chain",
        _CONLL,
        _chunking(True),
    ),
    Task(
        "chunking-l1",
        "chunking-l1",
        "CoNLL-2000 chunking, CRF with the observed weights, elastic net, l2=1/1000, l1=1",
        "chain-l1",
        _CONLL,
        _chunking(False, 1e-3, 1.0),
    ),
    *(
        Task(f"mnist-{l2}", "mnist", f"MNIST, log loss, l2={l2}", "softmax", _MNIST, _mnist(l2))
        for l2 in (1000, 10, 1)
    ),
    Task(
        "svm-mnist",
        "svm",
        "MNIST, Crammer-Singer hinge, l2=10",
        "hinge",
        _MNIST,
        _mnist(10.0, "hinge"),
    ),
    Task(
        "a9a",
        "a9a",
        "a9a, logistic loss of two classes, l2=1/4",
        "logistic",
        ("libsvm/a9a.gz", "libsvm/a9a.t.gz"),
        _a9a,
    ),
)


def task_named(name: str) -> Task:
    """Return the task of this name."""
    for task in TASKS:
        if task.name == name:
            return task
    raise KeyError(f"no task is called {name!r}; there are {', '.join(t.name for t in TASKS)}.")


def select_tasks(names: list[str]) -> list[Task]:
    """Return the tasks whose name or group is in ``names``; all of them if it is empty."""
    known = {task.name for task in TASKS} | {task.group for task in TASKS}
    for name in names:
        if name not in known:
            raise KeyError(f"no task or group is called {name!r}; there are {sorted(known)}.")
    return [t for t in TASKS if not names or t.name in names or t.group in names]
