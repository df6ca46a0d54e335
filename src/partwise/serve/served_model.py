"""A model that is served: what is told about it, and its answers to requests."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import DataError, PartwiseError
from ..models.model import Model
from ..models.tally import collected_notes
from ..tasks.example_form import Item
from ..tasks.json_rows import RefusedInput
from ..tasks.registry import example_form, task_for
from .bodies import finite
from .faults import Fault
from .limits import Limits
from .words import sentences, tokenizer_for

if TYPE_CHECKING:
    from ..explain.explanation import Explanation, Part

__all__ = ["Ask", "ServedModel", "quiet_tasks"]

#: How many tokens are predicted between two looks at the clock.
_STRETCH: Final = 2000
_MOST_LABELS: Final = 1000


class Ask(NamedTuple):
    """What a client wants to know.

    Attributes
    ----------
    k : int
        How many alternatives per example; 0 for none.
    probabilities : bool
        Whether the probabilities of what is predicted are wanted.
    marginals : bool
        Whether the probabilities of everything else are, too.
    """

    k: int = 0
    probabilities: bool = False
    marginals: bool = False


@contextmanager
def quiet_tasks() -> Iterator[None]:
    """Keep tasks from logging what they find odd in an input, which anybody can send."""
    tasks = logging.getLogger("partwise.tasks")
    level = tasks.level
    tasks.setLevel(logging.ERROR)
    try:
        yield
    finally:
        tasks.setLevel(level)


class ServedModel:
    """A model under a name.

    Parameters
    ----------
    name : str
        Its name in requests.
    model : Model
        The model.
    limits : Limits
        The limits of the server.

    Raises
    ------
    DataError
        If its features are those of another package, of which the input is not known.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "the"}, {"word": "dog"}]]
    >>> tagger = SequenceTagger().fit(X, [["DET", "NOUN"], ["DET", "NOUN"]])
    >>> from partwise.serve import Limits, ServedModel
    >>> served = ServedModel("tags", tagger.model_, Limits())
    >>> served.task, served.facts()["labels"]
    ('tag', ['DET', 'NOUN'])
    """

    def __init__(self, name: str, model: Model, limits: Limits) -> None:
        task = task_for(model)
        self.task, self.summary = task.name, task.summary
        self.name, self.model, self.limits = name, model, limits
        self.form = example_form(model, limits.lengths.get(task.name, task.longest))
        self.sample = self.form.sample()

    def warm_up(self) -> float:
        """Ask for everything once, so that all code is compiled, and return the seconds."""
        began = time.perf_counter()
        items = self._read(self.sample, "sample")
        odds = self.model.probabilistic
        for ask in (Ask(), Ask(2, odds, odds)):
            self.answers(items, ask, lambda: False)
        self.explain(items[:1], 1, True)
        return time.perf_counter() - began

    def facts(self) -> dict[str, Any]:
        """Return what clients may know about the model, which does not include its file."""
        model, certificate = self.model, self.model.certificate
        labels = self.form.classes()
        return {
            "name": self.name,
            "task": self.task,
            "summary": self.summary,
            "structure": model.structure.name,
            "view": self.form.view,
            "labels": labels[:_MOST_LABELS],
            "n_labels": len(labels),
            "n_features": int(sum(model.layout.n_features)),
            "n_weights": int(model.layout.n_weights),
            "loss": model.loss,
            "l2": model.l2,
            "l1": model.l1,
            "probabilities": model.probabilistic,
            "origin": None if model.origin is None else model.origin.objective,
            "certificate": {
                "converged": certificate.converged,
                "objective": finite(certificate.primal),
                "dual": finite(certificate.dual),
                "gap": finite(certificate.gap),
                "relative_gap": finite(certificate.relative_gap),
                "tol": certificate.tol,
                "verdict": certificate.verdict,
            },
            "reads": {"text": self.form.reads_text, "field": self.form.field, **self.form.reads()},
            "max_length": self.form.longest,
            "sample": self.sample,
        }  # fmt: skip

    def read(self, body: dict[str, Any]) -> tuple[list[Item], list[int]]:
        """Read the inputs of a request.

        Returns
        -------
        items, sources
            The examples, and for each of them the number of its input.
        """
        single = "input" in body
        items: list[Item] = []
        sources: list[int] = []
        size = 0
        for i, given in enumerate([body["input"]] if single else body["inputs"]):
            where = "input" if single else f"inputs[{i}]"
            try:
                some = self._read(given, where)
            except RefusedInput as error:
                raise Fault(error.status, error.code, str(error), error.where) from None
            except DataError as error:
                raise Fault(422, "bad_data", str(error), where) from None
            items += some
            sources += [i] * len(some)
            size += sum(item.size for item in some)
            if len(items) > self.limits.max_sentences or size > self.limits.max_tokens:
                raise Fault(
                    413, "too_long",
                    f"a request may have {self.limits.max_sentences:,} examples and "
                    f"{self.limits.max_tokens:,} tokens in all; send fewer at a time",
                    where,
                )  # fmt: skip
        return items, sources

    def _read(self, given: Mapping[str, Any], where: str) -> list[Item]:
        """Read one input, which is several examples if it is a text of several sentences.

        Raises a Fault for an input of another kind, and a RefusedInput for one that the model
        cannot read or that is too long.
        """
        form = self.form
        if "text" in given:
            items = self._from_text(given["text"], f"{where}.text")
        elif form.field in given:
            items = [form.read(given, where)]
        else:
            raise Fault(
                422, "wrong_input",
                f"a model of the task {self.model.task!r} reads {form.field!r}: "
                f"{form.reads()['about']}",
                where,
            )  # fmt: skip
        for item in items:
            form.check_length(item.size, where)
        return items

    def _from_text(self, text: str, where: str) -> list[Item]:
        form = self.form
        if not form.reads_text:
            raise Fault(
                422, "text_is_not_enough",
                f"the model needs more than words; give {form.field!r}: {form.reads()['about']}",
                where,
            )  # fmt: skip
        found = sentences(text, tokenizer_for(self.model))
        if not found:
            raise Fault(422, "no_words", "the text has no words; give at least one", where)
        items = []
        for sentence in found:
            words = [word.text for word in sentence]
            offsets = [[word.start, word.end] for word in sentence]
            items.append(Item(form.from_words(words), words, len(words), offsets))
        return items

    def check_ask(self, body: dict[str, Any]) -> Ask:
        """Return what a request wants to know."""
        ask = Ask(body.get("k", 0), body.get("probabilities", False), body.get("marginals", False))
        if (ask.probabilities or ask.marginals) and not self.model.probabilistic:
            raise Fault(
                422, "no_probabilities",
                f"the model was trained with the {self.model.loss} loss, which has scores and no "
                "probabilities; ask without them",
                "probabilities" if ask.probabilities else "marginals",
            )  # fmt: skip
        return ask

    def answers(
        self, items: Sequence[Item], ask: Ask, late: Callable[[], bool]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Answer some examples, a few at a time.

        Parameters
        ----------
        items, ask
            The examples, and what is wanted.
        late : callable
            Returns whether to give up.

        Returns
        -------
        answers, notes
            One answer per example, and what the model warned about.
        """
        found: list[dict[str, Any]] = []
        notes: list[str] = []
        first = 0
        while first < len(items):
            if late():
                raise Fault(
                    503, "too_slow",
                    f"{first} of {len(items)} examples took all the time that a request has; send "
                    "fewer at a time",
                    headers={"Retry-After": "1"},
                )  # fmt: skip
            last, size = first, 0
            while last < len(items) and (last == first or size + items[last].size <= _STRETCH):
                size += items[last].size
                last += 1
            try:
                with collected_notes() as heard:
                    found += self._answers(items[first:last], ask)
            except PartwiseError as error:
                raise Fault(422, "bad_data", str(error.within(first=first))) from None
            notes += heard
            first = last
        return found, list(dict.fromkeys(notes))

    def _answers(self, items: Sequence[Item], ask: Ask) -> list[dict[str, Any]]:
        """Return one answer per example, by one call of the model for each thing that is wanted.

        Raises a DataError for examples that the model cannot read.
        """
        model, form = self.model, self.form
        examples, more = form.joined(items)
        read = model.features.read(model.structure, examples, **more)
        ranked: list[Any] = []
        if ask.k:
            ranked = model.candidates(read, ask.k, probabilities=ask.probabilities)
            best = [some[0].label for some in ranked]
        else:
            best = model.predict(read)
        tables = model.marginals(read) if ask.probabilities or ask.marginals else None
        found = []
        for i, (item, label) in enumerate(zip(items, best, strict=True)):
            one: dict[str, Any] = {}
            if item.words:
                one["tokens"] = item.words
            if item.offsets is not None:
                one["offsets"] = item.offsets
            one.update(form.to_json(label, item))
            if tables is not None and ask.probabilities:
                one.update(form.odds(tables[i], label, item))
            if tables is not None and ask.marginals:
                one["marginals"] = form.marginals(tables[i], item)
            if ask.k:
                one["alternatives"] = [self._alternative(each, ask, item) for each in ranked[i]]
            found.append(one)
        if ask.probabilities:
            form.add_odds(found, read)
        return found

    def _alternative(self, candidate: Any, ask: Ask, item: Item) -> dict[str, Any]:
        one = {"score": finite(candidate.score)}
        if ask.probabilities:
            one["probability"] = finite(candidate.probability)
        return {**one, **self.form.to_json(candidate.label, item)}

    def explain(self, items: Sequence[Item], top: int, runners_up: bool) -> list[dict[str, Any]]:
        """Explain the predictions for some examples."""
        from ..explain.explainer import explain_examples

        if runners_up and any(item.size > self.limits.max_explained_length for item in items):
            raise Fault(
                413, "too_long",
                f"examples of more than {self.limits.max_explained_length:,} tokens are explained "
                "without runners-up only; set runners_up to false",
                "runners_up",
            )  # fmt: skip
        try:
            examples, more = self.form.joined(items)
            names = self.form.columns
            with collected_notes():
                found = explain_examples(
                    self.model, examples, runners_up=runners_up, feature_names=names, **more
                )
        except PartwiseError as error:
            raise Fault(422, "bad_data", str(error)) from None
        return [_explained(one, top) for one in found]


def _explained(one: Explanation, top: int) -> dict[str, Any]:
    """Return an explanation as JSON. What is left out is added up in `others`."""
    return {
        "score": None if one.score is None else finite(one.score),
        "probability": one.probability,
        "parts": [_part(part, top) for part in one.parts],
    }


def _part(part: Part, top: int) -> dict[str, Any]:
    kept = [*part.speaking_for()[:top], *part.speaking_against()[:top]]
    rest = len(part.contributions) - len(kept)
    rival = part.runner_up
    return {
        "kind": part.kind,
        "place": [int(number) for number in part.place],
        "text": part.text,
        "label": part.label,
        "score": finite(part.score),
        "probability": part.probability,
        "contributions": [
            {"kind": c.kind, "label": c.label, "feature": c.feature, "value": finite(c.value),
             "weight": finite(c.weight), "product": finite(c.product)}
            for c in kept
        ],
        "others": {"count": rest, "sum": finite(part.score - sum(c.product for c in kept))},
        "runner_up": None if rival is None else {
            "label": rival.label,
            "margin": finite(rival.margin),
            "differences": [
                {"where": d.where, "kind": d.kind, "feature": d.feature, "label": d.label,
                 "instead": d.instead, "value": finite(d.value), "weight": finite(d.weight),
                 "product": finite(d.product)}
                for d in rival.differences[:top]
            ],
        },
    }  # fmt: skip
