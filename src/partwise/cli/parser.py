"""The arguments of ``partwise``. Nothing here imports numpy, so that help is fast."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NoReturn

import partwise
from partwise.formats.tag_schemes import SCHEME_ALIASES, TAG_SCHEMES
from partwise.tasks.parameters import PathParameters, flagged
from partwise.tasks.registry import all_tasks
from partwise.training.path_table import Grid
from partwise.training.settings import Parameters
from partwise.wording import did_you_mean

from .cluster import add_cluster_options
from .help_texts import epilog
from .options import add_format, add_options, add_parameters
from .outcome import USAGE, refuse
from .readers import natural, not_negative, threads
from .report import add_report
from .serve import add_serve_options

__all__ = ["Refused", "StrictParser", "build_parser", "parse"]


def parse(given: Sequence[str]) -> argparse.Namespace | int:
    """Return the arguments of a verb, or the exit code if there is nothing to run."""
    try:
        arguments: argparse.Namespace = build_parser(given).parse_args(given)
    except Refused as error:
        return refuse(str(error), USAGE, "--json" in given)
    except SystemExit as stop:
        # argparse ends the process itself, after help.
        return stop.code if isinstance(stop.code, int) else USAGE
    arguments.command_line = shlex.join(["partwise", *given])
    return arguments


def build_parser(words: Collection[str] | None = None) -> StrictParser:
    """Build the parser of all verbs.

    Parameters
    ----------
    words : collection of str or None
        The words of a command. Only the verbs among them get their arguments, which takes most of
        the time; with None all verbs do.
    """
    parser = StrictParser(
        prog="partwise",
        description="Train linear models of structured labels to a certified optimum.",
        epilog=epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"partwise {partwise.__version__}")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parser.verbs = verbs.choices
    for name, (summary, add_arguments) in _VERBS.items():
        verb = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if words is not None and name not in words:
            continue
        verb.epilog = epilog(name)
        add = verb.add_argument
        add("--json", action="store_true", help="one JSON object on stdout")
        add("-v", "--verbose", action="count", default=0, help="say more on stderr (-vv: yet more)")
        add("-q", "--quiet", action="store_true", help="no progress and no notes on stderr")
        add_arguments(verb)
    return parser


def _train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _what(parser)
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
    _how(parser, blocks=True)


def _path(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _what(parser)
    add("--dev", metavar="FILE", help="a file to choose l2 by")
    add("--folds", type=natural, metavar="K", help="without --dev: cross-validation with K folds")
    add("--model", metavar="BEST", help="where to write the best model")
    add_parameters(parser, PathParameters, leave=[*flagged(Grid)])
    add_parameters(parser, Grid)
    add("--plot", metavar="PNG", help="draw scores and passes against l2")
    add_report(parser, "--dev, or with --folds on TRAIN itself")
    _how(parser, blocks=False, leave=("l2",), each=" for one l2", tol=1e-3)


def _what(parser: argparse.ArgumentParser) -> None:
    """Add what ``train`` and ``path`` learn from: the file, its format and the task."""
    tasks = all_tasks()
    parser.add_argument("file", metavar="TRAIN", help="the training file; - is stdin")
    add_format(parser)
    parser.add_argument(
        "--task", required=True, choices=[task.name for task in tasks],
        help="; ".join(f"{task.name}: {task.summary}" for task in tasks),
    )  # fmt: skip


def _how(parser: argparse.ArgumentParser, *, blocks: bool, **parameters: Any) -> None:
    """Add what ``train`` and ``path`` have in common about the training."""
    parser.add_argument(
        "--sample-weight", metavar="FILE",
        help="weights of the examples: one number per line, one line per example of TRAIN",
    )  # fmt: skip
    add_parameters(parser, Parameters, **parameters)
    add_cluster_options(parser, blocks=blocks)
    add_options(parser, "train")


def _predict(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="the file to label, with or without labels; - is stdin")
    add_format(parser)
    add("--marginals", action="store_true", help="also probabilities (not for --loss hinge)")
    add("--k", type=natural, metavar="N", help="the N best labellings and their scores")
    add("--output", default="-", metavar="OUT", help="where to write (default: -, stdout)")
    _jobs(parser)
    add_options(parser, "predict")


def _evaluate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="FILE", help="a file with the right labels; - is stdin")
    add_format(parser)
    add_report(parser, "FILE")
    _jobs(parser)
    add_options(parser, "evaluate")


def _report(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file")
    add("file", metavar="DATA", help="a file with the right labels; - is stdin")
    add_format(parser)
    add_report(parser)
    _jobs(parser)
    add_options(parser, "evaluate")


def _info(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")


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
    add_format(parser, named=False)


def _validate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the file to check; - is stdin")
    add(
        "--task", default="tag", choices=[task.name for task in all_tasks()],
        help="the task that it is for (default: tag)",
    )  # fmt: skip
    schemes = [*TAG_SCHEMES, *SCHEME_ALIASES]
    add("--scheme", choices=schemes, help="the scheme of its tags (default: by their letters)")
    add("--constraints", choices=schemes, help="the same as --scheme, as in train")
    add_format(parser)


def _solvers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a solver (default: all)")


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="DIR", default="demo", help="folder for the files (default: demo)"
    )


def _jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=threads, default=1, metavar="N",
        help="threads, -1 for all cores; they do not change the result (default: 1)",
    )  # fmt: skip


#: The verbs: what each does, in a few words, and what adds its arguments.
_VERBS: Final[Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None]]]] = {
    "train": ("train a model on a file with labels", _train),
    "path": ("train for a range of l2 and choose the best", _path),
    "predict": ("label a file with a model", _predict),
    "evaluate": ("score a model on a file with labels", _evaluate),
    "report": ("write a page about a model and its scores on a file", _report),
    "info": ("say what a model file holds", _info),
    "inspect": ("list the largest weights of a model", _inspect),
    "explain": ("say which features spoke for the labels of a file", _explain),
    "serve": ("open a page to try models on, and a JSON API", add_serve_options),
    "convert": ("convert a file from one format to another", _convert),
    "solvers": ("list the solvers, or describe one", _solvers),
    "validate": ("find all faults of a file", _validate),
    "demo": ("train, certify and evaluate on data made up on the spot", _demo),
}

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
            unknown = _unknown_options(args[1:], verbs[args[0]])
            if unknown:
                _refuse_unknown(verbs[args[0]], unknown)
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


def _unknown_options(given: Sequence[str], verb: argparse.ArgumentParser) -> list[str]:
    """Return the words that argparse takes for options, and that are no options of the verb."""
    options = verb._option_string_actions
    end = given.index("--") if "--" in given else len(given)
    return [
        one
        for one in given[:end]
        if one.startswith("--") and " " not in one and one.partition("=")[0] not in options
    ]


def _refuse_unknown(verb: argparse.ArgumentParser, unknown: Sequence[str]) -> NoReturn:
    """Raise an error that names unknown arguments, and what may have been meant."""
    options = [*verb._option_string_actions]
    hints = [_hint(one, options) for one in unknown if one.startswith("--")]
    told = "; ".join(dict.fromkeys(filter(None, hints)))
    verb.error(f"unrecognized arguments: {' '.join(unknown)}" + (f"; {told}" if told else ""))


def _hint(given: str, options: Sequence[str]) -> str:
    """Return what somebody may have meant by an option that a verb does not have."""
    name = given.partition("=")[0]
    if name in _OF_CRFSUITE and "--l1" in options:
        return _OF_CRFSUITE[name]
    return did_you_mean(name, options)
