"""The outcome of a verb: the result, how it is printed, and the exit code."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from partwise.errors import DataError, FormatError, MismatchError, PartwiseError
from partwise.files.whole_files import remedy
from partwise.models.tally import UnknownFeaturesWarning

if TYPE_CHECKING:
    from partwise.training.certificate import Certificate

__all__ = [
    "BAD_DATA",
    "BROKEN_PIPE",
    "DONE",
    "INTERRUPTED",
    "STOPPED_EARLY",
    "USAGE",
    "Outcome",
    "UsageError",
    "certificate_record",
    "deliver",
    "logged_warnings",
    "named",
    "refuse",
]

_log = logging.getLogger(__name__)

DONE: Final = 0
BAD_DATA: Final = 1
USAGE: Final = 2
STOPPED_EARLY: Final = 3
# 128 + the number of the signal, as in shells.
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_MOST_SAID: Final = 2000


class UsageError(PartwiseError):
    """Arguments that cannot be combined."""


@dataclass(frozen=True)
class Outcome:
    """The result of a verb.

    Attributes
    ----------
    record
        The result for ``--json``.
    text
        The result for people.
    code
        The exit code.
    written
        Whether the verb has written the record itself, as one that goes on after it must.
    """

    record: dict[str, Any]
    text: str = ""
    code: int = DONE
    written: bool = False


def certificate_record(certificate: Certificate) -> dict[str, Any]:
    """Return the certificate under the names that every record uses."""
    return {
        "objective": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "relative_gap": certificate.relative_gap,
        "tol": certificate.tol,
        "passes": certificate.passes,
        "seconds": certificate.seconds,
        "converged": certificate.converged,
        "verdict": certificate.verdict,
        **({} if certificate.steps is None else {"steps": asdict(certificate.steps)}),
    }


@contextmanager
def named(path: str) -> Iterator[None]:
    """Add the name of a file to a DataError that does not say which file it is about.

    Options that do not go together are no fault of the file.
    """
    name = "<stdin>" if path == "-" else path
    try:
        yield
    except MismatchError as error:
        raise UsageError(str(error)) from error
    except DataError as error:
        error.within(file=name)
        raise


@contextmanager
def logged_warnings(path: str) -> Iterator[None]:
    """Log the warning that a model knows nothing of a file once, with the name of the file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnknownFeaturesWarning)
        yield
    name = "<stdin>" if path == "-" else path
    unknown = [one for one in caught if issubclass(one.category, UnknownFeaturesWarning)]
    # Labels and probabilities are two predictions of the same file: one message will do.
    for message in unknown[:1]:
        _log.warning("%s: %s", name, message.message)
    for message in caught:
        if message not in unknown:
            warnings.warn_explicit(
                message.message, message.category, message.filename, message.lineno
            )


def deliver(arguments: argparse.Namespace) -> int:
    """Run a verb, print its result, and turn errors into a sentence.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments, with ``command``, ``json``, ``verbose`` and ``quiet``. The verb is `run` of
        the module that has the name of the command.

    Returns
    -------
    int
        The exit code.
    """
    try:
        with _log_on_stderr(arguments):
            outcome: Outcome = import_module(f"partwise.cli.{arguments.command}").run(arguments)
        if arguments.json and not outcome.written:
            _write(json.dumps(_plain({"command": arguments.command, **outcome.record})) + "\n")
        elif outcome.text:
            _write(outcome.text.rstrip("\n") + "\n")
        return outcome.code
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        sentence, code = "interrupted; no file was left half-written", INTERRUPTED
    except (UsageError, FormatError) as error:
        sentence, code = f"{error} (see partwise {arguments.command} --help)", USAGE
    except PartwiseError as error:
        sentence, code = str(error), BAD_DATA
    except OSError as error:
        where = "the output" if error.filename is None else error.filename
        why = error.strerror or str(error)
        sentence, code = f"{where}: {why}; {remedy(error)}", BAD_DATA
    except MemoryError:
        sentence = (
            "out of memory; use --weights observed or a larger --min-count, or split the file"
        )
        code = BAD_DATA
    return refuse(sentence, code, arguments.json, command=arguments.command)


def refuse(sentence: str, code: int, as_json: bool, **record: str) -> int:
    """Report an error, with --json in a record too, and return the exit code."""
    # One line, even if a file name or a field holds line breaks.
    sentence = _short(" ".join(sentence.splitlines()))
    sys.stderr.write(f"partwise: error: {sentence}\n")
    try:
        _write(json.dumps({**record, "error": sentence}) + "\n" if as_json else "")
    except OSError:
        # Stdout is closed or full, and the error is already on stderr.
        _discard_stdout()
    return code


def _short(sentence: str) -> str:
    """Remove the middle of a sentence that is too long, because it quotes a long line."""
    if len(sentence) <= _MOST_SAID:
        return sentence
    return f"{sentence[: _MOST_SAID // 2]} ... {sentence[-_MOST_SAID // 2 :]}"


def _write(text: str) -> None:
    # Labels and file names can hold characters that the terminal, or even UTF-8, cannot encode.
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    # Flushed here, so that a closed pipe is noticed while it can still be handled.
    sys.stdout.flush()


def _discard_stdout() -> None:
    """Redirect stdout to the null device: the interpreter flushes the buffer when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    finally:
        os.close(nowhere)


def _plain(value: Any) -> Any:
    """Convert a value for JSON; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


@contextmanager
def _log_on_stderr(arguments: argparse.Namespace) -> Iterator[None]:
    """Show the log of the package on stderr, at the level that the user chose."""
    logger = logging.getLogger("partwise")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("partwise: %(message)s"))
    level = logging.ERROR if arguments.quiet else logging.WARNING
    if arguments.verbose:
        level = logging.INFO if arguments.verbose == 1 else logging.DEBUG
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
