"""What all exchanges share: reading inputs, asking the model once, and assembling answers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..faults import Fault
from ..words import sentences, tokenizer_for

if TYPE_CHECKING:
    from ...models.model import Model

__all__ = ["Ask", "Exchange", "Item", "finite"]


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


@dataclass(frozen=True, eq=False)
class Item:
    """One example of a request.

    Attributes
    ----------
    example
        What the model reads.
    words : list of str
        What stands at each position, to be shown; empty if there are no words.
    size : int
        Its length.
    offsets : list of list of int or None
        Where each word begins and ends in the text, if there was one.
    transitions : list or None
        The features of neighbouring tokens, for taggers that were trained with some.
    """

    example: Any
    words: list[str]
    size: int
    offsets: list[list[int]] | None = None
    transitions: list[Any] | None = None


class Exchange(ABC):
    """How models of one task are asked and answer.

    Parameters
    ----------
    model : Model
        The model.
    length : int
        The greatest length of an example.
    """

    #: The name of the field of an input that this task reads: "tokens", "features" or "nodes".
    field: ClassVar[str] = "tokens"
    #: How the page shows a label: "label", "spans", "tags", "arcs", "tree" or "vertices".
    view: ClassVar[str]

    def __init__(self, model: Model, length: int) -> None:
        self.model, self.length = model, length

    @property
    def reads_text(self) -> bool:
        """Whether plain text is enough."""
        return False

    @abstractmethod
    def reads(self) -> dict[str, Any]:
        """Return what an input looks like, for programs and for the page."""

    @abstractmethod
    def sample(self) -> dict[str, Any]:
        """Return an input to try."""

    @abstractmethod
    def read_field(self, given: Mapping[str, Any], where: str) -> Item:
        """Read an input that is not text, after it was checked against the schema."""

    @abstractmethod
    def shown(self, label: Any, item: Item) -> dict[str, Any]:
        """Return a label as it is answered."""

    @abstractmethod
    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        """Return the probabilities of the parts of a label, from the table of the model."""

    @abstractmethod
    def marginals(self, table: Any, item: Item) -> Any:
        """Return a whole table of probabilities."""

    def from_words(self, words: list[str]) -> Any:
        """Return an example that is made of words only; called if `reads_text`."""
        raise NotImplementedError

    @property
    def feature_names(self) -> list[str] | None:
        """The names of features that only have numbers, as explanations call them."""
        return None

    def labels(self) -> list[Any]:
        """Return the labels of the model, in the order of the tables of probabilities."""
        return list(self.model.labels)

    def read(self, given: Mapping[str, Any], where: str) -> list[Item]:
        """Read one input, which is several examples if it is a text of several sentences.

        Raises a Fault for an input of another kind, and for one that is too long.
        """
        if "text" in given:
            items = self._from_text(given["text"], f"{where}.text")
        elif self.field in given:
            items = [self.read_field(given, where)]
        else:
            raise Fault(
                422, "wrong_input",
                f"a model of the task {self.model.task!r} reads {self.field!r}: "
                f"{self.reads()['about']}",
                where,
            )  # fmt: skip
        for item in items:
            self.check_length(item.size, where)
        return items

    def check_length(self, size: int, where: str) -> None:
        """Raise a Fault for an example that is too long."""
        if size > self.length:
            raise Fault(
                413, "too_long",
                f"an example of length {size:,}; models of the task {self.model.task!r} take at "
                f"most {self.length:,} here, as the time grows with it",
                where,
            )  # fmt: skip

    def _from_text(self, text: str, where: str) -> list[Item]:
        if not self.reads_text:
            raise Fault(
                422, "text_is_not_enough",
                f"the model needs more than words; give {self.field!r}: {self.reads()['about']}",
                where,
            )  # fmt: skip
        found = sentences(text, tokenizer_for(self.model))
        if not found:
            raise Fault(422, "no_words", "the text has no words; give at least one", where)
        items = []
        for sentence in found:
            words = [word.text for word in sentence]
            offsets = [[word.start, word.end] for word in sentence]
            items.append(Item(self.from_words(words), words, len(words), offsets))
        return items

    def given(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        """Return examples as the model takes them, and further arguments."""
        return [item.example for item in items], {}

    def answers(self, items: Sequence[Item], ask: Ask) -> list[dict[str, Any]]:
        """Return one answer per example.

        Raises a DataError for examples that the model cannot read.
        """
        model = self.model
        examples, more = self.given(items)
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
            one.update(self.shown(label, item))
            if tables is not None and ask.probabilities:
                one.update(self.odds(tables[i], label, item))
            if tables is not None and ask.marginals:
                one["marginals"] = self.marginals(tables[i], item)
            if ask.k:
                one["alternatives"] = [self._alternative(each, ask, item) for each in ranked[i]]
            found.append(one)
        return found

    def _alternative(self, candidate: Any, ask: Ask, item: Item) -> dict[str, Any]:
        one = {"score": finite(candidate.score)}
        if ask.probabilities:
            one["probability"] = finite(candidate.probability)
        return {**one, **self.shown(candidate.label, item)}


def finite(number: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(number) if math.isfinite(number) else None
