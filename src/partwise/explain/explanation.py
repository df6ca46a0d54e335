"""What an explanation holds: plain data, the same for all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..tasks.example_form import plain
from ..tasks.label_form import apart

__all__ = [
    "Contribution",
    "Difference",
    "Explanation",
    "Explanations",
    "Part",
    "RunnerUp",
]


class Contribution(NamedTuple):
    """What one feature adds to the score of a part.

    Attributes
    ----------
    kind : str
        What the weight is for: "label", "transition", "arc" or another kind of site.
    label : str
        The label that it is for: ``B-NP``, or ``DT -> NN`` for a transition.
    feature : str
        The name of the feature; "constant" for a weight that does not depend on the input.
    value : float
        The value of the feature.
    weight : float
        The weight of the feature with the label.
    product : float
        The contribution: value times weight.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> found = tagger.explain(X[:1])[0].parts[0].contributions[0]
    >>> found.feature, found.label, found.product == found.value * found.weight
    ('word=the', 'DET', True)
    """

    kind: str
    label: str
    feature: str
    value: float
    weight: float
    product: float


class Difference(NamedTuple):
    """What one feature adds to the margin between the prediction and a runner-up.

    Attributes
    ----------
    where : str
        The place of the feature; "" for a weight that holds everywhere.
    kind, feature, value
        As in `Contribution`. Where the feature has no place of its own, the value is how much more
        often the prediction has it than the runner-up.
    label : str
        The label in the prediction; "" if it has none there.
    instead : str
        The label in the runner-up; "" if it has none there.
    weight : float
        The weight for `label` minus that for `instead`.
    product : float
        Value times weight: above 0 it speaks for the prediction, below 0 for the runner-up.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> runner_up = tagger.explain(X[:1])[0].parts[0].runner_up
    >>> runner_up.differences[0].product > 0
    True
    >>> abs(sum(one.product for one in runner_up.differences) - runner_up.margin) < 1e-9
    True
    """

    where: str
    kind: str
    feature: str
    label: str
    instead: str
    value: float
    weight: float
    product: float


@dataclass(frozen=True)
class RunnerUp:
    """The best whole label of the example that differs from the prediction in one part.

    Attributes
    ----------
    label : str
        What it has there instead.
    margin : float
        The score of the prediction minus that of the runner-up.
    differences : tuple of Difference
        What the margin is made of, largest first: their products add up to it.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> runner_up = tagger.explain(X[:1])[0].parts[0].runner_up
    >>> runner_up.label, runner_up.margin > 0
    ('NOUN', True)
    """

    label: str
    margin: float
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Part:
    """One part of a prediction: a position, a segment, an arc, a phrase, a vertex or an edge.

    Attributes
    ----------
    kind : str
        What it is: "example", "position", "segment", "arc", "word", "phrase", "vertex", or the name
        of a kind of factor.
    place : tuple of int
        Where it is: the position; the first position and the one after the last; the modifier and
        its head, words counted from 1; the vertices. Everything else is counted from 0.
    text : str
        What stands there in the input; "" if that is not known.
    label : str
        Its label.
    score : float
        The sum of its contributions.
    probability : float or None
        The probability that a label of the example has this part; None if the loss has none.
    contributions : tuple of Contribution
        What the features add to the score, largest first. Weights of 0 are left out.
    runner_up : RunnerUp or None
        The best label of the example that differs here; None if there is no other, or if runners-up
        were not asked for.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> part = tagger.explain(X[:1])[0].parts[1]
    >>> part.title, part.label, part.place
    ('position 1 cat', 'NOUN', (1,))
    """

    kind: str
    place: tuple[int, ...]
    text: str
    label: str
    score: float
    probability: float | None
    contributions: tuple[Contribution, ...]
    runner_up: RunnerUp | None

    @property
    def margin(self) -> float | None:
        """The margin to the runner-up; None if there is none."""
        return None if self.runner_up is None else self.runner_up.margin

    @property
    def title(self) -> str:
        """Its kind, place and text in a few words."""
        # The head of an arc is in its label.
        place = self.place[:1] if self.kind == "arc" else self.place
        where = "-".join(map(str, place))
        return " ".join(item for item in (self.kind, where, apart(self.text)) if item)

    def speaking_for(self) -> tuple[Contribution, ...]:
        """Return the contributions above 0, largest first."""
        return tuple(one for one in self.contributions if one.product > 0.0)

    def speaking_against(self) -> tuple[Contribution, ...]:
        """Return the contributions below 0, those that take most away first."""
        return tuple(one for one in reversed(self.contributions) if one.product < 0.0)


@dataclass(frozen=True)
class Explanation:
    """Why a model predicts the label of one example.

    Attributes
    ----------
    task, loss : str
        Those of the model.
    prediction
        The label, in the form that `predict` returns.
    score : float or None
        Its score w.f(x, y), as the decoder computes it; None for an example without any label.
    probability : float or None
        Its probability; None if the loss has none.
    parts : tuple of Part
        What it is made of. The contributions of all parts add up to the score.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> explanation = tagger.explain(X[:1])[0]
    >>> explanation.prediction, len(explanation.parts)
    (['DET', 'NOUN'], 2)
    >>> total = sum(one.product for part in explanation.parts for one in part.contributions)
    >>> abs(total - explanation.score) < 1e-9
    True
    """

    task: str
    loss: str
    prediction: Any
    score: float | None
    probability: float | None
    parts: tuple[Part, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers, as JSON can hold them."""
        found: dict[str, Any] = plain(self)
        return found

    def to_text(self, top: int | None = 10) -> str:
        """Return the explanation as text for a terminal.

        Parameters
        ----------
        top : int or None
            How many contributions to show for each part; None shows all.
        """
        from .rendering import explanation_text

        return explanation_text(self, top)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from .rendering import explanation_html

        return explanation_html(self)


class Explanations(list[Explanation]):
    """The explanations of some examples: a list that notebooks show as tables.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> explanations = tagger.explain(X)
    >>> len(explanations), explanations.to_dict()[1]["prediction"]
    (2, ['DET', 'NOUN'])
    """

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one dict per example; see `Explanation.to_dict`."""
        return [one.to_dict() for one in self]

    def to_text(self, top: int | None = 10) -> str:
        """Return all explanations as text; see `Explanation.to_text`."""
        return "\n\n".join(one.to_text(top) for one in self)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)
