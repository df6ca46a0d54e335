"""The task "segment": labelled segments of tokens, from column files with tags."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError, Place
from ...formats.options import Option
from ..labels import FIXED, known_label
from ..predictions import Predictions
from ..spans import SPANS, THRESHOLD, SpanTable, check_spans
from .column_task import (
    DIALECT,
    SCHEME,
    SPELLING,
    TEMPLATE,
    ColumnTask,
    RankedTags,
    TaggedColumns,
    check_templates,
    known_sentences,
    read_inputs,
)
from .trainers import SegmentTrainer

if TYPE_CHECKING:
    from ...formats.registry import Chosen
    from ...models.model import Model
    from .column_file import ColumnFile

__all__ = ["SegmentTask"]


class SegmentTask(ColumnTask):
    """Segment taggers."""

    name = "segment"
    trainer = "partwise.tasks.sequences.trainers:SegmentTrainer"
    declares = SegmentTrainer
    features = "segments"
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
        "and ended by a blank line; with --spans, a table of segments as --task tag writes it"
    )
    comparison = "tasks.sequences.comparison:compare_segments"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (SPELLING, TEMPLATE, DIALECT),
        "predict": (FIXED, SPANS, THRESHOLD),
        "evaluate": (SCHEME,),
    }

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        if verb == "train":
            check_templates(given)
        if verb == "predict":
            check_spans(given)

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> ColumnFile:
        from .segment_features import features_of, scheme_of

        features = features_of(model)
        if features.segment_features == "function" or scheme_of(model) is None:
            raise DataError(
                "the model was trained in Python, with a function for features of segments or "
                "without tags, so files cannot be given to it; use it from Python, with "
                "partwise.load_model"
            )
        return read_inputs(self, model, features.positions, path, labelled, format)

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Any:
        from .given_labels import given_segments

        self.refuse_others(more, "lengths")
        return given_segments(model, X, y, **more)

    def predict(
        self,
        model: Model,
        source: ColumnFile,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
        fixed: str | None = None,
        spans: bool = False,
        threshold: float | None = None,
    ) -> Predictions:
        from .segment_features import features_of, segment_spans

        known = _known_segments(model, source, fixed)
        if spans:
            found_spans = segment_spans(model, source, threshold, known, n_jobs)
            return SpanTable(found_spans, source.words())
        if k:
            ranked = model.candidates(
                source, k, probabilities=marginals, fixed=known, n_jobs=n_jobs
            )
            return RankedTags(source.columns, ranked, marginals)
        features = features_of(model)
        tags: list[list[str]] = []
        found: dict[str, list[Any]] = {"segments": []}
        if marginals:
            found |= {"probabilities": [], "marginals": []}
        for inputs in model.inputs(source, fixed=known):
            how: Any = {"own_constraints": inputs.constraints, "n_jobs": n_jobs}
            labels = model.predict(inputs.rows, inputs.shapes, **how)
            for label, length in zip(labels, inputs.examples, strict=True):
                tags.append(features.named(model, label, length))
                found["segments"].append(features.segments(model, label))
            if not marginals:
                continue
            counts = model.marginals(inputs.rows, inputs.shapes, **how)
            for label, length, mu in zip(labels, inputs.examples, counts, strict=True):
                start, end, number = label.T
                table = features.segment_table(model, mu, length)
                found["probabilities"].append(table[start, end - start - 1, number].tolist())
                found["marginals"].append(features.table(model, mu, length).tolist())
        beside = _by_token(found) if marginals else None
        return TaggedColumns(source.columns, tags, list(map(str, model.labels)), beside, found)


def _by_token(found: Mapping[str, list[Any]]) -> list[list[float]]:
    """Return for each token of each sentence the probability of its segment."""
    return [
        [p for (start, end, _), p in zip(segments, chosen, strict=True) for _ in range(start, end)]
        for segments, chosen in zip(found["segments"], found["probabilities"], strict=True)
    ]


def _known_segments(
    model: Model, source: ColumnFile, mark: str | None
) -> list[list[tuple[int, int, Any]]] | None:
    """Return the known segments of every sentence: those that runs of known tags spell.

    Parameters
    ----------
    model : Model
        A model of the task "segment".
    source : ColumnFile
        The file.
    mark : str or None
        What stands for a label that is not known; None if no labels are known.
    """
    if mark is None:
        return None
    from .segment_features import scheme_of
    from .segment_tags import segments_of

    scheme, outside = scheme_of(model), model.meta.get("outside")
    assert scheme is not None
    names = {str(label): label for label in model.labels}
    structure: Any = model.structure
    longest = dict(zip(model.labels, structure.label_lengths, strict=True))
    found = []
    for s, tags in enumerate(known_sentences(source)):
        mine: list[tuple[int, int, Any]] = []
        known = [tag != mark for tag in tags]
        for is_known, run in groupby(range(len(tags)), known.__getitem__):
            places = list(run)
            if not is_known:
                continue
            first = places[0]
            named = [tags[t] for t in places]
            where = partial(_place, source, s, first)
            for start, end, label in segments_of(named, scheme, outside, where):
                place = source.place(s, first + start)
                name = known_label(names, str(label), place, mark)
                if end - start > longest[name]:
                    raise DataError(
                        f"a known segment of {end - start} tokens, where the model has "
                        f"none of {label!r} longer than {longest[name]}; shorten it, or write "
                        f"{mark!r} where tags are to be predicted",
                        place=place,
                    )
                mine.append((first + start, first + end, name))
        found.append(mine)
    return found


def _place(source: ColumnFile, sentence: int, first: int, token: int) -> Place:
    return source.place(sentence, first + token)
