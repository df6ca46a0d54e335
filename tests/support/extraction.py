"""The features of the tokens of columns, as rows and names."""

from __future__ import annotations

from partwise.formats.columns import Columns
from partwise.models.vocabulary import Vocabulary
from partwise.problem.rows import Rows
from partwise.tasks.sequences.extraction import ColumnTemplates, look_up, number_features


def extract_fit(columns: Columns, templates: ColumnTemplates) -> tuple[Rows, Vocabulary]:
    """Apply templates, and number the features that occur."""
    templates.check(columns)
    return number_features(columns, templates.positions)


def extract(columns: Columns, templates: ColumnTemplates, vocabulary: Vocabulary) -> Rows:
    """Apply templates, and look up the features; those without a number are dropped."""
    templates.check(columns)
    return look_up(columns, templates.positions, vocabulary)
