"""The task "tag": one label per token, from column files."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import MismatchError
from ...formats.options import Option
from ...formats.tag_schemes import (
    TAG_SCHEMES,
    TagScheme,
    fits,
    is_span_tag,
    likely_scheme,
    may_follow,
)
from ..kernels.parameters import KernelTask
from ..labels import FIXED, known_label, missing_of
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
from .trainers import TaggerTrainer

if TYPE_CHECKING:
    from ...formats.registry import Chosen
    from ...formats.tokens import Columns
    from ...models.model import Model
    from .column_file import ColumnFile

__all__ = ["TagTask"]

_log = logging.getLogger(__name__)

#: What follows from tags that spell no span in a file whose other tags do.
_SCORED: Final = "labels are scored and not spans"
#: If more of the tags of spans break a scheme, the file is taken to have another one.
_MOST_BROKEN: Final = 0.2

#: Two neighbouring tags; None is the start or the end of a sentence.
_Pair = tuple[str | None, str | None]

PAIR_MARGINALS: Final = Option(
    "--pair-marginals",
    "write the probabilities of pairs of neighbouring labels instead, as one JSON object per "
    "sentence",
    default=False,
    kind="switch",
)


class TagTask(ColumnTask, KernelTask["ColumnFile"]):
    """Sequence taggers."""

    name = "tag"
    trainer = "partwise.tasks.sequences.trainers:TaggerTrainer"
    kernel_trainer = "partwise.tasks.sequences.kernel_estimators:KernelTagger"
    without_kernel = ("transition_weights", "min_frequency")
    declares = TaggerTrainer
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
        source = super().read(path, given, like)
        trained = f"the model gets labels that spell no spans, and {_SCORED}"
        odd = _note_odd_tags(source.columns, given["missing"], trained if like is None else _SCORED)
        # With constraints, such tags are refused.
        if like is None and not odd and given["constraints"] is None:
            _note_broken_tags(source.columns, given["missing"])
        return source

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> ColumnFile:
        from ..labels import spelled
        from .features import PositionFeatures

        assert isinstance(model.features, PositionFeatures)
        source = read_inputs(self, model, model.features, path, labelled, format)
        if labelled:
            missing = missing_of(model)
            if not _note_odd_tags(source.columns, missing, f"without --scheme {_SCORED}"):
                _note_odd_labels(source.path, spelled(model.labels), missing)
        return source

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Any:
        from .given_labels import given_tags

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

        known = _known_tags(model, source, fixed)
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


def _note_odd_tags(columns: Columns, missing: str | None, consequence: str) -> bool:
    """Log a warning about tags that are no tags of spans, if most tags of the file are.

    Parameters
    ----------
    columns : Columns
        The file.
    missing : str or None
        The label that stands for a missing one.
    consequence : str
        What follows from such tags.

    Returns
    -------
    bool
        Whether there are such tags.
    """
    labels = columns.labels or []
    odd = [t for t, label in enumerate(labels) if label != missing and not is_span_tag(label)]
    if not odd:
        return False
    scheme = likely_scheme(
        [label for label in of if label != missing] for of in columns.split(labels)
    )
    if scheme is None:
        return False
    n, place = len(odd), f"{labels[odd[0]]!r} in line {columns.lines[odd[0]]}"
    _log.warning(
        "%s: %s, so %s; `partwise validate %s` lists %s",
        columns.path,
        f"the tag {place} is no tag of {scheme}"
        if n == 1
        else f"{n:,} tags are no tags of {scheme}, such as {place}",
        consequence,
        columns.path if columns.path != "<stdin>" else "FILE",
        "its place" if n == 1 else "them all",
    )
    return True


def _note_broken_tags(columns: Columns, missing: str | None) -> None:
    """Log a warning about tags that break the scheme that the tags of a file seem to follow.

    Nothing is said if the scheme is not clear: if the tags are sound in another one, or too many
    of them break it.

    Parameters
    ----------
    columns : Columns
        The file.
    missing : str or None
        The label that stands for a missing one.
    """
    sentences = columns.split(columns.labels or [])
    name = likely_scheme([label for label in of if label != missing] for of in sentences)
    if name is None:
        return
    row: list[str | None] = [None]
    for of in sentences:
        row += [*of, None]
    # Files have few different pairs, so that each is looked at once.
    pairs: Counter[_Pair] = Counter(pairwise(row))
    wrong = {scheme: _broken(TAG_SCHEMES[scheme], pairs, missing) for scheme in TAG_SCHEMES}
    broken = wrong[name]
    n = sum(pairs[pair] for pair in broken)
    typed = sum(label not in ("O", missing) for label in columns.labels or [])
    if not all(wrong.values()) or n > max(_MOST_BROKEN * typed, 1):
        return
    place = next(t for t, pair in enumerate(pairwise(row)) if pair in broken)
    # Before every sentence there is one None.
    ended = row[place + 1] is None
    token = place - row[: place + 1].count(None) + 1 - ended
    first = f"{_told(row[place], row[place + 1])} in line {columns.lines[token]}"
    _log.warning(
        "%s: %s; `partwise validate %s` %s",
        columns.path,
        f"the tag {first} breaks {name}" if n == 1 else f"{n:,} tags break {name}, such as {first}",
        columns.path if columns.path != "<stdin>" else "FILE",
        "says more" if n == 1 else "lists them all",
    )


def _broken(scheme: TagScheme, pairs: Iterable[_Pair], missing: str | None) -> set[_Pair]:
    """Return the pairs of neighbours that break a scheme, as far as both are known."""
    return {
        pair
        for pair in pairs
        if (missing is None or missing not in pair)
        and not (
            all(tag is None or fits(scheme, tag) for tag in pair) and may_follow(scheme, *pair)
        )
    }


def _told(before: str | None, now: str | None) -> str:
    if now is None:
        return f"{before} at the end of a sentence"
    return f"{now} {'at the start of a sentence' if before is None else f'after {before}'}"


def _note_odd_labels(path: str, labels: Iterable[str], missing: str | None) -> None:
    """Log a warning if a model knows labels that are no tags of spans, but most of them are.

    Parameters
    ----------
    path : str
        The file to be scored.
    labels : iterable of str
        The labels of the model.
    missing : str or None
        The label that stands for a missing one.
    """
    known = [label for label in labels if label != missing]
    odd = [label for label in known if not is_span_tag(label)]
    scheme = likely_scheme([known]) if odd else None
    if scheme is not None:
        _log.warning(
            "%s: the model knows %s of %s, such as %r, so without --scheme %s; "
            "`partwise validate` finds such tags in the file that the model was trained on",
            path,
            "a label that is no tag" if len(odd) == 1 else f"{len(odd)} labels that are no tags",
            scheme,
            odd[0],
            _SCORED,
        )


def _known_tags(model: Model, source: ColumnFile, mark: str | None) -> list[list[Any]] | None:
    """Return the known labels of every sentence, as `Model.predict` takes them.

    Parameters
    ----------
    model : Model
        A model of the task "tag".
    source : ColumnFile
        The file.
    mark : str or None
        What stands for a label that is not known; None if no labels are known.
    """
    if mark is None:
        return None
    from ..labels import spelled

    names = dict(zip(spelled(model.labels), model.labels, strict=True))
    return [
        [
            None if tag == mark else known_label(names, tag, source.place(s, t), mark)
            for t, tag in enumerate(tags)
        ]
        for s, tags in enumerate(known_sentences(source))
    ]


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
