"""``partwise predict``: label a file."""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partwise.compiled.compilation import noted_compilation
from partwise.models.tally import UnknownFeaturesWarning
from partwise.tasks.registry import task_of

from .files import check_target, explained, given_model
from .options import checked_format, given_options
from .outcome import Outcome, UsageError, logged_warnings

if TYPE_CHECKING:
    from partwise.formats.registry import Chosen
    from partwise.formats.stream import Piece
    from partwise.models.model import Model
    from partwise.tasks.base import Task

__all__ = ["run"]

_log = logging.getLogger(__name__)


def run(arguments: argparse.Namespace) -> Outcome:
    """Predict the labels of a file and write them."""
    if arguments.output != "-":
        check_target(arguments, arguments.output, "--output", devices=True)
    with noted_compilation():
        model = given_model(arguments)
        task = task_of(model.task)
        task.check(model)
        given = given_options(arguments, task, "predict")
        _check(arguments, given)
        chosen = checked_format(arguments, task, model)
        if _can_answer(arguments, task, chosen):
            return Outcome({"n_examples": _answers(arguments, task, model, chosen, given)})
        with explained(arguments.file, task):
            source = task.read_for(model, arguments.file, labelled=False, format=chosen)
        began = time.perf_counter()
        # The JSON record on stdout already holds the predictions.
        inline = arguments.json and arguments.output == "-"
        record: dict[str, Any] = {
            "model": arguments.model,
            "input": "<stdin>" if arguments.file == "-" else arguments.file,
            "output": None if inline else arguments.output,
            "task": task.name,
            "n_examples": len(source),
            "n_positions": source.n_positions,
        }
        with logged_warnings(arguments.file):
            predictions = task.predict(
                model,
                source,
                k=arguments.k,
                marginals=arguments.marginals,
                n_jobs=arguments.jobs,
                **given,
            )
        if inline:
            record.update(predictions.record())
        else:
            predictions.write(arguments.output)
    record["seconds"] = time.perf_counter() - began
    return Outcome(record)


def _check(arguments: argparse.Namespace, given: dict[str, Any]) -> None:
    """Raise a UsageError for options that write different things."""
    for name in ("spans", "pair_marginals"):
        for other in ("marginals", "k"):
            if given.get(name) and getattr(arguments, other):
                raise UsageError(
                    f"--{name.replace('_', '-')} and --{other} write different things; leave one "
                    "of them out"
                )


def _can_answer(arguments: argparse.Namespace, task: Task[Any], chosen: Chosen) -> bool:
    """Return whether examples come from stdin one by one, and go to stdout as text."""
    whole = arguments.file != "-" or arguments.output != "-" or arguments.json
    plain = chosen.options.get("encoding") is None
    return not whole and plain and chosen.format(task.format).ends is not None


def _answers(
    arguments: argparse.Namespace,
    task: Task[Any],
    model: Model,
    chosen: Chosen,
    given: dict[str, Any],
) -> int:
    """Write a prediction for every example on stdin as it arrives, and return how many there were.

    Every example is answered when its end has been read, so that the command can be used as a
    filter in a pipe, or by a program that waits for each answer. What is written is what the whole
    file gives.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the command.
    task, model
        The task, and a model of it.
    chosen : Chosen
        The format of the text.
    given : dict
        The values of the options of the task.
    """
    from partwise.formats.source import universal, writing
    from partwise.formats.stream import pieces

    form = chosen.format(task.format)
    answer = _Answer(arguments, task, model, chosen, given)
    assert form.ends is not None
    for piece in pieces(form.ends):
        if piece.blank and form.verbatim:
            with writing("-") as stream:
                stream.write(universal(piece.blank.decode()))
        if not piece.data:
            continue
        answer.write(piece.data, piece.line)
        if form.ends == "blank line" and not answer.head:
            answer.remember(piece)
    if not answer.given:
        answer.write(b"")
    if answer.unknown and not answer.known:
        _log.warning("<stdin>: %s", answer.unknown[-1])
    return answer.total


class _Answer:
    """Predicts and writes, piece by piece.

    Attributes
    ----------
    head
        The first example, which is read again before every other piece: it may say how the file is
        laid out.
    lines
        Its number of lines.
    total
        The number of examples so far.
    unknown, known
        What was warned about pieces of which the model knows nothing, as it may know nothing of a
        short sentence; and whether there was another piece.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        task: Task[Any],
        model: Model,
        chosen: Chosen,
        given: dict[str, Any],
    ) -> None:
        self.chosen = chosen
        self.arguments, self.task, self.model, self.options = arguments, task, model, given
        self.head = b""
        self.lines = self.skipped = self.total = 0
        self.given = self.known = False
        self.unknown: list[str] = []

    def remember(self, piece: Piece) -> None:
        """Keep the first example."""
        from partwise.formats.stream import line_count

        self.head, self.skipped = piece.data, self.total
        self.lines = line_count(piece.data)

    def write(self, data: bytes, before: int = 0) -> None:
        """Predict the labels of some text, which follows lines on stdin, and write them."""
        from partwise.formats.source import fed

        arguments, task = self.arguments, self.task
        lines = self.lines
        with fed(self.head + data, head=lines, moved=before - lines):
            source = task.read_for(self.model, "-", labelled=False, format=self.chosen)
        n = len(source)
        if data and n == self.skipped:
            return
        if self.skipped:
            source = source.take(range(self.skipped, n))
        with self._counted():
            predictions = task.predict(
                self.model,
                source,
                k=arguments.k,
                marginals=arguments.marginals,
                n_jobs=arguments.jobs,
                **self.options,
            )
        (predictions.write_more if self.given else predictions.write)("-")
        self.given = True
        self.total += n - self.skipped

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Note whether the model knows nothing of a piece; other warnings are issued again."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnknownFeaturesWarning)
            yield
        others = [one for one in caught if not issubclass(one.category, UnknownFeaturesWarning)]
        self.known |= len(others) == len(caught)
        self.unknown += [str(one.message) for one in caught if one not in others][:1]
        for one in others:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
