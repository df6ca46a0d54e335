"""What the paper says in words, beside its figures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..courses import Limits, Method, follow, warm_up
from ..figure import Claim, Outcome, compare
from .data import images, part_of_images
from .runs import (
    CG,
    EG,
    LBFGS,
    best_known,
    chosen_eta,
    last,
    run,
    sgd,
    shown,
    to_excess,
)

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

BATCH = Method("batch", "batch EG", "batch-eg", {"start": 0.0})
THEOREM = Method("theorem", "EG, fixed eta", "online-eg", {"preset": "collins2008-figure2"})
#: Half of the failures that are allowed to the best of some runs.
DELTA = 1.0 / 8.0


def batch_claims(problem: Problem, passes: float) -> list[Claim]:
    """Compare batch with online EG, and conjugate gradient with L-BFGS."""
    c = 10.0
    methods = {"online": EG, "batch": BATCH, "theorem": THEOREM, "L-BFGS": LBFGS, "CG": CG}
    warm_up(problem, 1e3, list(methods.values()))
    found = {k: follow(problem, c, m, Limits(passes)) for k, m in methods.items()}
    best = best_known(*found.values())
    near = {name: to_excess(r, 1e-2, best) for name, r in found.items()}
    duals = {name: found[name].dual for name in ("online", "batch", "theorem")}
    on = f"on {problem.n_examples:,} images, C = 10"
    return [
        compare(
            "LLEG-Batch converges much more slowly than the online algorithms (section 7).",
            f"Passes to 1% of the optimum {on}: online {shown(near['online'])}, batch with a "
            f"search for its step {shown(near['batch'])}. The duals after {passes:.0f} passes are "
            f"{duals['online']:.6g} and {duals['batch']:.6g}.",
            near["online"] < 0.5 * near["batch"],
            "batch EG searches for its step here",
        ),
        compare(
            "An adaptive learning rate turns out to be beneficial (section 7).",
            f"The longest step of Theorem 2 has a dual of {duals['theorem']:.6g} after "
            f"{passes:.0f} passes {on}, halving and growing {duals['online']:.6g}.",
            duals["online"] > duals["theorem"],
            "the fixed step is long enough where the features are small",
        ),
        compare(
            "Conjugate gradient performs worse than L-BFGS (footnote 10, section 9).",
            f"Passes to 1% of the optimum {on}: CG {shown(near['CG'])}, L-BFGS "
            f"{shown(near['L-BFGS'])}.",
            near["CG"] > near["L-BFGS"],
            "this CG has another line search",
        ),
        compare(
            "L-BFGS and CG converge more slowly than online EG (section 9).",
            f"The same numbers, and {shown(near['online'])} for online EG.",
            near["online"] < min(near["CG"], near["L-BFGS"]),
            "with so few examples a pass of online EG makes few steps",
        ),
    ]


def repeated_claims(problem: Problem, passes: float) -> list[Claim]:
    """Repeat the randomised algorithm."""
    from partwise.training.loop import train

    c, k = 10.0, round(math.log2(1.0 / DELTA))
    best = train(problem, c, tol=1e-6).certificate.dual
    runs = [follow(problem, c, EG, Limits(passes, seed=seed)) for seed in range(2 * k)]
    duals = np.array([last(one).dual for one in runs])
    behind = best - duals
    spread = float(behind.max() - behind.min()) / float(behind.mean())
    fixed = [follow(problem, c, THEOREM, Limits(passes, seed=seed)) for seed in range(2 * k)]
    short = np.array([best - last(one).dual for one in fixed])
    return [
        compare(
            "Repeated trials of the randomised algorithm do not yield significantly different "
            "results (section 5.1).",
            f"{2 * k} runs of {passes:.0f} passes end {behind.mean():.3g} below the best dual of "
            f"{best:.6g} on average, and differ by {spread:.0%} of that.",
            spread <= 0.5 or behind.max() <= 1e-3 * best,
            "so few examples leave more to chance",
        ),
        compare(
            f"The best of log2(1/delta) runs is within a factor of 2 of the mean with probability "
            f"1 - delta (section 5.1); delta = {DELTA:g}: {k} runs.",
            f"With the step of Theorem 2 the best of {k} runs ends {short[:k].min():.3g} below, "
            f"and the mean of {2 * k} runs is {short.mean():.3g}.",
            bool(short[:k].min() <= 2.0 * short.mean()),
            f"it may fail once in {1.0 / DELTA:g} times",
        ),
    ]


def step_claims(quick: bool) -> list[Claim]:
    """Look at the cost of a pass, and at the steps."""
    task, c = images(quick), 10.0
    eg, descent = run(task, quick, c, EG), sgd(task, quick, c)
    lbfgs = run(task, quick, c, LBFGS)
    cost = {
        "EG": last(eg).seconds / last(eg).passes,
        "SGD": last(descent).seconds / last(descent).passes,
        "L-BFGS": last(lbfgs).seconds / last(lbfgs).passes,
    }
    dearer = [cost["EG"] / cost[name] - 1.0 for name in ("SGD", "L-BFGS")]
    low = {x: run(task, quick, x, EG) for x in (100.0, 10.0, 1.0)}
    passes = {x: to_excess(r, 0.02, best_known(r)) for x, r in low.items()}
    constant = Method("constant", "SGD, constant", "sgd", {
        "eta": chosen_eta(task, c), "schedule": "constant", "order": "replacement",
    })  # fmt: skip
    steady = run(task, quick, c, constant)
    return [
        compare(
            "EG takes on average only 10% more time per iteration than SGD and L-BFGS (app. F).",
            "CPU seconds per pass: "
            + ", ".join(f"{name} {seconds:.3g}" for name, seconds in cost.items())
            + f"; {dearer[0]:.0%} and {dearer[1]:.0%} more.",
            None if quick else max(dearer) <= 0.3,
            "the data are too small" if quick else "compiled passes differ in what they store",
        ),
        compare(
            "Convergence for low values of C is slow, as the bounds predict: time scales with 1/C "
            "(7.1, 7.1.1).",
            "Passes until the primal is within 2% of the lowest: "
            + ", ".join(f"C = {x:g}: {shown(n)}" for x, n in passes.items())
            + ".",
            passes[100.0] <= passes[10.0] <= passes[1.0],
            "the runs are too short",
        ),
        compare(
            "SGD with eta_0 / (1 + k/n) performs better than with a fixed learning rate (7.1.3).",
            f"Primals at the end with eta_0 = {chosen_eta(task, c):g} at C = 10: "
            f"{last(descent).objective:.6g} and {last(steady).objective:.6g}.",
            last(descent).objective <= last(steady).objective,
            "the run is too short for a fixed step to show its noise",
        ),
    ]


def hinge_claims(quick: bool, passes: float) -> list[Claim]:
    """Compare the losses, count the trials of the steps, and split the examples into blocks."""
    from partwise.training.loop import train

    problem, margin = part_of_images(quick), part_of_images(quick, hinge=True)
    plain = Method("plain", "EG", "online-eg", {"preset": "collins2008-permutation"})
    spread = Method("blocks", "EG in 8 blocks", "blocks", {"preset": "collins2008-parallel"})
    for one in (problem, margin):
        warm_up(one, 1e3, [plain, spread])
    c, near = 10.0, {}
    for name, one, method in (
        ("log-linear", problem, plain), ("max-margin", margin, plain), ("blocks", problem, spread),
        ("max-margin blocks", margin, spread),
    ):  # fmt: skip
        found = follow(one, c, method, Limits(3.0 * passes))
        best = train(one, c, tol=1e-6, max_passes=1e4, quiet=True).certificate.primal
        near[name] = [to_excess(found, epsilon, best) for epsilon in (1e-1, 1e-2)]
        if name == "log-linear":
            tries = last(found).passes / (len(found.points) - 1) - 1.0
    smooth, hard, *blocks = near.values()
    on = f"on {problem.n_examples:,} images, C = 10"
    return [
        compare(
            "If the bounds are tight, log-linear models have an advantage over max-margin ones in "
            "training efficiency (section 9).",
            f"Passes of EG until the primal is within 10% and 1% of the optimum {on}: log-linear "
            f"{shown(smooth[0])} and {shown(smooth[1])}, max-margin {shown(hard[0])} and "
            f"{shown(hard[1])}.",
            smooth[1] < hard[1],
            "the weights of the max-margin model are an average here",
        ),
        compare(
            "The line search of EG evaluates more than one point for less than 10% (footnote 14).",
            f"{tries:.1%} more visits than one per example and pass, over {3.0 * passes:.0f} "
            f"passes {on}.",
            tries < 0.1,
            "each step that is halved counts here, and there are more of them in the first passes",
        ),
        compare(
            "Online EG may be distributed by updating k examples in parallel (section 9).",
            f"With k = 8, passes until the primal is within 10% and 1%: log-linear "
            f"{shown(blocks[0][0])} and {shown(blocks[0][1])}, max-margin {shown(blocks[1][0])} "
            f"and {shown(blocks[1][1])}.",
            blocks[0][1] < math.inf and blocks[1][0] < math.inf,
            "the run is too short",
        ),
    ]


def claims(quick: bool) -> Outcome:
    """Return the claims."""
    problem = part_of_images(quick)
    passes = 10.0 if quick else 60.0
    stated = batch_claims(problem, passes) + repeated_claims(problem, 5.0 if quick else 20.0)
    stated += step_claims(quick) + hinge_claims(quick, passes)
    said = f"{images(quick).said} {problem.n_examples:,} of them where the number is given."
    return Outcome(said, [], stated)
