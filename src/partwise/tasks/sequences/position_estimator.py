"""What the estimators share that label positions: those of classifiers, taggers and segmenters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..estimator import Estimator, Prepared
from .fit import check_class_weight, check_min_count, prepare_positions

if TYPE_CHECKING:
    from ...arrays import Floats, Ints
    from ...models.model import Model
    from ...structures.base import Structure
    from .sources import Tokens

__all__ = ["PositionEstimator"]


@dataclass(eq=False, repr=False, kw_only=True)
class PositionEstimator(Estimator):
    """Base of the estimators that label positions; not for use on its own.

    Parameters
    ----------
    min_count : int
        Features of fewer positions are ignored.
    class_weight : None, "balanced" or dict
        Weights of the labels; labels that a dict does not name have weight 1. "balanced" is
        ``n / (K count_k)`` for label k of K among n. A sequence is weighted by the mean over its
        positions.
    """

    min_count: int = 1
    class_weight: Any = None

    def check(self) -> None:
        super().check()
        check_min_count(self.min_count)
        check_class_weight(self.class_weight)

    @property
    def _intercept(self) -> float:
        """The value of a constant feature of every position; 0: none."""
        return 0.0

    def _positions(
        self,
        source: Any,
        tokens: Tokens,
        structure: Structure,
        labels: Sequence[Any],
        gold: Sequence[Ints],
        weight: Floats,
        initial: Model | None,
    ) -> Prepared:
        """Prepare positions whose labels have numbers, see `prepare_positions`."""
        return prepare_positions(
            source,
            tokens,
            structure,
            labels,
            gold,
            weight=weight,
            class_weight=self.class_weight,
            min_count=self.min_count,
            intercept=self._intercept,
            constraints=getattr(self, "constraints", None),
        )
