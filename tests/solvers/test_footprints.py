"""What solvers say they keep: vectors, numbers per part and per example, and other bytes.

How near this is to what they take is measured in tests/models/test_announcement.py.
"""

from __future__ import annotations

import pytest
from support.instances import make_instance

from partwise.solvers.registry import SOLVERS, offered

PROBLEMS = [(kind, loss) for kind in ("chain", "multiclass") for loss in ("log", "hinge")]
#: For each problem, or None where the solver does not work on it.
KEPT = {
    "auto": [(2, 2, 7, 0), (8, 2.5, 5, 11648), (11, 3, 8, 3600), (7, 2.5, 5, 0)],
    "online-eg": [(2, 2, 7, 0), (4, 2, 7, 0), (3, 2, 7, 0), (4, 2, 7, 0)],
    "batch-eg": [(2, 8, 4, 0), (4, 8, 4, 0), (3, 8, 4, 0), (4, 8, 4, 0)],
    "primal-eg": [(6, 1, 7, 0), (6, 1, 7, 0), (6, 1, 7, 0), (6, 1, 7, 0)],
    "proximal-eg": [(6, 2, 8, 0), None, (6, 2, 8, 0), None],
    "lbfgs": [(27, 1, 8, 0), None, (27, 1, 8, 0), None],
    "cg": [(19, 1, 6, 0), None, (19, 1, 6, 0), None],
    "newton": [(11, 1, 8, 0), None, (11, 3, 8, 3600), None],
    "owl-qn": [(27, 1, 8, 0), None, (27, 1, 8, 0), None],
    "sag": [(7, 2, 14, 0), None, (7, 2, 14, 0), None],
    "saga": [(7, 2, 14, 0), None, (7, 2, 14, 0), None],
    "sag-nus": [(7, 2, 14, 0), None, (7, 2, 14, 0), None],
    "sag-batch": [(8, 1, 16, 1260), None, (8, 1, 16, 396), None],
    "svrg": [(9, 1, 14, 0), None, (9, 1, 14, 0), None],
    "sdca": [None, None, (6, 2, 6, 0), None],
    "bcfw": [None, (6, 2, 5, 11648), None, (6, 2, 5, 10112)],
    "crammer-singer": [None, None, None, (5, 2, 5, 0)],
    "smo": [None, (5, 2, 5, 0), None, (5, 2, 5, 0)],
    "smo-eg": [None, (6, 6, 8, 0), None, (6, 6, 8, 0)],
    "svm-struct": [None, (15, 4, 6, 3840), None, (15, 4, 6, 960)],
    "bmrm": [(15, 4, 6, 3840), (15, 4, 6, 3840), (15, 4, 6, 960), (15, 4, 6, 960)],
    "excessive-gap": [None, (9, 3, 8, 0), None, (9, 3, 8, 0)],
    "extragradient": [None, (12, 3, 8, 0), None, (12, 3, 8, 0)],
    "dual-cd": [None, None, (5, 3, 8, 0), None],
    "primal-cd": [None, None, (6, 1, 8, 0), None],
    "blocks": [(8.5, 2, 8, 0), (12.5, 2, 5, 11648), (8.5, 2, 8, 3088), (12.5, 2, 5, 3200)],
    "sgd": [(5, 1, 8, 144), (5, 1, 8, 144), (7, 1, 8, 24), (5, 1, 8, 24)],
    "sgd-nus": [(8, 1, 14, 0), None, (8, 1, 14, 0), None],
    "asgd": [(5, 1, 8, 144), (5, 1, 8, 144), (7, 1, 8, 24), (5, 1, 8, 24)],
    "pegasos": [(5, 1, 8, 144), (5, 1, 8, 144), (7, 1, 8, 24), (5, 1, 8, 24)],
    "adagrad": [(7, 1, 8, 0), None, (7, 1, 8, 0), None],
    "smd": [(10, 1, 8, 0), None, (10, 1, 8, 0), None],
    "hybrid": [(28, 1, 8, 0), None, (28, 1, 8, 0), None],
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_a_footprint_counts_what_is_kept(name: str) -> None:
    found = []
    for kind, loss in PROBLEMS:
        lengths = [2] * 4 if kind == "chain" else None
        problem = make_instance(kind, loss, n=4, lengths=lengths).problem
        fits = SOLVERS[name].needs <= offered(problem)
        found.append(SOLVERS[name].footprint(problem, 1.0, 0.0, {}) if fits else None)
    assert [f and (f.vectors, f.parts, f.examples, f.other) for f in found] == KEPT[name]
