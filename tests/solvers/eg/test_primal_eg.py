from __future__ import annotations

import numpy as np
import pytest
from support.instances import make_instance
from support.solvers import solver_of

from partwise.problem.evaluation import Evaluator
from partwise.problem.sweeps import Dial
from partwise.solvers.eg.batch import BatchEG
from partwise.solvers.eg.primal import PrimalEG
from partwise.training.loop import train


@pytest.mark.parametrize("kind", ["multiclass", "chain", "untied"])
@pytest.mark.parametrize("loss", ["log", "hinge", "softmax-margin", "between"])
def test_both_forms_make_the_same_steps(kind: str, loss: str) -> None:
    problem = make_instance(kind, loss, weighted=True, constrained=True).problem
    stored = solver_of(BatchEG, problem, 0.5)
    implied = solver_of(PrimalEG, problem, 0.5)
    for _ in range(15):
        first, second = stored.epoch(), implied.epoch()
        assert second.dual == pytest.approx(first.dual, rel=1e-10)
        assert implied.eta == stored.eta
    np.testing.assert_allclose(
        implied.dual_point().theta, stored.dual_point().theta, rtol=1e-8, atol=1e-9
    )
    values = stored.evaluate(), implied.evaluate()
    assert values[1].primal == pytest.approx(values[0].primal, rel=1e-9)


@pytest.mark.parametrize("loss", ["log", "hinge"])
@pytest.mark.parametrize("eta", ["theorem", "safe", 1e-3])
def test_the_fixed_steps_are_the_same(loss: str, eta: float | str) -> None:
    problem = make_instance("chain", loss, weighted=True).problem
    stored = solver_of(BatchEG, problem, 0.5, eta=eta)
    implied = solver_of(PrimalEG, problem, 0.5, eta=eta)
    last = -np.inf
    for _ in range(15):
        first, second = stored.epoch(), implied.epoch()
        assert second.dual == pytest.approx(first.dual, rel=1e-10)
        assert implied.eta == stored.eta
        assert second.passes == 1.0
        assert second.dual >= last
        last = second.dual


def test_the_primal_form_of_section_3() -> None:
    """Transcribed: theta_i = eta C ((t - 1) cost_i + F_i z),  z <- z + w;  eta C is eta here."""
    problem, c, eta = make_instance("untied", "hinge").problem, 0.5, 0.2
    machine = solver_of(PrimalEG, problem, 1.0 / c, gold=0.0, eta=eta * c)
    evaluator, z = Evaluator(problem), problem.storage.zeros()
    mu = np.empty(problem.n_parts)
    for t in range(1, 8):
        scores = evaluator.scores(z, Dial(1.0, 0.0, 0.0))
        theta = eta * c * ((t - 1) * problem.arrays.cost + scores)
        np.testing.assert_allclose(machine.dual_point().theta, theta, rtol=1e-10, atol=1e-12)
        evaluator.marginals(theta, mu, np.empty(problem.n_examples))
        w = c * evaluator.dual_sum(mu)
        np.testing.assert_allclose(machine.current_weights(), w, rtol=1e-10, atol=1e-12)
        z += w
        machine.epoch()


@pytest.mark.parametrize("loss", ["log", "softmax-margin", "between"])
def test_weights_stand_for_the_distributions_of_their_loss(loss: str) -> None:
    problem = make_instance("chain", loss, weighted=True).problem
    evaluator = Evaluator(problem)
    stored = problem.storage.scatter(np.random.default_rng(0).normal(size=problem.layout.n_weights))
    machine = solver_of(PrimalEG, problem, 0.5, initial_weights=stored)
    # theta = (F w + cost) / tau
    np.testing.assert_allclose(machine.dual_point().theta, evaluator.scores(stored), atol=1e-12)


def test_it_goes_on_from_weights_and_from_duals() -> None:
    problem = make_instance("chain").problem
    fit = train(problem, 1.0, solver="primal-eg", tol=1e-8)
    for more in ({"initial_weights": fit.weights}, {"start": fit.dual_point}):
        again = train(problem, 1.0, solver="primal-eg", tol=1e-7, **more)  # type: ignore[arg-type]
        assert again.certificate.passes <= 2.0
