"""The task "tag": one label per token, from column files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import MismatchError
from ...formats.options import Option
from ..fixed import FIXED
from ..kernels.parameters import KernelTask
from ..labels import missing_of
from ..predictions import Predictions
from ..spans import SPANS, THRESHOLD, SpanTable, check_spans
from .columns import (
    DIALECT,
    SCHEME,
    SPELLING,
    TEMPLATE,
    ColumnTask,
    RankedTags,
    TaggedColumns,
    check_templates,
    read_inputs,
)
from .parameters import TaggerParameters

if TYPE_CHECKING:
    from ...formats.registry import Chosen
    from ...models.model import Model
    from .column_file import ColumnFile

__all__ = ["Tag"]

PAIR_MARGINALS: Final = Option(
    "--pair-marginals",
    "write the probabilities of pairs of neighbouring labels instead, as one JSON object per "
    "sentence",
    default=False,
    kind="switch",
)


class Tag(ColumnTask, KernelTask["ColumnFile"]):
    """Sequence taggers."""

    name = "tag"
    trainer = "partwise.tasks.sequences.trainers:TaggerTrainer"
    kernel_trainer = "partwise.tasks.sequences.kernel_estimators:KernelTagger"
    without_kernel = ("transition_weights", "min_frequency")
    declares = TaggerParameters
    features = "positions"
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
        "blank line; with --spans, a table cut by tabs: sentence, first token and the one after "
        "the last, counted from 0, type, probability and text of every span"
    )
    longest = 2_000
    comparison = "tasks.sequences.comparison:compare_tags"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            SPELLING,
            TEMPLATE,
            DIALECT,
            Option(
                "--transition-features",
                "pairs of neighbouring labels depend on the features of the token too: one weight "
                "per feature and pair, so --weights observed is advisable",
                default=False,
                kind="switch",
            ),
        ),
        "predict": (FIXED, SPANS, THRESHOLD, SCHEME, PAIR_MARGINALS),
        "evaluate": (SCHEME,),
    }

    def check_given(self, verb: str, given: Mapping[str, Any]) -> None:
        super().check_given(verb, given)
        if verb == "train":
            check_templates(given)
            for option in ("transition_features", "untied"):
                if given[option] and given["order"] == 2:
                    flag = "--" + option.replace("_", "-")
                    raise MismatchError(f"{flag} needs --order 1; leave one of them out")
        if verb == "predict":
            check_spans(given, "--pair-marginals")
            if given["scheme"] is not None and not given["spans"]:
                raise MismatchError("--scheme belongs to --spans here; leave it out")

    def read(
        self, path: str, given: Mapping[str, Any], like: ColumnFile | None = None
    ) -> ColumnFile:
        from .odd_tags import SCORED, note_broken_tags, note_odd_tags

        source = super().read(path, given, like)
        trained = f"the model gets labels that spell no spans, and {SCORED}"
        odd = note_odd_tags(source.columns, given["missing"], trained if like is None else SCORED)
        # With constraints, such tags are refused.
        if like is None and not odd and given["constraints"] is None:
            note_broken_tags(source.columns, given["missing"])
        return source

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> ColumnFile:
        from ..labels import spelled
        from .features import PositionFeatures
        from .odd_tags import SCORED, note_odd_labels, note_odd_tags

        assert isinstance(model.features, PositionFeatures)
        source = read_inputs(self, model, model.features, path, labelled, format)
        if labelled:
            missing = missing_of(model)
            if not note_odd_tags(source.columns, missing, f"without --scheme {SCORED}"):
                note_odd_labels(source.path, spelled(model.labels), missing)
        return source

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Any:
        from .given import given_tags

        self.refuse_others(more, "lengths", "X_transitions")
        return given_tags(model, X, y, **more)

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
        scheme: str | None = None,
        pair_marginals: bool = False,
    ) -> Predictions:
        from ..labels import spelled
        from .known_tags import known_tags

        known = known_tags(model, source, fixed)
        if spans:
            return _spans(model, source, threshold, scheme or "conlleval", known)
        if pair_marginals:
            return _pairs(model, source, known)
        if k:
            found = model.candidates(source, k, probabilities=marginals, fixed=known, n_jobs=n_jobs)
            return RankedTags(source.columns, found, marginals)
        names = spelled(model.labels)
        tokens = model.features.read(model.structure, source)
        tags = model.predict(tokens, fixed=known, n_jobs=n_jobs)
        if not marginals:
            return TaggedColumns(source.columns, tags, names, None, {})
        tables = model.marginals(tokens, fixed=known, n_jobs=n_jobs)
        index = model.label_index
        chosen = [
            [float(p[t, index[label]]) for t, label in enumerate(labels)]
            for p, labels in zip(tables, tags, strict=True)
        ]
        more = {"marginals": [p.tolist() for p in tables]}
        return TaggedColumns(source.columns, tags, names, chosen, more)

    def differing(
        self, model: Model, source: ColumnFile, predictions: Sequence[Any]
    ) -> dict[int, list[str]]:
        from ..labels import spelled

        if source.columns.labels is None:
            return {}
        lines = {}
        missing = missing_of(model)
        for i, (right, found) in enumerate(zip(source.sentences(), predictions, strict=True)):
            differ = [
                f"position {t} is {a}, not {b}"
                for t, (a, b) in enumerate(zip(right, spelled(found), strict=True))
                if a not in (b, missing)
            ]
            if differ:
                lines[i] = [f"in the file {', '.join(differ)}"]
        return lines


def _spans(
    model: Model,
    source: ColumnFile,
    threshold: float | None,
    scheme: str,
    known: list[list[Any]] | None,
) -> Predictions:
    """Return the spans of a file."""
    from .tag_spans import span_probabilities

    found = span_probabilities(model, source, threshold=threshold, scheme=scheme, fixed=known)
    return SpanTable(found, source.words())


def _pairs(model: Model, source: ColumnFile, known: list[list[Any]] | None) -> Predictions:
    """Return the probabilities of pairs of labels."""
    from ..labels import spelled
    from .tag_spans import pair_marginals

    tables = pair_marginals(model, source, fixed=known)
    return _PairTable(source.words(), spelled(model.labels), [one.tolist() for one in tables])


@dataclass(frozen=True, eq=False)
class _PairTable(Predictions):
    """The probabilities of pairs of neighbouring labels.

    Attributes
    ----------
    words : list of list of str
        The words of each sentence.
    labels : list of str
        The labels, in the order of the tables.
    tables : list
        For each sentence and each pair of neighbouring tokens a table: labels of the first by
        labels of the second.
    """

    words: list[list[str]]
    labels: list[str]
    tables: list[list[list[list[float]]]]

    def write(self, path: str) -> None:
        import json

        from ...formats.source import writing

        with writing(path) as stream:
            for words, table in zip(self.words, self.tables, strict=True):
                one = {"tokens": words, "labels": self.labels, "pair_marginals": table}
                stream.write(json.dumps(one, ensure_ascii=False) + "\n")

    def record(self) -> dict[str, Any]:
        return {"labels": self.labels, "pair_marginals": self.tables}
