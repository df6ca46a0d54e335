"""Features of the factors of graphs, and the labels of their vertices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError, Place
from ...formats.graph_text import GraphFile
from ...models.features import Arrays, Features, Inputs, refuse_others, sound
from ...models.tally import Tally
from .examples import EDGE, ReadGraph, read_graphs
from .factor_features import FactorFeatures, read_rows, support_prefix
from .labels import label_numbers, read_fixed, read_labels
from .sources import Graphs

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure
    from ...structures.graph.structure import Graph, GraphShape

__all__ = [
    "GraphFeatures",
    "factor_features",
    "factor_tables",
    "in_order",
    "note_kinds",
    "vertex_tables",
]

#: What a file holds of a kind of factor.
_FIELDS: Final = {"kind", "domains", "n_inputs", "vocabulary", "constant", "symmetric"}
_FURTHER: Final = {"n_hashed", "support"}
_LABEL_TYPES: Final = (str, int, float, bool)


@final
@dataclass(frozen=True, eq=False)
class GraphFeatures(Features):
    """Features of every factor, by kind, and the labels of every domain.

    Parameters
    ----------
    labels : mapping of str to tuple
        The labels of each domain, in the order of their numbers.
    kinds : mapping of str to FactorFeatures
        The features of each kind of factor.
    factors : bool
        Whether `table` returns the probabilities of factors too. No factors are tied then: those
        that share a table have only the sum of their probabilities. It is not kept in files.
    """

    name: ClassVar[str] = "graphs"

    labels: Mapping[str, tuple[Any, ...]]
    kinds: Mapping[str, FactorFeatures]
    factors: bool = False

    def structure(self, max_megabytes: int) -> Graph:
        """Make the structure that has these labels and kinds of factors."""
        from ...structures.graph.structure import Graph

        return Graph(
            {domain: len(labels) for domain, labels in self.labels.items()},
            {kind: held.domains for kind, held in self.kinds.items()},
            [kind for kind, held in self.kinds.items() if held.tied and not self.factors],
            max_megabytes,
        )

    def read(self, structure: Structure, examples: Any, **more: Any) -> list[ReadGraph]:
        refuse_others(more)
        if isinstance(examples, GraphFile):
            examples = examples.examples(self.featured)
        if isinstance(examples, Graphs):
            examples = examples.graphs
        return read_graphs(examples)

    @property
    def featured(self) -> set[str]:
        """The kinds of factors that have features."""
        return {kind for kind, held in self.kinds.items() if held.n_inputs is not None}

    def rows(
        self, structure: Structure, examples: list[ReadGraph], tally: Tally
    ) -> Iterator[Inputs]:
        self._check_kinds(examples)
        made = [
            held.complete(read_rows(kind, examples, held, tally)[0])
            for kind, held in self.kinds.items()
        ]
        yield Inputs(made, self.shapes(examples), examples=examples)

    def constraints(self, model: Model, examples: list[ReadGraph], fixed: Any) -> list[Any] | None:
        from ...structures.graph.structure import GraphConstraints

        allowed = read_fixed(fixed, examples, self.labels)
        if allowed is None:
            return None
        return [GraphConstraints(allowed=mine) if mine else None for mine in allowed]

    def named(self, model: Model, label: Ints, example: ReadGraph) -> list[Any]:
        pairs = zip(example.domains, label.tolist(), strict=True)
        return [self.labels[domain][number] for domain, number in pairs]

    def numbered(self, model: Model, labels: Any, examples: list[ReadGraph]) -> list[Ints | None]:
        numbers = label_numbers(read_labels(labels, examples), examples, self.labels)
        return [None if (each < 0).any() else each for each in numbers]

    def table(self, model: Model, marginals: Floats, example: ReadGraph) -> Any:
        structure: Any = model.structure
        tables = factor_tables(marginals, example, structure, self.kinds)
        vertices: Any = vertex_tables(tables, example)
        if len(self.labels) == 1:
            vertices = np.array(vertices).reshape(len(vertices), structure.n_labels)
        return (vertices, tables) if self.factors else vertices

    def shapes(self, graphs: Sequence[ReadGraph]) -> list[GraphShape]:
        """Describe graphs as the structure takes them, factors in the order of the kinds."""
        from ...structures.graph.structure import GraphShape

        shapes = []
        for graph in graphs:
            factors: list[tuple[str, tuple[int, ...]]] = []
            for kind, held in self.kinds.items():
                if kind not in graph.groups:
                    continue
                for scope in map(tuple, graph.groups[kind].vertices.tolist()):
                    factors.append((kind, scope))
                    if held.symmetric:
                        factors.append((kind, scope[::-1]))
            shapes.append(GraphShape(graph.domains, tuple(factors)))
        return shapes

    def _check_kinds(self, graphs: Sequence[ReadGraph]) -> None:
        for i, graph in enumerate(graphs):
            for kind in graph.groups:
                if kind not in self.kinds:
                    raise DataError(
                        f"has factors of kind {kind!r}, which were "
                        f"not seen in training; the kinds are {', '.join(self.kinds)}",
                        place=Place.nth("example", i),
                        subject=True,
                    )

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        from ...structures.graph.structure import Graph

        if isinstance(structure, Graph):
            mine = self.structure(structure.max_megabytes)
            if mine.constants() == structure.constants() and mine.kinds == structure.kinds:
                return tuple(held.count for held in self.kinds.values())
        raise DataError(
            f"features for a graph of the factors {', '.join(self.kinds)} do not go with this "
            f"{structure.name}, which has other labels or factors: {', '.join(structure.kinds)}"
        )

    def to_json(self) -> dict[str, Any]:
        for domain, labels in self.labels.items():
            if not all(type(label) in _LABEL_TYPES for label in labels):
                raise DataError(
                    f"the labels of the domain {domain!r} are neither strings nor numbers, so they "
                    "cannot be saved; rename them and train again"
                )
        kinds = [{"kind": kind, **held.to_json()} for kind, held in self.kinds.items()]
        named = [[domain, list(labels)] for domain, labels in self.labels.items()]
        return {"labels": named, "kinds": kinds}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {}
        for number, held in enumerate(self.kinds.values()):
            if held.vocabulary is not None and not held.vocabulary.hashed:
                arrays[f"bytes_{number}"], arrays[f"offsets_{number}"] = held.vocabulary.pack()
            if held.support is not None:
                own = held.support.arrays()
                arrays |= {support_prefix(number) + name: own[name] for name in own}
        return arrays

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> GraphFeatures:
        sound(data.keys() == {"labels", "kinds"}, "graphs that do not have just labels and kinds")
        sound(isinstance(data["kinds"], list), "the kinds of factors are no list")
        labels = _saved_labels(data["labels"])
        kinds: dict[str, FactorFeatures] = {}
        used = 0
        for number, entry in enumerate(data["kinds"]):
            known = isinstance(entry, dict) and entry.keys() - _FURTHER == _FIELDS
            sound(known, "an odd kind of factors")
            kind = entry["kind"]
            sound(isinstance(kind, str) and kind not in kinds, "a kind of factors without a name")
            kinds[kind] = FactorFeatures.from_saved(entry, labels, arrays, number)
            names = kinds[kind].vocabulary
            used += 2 * (names is not None and not names.hashed)
            support = kinds[kind].support
            used += 0 if support is None else len(support.arrays())
        sound(len(arrays) == used, "graphs with an array that they do not have")
        return cls(labels, kinds)

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        if not isinstance(other, GraphFeatures):
            return super().match(other, structure)
        if dict(self.labels) != dict(other.labels) or self.kinds.keys() != other.kinds.keys():
            raise DataError(
                "the first model has other labels or kinds of factors than the data; start from a "
                "model of the same labels and kinds, or from none"
            )
        return tuple(held.match(other.kinds[kind]) for kind, held in self.kinds.items())


def note_kinds(graphs: Sequence[ReadGraph], domains: dict[str, tuple[str, ...]]) -> None:
    """Add the kinds of factors of some graphs, with the domains of their vertices."""
    for graph in graphs:
        for kind, group in graph.groups.items():
            if kind not in domains:
                domains[kind] = tuple(graph.domains[v] for v in group.vertices[0])


def in_order(domains: Mapping[str, tuple[str, ...]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return kinds of factors in an order that does not depend on which example comes first."""
    return sorted(domains.items(), key=lambda item: (len(item[1]), item[0]))


def factor_features(
    kind: str, names: tuple[str, ...], featured: bool, constant: bool, symmetric: bool
) -> FactorFeatures:
    """Return the features of a kind of factor, before they are numbered.

    Parameters
    ----------
    kind, names
        The kind, and the domains of its vertices.
    featured : bool
        Whether its factors have features; they are not numbered yet.
    constant : bool
        Whether factors of several vertices that have features have a constant one besides.
    symmetric : bool
        Whether the edges of simple graphs are to be symmetric.
    """
    both = symmetric and kind == EDGE
    if both and (len(names) != 2 or names[0] != names[1]):
        raise DataError(
            f"the factors of kind {kind!r} are over the domains {', '.join(names)}, so they "
            "cannot be symmetric; use symmetric=False"
        )
    always = not featured or (constant and len(names) > 1)
    value = (0.5 if both else 1.0) if always else 0.0
    return FactorFeatures(names, 0 if featured else None, None, value, both)


def _saved_labels(held: Any) -> dict[str, tuple[Any, ...]]:
    sound(isinstance(held, list), "the labels of the domains are no list")
    labels: dict[str, tuple[Any, ...]] = {}
    for entry in held:
        sound(isinstance(entry, list) and len(entry) == 2, "a domain without labels")
        domain, names = entry
        sound(isinstance(domain, str) and domain not in labels, "a domain without a name")
        known = isinstance(names, list) and names and type(names[0]) in _LABEL_TYPES
        sound(known and len({type(name) for name in names}) == 1, "odd labels of a domain")
        sound(len(set(names)) == len(names), "a label of a domain occurs twice")
        labels[domain] = tuple(names)
    return labels


def factor_tables(
    mu: Floats, graph: ReadGraph, structure: Graph, kinds: Mapping[str, FactorFeatures]
) -> dict[str, Floats]:
    """Cut expected counts into one table per factor, by kind; tied kinds are left out."""
    tables = {}
    at = 0
    for (kind, held), width in zip(kinds.items(), structure.widths, strict=True):
        if kind in structure.tied:
            at += width
            continue
        copies = 2 if held.symmetric else 1
        m = copies * len(graph.groups[kind].vertices) if kind in graph.groups else 0
        sizes = [structure.domains[domain] for domain in held.domains]
        # The copy of a symmetric factor has the same probabilities.
        tables[kind] = mu[at : at + m * width].reshape(m, *sizes)[::copies]
        at += m * width
    return tables


def vertex_tables(tables: Mapping[str, Floats], graph: ReadGraph) -> list[Floats]:
    """Sum the tables of factors, small ones first, to the probabilities of each vertex's labels."""
    found: list[Floats | None] = [None] * len(graph.domains)
    for kind, table in sorted(tables.items(), key=lambda item: math.prod(item[1].shape[1:])):
        if not len(table):
            continue
        for place in range(table.ndim - 1):
            others = tuple(axis for axis in range(1, table.ndim) if axis != place + 1)
            sums = table.sum(axis=others)
            for v, row in zip(graph.groups[kind].vertices[:, place].tolist(), sums, strict=True):
                if found[v] is None:
                    found[v] = row
    return [row for row in found if row is not None]
