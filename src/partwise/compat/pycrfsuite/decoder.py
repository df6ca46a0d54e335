"""Labels, marginals and probabilities by a model of CRFsuite, with the compiled oracles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.compilation import noted_compilation
from ...errors import DataError, ModelFileError
from ...models.foreign.crfsuite import CRFsuiteModel
from ...models.inference import (
    OracleBatch,
    Stored,
    best_labels,
    make_batch,
    part_marginals,
)
from ...problem.rows import Rows
from ...problem.storage import Layout
from ...structures.base import call
from ...structures.chain.structure import Chain
from .instances import Known, make_rows

__all__ = ["Decoder", "ScoredSequence", "chain_rows"]


def chain_rows(rows: Rows) -> list[Rows]:
    """Return the rows of all kinds of sites of a chain, from those of the tokens.

    A transition has one constant feature; the first and the last label have none.
    """
    constant = Rows(np.array([0, 1]), np.zeros(1, np.int32), None, 1)
    nothing = Rows(np.zeros(1, np.int64), np.zeros(0, np.int32), None, 0)
    return [rows, constant, nothing, nothing]


class ScoredSequence:
    """The scores of the parts of one sequence, and what follows from them.

    Parameters
    ----------
    decoder : Decoder
        The decoder of the model.
    theta : ndarray
        The scores: those of labels at tokens, then those of pairs of labels.
    length : int
        The number of tokens.
    """

    def __init__(self, decoder: Decoder, theta: Floats, length: int) -> None:
        self.length = length
        self._decoder, self._theta = decoder, theta
        self._shape = decoder.stored.shapes([length], 0)

    def best(self) -> Ints:
        """Return the best labels; the first of equal ones, as in CRFsuite."""
        mu = np.zeros(self._shape.max_parts)
        self._run("maximum", mu)
        return self._decoder.structure.decode(mu, self._shape.topo)

    @cached_property
    def marginals(self) -> Floats:
        """The probability of every label at every token."""
        mu = np.zeros(self._shape.max_parts)
        self._run("marginals", mu)
        n = self._decoder.structure.n_labels
        return mu[: self.length * n].reshape(self.length, n)

    def log_probability(self, labels: Ints) -> float:
        """Return the log-probability of some labels."""
        log_z = self._run("marginals", np.empty(0))
        parts, counts = self._decoder.structure.encode(labels, self._shape.topo)
        # Rounding may lift a probability that is nearly 1 above 1.
        return min(float(self._theta[parts] @ counts) - log_z, 0.0)

    def _run(self, oracle: str, mu: Floats) -> float:
        """Run an oracle on the scores, and return its value, which must be finite."""
        stored, shape = self._decoder.stored, self._shape
        with self._decoder.waiting(oracle):
            run, work = stored.oracle(oracle), np.empty(shape.work_size)
            value = float(call(run, stored.spec, shape.topo, self._theta, mu, work))
        if not math.isfinite(value):
            raise DataError(
                "the scores of a sequence overflow; scale its values or the weights down"
            )
        return value


class Decoder:
    """Predicts by a model of CRFsuite.

    Parameters
    ----------
    model : CRFsuiteModel
        The model.
    """

    def __init__(self, model: CRFsuiteModel) -> None:
        self.model = model
        self._waited: set[str] = set()

    def waiting(self, what: str) -> AbstractContextManager[None]:
        """Return a context for what may wait for the compiler, which it does only once."""
        if what in self._waited:
            return nullcontext()
        self._waited.add(what)
        return noted_compilation()

    @cached_property
    def _numbers(self) -> Known:
        return Known(zip(self.model.attributes, range(len(self.model.attributes)), strict=True))

    @cached_property
    def structure(self) -> Chain:
        """The structure of the labels."""
        return Chain(len(self.model.labels))

    @cached_property
    def stored(self) -> Stored:
        """The weights; an attribute without any has one of 0 for the first label."""
        labels, attributes = len(self.model.labels), len(self.model.attributes)
        states, transitions = self.model.state_features, self.model.transitions
        bare = np.setdiff1d(np.arange(attributes), states.source)
        source = np.concatenate([states.source, bare])
        order = np.argsort(source, kind="stable")
        sizes = np.bincount(source, minlength=attributes)
        table = np.zeros(labels * labels)
        table[transitions.source * labels + transitions.target] = transitions.weight
        slot = np.concatenate([states.target, np.zeros_like(bare)])[order]
        slot = np.concatenate([slot, np.arange(labels * labels)]).astype(np.int32)
        ends = np.cumsum([*sizes.tolist(), labels * labels])
        slot[ends - 1] = ~slot[ends - 1]
        weights = np.concatenate([states.weight, np.zeros(len(bare))])[order]
        first = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        layout = Layout(self.structure.widths, (attributes, 1, 0, 0), first, slot, int(ends[-1]))
        return Stored(self.structure, layout, np.concatenate([weights, table]))

    def rows(self, sequences: Iterable[Any]) -> tuple[Rows, Ints]:
        """Return the known attributes of some sequences as rows, and the lengths."""
        rows, lengths = make_rows(sequences, self._numbers)
        if not self.model.labels and len(rows):
            raise ModelFileError("the model has no labels: it was trained on no data; train again")
        return rows, lengths

    def _batch(self, rows: Rows, lengths: Ints) -> OracleBatch:
        return make_batch(self.stored, chain_rows(rows), lengths)

    def best(self, rows: Rows, lengths: Ints) -> list[list[str]]:
        """Return the best labels of each sequence; the first of equal ones, as in CRFsuite."""
        if not lengths.any():
            return [[] for _ in lengths]
        names = self.model.labels
        with self.waiting("best"):
            found = best_labels(self._batch(rows, lengths))
        return [[names[number] for number in labels.tolist()] for labels in found]

    def marginals(self, rows: Rows, lengths: Ints) -> list[Floats]:
        """Return the probability of every label at every token, one table per sequence."""
        n = len(self.model.labels)
        if not lengths.any():
            return [np.zeros((0, n)) for _ in lengths]
        with self.waiting("counts"):
            counts = list(part_marginals(self._batch(rows, lengths)))
        return [
            mu[: length * n].reshape(length, n)
            for mu, length in zip(counts, lengths.tolist(), strict=True)
        ]

    def scored(self, rows: Rows) -> ScoredSequence:
        """Return the scores of one sequence, which takes less time than a batch of one."""
        weights, layout = self.stored.weights, self.stored.storage.layout
        n, sizes = self.structure.n_labels, self._sizes[rows.indices]
        # One entry per weight of each attribute of each token, in that order.
        ends = np.cumsum(sizes)
        first = np.repeat(layout.first[rows.indices] - (ends - sizes), sizes)
        at = first + np.arange(len(first))
        token = np.repeat(np.repeat(np.arange(len(rows)), np.diff(rows.indptr)), sizes)
        values = weights[at]
        if rows.values is not None:
            values = values * np.repeat(rows.values, sizes)
        slots = self.stored.storage.slot[at].astype(np.int64)
        unary = np.bincount(token * n + slots, values, minlength=len(rows) * n)
        theta = np.concatenate([unary, weights[len(weights) - n * n :]])
        return ScoredSequence(self, theta, len(rows))

    @cached_property
    def _sizes(self) -> Ints:
        """The number of weights of each attribute."""
        return self.stored.storage.layout.sizes()
