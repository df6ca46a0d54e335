"""Features of one kind of factor: reading them, keeping them in a file, matching them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...arrays import Ints
from ...errors import DataError, Place
from ...models.features import Arrays, is_count, same_numbers, sound
from ...models.hashed_names import HashedNames, hashed_indices, is_size
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary, fit_rows, transform_rows
from ...problem.rows import Rows, is_matrix
from ..kernels.support import Support
from .examples import ReadGraph

__all__ = ["FactorFeatures", "check_forms", "read_rows", "support_prefix"]

#: What the features of factors may be, as messages call it.
_FORMS: Final = {"none": "no features", "numbers": "rows of numbers", "names": "named features"}


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
    n_hashed : int
        The number of slots that features are hashed to, by their names or, without a vocabulary, by
        their numbers; 0 if they are listed.
    support : Support or None
        Factors of the training data. The features of a factor are then not its inputs, but the
        scores of its joint labels, computed from its similarities to these.
    """

    domains: tuple[str, ...]
    n_inputs: int | None = None
    vocabulary: Vocabulary | None = None
    constant: float = 1.0
    symmetric: bool = False
    n_hashed: int = 0
    support: Support | None = None

    @property
    def count(self) -> int:
        """How many features there are, the constant one counted."""
        if self.support is not None:
            return self.support.n_scores + (self.constant != 0.0)
        n = self.n_hashed if self.n_hashed and self.n_inputs is not None else self.n_inputs or 0
        return n + (self.constant != 0.0)

    @property
    def tied(self) -> bool:
        """Whether its factors share one table of scores.

        Those of one vertex never do, because the labels of vertices are read from them.
        """
        return self.n_inputs is None and len(self.domains) > 1

    def complete(self, rows: Rows | None) -> Rows:
        """Add the constant feature, and count symmetric factors twice."""
        if rows is None:
            return Rows(np.array([0, 1]), np.zeros(1, np.int32), np.array([self.constant]), 1)
        if self.n_hashed and self.vocabulary is None:
            rows = hashed_indices(rows, self.n_hashed)
        if self.support is not None:
            rows = self.support.features(rows)
        rows = self.halved(rows)
        if self.constant:
            rows = rows.append_constant(self.constant)
        return self.doubled(rows)

    def halved(self, rows: Rows) -> Rows:
        """Halve the values of symmetric factors."""
        if not self.symmetric:
            return rows
        values = np.ones(len(rows.indices)) if rows.values is None else rows.values
        return Rows(rows.indptr, rows.indices, values / 2, rows.n_features)

    def doubled(self, rows: Rows) -> Rows:
        """Repeat the rows of symmetric factors."""
        return rows.take(np.repeat(np.arange(len(rows)), 2)) if self.symmetric else rows

    def to_json(self) -> dict[str, Any]:
        """Return what a file holds of it, without the names of the features."""
        return {
            "domains": list(self.domains),
            "n_inputs": self.n_inputs,
            "vocabulary": self.vocabulary is not None,
            "constant": float(self.constant),
            "symmetric": self.symmetric,
            # Only where it is not as in most models, so that their files are as they were.
            **({"n_hashed": int(self.n_hashed)} if self.n_hashed else {}),
            **({} if self.support is None else {"support": self.support.to_json()}),
        }

    @classmethod
    def from_saved(
        cls, entry: dict[str, Any], labels: Mapping[str, Any], arrays: Arrays, number: int
    ) -> FactorFeatures:
        """Check and read what `to_json` returned and the arrays of the kind of this number."""
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
        n_hashed = entry.get("n_hashed", 0)
        sound(type(n_hashed) is int and (n_hashed == 0 or is_size(n_hashed)), "odd n_hashed")
        vocabulary: Vocabulary | None = None
        if entry["vocabulary"] and n_hashed:
            sound(n_inputs == n_hashed, "another number of features than of hashes")
            vocabulary = HashedNames(n_hashed)
        elif entry["vocabulary"]:
            parts = (f"bytes_{number}", f"offsets_{number}")
            sound(all(part in arrays for part in parts), "odd arrays for a vocabulary")
            vocabulary = Vocabulary.unpack(*(arrays[part] for part in parts))
            sound(len(vocabulary) == n_inputs, "another number of features than of names")
        support = None
        if "support" in entry:
            prefix = support_prefix(number)
            held = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
            support = Support.from_saved(entry["support"], held)
            sound(not n_hashed, "supporting factors of hashed features")
            sound(support.rows.n_features == n_inputs, "supporting factors of other inputs")
            width = math.prod(len(labels[domain]) for domain in domains)
            sound(support.n_scores == width, "supporting factors of other labels")
        return cls(tuple(domains), n_inputs, vocabulary, float(constant), both, n_hashed, support)

    def match(self, old: FactorFeatures) -> Ints:
        """Find every feature among those of another model; -1 stands for one that it does not have.

        Features are matched by name, or by number where they have no names.
        """
        if self.support is not None or old.support is not None:
            raise DataError(
                "the features of a model with a kernel are similarities, which cannot be matched; "
                "start without a first model"
            )
        if self.n_hashed != old.n_hashed:
            raise DataError(
                "hashed features can be found again only if their number is the same; start from a "
                "model with the same hashing, or from none"
            )
        n, n_old = self.count - (self.constant != 0.0), old.count - (old.constant != 0.0)
        if self.vocabulary is not None and old.vocabulary is not None and not self.n_hashed:
            same = np.array(
                [old.vocabulary.index.get(name, -1) for name in self.vocabulary], np.int64
            )
        elif (self.vocabulary is None) == (old.vocabulary is None):
            same = same_numbers(n, n_old)
        else:
            same = np.full(n, -1, dtype=np.int64)
        last = [n_old if old.constant else -1] if self.constant else []
        return np.concatenate([same, np.array(last, dtype=np.int64)])


def support_prefix(number: int) -> str:
    """Return how the names of the arrays of the supporting factors of a kind begin."""
    return f"support_{number}_"


def read_rows(
    kind: str,
    graphs: Sequence[ReadGraph],
    held: FactorFeatures | None,
    tally: Tally | None = None,
) -> tuple[Rows | None, Vocabulary | None]:
    """Read the features of the factors of a kind.

    Parameters
    ----------
    kind : str
        The kind.
    graphs : sequence
        The graphs.
    held : FactorFeatures or None
        The features that are known, others being dropped; None: all of them are numbered.
    tally : Tally or None
        Counts the features that are given and those that are known.

    Returns
    -------
    rows, vocabulary
        None, None if these factors have no features. Numbered features have no vocabulary.
    """
    given = [(i, graph.groups[kind]) for i, graph in enumerate(graphs) if kind in graph.groups]
    wanted = None
    if held is not None:
        wanted = (
            "none" if held.n_inputs is None else "numbers" if held.vocabulary is None else "names"
        )
    wanted = check_forms(kind, graphs, wanted)
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
        if error.place.example is not None:
            error.place = error.place._replace(unit="example", part=f"kind {kind!r}, factor")
        raise
    return rows, vocabulary


def check_forms(kind: str, graphs: Sequence[ReadGraph], wanted: str | None) -> str | None:
    """Return what the features of the factors of a kind are; a mixture raises a DataError.

    Parameters
    ----------
    kind, graphs
        The kind, and the graphs.
    wanted : str or None
        What they must be: "none", "numbers" or "names"; None if that is not known.
    """
    for i, graph in enumerate(graphs):
        if kind not in graph.groups:
            continue
        form = _form(graph.groups[kind].features)
        if wanted is not None and form != wanted:
            raise DataError(
                f"factors of kind {kind!r} with {_FORMS[form]} where "
                f"those before or in training have {_FORMS[wanted]}; give the same for all",
                place=Place.nth("example", i),
            )
        wanted = form
    return wanted


def _form(features: Any) -> str:
    return "none" if features is None else "numbers" if is_matrix(features) else "names"


def _numbered_rows(kind: str, given: Sequence[tuple[int, Any]], width: int | None) -> Rows:
    parts = []
    for i, group in given:
        found = int(group.features.shape[1])
        if width is not None and found != width:
            raise DataError(
                f"factors of kind {kind!r} with {found} features "
                f"where those before or in training have {width}",
                place=Place.nth("example", i),
            )
        width = found
        sparse = hasattr(group.features, "tocsr")
        rows = Rows.from_scipy(group.features) if sparse else Rows.from_dense(group.features)
        rows.check_finite(Place.nth("example", i, f"kind {kind!r}"))
        parts.append(rows)
    if not parts:
        return Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, width or 0)
    return Rows.stack(parts)
