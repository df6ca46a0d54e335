"""The list of labels that an estimator predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LabelList"]


class LabelList(list[Any]):
    """A list with one label per example, where a label may be a list, a tree or anything else.

    It is a list in every way but one: ``numpy.concatenate`` takes each label as one element, so
    that joined predictions are an array of one dimension, whatever the lengths of the labels are.
    This is how scikit-learn's ``cross_val_predict`` puts the predictions of its folds together.
    """

    def elements(self) -> npt.NDArray[np.object_]:
        """Return an array of one dimension with one label per element."""
        made = np.empty(len(self), dtype=object)
        # One by one, because numpy would take labels of equal lengths as the rows of a matrix.
        for i, label in enumerate(self):
            made[i] = label
        return made

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Join predictions label by label; all other functions of numpy get plain lists."""
        if not all(issubclass(kind, (LabelList, np.ndarray)) for kind in types):
            return NotImplemented
        if func is np.concatenate and args:
            parts = [part.elements() if isinstance(part, LabelList) else part for part in args[0]]
            return np.concatenate(parts, *args[1:], **kwargs)
        return func._implementation(*args, **kwargs)  # type: ignore[attr-defined]
