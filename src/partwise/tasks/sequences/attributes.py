"""Rows of features that have names in a file."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...formats.tokens import Attributes
from ...models.tally import Tally
from ...models.vocabulary import Vocabulary
from ...problem.rows import Rows

__all__ = ["attribute_rows"]


def attribute_rows(
    attributes: Attributes, known: Vocabulary | None = None, tally: Tally | None = None
) -> tuple[Rows, Vocabulary]:
    """Number the attributes of tokens, in the order in which they are first seen.

    The values of a name that occurs several times in a token are added up, and attributes of
    value 0 are absent, as in :func:`partwise.models.vocabulary.fit_rows`.

    Parameters
    ----------
    attributes : Attributes
        The attributes of all tokens.
    known : Vocabulary or None
        The names that a model knows; others are dropped. If None, every name gets a number.
    tally : Tally or None
        Counts the given and the known attributes.

    Returns
    -------
    rows, vocabulary
        The features of every token, and their names.
    """
    if known is not None and known.is_packed:
        return known.rows(*attribute_rows(attributes), tally), known
    present = attributes.values != 0.0
    names = [name for name, here in zip(attributes.names, present.tolist(), strict=True) if here]
    values = attributes.values[present]
    token = np.repeat(np.arange(len(attributes)), np.diff(attributes.ends))[present]
    vocabulary = Vocabulary(dict.fromkeys(names)) if known is None else known
    index = vocabulary.index
    number = np.fromiter((index.get(name, -1) for name in names), np.int64, len(names))
    if tally is not None:
        tally.add(len(number), int((number >= 0).sum()))
    token, values, number = (part[number >= 0] for part in (token, values, number))
    # Equal pairs of token and feature are merged, in the place of the first of them.
    key = token * max(1, len(vocabulary)) + number
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    sums: Floats = np.bincount(group, values, minlength=len(first)).astype(np.float64)[order]
    first = first[order]
    ends = np.concatenate([[0], np.cumsum(np.bincount(token[first], minlength=len(attributes)))])
    ones = bool((sums == 1.0).all())
    features = number[first].astype(np.int32)
    return Rows(ends, features, None if ones else sums, len(vocabulary)), vocabulary
