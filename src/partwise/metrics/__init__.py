"""Metrics of predictions, as functions and as scorers for scikit-learn.

Functions of the right and the predicted labels return one number (`span_f1_score`); others return
all counts (`span_scores`, whose ``table()`` is a report by type). `get_scorer` returns a metric in
the form that the parameter `scoring` takes. The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .attachment import (
        AttachmentScores,
        attachment_scores,
        las_score,
        scored_words,
        uas_score,
    )
    from .bracketing import (
        BracketScores,
        bracket_f1_score,
        bracket_precision_score,
        bracket_recall_score,
        bracket_scores,
    )
    from .counts import Score, SpanScores
    from .labels import Span, accuracy, sequence_accuracy, span_scores, spans
    from .scorers import Scorer, ScorerGroup, get_scorer, get_scorers, scorer_names
    from .sequence_scores import (
        sentence_accuracy_score,
        span_f1_score,
        span_precision_score,
        span_recall_score,
        token_accuracy_score,
        token_f1_score,
        token_precision_score,
        token_recall_score,
    )

__all__ = [
    "AttachmentScores",
    "BracketScores",
    "Score",
    "Scorer",
    "ScorerGroup",
    "Span",
    "SpanScores",
    "accuracy",
    "attachment_scores",
    "bracket_f1_score",
    "bracket_precision_score",
    "bracket_recall_score",
    "bracket_scores",
    "get_scorer",
    "get_scorers",
    "las_score",
    "scored_words",
    "scorer_names",
    "sentence_accuracy_score",
    "sequence_accuracy",
    "span_f1_score",
    "span_precision_score",
    "span_recall_score",
    "span_scores",
    "spans",
    "token_accuracy_score",
    "token_f1_score",
    "token_precision_score",
    "token_recall_score",
    "uas_score",
]

_HOMES = {
    **{name: ".sequence_scores" for name in __all__ if name.endswith("_score")},
    **{name: ".bracketing" for name in __all__ if name.lower().startswith("bracket")},
    **dict.fromkeys(
        ("AttachmentScores", "attachment_scores", "las_score", "scored_words", "uas_score"),
        ".attachment",
    ),
    **dict.fromkeys(("Score", "SpanScores"), ".counts"),
    **dict.fromkeys(("Span", "accuracy", "sequence_accuracy", "span_scores", "spans"), ".labels"),
    **dict.fromkeys(
        ("Scorer", "ScorerGroup", "get_scorer", "get_scorers", "scorer_names"), ".scorers"
    ),
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
