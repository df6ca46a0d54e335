"""Example data: text, trees and phrases from small grammars, and scikit-learn's digits."""

from __future__ import annotations

from partwise.problem.rows import Rows

from .sentences import tagged_text, write
from .trees import dependency_trees, phrase_trees

__all__ = ["dependency_trees", "digits", "phrase_trees", "tagged_text", "write"]


def digits() -> tuple[Rows, list[str]]:
    """Return scikit-learn's 1,797 digits of 8 by 8 pixels, from 0 to 1, and their labels.

    Returns
    -------
    rows : Rows
        The pixels that are not 0; ``rows.to_scipy()`` is a sparse matrix.
    labels : list of str
        The digits.

    Examples
    --------
    >>> from partwise.datasets import digits
    >>> rows, labels = digits()
    >>> rows.to_scipy().shape, labels[:3]
    ((1797, 64), ['0', '1', '2'])
    """
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return Rows.from_dense(pixels / 16.0), [str(label) for label in labels.tolist()]
