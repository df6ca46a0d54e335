"""The figures, tables and claims of Schmidt et al. 2015 (003)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..report import tell
from .figure import Claim, Curve, Figure, Outcome, Panel, compare
from .schmidt2015_runs import PARTS, QUICK, Runs, all_runs, load, task_of
from .schmidt2015_words import words

SAG = ("SAG", "SAG-NUS", "SAG-NUS*")
STOCHASTIC = ("SG", "ASG", "AdaGrad", "SMD")
#: Figure 1 and its like.
METHODS = ("L-BFGS", "Pegasos", *STOCHASTIC, "Hybrid", "OEG", *SAG)
#: Figure 2 leaves some out, to be readable.
FEWER = ("L-BFGS", *STOCHASTIC, "Hybrid", "OEG", "SAG-NUS*")
#: Errors within this part of each other are alike.
ALIKE = 0.05
_TOO_SMALL = "--quick has a few generated sentences."


def claim(
    quick: bool,
    says: str,
    runs: Sequence[Runs],
    found: Callable[[Runs], str],
    holds: Callable[[Runs], bool],
    why: str = "",
    least: int | None = None,
) -> Claim:
    """Compare a statement on every data set; it agrees if it holds on all, or on so many."""
    told = "; ".join(f"{one.task.name}: {found(one)}" for one in runs)
    agreed = [holds(one) for one in runs]
    count = f"holds on {sum(agreed)} of {len(runs)}"
    enough = sum(agreed) >= (len(runs) if least is None else least)
    return compare(
        says, f"{count}. {told}", None if quick else enough, _TOO_SMALL if quick else why
    )


def ahead(
    quick: bool, says: str, runs: Sequence[Runs], first: str, others: Sequence[str], why: str = ""
) -> Claim:
    """Compare the objective of a method at the end with those of others."""

    def found(one: Runs) -> str:
        return ", ".join(f"{x} {one.excess(x):.1e}" for x in (first, *others) if x in one.best)

    def holds(one: Runs) -> bool:
        return all(one.excess(first) < one.excess(x) for x in others if x in one.best)

    return claim(quick, says, runs, found, holds, why)


def said(runs: Sequence[Runs]) -> str:
    """Return what was drawn, in sentences."""
    parts = "; ".join(f"{one.part.said} ({one.n:,}, {len(one.best)} methods)" for one in runs)
    proved = max(one.proved for one in runs)
    return (
        f"{parts}. l2 = 1, up to {max(d.points[-1].passes for d in runs[0].best.values()):.0f} "
        f"passes; the optima are proved to {proved:.0e} relative. On text, the regulariser of SMD "
        "is shared out among the examples that have a feature."
    )


def panels(runs: Sequence[Runs], names: Sequence[str], x: str, y: str) -> list[Panel]:
    """Return a box per data set: y ("objective" or "error") against x ("passes" or "seconds")."""
    labels = {
        "passes": "passes over the data",
        "seconds": "CPU seconds of one thread",
        "objective": "objective minus optimum, mean over the examples",
        "error": "test error, %",
    }
    return [
        Panel(
            one.task.title,
            labels[x],
            labels[y],
            [curve(one, name, x, y) for name in names if name in one.best]
            + [
                curve(one, name, x, y, second=True)
                for name in (STOCHASTIC if y == "error" and names is FEWER else ())
                if name in one.second
            ],
            ("y" if y == "objective" else "") + ("x" if x == "seconds" else ""),
        )
        for one in runs
    ]


def curve(one: Runs, name: str, x: str, y: str, second: bool = False) -> Curve:
    """Return the course of a method; points where it has diverged are left out."""
    descent = (one.second if second else one.best)[name]
    points = [point for point in descent.points if math.isfinite(point.objective)]
    first = 1 if x == "seconds" else 0
    values = [point.error for point in points]
    if y == "objective":
        values = [excess / one.n for excess in descent.curve(one.optimum)[: len(points)]]
    elif not second:
        first = max(first, 1)  # the error at w = 0 would hide all others
    label = f"{name}, second best step" if second else name
    at = [max(getattr(point, x), 1e-3 if x == "seconds" else 0.0) for point in points]
    return Curve(label, at[first:], values[first:])


def figure_1(quick: bool) -> Outcome:
    """Draw the objective against passes."""
    runs = all_runs(quick)
    rest = ("L-BFGS", "Pegasos", *STOCHASTIC, "Hybrid", "SAG")
    claims = [
        ahead(quick, "SG outperformed Pegasos.", runs, "SG", ("Pegasos",)),
        ahead(
            quick,
            "ASG outperformed AdaGrad and SMD, and SG.",
            runs,
            "ASG",
            ("AdaGrad", "SMD", "SG"),
        ),
        ahead(quick, "Hybrid outperformed L-BFGS.", runs, "Hybrid", ("L-BFGS",)),
        dominance(quick, runs),
        ahead(
            quick,
            "Both SAG-NUS methods outperform all others, except OEG, by a substantial margin.",
            runs,
            "SAG-NUS",
            rest,
        ),
        claim(
            quick,
            "SAG-NUS* often outperforms the methods before it by an order of magnitude.",
            runs,
            lambda one: f"{one.excess('SAG-NUS*'):.1e} against {_best(one, rest):.1e}",
            lambda one: 10.0 * one.excess("SAG-NUS*") <= _best(one, rest),
            least=2,
        ),
        ahead(quick, "SAG-NUS* always outperforms SAG-NUS.", runs, "SAG-NUS*", ("SAG-NUS",)),
        oeg_claim(quick, runs),
    ]
    rows = [row for one in runs for row in table(one)]
    header = ["data", "method", "eta", *(f"{p} passes" for p in _PASSES), *_EPSILONS]
    return Outcome(said(runs), panels(runs, METHODS, "passes", "objective"), claims, header, rows)


_PASSES = (5, 10, 20, 30)
_EPSILONS = ("s to 1e-2", "s to 1e-4")


def table(one: Runs) -> list[list[str]]:
    """Return a row per method: its step, P - optimum after passes, and seconds to a distance."""
    rows = []
    for name, descent in one.best.items():
        row = [one.task.name, name, "" if descent.eta is None else f"{descent.eta:g}"]
        row += [f"{one.excess(name, passes):.1e}" for passes in _PASSES]
        for epsilon in (1e-2, 1e-4):
            seconds = descent.seconds_to(epsilon, one.optimum)
            row.append("-" if seconds is None else f"{seconds:.1f}")
        rows.append(row)
    return rows


def _best(one: Runs, names: Sequence[str]) -> float:
    return min(one.excess(name) for name in names if name in one.best)


def dominance(quick: bool, runs: Sequence[Runs]) -> Claim:
    """Compare the ranks of ASG, Hybrid and SAG over the data sets."""
    names = ("ASG", "Hybrid", "SAG")
    orders = [sorted(names, key=one.excess) for one in runs]
    told = "; ".join(
        f"{one.task.name}: {' < '.join(order)}" for one, order in zip(runs, orders, strict=True)
    )
    differs = len({order[0] for order in orders}) > 1
    return compare(
        "None of ASG, Hybrid and SAG dominated the others: their ranks changed with the data.",
        f"by the objective at the end: {told}",
        None if quick else differs,
        _TOO_SMALL if quick else "One of them is first on all data sets.",
    )


def oeg_claim(quick: bool, runs: Sequence[Runs]) -> Claim:
    """Compare OEG with SAG-NUS* on the first two data sets and on the others."""
    ratio = [one.excess("OEG") / one.excess("SAG-NUS*") for one in runs]
    told = "; ".join(
        f"{one.task.name}: {one.excess('OEG'):.1e} against {one.excess('SAG-NUS*'):.1e}"
        for one in runs
    )
    holds = len(runs) > 2 and max(ratio[:2]) < min(ratio[2:])
    return compare(
        "OEG performed very well on the first two data sets, and less well on the other two.",
        f"OEG against SAG-NUS*: {told}",
        None if quick else holds,
        _TOO_SMALL if quick else OEG_WHY,
    )


OEG_WHY = (
    "The paper does not say when examples begin to count in w. Here all do from the start, with "
    "distributions near their gold labels: the first w is a sum of errors that were made without "
    "any; by default they enter at their first visit (Figure 4)."
)


def figure_2(quick: bool) -> Outcome:
    """Draw the test error of some methods, with the second best steps."""
    runs = all_runs(quick)
    classic = ("SG", "ASG", "AdaGrad")

    def lowest(one: Runs) -> float:
        return min(one.error(name) for name in FEWER if name in one.best)

    def errors(one: Runs) -> str:
        pairs = (f"{x} {one.error(x, 5):.2f} / {one.error(x, 5, True):.2f}" for x in classic)
        return ", ".join(pairs)

    claims = [
        claim(
            quick,
            "SAG-NUS* is always among the best in terms of the test error.",
            runs,
            lambda one: f"{one.error('SAG-NUS*'):.2f}% (the lowest is {lowest(one):.2f}%)",
            lambda one: one.error("SAG-NUS*") <= (1.0 + ALIKE) * lowest(one),
        ),
        claim(
            quick,
            "On three of the four data sets AdaGrad and ASG with the best step reach the best "
            "error as fast as SAG-NUS*.",
            runs,
            lambda one: (
                ", ".join(f"{x} {one.error(x, 5):.2f}%" for x in ("AdaGrad", "ASG", "SAG-NUS*"))
                + " after 5 passes"
            ),
            lambda one: (
                min(one.error("AdaGrad", 5), one.error("ASG", 5))
                <= (1.0 + ALIKE) * one.error("SAG-NUS*", 5)
            ),
            least=3,
        ),
        claim(
            quick,
            "All classic stochastic methods are much worse when the best step is not used.",
            runs,
            lambda one: f"{errors(one)} (best / second best step, % after 5 passes)",
            lambda one: all(
                one.error(x, 5, True) > (1.0 + ALIKE) * one.error(x, 5) for x in classic
            ),
            SECOND_WHY,
        ),
    ]
    return Outcome(said(runs), panels(runs, FEWER, "passes", "error"), claims)


SECOND_WHY = (
    "The second best power of 10 is often as good on other data: the objective tells steps apart "
    "that the error does not."
)


def figure_3(quick: bool) -> Outcome:
    """Draw the test error of all methods."""
    runs = all_runs(quick)

    def lowest(one: Runs) -> float:
        return min(one.error(name) for name in STOCHASTIC if name in one.best)

    claims = [
        claim(
            quick,
            "The SAG-NUS methods have errors like the best of the tuned stochastic methods, "
            "without tuning.",
            runs,
            lambda one: (
                f"SAG-NUS {one.error('SAG-NUS'):.2f}%, SAG-NUS* {one.error('SAG-NUS*'):.2f}%, the "
                f"best tuned {lowest(one):.2f}%"
            ),
            lambda one: (
                max(one.error("SAG-NUS"), one.error("SAG-NUS*")) <= (1.0 + ALIKE) * lowest(one)
            ),
        ),
        claim(
            quick,
            "Pegasos performs very poorly: its errors exceed those of the plot.",
            runs,
            lambda one: (
                f"{one.error('Pegasos', 5):.2f}% after 5 passes, {one.error('SG', 5):.2f}% of SG"
            ),
            lambda one: one.error("Pegasos", 5) > (1.0 + ALIKE) * one.error("SG", 5),
            PEGASOS_WHY,
        ),
    ]
    return Outcome(said(runs), panels(runs, METHODS, "passes", "error"), claims)


PEGASOS_WHY = (
    "Its eta is tuned here too, so that small powers of 10 spare it the first steps that are too "
    "long; with eta = 1 it is as poor as the paper says."
)


def figure_4(quick: bool) -> Outcome:
    """Draw the objective of the variants of OEG."""
    runs = all_runs(quick)
    names = ("OEG", "OEG-noRP", "OEG-10", "OEG-30", "online-eg (default)", "SAG-NUS*")
    poor = runs[2:] or runs

    def found(one: Runs) -> str:
        return ", ".join(f"{x} {one.excess(x):.1e}" for x in names)

    claims = [
        claim(
            quick,
            "Without the permutation OEG is much worse on one of the data sets.",
            runs,
            lambda one: f"{one.excess('OEG-noRP') / one.excess('OEG'):.2g} times OEG's distance",
            lambda one: one.excess("OEG-noRP") > 2.0 * one.excess("OEG"),
            least=1,
        ),
        claim(
            quick,
            "From a theta of 10, OEG is nearly as good as SAG-NUS* where it was poor: on "
            "CoNLL-2002 and the parts of speech.",
            poor,
            found,
            lambda one: one.excess("OEG-10") <= 10.0 * one.excess("SAG-NUS*"),
        ),
        claim(
            quick,
            "Still larger values did not improve it.",
            runs,
            lambda one: f"OEG-30 {one.excess('OEG-30'):.1e}, OEG-10 {one.excess('OEG-10'):.1e}",
            lambda one: one.excess("OEG-30") >= 0.5 * one.excess("OEG-10"),
        ),
    ]
    return Outcome(said(runs), panels(runs, names, "passes", "objective"), claims)


def seconds_claims(quick: bool, runs: Sequence[Runs]) -> list[Claim]:
    """Compare the costs of a pass, and the ranks by time with those by passes."""

    def cost(one: Runs, first: str, other: str) -> float:
        return one.seconds_per_pass(first) / one.seconds_per_pass(other)

    def ranks(one: Runs) -> float:
        from scipy.stats import spearmanr

        names = [name for name in METHODS if name in one.best]
        least = min(one.best[name].points[-1].seconds for name in names)
        passes = [one.excess(name) for name in names]
        seconds = [one.excess(name, least, "seconds") for name in names]
        return float(spearmanr(passes, seconds)[0])

    return [
        claim(
            quick,
            "In general the plots by time show the same trends as those by passes.",
            runs,
            lambda one: f"rank correlation {ranks(one):.2f}",
            lambda one: ranks(one) >= 0.6,
        ),
        claim(
            quick,
            "AdaGrad is slightly slower per pass, by its square roots.",
            runs,
            lambda one: f"{cost(one, 'AdaGrad', 'SG'):.2f} times SG",
            lambda one: cost(one, "AdaGrad", "SG") > 1.0,
        ),
        claim(
            quick,
            "Hybrid is slower per pass, but it is still faster than L-BFGS.",
            runs,
            lambda one: (
                f"{cost(one, 'Hybrid', 'L-BFGS'):.2f} times the seconds per pass; at the end "
                f"{one.excess('Hybrid'):.1e} against "
                f"{one.excess('L-BFGS', one.best['Hybrid'].points[-1].seconds, 'seconds'):.1e}"
            ),
            lambda one: (
                cost(one, "Hybrid", "L-BFGS") > 1.0
                and one.excess("Hybrid")
                < one.excess("L-BFGS", one.best["Hybrid"].points[-1].seconds, "seconds")
            ),
        ),
        claim(
            quick,
            "OEG performed much worse by time, also with the better start.",
            runs,
            lambda one: f"{cost(one, 'OEG-10', 'SAG-NUS*'):.2f} times SAG-NUS* per pass",
            lambda one: cost(one, "OEG-10", "SAG-NUS*") > 2.0,
        ),
    ]


def figure_5(quick: bool) -> Outcome:
    """Draw the objective against seconds."""
    runs = all_runs(quick)
    boxes = panels(runs, (*METHODS, "OEG-10"), "seconds", "objective")
    return Outcome(said(runs), boxes, seconds_claims(quick, runs))


def figure_6(quick: bool) -> Outcome:
    """Draw the test error against seconds."""
    runs = all_runs(quick)

    def at(one: Runs, name: str) -> str:
        best = min(one.error(x) for x in FEWER if x in one.best)
        aim = (1.0 + ALIKE) * best
        found = (p.seconds for p in one.best[name].points if p.error <= aim)
        seconds = next(found, None)
        return "never" if seconds is None else f"{seconds:.2f} s"

    claims = [
        claim(
            quick,
            "Without tuning, SAG-NUS* comes to the best errors in a time like those of the tuned "
            "stochastic methods.",
            runs,
            lambda one: ", ".join(
                f"{x} {at(one, x)}" for x in ("SG", "ASG", "AdaGrad", "SAG-NUS*")
            ),
            lambda one: at(one, "SAG-NUS*") != "never",
        )
    ]
    return Outcome(said(runs), panels(runs, METHODS, "seconds", "error"), claims)


def table_1(quick: bool) -> Outcome:
    """Count the numbers that gradients take, as shares of dense ones."""
    from partwise.solvers.average.gradient_memory import gradient_memory

    how = ("sparse", "marginals", "mixed")
    rows, claims = [], []
    for part in QUICK if quick else PARTS:
        whole = part if quick else replace(part, n=None, n_test=0)
        sequences = load(whole)
        memory = gradient_memory(sequences.build())
        task = task_of(part)
        tell(f"  {task.name}: {memory}")
        shares = [getattr(memory, form) / memory.dense for form in how]
        published = task.published or (math.nan,) * 3
        row = [task.name, f"{len(sequences.lengths):,}", f"{memory.dense:.3g}"]
        for share, other in zip(shares, published, strict=True):
            row += [f"{share:.1e}", "-" if math.isnan(other) else f"{other:.1e}"]
        rows.append(row)
        order = [how[k] for k in np.argsort(shares)]
        wanted = [how[k] for k in np.argsort(published)]
        near = max(abs(math.log(a / b)) for a, b in zip(shares, published, strict=True))
        claims.append(
            compare(
                f"{task.title}: "
                + ", ".join(f"{x} {y:.1e}" for x, y in zip(how, published, strict=True)),
                ", ".join(f"{x} {y:.1e}" for x, y in zip(how, shares, strict=True)),
                None if quick else order == wanted and near < math.log(2.0),
                _TOO_SMALL
                if quick
                else "The features are not those of the paper, which it names in one sentence; "
                f"the order is {' < '.join(order)}, the paper's {' < '.join(wanted)}.",
            )
        )
    header = ["data", "sequences", "dense numbers"]
    header += [name for form in how for name in (form, "published")]
    shown = (
        "generated sentences" if quick else "All sequences of the three data sets, and section 0"
    )
    data = (
        f"{shown} in place of POS-WSJ: numbers that are kept, divided by those of dense gradients."
    )
    return Outcome(data, (), claims, header, rows)


def _figure(name: str, title: str, make: Callable[[bool], Outcome]) -> Figure:
    return Figure("003", name, title, make)


FIGURES: tuple[Figure, ...] = (
    _figure("figure 1", "Objective minus optimum against passes", figure_1),
    _figure("figure 2", "Test error against passes, with second best steps", figure_2),
    _figure("figure 3", "Test error of all methods against passes", figure_3),
    _figure("figure 4", "Variants of online EG", figure_4),
    _figure("figure 5", "Objective minus optimum against seconds", figure_5),
    _figure("figure 6", "Test error against seconds", figure_6),
    _figure("table 1", "Memory of the gradients (the paper gives it no number)", table_1),
    _figure("claims", "Claims in words and footnotes", words),
)
