"""Taggers with the interface of python-crfsuite."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
from typing import Any, TextIO

import numpy as np

from ...arrays import Floats
from ...errors import DataError
from ...models.foreign.crfsuite import (
    CRFsuiteModel,
    parse_crfsuite_model,
    read_crfsuite_model,
)
from ._dumpparser import ParsedDump
from .decoder import Decoder, ScoredSequence
from .items import read_labels

__all__ = ["Tagger"]

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
