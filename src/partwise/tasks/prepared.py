"""Examples with their labels, as a task hands them to the training."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..arrays import Floats, Ints
    from ..models.features import Features
    from ..models.fit import Finish
    from ..models.model import Label, Model
    from ..problem.problem import Problem
    from ..problem.rows import Rows
    from ..problem.weight_rule import WeightRule
    from ..structures.base import Structure

__all__ = ["Prepared"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Examples with their labels, ready for training.

    Attributes
    ----------
    structure : Structure
        What a label is made of.
    rows : callable
        Makes the features: one `Rows` per kind of site. They may take most of the memory, so only
        the fit should hold them.
    shapes, gold : sequence
        The shape and the right label of each example, as the structure takes them.
    features : Features
        How the model will read examples.
    labels : sequence
        The names of the labels, in the order of their numbers.
    constraints, own_constraints
        What no label may contain, and what the label of each example may not contain.
    allowed : sequence or None
        For each example None if its label is known, or what its label may be, in the form of
        constraints; its entry in `gold` is then not looked at.
    weight : ndarray or None
        The weight of each example.
    weights : str, WeightRule or None
        Which weights there are, instead of the parameter `weights`.
    meta : dict
        Further data to store with the model.
    initial : Model or None
        A model to start from, instead of the one that was given.
    finish : callable or None
        Brings the trained model into its final form.
    beside
        What is held in memory beside the rows. It is included in the memory that is logged.
    key
        What else the meaning of the dual variables depends on.
    record : dict
        The entries about these examples in the record of a command.
    problem : Problem or None
        The examples as a problem on disk, in place of rows, shapes and gold labels.
    """

    structure: Structure
    rows: Callable[[], Sequence[Rows]]
    shapes: Sequence[Any] | Ints
    gold: Sequence[Ints]
    features: Features
    labels: Sequence[Label] = ()
    constraints: Any = None
    own_constraints: Sequence[Any] | None = None
    allowed: Sequence[Any] | None = None
    weight: Floats | None = None
    weights: str | WeightRule | None = None
    meta: dict[str, Any] | None = None
    initial: Model | None = None
    finish: Finish | None = None
    beside: Any = ()
    key: Any = ()
    record: dict[str, Any] = field(default_factory=dict)
    problem: Problem | None = None

    def fingerprint(self) -> str:
        """Return a digest that differs between fits whose dual points have different meanings."""
        structure = self.structure
        what = (structure.name, structure.constants(), list(self.labels), self.key)
        digest = hashlib.sha256(repr(what).encode())
        digest.update(repr(list(self.shapes)).encode() + b"|")
        # Examples of weight 0 are left out of a fit.
        used = np.zeros(0, bool) if self.weight is None else np.not_equal(self.weight, 0)
        gold = np.concatenate([*(np.ravel(y) for y in self.gold), np.zeros(0, np.int64)])
        for array in (gold, used):
            digest.update(np.ascontiguousarray(array).tobytes() + b"|")
        return digest.hexdigest()
