"""``--task tag``: a label a token, from column files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from partwise.errors import DataError, LabelError
from partwise.metrics.labels import SCHEMES

from ..base import Predictions, Task, Trained, settings_of
from ..options import CLASS_WEIGHT, MIN_COUNT, Option
from .columns import RankedTags, choose_templates, gold_tags, input_rows, read_inputs, tag_scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partwise.formats.columns import Columns
    from partwise.models.model import Model
    from partwise.problem.rows import Rows
    from partwise.structures.base import Constraints
    from partwise.training.loop import Callback

    from ..candidates import Candidate

__all__ = ["PRESETS", "SCHEME", "SPELLING", "Tag", "looks_like_columns"]

#: Some of constraints.SCHEME_NAMES, which cannot be imported without the compiler.
PRESETS: Final = ("BIO", "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU")

SPELLING: Final = Option(
    "--spelling", action=argparse.BooleanOptionalAction,
    help="look into words: affixes, shape, case (default: only if there is one column)",
)  # fmt: skip
SCHEME: Final = Option("--scheme", choices=SCHEMES, help="how to read spans (default: conlleval)")


class Tag(Task["Columns"]):
    """Sequence taggers."""

    name = "tag"
    summary = "a label a token"
    example = "train.txt --model chunks.model --dev dev.txt"
    reads = (
        "reads column files: a token a line, columns separated by blanks or by tabs, the label "
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
            Option("--constraints", choices=PRESETS, help="never predict what breaks this scheme"),
            Option(
                "--order", type=int, choices=(1, 2), default=1,
                help="labels before it that a label depends on (default: 1)",
            ),
            Option(
                "--start-end", action="store_true", default=False,
                help="weights for first and last labels",
            ),
        ),
        "evaluate": (SCHEME,),
    }  # fmt: skip

    def resemblance(self, lines: Sequence[str]) -> int:
        """See whether there are columns."""
        return looks_like_columns(lines)

    def read(
        self, path: str, arguments: argparse.Namespace, like: Columns | None = None
    ) -> Columns:
        """Read a column file whose last column is the label."""
        from partwise.formats.columns import read_columns

        return read_columns(path, n_columns=None if like is None else len(like.fields) + 1)

    def read_for(self, model: Model, path: str, labelled: bool) -> Columns:
        """Read a column file with the columns that the model takes."""
        from partwise.tasks.sequences.labeller import PositionLabeller

        return read_inputs(PositionLabeller(model).encoder, path, labelled)

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
        """Train a tagger."""
        from partwise.tasks.sequences.fit import fit_labeller
        from partwise.tasks.sequences.labeller import PositionLabeller
        from partwise.tasks.templates import extract_fit

        from ..labels import number_labels

        first = None if initial is None else PositionLabeller(initial).encoder
        templates = choose_templates(arguments, source, first)
        rows, vocabulary = extract_fit(source, templates)
        labels, gold = number_labels(source.path, gold_tags(source))
        model, fit = fit_labeller(
            self.name,
            rows,
            source.lengths,
            gold,
            labels,
            settings_of(
                arguments,
                min_count=arguments.min_count,
                class_weight=arguments.class_weight,
                constraints=_constraints(arguments.constraints, source, labels, gold),
                order=arguments.order,
                start=arguments.start_end,
                end=arguments.start_end,
            ),
            vocabulary=vocabulary,
            templates=templates,
            callbacks=callbacks,
            initial=initial,
            n_inputs=len(source.fields),
        )
        return Trained(model, fit, len(source.lengths))

    def predict(self, model: Model, source: Columns, arguments: argparse.Namespace) -> Predictions:
        """Predict the labels of all tokens."""
        from partwise.tasks.sequences.labeller import PositionLabeller

        from ..labels import spelled

        names = spelled(model.labels)
        rows = _rows(model, source)
        if arguments.k:
            found = _candidates(model, source, rows, arguments)
            tags = [[_named(names, one.label) for one in some] for some in found]
            return RankedTags(source, tags, found, arguments.marginals)
        if not len(source):
            return _Tagged(source, names, [], [] if arguments.marginals else None)
        labeller = PositionLabeller(model)
        labels = labeller.predict(rows, source.lengths, n_jobs=arguments.jobs)
        marginals = None
        if arguments.marginals:
            marginals = labeller.marginals(rows, source.lengths, n_jobs=arguments.jobs)
        return _Tagged(source, names, labels, marginals)

    def score(
        self, model: Model, source: Columns, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Count right labels, right sentences, and right spans where labels look like spans."""
        from partwise.tasks.sequences.labeller import PositionLabeller

        from ..labels import note_unknown, spelled

        names = spelled(model.labels)
        found = PositionLabeller(model).predict(
            _rows(model, source), source.lengths, n_jobs=arguments.jobs
        )
        predicted = [_named(names, labels) for labels in found]
        note_unknown(source.path, gold_tags(source), names)
        return tag_scores(source, predicted, names, arguments.scheme)


def looks_like_columns(lines: Sequence[str]) -> int:
    """Say whether lines are those of a column file: 1 perhaps, 0 no."""
    widths = {len(line.split("\t") if "\t" in lines[0] else line.split()) for line in lines}
    return int(len(widths) == 1 and widths.pop() > 1)


@dataclass(frozen=True, eq=False)
class _Tagged(Predictions):
    source: Columns
    names: list[str]
    labels: list[NDArray[np.int64]]
    marginals: list[NDArray[np.float64]] | None

    def write(self, path: str) -> None:
        from partwise.formats.columns import write_columns

        extra = [[self.names[label] for one in self.labels for label in one.tolist()]]
        if self.marginals is not None:
            pairs = zip(self.marginals, self.labels, strict=True)
            extra.append([f"{p[t, y]:.6f}" for p, ys in pairs for t, y in enumerate(ys.tolist())])
        write_columns(path, self.source, *extra)

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "labels": self.names,
            "predictions": [_named(self.names, one) for one in self.labels],
        }
        if self.marginals is not None:
            found["marginals"] = [one.tolist() for one in self.marginals]
        return found


def _named(names: list[str], numbers: NDArray[np.int64]) -> list[str]:
    return [names[number] for number in numbers.tolist()]


def _constraints(
    name: str | None, source: Columns, labels: Sequence[str], gold: Sequence[Any]
) -> Constraints | None:
    """Make the constraints, and name the line of a label that breaks them."""
    from partwise.tasks.sequences.constraints import check_labels, make_constraints

    try:
        constraints = make_constraints(name, labels)
    except LabelError as error:
        first = (source.labels or []).index(str(error.label))
        raise DataError(f"{source.path}:{source.lines[first]}: {error}") from error
    if constraints is not None:
        check_labels(constraints, gold, labels, source.place)
    return constraints


def _rows(model: Model, source: Columns) -> Rows:
    from partwise.tasks.sequences.labeller import PositionLabeller
    from partwise.tasks.tally import Tally

    from ..labels import note_unknown_features

    tally = Tally()
    rows = input_rows(PositionLabeller(model).encoder, source, tally)
    note_unknown_features(source.path, tally)
    return rows


def _candidates(
    model: Model, source: Columns, rows: Rows, arguments: argparse.Namespace
) -> list[list[Candidate]]:
    from partwise.tasks.sequences.labeller import PositionLabeller

    from ..candidates import find_candidates

    return find_candidates(
        model,
        PositionLabeller(model).encoder.features(model.structure, rows),
        source.lengths,
        arguments.k,
        probabilities=arguments.marginals,
        n_jobs=arguments.jobs,
    )
