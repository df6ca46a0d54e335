"""The arguments of ``partwise``. Nothing here imports numpy, so that help comes at once."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import partwise

from .options import add_options, natural, not_negative, passes, positive, seed, threads
from .report import Outcome, deliver
from .tasks.base import Task
from .tasks.registry import all_tasks

__all__ = ["LOSSES", "build_parser", "run"]

#: As in partwise.losses, which cannot be imported without the compiler.
LOSSES = ("log", "hinge", "softmax-margin")

_CODES = """\
exit codes:
  0  done
  1  bad data or model; one sentence on stderr says where and what to do
  2  usage
  3  training stopped before the requested gap (--max-passes, or Ctrl-C once): the model is
     written and certified, and --resume goes on from it
  130, 141  Ctrl-C (while training: twice), or the reader of stdout went away; nothing is
     written half

Files may be gzipped; - is stdin or stdout. With --json, stdout holds one JSON object and
nothing else; messages and progress go to stderr."""

_TRAIN = """\
The objective is l2/2 |w|^2 + the sum of the losses of all examples. Training stops when the
relative duality gap is at most --tol: no weights can then be better by more than that.
Progress shows passes over the data, primal (the objective), dual (a lower bound on it) and their
relative gap; ~ marks a running estimate. Ctrl-C ends training with the weights so far."""

_PREDICT = """\
examples:
  partwise predict chunks.model text.txt --output labelled.txt
  partwise predict chunks.model text.txt --marginals | less
  zcat text.txt.gz | partwise predict chunks.model - --k 3

The file may have labels or not. With --json and no --output, the record holds the predictions.
What is written depends on the task of the model."""

_EVALUATE = """\
examples:
  partwise evaluate chunks.model test.txt
  partwise evaluate chunks.model test.txt --scheme IOB2 --json

Labels that the model does not know count as errors. Where labels look like spans (B-NP, I-NP, O),
precision, recall and F1 are those of spans, by default as the CoNLL script conlleval counts them;
the other schemes are strict and drop spans that break their rules."""

_INFO = """\
examples:
  partwise info chunks.model
  partwise info chunks.model --json"""

_DEMO = """\
examples:
  partwise demo
  partwise demo --output /tmp/demo

Makes a tagged text, trains a tagger on it to a certified optimum, evaluates it and draws how it
converged; then the same for a classifier of digits. Prints the commands, to be repeated by hand."""


def run(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the verb, and return the exit code."""
    try:
        arguments = build_parser().parse_args(argv)
    except SystemExit as stop:
        # argparse ends the process itself, after help (0) and after an error (2).
        return stop.code if isinstance(stop.code, int) else 2
    return deliver(arguments, _verb(arguments.command))


def _verb(name: str) -> Callable[[argparse.Namespace], Outcome]:
    def work(arguments: argparse.Namespace) -> Outcome:
        outcome: Outcome = import_module(f"partwise.cli.{name}").run(arguments)
        return outcome

    return work


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog="partwise",
        description="Train linear models of structured labels to a certified optimum.",
        epilog="example:\n  partwise train --task tag train.txt --model chunks.model\n"
        "  partwise COMMAND --help has an example for every command\n\n" + _CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"partwise {partwise.__version__}")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def verb(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        child = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=epilog + "\n\n" + _CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        child.add_argument("--json", action="store_true", help="one JSON object on stdout")
        child.add_argument(
            "-v", "--verbose", action="count", default=0, help="say more on stderr (-vv: yet more)"
        )
        child.add_argument(
            "-q", "--quiet", action="store_true", help="no progress and no notes on stderr"
        )
        return child

    tasks = all_tasks()
    _train(verb("train", "train a model on a file with labels", _train_help(tasks)), tasks)
    _predict(verb("predict", "label a file with a model", _predict_help(tasks)), tasks)
    _evaluate(verb("evaluate", "score a model on a file with labels", _EVALUATE), tasks)
    info = verb("info", "say what a model file holds", _INFO)
    info.add_argument("model", metavar="MODEL", help="a model file")
    demo = verb("demo", "train, certify and evaluate on data made up on the spot", _DEMO)
    demo.add_argument(
        "--output", metavar="DIR", default="demo", help="folder for the files (default: demo)"
    )
    return parser


def _train_help(tasks: Sequence[Task[Any]]) -> str:
    lines = [f"  partwise train --task {task.name} {task.example}" for task in tasks]
    resume = "  partwise train --task tag more.txt --model chunks.model --resume chunks.model"
    return "\n".join(["examples:", *lines, resume, "", *_on_tasks(tasks, "reads"), "", _TRAIN])


def _predict_help(tasks: Sequence[Task[Any]]) -> str:
    return "\n".join([_PREDICT, *_on_tasks(tasks, "writes")])


def _on_tasks(tasks: Sequence[Task[Any]], what: str) -> list[str]:
    """Give what the tasks say about themselves, a paragraph each."""
    return [
        textwrap.fill(
            f"--task {task.name} {getattr(task, what)}.", 96, subsequent_indent="  ",
            break_on_hyphens=False, break_long_words=False,
        )
        for task in tasks
    ]  # fmt: skip


def _train(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("file", metavar="TRAIN", help="the training file; - is stdin")
    add(
        "--task", required=True, choices=[task.name for task in tasks],
        help="; ".join(f"{task.name}: {task.summary}" for task in tasks),
    )  # fmt: skip
    add("--model", required=True, metavar="OUT", help="where to write the model")
    add("--dev", metavar="FILE", help="a file to evaluate on when done")
    add("--loss", default="log", choices=LOSSES, help="default: log")
    add("--l2", type=positive, default=1.0, metavar="X", help="regulariser (default: 1)")
    add("--l1", type=not_negative, default=0.0, metavar="X", help="adds X |w|_1 (default: 0)")
    add("--solver", default="auto", metavar="NAME", help="default: auto")
    add("--tol", type=positive, default=1e-4, metavar="X", help="relative gap (default: 1e-4)")
    add(
        "--max-passes", type=passes, default=1000.0, metavar="N",
        help="stop after N passes over the data (default: 1000)",
    )  # fmt: skip
    add(
        "--weights", default="all", choices=("all", "observed"),
        help="a weight for every feature and label, or only for those seen together (default: all)",
    )  # fmt: skip
    add("--resume", metavar="MODEL", help="start from the weights of a model")
    _jobs(parser)
    add("--seed", type=seed, default=0, metavar="N", help="order of the examples (default: 0)")
    add("--plot", metavar="PNG", help="draw how training converged")
    add_options(parser, "train", tasks, chosen=True)


def _predict(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="the file to label, with or without labels; - is stdin")
    add("--marginals", action="store_true", help="also probabilities (not for --loss hinge)")
    add("--k", type=natural, metavar="N", help="the N best labellings and their scores")
    add("--output", default="-", metavar="OUT", help="where to write (default: -, stdout)")
    _jobs(parser)
    add_options(parser, "predict", tasks, chosen=False)


def _evaluate(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="a file with the right labels; - is stdin")
    _jobs(parser)
    add_options(parser, "evaluate", tasks, chosen=False)


def _jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=threads, default=1, metavar="N",
        help="threads, -1 for all cores; they do not change the result (default: 1)",
    )  # fmt: skip
