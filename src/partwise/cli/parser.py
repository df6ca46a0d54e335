"""The arguments of ``partwise``. Nothing here imports numpy, so that help is fast."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

import partwise
from partwise.formats.tag_schemes import SCHEME_ALIASES, TAG_SCHEMES
from partwise.tasks.base import Task
from partwise.tasks.parameters import PathParameters, flagged
from partwise.tasks.registry import all_tasks
from partwise.training.path_table import Grid
from partwise.training.settings import Parameters
from partwise.wording import did_you_mean

from .cluster import add_cluster_options
from .help_texts import (
    CODES,
    CONVERT,
    DEMO,
    EVALUATE,
    EXPLAIN,
    INFO,
    INSPECT,
    REPORT,
    SERVE,
    SOLVERS,
    VALIDATE,
    path_help,
    predict_help,
    train_help,
)
from .options import add_format, add_format_options, add_options, add_parameters
from .outcome import USAGE, Outcome, deliver, refuse
from .readers import natural, not_negative, threads
from .report import add_no_examples, add_report
from .serve import add_serve_options

__all__ = ["Refused", "StrictParser", "build_parser", "run", "verb_of"]


def run(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the verb, and return the exit code."""
    given = sys.argv[1:] if argv is None else argv
    try:
        arguments = build_parser().parse_args(given)
    except Refused as error:
        return refuse(str(error), "--json" in given)
    except SystemExit as stop:
        # argparse ends the process itself, after help.
        return stop.code if isinstance(stop.code, int) else USAGE
    arguments.command_line = shlex.join(["partwise", *given])
    return deliver(arguments, verb_of(arguments.command))


def verb_of(name: str) -> Callable[[argparse.Namespace], Outcome]:
    """Return what runs a verb: `run` of the module of its name, loaded when it is called."""

    def work(arguments: argparse.Namespace) -> Outcome:
        outcome: Outcome = import_module(f"partwise.cli.{name}").run(arguments)
        return outcome

    return work


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all verbs."""
    parser = StrictParser(
        prog="partwise",
        description="Train linear models of structured labels to a certified optimum.",
        epilog="example:\n  partwise train --task tag train.txt --model chunks.model\n"
        "  partwise COMMAND --help has an example for every command\n\n" + CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"partwise {partwise.__version__}")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parser.verbs = verbs.choices

    def verb(name: str, summary: str, epilog: str) -> argparse.ArgumentParser:
        child = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=epilog + "\n\n" + CODES,
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
    _train(verb("train", "train a model on a file with labels", train_help(tasks)), tasks)
    _path(verb("path", "train for a range of l2 and choose the best", path_help(tasks)), tasks)
    _predict(verb("predict", "label a file with a model", predict_help(tasks)), tasks)
    _evaluate(verb("evaluate", "score a model on a file with labels", EVALUATE), tasks)
    _report(verb("report", "write a page about a model and its scores on a file", REPORT), tasks)
    info = verb("info", "say what a model file holds", INFO)
    info.add_argument("model", metavar="MODEL", help="a model file")
    _inspect(verb("inspect", "list the largest weights of a model", INSPECT))
    _explain(verb("explain", "say which features spoke for the labels of a file", EXPLAIN))
    add_serve_options(verb("serve", "open a page to try models on, and a JSON API", SERVE))
    _convert(verb("convert", "convert a file from one format to another", CONVERT))
    solvers = verb("solvers", "list the solvers, or describe one", SOLVERS)
    solvers.add_argument("name", metavar="NAME", nargs="?", help="a solver (default: all)")
    _validate(verb("validate", "find all faults of a file", VALIDATE), tasks)
    demo = verb("demo", "train, certify and evaluate on data made up on the spot", DEMO)
    demo.add_argument(
        "--output", metavar="DIR", default="demo", help="folder for the files (default: demo)"
    )
    return parser


def _train(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    _what(parser, tasks)
    add("--model", required=True, metavar="OUT", help="where to write the model")
    add(
        "--dev", metavar="FILE",
        help="a file to score while training (at most once per pass, and so that at most a fifth "
        "of the work goes into it) and to evaluate on when done",
    )  # fmt: skip
    add(
        "--patience", type=natural, metavar="N",
        help="with --dev: stop after N scorings in a row without a better one, and keep the best "
        "weights (exit code 3)",
    )  # fmt: skip
    add(
        "--resume", metavar="FILE",
        help="go on from a checkpoint as if training had not stopped, or start from the weights of "
        "a model",
    )  # fmt: skip
    add(
        "--as-start", action="store_true",
        help="with --resume: take a checkpoint of other data or settings as a start only, as a "
        "model",
    )  # fmt: skip
    add(
        "--checkpoint", metavar="FILE",
        help="save the training to FILE now and then, to go on from there with --resume FILE "
        "(default with --resume CHECKPOINT: the same file)",
    )  # fmt: skip
    add(
        "--every", type=not_negative, metavar="MINUTES",
        help="with --checkpoint or --resume CHECKPOINT: save it so often (default: 10)",
    )  # fmt: skip
    add("--plot", metavar="PNG", help="draw how training converged")
    add_report(parser, "--dev, or else on TRAIN itself")
    add(
        "--out-of-core", metavar="DIR",
        help="for data larger than the memory: read TRAIN a part at a time, and keep examples, "
        "features and dual variables in this folder, which must be new or empty, or that of the "
        "checkpoint to --resume; it is cleared in the end, unless there is a --checkpoint",
    )  # fmt: skip
    _how(parser)
    add_cluster_options(parser, blocks=True)
    add_options(parser, "train", tasks, chosen=True)


def _path(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    _what(parser, tasks)
    add("--dev", metavar="FILE", help="a file to choose l2 by")
    add("--folds", type=natural, metavar="K", help="without --dev: cross-validation with K folds")
    add("--model", metavar="BEST", help="where to write the best model")
    add_parameters(parser, PathParameters, leave=[*flagged(Grid)])
    add_parameters(parser, Grid)
    add("--plot", metavar="PNG", help="draw scores and passes against l2")
    add_report(parser, "--dev, or with --folds on TRAIN itself")
    _how(parser, leave=("l2",), each=" for one l2", tol=1e-3)
    add_cluster_options(parser, blocks=False)
    add_options(parser, "train", tasks, chosen=True)


def _what(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    parser.add_argument("file", metavar="TRAIN", help="the training file; - is stdin")
    add_format(parser)
    parser.add_argument(
        "--task", required=True, choices=[task.name for task in tasks],
        help="; ".join(f"{task.name}: {task.summary}" for task in tasks),
    )  # fmt: skip


def _how(parser: argparse.ArgumentParser, **how: Any) -> None:
    parser.add_argument(
        "--sample-weight", metavar="FILE",
        help="weights of the examples: one number per line, one line per example of TRAIN",
    )  # fmt: skip
    add_parameters(parser, Parameters, **how)


def _predict(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="the file to label, with or without labels; - is stdin")
    add_format(parser)
    add("--marginals", action="store_true", help="also probabilities (not for --loss hinge)")
    add("--k", type=natural, metavar="N", help="the N best labellings and their scores")
    add("--output", default="-", metavar="OUT", help="where to write (default: -, stdout)")
    _jobs(parser)
    add_options(parser, "predict", tasks, chosen=False)


def _evaluate(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="a file with the right labels; - is stdin")
    add_format(parser)
    add_report(parser, "FILE")
    _jobs(parser)
    add_options(parser, "evaluate", tasks, chosen=False)


def _report(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="DATA", help="a file with the right labels; - is stdin")
    add_format(parser)
    add(
        "--output", dest="report", default="report.html", metavar="HTML",
        help="where to write the page (default: report.html)",
    )  # fmt: skip
    add("--card", metavar="MD", help="write the same as a model card, in Markdown")
    add_no_examples(parser)
    _jobs(parser)
    add_options(parser, "evaluate", tasks, chosen=False)


def _inspect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("--top", type=natural, default=20, metavar="N", help="how many weights (default: 20)")
    add("--all", action="store_true", help="all weights that are not 0")
    add("--label", metavar="X", help="only weights for this label")
    add("--feature", metavar="REGEX", help="only weights of features whose names match")
    add("--transitions", action="store_true", help="only weights that join labels")
    add("--csv", action="store_true", help="comma-separated values, with a first line of names")


def _explain(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="the file to predict, with or without labels; - is stdin")
    add_format(parser)
    add("--top", type=natural, default=10, metavar="N", help="contributions per part (default: 10)")
    add("--first", type=natural, metavar="N", help="only the first N examples")
    add(
        "--only", action="append", type=natural, metavar="N",
        help="only the Nth example, counted from 1; may be repeated",
    )  # fmt: skip
    add("--no-runners-up", action="store_true", help="no margins: faster for long sentences")


def _convert(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="IN", help="the file to read; - is stdin")
    add("target", metavar="OUT", help="the file to write; - is stdout")
    add("--from", dest="from_format", required=True, metavar="NAME", help="the format of IN")
    add(
        "--to", dest="to_format", metavar="NAME",
        help="the format of OUT (default for models: partwise-model)",
    )  # fmt: skip
    add(
        "--inputs", type=natural, metavar="N",
        help="of a wapiti-model: input columns of its files (default: those its patterns look at)",
    )  # fmt: skip
    add("--drop", action="store_true", help="leave out what OUT has no place for")
    add("--unlabelled", action="store_true", help="IN has no labels")
    add(
        "--out", action="append", metavar="NAME=VALUE",
        help="an option for writing, such as label=misc:NE, columns=form,xpos or separator=tab",
    )  # fmt: skip
    add_format_options(parser)


def _validate(parser: argparse.ArgumentParser, tasks: Sequence[Task[Any]]) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the file to check; - is stdin")
    add(
        "--task", default="tag", choices=[task.name for task in tasks],
        help="the task that it is for (default: tag)",
    )  # fmt: skip
    schemes = [*TAG_SCHEMES, *SCHEME_ALIASES]
    add("--scheme", choices=schemes, help="the scheme of its tags (default: by their letters)")
    add("--constraints", choices=schemes, help="the same as --scheme, as in train")
    add_format(parser)


def _jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=threads, default=1, metavar="N",
        help="threads, -1 for all cores; they do not change the result (default: 1)",
    )  # fmt: skip


#: Options of CRFsuite that have other names here.
_OF_CRFSUITE: Final = {
    "--c1": "c1 of CRFsuite is --l1 here",
    "--c2": "c2 of CRFsuite is half of l2 here, so l2 is twice that number",
}


class Refused(Exception):
    """Arguments that cannot be understood."""


class StrictParser(argparse.ArgumentParser):
    """A parser that raises its errors, and that knows what was meant by a misspelled name.

    Attributes
    ----------
    verbs
        The parsers of the verbs; None for the parser of a verb.
    """

    verbs: Mapping[str, argparse.ArgumentParser] | None = None

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments; what is wrong with those of a verb is said by its own parser."""
        verbs = self.verbs or {}
        if args and not args[0].startswith("-") and args[0] not in verbs:
            known = f"use one of {', '.join(verbs)}"
            self.error(f"unknown command {args[0]!r}; {did_you_mean(args[0], verbs, known)}")
        if args and args[0] in verbs and not {"-h", "--help"} & {*args}:
            # Before what is missing is complained about: it may be there, misspelled.
            _refuse_unknown(verbs[args[0]], _unknown_options(args[1:], verbs[args[0]]))
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            _refuse_unknown(verbs[found.command], unknown)
        return found

    def error(self, message: str) -> NoReturn:
        # What is needed only: all options of a verb would hide the message that follows.
        needed = [one for one in self._actions if one.required or not one.option_strings]
        usage = self.formatter_class(prog=f"{self.prog} [options]")
        usage.add_usage(None, needed, [])
        sys.stderr.write(usage.format_help())
        raise Refused(f"{message} (see {self.prog} --help)")


def _option_names(verb: argparse.ArgumentParser) -> list[str]:
    return [name for action in verb._actions for name in action.option_strings]


def _unknown_options(given: Sequence[str], verb: argparse.ArgumentParser) -> list[str]:
    """Return what argparse takes for an option, but the verb does not have."""
    options = set(_option_names(verb))
    end = given.index("--") if "--" in given else len(given)
    return [
        one
        for one in given[:end]
        if one.startswith("--") and " " not in one and one.partition("=")[0] not in options
    ]


def _refuse_unknown(verb: argparse.ArgumentParser, unknown: Sequence[str]) -> None:
    """End with an error that names unknown arguments, and what may have been meant."""
    if not unknown:
        return
    options = _option_names(verb)
    hints = [_hint(one, options) for one in unknown if one.startswith("--")]
    told = "; ".join(dict.fromkeys(filter(None, hints)))
    verb.error(f"unrecognized arguments: {' '.join(unknown)}" + (f"; {told}" if told else ""))


def _hint(given: str, options: Sequence[str]) -> str:
    """Return what somebody may have meant by an option that a verb does not have."""
    name = given.partition("=")[0]
    if name in _OF_CRFSUITE and "--l1" in options:
        return _OF_CRFSUITE[name]
    return did_you_mean(name, options)
