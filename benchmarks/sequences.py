"""The tasks of Schmidt et al. (2015), section 6, as problems of partwise, and one without files.

Chunking has the nineteen templates of that comparison, with marks beyond the ends of a sentence,
and the attributes that occur at least three times: 1,679,700 weights. The paper describes the
features of the Dutch names in one sentence only; those used here agree with it, and there are about
as many, 2.8 million. Parts of speech are those of the free sample of the Penn Treebank, with
n-grams, prefixes, suffixes and shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from . import data
from .features import TEMPLATES
from .problems import Floats, Ints

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
#: Words and pairs of words, and the first and last letters and the shape of the word.
SPEECH_TEMPLATES: tuple[Template, ...] = (
    *(("w", offsets) for offsets in ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))),
    *((f"{end}{k}", (0,)) for end in ("first", "last") for k in (1, 2, 3, 4)),
    ("shape", (0,)),
)


@dataclass(frozen=True)
class Sequences:
    """Labelled sequences: one row of features and one label per position.

    ``test`` has others with the same features; a label that training does not have is -1.
    """

    lengths: Ints
    rows: Rows
    gold: list[Ints]
    n_labels: int
    test: Sequences | None = None

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

    def error(self, problem: Problem) -> Callable[[Floats], float]:
        """Return a function of the weights of a model: the wrong labels of ``test``, in percent."""
        from partwise.models.prediction import Stored, best_labels, make_batch
        from partwise.structures.chain.structure import Chain
        from partwise.tasks.sequences.features import PositionFeatures

        if self.test is None:
            raise ValueError("there are no other sequences to test on")
        test, structure = self.test, Chain(self.n_labels)
        reader = PositionFeatures(test.rows.n_features)
        stored = Stored(structure, problem.layout, np.zeros(problem.layout.n_weights))
        batch = make_batch(stored, reader.laid_out(structure, test.rows), test.lengths)
        truth = np.concatenate(test.gold)

        def wrong(weights: Floats) -> float:
            found = np.concatenate(best_labels(replace(batch, weights=weights.copy())))
            return 100.0 * float(np.mean(found != truth))

        return wrong


@dataclass(frozen=True)
class SequenceTask:
    """One data set of that paper, or in place of one.

    ``load`` takes how many sequences there are for training (all) and for tests (none).
    ``published`` has the memory of gradients in the paper: sparse, marginals, mixed.
    """

    name: str
    title: str
    files: tuple[str, ...]
    load: Callable[..., Sequences]
    published: tuple[float, float, float] | None = None


def window(
    rows: Sequence[tuple[str, ...]], templates: Sequence[Template]
) -> list[list[tuple[int | str, ...]]]:
    """Return the attributes of each token: the number of a template, and its values."""
    from partwise.tasks.sequences.templates import word_shape

    made: dict[str, Callable[[tuple[str, ...]], str]] = {
        "w": lambda row: row[0],
        "pos": lambda row: row[1],
        "shape": lambda row: word_shape(row[0]),
        **{f"first{k}": lambda row, k=k: row[0][:k] for k in range(1, 5)},  # type: ignore[misc]
        **{f"last{k}": lambda row, k=k: row[0][-k:] for k in range(1, 5)},  # type: ignore[misc]
    }
    columns = {
        name: ["<2", "<1", *map(made[name], rows), ">1", ">2"]
        for name in dict.fromkeys(name for name, _ in templates)
    }
    return [
        [
            (k, *(columns[name][2 + t + offset] for offset in offsets))
            for k, (name, offsets) in enumerate(templates)
        ]
        for t in range(len(rows))
    ]


def numbered(
    labels: Iterable[Iterable[str]], index: dict[str, int] | None = None
) -> tuple[list[Ints], dict[str, int]]:
    """Number the labels in the order in which they are first seen, or as an index does."""
    known: dict[str, int] = {} if index is None else index
    gold = [
        np.array(
            [known.setdefault(x, len(known)) if index is None else known.get(x, -1) for x in some],
            dtype=np.int64,
        )
        for some in labels
    ]
    return gold, known


def text(
    columns: Sequence[data.Rows],
    templates: Sequence[Template],
    min_count: int,
    test: Sequence[data.Rows] = (),
) -> Sequences:
    """Read sentences of (word, part of speech, label), with the attributes that are frequent.

    The features of the other sentences are those of the first that they have, too.
    """
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
    kept = every.counts() >= min_count
    gold, labels = numbered([row[-1] for row in rows] for rows in columns)
    made = Sequences(lengths, every.keep(kept), gold, len(labels))
    if not test:
        return made
    tokens = [
        [index[attribute] for attribute in token if attribute in index]
        for rows in test
        for token in window(rows, templates)
    ]
    ends = np.cumsum([0, *map(len, tokens)])
    flat = np.array([number for token in tokens for number in token], dtype=np.int32)
    others = Rows(ends, flat, None, len(index)).keep(kept)
    truth, _ = numbered(([row[-1] for row in rows] for rows in test), labels)
    lengths = np.array([len(rows) for rows in test], dtype=np.int64)
    return replace(made, test=Sequences(lengths, others, truth, len(labels)))


def _read(file: str, n: int | None) -> list[data.Rows]:
    return [] if n == 0 else data.read_columns(data.data_file(file))[:n]


def chunking(n: int | None = None, n_test: int = 0) -> Sequences:
    """Return CoNLL-2000."""
    columns, test = _read("conll2000/train.txt.gz", n), _read("conll2000/test.txt.gz", n_test)
    return text(columns, TEMPLATES, min_count=3, test=test)


def dutch_names(n: int | None = None, n_test: int = 0) -> Sequences:
    """Return CoNLL-2002, Dutch."""
    columns, test = _read("conll2002/ned.train.gz", n), _read("conll2002/ned.testb.gz", n_test)
    return text(columns, NAME_TEMPLATES, min_count=1, test=test)


def parts_of_speech(n: int | None = None, n_test: int = 0) -> Sequences:
    """Return section 0 of the Wall Street Journal, as far as the sample of the Penn Treebank goes.

    The other sequences are of section 1.
    """
    columns, test = (
        [[row[:2] for row in rows] for rows in _read(f"ptb_sample/{file}", most)]
        for file, most in (("wsj_00.dp.gz", n), ("wsj_01.dp.gz", n_test))
    )
    return text(columns, SPEECH_TEMPLATES, min_count=1, test=test)


def letters(n: int | None = None, n_test: int = 0) -> Sequences:
    """Return words of handwritten letters, with 128 pixels and a bias each.

    All ten folds, or if others are asked for, nine; the others are of fold 0.
    """
    import gzip

    from partwise.problem.rows import Rows

    words: dict[bool, list[list[str]]] = {True: [[]], False: [[]]}
    pixels: dict[bool, list[list[str]]] = {True: [], False: []}
    with gzip.open(data.data_file("ocr_letters/letter.data.gz"), "rt", encoding="ascii") as stream:
        for line in stream:
            _, letter, following, _, _, fold, *image = line.split()
            other = n_test > 0 and fold == "0"
            words[other][-1].append(letter)
            pixels[other].append(image)
            if following == "-1":
                words[other].append([])
    labels: dict[str, int] | None = None
    made = []
    for other, most in ((False, n), (True, n_test)):
        gold, labels = numbered([word for word in words[other] if word][:most], labels)
        lengths = np.array([len(word) for word in gold], dtype=np.int64)
        table = np.array(pixels[other][: lengths.sum()], dtype=np.float64).reshape(-1, 128)
        rows = Rows.from_dense(table).append_constant(1.0)
        made.append(Sequences(lengths, rows, gold, len(labels)))
    return replace(made[0], test=made[1] if n_test else None)


def demo_text(n: int | None = None, n_test: int = 0) -> Sequences:
    """Return generated text, of 100 sentences if not told otherwise."""
    test = data.demo_text(n_test, seed=1) if n_test else []
    return text(data.demo_text(n or 100, seed=0), TEMPLATES, min_count=1, test=test)


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
    SequenceTask(
        "parts-of-speech",
        "Penn sample, parts of speech",
        ("ptb_sample/wsj_00.dp.gz", "ptb_sample/wsj_01.dp.gz"),
        parts_of_speech,
        (1.3e-3, 5.5e-3, 3.6e-4),
    ),
    SequenceTask("demo-text", "generated text", (), demo_text),
)
