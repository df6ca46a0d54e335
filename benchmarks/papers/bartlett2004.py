"""The figures, tables and claims of Bartlett et al. 2004 (001)."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import data
from .figure import Claim, Curve, Figure, Outcome, Panel, compare

if TYPE_CHECKING:
    from partwise.problem.problem import Problem

#: The paper names an eta of 1; its eta is eta / l2 here, and l2 = 1.
ETAS = (1.0, 0.5, 0.25)
#: What theta begins with on the parts of the gold labels; 0 is the uniform distribution.
STARTS = (0.0, 3.0, 5.0, 8.0)
#: The start of panel (a).
START = 5.0
#: The paper has the first 1000 sentences of CoNLL-2003.
SENTENCES = 1000


class Course(NamedTuple):
    """The dual after each pass over the data, and the calls of an oracle per example so far."""

    dual: list[float]
    calls: list[float]

    def at(self, calls: float) -> float:
        """Return the dual after so many calls."""
        return float(np.interp(calls, [0.0, *self.calls], [0.0, *self.dual]))


class Runs(NamedTuple):
    """What was run, and the step of Theorem 2, which is not longer than this."""

    said: str
    courses: dict[str, Course]
    optimum: float
    theorem: float


def shapes(word: str) -> list[str]:
    """Return capitalisation and morphology of a word."""
    return [
        f"w={word.lower()}",
        f"cap={word[:1].isupper()}",
        f"upper={word.isupper()}",
        f"digit={any(c.isdigit() for c in word)}",
        f"hyphen={'-' in word}",
        *(f"suffix={word[-k:].lower()}" for k in (2, 3)),
        f"prefix={word[:3].lower()}",
    ]


def numbered(rows: Sequence[Sequence[str]]) -> Any:
    """Number the attributes of each row in the order in which they are first seen.

    Every row has length 1, since the paper names an eta of 1.
    """
    from partwise.problem.rows import Rows

    index: dict[str, int] = {}
    found = [index.setdefault(name, len(index)) for row in rows for name in row]
    ends = np.cumsum([0, *(len(row) for row in rows)])
    size = np.diff(ends)
    values = np.repeat(1.0 / np.sqrt(np.maximum(size, 1)), size)
    return Rows(ends, np.array(found, dtype=np.int32), values, len(index))


def untied(sentences: Sequence[Sequence[tuple[str, ...]]]) -> Problem:
    """Build chains whose edges have the words around them as features."""
    from partwise.problem.losses import make_loss
    from partwise.problem.problem import build_problem
    from partwise.structures.chain.structure import Chain

    nodes, edges, labels = [], [], []
    for sentence in sentences:
        words = ["<s>", "<s>", *(token[0] for token in sentence), "</s>", "</s>"]
        known = [shapes(word) for word in words]
        for t in range(2, len(words) - 2):
            nodes.append([f"{d}{name}" for d in (-1, 0, 1) for name in known[t + d]])
        for t in range(2, len(words) - 3):
            near = [f"{d}{name}" for d in (0, 1) for name in known[t + d]]
            edges.append([*near, f"-{words[t - 1].lower()}", f"+{words[t + 2].lower()}"])
        labels.append([token[-1] for token in sentence])
    names = sorted({name for row in labels for name in row})
    gold = [np.array([names.index(name) for name in row], dtype=np.int64) for row in labels]
    lengths = np.array([len(row) for row in gold], dtype=np.int64)
    chain = Chain(len(names), tied=False)
    none = numbered([[]])
    rows = [numbered(nodes), numbered(edges or [[]]), none, none]
    return build_problem(chain, lengths, rows, gold, make_loss("hinge", len(names)))


def dutch(n: int) -> list[data.Rows]:
    """Return the first sentences of CoNLL-2002, Dutch."""
    sentences: list[data.Rows] = [[]]
    path = data.data_file("conll2002/ned.train.gz")
    with gzip.open(path, "rt", encoding="latin-1") as stream:
        for line in stream:
            fields = tuple(line.split())
            if fields and fields[0] != "-DOCSTART-":
                sentences[-1].append(fields)
            elif sentences[-1]:
                if len(sentences) == n:
                    break
                sentences.append([])
    return [sentence for sentence in sentences if sentence]


def course(problem: Problem, solver: str, passes: int, **options: Any) -> Course:
    """Run a solver for so many passes over the data."""
    from partwise.problem.evaluation import Evaluator
    from partwise.solvers.goal import Goal
    from partwise.solvers.registry import make_solver

    goal = Goal(problem, 1.0, Evaluator(problem), np.random.default_rng(0))
    machine, found = make_solver(solver, goal, options), Course([], [])
    for _ in range(passes):
        epoch = machine.epoch()
        found.dual.append(epoch.dual)
        found.calls.append((found.calls or [0.0])[-1] + epoch.passes)
    machine.close()
    return found


def longest_step(problem: Problem) -> float:
    """Bound the step 0.4 / (B + lambda) of Theorem 2 from above.

    B is at least as far as the slopes of two labels of an example are apart at the uniform
    distributions, where w is easily known; lambda is left out.
    """
    from partwise.problem.evaluation import Evaluator
    from partwise.problem.problem import example_maximum

    a, evaluator = problem.arrays, Evaluator(problem)
    mu = np.empty(problem.n_parts)
    evaluator.marginals(np.zeros_like(mu), mu, np.empty(problem.n_examples))
    slopes = evaluator.scores(evaluator.dual_sum(mu))
    masked, work, widest = np.empty(problem.max_parts), np.empty(problem.work_size), 0.0
    for i in range(problem.n_examples):
        own = slopes[a.part_ptr[i] : a.part_ptr[i + 1]]
        ends = (example_maximum(a, i, way, own[:0], masked, work) for way in (own, -own))
        widest = max(widest, sum(ends))
    return 0.4 / widest


def name_eta(eta: float) -> str:
    """Return the name of the run with an eta."""
    return f"EG, eta = {eta:g}"


def name_start(start: float) -> str:
    """Return the name of the run from a start."""
    return f"EG, theta = {start:g} on gold parts"


@cache
def runs(quick: bool) -> Runs:
    """Run all methods; both parts of the figure and the claims share them."""
    sentences = data.demo_text(60, seed=0) if quick else dutch(SENTENCES)
    problem, passes = untied(sentences), 8 if quick else 60
    fixed: dict[str, Any] = {"order": "deterministic"}
    found = {"SMO": course(problem, "smo", passes)}
    for eta in ETAS:
        found[name_eta(eta)] = course(problem, "online-eg", passes, start=START, eta=eta, **fixed)
    for start in STARTS:
        found[name_start(start)] = course(
            problem, "online-eg", passes, start=start, eta=1.0, **fixed
        )
    found["SMO, then EG"] = course(problem, "smo-eg", passes)
    found["EG, eta searched for"] = course(problem, "online-eg", passes)
    theorem = longest_step(problem)
    found["EG, batch, eta of Theorem 2"] = course(
        problem, "batch-eg", passes, start=START, eta=theorem
    )
    optimum = course(problem, "bcfw", 10 * passes).dual[-1]
    words = sum(len(sentence) for sentence in sentences)
    named = "generated sentences" if quick else "first sentences of CoNLL-2002, Dutch"
    said = (
        f"{len(sentences):,} {named} ({words:,} words, {problem.structure.n_labels} tags), in "
        "place of the first 1000 of CoNLL-2003. The paper does not say how long its features are "
        "nor what C is: here those of each word and each edge have length 1, and C = 1."
    )
    return Runs(said, found, optimum, theorem)


def box(title: str, names: Sequence[str], one: Runs) -> Panel:
    """Return a box; what lies below 0 is left out, where the gold labels alone are better."""
    curves = []
    for name in names:
        held = [(k + 1.0, d) for k, d in enumerate(one.courses[name].dual) if d >= 0.0]
        if held:
            x, y = zip(*held, strict=True)
            curves.append(Curve(name, x, y))
    return Panel(title, "iterations over the training set", "dual objective", curves)


def figure_4(quick: bool) -> Outcome:
    """Draw the dual of SMO and EG against the passes."""
    one = runs(quick)
    smo, eg = one.courses["SMO"], one.courses[name_eta(1.0)]
    passes = len(smo.dual)
    first = next((k + 1 for k in range(passes) if eg.dual[k] > smo.dual[k]), None)
    below = [start for start in STARTS if one.courses[name_start(start)].dual[-1] < 0.0]
    tenth = [one.courses[name_start(start)].dual[min(9, passes - 1)] for start in STARTS]
    claims = [
        claim(
            quick,
            "SMO starts up very quickly, EG lags at the start.",
            f"after two passes SMO has {smo.dual[1]:.4g}, EG (eta = 1) {eg.dual[1]:.4g}; the "
            f"optimum is {one.optimum:.4g}",
            smo.dual[1] > eg.dual[1],
        ),
        claim(
            quick,
            "SMO slows down in a suboptimal region.",
            f"after {passes} passes it is {_part(smo, one):.2%} below the optimum, after half of "
            f"them {1.0 - smo.dual[passes // 2 - 1] / one.optimum:.2%}",
            smo.dual[-1] < 0.95 * one.optimum,
            "SMO here moves weight between the best label and the worst that has any, both found "
            "by dynamic programming, at every visit of an example; that converges to the optimum.",
        ),
        claim(
            quick,
            "EG overtakes SMO and achieves an objective that is more than 10% larger.",
            f"EG (eta = 1) is {'never' if first is None else f'after {first} passes'} ahead, and "
            f"ends at {eg.dual[-1]:.4g}, SMO at {smo.dual[-1]:.4g}; steps that are searched for "
            f"end at {one.courses['EG, eta searched for'].dual[-1]:.4g}",
            eg.dual[-1] > 1.1 * smo.dual[-1],
            "SMO here is nearer to the optimum than the paper's, so nothing can be 10% above it. "
            "Per call of an oracle, of which SMO makes two per visit, the search is ahead of it.",
        ),
        claim(
            quick,
            "The curves of EG depend on the initial theta.",
            f"after 10 passes, from {', '.join(f'{start:g}' for start in STARTS)}: "
            + ", ".join(f"{dual:.4g}" for dual in tenth)
            + f"; still below 0 at the end: {len(below)}",
            True,
        ),
    ]
    panels = [
        box(
            f"(a) different eta, theta = {START:g} on gold parts",
            ["SMO", *map(name_eta, ETAS)],
            one,
        ),
        box("(b) eta = 1, different initial theta", ["SMO", *map(name_start, STARTS)], one),
    ]
    return Outcome(one.said, panels, claims)


def claims_in_words(quick: bool) -> Outcome:
    """Compare what the text says beside its figure."""
    one = runs(quick)
    both, smo = one.courses["SMO, then EG"], one.courses["SMO"]
    searched, theorem = (
        one.courses[name] for name in ("EG, eta searched for", "EG, batch, eta of Theorem 2")
    )
    marks = [mark for mark in (4, 6, 10, 16, 30, 60) if mark <= min(both.calls[-1], smo.calls[-1])]
    rows = [
        [f"{mark}", *(f"{one_.at(mark):.4g}" for one_ in (smo, searched, both))] for mark in marks
    ]
    late = marks[-1]
    claims = [
        claim(
            quick,
            "A hybrid could get the benefits of both: several SMO updates, then EG.",
            f"after {late} calls of an oracle per example the hybrid has {both.at(late):.4g}, SMO "
            f"{smo.at(late):.4g}, EG {searched.at(late):.4g}; after {marks[0]} "
            f"{both.at(marks[0]):.4g}, {smo.at(marks[0]):.4g}, {searched.at(marks[0]):.4g}",
            all(
                both.at(mark) >= smo.at(mark) - 1e-9
                and (mark < 30 or both.at(mark) >= 0.98 * searched.at(mark))
                for mark in marks
            ),
        ),
        claim(
            quick,
            "theta is found from mu by the logarithms of conditional probabilities.",
            "the dual of the hybrid never falls when EG takes over: its least change is "
            f"{min(np.diff(both.dual)):.2g}",
            bool(min(np.diff(both.dual)) >= -1e-6 * one.optimum),
            "",
        ),
        claim(
            quick,
            "With eta = 0.4 / (B + lambda) the algorithm converges (Theorem 2).",
            f"B alone makes eta at most {one.theorem:.1e}; after {len(theorem.dual)} passes of the "
            f"batch form the dual is {theorem.dual[-1]:.3g} of {one.optimum:.4g}, and rose in "
            f"{int((np.diff(theorem.dual) >= 0.0).sum())} of {len(theorem.dual) - 1} passes",
            bool((np.diff(theorem.dual) >= -1e-9 * one.optimum).all()),
        ),
        claim(
            quick,
            "The online algorithm works well in practice, though it has no bounds yet.",
            f"it ends {_part(one.courses[name_eta(1.0)], one):.2%} below the optimum with eta = 1, "
            f"and {_part(searched, one):.2%} with steps that are searched for",
            _part(searched, one) < 0.05,
        ),
    ]
    header = ("calls of an oracle per example", "SMO", "EG, eta searched for", "SMO, then EG")
    return Outcome(one.said, [], claims, header, rows)


def claim(quick: bool, says: str, found: str, holds: bool, why: str = "") -> Claim:
    """Compare a statement, which generated sentences cannot decide."""
    return compare(says, found, None if quick else holds, "generated sentences" if quick else why)


def _part(one: Course, found: Runs) -> float:
    """Return how far a course ends below the optimum, relative to it."""
    return 1.0 - one.dual[-1] / found.optimum


FIGURES: tuple[Figure, ...] = (
    Figure("001", "figure 4", "SMO and EG on named entities", figure_4),
    Figure("001", "claims", "The hybrid, Theorem 2, and the online form", claims_in_words),
)
