"""CoNLL-X for taggers: as CoNLL-U, without comments, multiword tokens and empty nodes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from partwise.errors import DataError
from partwise.formats import conllu
from partwise.formats.base import Format
from partwise.formats.faults import STRICT, Faults
from partwise.formats.options import OPTIONS
from partwise.formats.source import Text
from partwise.formats.tokens import Columns

__all__ = ["FORMAT", "read_conllx", "write_conllx"]


def read_conllx(
    source: str | os.PathLike[str] | Text,
    *,
    labelled: bool = True,
    n_columns: int | None = None,
    inputs: int | None = None,
    label: str | None = None,
    columns: Any = None,
    encoding: str | None = None,
    faults: Faults = STRICT,
) -> Columns:
    r"""Read a CoNLL-X file to tag its words.

    Parameters are those of :func:`partwise.formats.conllu.read_conllu`. The columns are also known
    by the names of CoNLL-X: "cpostag" is "upos" and "postag" is "xpos".

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats.conllx import read_conllx
    >>> _ = Path("t.conll").write_text("1 dogs dog N NNS _ 0 root _ _\n\n".replace(" ", "\t"))
    >>> read_conllx("t.conll", label="postag").labels
    ['NNS']
    """
    return conllu.read_rows(
        "conllx", source, labelled, n_columns, inputs, label, columns, encoding, faults
    )


def write_conllx(
    path: str | os.PathLike[str],
    columns: Columns,
    labels: Sequence[str] | None = None,
    probabilities: Sequence[float] | None = None,
    notes: Any = None,
    label: str | None = None,
) -> None:
    r"""Write a CoNLL-X file.

    Parameters are those of :func:`partwise.formats.conllu.write_conllu`, but for what CoNLL-X has
    no place for: `probabilities` and `notes` must be None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from partwise.formats.conllx import read_conllx, write_conllx
    >>> _ = Path("t.conll").write_text("1 dogs dog N NNS _ 0 root _ _\n\n".replace(" ", "\t"))
    >>> write_conllx("out.conll", read_conllx("t.conll", label="postag"), ["NN"], label="postag")
    >>> Path("out.conll").read_text().split("\t")[:5]
    ['1', 'dogs', 'dog', 'N', 'NN']
    """
    if probabilities is not None or notes is not None:
        raise DataError(
            "CoNLL-X has no place for probabilities and for several labellings of a sentence; use "
            "--json, or --format conllu, which reads the same files"
        )
    conllu.write_rows("conllx", path, columns, labels, None, None, label)


def _signs(lines: Sequence[str]) -> str | None:
    assert conllu.FORMAT.signs is not None
    return None if any(line.startswith("#") for line in lines) else conllu.FORMAT.signs(lines)


FORMAT: Final = Format(
    "tokens in columns",
    read_conllx,
    "CoNLL-X: ten columns per word",
    write_conllx,
    OPTIONS["conllx"],
    _signs,
    finds_all=True,
    separate="blank line",
)
