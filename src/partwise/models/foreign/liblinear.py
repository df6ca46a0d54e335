"""LIBLINEAR's model files.

solver_type L2R_LR    lines of a name and values: solver_type, nr_class, label (the labels in
...                   the order of the columns), nr_feature, bias
w                     then one line per feature, and one more if bias >= 0, which is the value
0.5 -0.1              of a constant feature; one column per label, but only one, for the first
                      label against the second, if there are two (except Crammer and Singer)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import DataError
from .base import ModelFormat, Origin, decoded, named_file, read_bytes, real, whole
from .entries import classifier

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["FORMAT", "read_liblinear_model"]


class _Solver(NamedTuple):
    """What a solver type minimises.

    ``loss`` is that of partwise for two classes, or None if partwise does not have it; ``joint`` is
    whether all classes are trained together, and not each against the rest.
    """

    number: int
    words: str
    loss: str | None
    joint: bool = False


_SOLVERS: Final = {
    "L2R_LR": _Solver(0, "the log loss", "log"),
    "L2R_L2LOSS_SVC_DUAL": _Solver(1, "the squared hinge loss", None),
    "L2R_L2LOSS_SVC": _Solver(2, "the squared hinge loss", None),
    "L2R_L1LOSS_SVC_DUAL": _Solver(3, "the hinge loss", "hinge"),
    "MCSVM_CS": _Solver(4, "the hinge loss of Crammer and Singer", "hinge", True),
    "L1R_L2LOSS_SVC": _Solver(5, "the squared hinge loss with |w|_1", None),
    "L1R_LR": _Solver(6, "the log loss with |w|_1", "log"),
    "L2R_LR_DUAL": _Solver(7, "the log loss", "log"),
}
#: Solvers that regularise by |w|_1 alone, which partwise only reaches as l2 goes to 0.
_SPARSE: Final = (5, 6)


def read_liblinear_model(path: str) -> Model:
    """Read a model file of LIBLINEAR.

    Parameters
    ----------
    path : str
        The file, of one of the solver types 0 to 7.

    Returns
    -------
    Model
        A classifier, whose labels are strings as those of svmlight files are. The difference of
        the scores of two labels is LIBLINEAR's decision value if there are two, and otherwise the
        difference of the decision values.

    Raises
    ------
    ModelFileError
        If the file is not a valid model file of LIBLINEAR, or is one of regression.
    """
    data = read_bytes(path)
    with named_file(path, "LIBLINEAR"):
        return _parse(data)


def _parse(data: bytes) -> Model:
    if not data.startswith(b"solver_type "):
        raise DataError("it does not begin with solver_type")
    lines = decoded(data, "it").split("\n")
    try:
        end = next(k for k, line in enumerate(lines) if line.strip() == "w")
    except StopIteration:
        raise DataError('it has no line "w", after which the weights come') from None
    held = {name: value for name, _, value in (line.partition(" ") for line in lines[:end])}
    solver = _solver(held)
    labels = _labels(held)
    bias = real(_field(held, "bias"), "bias")
    rows = [line for line in lines[end + 1 :] if line.strip()]
    n_features = whole(_field(held, "nr_feature").strip(), "nr_feature")
    n_rows = n_features + (bias >= 0.0)
    if len(rows) != n_rows:
        raise DataError(f"there are {len(rows):,} rows of weights where {n_rows:,} are expected")
    single = len(labels) == 2 and not solver.joint
    weights = _weights(rows, 1 if single else len(labels))
    if len(labels) == 2:
        # LIBLINEAR looks at the first column only, also of the two of Crammer and Singer, which
        # add up to 0. It chooses the second label where the value is 0, and partwise the first.
        column = weights[:, :1] * (0.5 if single else 1.0)
        weights, labels = np.hstack([-column, column]), labels[::-1]
    if bias <= 0.0:
        # A constant feature of value 0 has no effect.
        weights, bias = weights[:n_features], 0.0
    return _classifier(labels, weights, bias, solver)


def _classifier(labels: list[str], weights: Floats, bias: float, solver: _Solver) -> Model:
    two = len(labels) == 2
    ours = solver.loss is not None and (two or solver.joint) and solver.number not in _SPARSE
    share = "2/C" if two and not solver.joint else "1/C"
    what = solver.words if two or solver.joint else f"{solver.words}, each class against the rest"
    if ours:
        what += f" and l2 = {share}; the file does not hold C"
    probabilities = two and solver.loss == "log"
    origin = Origin("LIBLINEAR", what, ours, {"solver": solver.number})
    loss = "log" if probabilities else "hinge"
    return classifier(labels, weights, bias, origin, loss=loss)


def _field(held: dict[str, str], name: str) -> str:
    if name not in held:
        raise DataError(f"its header has no {name}")
    return held[name]


def _solver(held: dict[str, str]) -> _Solver:
    name = _field(held, "solver_type").strip()
    if name not in _SOLVERS:
        raise DataError(
            f"its solver_type is {name[:40]!r}; only classifiers can be converted, which are "
            + ", ".join(_SOLVERS)
        )
    return _SOLVERS[name]


def _labels(held: dict[str, str]) -> list[str]:
    labels = _field(held, "label").split()
    count = whole(_field(held, "nr_class").strip(), "nr_class")
    if count != len(labels) or count < 2:
        raise DataError(f"nr_class is {count:,} and there are {len(labels):,} labels")
    for label in labels:
        real(label, "a label")
    return labels


def _weights(rows: list[str], width: int) -> Floats:
    # All rows are looked at before there is a matrix, whose size the file only claims.
    fields = [row.split() for row in rows]
    for k, row in enumerate(fields):
        if len(row) != width:
            raise DataError(f"row {k + 1} of the weights has {len(row)} where {width} belong")
    found = np.zeros((len(rows), width))
    for k, row in enumerate(fields):
        found[k] = [real(one, f"a weight in row {k + 1}") for one in row]
    return found


FORMAT: Final = ModelFormat("a model file of LIBLINEAR (solver types 0 to 7)", read_liblinear_model)
