"""Reading, writing and scoring of column files, for tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...errors import MismatchError
from ...formats.options import Option
from ...formats.tag_schemes import SCHEME_ALIASES
from ...metrics.labels import SCHEMES
from ..base import Task, no_labels
from ..labels import no_known_labels
from ..predictions import Predictions, Ranked, ranking_record

if TYPE_CHECKING:
    from ...formats.columns import Columns
    from ...formats.registry import Chosen
    from ...models.model import Candidate, Model
    from .column_file import ColumnFile
    from .features import PositionFeatures

__all__ = [
    "DIALECT",
    "SCHEME",
    "SPELLING",
    "TEMPLATE",
    "ColumnTask",
    "RankedTags",
    "TaggedColumns",
    "check_templates",
    "known_sentences",
    "read_inputs",
]

_log = logging.getLogger(__name__)

#: The programs whose template files can be read.
DIALECTS: Final = ("crfpp", "wapiti")

SPELLING: Final = Option(
    "--spelling",
    "look into words: affixes, shape, case (default: only if there is one column)",
    kind="choice",
)
TEMPLATE: Final = Option(
    "--template",
    "make features by this template file of CRF++ or Wapiti (default: by built-in templates)",
    metavar="FILE",
)
DIALECT: Final = Option(
    "--template-dialect",
    "the program that the template file is for (default: wapiti if the file has what only Wapiti "
    "knows, otherwise crfpp)",
    choices=DIALECTS,
)
SCHEME: Final = Option(
    "--scheme",
    "how to read spans (default: conlleval)",
    choices=SCHEMES,
    aliases=SCHEME_ALIASES,
)


class ColumnTask(Task["ColumnFile"]):
    """Base class of tasks that read column files."""

    format = "columns"

    def resemblance(self, lines: Sequence[str]) -> int:
        widths = {len(line.split("\t") if "\t" in lines[0] else line.split()) for line in lines}
        return int(len(widths) == 1 and widths.pop() > 1)

    def read(
        self, path: str, given: Mapping[str, Any], like: ColumnFile | None = None
    ) -> ColumnFile:
        from ...formats.registry import Chosen
        from .column_file import ColumnFile

        templates = None if like is None else like.templates
        if like is None and given["template"] is not None:
            from .template_file import Templates

            templates = Templates.read(given["template"], given["template_dialect"])
        n_columns = None if like is None else len(like.columns.fields) + 1
        chosen = Chosen.of(given["format"])
        columns = self.reader(chosen)(path, n_columns=n_columns)
        if templates is not None:
            templates.check(columns)
        return ColumnFile(
            columns,
            given["spelling"],
            templates,
            given.get("transition_features", False),
            chosen.record(),
        )

    def read_part(
        self, path: str, given: Mapping[str, Any], first: ColumnFile | None
    ) -> ColumnFile:
        return ColumnTask.read(self, path, given, first)


def check_templates(given: Mapping[str, Any]) -> None:
    """Raise a MismatchError if the options about templates do not go together."""
    if given["template"] is None and given["template_dialect"] is not None:
        raise MismatchError("--template-dialect is about a template file; give --template too")
    if given["template"] is not None and given.get("transition_features"):
        raise MismatchError(
            "--transition-features belongs to the built-in templates, which --template replaces; "
            "give features of transitions by lines with B (or * for Wapiti) in the template file"
        )
    if given["template"] is not None and given["spelling"] is not None:
        raise MismatchError(
            "--spelling belongs to the built-in templates, which --template replaces; give only "
            "one of them"
        )


def read_inputs(
    task: Task[Any],
    model: Model,
    features: PositionFeatures,
    path: str,
    labelled: bool,
    format: Chosen | str | None,
) -> ColumnFile:
    """Read a file of tokens for a model, as `Task.read_for` does.

    Without `format`, the file is read in the format that the model was trained with.
    """
    from ...formats.registry import Chosen
    from .column_file import ColumnFile, not_columns

    chosen = Chosen.of(format).after(model.meta.get("format"))
    by_name = features.templates is None
    if by_name and (features.vocabulary is None or not chosen.format(task.format).by_name):
        raise not_columns()
    columns = task.reader(chosen)(path, inputs=0 if by_name else features.n_inputs)
    if columns.labels is None:
        split = "" if by_name else _other_separator(task, chosen, columns)
        if labelled:
            hint = f", or {split}" if split else ""
            where = "in the last column of a column file"
            raise no_labels(columns.path, len(columns.lengths), where, hint)
        # What comes on stdin is read again and again, and a part of it may look like anything.
        if split and columns.path != "<stdin>":
            _log.warning("%s: every line is read as one token; %s", columns.path, split)
    return ColumnFile(columns)


def known_sentences(source: ColumnFile) -> list[list[str]]:
    """Return the tags that ``--fixed`` keeps; raise a DataError if a file has none."""
    if source.columns.labels is None:
        if not len(source.columns):
            return []
        raise no_known_labels(source.path, "in the last column")
    return source.sentences()


def _other_separator(task: Task[Any], chosen: Chosen, columns: Columns) -> str:
    """Return advice to name a separator, if the only column of a file looks like several."""
    from ...formats.column_choice import separator_hint

    if (chosen.name or task.format) != "columns" or len(columns.fields) != 1:
        return ""
    return separator_hint(columns.fields[0])


@dataclass(frozen=True, eq=False)
class TaggedColumns(Predictions):
    """The best label of every token, optionally with its probability.

    Attributes
    ----------
    source : Columns
        The file.
    tags : list of list of str
        The labels of every sentence.
    labels : collection of str
        The labels that the model knows.
    probabilities : list of list of float or None
        The probability that is written after each label.
    more : mapping
        Further entries of the record.
    """

    source: Columns
    tags: list[list[str]]
    labels: Collection[str]
    probabilities: list[list[float]] | None
    more: Mapping[str, Any]

    def write(self, path: str) -> None:
        flat = [tag for tags in self.tags for tag in tags]
        beside = self.probabilities
        chances = None if beside is None else [p for of in beside for p in of]
        _writer(self.source)(path, self.source, labels=flat, probabilities=chances)

    def record(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "predictions": self.tags, **self.more}


@dataclass(frozen=True, eq=False)
class RankedTags(Predictions):
    """The k best labellings of every sentence, one block of the file each.

    Attributes
    ----------
    source : Columns
        The file.
    candidates : list of list of Candidate
        The labellings of each sentence, best first.
    probabilities : bool
        Whether to write their probabilities.
    """

    source: Columns
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from ...formats.columns import write_tokens

        write = _writer(self.source)
        if write is not write_tokens:
            write(path, *_ranked(self.source, self.candidates, self.probabilities))
            return
        separator, tokens = self.source.separator, list(_token_lines(self.source))

        def lines(i: int, tags: list[str]) -> list[str]:
            return [f"{t}{separator}{tag}" for t, tag in zip(tokens[i], tags, strict=True)] + [""]

        Ranked(self.candidates, self.probabilities, "labels", lines).write(path)

    def record(self) -> dict[str, Any]:
        return ranking_record(self.candidates, "labels")


def _writer(columns: Columns) -> Callable[..., None]:
    """Return the writer of the format that tokens were read from; column files by default."""
    from ...formats.columns import write_tokens
    from ...formats.registry import FORMATS

    if columns.layout is None:
        return write_tokens
    return FORMATS[columns.layout.format].write or write_tokens


def _ranked(
    columns: Columns, candidates: list[list[Candidate]], probabilities: bool
) -> tuple[Columns, list[str], None, list[dict[str, Any]]]:
    """Return each sentence once per candidate, with its labels and a note; see `write_tokens`."""
    which = [s for s, some in enumerate(candidates) for _ in some]
    every = [(k, one) for some in candidates for k, one in enumerate(some, 1)]
    notes = [
        {"k": k, "score": one.score, **({"probability": one.probability} if probabilities else {})}
        for k, one in every
    ]
    return columns.take(which), [tag for _, one in every for tag in one.label], None, notes


def _token_lines(columns: Columns) -> Iterator[list[str]]:
    """Return the lines of every sentence as they were read."""
    if not len(columns):
        return iter(())
    if columns.layout is not None and columns.layout.sentences[0][1] is not None:
        return (lines for _, lines in columns.layout.sentences)
    table = [*columns.fields, *([columns.labels] if columns.labels is not None else [])]
    lines = [columns.separator.join(row) for row in zip(*table, strict=True)]
    return iter(columns.split(lines))
