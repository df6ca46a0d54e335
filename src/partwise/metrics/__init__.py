"""Metrics of predictions, as functions and as scorers for scikit-learn.

Functions of the right and the predicted labels return one number (`span_f1_score`); others return
all counts (`span_scores`, whose ``table()`` is a report by type). `get_scorer` returns a metric in
the form that the parameter `scoring` takes. The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .attachment import *
    from .bracketing import *
    from .counts import *
    from .labels import *
    from .scorers import *
    from .sequence_scores import *
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".attachment": "AttachmentScores attachment_scores las_score scored_words uas_score",
            ".bracketing": (
                "BracketScores bracket_f1_score bracket_precision_score bracket_recall_score "
                "bracket_scores"
            ),
            ".counts": "Score SpanScores",
            ".labels": "Span accuracy sequence_accuracy span_scores spans",
            ".scorers": "Scorer ScorerGroup get_scorer get_scorers scorer_names",
            ".sequence_scores": (
                "sentence_accuracy_score span_f1_score span_precision_score span_recall_score "
                "token_accuracy_score token_f1_score token_precision_score token_recall_score"
            ),
        },
    )
