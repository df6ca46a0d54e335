"""One trainer for every structure: the same compiled solver, certified."""

from __future__ import annotations

import pytest
from support.structure_cases import case, problem_of

from partwise.solvers.eg.online import online_eg_epoch
from partwise.structures.registry import STRUCTURES
from partwise.training.loop import train


def test_every_structure_is_here() -> None:
    for name in STRUCTURES:
        assert case(name)[0].name == name


@pytest.mark.parametrize("name", STRUCTURES)
def test_log_loss(name: str) -> None:
    fit = train(problem_of(name, "log"), 1.0, solver="online-eg", tol=1e-6, max_passes=500)
    assert fit.certificate.converged
    assert fit.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("name", STRUCTURES)
def test_hinge(name: str) -> None:
    fit = train(problem_of(name, "hinge"), 10.0, solver="online-eg", tol=1e-3, max_passes=3000)
    assert fit.certificate.converged
    assert fit.certificate.relative_gap <= 1e-3


def test_all_through_the_same_compiled_solver() -> None:
    for name in STRUCTURES:
        train(problem_of(name, "log"), 1.0, solver="online-eg", tol=1e-2)
    assert len(online_eg_epoch.signatures) == 1
