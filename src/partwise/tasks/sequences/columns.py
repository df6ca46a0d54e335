"""Column files with a label a token: how tasks read them, make features of them and score them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partwise.errors import DataError
from partwise.metrics.labels import (
    SpanScores,
    accuracy,
    looks_like_spans,
    sequence_accuracy,
    span_scores,
)

from ..base import Predictions, no_labels

if TYPE_CHECKING:
    from partwise.formats.columns import Columns
    from partwise.problem.rows import Rows
    from partwise.tasks.sequences.features import PositionEncoder
    from partwise.tasks.tally import Tally
    from partwise.tasks.templates import TemplateSet

    from ..candidates import Candidate

__all__ = [
    "RankedTags",
    "choose_templates",
    "gold_tags",
    "input_rows",
    "read_inputs",
    "tag_scores",
]


def read_inputs(encoder: PositionEncoder, path: str, labelled: bool) -> Columns:
    """Read a column file for a model, as `Task.read_for` does.

    Parameters
    ----------
    encoder : PositionEncoder
        The model's features of positions.
    path, labelled
        As `Task.read_for` has them.
    """
    from partwise.formats.columns import read_columns

    if encoder.templates is None:
        raise DataError(
            "the model was not trained on column files, so files cannot be given to it; use it "
            "from Python, with partwise.load_model"
        )
    columns = read_columns(path, inputs=encoder.n_inputs)
    if labelled and columns.labels is None:
        raise no_labels(columns.path, len(columns.lengths), "in the last column")
    return columns


def input_rows(encoder: PositionEncoder, source: Columns, tally: Tally) -> Rows:
    """Fill the templates of a model in, and count what they give and what of it is known."""
    from partwise.tasks.templates import extract

    assert encoder.templates is not None
    assert encoder.vocabulary is not None
    return extract(source, encoder.templates, encoder.vocabulary, tally)


def choose_templates(
    arguments: argparse.Namespace, source: Columns, first: PositionEncoder | None
) -> TemplateSet:
    """Choose the templates to train with: those of the model of ``--resume``, or the usual ones.

    Parameters
    ----------
    arguments : argparse.Namespace
        Those of ``train``, with ``spelling`` and ``resume``.
    source : Columns
        What is trained on.
    first : PositionEncoder or None
        That of the model of ``--resume``.
    """
    from partwise.tasks.templates import template_for

    n_inputs = len(source.fields)
    templates = None
    if first is not None:
        if first.n_inputs != n_inputs:
            raise DataError(
                f"{source.path}: {n_inputs} input columns where {arguments.resume} was trained "
                f"with {first.n_inputs}; give the columns it was trained with, or train without "
                "--resume"
            )
        templates = first.templates
    if templates is None or arguments.spelling is not None:
        spelling = n_inputs == 1 if arguments.spelling is None else arguments.spelling
        templates = template_for(n_inputs, spelling)
    return templates


def gold_tags(source: Columns) -> list[list[str]]:
    """Give the labels of every sentence of a file that has labels."""
    assert source.labels is not None
    return source.split(source.labels)


def tag_scores(
    source: Columns, predicted: list[list[str]], known: Iterable[str], scheme: str | None
) -> tuple[dict[str, Any], str]:
    """Count right labels, right sentences, and right spans where labels look like spans.

    Parameters
    ----------
    source : Columns
        A file with labels.
    predicted : list of lists of str
        The labels of each of its sentences.
    known : iterable of str
        The labels that may be predicted.
    scheme : str or None
        How to read spans; None: as conlleval does, if labels look like spans.

    Returns
    -------
    metrics, text
        As `Task.score` gives them.
    """
    from ..labels import by_type, label_scores, label_table, numbers

    gold = gold_tags(source)
    metrics: dict[str, Any] = {
        "accuracy": accuracy(gold, predicted),
        "sequence_accuracy": sequence_accuracy(gold, predicted),
    }
    lines = [
        f"token accuracy     {metrics['accuracy']:.4%} of {len(source):,} tokens",
        f"sequence accuracy  {metrics['sequence_accuracy']:.4%} of {len(gold):,} sequences",
    ]
    assert source.labels is not None
    if scheme or looks_like_spans({*source.labels, *known}):
        scheme = scheme or "conlleval"
        spans = _spans(source.path, gold, predicted, scheme)
        metrics.update(numbers(spans.overall), scheme=scheme, by_type=by_type(spans))
        lines.append(f"spans, by {scheme} rules, in per cent:\n{spans.table()}")
    else:
        labels = label_scores(gold, predicted)
        metrics["by_label"] = by_type(labels)
        lines += label_table(labels)
    return metrics, "\n".join(lines)


def _spans(path: str, gold: list[list[str]], predicted: list[list[str]], scheme: str) -> SpanScores:
    try:
        return span_scores(gold, predicted, scheme)
    except DataError as error:
        raise DataError(f"{path}: with --scheme {scheme}: {error}") from None


@dataclass(frozen=True, eq=False)
class RankedTags(Predictions):
    """The k best labellings of every sentence, each a block of the file.

    Attributes
    ----------
    source
        The file.
    tags
        For each sentence and each of its candidates, the labels of the tokens.
    candidates
        Their scores and probabilities.
    probabilities
        Whether probabilities were asked for.
    """

    source: Columns
    tags: list[list[list[str]]]
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        """Write a block a candidate, each below a line with its score."""
        from partwise.formats.source import writing

        from ..candidates import heading

        separator = self.source.separator
        found = zip(_token_lines(self.source), self.tags, self.candidates, strict=True)
        with writing(path) as stream:
            for tokens, tags, some in found:
                for rank, (labels, one) in enumerate(zip(tags, some, strict=True), 1):
                    stream.write(heading(rank, one, self.probabilities) + "\n")
                    lines = zip(tokens, labels, strict=True)
                    stream.writelines(f"{token}{separator}{label}\n" for token, label in lines)
                    stream.write("\n")

    def record(self) -> dict[str, Any]:
        """Give labels, score and probability of every candidate."""
        return {
            "candidates": [
                [
                    {"labels": labels, "score": one.score, "probability": one.probability}
                    for labels, one in zip(tags, some, strict=True)
                ]
                for tags, some in zip(self.tags, self.candidates, strict=True)
            ]
        }


def _token_lines(columns: Columns) -> Iterator[list[str]]:
    """Give the lines of every sentence as they were read."""
    if not len(columns):
        return iter(())
    table = [*columns.fields, *([columns.labels] if columns.labels is not None else [])]
    lines = [columns.separator.join(row) for row in zip(*table, strict=True)]
    return iter(columns.split(lines))
