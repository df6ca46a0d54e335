"""The figures, tables and claims of Schmidt et al. 2015 (003)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .figure import Claim, Figure, Outcome, compare
from .schmidt2015_runs import TOO_SMALL, Runs, all_runs, panels, said
from .schmidt2015_words import table_1, words

SAG = ("SAG", "SAG-NUS", "SAG-NUS*")
STOCHASTIC = ("SG", "ASG", "AdaGrad", "SMD")
#: Figure 1 and its like.
METHODS = ("L-BFGS", "Pegasos", *STOCHASTIC, "Hybrid", "OEG", *SAG)
#: Figure 2 leaves some out, to be readable.
FEWER = ("L-BFGS", *STOCHASTIC, "Hybrid", "OEG", "SAG-NUS*")
#: Errors within this part of each other are alike.
ALIKE = 0.05


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
    return compare(says, f"{count}. {told}", None if quick else enough, TOO_SMALL if quick else why)


def ahead(
    quick: bool, says: str, runs: Sequence[Runs], first: str, others: Sequence[str], why: str = ""
) -> Claim:
    """Compare the objective of a method at the end with those of others."""

    def found(one: Runs) -> str:
        return ", ".join(f"{x} {one.excess(x):.1e}" for x in (first, *others) if x in one.best)

    def holds(one: Runs) -> bool:
        return all(one.excess(first) < one.excess(x) for x in others if x in one.best)

    return claim(quick, says, runs, found, holds, why)


def figure_1(quick: bool) -> Outcome:
    """Draw the objective against passes."""
    runs = all_runs(quick)
    rest = ("L-BFGS", "Pegasos", *STOCHASTIC, "Hybrid", "SAG")
    claims = [
        ahead(quick, "SG outperformed Pegasos.", runs, "SG", ("Pegasos",), FAR_WHY),
        ahead(
            quick,
            "ASG outperformed AdaGrad and SMD, and SG.",
            runs,
            "ASG",
            ("AdaGrad", "SMD", "SG"),
            CLOSE_WHY,
        ),
        ahead(quick, "Hybrid outperformed L-BFGS.", runs, "Hybrid", ("L-BFGS",), PART_WHY),
        dominance(quick, runs),
        ahead(
            quick,
            "Both SAG-NUS methods outperform all others, except OEG, by a substantial margin.",
            runs,
            "SAG-NUS",
            rest,
            PART_WHY,
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
        TOO_SMALL if quick else "One of them is first on all data sets.",
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
        TOO_SMALL if quick else OEG_WHY,
    )


FAR_WHY = (
    "Pegasos does move far away in the first passes, as the paper says, but its steps fall, and "
    "where noise holds the constant step of SG up it has passed SG by the end."
)
CLOSE_WHY = (
    "With the best power of 10 each, these methods end near each other, and which is first depends "
    "on the data; the step that is best after 30 passes leaves SG little noise to average."
)
PART_WHY = (
    "The searches of SAG-NUS halve L_i at every visit and count as passes; with fewer sentences "
    "than the paper has, the methods that begin fast have less to see in a pass."
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
    return Outcome(said(runs), panels(runs, FEWER, "passes", "error", STOCHASTIC), claims)


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


PEGASOS_WHY = "Its eta is tuned, and 5 passes of many examples make up for the first steps."


def figure_4(quick: bool) -> Outcome:
    """Draw the objective of the variants of OEG."""
    runs = all_runs(quick)
    entering = ("OEG, entering", "OEG-noRP, entering", "online-eg (default)")
    names = ("OEG", "OEG-noRP", "OEG-10", "OEG-30", *entering, "SAG-NUS*")
    poor = runs[2:] or runs

    def found(one: Runs) -> str:
        return ", ".join(f"{x} {one.excess(x):.1e}" for x in names)

    claims = [
        claim(
            quick,
            "Without the permutation OEG is much worse on one of the data sets.",
            runs,
            lambda one: (
                f"{one.excess('OEG-noRP') / one.excess('OEG'):.2g} times OEG's distance; entering, "
                f"{one.excess('OEG-noRP, entering') / one.excess('OEG, entering'):.2g} times"
            ),
            lambda one: one.excess("OEG-noRP") > 2.0 * one.excess("OEG"),
            OEG_WHY,
            least=1,
        ),
        claim(
            quick,
            "From a theta of 10, OEG is nearly as good as SAG-NUS* where it was poor: on "
            "CoNLL-2002 and the parts of speech.",
            poor,
            found,
            lambda one: one.excess("OEG-10") <= 10.0 * one.excess("SAG-NUS*"),
            OEG_WHY,
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
        # The clock of the process may stand still during a short run.
        return one.seconds_per_pass(first) / max(one.seconds_per_pass(other), 1e-9)

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
            "A pass of the cheapest method takes a third of the time of the dearest here, so that "
            "methods that are near each other by passes change places.",
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
            "It is faster than L-BFGS on all sets; on the smallest its passes cost the same.",
        ),
        claim(
            quick,
            "OEG performed much worse by time, also with the better start.",
            runs,
            lambda one: f"{cost(one, 'OEG-10', 'SAG-NUS*'):.2f} times SAG-NUS* per pass",
            lambda one: cost(one, "OEG-10", "SAG-NUS*") > 2.0,
            "Here a visit of EG costs little more than one of SAG: the change of the dual comes "
            "with that of the weights, and the searches of SAG-NUS* count on both sides.",
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
