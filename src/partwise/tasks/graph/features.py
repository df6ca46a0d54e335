"""Features of the factors of graphs, and the labels of their vertices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...models.features import Arrays, Features, is_count, same_numbers, sound
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary, fit_rows, transform_rows
from ...problem.rows import Rows
from .examples import EDGE, ReadGraph, is_matrix

if TYPE_CHECKING:
    from ...arrays import Ints
    from ...structures.base import Structure
    from ...structures.graph.structure import Graph, GraphShape

__all__ = ["FactorFeatures", "GraphFeatures", "fit_encoder"]

_FIELDS: Final = {"kind", "domains", "n_inputs", "vocabulary", "constant", "symmetric"}
_LABEL_TYPES: Final = (str, int, float, bool)


@dataclass(frozen=True, eq=False)
class FactorFeatures:
    """The features of a kind of factor.

    Attributes
    ----------
    domains : tuple of str
        The domains of its vertices.
    n_inputs : int or None
        How many features there are, the constant one not counted; None: its factors have no
        features but the constant one.
    vocabulary : Vocabulary or None
        Their names; None if they are numbered.
    constant : float
        The value of a constant last feature; 0: there is none.
    symmetric : bool
        Whether a factor counts twice, with half the values, and the second time with its two
        vertices exchanged.
    """

    domains: tuple[str, ...]
    n_inputs: int | None = None
    vocabulary: Vocabulary | None = None
    constant: float = 1.0
    symmetric: bool = False

    @property
    def count(self) -> int:
        """How many features there are, the constant one counted."""
        return (self.n_inputs or 0) + (self.constant != 0.0)

    @property
    def tied(self) -> bool:
        """Whether its factors share one table of scores.

        Those of one vertex never do: labels are read off them.
        """
        return self.n_inputs is None and len(self.domains) > 1

    def complete(self, rows: Rows | None) -> Rows:
        """Add the constant feature, and count symmetric factors twice."""
        if rows is None:
            return Rows(np.array([0, 1]), np.zeros(1, np.int32), np.array([self.constant]), 1)
        if self.symmetric:
            values = np.ones(len(rows.indices)) if rows.values is None else rows.values
            rows = Rows(rows.indptr, rows.indices, values / 2, rows.n_features)
        if self.constant:
            rows = rows.append_constant(self.constant)
        return rows.take(np.repeat(np.arange(len(rows)), 2)) if self.symmetric else rows


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
    """

    name: ClassVar[str] = "graphs"

    labels: Mapping[str, tuple[Any, ...]]
    kinds: Mapping[str, FactorFeatures]

    def structure(self, max_megabytes: int) -> Graph:
        """Make the structure that has such labels and factors."""
        from ...structures.graph.structure import Graph

        return Graph(
            {domain: len(labels) for domain, labels in self.labels.items()},
            {kind: held.domains for kind, held in self.kinds.items()},
            [kind for kind, held in self.kinds.items() if held.tied],
            max_megabytes,
        )

    def shapes(self, graphs: Sequence[ReadGraph]) -> list[GraphShape]:
        """Describe graphs as the structure takes them, factors in the order of the kinds."""
        from ...structures.graph.structure import GraphShape

        self._check_kinds(graphs)
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

    def features(self, graphs: Sequence[ReadGraph], tally: Tally | None = None) -> list[Rows]:
        """Lay the features of all factors out by kind; those that are not known are dropped.

        Parameters
        ----------
        graphs : sequence
            The graphs.
        tally : Tally or None
            Where to count the features that are given and known, if they are to be counted.
        """
        self._check_kinds(graphs)
        return [
            held.complete(_read_rows(kind, graphs, held, tally)[0])
            for kind, held in self.kinds.items()
        ]

    def _check_kinds(self, graphs: Sequence[ReadGraph]) -> None:
        for i, graph in enumerate(graphs):
            for kind in graph.groups:
                if kind not in self.kinds:
                    raise DataError(
                        f"example {i} (counted from 0) has factors of kind {kind!r}, which were "
                        f"not seen in training; the kinds are {', '.join(self.kinds)}"
                    )

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        """Those of each kind, constants counted."""
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
        """Labels and numbers; of vocabularies, whether there is one."""
        for domain, labels in self.labels.items():
            if not all(type(label) in _LABEL_TYPES for label in labels):
                raise DataError(
                    f"the labels of the domain {domain!r} are neither strings nor numbers, so they "
                    "cannot be saved; rename them and train again"
                )
        kinds = [
            {
                "kind": kind,
                "domains": list(held.domains),
                "n_inputs": held.n_inputs,
                "vocabulary": held.vocabulary is not None,
                "constant": float(held.constant),
                "symmetric": held.symmetric,
            }
            for kind, held in self.kinds.items()
        ]
        named = [[domain, list(labels)] for domain, labels in self.labels.items()]
        return {"labels": named, "kinds": kinds}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The vocabularies, by the number of the kind."""
        arrays: dict[str, npt.NDArray[Any]] = {}
        for number, held in enumerate(self.kinds.values()):
            if held.vocabulary is not None:
                arrays[f"bytes_{number}"], arrays[f"offsets_{number}"] = held.vocabulary.pack()
        return arrays

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> GraphFeatures:
        """Check labels, kinds and vocabularies."""
        sound(data.keys() == {"labels", "kinds"}, "graphs that do not have just labels and kinds")
        sound(isinstance(data["kinds"], list), "the kinds of factors are no list")
        labels = _saved_labels(data["labels"])
        kinds: dict[str, FactorFeatures] = {}
        used = 0
        for number, entry in enumerate(data["kinds"]):
            sound(isinstance(entry, dict) and entry.keys() == _FIELDS, "an odd kind of factors")
            kind = entry["kind"]
            sound(isinstance(kind, str) and kind not in kinds, "a kind of factors without a name")
            kinds[kind] = _saved_features(entry, labels, arrays, number)
            used += 2 * (kinds[kind].vocabulary is not None)
        sound(len(arrays) == used, "graphs with an array that they do not have")
        return cls(labels, kinds)

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """By name, or by number where features have no names; constants are the last."""
        if not isinstance(other, GraphFeatures):
            return super().match(other, structure)
        if dict(self.labels) != dict(other.labels) or self.kinds.keys() != other.kinds.keys():
            raise DataError(
                "the first model has other labels or kinds of factors than the data; start from a "
                "model of the same labels and kinds, or from none"
            )
        return tuple(_same_features(held, other.kinds[kind]) for kind, held in self.kinds.items())


def fit_encoder(
    graphs: Sequence[ReadGraph],
    labels: Mapping[str, tuple[Any, ...]],
    *,
    constant: bool,
    symmetric: bool,
) -> tuple[GraphFeatures, list[Rows]]:
    """Find the kinds of factors of some graphs and number their features.

    Parameters
    ----------
    graphs, labels
        The graphs, and the labels of each domain.
    constant : bool
        Whether factors of several vertices that have features have a constant one besides.
    symmetric : bool
        Whether the edges of simple graphs are to be symmetric.

    Returns
    -------
    encoder, features
        The features are those that the encoder gives for the graphs.
    """
    domains: dict[str, tuple[str, ...]] = {}
    for graph in graphs:
        for kind, group in graph.groups.items():
            if kind not in domains:
                domains[kind] = tuple(graph.domains[v] for v in group.vertices[0])
    kinds: dict[str, FactorFeatures] = {}
    features = []
    # In an order that does not depend on which example comes first.
    for kind, names in sorted(domains.items(), key=lambda item: (len(item[1]), item[0])):
        rows, vocabulary = _read_rows(kind, graphs, None)
        both = symmetric and kind == EDGE
        if both and (len(names) != 2 or names[0] != names[1]):
            raise DataError(
                f"the factors of kind {kind!r} are over the domains {', '.join(names)}, so they "
                "cannot be symmetric; use symmetric=False"
            )
        always = rows is None or (constant and len(names) > 1)
        kinds[kind] = FactorFeatures(
            names,
            None if rows is None else rows.n_features,
            vocabulary,
            (0.5 if both else 1.0) if always else 0.0,
            both,
        )
        features.append(kinds[kind].complete(rows))
    return GraphFeatures(dict(labels), kinds), features


def _read_rows(
    kind: str,
    graphs: Sequence[ReadGraph],
    held: FactorFeatures | None,
    tally: Tally | None = None,
) -> tuple[Rows | None, Vocabulary | None]:
    """Read the features of the factors of a kind; `held` is what is known of them, if anything."""
    given = [(i, graph.groups[kind]) for i, graph in enumerate(graphs) if kind in graph.groups]
    wanted = None
    if held is not None:
        wanted = (
            "none" if held.n_inputs is None else "numbers" if held.vocabulary is None else "names"
        )
    for i, group in given:
        form = _form(group.features)
        if wanted is not None and form != wanted:
            raise DataError(
                f"example {i} (counted from 0): factors of kind {kind!r} with {_FORMS[form]} where "
                f"those before or in training have {_FORMS[wanted]}; give the same for all"
            )
        wanted = form
    if wanted in (None, "none"):
        return None, None
    if wanted == "numbers":
        rows = _numbered_rows(kind, given, None if held is None else held.n_inputs)
        if tally is not None:
            tally.add(len(rows.indices), len(rows.indices))
        return rows, None
    tokens: list[Any] = [[] for _ in graphs]
    for i, group in given:
        tokens[i] = group.features
    try:
        if held is not None and held.vocabulary is not None:
            return transform_rows(tokens, held.vocabulary, tally)[0], held.vocabulary
        rows, vocabulary, _ = fit_rows(tokens)
    except DataError as error:
        # The vectoriser speaks of sequences and tokens, for taggers.
        why = re.sub(
            r"^sequence (\d+), token (\d+)", rf"example \1, kind {kind!r}, factor \2", str(error)
        )
        raise DataError(why) from error
    return rows, vocabulary


_FORMS: Final = {"none": "no features", "numbers": "rows of numbers", "names": "named features"}


def _form(features: Any) -> str:
    return "none" if features is None else "numbers" if is_matrix(features) else "names"


def _numbered_rows(kind: str, given: Sequence[tuple[int, Any]], width: int | None) -> Rows:
    parts = []
    for i, group in given:
        found = int(group.features.shape[1])
        if width is not None and found != width:
            raise DataError(
                f"example {i} (counted from 0): factors of kind {kind!r} with {found} features "
                f"where those before or in training have {width}"
            )
        width = found
        sparse = hasattr(group.features, "tocsr")
        rows = Rows.from_scipy(group.features) if sparse else Rows.from_dense(group.features)
        rows.check_finite(f"example {i} (counted from 0), features of the kind {kind!r}")
        parts.append(rows)
    if not parts:
        return Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, width or 0)
    return Rows.stack(parts)


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


def _saved_features(
    entry: dict[str, Any], labels: Mapping[str, Any], arrays: Arrays, number: int
) -> FactorFeatures:
    domains, n_inputs, constant = entry["domains"], entry["n_inputs"], entry["constant"]
    named = isinstance(domains, list) and domains and all(isinstance(d, str) for d in domains)
    sound(named and all(d in labels for d in domains), "factors of domains that are not there")
    sound(n_inputs is None or is_count(n_inputs), "n_inputs is no count")
    plain = type(constant) in (int, float) and abs(constant) < 1e300
    sound(plain and math.isfinite(constant), "the constant feature is no number")
    sound(constant or n_inputs is not None, "factors without any feature")
    for name in ("vocabulary", "symmetric"):
        sound(type(entry[name]) is bool, f"{name} is neither true nor false")
    both = entry["symmetric"]
    sound(not both or (len(domains) == 2 and domains[0] == domains[1]), "odd symmetric factors")
    vocabulary = None
    if entry["vocabulary"]:
        parts = (f"bytes_{number}", f"offsets_{number}")
        sound(all(part in arrays for part in parts), "odd arrays for a vocabulary")
        vocabulary = Vocabulary.unpack(*(arrays[part] for part in parts))
        sound(len(vocabulary) == n_inputs, "another number of features than of names")
    return FactorFeatures(tuple(domains), n_inputs, vocabulary, float(constant), both)


def _same_features(new: FactorFeatures, old: FactorFeatures) -> Ints:
    """For each new feature the number of the old one, or -1."""
    n, n_old = new.n_inputs or 0, old.n_inputs or 0
    if new.vocabulary is not None and old.vocabulary is not None:
        same = np.array([old.vocabulary.index.get(name, -1) for name in new.vocabulary], np.int64)
    elif new.vocabulary is None and old.vocabulary is None:
        same = same_numbers(n, n_old)
    else:
        same = np.full(n, -1, dtype=np.int64)
    last = [n_old if old.constant else -1] if new.constant else []
    return np.concatenate([same, np.array(last, dtype=np.int64)])
