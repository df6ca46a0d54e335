"""The facts that a report shows: plain data, the same for the page and for the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..metrics.calibration import Calibration
from ..tasks.comparison import Quote
from ..training.certificate import Certificate

if TYPE_CHECKING:
    from ..explain.explanation import Part
    from ..explain.weights import WeightRow
    from ..training.course import TraceRow

__all__ = [
    "Confusions",
    "Course",
    "DataFacts",
    "Facts",
    "FeatureTable",
    "Measure",
    "ModelFacts",
    "Ratio",
    "ScoredLabel",
    "Usage",
    "WrongExample",
]  # fmt: skip


@dataclass(frozen=True)
class Ratio:
    """A score between 0 and 1 with an interval for it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measure:
    """One measure of all examples.

    Attributes
    ----------
    name, title : str
        Its name in records, and what it is in words.
    score : Ratio
        Its value.
    """

    name: str
    title: str
    score: Ratio


@dataclass(frozen=True)
class ScoredLabel:
    """The scores of one label, and how often it was predicted and how often it is right."""

    label: str
    precision: Ratio
    recall: Ratio
    f1: Ratio
    predicted: int
    support: int


@dataclass(frozen=True)
class DataFacts:
    """What is known about one file, or about examples from Python.

    Attributes
    ----------
    role : str
        What it was used for, in words.
    path : str
        Its name, or what the examples are, in words.
    example, position : str
        What its examples and their positions are called.
    n_examples, n_positions : int
        How many there are.
    lengths : tuple of float or None
        The shortest, the median and the longest example; None if all have one position.
    labels : mapping of str to int
        How often each label is right, most frequent first.
    oddities : sequence of str
        What looks odd, as sentences.
    quoted : sequence of str
        Further oddities that quote the data.
    file : bool
        Whether they are those of a file.
    """

    role: str
    path: str
    example: str
    position: str
    n_examples: int
    n_positions: int
    lengths: tuple[int, float, int] | None
    labels: Mapping[str, int]
    oddities: Sequence[str] = ()
    quoted: Sequence[str] = ()
    file: bool = True


@dataclass(frozen=True)
class ModelFacts:
    """What a model is, and how it was trained.

    Attributes
    ----------
    name : str
        The name of its file without folders, or that of its estimator.
    path : str or None
        Its file; None if it is in no file.
    task, summary : str
        Its task, and what that does.
    structure, loss, solver : str
        Their names.
    l2, l1 : float
        The regulariser.
    n_labels, n_features, n_weights : int
        Their numbers; of the weights also those that are not 0.
    certificate : Certificate
        What is certified.
    settings : mapping
        The parameters of the training.
    written_by : str
        The version of partwise that wrote the file.
    kernel : str or None
        The kernel, in words.
    origin : str or None
        The objective, if another program trained the model.
    """

    name: str
    path: str | None
    task: str
    summary: str
    structure: str
    loss: str
    solver: str
    l2: float
    l1: float
    n_labels: int
    n_features: int
    n_weights: int
    n_nonzero: int
    certificate: Certificate
    settings: Mapping[str, Any]
    written_by: str
    kernel: str | None = None
    origin: str | None = None

    @property
    def every_setting(self) -> dict[str, Any]:
        """The parameters of the training by name, with the objective and the gap asked for."""
        found = {name: value for name, value in self.settings.items() if value is not None}
        if self.origin is None:
            objective = {"loss": self.loss, "l1": self.l1, "l2": self.l2}
            found |= {**objective, "tol": self.certificate.tol}
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Course:
    """How a training went.

    Attributes
    ----------
    trace : sequence of TraceRow
        Its trace; empty if it is not known.
    path : sequence of mapping
        The table of a path over l2; empty if there was none.
    score_name : str
        The name of the score of the path.

    Examples
    --------
    >>> from partwise import LinearClassifier
    >>> from partwise.report import Course
    >>> classifier = LinearClassifier().fit([[0.0], [1.0]], ["a", "b"])
    >>> Course(classifier.trace_).trace[-1].certified
    True
    """

    trace: Sequence[TraceRow] = ()
    path: Sequence[Mapping[str, Any]] = ()
    score_name: str = "score"


@dataclass(frozen=True)
class Confusions:
    """How often right labels were predicted as others.

    Attributes
    ----------
    labels : list of str
        Labels, most frequent first; "" stands for nothing at all.
    table : list of list of int
        For each of them as the right one, how often each of them was predicted.
    others : int
        How many labels were left out.
    frequent : list of (str, str, int)
        The most frequent confusions: right, predicted, how often.
    """

    labels: list[str]
    table: list[list[int]]
    others: int
    frequent: list[tuple[str, str, int]]


@dataclass(frozen=True)
class FeatureTable:
    """The largest weights of one label, or of the transitions."""

    label: str
    rows: Sequence[WeightRow]


@dataclass(frozen=True)
class WrongExample:
    """An example that the model was sure about, and wrong.

    Attributes
    ----------
    number : int
        Its number in the file, from 1.
    sure : str
        How sure the model was, in words.
    quote : Quote
        The example.
    parts : sequence of Part
        The explanation of some wrong parts.
    """

    number: int
    sure: str
    quote: Quote
    parts: Sequence[Part]


@dataclass(frozen=True)
class Usage:
    """How to use the model: commands, and a program."""

    commands: Sequence[str]
    program: str


@dataclass(frozen=True)
class Facts:
    """Everything that a report shows.

    Attributes
    ----------
    model : ModelFacts
        The model.
    data : sequence of DataFacts
        The files; the last one is the one that was scored.
    course : Course
        How the training went.
    on_training_data : bool
        Whether the scores are those of the training file.
    measures : sequence of Measure
        The scores of all examples, the most important one first.
    unit : str
        What the scores by label count.
    by_tag : bool
        Whether the scores by label are by part of speech.
    labels : sequence of ScoredLabel
        The scores by label.
    resamples, level : int, float
        How the intervals were made.
    confusions : Confusions or None
        None if there are no labels to be confused.
    calibration : Calibration or None
        None if the loss gives no probabilities.
    odds_unit : str
        What has probabilities.
    features : sequence of FeatureTable or None
        The strongest features; None if they are left out.
    wrong : sequence of WrongExample or None
        None if quotations are left out.
    usage : Usage
        How to use the model.
    versions : mapping
        The versions of what was used.
    seed : int or None
        The seed of the training, if the model has it.
    command : str
        The command that made the report.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import tagged_text
    >>> from partwise.report import report
    >>> tagger = SequenceTagger().fit(tagged_text(40, seed=1))
    >>> facts = report(tagger, tagged_text(20, seed=2), output=None)
    >>> facts.model.task, facts.data[-1].n_examples, facts.measures[0].name
    ('tag', 20, 'f1')
    """

    model: ModelFacts
    data: Sequence[DataFacts]
    course: Course
    on_training_data: bool
    measures: Sequence[Measure]
    unit: str
    by_tag: bool
    labels: Sequence[ScoredLabel]
    resamples: int
    level: float
    confusions: Confusions | None
    calibration: Calibration | None
    odds_unit: str
    features: Sequence[FeatureTable] | None
    wrong: Sequence[WrongExample] | None
    usage: Usage
    versions: Mapping[str, str]
    seed: int | None
    command: str
