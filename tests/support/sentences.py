"""Sentences of the demonstration data, with dicts of features for tokens."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.datasets import tagged_text

Sentences = tuple[list[list[dict[str, Any]]], list[list[str]]]


def sentences(number: int, seed: int = 0) -> Sentences:
    """Draw sentences and their labels."""
    columns = tagged_text(number, seed)
    X, y = [], []
    for a, b in pairwise([0, *np.cumsum(columns.lengths).tolist()]):
        words, tags = columns.fields[0][a:b], columns.fields[1][a:b]
        X.append(
            [
                {"w": w, "p": p, "end": w[-2:], "up": w[0].isupper()}
                for w, p in zip(words, tags, strict=True)
            ]
        )
        y.append(columns.labels[a:b])
    return X, y
