"""Features of positions and of the transitions between them, for classifiers and taggers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from ...arrays import Floats, Ints
from ...errors import DataError
from ...formats.columns import Columns
from ...formats.svmlight import SvmlightData
from ...models.features import (
    Arrays,
    Features,
    Inputs,
    is_count,
    refuse_others,
    same_numbers,
    sound,
)
from ...models.hashed_names import HashedNames, hashed_indices, is_size
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows, is_matrix
from ..kernels.support import Support
from .column_file import ColumnFile, as_columns
from .examples import read_fixed, read_labels
from .extraction import MAX_COLUMNS, ColumnTemplates
from .sources import Sequences, Table
from .template_file import templates_from_json
from .tokens import Tokens, cut

if TYPE_CHECKING:
    from ...models.model import Model
    from ...structures.base import Structure

__all__ = ["PositionFeatures", "site_rows"]

_VOCABULARIES: Final = ("vocabulary", "transition_vocabulary")
#: The prefix of the names of the arrays of the supporting positions.
_SUPPORT: Final = "support_"
_TRANSITION_SUPPORT: Final = "transition_support_"
#: The number of sequences that are checked to distinguish columns from names of features.
_LOOKED_AT: Final = 20
#: One row with a constant feature, which stands for all sites of a kind, and no rows at all.
_CONSTANT: Final = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
#: A row without features, for all sites.
_BARE: Final = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), None, 0)
_NOTHING: Final = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
_FIELDS: Final = {"n_inputs", "intercept", "templates", "n_transition_features", *_VOCABULARIES}


@final
@dataclass(frozen=True, eq=False)
class PositionFeatures(Features):
    """Features of every position and, if requested, of every transition.

    The first kind of site of the structure is a position, with one row per position. The kind
    "transition" may have features of its own and a constant feature. All other kinds have one
    constant feature.

    Parameters
    ----------
    n_inputs : int
        The number of input columns of a column file; without a vocabulary, the number of features
        of a position, without the intercept.
    vocabulary : Vocabulary or None
        The names of the features of positions; None if features are numbered.
    templates : ColumnTemplates or None
        How features are made from column files.
    intercept : float
        The value of the constant last feature of every position; 0 if there is none.
    n_transition_features : int or None
        The number of features of transitions, without the constant; None if transitions do not
        depend on the input.
    transition_vocabulary : Vocabulary or None
        The names of the features of transitions, if they have names.
    support : Support or None
        Positions of the training data. The features of a position are then not its inputs, but the
        scores of the labels, computed from its similarities to these positions. The vocabulary and
        the templates are those of the inputs.
    transition_support : Support or None
        The same for transitions that have features.
    plain_transition : bool
        Whether the kind "transition" has a constant feature.
    n_hashed : int
        The number of slots that features are hashed to, by their names or, without a vocabulary, by
        their numbers; 0 if they are listed.
    """

    name: ClassVar[str] = "positions"

    n_inputs: int
    vocabulary: Vocabulary | None = None
    templates: ColumnTemplates | None = None
    intercept: float = 0.0
    n_transition_features: int | None = None
    transition_vocabulary: Vocabulary | None = None
    support: Support | None = None
    plain_transition: bool = True
    n_hashed: int = 0
    transition_support: Support | None = None

    @cached_property
    def n_features(self) -> int:
        """The number of features of positions, without the intercept."""
        if self.support is not None:
            return self.support.n_scores
        if self.n_hashed:
            return self.n_hashed
        return self.n_inputs if self.vocabulary is None else len(self.vocabulary)

    @property
    def input_transitions(self) -> bool:
        """Whether transitions have features of their own."""
        return self.n_transition_features is not None

    @property
    def _n_steps(self) -> int:
        """The number of features of transitions, without the constant."""
        support = self.transition_support
        return (self.n_transition_features or 0) if support is None else support.n_scores

    def feature_counts(self, structure: Structure) -> tuple[int, ...]:
        if self.input_transitions and getattr(structure, "tied", True):
            raise DataError(
                f"features for the transitions of a {structure.name} that does not tell them "
                "apart; leave them out, or make it with tied=False"
            )
        counts = [self.n_features + (self.intercept != 0.0)]
        for kind, width in zip(structure.kinds[1:], structure.widths[1:], strict=True):
            if kind == "transition":
                counts.append(self._n_steps + self.plain_transition)
            else:
                counts.append(int(width > 0))
        return tuple(counts)

    def read(
        self,
        structure: Structure,
        examples: Any,
        *,
        lengths: Any = None,
        X_transitions: Any = None,
        **more: Any,
    ) -> Tokens:
        """Read tokens of any known form.

        Parameters
        ----------
        structure : Structure
            The structure of the model.
        examples
            Sequences of tokens, as :class:`partwise.SequenceTagger` takes them; a column file, as
            :func:`partwise.formats.read_columns` reads it; for a model that was trained on
            column files, sequences of tokens that are the columns of a file (one string, or a list
            of strings); for a classifier, a matrix or an svmlight file.
        lengths : array-like of int or None
            If `examples` is one matrix of all tokens: the number of tokens of each sequence.
        X_transitions
            The features of neighbouring tokens, if the model uses them.
        """
        if more:
            refuse_others(more)
        if isinstance(examples, Tokens):
            return examples
        if structure.name == "multiclass" and is_matrix(examples):
            examples = Table(
                examples.tocsr() if hasattr(examples, "tocsr") else np.asarray(examples)
            )
        source, tokens = self._read(examples, lengths, X_transitions)
        tokens = source.tokens(self) if tokens is None else tokens
        unknown = self.templates is not None and tokens.tally.nothing_known
        if unknown and getattr(source, "by_name", True):
            raise self._names_unknown(tokens.tally)
        if (tokens.transitions is None) != (self.n_transition_features is None):
            if tokens.transitions is None:
                raise DataError("the model was trained with X_transitions; give them here too")
            raise DataError("the model was trained without X_transitions; leave them out")
        return tokens

    def source(
        self, examples: Any, lengths: Any = None, X_transitions: Any = None
    ) -> ColumnFile | Sequences | Table:
        """Return examples of any known form as a source."""
        return self._read(examples, lengths, X_transitions)[0]

    def _read(
        self, examples: Any, lengths: Any, X_transitions: Any
    ) -> tuple[ColumnFile | Sequences | Table, Tokens | None]:
        """Return examples as a source, and their tokens if all of them had to be looked at."""
        if isinstance(examples, (ColumnFile, Sequences, Table)):
            return examples, None
        if isinstance(examples, Columns):
            return ColumnFile(examples), None
        if isinstance(examples, SvmlightData):
            return Table(examples.rows, path=examples.path), None
        if isinstance(examples, Rows):
            return Table(examples), None
        columns = None
        if self.templates is not None and lengths is None:
            columns = as_columns(examples, self.n_inputs)
        if columns is None:
            return Sequences.of(examples, lengths, X_transitions), None
        # Strings may be columns or names of features. They are columns, unless the model only knows
        # them as names.
        found, some = ColumnFile(columns), range(min(_LOOKED_AT, len(columns.lengths)))
        whole = len(some) == len(columns.lengths)
        tokens = (found if whole else found.take(some)).tokens(self)
        if tokens.tally.nothing_known:
            named = Sequences.of(examples, None, X_transitions)
            if not named.take(some).tokens(self).tally.nothing_known:
                return named, None
        return found, tokens if whole else None

    def _names_unknown(self, tally: Tally) -> DataError:
        """Return the error for named features if the model was trained on columns."""
        assert self.templates is not None
        form = "a string" if self.n_inputs == 1 else f"a list of {self.n_inputs} strings"
        names = self.templates.examples
        return DataError(
            "the features of the model are made by templates from the columns of a file, and not "
            f"one of the {tally.given:,} features of X is among them; give each token as its "
            f"columns ({form}), or by the names that the templates give ({', '.join(names)})"
        )

    def rows(self, structure: Structure, examples: Tokens, tally: Tally) -> Iterator[Inputs]:
        tally.add(examples.tally.given, examples.tally.known)
        lengths = examples.lengths
        if structure.name == "multiclass" and (lengths != 1).any():
            raise DataError("a classifier takes one row per example; give a matrix")
        made = self.laid_out(structure, examples.rows, examples.transitions)
        yield Inputs(made, lengths, examples=lengths.tolist())

    def constraints(self, model: Model, examples: Tokens, fixed: Any) -> list[Any] | None:
        if fixed is None:
            return None
        from ...structures.base import Constraints

        allowed = read_fixed(fixed, examples.lengths, model.label_index)
        return [Constraints(allowed=mine) if mine else None for mine in allowed]

    def named(self, model: Model, label: Ints, example: int) -> Any:
        names = model.labels
        if model.structure.name == "multiclass":
            return names[int(label[0])]
        return [names[number] for number in label.tolist()]

    def numbered(self, model: Model, labels: Any, examples: Tokens) -> list[Ints | None]:
        flat = model.numbers_of(read_labels(labels, examples.lengths, examples.stacked))
        return [None if (y < 0).any() else y for y in cut(flat, examples.lengths)]

    def table(self, model: Model, marginals: Floats, example: int) -> Floats:
        # The parts of the positions come first.
        n = len(model.labels)
        return marginals[: example * n].reshape(example, n)

    def laid_out(
        self, structure: Structure, rows: Rows, transition_rows: Rows | None = None
    ) -> list[Rows]:
        """Return the rows of every kind of site; unknown features are dropped.

        Parameters
        ----------
        structure : Structure
            The structure that has the sites.
        rows : Rows
            The features of every position.
        transition_rows : Rows or None
            The features of every transition, if transitions have features.
        """
        if (self.n_transition_features is None) != (transition_rows is None):
            raise DataError(
                f"the model has {'' if self.input_transitions else 'no '}features for transitions; "
                f"{'give transition rows too' if self.input_transitions else 'leave them out'}"
            )
        support, steps = self.support, transition_rows
        if self.n_hashed:
            # Named features have been hashed where they were read.
            rows = rows if self.vocabulary is not None else hashed_indices(rows, self.n_hashed)
            if steps is not None and self.transition_vocabulary is None:
                steps = hashed_indices(steps, self.n_hashed)
        if support is not None:
            rows = support.features(rows)
        elif rows.n_features != self.n_features:
            rows = rows.resize(self.n_features)
        if steps is not None:
            held = self.transition_support
            steps = steps.resize(self._n_steps) if held is None else held.features(steps)
            steps = steps.append_constant(1.0) if self.plain_transition else steps
        first = rows.append_constant(self.intercept) if self.intercept else rows
        return site_rows(structure, first, steps, self.plain_transition)

    def _supports(self) -> dict[str, Support]:
        held = {"support": self.support, "transition_support": self.transition_support}
        return {name: support for name, support in held.items() if support is not None}

    def to_json(self) -> dict[str, Any]:
        support = {name: held.to_json() for name, held in self._supports().items()}
        # Only where it is not as in most models, so that their files are as they were.
        bare: dict[str, Any] = {} if self.plain_transition else {"plain_transition": False}
        if self.n_hashed:
            bare["n_hashed"] = int(self.n_hashed)
        separator = "=" if self.vocabulary is None else self.vocabulary.separator
        return {
            **support,
            **bare,
            **({} if separator == "=" else {"separator": separator}),
            "n_inputs": int(self.n_inputs),
            "intercept": float(self.intercept),
            "templates": None if self.templates is None else self.templates.to_json(),
            "n_transition_features": self.n_transition_features,
            **{name: getattr(self, name) is not None for name in _VOCABULARIES},
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {
            f"{kind}_{name}": array
            for kind, held in self._supports().items()
            for name, array in held.arrays().items()
        }
        for name in _VOCABULARIES:
            names = getattr(self, name)
            if names is not None and not names.hashed:
                arrays[f"{name}_bytes"], arrays[f"{name}_offsets"] = names.pack()
        return arrays

    @classmethod
    def from_saved(cls, data: dict[str, Any], arrays: Arrays) -> PositionFeatures:
        further = {"support", "transition_support", "plain_transition", "separator", "n_hashed"}
        fields = data.keys() - further
        sound(fields == _FIELDS, f"positions that do not have just {', '.join(_FIELDS)}")
        n_inputs, intercept, steps = (
            data[name] for name in ("n_inputs", "intercept", "n_transition_features")
        )
        sound(is_count(n_inputs), "n_inputs is no count")
        number = type(intercept) in (int, float) and abs(intercept) < 1e300
        sound(number and math.isfinite(intercept), "the intercept is no number")
        sound(steps is None or is_count(steps), "n_transition_features is no count")
        plain = data.get("plain_transition", True)
        sound(type(plain) is bool, "plain_transition is neither true nor false")
        n_hashed = data.get("n_hashed", 0)
        sound(type(n_hashed) is int and (n_hashed == 0 or is_size(n_hashed)), "odd n_hashed")
        held = {name: _vocabulary(data, arrays, name, n_hashed) for name in _VOCABULARIES}
        known = {f"{name}_{part}" for name in _VOCABULARIES for part in ("bytes", "offsets")}
        own = known | {name for name in arrays if name.startswith((_SUPPORT, _TRANSITION_SUPPORT))}
        sound(arrays.keys() <= own, "positions with an array that they do not have")
        templates = None
        if data["templates"] is not None:
            templates = templates_from_json(data["templates"])
            sound(held["vocabulary"] is not None, "there are templates and no vocabulary")
            sound(templates.n_columns <= n_inputs, "the templates look at missing columns")
            sound(n_inputs <= MAX_COLUMNS, f"{n_inputs} columns; there can be {MAX_COLUMNS}")
            sound(
                templates.transitions is None or held["transition_vocabulary"] is not None,
                "templates of transitions that have no names",
            )
        names = held["transition_vocabulary"]
        sound(names is None or len(names) == steps, "another number of transition features")
        sound(not n_hashed or steps in (None, n_hashed), "another number of transition features")
        names_of = held["vocabulary"]
        n_known = n_inputs if names_of is None else len(names_of)
        support = _saved_support(data, arrays, "support", n_known)
        beside = _saved_support(data, arrays, "transition_support", steps)
        sound(support is None or not n_hashed, "supporting positions of hashed features")
        sound(beside is None or support is not None, "supporting transitions without positions")
        return cls(
            n_inputs, held["vocabulary"], templates, float(intercept), steps, names, support, plain,
            n_hashed, beside,
        )  # fmt: skip

    def match(self, other: Features, structure: Structure) -> tuple[Ints, ...]:
        """Match features by name, or by number if they have no names; constants come last."""
        if not isinstance(other, PositionFeatures) or _supported(self, other):
            return super().match(other, structure)
        if self.n_hashed != other.n_hashed:
            raise DataError(
                "hashed features can be found again only if their number is the same; start from a "
                "model with the same hashing, or from none"
            )
        if (self.vocabulary is None) != (other.vocabulary is None):
            raise DataError(
                "the first model names its features and the data numbers them, or the other way "
                "round; start from a model with the same kind of features"
            )
        found = [
            _same_features(
                (self.n_features, other.n_features),
                (self.vocabulary, other.vocabulary),
                (self.intercept != 0.0, other.intercept != 0.0),
            )
        ]
        for kind, width in zip(structure.kinds[1:], structure.widths[1:], strict=True):
            if kind == "transition":
                steps = (self.n_transition_features or 0, other.n_transition_features or 0)
                names = (self.transition_vocabulary, other.transition_vocabulary)
                plain = (self.plain_transition, other.plain_transition)
                found.append(_same_features(steps, names, plain))
            else:
                found.append(np.zeros(int(width > 0), dtype=np.int64))
        return tuple(found)


def site_rows(
    structure: Structure, rows: Rows, steps: Rows | None, plain_transition: bool
) -> list[Rows]:
    """Return the rows of every kind of site.

    Parameters
    ----------
    structure : Structure
        The structure that has the sites.
    rows, steps
        The rows of positions, and those of transitions if these have features, with constants.
    plain_transition : bool
        Whether transitions without features have a constant one.
    """
    found = [rows]
    for kind, width in zip(structure.kinds[1:], structure.widths[1:], strict=True):
        if kind == "transition" and steps is not None:
            found.append(steps)
        elif kind == "transition" and not plain_transition:
            found.append(_BARE)
        else:
            found.append(_CONSTANT if width else _NOTHING)
    return found


def _vocabulary(
    data: dict[str, Any], arrays: Arrays, name: str, n_hashed: int
) -> Vocabulary | None:
    sound(type(data[name]) is bool, f"{name} is neither true nor false")
    parts = (f"{name}_bytes", f"{name}_offsets")
    listed = data[name] and not n_hashed
    sound(all((part in arrays) == listed for part in parts), f"odd arrays for the {name}")
    separator = data.get("separator", "=")
    sound(separator in ("=", ":"), "the separator is neither = nor :")
    if not data[name]:
        return None
    if n_hashed:
        return HashedNames(n_hashed, separator)
    return Vocabulary.unpack(arrays[parts[0]], arrays[parts[1]], separator=separator)


def _saved_support(
    data: dict[str, Any], arrays: Arrays, name: str, n_inputs: int | None
) -> Support | None:
    """Return the support of positions or of transitions, which have this many inputs."""
    prefix = f"{name}_"
    mine = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    if name not in data:
        sound(not mine, "arrays of supporting positions that it has not")
        return None
    support = Support.from_saved(data[name], mine)
    sound(support.rows.n_features == n_inputs, "supporting positions of other inputs")
    return support


def _same_features(
    counts: tuple[int, int],
    names: tuple[Vocabulary | None, Vocabulary | None],
    constant: tuple[bool, bool],
) -> Ints:
    """Return the old number of each new feature, or -1; the pairs are (new, old)."""
    new, old = names
    if new is not None and old is not None and not new.hashed:
        same = np.array([old.index.get(name, -1) for name in new], dtype=np.int64)
    elif (new is None) == (old is None):
        same = same_numbers(*counts)
    else:
        same = np.full(counts[0], -1, dtype=np.int64)
    last = [counts[1] if constant[1] else -1] if constant[0] else []
    return np.concatenate([same, np.array(last, dtype=np.int64)])


def _supported(*encoders: PositionFeatures) -> bool:
    """Return whether some features are similarities, which cannot be matched between models."""
    return any(encoder.support is not None for encoder in encoders)
