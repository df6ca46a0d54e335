"""Labelled examples, as a fit takes them and as its model describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..problem.numbering import Numbering

if TYPE_CHECKING:
    from ..problem.problem import Problem
    from ..problem.weight_rule import WeightRule
    from ..structures.base import Structure
    from ..training.result import Fit
    from .features import Features
    from .model import Label, Model

__all__ = ["Finish", "Prepared"]

#: A function that brings a trained model into its final form.
Finish = Callable[["Problem", "Model", "Fit"], "Model"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is known of labelled examples beside their arrays, and the problem made of them.

    Attributes
    ----------
    structure : Structure
        What a label is made of.
    features : Features
        How the model will read examples.
    labels : sequence
        The names of the labels, in the order of their numbers.
    constraints
        What no label may contain.
    weights : str, WeightRule or None
        Which weights there are, instead of the parameter `weights`.
    numbering : Numbering
        What becomes of the numbers of features and labels in the batches.
    meta : dict or None
        Further data to store with the model.
    record : dict
        The entries about these examples in the record of a command.
    initial : Model or None
        A model to start from, instead of the one that was given.
    finish : callable or None
        Brings the trained model into its final form.
    key
        What else the meaning of the dual variables depends on.
    problem : Problem or None
        The examples, once they are laid out; None if they are elsewhere.
    """

    structure: Structure
    features: Features
    labels: Sequence[Label] = ()
    constraints: Any = None
    weights: str | WeightRule | None = None
    numbering: Numbering = field(default_factory=Numbering)
    meta: dict[str, Any] | None = None
    record: dict[str, Any] = field(default_factory=dict)
    initial: Model | None = None
    finish: Finish | None = None
    key: Any = None
    problem: Problem | None = None

    def fingerprint(self) -> str:
        """Return a digest that differs between fits whose dual points have different meanings."""
        structure = self.structure
        what = (structure.name, structure.constants(), list(self.labels), self.key)
        digest = hashlib.sha256(repr(what).encode())
        if self.problem is not None:
            arrays = self.problem.arrays
            digest.update(repr(self.problem.partial is not None).encode())
            for array in (arrays.topo_ptr, arrays.topo, arrays.part_ptr, arrays.gold_ptr,
                          arrays.gold_part, arrays.gold_count):  # fmt: skip
                digest.update(array.tobytes() + b"|")
        return digest.hexdigest()
