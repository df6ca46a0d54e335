"""Structures of one's own: their task, and examples that are rows, with their form and scores."""

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
from ..problem.rows import Rows
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
from .example_form import ExampleForm, Item
from .json_rows import RefusedInput, rows_of
from .label_form import Element, LabelForm
from .source import Source, named

if TYPE_CHECKING:
    from ..models.model import Model
    from ..structures.base import Structure

__all__ = ["OwnTask", "PartComparison", "RowExamples", "RowsForm", "compare_parts"]

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
    """The task of a model that none of the tasks of the command line trained.

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


class RowsForm(ExampleForm):
    """Rows of numbers, for features of which nothing is known."""

    def reads(self) -> dict[str, Any]:
        kinds = self.model.structure.kinds
        about = (
            'an object of the "shape" of an example and the "rows" of its features: for each of '
            f"{', '.join(kinds)} a list with one list of numbers, or one object of the values that "
            "are not 0 by the number of their feature, counted from 1, per site"
        )
        return {"kind": "rows", "kinds": list(kinds), "about": about}

    def sample(self) -> dict[str, Any]:
        return {"features": self._smallest()}

    def _smallest(self) -> dict[str, Any]:
        """Return the features of a small example, of the first shape that the structure takes."""
        structure: Any = self.model.structure
        for shape in (2, [2, 2], 1, [1, 1]):
            try:
                topo = structure.topology(tuple(shape) if isinstance(shape, list) else shape)
                kinds = structure.sites(topo).kind
            except Exception:
                # Shapes of other structures may be anything.
                continue
            if np.max(shape) <= len(kinds):
                sites = np.bincount(kinds, minlength=len(structure.kinds)).tolist()
                rows: dict[str, Any] = {
                    kind: [{}] * n for kind, n in zip(structure.kinds, sites, strict=True)
                }
                return {"shape": shape, "rows": rows}
        return {"shape": 0, "rows": {kind: [] for kind in structure.kinds}}

    def read(self, given: Mapping[str, Any], where: str) -> Item:
        features, place = given["features"], f"{where}.features"
        kinds = self.model.structure.kinds
        rows = features.get("rows") if isinstance(features, dict) else None
        if not isinstance(rows, dict) or "shape" not in features or rows.keys() != set(kinds):
            raise RefusedInput("wrong_input", f"{place} is not {self.reads()['about']}", place)
        size = sum(len(some) for some in rows.values() if isinstance(some, list))
        self.check_length(size, place)
        counts = self.model.layout.n_features
        made = [
            rows_of(rows[kind], n, f"{place}.rows.{kind}")
            for kind, n in zip(kinds, counts, strict=True)
        ]
        shape = self._shape(features["shape"], size, f"{place}.shape")
        try:
            topo = self.model.structure.topology(shape)
        except Exception as error:
            raise RefusedInput("wrong_input", f"{place}.shape: {error}", place) from None
        found = np.bincount(self.model.structure.sites(topo).kind, minlength=len(kinds))
        for kind, some, n in zip(kinds, made, found.tolist(), strict=True):
            if len(some) != n:
                raise RefusedInput(
                    "wrong_length", f"{len(some)} rows for {n} sites", f"{place}.rows.{kind}"
                )
        return Item((made, shape), [], size)

    @staticmethod
    def _shape(given: Any, size: int, where: str) -> Any:
        """Return the shape of an example: a number, or several."""
        numbers = given if isinstance(given, list) else [given]
        # The time and the memory of an example grow with its shape.
        if not all(type(number) is int and 0 <= number <= size for number in numbers):
            why = f"{where} is not a number, or a list of numbers, from 0 to the number of rows"
            raise RefusedInput("wrong_input", why, where)
        return tuple(given) if isinstance(given, list) else given

    def to_json(self, label: Any, item: Item) -> dict[str, Any]:
        topo = self.model.structure.topology(item.example[1])
        parts = [
            {"kind": one.kind, "place": list(one.place), "label": one.label}
            for one in self.labels.elements(label, topo, ())
        ]
        return {"label": np.asarray(label).tolist(), "parts": parts}

    def add_odds(self, answers: Sequence[dict[str, Any]], examples: Any) -> None:
        best = [np.array(one["label"], dtype=np.int64) for one in answers]
        odds = np.exp(self.model.log_proba(examples.rows, examples.shapes, best))
        for one, p in zip(answers, odds.tolist(), strict=True):
            one["probability"] = min(p, 1.0)

    def joined(self, items: Sequence[Item]) -> tuple[Any, dict[str, Any]]:
        several = zip(*(item.example[0] for item in items), strict=True)
        rows = [Rows.stack(list(some)) for some in several]
        return Inputs(rows, [item.example[1] for item in items]), {}

    def program(self) -> tuple[list[str], str]:
        imports = ["from partwise.models.features import Inputs"]
        return imports, "examples = Inputs(rows, shapes)  # one Rows per kind of site"
