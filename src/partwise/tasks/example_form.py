"""The form of examples: names of features, what is shown, and the JSON of inputs and labels."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..formats.tree import Tree
from ..models.hashed_names import slot_name
from .json_rows import RefusedInput

if TYPE_CHECKING:
    from ..models.model import Model
    from ..models.vocabulary import Vocabulary
    from .label_form import LabelForm

__all__ = [
    "INTERCEPT",
    "SENTENCE",
    "TAGS",
    "ExampleForm",
    "FeatureNames",
    "GivenText",
    "Item",
    "columns",
    "key_names",
    "names_in",
    "plain",
]

#: What a feature that does not depend on the input is called.
CONSTANT: Final = "constant"
INTERCEPT: Final = "intercept"
#: How many names are made at a time.
_STRETCH: Final = 1 << 16
#: A sentence for examples of use, and the tags of its words.
SENTENCE: Final = ("The", "dog", "barks")
TAGS: Final = ("DT", "NN", "VBZ")

_Some = Callable[[Sequence[int]], list[str]]


def columns(numbers: Sequence[int]) -> list[str]:
    """Return the names that scikit-learn gives to columns without names."""
    return [f"x{number}" for number in numbers]


@dataclass(frozen=True)
class FeatureNames:
    """The names of the features of one kind of site, made only where they are asked for.

    Attributes
    ----------
    count : int
        The number of features.
    listed : int
        How many of them have names of their own; the others are constant.
    hashed : int
        The number of slots if features are hashed, otherwise 0.
    some : callable
        Returns the names of some of the features that have names of their own.
    constant : str
        The name of a constant feature.
    """

    count: int
    listed: int
    some: _Some = columns
    constant: str = CONSTANT
    hashed: int = 0

    def names(self, numbers: Sequence[int]) -> list[str]:
        """Return the names of some features."""
        own = iter(self.some([number for number in numbers if number < self.listed]))
        return [next(own) if number < self.listed else self.constant for number in numbers]

    def matching(self, pattern: re.Pattern[str]) -> npt.NDArray[np.bool_]:
        """Return for every feature whether a regular expression is found in its name."""
        found = np.zeros(self.count, dtype=np.bool_)
        for begin in range(0, self.count, _STRETCH):
            numbers = range(begin, min(begin + _STRETCH, self.count))
            found[begin : numbers.stop] = [bool(pattern.search(n)) for n in self.names(numbers)]
        return found


@dataclass(frozen=True)
class GivenText:
    """The examples of a user.

    Attributes
    ----------
    examples
        The examples after reading, as `Features.read` returned them.
    words : list of sequences of str
        The words of each example; empty where they are not known.
    behind : mapping of int to callable
        For each kind of site with hashed features a function of the number of an example, the row
        of a site (see `Entries.row`) and some slots, which returns the names that were hashed to
        each of them there.
    """

    examples: Any
    words: list[Sequence[str]]
    behind: Mapping[int, Callable[[int, int, Sequence[int]], list[list[str]]]]


@dataclass(frozen=True, eq=False)
class Item:
    """One example that came as JSON.

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


class ExampleForm:
    """The form of the examples of a model, by its features.

    This class is for features of which nothing is known: an example of JSON is given to the model
    as it is, if the task has a sample of it. The table `EXAMPLE_FORMS` in
    `partwise.tasks.registry` has the forms by the names of features.

    Parameters
    ----------
    model : Model
        The model.
    labels : LabelForm
        The form of its labels.
    longest : int
        The greatest length of an example that is read from JSON.
    """

    #: How the page of a server shows a label: "label", "spans", "tags", "arcs", "tree", "vertices",
    #: or "whole" for any other.
    view: str = "whole"
    #: The name of the field of an input that is read: "tokens", "features" or "nodes".
    field: ClassVar[str] = "features"

    def __init__(self, model: Model, labels: LabelForm, longest: int = sys.maxsize) -> None:
        self.model, self.labels, self.longest = model, labels, longest
        self.features: Any = model.features

    # What explanations ask

    def explained(self) -> Model:
        """Return the model, with a score of its own for every part that is explained."""
        return self.model

    def names(self, given: Sequence[str] | None = None) -> list[FeatureNames]:
        """Return the names of the features of every kind of site.

        Parameters
        ----------
        given : sequence of str or None
            The names of the columns, if the features of the model only have numbers.

        Raises
        ------
        DataError
            If names are given for features that have names, or not as many as there are.
        """
        if given is not None:
            raise DataError(
                "the features of the model have names of their own; leave out the others"
            )
        return [FeatureNames(count, count) for count in self.model.layout.n_features]

    def given(self, examples: Any, more: Mapping[str, Any]) -> GivenText:
        """Read examples and note what can be shown of them."""
        return GivenText(self.features.read(self.model.structure, examples, **more), [], {})

    def scores(self, kind: int) -> _Some:
        """Return the names of features that are scores of the parts of a kind of site."""
        slots = self.labels.slots()[kind]
        return lambda numbers: [f"score of {slots.text(number)}" for number in numbers]

    # What a server asks

    @property
    def reads_text(self) -> bool:
        """Whether plain text is enough."""
        return False

    @property
    def columns(self) -> list[str] | None:
        """The names of features that only have numbers, as clients count them."""
        return None

    def reads(self) -> dict[str, Any]:
        """Return what an input looks like, for programs and for the page."""
        shown = json.dumps(self._example(), ensure_ascii=False)
        return {"kind": "own", "about": f"an example as the model reads it, such as {shown}"}

    def sample(self) -> dict[str, Any]:
        """Return an input to try."""
        return {self.field: self._example()}

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        """Read an input that is not text, after it was checked against the schema.

        Raises a RefusedInput for what the model cannot read.
        """
        example = given[self.field]
        return Item(example, [], len(example))

    @property
    def _sample(self) -> Any:
        """An example, as `Task.sample` has it; None if it has none."""
        from .registry import task_for

        return task_for(self.model).sample

    def _example(self) -> Any:
        if self._sample is None:
            raise DataError(
                f"a model with {self.features.name} features cannot be served, as nothing is known "
                "of its input; use it from Python, with partwise.load_model"
            )
        return self._sample

    def joined(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        """Return examples as the model takes them, and further arguments."""
        return [item.example for item in items], {}

    def from_words(self, words: list[str]) -> Any:
        """Return an example that is made of words only; called if `reads_text`."""
        raise NotImplementedError

    def token_columns(self, tokens: Sequence[Any], n: int, where: str) -> list[Sequence[str]]:
        """Return the columns of tokens: n strings each, or one string where n is 1."""
        found = []
        for t, token in enumerate(tokens):
            values = [token] if isinstance(token, str) else token
            fits = isinstance(values, list) and len(values) == n
            if not fits or not all(isinstance(value, str) for value in values):
                place, about = f"{where}[{t}]", self.reads()["about"]
                raise RefusedInput(
                    "wrong_columns", f"{place} is not a token of this model; {about}", place
                )
            found.append(values)
        return found

    def check_length(self, size: int, where: str) -> None:
        """Raise a RefusedInput for an example that is too long."""
        if size > self.longest:
            raise RefusedInput(
                "too_long",
                f"an example of length {size:,}; models of the task {self.model.task!r} take at "
                f"most {self.longest:,} here, as the time grows with it",
                where,
                status=413,
            )

    # Labels as JSON

    def classes(self) -> list[Any]:
        """Return the labels of the model, in the order of the tables of probabilities."""
        return list(self.model.labels)

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        """Return a label as it is answered."""
        return {"label": plain(label)}

    def odds(self, table: Any, label: Any, item: Item) -> dict[str, Any]:
        """Return the probabilities of the parts of a label, from the table of the model."""
        return {}

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        """Add probabilities that take more than the tables of the model to the answers."""
        return

    def marginals(self, table: Any, item: Item) -> Any:
        """Return a whole table of probabilities."""
        return table.tolist() if isinstance(table, np.ndarray) else plain(table)

    # An example of use

    def file(self) -> tuple[str, list[str]] | None:
        """Return the name of a new file and the options for its format.

        None if files cannot be given to the model.
        """
        return None

    def program(self) -> tuple[list[str], str]:
        """Return the imports and the line of a program that makes examples to predict."""
        shown = "..." if self._sample is None else repr(self._sample)
        return [], f"examples = [{shown}]"


def names_in(
    names: Vocabulary | None, listed: int, count: int | None = None, hashed: int = 0
) -> FeatureNames:
    """Return the names of features that a vocabulary has, if there is one.

    Parameters
    ----------
    names : Vocabulary or None
        The vocabulary.
    listed, hashed
        As in `FeatureNames`; the number of slots is that of the vocabulary if there is one.
    count : int or None
        The number of features; None if all are listed.
    """
    every = listed if count is None else count
    if names is None and hashed:

        def slots(numbers: Sequence[int]) -> list[str]:
            return [slot_name(number, hashed) for number in numbers]

        return FeatureNames(every, listed, slots, hashed=hashed)
    some = columns if names is None else names.some
    slotted = len(names) if names is not None and names.hashed else 0
    return FeatureNames(every, listed, some, hashed=slotted)


def key_names(table: Any) -> FeatureNames:
    """Return the names of features that a table finds by their keys: those of arcs and spans."""
    n = table.n_features
    if table.n_hashed:
        return names_in(None, n, hashed=table.n_hashed)
    return FeatureNames(n, n, lambda numbers: table.describe_keys(table.keys[list(numbers)]))


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; a tree as its brackets, nan and inf as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Tree):
        return str(value)
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if hasattr(value, "item"):  # a number of numpy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
