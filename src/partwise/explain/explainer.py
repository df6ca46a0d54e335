"""The explanation of predictions: which features spoke for a label, and which against it.

The score of a label is the sum of the scores of its parts, and that of a part the sum of value
times weight over its features: these products are the contributions. The *runner-up* of an element
of the label is the best whole label of the example that does not have this element, so that the
margin is a difference of max-marginals. It is found by the maximum oracle, with the parts that
stand for the element forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Ints
from ..models.features import Inputs
from ..models.prediction import best_labels
from ..problem.evaluation import not_finite
from ..tasks.example_form import ExampleForm, GivenText
from ..tasks.label_form import Element
from ..tasks.registry import example_form
from .explanation import Contribution, Difference, Explanation, Explanations, Part, RunnerUp
from .scored_sites import Entries, ScoredSites, Supports

if TYPE_CHECKING:
    from ..models.model import Model

__all__ = ["explain_examples", "explanations"]


def explain_examples(model: Model, examples: Any, **options: Any) -> Explanations:
    """Explain the predictions for some examples.

    Parameters
    ----------
    model : Model
        The model.
    examples
        As in `Model.predict`.
    **options
        The other parameters of `Model.explain`.

    Returns
    -------
    Explanations
        One explanation per example.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> from partwise.explain import explain_examples
    >>> explain_examples(tagger.model_, X[:1], runners_up=False)[0].prediction
    ['DET', 'NOUN']
    """
    return Explanations(explanations(model, examples, **options))


def explanations(
    model: Model,
    examples: Any,
    shapes: Sequence[Any] | Ints | None = None,
    *,
    fixed: Any = None,
    own_constraints: Sequence[Any] | None = None,
    runners_up: bool = True,
    supports: int = 10,
    feature_names: Sequence[str] | None = None,
    **more: Any,
) -> Iterator[Explanation]:
    """Explain the predictions for some examples, one after the other.

    Parameters
    ----------
    model : Model
        The model.
    examples, shapes, fixed, own_constraints, **more
        As in `Model.predict`.
    runners_up : bool
        Whether to look for the runner-up of every part, which takes one search per part.
    supports : int
        For kernel models, how many supporting positions to name for each label of a position.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    """
    form = example_form(model)
    if shapes is None:
        model = form.explained()
        form = example_form(model)
    names = form.names(feature_names)
    if shapes is None:
        given = form.given(examples, more)
        parts: Iterator[Inputs] = model.inputs(given.examples, fixed=fixed)
    else:
        given = GivenText(None, [], {})
        parts = iter([Inputs(examples, shapes, own_constraints)])
    kernel = None
    if getattr(model.features, "support", None) is not None and shapes is None:
        kernel = Supports(model, given.examples.rows, supports)
    for inputs in parts:
        maker = _Maker(form, inputs, given, names, kernel)
        labels = best_labels(maker.sites.batch, partial=model.features.answers_all)
        for i, label in enumerate(labels):
            yield maker.explanation(i, label, runners_up)


class _Maker:
    """Makes the explanations of some examples."""

    def __init__(
        self,
        form: ExampleForm,
        inputs: Inputs,
        given: GivenText,
        names: Sequence[Any],
        kernel: Supports | None,
    ) -> None:
        self.model, self.inputs, self.given = form.model, inputs, given
        self.sites = ScoredSites(form.model, inputs)
        self.first = inputs.which.start or 0
        self.labels = form.labels
        self.names, self.slots, self.kernel = names, form.labels.slots(), kernel
        self.known: dict[int, dict[int, str]] = {}

    def explanation(self, i: int, label: Ints | None, runners_up: bool) -> Explanation:
        """Explain the prediction for example i."""
        model, structure = self.model, self.model.structure
        prediction: Any = label
        if self.inputs.examples is not None:
            prediction = model.features.named(model, label, self.inputs.examples[i])
        if label is None:
            return Explanation(model.task, model.loss, prediction, None, None, ())
        topo, theta = self.sites.topologies[i], self.sites.scores(i)
        if theta is None:
            raise not_finite(self.first + i)
        score = structure.best(theta, topo)[0]
        probability, marginals = None, None
        if model.probabilistic:
            log_z, marginals = structure.expected_parts(theta, topo)
            # Rounding may lift a probability that is nearly 1 above 1.
            probability = float(np.exp(min(score - log_z, 0.0)))
        words = self._words(i)
        parts = []
        for element in self.labels.elements(label, topo, words):
            rival = None
            if runners_up and len(element.key):
                rival = self._runner_up(i, element, label, theta, score)
            parts.append(self._part(i, element, marginals, rival))
        return Explanation(model.task, model.loss, prediction, score, probability, tuple(parts))

    def _words(self, i: int) -> Sequence[str]:
        number = self.first + i
        return self.given.words[number] if number < len(self.given.words) else ()

    def _part(
        self, i: int, element: Element, marginals: Floats | None, rival: RunnerUp | None
    ) -> Part:
        found = []
        for part in element.parts.tolist():
            entries = self.sites.entries(i, part)
            kind = self.model.structure.kinds[entries.kind]
            label = self.slots[entries.kind].text(entries.slot)
            found += [
                Contribution(kind, label, name, value, weight, value * weight)
                for name, value, weight in self._named(i, entries)
            ]
        found.sort(key=lambda one: -one.product)
        probability = None
        if marginals is not None and len(element.key):
            probability = float(min(marginals[element.key].sum(), 1.0))
        return Part(
            element.kind, element.place, element.text, element.label,
            sum(one.product for one in found), probability, tuple(found), rival,
        )  # fmt: skip

    def _named(self, i: int, entries: Entries) -> list[tuple[str, float, float]]:
        """Return the name, the value and the weight of every feature of a part."""
        kind, numbers = entries.kind, entries.features.tolist()
        values, weights = entries.values.tolist(), entries.weights.tolist()
        if self.kernel is not None and kind == 0:
            found = []
            n = self.model.features.support.n_scores  # type: ignore[attr-defined]
            for number, value, weight in zip(numbers, values, weights, strict=True):
                if number < n:
                    near = self.kernel.contributions(entries.row, number, weight)
                    found += [(name, *pair) for name, pair in near]
                else:
                    found.append((self.names[kind].constant, value, weight))
            return found
        names = self._cached(kind, numbers)
        if kind in self.given.behind:
            names = self._behind(i, entries, numbers, names)
        return list(zip(names, values, weights, strict=True))

    def _cached(self, kind: int, numbers: list[int]) -> list[str]:
        """Return names of features, each of which is made once for all examples."""
        known = self.known.setdefault(kind, {})
        new = [number for number in numbers if number not in known]
        known.update(zip(new, self.names[kind].names(new), strict=True))
        return [known[number] for number in numbers]

    def _behind(self, i: int, entries: Entries, numbers: list[int], names: list[str]) -> list[str]:
        """Return the names of slots with what was hashed there."""
        slots = [number for number in numbers if number < self.names[entries.kind].listed]
        given = self.given.behind[entries.kind](self.first + i, entries.row, slots)
        texts = {slot: " or ".join(found) for slot, found in zip(slots, given, strict=True)}
        return [
            f"{name}: {texts[number]}" if texts.get(number) else name
            for number, name in zip(numbers, names, strict=True)
        ]

    def _runner_up(
        self, i: int, element: Element, label: Ints, theta: Floats, score: float
    ) -> RunnerUp | None:
        structure, topo = self.model.structure, self.sites.topologies[i]
        masked = theta.copy()
        masked[element.key] = -np.inf
        best, other = structure.best(masked, topo)
        if not best > -np.inf:
            return None
        words = self._words(i)
        text = self.labels.instead(element, other, words)
        differences = self._differences(
            i, structure.encode(label, topo), structure.encode(other, topo)
        )
        return RunnerUp(text, score - best, differences)

    def _differences(
        self, i: int, mine: tuple[Ints, Floats], other: tuple[Ints, Floats]
    ) -> tuple[Difference, ...]:
        """Return what the features add to the difference of the scores of two labels."""
        counts: dict[int, float] = {}
        for sign, (parts, times) in ((1.0, mine), (-1.0, other)):
            for part, count in zip(parts.tolist(), times.tolist(), strict=True):
                counts[part] = counts.get(part, 0.0) + sign * count
        topo, words = self.sites.topologies[i], self._words(i)
        found: dict[Any, Difference] = {}
        for part, count in counts.items():
            if count == 0.0:
                continue
            entries = self.sites.entries(i, part)
            kind = self.model.structure.kinds[entries.kind]
            text = self.slots[entries.kind].text(entries.slot)
            where = self.labels.where(entries.kind, entries.number, topo, words)
            label, instead = (text, "") if count > 0.0 else ("", text)
            for name, value, weight in self._named(i, entries):
                # A site that a label uses once has one part in each of the two labels.
                value, signed = (count * value, weight) if entries.tied else (value, count * weight)
                one = Difference(where, kind, name, label, instead, value, signed, value * signed)
                key = (entries.kind, entries.number, name, part if entries.tied else -1)
                found[key] = _joined(found[key], one) if key in found else one
        ordered = sorted(found.values(), key=lambda one: -abs(one.product))
        return tuple(one for one in ordered if one.product != 0.0)


def _joined(first: Difference, second: Difference) -> Difference:
    """Return what a feature adds with the label of the prediction and that of the runner-up."""
    if first.value != second.value:
        # Supporting positions that are summed up have no value in common.
        product = first.product + second.product
        return Difference(
            first.where, first.kind, first.feature, first.label or second.label,
            first.instead or second.instead, 1.0, product, product,
        )  # fmt: skip
    weight = first.weight + second.weight
    return Difference(
        first.where, first.kind, first.feature, first.label or second.label,
        first.instead or second.instead, first.value, weight, first.value * weight,
    )  # fmt: skip
