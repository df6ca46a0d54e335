"""From a file to what a model reads: column files for taggers, svmlight files for classifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from partwise.errors import DataError
from partwise.formats.columns import Columns, read_columns
from partwise.formats.svmlight import SvmlightData, read_svmlight
from partwise.rows import Rows

if TYPE_CHECKING:
    from partwise.model import Model

__all__ = ["Examples", "examples_for", "labels_of", "read_for", "read_labelled", "spelled"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of a file, as a model takes them.

    Attributes
    ----------
    source
        The file as it was read.
    rows
        The features of every position.
    lengths
        The positions of every example; 1 each for a classifier.
    gold
        The labels of every example, or None if the file has none.
    """

    source: Columns | SvmlightData
    rows: Rows
    lengths: NDArray[np.int64]
    gold: list[list[str]] | None

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.lengths)


def read_labelled(task: str, path: str, n_columns: int | None = None) -> Columns | SvmlightData:
    """Read a file with labels, for training or evaluation.

    Parameters
    ----------
    task : {"tag", "classify"}
        Which kind of file it is.
    path : str
        The file; ``-`` is stdin.
    n_columns : int or None
        The columns that a column file must have, label included.
    """
    if task == "tag":
        return read_columns(path, n_columns=n_columns)
    return read_svmlight(path)


def read_for(model: Model, path: str) -> Columns | SvmlightData:
    """Read a file for a model, with or without labels."""
    if model.task == "tag":
        if model.templates is None:
            raise DataError(
                "the model was not trained on column files, so files cannot be given to it; use it "
                "from Python, with partwise.load_model"
            )
        return read_columns(path, inputs=model.n_inputs)
    if model.vocabulary is not None:
        raise DataError(
            "the model's features have names and those of svmlight files have numbers; use it from "
            "Python, with partwise.load_model"
        )
    return read_svmlight(path, labelled=False)


def labels_of(source: Columns | SvmlightData) -> list[list[str]] | None:
    """Give the labels of every example of a file, or None if it has none."""
    if source.labels is None:
        return None
    if isinstance(source, Columns):
        return source.split(source.labels)
    return [[label] for label in source.labels]


def examples_for(model: Model, source: Columns | SvmlightData) -> Examples:
    """Give a file's examples with the features that the model knows."""
    if isinstance(source, SvmlightData):
        ones = np.ones(len(source.rows), np.int64)
        return Examples(source, source.rows, ones, labels_of(source))
    from partwise.templates import extract

    assert model.templates is not None
    assert model.vocabulary is not None
    rows = extract(source, model.templates, model.vocabulary)
    return Examples(source, rows, source.lengths, labels_of(source))


def spelled(labels: tuple[str | int | float | bool, ...]) -> list[str]:
    """Write a model's labels as files have them: 3.0 is `3`."""
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
        for label in labels
    ]
