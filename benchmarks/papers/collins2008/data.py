"""The two tasks of Collins et al. (2008): MNIST and Spanish dependency trees, and small ones.

Both have the sizes of the paper: 59,000 images and 10,000 for validation, with one weight per pixel
and digit; 2,306 sentences and 1,000 for validation. The small ones are the digits that come with
scikit-learn, and generated sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import data

if TYPE_CHECKING:
    from partwise.arrays import Floats
    from partwise.problem.problem import Problem


@dataclass(frozen=True)
class Task:
    """A training set, and the error on the validation set.

    Attributes
    ----------
    name : str
        ``"images"`` or ``"trees"``.
    said : str
        What it is, in a sentence.
    hinge : Problem
        The max-margin problem.
    error : callable
        Takes the weights of a model, and returns the validation error in percent.
    """

    name: str
    said: str
    hinge: Problem
    error: Callable[[Floats], float]

    @cached_property
    def log(self) -> Problem:
        """The log-linear problem, which shares its features with the other."""
        from partwise.problem.losses import make_loss

        arrays = self.hinge.arrays._replace(tau=1.0, cost=np.zeros(0))
        problem = replace(self.hinge, loss=make_loss("log", 1), arrays=arrays)
        return problem.with_oracle("marginals")


def image_task(said: str, images: Any, labels: Any, n: int, n_labels: int = 10) -> Task:
    """Make a task of the first n images for training, and the others for validation."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.problem.rows import Rows
    from partwise.structures.multiclass import Multiclass

    rows, gold = Rows.from_scipy(images[:n]), list(labels[:n, None])
    lengths, loss = np.ones(n, dtype=np.int64), make_loss("hinge", n_labels)
    problem = build_problem(Multiclass(n_labels), lengths, [rows], gold, loss)
    places = problem.layout.first[:, None] + np.arange(n_labels)
    others, truth = images[n:], labels[n:]

    def error(weights: Floats) -> float:
        return 100.0 * float(((others @ weights[places]).argmax(axis=1) != truth).mean())

    return Task("images", said, problem, error)


def tree_task(said: str, sentences: list[Any], others: list[Any]) -> Task:
    """Make a task of parsed sentences: projective trees without relations."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.structures.dependency.projective import ProjectiveTree
    from partwise.tasks.dependency.arc_table import ArcTable
    from partwise.tasks.dependency.gold import gold_trees

    gold = gold_trees(sentences, [sentence.head for sentence in sentences])
    table = ArcTable.fit(gold.sentences, [tree[:, 0] for tree in gold.trees])
    lengths, structure = [len(sentence) for sentence in gold.sentences], ProjectiveTree()
    rows, loss = table.rows(gold.sentences), make_loss("hinge", 1)
    problem = build_problem(structure, lengths, [rows], gold.trees, loss)
    shapes = [structure.topology(len(sentence)) for sentence in others]
    ends = np.cumsum([structure.n_parts(shape) for shape in shapes])[:-1]

    @cache
    def arcs() -> Any:
        return table.rows(others).to_scipy()

    def error(weights: Floats) -> float:
        scores = np.split(arcs() @ weights[problem.layout.first], ends)
        right = words = 0
        for theta, shape, sentence in zip(scores, shapes, others, strict=True):
            _, tree = structure.best(theta, shape)
            right += int((tree[:, 0] == np.array(sentence.head)).sum())
            words += len(sentence)
        return 100.0 * (1.0 - right / words)

    return Task("trees", said, problem, error)


@lru_cache(maxsize=2)
def images(quick: bool) -> Task:
    """Return MNIST, or for ``quick`` 400 digits."""
    if quick:
        pixels, labels = data.digits()
        said = "300 digits of scikit-learn, and 100 for validation."
        return image_task(said, pixels[:400], labels[:400], 300)
    said = "MNIST: 59,000 images, and 10,000 for validation (those of the test set)."
    (x, y), (others, truth) = data.mnist("train"), data.mnist("t10k")
    from scipy import sparse

    stacked = sparse.vstack([x[:59_000], others]).tocsr()
    return image_task(said, stacked, np.concatenate([y[:59_000], truth]), 59_000)


@lru_cache(maxsize=2)
def trees(quick: bool) -> Task:
    """Return the Spanish sentences of CoNLL-X, or for ``quick`` 30 generated ones."""
    if quick:
        from partwise.datasets import dependency_trees

        said = "30 generated sentences, and 20 for validation."
        return tree_task(said, dependency_trees(30), dependency_trees(20, seed=1))
    from partwise.formats.conll import read_conll

    said = "CoNLL-X, Spanish: 2,306 sentences, and 1,000 for validation."
    parts = [read_conll(data.data_file(f"conllx_es_cast3lb/{x}.conll.gz")) for x in _PARTS]
    return tree_task(said, list(parts[0]), list(parts[1]))


_PARTS = ("train", "valid")


def part_of_images(quick: bool, hinge: bool = False) -> Problem:
    """Return few images, for methods that need many passes."""
    from partwise.problem.subset import subset

    task = images(quick)
    problem = task.hinge if hinge else task.log
    return subset(problem, np.arange(100 if quick else 2_000))
