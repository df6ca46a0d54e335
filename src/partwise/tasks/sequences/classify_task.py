"""The task "classify": one label per example, from svmlight files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import DataError
from ...formats.options import Option
from ..base import no_labels
from ..kernels.parameters import KernelTask
from ..predictions import Predictions, ranking_record
from .trainers import ClassifierTrainer

if TYPE_CHECKING:
    from ...arrays import Floats
    from ...formats.registry import Chosen
    from ...models.model import Candidate, Model
    from .sources import Table

__all__ = ["ClassifyTask"]

_PAIR = re.compile(r"(\d+|qid):[^\s:]+", re.ASCII)


class ClassifyTask(KernelTask["Table"]):
    """Classifiers."""

    name = "classify"
    trainer = "partwise.tasks.sequences.trainers:ClassifierTrainer"
    kernel_trainer = "partwise.tasks.sequences.kernel_estimators:KernelClassifier"
    declares = ClassifierTrainer
    features = "positions"
    format = "svmlight"
    summary = "one label per example"
    example = "digits.svm --model digits.model --l2 0.1 --bias 1"
    reads = "reads svmlight files: one example per line, as `label index:value index:value`"
    writes = (
        'writes one label per line; with --marginals, first a line "labels ..." and then the label '
        "and the probability of every label in that order; with --k N, label:score pairs "
        "(label:probability with --marginals), best first"
    )
    longest = 100_000
    comparison = "tasks.sequences.comparison:ClassComparison"
    options: ClassVar[Mapping[str, tuple[Option, ...]]] = {
        "train": (
            Option(
                "--bias",
                "value of a constant feature (default: 0, none)",
                default=0.0,
                kind="number",
                metavar="X",
            ),
        )
    }

    def parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        # The sign of a constant feature only changes the sign of its weights.
        bias = abs(given["bias"])
        found = super().parameters(given)
        return {**found, "fit_intercept": bias > 0.0, "intercept_scaling": bias or 1.0}

    def resemblance(self, lines: Sequence[str]) -> int:
        found = 0
        for line in lines:
            first, *rest = line.partition("#")[0].split() or [""]
            if not all(map(_PAIR.fullmatch, rest)) or not (rest or _PAIR.fullmatch(first)):
                return 0
            found = 2
        return found

    def read(self, path: str, given: Mapping[str, Any], like: Table | None = None) -> Table:
        from .sources import Table

        data = self.reader(given["format"])(path)
        if like is None:
            data.check_memory()
        return Table(data.rows, data.labels, data.path)

    def read_for(
        self, model: Model, path: str, labelled: bool, format: Chosen | str | None = None
    ) -> Table:
        from .features import PositionFeatures
        from .sources import Table

        features = model.features
        if not isinstance(features, PositionFeatures) or features.vocabulary is not None:
            raise DataError(
                "the model's features have names and those of svmlight files have numbers; use it "
                "from Python, with partwise.load_model"
            )
        data = self.reader(format)(path, labelled=False)
        if labelled and data.labels is None:
            raise no_labels(data.path, len(data.rows), "at the start of each line")
        return Table(data.rows, data.labels, data.path)

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> Table:
        from .given_labels import given_table

        self.refuse_others(more)
        return given_table(model, X, y)

    def predict(
        self, model: Model, source: Table, *, k: int | None, marginals: bool, n_jobs: int | None
    ) -> Predictions:
        from ..labels import spelled

        if k:
            found = model.candidates(source, k, probabilities=marginals, n_jobs=n_jobs)
            return _Ranked(found, marginals)
        labels = spelled(model.predict(source, n_jobs=n_jobs))
        tables = model.marginals(source, n_jobs=n_jobs) if marginals else None
        return _Classes(spelled(model.labels), labels, tables)


@dataclass(frozen=True, eq=False)
class _Classes(Predictions):
    names: list[str]
    labels: list[str]
    marginals: list[Floats] | None

    def write(self, path: str) -> None:
        self._write(path, heading=self.marginals is not None)

    def write_more(self, path: str) -> None:
        self._write(path, heading=False)

    def _write(self, path: str, heading: bool) -> None:
        from ...formats.source import writing

        with writing(path) as stream:
            if heading:
                stream.write(" ".join(["labels", *self.names]) + "\n")
            if self.marginals is None:
                stream.writelines(label + "\n" for label in self.labels)
                return
            for label, one in zip(self.labels, self.marginals, strict=True):
                stream.write(" ".join([label, *(f"{p:.6g}" for p in one[0].tolist())]) + "\n")

    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": self.names, "predictions": self.labels}
        if self.marginals is not None:
            found["marginals"] = [one[0].tolist() for one in self.marginals]
        return found


@dataclass(frozen=True, eq=False)
class _Ranked(Predictions):
    candidates: list[list[Candidate]]
    probabilities: bool

    def write(self, path: str) -> None:
        from ...formats.source import writing
        from ..labels import spelled

        with writing(path) as stream:
            for some in self.candidates:
                numbers = [one.probability if self.probabilities else one.score for one in some]
                names = spelled([one.label for one in some])
                pairs = (f"{name}:{x:.6g}" for name, x in zip(names, numbers, strict=True))
                stream.write(" ".join(pairs) + "\n")

    def record(self) -> dict[str, Any]:
        from dataclasses import replace

        from ..labels import spelled

        listed = [
            [replace(one, label=spelled([one.label])) for one in some] for some in self.candidates
        ]
        return ranking_record(listed, "labels")
