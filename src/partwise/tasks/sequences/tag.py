"""The task "tag": one label per token, from column files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...formats.tag_schemes import TAG_SCHEMES
from ..base import Task
from ..options import CLASS_WEIGHT, MIN_COUNT, Option
from ..predictions import Predictions
from .columns import (
    SCHEME,
    SPELLING,
    RankedTags,
    TaggedColumns,
    looks_like_columns,
    read_inputs,
    read_training,
    tag_scores,
)

if TYPE_CHECKING:
    from ...formats.choice import Chosen
    from ...models.model import Model
    from .sources import ColumnFile

__all__ = ["PRESETS", "Tag"]

#: The constraints that the command line offers.
PRESETS: Final = ("BIO", *TAG_SCHEMES)


class Tag(Task["ColumnFile"]):
    """Sequence taggers."""

    name = "tag"
    trainer = "partwise.tasks.sequences.trainers:TaggerTrainer"
    features = "positions"
    format = "columns"
    summary = "one label per token"
    example = "train.txt --model chunks.model --dev dev.txt"
    reads = (
        "reads column files: one token per line, columns separated by blanks or by tabs, the label "
        "last, a blank line after each sentence"
    )
    writes = (
        "writes the columns of the file and the predicted label last; with --marginals, after it "
        "its probability; with --k N, for each sentence up to N blocks, best first, each headed "
        'by a line "# k=1 score=..." (and "probability=..." with --marginals) and ended by a '
        "blank line"
    )
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            CLASS_WEIGHT,
            SPELLING,
            Option("--constraints", "never predict what breaks this scheme", choices=PRESETS),
            Option(
                "--order",
                "labels before it that a label depends on (default: 1)",
                default=1,
                kind="whole number",
                choices=(1, 2),
            ),
            Option(
                "--start-end", "weights for first and last labels", default=False, kind="switch"
            ),
            Option(
                "--transition-weights",
                "for pairs of neighbouring labels, instead of --weights",
                choices=("all", "observed"),
            ),
            Option(
                "--min-frequency",
                "keep a weight if the values of its feature with its label add up to X; 0 for "
                "pairs that were not seen (default: no limit)",
                kind="number",
                metavar="X",
            ),
        ),
        "evaluate": (SCHEME,),
    }

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        ends = given["start_end"]
        return {**given, "start": ends, "end": ends}

    def resemblance(self, lines: Sequence[str]) -> int:
        return looks_like_columns(lines)

    def read(
        self, path: str, given: Mapping[str, Any], like: ColumnFile | None = None
    ) -> ColumnFile:
        return read_training(self, path, given, like)

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> ColumnFile:
        from .features import PositionFeatures

        assert isinstance(model.features, PositionFeatures)
        return read_inputs(self, model, model.features, path, labelled, format)

    def predict(
        self,
        model: Model,
        source: ColumnFile,
        *,
        k: int | None,
        marginals: bool,
        n_jobs: int | None,
    ) -> Predictions:
        from ..labels import spelled

        if k:
            found = model.candidates(source, k, probabilities=marginals, n_jobs=n_jobs)
            return RankedTags(source.columns, found, marginals)
        names = spelled(model.labels)
        tokens = model.features.read(model.structure, source)
        tags = model.predict(tokens, n_jobs=n_jobs)
        if not marginals:
            return TaggedColumns(source.columns, tags, names, None, {})
        tables = model.marginals(tokens, n_jobs=n_jobs)
        index = model.label_index
        chosen = [
            [float(p[t, index[label]]) for t, label in enumerate(labels)]
            for p, labels in zip(tables, tags, strict=True)
        ]
        more = {"marginals": [p.tolist() for p in tables]}
        return TaggedColumns(source.columns, tags, names, chosen, more)

    def score(
        self, model: Model, source: ColumnFile, given: Mapping[str, Any], n_jobs: int | None = 1
    ) -> tuple[dict[str, Any], str]:
        from ..labels import note_unknown, spelled

        names = spelled(model.labels)
        predicted = [spelled(labels) for labels in model.predict(source, n_jobs=n_jobs)]
        note_unknown(source.path, source.sentences(), names)
        return tag_scores(source, predicted, names, given["scheme"])
