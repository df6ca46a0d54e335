"""Taggers with the interface of python-crfsuite."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
from functools import cached_property
from typing import Any, TextIO

import numpy as np

from ...arrays import Floats, Ints
from ...errors import DataError
from ...models.foreign.crfsuite import (
    CRFsuiteModel,
    parse_crfsuite_model,
    read_crfsuite_model,
)
from ...problem.rows import Rows
from ..crfsuite.decoder import Decoder
from ..crfsuite.items import read_labels
from ._dumpparser import ParsedDump
from .item_sequence import attributes_of

__all__ = ["Tagger"]

_OFFSETS = ("features", "labels", "attrs", "labelrefs", "attrrefs")


class _Current:
    """The sequence that a tagger was given last."""

    def __init__(self, decoder: Decoder, rows: Rows, length: int) -> None:
        self.decoder, self.rows = decoder, rows
        self.lengths = np.array([length], dtype=np.int64)

    @property
    def length(self) -> int:
        """The number of tokens."""
        return int(self.lengths[0])

    @cached_property
    def marginals(self) -> Floats:
        """The probability of every label at every token."""
        return self.decoder.marginals(self.rows, self.lengths)[0]


class Tagger:
    """Predicts labels by a model of CRFsuite, whoever trained it."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None
        self._current: _Current | None = None

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file.

        Returns
        -------
        contextlib.closing
            A context whose end closes the tagger.

        Raises
        ------
        ValueError
            If it is not a sound model file of CRFsuite.
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

    @property
    def _given(self) -> _Current:
        """The current sequence, an empty one at first."""
        decoder = self._opened
        if self._current is None:
            self._current = _Current(decoder, *_first(decoder.rows([[]])))
        return self._current

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
        self._current = _Current(decoder, *_first(decoder.rows([attributes_of(xseq)])))

    def tag(self, xseq: Any = None) -> list[str]:
        """Predict the labels of a sequence, or of the current one if `xseq` is None."""
        if xseq is not None:
            self.set(xseq)
        current = self._given
        return current.decoder.best(current.rows, current.lengths)[0]

    def tag_all(self, sequences: Any) -> list[list[str]]:
        """Predict the labels of many sequences at once, which is faster than one by one.

        python-crfsuite does not have this method.
        """
        decoder = self._opened
        return decoder.best(*decoder.rows([attributes_of(xseq) for xseq in sequences]))

    def marginals_all(self, sequences: Any) -> list[Floats]:
        """Compute the probabilities of all labels, in the order of `labels`, at all tokens.

        Returns one table of shape (n_tokens, n_labels) per sequence. python-crfsuite does not have
        this method.
        """
        decoder = self._opened
        return decoder.marginals(*decoder.rows([attributes_of(xseq) for xseq in sequences]))

    def probability(self, yseq: Any) -> float:
        """Compute the probability of labels of the current sequence; 0 if it is empty.

        Raises
        ------
        ValueError
            If there are not as many labels as tokens.
        RuntimeError
            If a label is not known.
        """
        current, labels = self._given, read_labels(yseq)
        if not current.length:
            return 0.0
        if len(labels) != current.length:
            raise DataError(
                f"The numbers of items and labels differ: |x| = {current.length}, "
                f"|y| = {len(labels)}"
            )
        numbers = np.array([self._number(label) for label in labels], dtype=np.int64)
        return math.exp(current.decoder.log_probability(current.rows, numbers))

    def marginal(self, y: Any, pos: int) -> float:
        """Compute the probability of a label at a token of the current sequence.

        Raises
        ------
        ValueError
            If there is no such token.
        RuntimeError
            If the label is not known.
        """
        current = self._given
        if not current.length:
            return 0.0
        if not 0 <= pos < current.length:
            raise DataError(f"The position, {pos}, is out of range of {current.length}")
        return float(current.marginals[pos, self._number(read_labels([y])[0])])

    def _number(self, label: str) -> int:
        names = self._opened.model.labels
        if label not in names:
            raise RuntimeError(
                f"Failed to convert into label identifier: {label}; the labels are "
                f"{', '.join(names)}"
            )
        return names.index(label)

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


def _first(read: tuple[Rows, Ints]) -> tuple[Rows, int]:
    rows, lengths = read
    return rows, int(lengths[0])


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
