"""Taggers with the interface of python-crfsuite, and how they predict with the compiled oracles."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, TextIO

import numpy as np

from ...arrays import Floats, Ints
from ...compiled.compilation import noted_compilation
from ...errors import DataError, ModelFileError
from ...models.foreign.crfsuite import (
    CRFsuiteModel,
    parse_crfsuite_model,
    read_crfsuite_model,
)
from ...models.prediction import (
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
from ._dumpparser import ParsedDump
from .instances import Known, make_rows
from .items import read_labels

__all__ = ["Tagger", "chain_rows"]


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
        """Return a context that tells the user, once per oracle, that the compiler is at work."""
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
        """The weights. An attribute without weights gets one weight of 0, for the first label."""
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


_OFFSETS = ("features", "labels", "attrs", "labelrefs", "attrrefs")


class Tagger:
    """Predicts labels by a model of CRFsuite, whoever trained it.

    Examples
    --------
    >>> from partwise.compat import pycrfsuite
    >>> trainer = pycrfsuite.Trainer(verbose=False)
    >>> trainer.append([["the"], ["cat"]], ["DET", "NOUN"])
    >>> trainer.train("tags.crfsuite")
    >>> tagger = pycrfsuite.Tagger()
    >>> with tagger.open("tags.crfsuite"):
    ...     tagger.tag([["the"], ["cat"]])
    ['DET', 'NOUN']
    """

    def __init__(self) -> None:
        self._decoder: Decoder | None = None
        # None if the sequence is empty, as it is at first.
        self._current: ScoredSequence | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file.

        Returns
        -------
        contextlib.closing
            A context whose end closes the tagger.

        Raises
        ------
        ValueError
            If it is not a valid model file of CRFsuite.
        """
        return self._use(read_crfsuite_model(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the bytes of its file; see `open`."""
        return self._use(parse_crfsuite_model(value))

    def _use(self, model: CRFsuiteModel) -> contextlib.closing[Tagger]:
        self._decoder, self._current = Decoder(model), None
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._decoder = self._current = None

    @property
    def _opened(self) -> Decoder:
        if self._decoder is None:
            raise DataError("The tagger is not opened; call open with a model file")
        return self._decoder

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return list(self._opened.model.labels)

    def set(self, xseq: Any) -> None:
        """Set the current sequence, for `tag`, `probability` and `marginal`.

        Parameters
        ----------
        xseq : ItemSequence or iterable
            The features of each token, see `ItemSequence`.
        """
        decoder = self._opened
        rows, _ = decoder.rows([xseq])
        self._current = decoder.scored(rows) if len(rows) else None

    def tag(self, xseq: Any = None) -> list[str]:
        """Predict the labels of a sequence, or of the current one if `xseq` is None."""
        if xseq is not None:
            self.set(xseq)
        names, current = self._opened.model.labels, self._current
        return [] if current is None else [names[k] for k in current.best().tolist()]

    def tag_all(self, sequences: Any) -> list[list[str]]:
        """Predict the labels of many sequences at once, which is faster than one by one.

        python-crfsuite does not have this method.
        """
        decoder = self._opened
        return decoder.best(*decoder.rows(sequences))

    def marginals_all(self, sequences: Any) -> list[Floats]:
        """Compute the probabilities of all labels, in the order of `labels`, at all tokens.

        Returns one table of shape (n_tokens, n_labels) per sequence. python-crfsuite does not have
        this method.
        """
        decoder = self._opened
        return decoder.marginals(*decoder.rows(sequences))

    def probability(self, yseq: Any) -> float:
        """Compute the probability of labels of the current sequence; 0 if it is empty.

        Raises
        ------
        ValueError
            If there are not as many labels as tokens.
        RuntimeError
            If a label is not known.
        """
        names, current = self._opened.model.labels, self._current
        labels = read_labels(yseq)
        if current is None:
            return 0.0
        if len(labels) != current.length:
            raise DataError(
                f"The numbers of items and labels differ: |x| = {current.length}, "
                f"|y| = {len(labels)}"
            )
        numbers = np.array([_number(label, names) for label in labels], dtype=np.int64)
        return math.exp(current.log_probability(numbers))

    def marginal(self, y: Any, pos: int) -> float:
        """Compute the probability of a label at a token of the current sequence.

        Raises
        ------
        ValueError
            If there is no such token.
        RuntimeError
            If the label is not known.
        """
        names, current = self._opened.model.labels, self._current
        if current is None:
            return 0.0
        if not 0 <= pos < current.length:
            raise DataError(f"The position, {pos}, is out of range of {current.length}")
        return float(current.marginals[pos, _number(read_labels([y])[0], names)])

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to a file or to stdout.

        Raises
        ------
        RuntimeError
            If the tagger is closed.
        """
        text = io.StringIO()
        _dump(self._open_model(), text)
        if filename is None:
            sys.stdout.write(text.getvalue())
            return
        with open(filename, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text.getvalue())

    def info(self) -> ParsedDump:
        """Return what is in the model.

        Raises
        ------
        RuntimeError
            If the tagger is closed.
        """
        model, found = self._open_model(), ParsedDump()
        found.header = _header(model)
        found.labels = {name: str(number) for number, name in enumerate(model.labels)}
        found.attributes = {name: str(number) for number, name in enumerate(model.attributes)}
        for names, pairs, weights in (
            (model.labels, model.transitions, found.transitions),
            (model.attributes, model.state_features, found.state_features),
        ):
            columns = (part.tolist() for part in pairs)
            for source, target, weight in zip(*columns, strict=True):
                weights[names[source], model.labels[target]] = weight
        return found

    def _open_model(self) -> CRFsuiteModel:
        if self._decoder is None:
            raise RuntimeError("Tagger is closed; call open with a model file")
        return self._decoder.model


def _number(label: str, names: tuple[str, ...]) -> int:
    """Return the number of a label."""
    if label not in names:
        raise RuntimeError(
            f"Failed to convert into label identifier: {label}; the labels are {', '.join(names)}"
        )
    return names.index(label)


def _header(model: CRFsuiteModel) -> dict[str, str]:
    """Return the header of the model file."""
    numbers = {
        "magic": "lCRF",
        "size": model.size,
        "type": "FOMC",
        "version": 100,
        # CRFsuite does not count the features in the header.
        "num_features": 0,
        "num_labels": len(model.labels),
        "num_attrs": len(model.attributes),
    }
    offsets = {
        f"off_{name}": f"0x{offset:X}" for name, offset in zip(_OFFSETS, model.offsets, strict=True)
    }
    return {name: str(value) for name, value in {**numbers, **offsets}.items()}


def _dump(model: CRFsuiteModel, out: TextIO) -> None:
    """Write a model as text, in the form of ``crfsuite dump``."""

    def section(name: str, lines: list[str]) -> None:
        out.write("\n".join([f"{name} = {{", *(f"  {line}" for line in lines), "}", "", ""]))

    def weights(kind: int, names: tuple[str, ...], pairs: Any) -> list[str]:
        columns = (part.tolist() for part in pairs)
        return [
            f"({kind}) {names[source]} --> {model.labels[target]}: {weight:f}"
            for source, target, weight in zip(*columns, strict=True)
        ]

    section("FILEHEADER", [f"{name}: {value}" for name, value in _header(model).items()])
    section("LABELS", [f"{number:5d}: {name}" for number, name in enumerate(model.labels)])
    section("ATTRIBUTES", [f"{number:5d}: {name}" for number, name in enumerate(model.attributes)])
    section("TRANSITIONS", weights(1, model.labels, model.transitions))
    section("STATE_FEATURES", weights(0, model.attributes, model.state_features))
