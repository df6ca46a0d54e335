"""A trained model: the weights, and everything that is needed to predict with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..arrays import Floats, Ints
from ..compiled.compilation import noted_compilation
from ..errors import DataError, MismatchError
from ..training.certificate import Certificate
from .explained import Explained
from .features import Features, Inputs
from .foreign.base import Origin
from .tally import Tally, warn_unknown

if TYPE_CHECKING:
    from ..problem.storage import Layout
    from ..structures.base import Structure
    from .prediction import OracleBatch, Stored

__all__ = ["Candidate", "Label", "Model", "check_label_names"]

Label = str | int | float | bool

_COMPUTED: Final = ("label_index", "stored")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of the best labels of an example.

    Attributes
    ----------
    label
        The label, in the form that users see.
    score : float
        Its score w.f(x, y).
    probability : float
        Its probability; nan if it was not asked for.
    """

    label: Any
    score: float
    probability: float


@dataclass(frozen=True, eq=False)
class Model(Explained):
    """A trained model.

    Its features know how to read examples, so that a model predicts the same as the estimator and
    the command of its task for the same input.

    Threads may share a model: no method changes it, and every call has its own buffers.

    Attributes
    ----------
    task : str
        What it does: "classify", "tag", or another name.
    structure : Structure
        What a label is made of.
    layout : Layout
        Which weights there are.
    weights : ndarray
        The weights.
    labels : tuple
        The labels of the parts, in the order of their numbers; empty if parts have no labels.
    features : Features
        How it reads examples and writes labels.
    constraints : object or None
        What no label may contain, as `structure.mask` takes it.
    loss : str
        The name of the loss.
    l2, l1 : float
        The regulariser: ``l2/2 |w|^2 + l1 |w|_1``.
    certificate : Certificate
        How far the objective is at most above the optimum.
    meta : dict
        Further data to store with the model, as JSON can hold it.
    settings : dict
        How it was trained, as far as JSON can hold it: the parameters of the estimator by name.
        Empty for models that were made in another way, or saved by versions that did not store
        them.
    origin : Origin or None
        Where the model comes from, if another program trained it. Nothing is then certified, and
        `l2` and `l1` are those of the file if it has them, otherwise 1 and 0.
    """

    task: str
    structure: Structure
    layout: Layout
    weights: Floats
    labels: tuple[Label, ...]
    features: Features
    constraints: Any
    loss: str
    l2: float
    certificate: Certificate
    l1: float = 0.0
    meta: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    origin: Origin | None = None

    @cached_property
    def label_index(self) -> dict[Label, int]:
        """The number of every label."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def stored(self) -> Stored:
        """The weights in the form of prediction."""
        from .prediction import Stored

        return Stored(self.structure, self.layout, self.weights)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what can be computed from the rest."""
        return {name: held for name, held in vars(self).items() if name not in _COMPUTED}

    def numbers_of(self, labels: Sequence[Any]) -> Ints:
        """Return the number of each label, -1 for a label that the model does not know."""
        return np.array([self.label_index.get(label, -1) for label in labels], dtype=np.int64)

    @property
    def probabilistic(self) -> bool:
        """Whether scores are log-probabilities up to a constant; not for the hinge loss."""
        from ..problem.losses import make_loss

        return make_loss(self.loss, self.structure.n_labels).tau > 0.0

    def predict(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        *,
        k: int | None = None,
        fixed: Any = None,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> list[Any]:
        """Predict the best labels, or the k best.

        Parameters
        ----------
        examples
            Examples of any form that the features of the model can read. With `shapes`, rows of
            features instead: one `Rows` per kind of site of the structure, with the sites of all
            examples one after the other, or a single row for all of them. Labels are then those of
            the structure, in numbers.
        shapes : sequence or None
            The shape of each example, if `examples` are rows.
        k : int or None
            How many labels to predict per example. If None, only the best one.
        fixed
            What is known about the labels of each example, as the estimator of the task takes it.
        own_constraints : sequence or None
            If `examples` are rows: for each example None or its own constraints, as the structure
            takes them.
        n_jobs : int or None
            The number of threads; None is 1, and -1 is one per core. It does not change the result.
        **more
            Further data of the examples, such as ``lengths`` for one matrix of all tokens.

        Returns
        -------
        list
            One label per example. With `k`, one list of pairs (label, score) per example, best
            first, with fewer than k pairs if there are fewer labels.
        """
        if k is not None:
            ranked = self.k_best(
                examples, shapes, k, fixed=fixed, own_constraints=own_constraints, n_jobs=n_jobs,
                **more,
            )  # fmt: skip
            return [list(zip(labels, scores.tolist(), strict=True)) for scores, labels in ranked]
        from .prediction import best_labels

        found: list[Any] = []
        for inputs in self.inputs(examples, shapes, own_constraints, fixed=fixed, **more):
            # The batch gets no name, so that it is freed before the rows of the next one are made.
            labels = best_labels(self.batch(inputs), n_jobs, self.features.answers_all)
            found += self._named(labels, inputs)
        return found

    def k_best(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        k: int = 1,
        *,
        fixed: Any = None,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> list[tuple[Floats, list[Any]]]:
        """Predict the k best labels of each example and their scores w.f(x, y), best first.

        Parameters are those of `predict`. Examples that have fewer than k labels get fewer.
        """
        _check_k(k)
        found: list[tuple[Floats, list[Any]]] = []
        for inputs in self.inputs(examples, shapes, own_constraints, fixed=fixed, **more):
            found += self._rankings(inputs, k, n_jobs)
        return found

    def candidates(
        self,
        examples: Any,
        k: int,
        *,
        probabilities: bool = False,
        fixed: Any = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> list[list[Candidate]]:
        """Predict the k best labels of each example with scores and, on request, probabilities.

        Parameters are those of `predict`, for examples that are not rows.
        """
        from .prediction import log_partitions

        _check_k(k)
        if probabilities:
            self._need_probabilities()
        found: list[list[Candidate]] = []
        for inputs in self.inputs(examples, fixed=fixed, **more):
            ranked = self._rankings(inputs, k, n_jobs)
            log_z = np.full(len(ranked), np.nan)
            if probabilities:
                log_z = log_partitions(self.batch(inputs), n_jobs)
            for (scores, labels), total in zip(ranked, log_z.tolist(), strict=True):
                # The result of `Features.named` for an example without a label has the score -inf.
                possible, odds = scores > -np.inf, np.zeros(len(scores))
                # Rounding may lift a probability that is nearly 1 above 1; nan stays nan.
                odds[possible] = np.exp(np.minimum(scores[possible] - total, 0.0))
                found.append(list(map(Candidate, labels, scores.tolist(), odds.tolist())))
        return found

    def marginals(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        *,
        fixed: Any = None,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> list[Any]:
        """Compute probabilities: of every label at every position, of every arc, and so on.

        Parameters are those of `predict`.

        Returns
        -------
        list
            One table per example, as the estimator of the task describes it. If `examples` are
            rows, the expected count of every part.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        from .prediction import part_marginals

        self._need_probabilities()
        found: list[Any] = []
        for inputs in self.inputs(examples, shapes, own_constraints, fixed=fixed, **more):
            counts = part_marginals(self.batch(inputs), n_jobs, self.features.answers_all)
            if inputs.examples is None:
                found += counts
                continue
            pairs = zip(counts, inputs.examples, strict=True)
            found += [self.features.table(self, mu, example) for mu, example in pairs]
        return found

    def part_scores(
        self, examples: Any, *, fixed: Any = None, **more: Any
    ) -> Iterator[tuple[Floats, Ints]]:
        """Yield the scores of the parts of each example, and its shape as the structure has it.

        What is forbidden has the score -inf. Parameters are those of `predict`.
        """
        from .prediction import part_scores

        self._need_probabilities()
        for inputs in self.inputs(examples, fixed=fixed, **more):
            yield from part_scores(self.batch(inputs))

    def log_proba(
        self,
        examples: Any,
        shapes: Any = None,
        labels: Any = None,
        *,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> Floats:
        """Compute the log-probability of a label of each example.

        Parameters
        ----------
        examples, own_constraints, n_jobs, **more
            As in `predict`.
        shapes : sequence or None
            The shape of each example, if `examples` are rows.
        labels
            The labels, in the form that `predict` returns. If `examples` are rows, one label of the
            structure per example, or None for a label that is not known.

        Returns
        -------
        ndarray
            One number per example; -inf where a label is unknown or the constraints forbid it.

        Raises
        ------
        MismatchError
            If the model was trained with the hinge loss.
        """
        from .prediction import log_probabilities

        self._need_probabilities()
        if shapes is None:
            examples = self.features.read(self.structure, examples, **more)
            labels = self.features.numbered(self, labels, examples)
            more = {}
        found = [np.zeros(0)]
        for inputs in self.inputs(examples, shapes, own_constraints, **more):
            mine = labels[inputs.which]
            found.append(
                log_probabilities(self.batch(inputs, mine), n_jobs, self.features.answers_all)
            )
        return np.concatenate(found)

    def sample(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        size: int = 1,
        *,
        seed: int | np.random.Generator = 0,
        fixed: Any = None,
        own_constraints: Sequence[Any] | None = None,
        n_jobs: int | None = 1,
        **more: Any,
    ) -> list[list[Any]]:
        """Draw labels with their probabilities.

        Parameters
        ----------
        size : int
            How many labels to draw per example.
        seed : int or numpy.random.Generator
            The seed or generator for the draws.
        examples, shapes, fixed, own_constraints, n_jobs, **more
            As in `predict`.
        """
        from .prediction import draw_labels

        self._need_probabilities()
        if size < 1:
            raise DataError(f"size is {size}; draw at least 1 label")
        rng = np.random.default_rng(seed)
        found: list[list[Any]] = []
        for inputs in self.inputs(examples, shapes, own_constraints, fixed=fixed, **more):
            drawn = draw_labels(self.batch(inputs), size, rng, n_jobs)
            columns = [self._named([of[s] for of in drawn], inputs) for s in range(size)]
            found += map(list, zip(*columns, strict=True))
        return found

    def inputs(
        self,
        examples: Any,
        shapes: Sequence[Any] | Ints | None = None,
        own_constraints: Sequence[Any] | None = None,
        *,
        fixed: Any = None,
        **more: Any,
    ) -> Iterator[Inputs]:
        """Yield examples as rows of features, some at a time; warn if no feature is known.

        With the rows and shapes that it yields, the other methods return the labels and counts of
        the structure.

        Parameters
        ----------
        examples, shapes, own_constraints, fixed, **more
            As in `predict`.
        """
        if shapes is not None:
            yield Inputs(examples, shapes, own_constraints)
            return
        # The first prediction may wait for the compiler.
        with nullcontext() if "stored" in vars(self) else noted_compilation():
            read = self.features.read(self.structure, examples, **more)
            rules = self.features.constraints(self, read, fixed)
            tally = Tally()
            for inputs in self.features.rows(self.structure, read, tally):
                yield inputs if rules is None else replace(inputs, constraints=rules[inputs.which])
            if not tally.known:
                warn_unknown(tally)

    def _named(self, labels: Sequence[Any], inputs: Inputs) -> list[Any]:
        if inputs.examples is None:
            return list(labels)
        named = self.features.named
        return [named(self, *pair) for pair in zip(labels, inputs.examples, strict=True)]

    def _rankings(
        self, inputs: Inputs, k: int, n_jobs: int | None
    ) -> list[tuple[Floats, list[Any]]]:
        from .prediction import k_best_labels

        batch = self.batch(inputs)
        found: list[tuple[Floats, list[Any]]] = []
        ranked = k_best_labels(batch, k, n_jobs, self.features.answers_all)
        if inputs.examples is None:
            return ranked
        for (scores, labels), example in zip(ranked, inputs.examples, strict=True):
            named = [self.features.named(self, label, example) for label in labels]
            if not labels:
                scores, named = np.array([-np.inf]), [self.features.named(self, None, example)]
            found.append((scores, named))
        return found

    def _need_probabilities(self) -> None:
        if not self.probabilistic:
            if self.origin is not None:
                raise MismatchError(
                    f"the model was converted from {self.origin.toolkit}, and its scores are not "
                    f"log-probabilities ({self.origin.objective}); ask for the k best labels, "
                    "which have scores, or train it here with the log loss"
                )
            raise MismatchError(
                f"the {self.loss} loss gives scores, not probabilities; train with the log or "
                "softmax-margin loss, or ask for the k best labels, which have scores"
            )

    def batch(self, inputs: Inputs, gold: Sequence[Ints | None] | None = None) -> OracleBatch:
        """Put rows of features together for the functions of `models.inference`.

        Parameters
        ----------
        inputs : Inputs
            What `inputs` yields.
        gold : sequence or None
            Labels of the structure to score; None for one that is not known.
        """
        from .prediction import make_batch

        counts = self.layout.n_features
        if len(inputs.rows) != len(counts):
            raise DataError(
                f"features for {len(inputs.rows)} kinds of sites where the model has "
                f"{len(counts)}: {', '.join(self.structure.kinds)}"
            )
        return make_batch(
            self.stored,
            [
                rows if rows.n_features == n else rows.resize(n)
                for rows, n in zip(inputs.rows, counts, strict=True)
            ],
            inputs.shapes,
            constraints=self.constraints,
            own_constraints=inputs.constraints,
            gold=gold,
            first=inputs.which.start or 0,
        )


def _check_k(k: int) -> None:
    if k < 1:
        raise DataError(f"k is {k}; ask for at least 1 label")


def check_label_names(structure: Structure, labels: Sequence[Label]) -> None:
    """Raise a DataError unless there is one name per label number of the structure."""
    # A single label that all parts share needs no name.
    if len(labels) != structure.n_labels and (labels or structure.n_labels > 1):
        raise DataError(
            f"{len(labels)} names of labels where the {structure.name} has {structure.n_labels}; "
            "give one name for each label number"
        )
