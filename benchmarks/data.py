"""Readers of the benchmark data, and the small data sets that need no files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = list[tuple[str, ...]]
ENVIRONMENT_VARIABLE = "PARTWISE_DATA"


class MissingDataError(Exception):
    """A task needs files that are missing. The message says which."""


def data_file(relative: str) -> Path:
    """Return the path of a data file in the folder that ``PARTWISE_DATA`` names."""
    folder = os.environ.get(ENVIRONMENT_VARIABLE)
    if not folder:
        raise MissingDataError(
            f"it needs {relative}: set {ENVIRONMENT_VARIABLE} to the folder that holds it."
        )
    path = Path(folder) / relative
    if not path.is_file():
        raise MissingDataError(f"it needs {path}, which does not exist.")
    return path


def read_columns(path: Path) -> list[Rows]:
    """Read a gzipped column file: one token per line, a blank line between sentences."""
    sentences: list[Rows] = []
    rows: Rows = []
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            fields = tuple(line.split())
            if fields:
                rows.append(fields)
            elif rows:
                sentences.append(rows)
                rows = []
    if rows:
        sentences.append(rows)
    return sentences


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """Read an array of bytes from a gzipped IDX file."""
    content = gzip.decompress(path.read_bytes())
    if content[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path} is not an IDX file of bytes: it begins with {content[:4]!r}.")
    rank = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=rank, offset=4)
    flat: npt.NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank)
    return flat.reshape(tuple(int(size) for size in shape))


def mnist(part: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """Return pixels in [0, 1] as CSR, and the digits; ``part`` is ``train`` or ``t10k``."""
    from scipy import sparse

    images = read_idx(data_file(f"mnist/{part}-images-idx3-ubyte.gz"))
    labels = read_idx(data_file(f"mnist/{part}-labels-idx1-ubyte.gz"))
    x = sparse.csr_matrix(images.reshape(len(images), -1)).astype(np.float64)
    x.data /= 255.0
    return x, labels.astype(np.int64)


def svmlight(relative: str, n_features: int) -> tuple[Any, npt.NDArray[np.int64]]:
    """Read a two-class svmlight file as CSR, with labels 0 (negative) and 1 (positive)."""
    from sklearn.datasets import load_svmlight_file

    x, y = load_svmlight_file(str(data_file(relative)), n_features=n_features)
    # The reader makes 64-bit indices, which several solvers refuse.
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, (y > 0).astype(np.int64)


def digits() -> tuple[Any, npt.NDArray[np.int64]]:
    """Return the 8x8 digits that come with scikit-learn, scaled to [0, 1], as CSR."""
    from scipy import sparse
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return sparse.csr_matrix(x / 16.0), y.astype(np.int64)


def demo_text(n_sentences: int, seed: int) -> list[Rows]:
    """Generate sentences with the columns word, part of speech and label."""
    from partwise.datasets import tagged_text

    text = tagged_text(n_sentences, seed)
    if text.labels is None:
        raise ValueError("tagged_text made text without labels.")
    rows = list(zip(*text.fields, text.labels, strict=True))
    ends = np.cumsum(text.lengths).tolist()
    return [rows[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
