"""``--task segment``: labelled segments of tokens, from column files with tags."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.errors import DataError
from partwise.tasks.sequences.segment_tags import (
    TAG_SCHEMES,
    guess_scheme,
    longest_segment,
    segments_of,
)

from ..base import Task
from ..options import CLASS_WEIGHT, MIN_COUNT, Option
from ..predictions import Predictions
from .columns import SCHEME, SPELLING, RankedTags, looks_like_columns, read_inputs, tag_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partwise.formats.columns import Columns
    from partwise.models.model import Model
    from partwise.problem.rows import Rows
    from partwise.tasks.sequences.segment_labeller import SegmentLabeller
    from partwise.tasks.sequences.segment_tags import Segment as Stretch
    from partwise.training.loop import Callback

__all__ = ["Segment"]

_OUTSIDE = "O"


class Segment(Task["Columns"]):
    """Segment taggers."""

    name = "segment"
    estimator = "SegmentTagger"
    summary = "labelled segments of tokens"
    example = "train.txt --model names.model --segment-features text --max-length 6"
    reads = (
        "reads column files as --task tag does, with tags such as B-NP, I-NP and O that spell "
        "segments in the last column"
    )
    writes = (
        "writes the columns of the file and the predicted tag last; with --marginals, after it the "
        "probability of the whole segment; with --k N, for each sentence up to N blocks, best "
        'first, each headed by a line "# k=1 score=..." (and "probability=..." with --marginals) '
        "and ended by a blank line"
    )
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            CLASS_WEIGHT,
            SPELLING,
            Option(
                "--max-length",
                "tokens of a segment at most (default: as the longest in the file)",
                kind="whole number",
                metavar="N",
            ),
            Option(
                "--segment-features",
                "features of whole segments: words, shape, what is before and after, and "
                "likewise of further columns (default: none)",
                default="none",
                choices=("none", "text"),
            ),
            Option(
                "--tags",
                "how tags spell segments (default: IOB2, IOBES or BILOU, by their letters)",
                choices=TAG_SCHEMES,
            ),
            Option(
                "--start-end",
                "weights for the labels of first and last segments",
                default=False,
                kind="switch",
            ),
        ),
        "evaluate": (SCHEME,),
    }

    def resemblance(self, lines: Sequence[str]) -> int:
        """See whether there are columns; a file to predict has no tags to look for."""
        return looks_like_columns(lines)

    def read(
        self, path: str, arguments: argparse.Namespace, like: Columns | None = None
    ) -> Columns:
        """Read a column file whose last column is the tag."""
        from partwise.formats.columns import read_columns

        return read_columns(path, n_columns=None if like is None else len(like.fields) + 1)

    def read_for(self, model: Model, path: str, labelled: bool) -> Columns:
        """Read a column file with the columns that the model takes."""
        return read_inputs(_labeller(model).encoder.positions, path, labelled)

    def sizes(self, source: Columns) -> tuple[int, int]:
        """Count sentences and tokens."""
        return len(source.lengths), len(source)

    def fit(
        self,
        arguments: argparse.Namespace,
        source: Columns,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        """Train a segment tagger."""
        from partwise.tasks.sequences.segment_fit import fit_segmenter
        from partwise.tasks.templates import extract_fit

        first = None if initial is None else _labeller(initial).encoder.positions
        templates = choose_templates(arguments, source, first)
        scheme, gold = _segments(source, arguments.tags)
        longest_segment(gold, arguments.max_length, source.place)
        rows, vocabulary = extract_fit(source, templates)
        model, fit = fit_segmenter(
            rows,
            source.lengths,
            gold,
            settings_of(
                arguments,
                min_count=arguments.min_count,
                class_weight=arguments.class_weight,
                start=arguments.start_end,
                end=arguments.start_end,
            ),
            max_length=arguments.max_length,
            outside=_OUTSIDE,
            scheme=scheme,
            segment_features=arguments.segment_features,
            tokens=_tokens(source),
            vocabulary=vocabulary,
            templates=templates,
            n_inputs=len(source.fields),
            callbacks=callbacks,
            initial=initial,
        )
        return Trained(model, fit, len(source.lengths))

    def predict(self, model: Model, source: Columns, arguments: argparse.Namespace) -> Predictions:
        """Predict the segments of all sentences."""
        from ..candidates import find_candidates

        labeller = _labeller(model)
        features = _features(labeller, source)
        lengths, jobs = source.lengths, arguments.jobs
        if arguments.k:
            some = find_candidates(
                model, features, lengths, arguments.k,
                probabilities=arguments.marginals, n_jobs=jobs,
            )  # fmt: skip
            tags = [[labeller.spelled(one.label) for one in best] for best in some]
            return RankedTags(source, tags, some, arguments.marginals)
        found, marginals = [], None
        if len(source):
            found = model.predict(features, lengths, n_jobs=jobs)
        if arguments.marginals:
            marginals = model.marginals(features, lengths, n_jobs=jobs) if len(source) else []
        return _Segmented(source, labeller, found, marginals)

    def score(
        self, model: Model, source: Columns, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Count right tags, right sentences and right segments."""
        labeller = _labeller(model)
        found = model.predict(_features(labeller, source), source.lengths, n_jobs=arguments.jobs)
        predicted = [labeller.spelled(one) for one in found]
        return tag_scores(source, predicted, (), arguments.scheme or "conlleval")


@dataclass(frozen=True, eq=False)
class _Segmented(Predictions):
    source: Columns
    labeller: SegmentLabeller
    found: list[NDArray[np.int64]]
    marginals: list[NDArray[np.float64]] | None

    def write(self, path: str) -> None:
        from partwise.formats.columns import write_columns

        extra = [[tag for one in self.found for tag in self.labeller.spelled(one)]]
        if self.marginals is not None:
            extra.append(
                [
                    f"{p:.6f}"
                    for one, chosen in zip(self.found, self._probabilities(), strict=True)
                    for (start, end, _), p in zip(one.tolist(), chosen, strict=True)
                    for _ in range(start, end)
                ]
            )
        write_columns(path, self.source, *extra)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "labels": list(self.labeller.model.labels),
            "predictions": [self.labeller.spelled(one) for one in self.found],
            "segments": [self.labeller.named(one) for one in self.found],
        }
        if self.marginals is not None:
            found["probabilities"] = self._probabilities()
            found["marginals"] = [
                self.labeller.positions(mu, length).tolist()
                for mu, length in zip(self.marginals, self.source.lengths.tolist(), strict=True)
            ]
        return found

    def _probabilities(self) -> list[list[float]]:
        """Give the probability of each predicted segment."""
        chosen = []
        lengths = self.source.lengths.tolist()
        for one, mu, length in zip(self.found, self.marginals or [], lengths, strict=True):
            start, end, label = one.T
            chosen.append(
                self.labeller.segments(mu, length)[start, end - start - 1, label].tolist()
            )
        return chosen


def _labeller(model: Model) -> SegmentLabeller:
    """Make sure that a model can be used with files."""
    from partwise.tasks.sequences.segment_labeller import SegmentLabeller

    labeller = SegmentLabeller(model)
    if labeller.encoder.segment_features == "function" or labeller.scheme is None:
        raise DataError(
            "the model was trained in Python, with a function for features of segments or without "
            "tags, so files cannot be given to it; use it from Python, with partwise.load_model"
        )
    return labeller


def _features(labeller: SegmentLabeller, source: Columns) -> list[Rows]:
    from partwise.models.tally import Tally

    from ..labels import note_unknown_features

    tally = Tally()
    rows = input_rows(labeller.encoder.positions, source, tally)
    features = labeller.features(rows, source.lengths, _tokens(source))
    labeller.encoder.tally_segments(features[1], tally)
    note_unknown_features(source.path, tally)
    return features


def _tokens(source: Columns) -> list[list[list[str]]]:
    """Give the columns of every sentence."""
    if not len(source):
        return []
    columns = [source.split(field) for field in source.fields]
    return [list(sentence) for sentence in zip(*columns, strict=True)]


def _segments(source: Columns, scheme: str | None) -> tuple[str, list[list[Stretch]]]:
    gold = gold_tags(source)
    used = scheme or guess_scheme({tag for tags in gold for tag in tags})
    return used, [
        segments_of(tags, used, _OUTSIDE, partial(source.place, s)) for s, tags in enumerate(gold)
    ]
