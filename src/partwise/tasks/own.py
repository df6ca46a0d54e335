"""Structures of one's own: examples that are rows, their scores by part, and the task of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from ..arrays import Floats, Ints
from ..errors import DataError, MismatchError
from ..models.features import Inputs
from ..models.training_examples import take_examples
from .base import Task
from .comparison import (
    Comparison,
    Odds,
    Quote,
    Tallies,
    by_type,
    columns_of,
    confused,
    spans_measures,
)
from .label_form import Element, LabelForm
from .source import Source, named

if TYPE_CHECKING:
    from ..models.model import Model
    from ..structures.base import Structure

__all__ = ["OwnTask", "PartComparison", "RowExamples", "compare_parts"]

#: The parts of a site are listed if there are no more of them.
_MOST_PARTS: Final = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class RowExamples(Inputs, Source):
    """Examples that are rows of features already, with their labels.

    Attributes
    ----------
    rows, shapes
        As in `partwise.models.features.Inputs`.
    structure : Structure
        The structure of the labels.
    gold : sequence of ndarray
        The right label of each example, as the structure takes it.
    """

    structure: Structure
    gold: Sequence[Any]

    def __len__(self) -> int:
        return len(self.shapes)

    def take(self, which: Sequence[int]) -> RowExamples:
        kept = np.zeros(len(self), dtype=np.bool_)
        kept[list(which)] = True
        # The rows of examples are kept in their order.
        order = np.flatnonzero(kept).tolist()
        rows = take_examples(self.structure, self.rows, self.shapes, kept)
        return RowExamples(
            rows=rows, shapes=[self.shapes[i] for i in order], structure=self.structure,
            gold=[self.gold[i] for i in order],
        )  # fmt: skip


class OwnTask(Task[RowExamples]):
    """What is known of a model whose task is none of the command line.

    Parameters
    ----------
    model : Model
        The model, of which `partwise.models.fit.fit_model` made one, for example.
    """

    format = "none"

    def __init__(self, model: Model) -> None:
        self.name = model.task  # type: ignore[misc]
        self.summary = f"labels with the structure {model.structure.name}"  # type: ignore[misc]

    def check(self, model: Model) -> None:
        return

    def source(self, model: Model, X: Any, y: Any = None, **more: Any) -> RowExamples:
        """Return rows of features with their shapes, as `Inputs` or a pair, and the labels."""
        self.refuse_others(more)
        pair = (X.rows, X.shapes) if isinstance(X, Inputs) else X
        if not isinstance(pair, tuple) or len(pair) != 2 or y is None:
            raise DataError(
                f"examples of the task {self.name!r} are rows of features and their shapes; give "
                "the pair (rows, shapes), and y, one label per example"
            )
        rows, shapes = pair
        if len(y) != len(shapes):
            raise DataError(f"{len(y)} labels for {len(shapes)} examples; give one per example")
        return RowExamples(rows=rows, shapes=shapes, structure=model.structure, gold=list(y))

    def _no_files(self) -> NoReturn:
        raise MismatchError(f"the task {self.name!r} reads no files; use the model from Python")

    def read(self, path: str, given: Any, like: Any = None) -> RowExamples:
        self._no_files()

    def read_for(self, model: Model, path: str, labelled: bool, format: Any = None) -> RowExamples:
        self._no_files()

    def predict(self, model: Model, source: RowExamples, **how: Any) -> Any:
        self._no_files()


def compare_parts(
    model: Model, source: Source, given: Any, n_jobs: int | None, probabilities: bool
) -> PartComparison:
    """Compare the parts of labels; parameters are those of `Task.compare`."""
    if isinstance(source, RowExamples):
        return PartComparison(model, source, source.gold, n_jobs, probabilities, named(source))
    X, y, more = source.given()
    read = model.features.read(model.structure, X, **more)
    gold = model.features.numbered(model, y, read)
    return PartComparison(model, read, gold, n_jobs, probabilities, named(source))


class PartComparison(Comparison):
    """The parts of labels beside those of the right ones, whatever the structure is.

    Parameters
    ----------
    model : Model
        The model.
    examples
        What the model reads.
    gold : sequence
        The right labels as the structure takes them; None for one that the model does not know.
    n_jobs : int or None
        The number of threads.
    probabilities : bool
        Whether to compute how sure the model was.
    path : str
        The file, for messages.
    """

    example = "example"
    position = unit = "part"

    def __init__(
        self,
        model: Model,
        examples: Any,
        gold: Sequence[Any],
        n_jobs: int | None,
        probabilities: bool,
        path: str,
    ) -> None:
        from .registry import label_form

        self.path, self.form = path, label_form(model)
        self.model = model
        #: For each example the labels of its parts with their kinds and places.
        self.gold: list[list[Any]] = []
        self.found: list[list[Any]] = []
        odds: list[tuple[int, float, bool]] = []
        for inputs in model.inputs(examples):
            labels = model.predict(inputs.rows, inputs.shapes, n_jobs=n_jobs)
            tables = [None] * len(labels)
            if probabilities:
                tables = model.marginals(inputs.rows, inputs.shapes, n_jobs=n_jobs)
            for label, shape, mu in zip(labels, inputs.shapes, tables, strict=True):
                topo = model.structure.topology(shape)
                right = _parts(self.form, gold[len(self.gold)], topo)
                found = _parts(self.form, label, topo)
                if mu is not None:
                    odds += _odds(len(self.gold), found, right, mu)
                self.gold.append([*right])
                self.found.append([*found])
        if probabilities:
            self.odds = Odds.of("part", odds)

    @property
    def lengths(self) -> Ints:
        return np.array([len(parts) for parts in self.gold], dtype=np.int64)

    @cached_property
    def tallies(self) -> Tallies:
        tallies = Tallies()
        for i, pair in enumerate(zip(self.gold, self.found, strict=True)):
            tallies.sets(i, *pair)
        return tallies

    @cached_property
    def measures(self) -> Mapping[str, tuple[Floats, Floats]]:
        pairs = zip(self.gold, self.found, strict=True)
        complete = columns_of((set(g) == set(f), 1.0) for g, f in pairs)
        return {**spans_measures(self.tallies, len(self.gold)), "complete": complete}

    @property
    def confusions(self) -> Counter[tuple[str, str]]:
        pairs = Counter[tuple[str, str]]()
        for gold, found in zip(self.gold, self.found, strict=True):
            pairs += confused(gold, found)
        return pairs

    @property
    def prints(self) -> Sequence[tuple[int, int]]:
        return [(i, hash(tuple(parts))) for i, parts in enumerate(self.gold)]

    def quote(self, i: int) -> Quote:
        right, found = ({at: label for label, at in side[i]} for side in (self.gold, self.found))
        places = sorted({*right, *found})
        words = [f"{kind} {'-'.join(map(str, at))}" for kind, at in places]
        wrong = frozenset(at[1] for at in found if right.get(at) != found[at])
        wanted, got = ([side.get(at, "O") for at in places] for side in (right, found))
        return Quote("tags", words, wanted, got, wrong)

    def known(self) -> list[str]:
        few = (slot for slot in self.form.slots() if slot.width <= _MOST_PARTS)
        return list(dict.fromkeys(slot.text(part) for slot in few for part in range(slot.width)))

    def metrics(self) -> dict[str, Any]:
        scores = {name: self.value(name) for name in self.measures}
        return {**scores, "by_label": by_type(self.by_label)}

    def text(self) -> str:
        whole = f"examples right as a whole  {self.value('complete'):.4%} of {len(self.gold):,}"
        return f"{whole}\nparts, in per cent:\n{self.by_label.table()}"


def _parts(form: LabelForm, label: Any, topo: Ints) -> dict[tuple[str, Any], Element]:
    """Return the elements of a label by what it has where; none if the model does not know it."""
    elements = [] if label is None else form.elements(label, topo, ())
    return {(one.label, (one.kind, one.place)): one for one in elements}


def _odds(
    i: int, found: Mapping[Any, Element], right: Mapping[Any, Element], mu: Any
) -> Iterator[tuple[int, float, bool]]:
    """Yield the probability of each predicted element, and whether the right label has it."""
    for at, one in found.items():
        if len(one.key):
            yield i, float(mu[one.key].sum()), at in right
