"""``--task classify``: one label an example, from svmlight files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.errors import DataError
from partwise.metrics.labels import accuracy

from ..base import Predictions, Task, Trained, no_labels, settings_of
from ..options import CLASS_WEIGHT, MIN_COUNT, Option, finite

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partwise.formats.svmlight import SvmlightData
    from partwise.models.model import Model
    from partwise.training.loop import Callback

    from ..candidates import Candidate

__all__ = ["Classify"]

_PAIR = re.compile(r"(\d+|qid):[^\s:]+", re.ASCII)


class Classify(Task["SvmlightData"]):
    """Classifiers."""

    name = "classify"
    summary = "one label an example"
    example = "digits.svm --model digits.model --l2 0.1 --bias 1"
    reads = "reads svmlight files: an example a line, as `label index:value index:value`"
    writes = (
        'writes a label a line; with --marginals, first a line "labels ..." and then the label '
        "and the probability of every label in that order; with --k N, label:score pairs "
        "(label:probability with --marginals), best first"
    )
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            MIN_COUNT,
            CLASS_WEIGHT,
            Option(
                "--bias", type=finite, default=0.0, metavar="X",
                help="value of a constant feature (default: 0, none)",
            ),
        )
    }  # fmt: skip

    def resemblance(self, lines: Sequence[str]) -> int:
        """See whether all but the label are pairs of a number and a value."""
        found = 0
        for line in lines:
            first, *rest = line.partition("#")[0].split() or [""]
            if not all(map(_PAIR.fullmatch, rest)) or not (rest or _PAIR.fullmatch(first)):
                return 0
            found = 2
        return found

    def read(
        self, path: str, arguments: argparse.Namespace, like: SvmlightData | None = None
    ) -> SvmlightData:
        """Read an svmlight file with labels."""
        from partwise.formats.svmlight import read_svmlight

        data = read_svmlight(path)
        if like is None:
            data.check_memory()
        return data

    def read_for(self, model: Model, path: str, labelled: bool) -> SvmlightData:
        """Read an svmlight file."""
        from partwise.formats.svmlight import read_svmlight
        from partwise.tasks.sequences.labeller import PositionLabeller

        if PositionLabeller(model).encoder.vocabulary is not None:
            raise DataError(
                "the model's features have names and those of svmlight files have numbers; use it "
                "from Python, with partwise.load_model"
            )
        source = read_svmlight(path, labelled=False)
        if labelled and source.labels is None:
            raise no_labels(source.path, len(source.rows), "at the start of each line")
        return source

    def sizes(self, source: SvmlightData) -> tuple[int, int]:
        """Count the lines."""
        return len(source.rows), len(source.rows)

    def fit(
        self,
        arguments: argparse.Namespace,
        source: SvmlightData,
        initial: Model | None,
        callbacks: Sequence[Callback],
    ) -> Trained:
        """Train a classifier."""
        from partwise.tasks.sequences.fit import fit_labeller

        from ..labels import number_labels

        labels, gold = number_labels(source.path, _gold(source))
        model, fit = fit_labeller(
            self.name,
            source.rows,
            None,
            gold,
            labels,
            settings_of(
                arguments,
                min_count=arguments.min_count,
                class_weight=arguments.class_weight,
                intercept=arguments.bias,
            ),
            callbacks=callbacks,
            initial=initial,
            n_inputs=source.rows.n_features,
        )
        return Trained(model, fit, len(source.rows))

    def predict(
        self, model: Model, source: SvmlightData, arguments: argparse.Namespace
    ) -> Predictions:
        """Predict the labels of all lines."""
        from partwise.tasks.sequences.labeller import PositionLabeller

        from ..labels import spelled

        names = spelled(model.labels)
        _note_unknown_features(model, source)
        if arguments.k:
            return _Ranked(names, _candidates(model, source, arguments), arguments.marginals)
        if not len(source.rows):
            return _Classes(names, [], [] if arguments.marginals else None)
        labeller = PositionLabeller(model)
        found = labeller.predict(source.rows, n_jobs=arguments.jobs)
        marginals = None
        if arguments.marginals:
            marginals = labeller.marginals(source.rows, n_jobs=arguments.jobs)
        return _Classes(names, [names[int(one[0])] for one in found], marginals)

    def score(
        self, model: Model, source: SvmlightData, arguments: argparse.Namespace
    ) -> tuple[dict[str, Any], str]:
        """Count what is right."""
        from partwise.tasks.sequences.labeller import PositionLabeller

        from ..labels import by_type, label_scores, label_table, note_unknown, spelled

        gold = _gold(source)
        names = spelled(model.labels)
        _note_unknown_features(model, source)
        found = PositionLabeller(model).predict(source.rows, n_jobs=arguments.jobs)
        predicted = [[names[int(one[0])]] for one in found]
        note_unknown(source.path, gold, names)
        scores = label_scores(gold, predicted)
        metrics = {"accuracy": accuracy(gold, predicted), "by_label": by_type(scores)}
        first = f"accuracy  {metrics['accuracy']:.4%} of {len(gold):,} examples"
        return metrics, "\n".join([first, *label_table(scores)])


@dataclass(frozen=True, eq=False)
class _Classes(Predictions):
    names: list[str]
    labels: list[str]
    marginals: list[NDArray[np.float64]] | None

    def write(self, path: str) -> None:
        from partwise.formats.source import writing

        with writing(path) as stream:
            if self.marginals is None:
                stream.writelines(label + "\n" for label in self.labels)
                return
            stream.write(" ".join(["labels", *self.names]) + "\n")
            for label, one in zip(self.labels, self.marginals, strict=True):
                stream.write(" ".join([label, *(f"{p:.6g}" for p in one[0].tolist())]) + "\n")

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": self.names, "predictions": self.labels}
        if self.marginals is not None:
            found["marginals"] = [one[0].tolist() for one in self.marginals]
        return found


@dataclass(frozen=True, eq=False)
class _Ranked(Predictions):
    names: list[str]
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from partwise.formats.source import writing

        with writing(path) as stream:
            for some in self.candidates:
                pairs = (
                    f"{self._label(one)}:{one.probability if self.probabilities else one.score:.6g}"
                    for one in some
                )
                stream.write(" ".join(pairs) + "\n")

    def record(self) -> dict[str, Any]:
        return {
            "candidates": [
                [
                    {
                        "labels": [self._label(one)],
                        "score": one.score,
                        "probability": one.probability,
                    }
                    for one in some
                ]
                for some in self.candidates
            ]
        }

    def _label(self, one: Candidate) -> str:
        return self.names[int(one.label[0])]


def _gold(source: SvmlightData) -> list[list[str]]:
    assert source.labels is not None
    return [[label] for label in source.labels]


def _note_unknown_features(model: Model, source: SvmlightData) -> None:
    """Warn of a file whose indices are all above those that the model was trained with."""
    from partwise.tasks.sequences.labeller import PositionLabeller
    from partwise.tasks.tally import Tally

    from ..labels import note_unknown_features

    indices = source.rows.indices
    known = int((indices < PositionLabeller(model).encoder.n_inputs).sum())
    note_unknown_features(source.path, Tally(len(indices), known))


def _candidates(
    model: Model, source: SvmlightData, arguments: argparse.Namespace
) -> list[list[Candidate]]:
    import numpy as np

    from partwise.tasks.sequences.labeller import PositionLabeller

    from ..candidates import find_candidates

    return find_candidates(
        model,
        PositionLabeller(model).encoder.features(model.structure, source.rows),
        np.ones(len(source.rows), np.int64),
        arguments.k,
        probabilities=arguments.marginals,
        n_jobs=arguments.jobs,
    )
