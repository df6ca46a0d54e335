"""The tasks of Schmidt et al. (2015), section 6, as problems of partwise, and one without files.

Chunking has the nineteen templates of that comparison, with marks beyond the ends of a sentence,
and the attributes that occur at least three times: 1,679,700 weights. The paper describes the
features of the Dutch names in one sentence only; those used here agree with it, and there are about
as many, 2.8 million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import data
from .features import TEMPLATES
from .problems import Ints

if TYPE_CHECKING:
    from partwise.problem.problem import Problem
    from partwise.problem.rows import Rows

Template = tuple[str, tuple[int, ...]]

#: Words and pairs of words, the parts of speech of chunking, and the shape of the words.
NAME_TEMPLATES: tuple[Template, ...] = (
    *(("w", offsets) for offsets in ((-1,), (0,), (1,), (-1, 0), (0, 1))),
    *(template for template in TEMPLATES if template[0] == "pos"),
    *(("shape", (offset,)) for offset in (-1, 0, 1)),
)


@dataclass(frozen=True)
class Sequences:
    """Labelled sequences: one row of features and one label per position."""

    lengths: Ints
    rows: Rows
    gold: list[Ints]
    n_labels: int

    def build(self, tied: bool = True, loss: str = "log") -> Problem:
        """Return a chain with all weights; if ``tied``, with one part per pair of labels."""
        from partwise.problem.losses import make_loss
        from partwise.problem.problem import build_problem
        from partwise.structures.chain.structure import Chain
        from partwise.tasks.sequences.features import PositionFeatures

        structure = Chain(self.n_labels, tied=tied)
        features = PositionFeatures(self.rows.n_features).laid_out(structure, self.rows)
        named = make_loss(loss, self.n_labels)
        return build_problem(structure, self.lengths, features, self.gold, named, weights="all")


@dataclass(frozen=True)
class SequenceTask:
    """``published`` has the memory of gradients in the paper: sparse, marginals, mixed."""

    name: str
    title: str
    files: tuple[str, ...]
    load: Callable[[], Sequences]
    published: tuple[float, float, float] | None = None


def window(
    rows: Sequence[tuple[str, ...]], templates: Sequence[Template]
) -> list[list[tuple[int | str, ...]]]:
    """Return the attributes of each token: the number of a template, and its values."""
    from partwise.tasks.sequences.templates import word_shape

    before, after = ["<2", "<1"], [">1", ">2"]
    columns = {
        "w": [*before, *(row[0] for row in rows), *after],
        "pos": [*before, *(row[1] for row in rows), *after],
        "shape": [*before, *(word_shape(row[0]) for row in rows), *after],
    }
    return [
        [
            (k, *(columns[name][2 + t + offset] for offset in offsets))
            for k, (name, offsets) in enumerate(templates)
        ]
        for t in range(len(rows))
    ]


def numbered(labels: Iterable[Iterable[str]]) -> tuple[list[Ints], int]:
    """Number the labels in the order in which they are first seen."""
    index: dict[str, int] = {}
    gold = [
        np.array([index.setdefault(label, len(index)) for label in sequence], dtype=np.int64)
        for sequence in labels
    ]
    return gold, len(index)


def text(columns: list[data.Rows], templates: Sequence[Template], min_count: int) -> Sequences:
    """Read sentences of (word, part of speech, label), with the attributes that are frequent."""
    from partwise.problem.rows import Rows

    index: dict[tuple[int | str, ...], int] = {}
    numbers = [
        index.setdefault(attribute, len(index))
        for rows in columns
        for token in window(rows, templates)
        for attribute in token
    ]
    lengths = np.array([len(rows) for rows in columns], dtype=np.int64)
    ends = len(templates) * np.arange(lengths.sum() + 1)
    every = Rows(ends, np.array(numbers, dtype=np.int32), None, len(index))
    gold, n_labels = numbered([row[-1] for row in rows] for rows in columns)
    return Sequences(lengths, every.keep(every.counts() >= min_count), gold, n_labels)


def chunking() -> Sequences:
    """Return CoNLL-2000."""
    columns = data.read_columns(data.data_file("conll2000/train.txt.gz"))
    return text(columns, TEMPLATES, min_count=3)


def dutch_names() -> Sequences:
    """Return CoNLL-2002, Dutch."""
    columns = data.read_columns(data.data_file("conll2002/ned.train.gz"))
    return text(columns, NAME_TEMPLATES, min_count=1)


def letters() -> Sequences:
    """Return words of handwritten letters, with 128 pixels and a bias each; all ten folds."""
    import gzip

    from partwise.problem.rows import Rows

    labels: list[list[str]] = [[]]
    pixels: list[list[str]] = []
    with gzip.open(data.data_file("ocr_letters/letter.data.gz"), "rt", encoding="ascii") as stream:
        for line in stream:
            _, letter, following, _, _, _, *image = line.split()
            labels[-1].append(letter)
            pixels.append(image)
            if following == "-1":
                labels.append([])
    gold, n_labels = numbered(word for word in labels if word)
    rows = Rows.from_dense(np.array(pixels, dtype=np.float64)).append_constant(1.0)
    return Sequences(np.array([len(word) for word in gold], dtype=np.int64), rows, gold, n_labels)


def demo_text() -> Sequences:
    """Return generated text."""
    return text(data.demo_text(100, seed=0), TEMPLATES, min_count=1)


SEQUENCE_TASKS: tuple[SequenceTask, ...] = (
    SequenceTask(
        "ocr",
        "OCR, words of letters",
        ("ocr_letters/letter.data.gz",),
        letters,
        (7.8e-1, 1.1, 2.1e-1),
    ),
    SequenceTask(
        "chunking",
        "CoNLL-2000, chunks",
        ("conll2000/train.txt.gz",),
        chunking,
        (4.8e-3, 7.0e-3, 6.1e-4),
    ),
    SequenceTask(
        "ner-dutch",
        "CoNLL-2002, Dutch names",
        ("conll2002/ned.train.gz",),
        dutch_names,
        (6.4e-4, 3.8e-4, 7.0e-5),
    ),
    SequenceTask("demo-text", "generated text", (), demo_text),
)
