"""The laws that every structure obeys, stated against the enumeration of all its labels.

A law is a function of a :class:`partwise.testing.cases.Case` that raises an AssertionError where it
does not hold. It returns without a word where it has nothing to say. :mod:`partwise.testing` runs
all of them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..arrays import Floats
from ..errors import DataError
from ..structures.base import Sites, call
from ..structures.steps import (
    flat_steps,
    steps_entropy,
    steps_marginals,
    steps_maximum,
    steps_work,
)
from .cases import (
    PATTERNS,
    SPARE,
    Case,
    Label,
    close,
    draw_scores,
    flat,
    hold,
    largest,
    log_sum,
    probabilities,
)

__all__ = ["LAWS", "NEEDS"]

# The laws. The first line of each says what it demands.


def log_partition(case: Case) -> None:
    """The marginal oracle returns log sum_y exp(theta.y), the same with and without mu."""
    log_z, _ = case.run(case.structure.marginals, case.theta)
    close(log_z, log_sum(case.table.scores(case.theta)))
    alone, _ = case.run(case.structure.marginals, case.theta, wanted=False)
    hold(alone == log_z, f"log Z is {log_z!r} with mu and {alone!r} without")
    hold(case.structure.log_partition(case.theta, case.topo) == log_z, "log_partition differs")


def marginals(case: Case) -> None:
    """The marginal oracle writes the expected count of every part, 0 for a forbidden one."""
    scores = case.table.scores(case.theta)
    if scores.max() == -np.inf:
        return
    _, mu = case.run(case.structure.marginals, case.theta)
    close(mu, probabilities(scores) @ case.table.counts)
    hold(not mu[np.isneginf(case.theta)].any(), "a forbidden part has an expected count")


def maximum(case: Case) -> None:
    """The maximum oracle returns max_y theta.y, and best returns a label that has that score."""
    scores = case.table.scores(case.theta)
    top, label = case.structure.best(case.theta, case.topo)
    close(top, scores.max())
    if top > -np.inf:
        close(scores[case.table.place(label)], scores.max())


def maximum_counts(case: Case) -> None:
    """The maximum oracle writes the counts of one label, and decode returns that label."""
    top, mu = case.run(case.structure.maximum, case.theta)
    alone, _ = case.run(case.structure.maximum, case.theta, wanted=False)
    hold(alone == top, f"the best score is {top!r} with mu and {alone!r} without")
    if top > -np.inf:
        counts = case.table.counts[case.table.place(case.structure.decode(mu, case.topo))]
        np.testing.assert_array_equal(mu, counts)


def k_best(case: Case) -> None:
    """k_best returns the k best labels, distinct, best first, with their scores."""
    scores = case.table.scores(case.theta)
    k = int(case.rng.choice([1, 2, 5, len(scores), len(scores) + 3]))
    best, labels = case.structure.k_best(case.theta, case.topo, k)
    ranked = np.sort(scores[scores > -np.inf])[::-1][:k]
    hold(len(labels) == len(best) == len(ranked), f"{len(labels)} labels instead of {len(ranked)}")
    close(best, ranked)
    places = [case.table.place(label) for label in labels]
    hold(len(set(places)) == len(places), "a label occurs twice")
    close(best, scores[places])


def entropy(case: Case) -> None:
    """Entropy is that of the distribution exp(theta.y) / Z."""
    scores = case.table.scores(case.theta)
    if scores.max() == -np.inf:
        return
    p = probabilities(scores)
    p = p[p > 0]
    # Errors of the marginals grow with the scores, and are multiplied by scores.
    scale = 2e-5 * largest(case.theta) ** 2
    close(case.structure.entropy(case.theta, case.topo), -(p @ np.log(p)), scale)


def marginal_entropy(case: Case) -> None:
    """The entropy oracle, if there is one, returns H of the marginals and fills in its slope."""
    structure, topo = case.structure, case.topo
    if not structure.has_entropy or case.table.scores(case.theta).max() == -np.inf:
        return
    mu = structure.expected_parts(case.theta, topo)[1]
    slope = np.full(len(mu), np.nan)
    work = np.full(structure.work_size(topo) + SPARE, np.nan)
    given = mu.copy()
    h = call(structure.marginal_entropy, structure.spec, topo, given, slope, work)
    hold(np.array_equal(given, mu), "the oracle changes mu")
    close(h, structure.entropy(case.theta, topo), 2e-5 * largest(case.theta) ** 2)
    # H = log Z - theta.mu falls by theta.(mu' - mu) on the way to the marginals mu' of others.
    way = structure.expected_parts(draw_scores("small", len(mu), case.rng), topo)[1] - mu
    close(slope @ way, -(case.theta @ way), largest(case.theta))


def steps(case: Case) -> None:
    """The steps, if they are listed, build every label once, with its parts and its entropy."""
    structure, topo, n = case.structure, case.topo, case.structure.n_parts(case.topo)
    if not structure.has_steps:
        return
    listed = structure.steps(topo)
    spec, place = flat_steps(listed, n), np.append(topo, 0)
    theta, mu = np.append(case.theta, np.zeros(len(listed.tail_ptr) - 1)), np.zeros(0)
    work = np.full(steps_work(listed) + SPARE, np.nan)
    scores = case.table.scores(case.theta)
    close(call(steps_marginals.compiled, spec, place, theta, mu, work), log_sum(scores))
    close(call(steps_maximum.compiled, spec, place, theta, mu, work), scores.max())
    if scores.max() == -np.inf:
        return
    mu, slope = np.full(len(theta), np.nan), np.full(len(theta), np.nan)
    call(steps_maximum.compiled, spec, place, theta, mu, work)
    close(scores[case.table.place(structure.decode(mu[:n].copy(), topo))], scores.max())
    call(steps_marginals.compiled, spec, place, theta, mu, work)
    close(mu[:n], probabilities(scores) @ case.table.counts)
    h = call(steps_entropy.compiled, spec, place, mu, slope, work)
    p = probabilities(scores)
    close(h, -(p[p > 0] @ np.log(p[p > 0])), 2e-5 * largest(case.theta) ** 2)
    # The conditional probabilities of the steps make the same distribution.
    again = np.zeros(len(theta))
    call(steps_marginals.compiled, spec, place, -slope, again, work)
    close(again, mu)


def samples(case: Case) -> None:
    """Samples hold every label as often as its probability says."""
    scores = case.table.scores(case.theta)
    if scores.max() == -np.inf or len(scores) > 125:
        return
    size = 5000
    drawn = case.structure.sample(case.theta, case.topo, size, np.random.default_rng(0))
    seen = Counter(flat(label) for label in drawn)
    observed = np.array([seen[label] for label in case.table.labels], dtype=float)
    hold(observed.sum() == size, "something was drawn that is not a label")
    hold(not observed[np.isneginf(scores)].any(), "a forbidden label was drawn")
    expected = size * probabilities(scores).astype(float)
    rare = expected < 5
    cells = [(observed[~rare], expected[~rare])]
    if expected[rare].sum() >= 5:
        cells.append((observed[rare].sum(keepdims=True), expected[rare].sum(keepdims=True)))
    chi2 = sum(float(((o - e) ** 2 / e).sum()) for o, e in cells)
    freedom = sum(len(o) for o, _ in cells)
    hold(chi2 < freedom + 10 * math.sqrt(2 * freedom) + 40, f"chi2 is {chi2:.1f} of {freedom}")


def nothing_to_draw(case: Case) -> None:
    """Sample raises a DataError where no label is left or the scores are no numbers."""
    if not case.table.counts.any(axis=1).all():
        return
    for bad in (-np.inf, np.nan):
        try:
            case.structure.sample(case.theta + bad, case.topo, 1, np.random.default_rng(0))
        except DataError:
            continue
        raise AssertionError(f"a label was drawn from scores that are all {bad}")


def gradient(case: Case) -> None:
    """The marginals are the gradient of log Z."""
    structure, topo = case.structure, case.topo
    log_z, mu = structure.expected_parts(case.theta, topo)
    if log_z == -np.inf:
        return
    step = 1e-5
    for r in np.flatnonzero(case.theta > -np.inf):
        up, down = case.theta.copy(), case.theta.copy()
        up[r] += step
        down[r] -= step
        slope = structure.log_partition(up, topo) - structure.log_partition(down, topo)
        hold(abs(slope / (2 * step) - mu[r]) < 1e-6, f"the slope at part {r} is not {mu[r]}")


def counting(case: Case) -> None:
    """Without scores, log Z and the entropy are the log of the number of labels."""
    n = math.log(len(case.table.labels))
    theta = np.zeros_like(case.theta)
    close(case.structure.log_partition(theta, case.topo), n)
    close(case.structure.entropy(theta, case.topo), n)


def encode(case: Case) -> None:
    """Encode returns the distinct parts of a label with their counts, and decode inverts it."""
    structure, table = case.structure, case.table
    y = int(case.rng.integers(len(table.labels)))
    label = case.array(table.labels[y])
    parts, counts = structure.encode(label, case.topo)
    dense = np.zeros(structure.n_parts(case.topo))
    dense[parts] = counts
    hold(len(set(parts.tolist())) == len(parts), "encode names a part twice")
    hold(parts.dtype == np.int64 and counts.dtype == np.float64, "parts are int64, counts float64")
    np.testing.assert_array_equal(dense, table.counts[y])
    np.testing.assert_array_equal(structure.decode(dense, case.topo), label)
    close(case.theta[parts] @ counts, table.scores(case.theta)[y])


def sites(case: Case) -> None:
    """Sites tile the parts in order, kind after kind, with the widths that the structure says."""
    structure = case.structure
    found = structure.sites(case.topo)
    sizes = {field: column.shape for field, column in found._asdict().items()}
    hold(len(set(sizes.values())) == 1, f"there is not one number per site: {sizes}")
    ends = np.concatenate([[0], found.part + found.width])
    np.testing.assert_array_equal(found.part, ends[:-1])
    hold(ends[-1] == structure.n_parts(case.topo), "the sites do not hold all parts")
    hold((np.diff(found.kind) >= 0).all(), "the sites are not in the order of their kinds")
    known = (found.kind >= 0) & (found.kind < len(structure.kinds))
    hold(known.all(), "a site is of no kind")
    hold(len(structure.widths) == len(structure.kinds), "there is not one width per kind")
    widths = np.array(structure.widths, dtype=np.int64)
    np.testing.assert_array_equal(found.width, widths[found.kind])
    for part, width, uses in zip(found.part, found.width, found.uses, strict=True):
        held = case.table.counts[:, part : part + width].sum(axis=1).max()
        hold(held <= uses, f"a label holds {held} parts of a site whose uses are {uses}")
    _hold_rivals(case, found)


def _hold_rivals(case: Case, found: Sites) -> None:
    """Check which sites no label uses at once."""
    rivals = case.structure.rivals(case.topo)
    hold(rivals.shape == (4, len(found.part)), "there are not four numbers of rivals per site")
    group, begin, end, most = rivals
    some = np.flatnonzero(group >= 0).tolist()
    spans = {s: slice(found.part[s], found.part[s] + found.width[s]) for s in some}
    used = {s: case.table.counts[:, span].sum(axis=1) > 0.0 for s, span in spans.items()}
    for s, t in itertools.combinations(some, 2):
        if group[s] == group[t] and begin[s] < end[t] and begin[t] < end[s]:
            both = (used[s] & used[t]).any()
            hold(not both, f"a label uses the sites {s} and {t}, which are rivals")
    for s in some:
        count = sum(used[t].astype(int) for t in some if found.kind[t] == found.kind[s]).max()
        hold(count <= most[s], f"a label uses {count} sites of a kind, and not {most[s]} at most")


def gold_cost(case: Case) -> None:
    """There is one finite cost per part, and the gold label costs 0."""
    for y in case.rng.permutation(len(case.table.labels))[:30]:
        gold = case.table.labels[y]
        spread = _spread_cost(case, gold, None)
        close(case.table.counts[y] @ spread, 0.0, what=f"the gold label is {gold}")


def constants(case: Case) -> None:
    """The constants survive JSON, pass their own check, and make the same structure again."""
    held = json.loads(json.dumps(case.structure.constants()))
    type(case.structure).check_constants(held)
    again = type(case.structure)(**held)
    np.testing.assert_array_equal(again.spec, case.structure.spec)
    hold(again.kinds == case.structure.kinds, "the kinds differ")
    hold(again.widths == case.structure.widths, "the widths differ")
    if case.structure.has_oracle("marginals"):
        log_z = case.structure.log_partition(case.theta, case.topo)
        hold(again.log_partition(case.theta, case.topo) == log_z, "log Z differs")
    if case.structure.has_oracle("maximum"):
        top = case.structure.best(case.theta, case.topo)[0]
        hold(again.best(case.theta, case.topo)[0] == top, "the best score differs")


def shift(case: Case) -> None:
    """A constant added to a site moves log Z alone, where all labels hold as many of its parts."""
    structure, topo, counts = case.structure, case.topo, case.table.counts
    log_z, mu = structure.expected_parts(case.theta, topo)
    by = case.rng.choice([-1e4, -700.0, 1.0, 1e4])
    found = structure.sites(topo)
    moved, expected = case.theta.copy(), log_z
    for part, width in zip(found.part, found.width, strict=True):
        held = counts[:, part : part + width].sum(axis=1)
        if (held == held[0]).all() and case.rng.random() < 0.5:
            moved[part : part + width] += by
            expected += by * held[0]
    moved_log_z, moved_mu = structure.expected_parts(moved, topo)
    close(moved_log_z, expected)
    close(moved_mu, mu)


def bad_scores(case: Case) -> None:
    """The oracles return nan where the score of a part in use is nan or +inf."""
    structure, topo = case.structure, case.topo
    used = np.flatnonzero(case.table.counts.any(axis=0))
    if not len(used):
        return
    theta = case.theta.copy()
    theta[case.rng.choice(used, size=case.rng.integers(1, 4))] = case.rng.choice([np.nan, np.inf])
    if structure.has_oracle("marginals"):
        hold(math.isnan(structure.log_partition(theta, topo)), f"log Z is a number at {theta}")
        hold(math.isnan(structure.expected_parts(theta, topo)[0]), f"log Z is a number at {theta}")
    if structure.has_oracle("maximum"):
        hold(math.isnan(structure.best(theta, topo)[0]), f"the best score is a number at {theta}")


#: The laws that need no more than a case, and the patterns of scores to which each applies.
LAWS: Final[dict[Callable[[Case], None], tuple[str, ...]]] = {
    log_partition: PATTERNS,
    marginals: PATTERNS,
    maximum: PATTERNS,
    maximum_counts: PATTERNS,
    k_best: PATTERNS,
    entropy: PATTERNS,
    marginal_entropy: ("zero", "small", "tiny"),
    steps: PATTERNS,
    samples: ("small", "masked", "tiny"),
    nothing_to_draw: ("small",),
    gradient: ("small", "tiny", "masked"),
    counting: ("zero",),
    encode: ("small", "large"),
    sites: ("zero",),
    gold_cost: ("zero",),
    constants: ("small",),
    shift: ("small", "tiny", "masked", "steep"),
    bad_scores: PATTERNS,
}

#: The laws about one oracle only: they have nothing to demand of a structure without it.
NEEDS: Final[dict[Callable[..., None], str]] = {
    **dict.fromkeys((maximum, maximum_counts), "maximum"),
    **dict.fromkeys(
        (log_partition, marginals, entropy, marginal_entropy, samples, nothing_to_draw, gradient),
        "marginals",
    ),
    **dict.fromkeys((counting, shift), "marginals"),
}


# Laws that need to know more than the labels and their parts.


def part_cost(
    case: Case, cost: Callable[[Label, Label, Floats | None], float], matrix: Floats | None
) -> None:
    """The costs of the parts of a label add up to what predicting it costs."""
    gold = case.table.labels[int(case.rng.integers(len(case.table.labels)))]
    spread = _spread_cost(case, gold, matrix)
    expected = [cost(gold, label, matrix) for label in case.table.labels]
    close(case.table.scores(spread), expected, what=f"the gold label is {gold}")


def _spread_cost(case: Case, gold: Label, matrix: Floats | None) -> Floats:
    spread = case.structure.part_cost(case.array(gold), case.topo, matrix)
    hold(spread.shape == (case.structure.n_parts(case.topo),), f"a cost of shape {spread.shape}")
    hold(spread.dtype == np.float64 and np.isfinite(spread).all(), "costs are finite float64")
    return spread


def constraints(case: Case, rules: Any, permitted: Callable[[Label, Any], bool]) -> None:
    """The mask of hard constraints leaves just the labels that keep them."""
    structure, topo, table = case.structure, case.topo, case.table
    mask = structure.mask(topo, rules)
    hold(np.isin(mask, [0.0, -np.inf]).all(), "a mask holds something that is not 0 or -inf")
    allowed = table.keep([permitted(label, rules) for label in table.labels])
    theta, scores = case.theta + mask, allowed.scores(case.theta)
    best, labels = structure.k_best(theta, topo, len(table.labels))
    found = {flat(label) for label in labels}
    hold(found == set(allowed.labels), f"with {rules}, k_best gives {found}, not {allowed.labels}")
    close(best, np.sort(scores)[::-1])
    if structure.has_oracle("maximum"):
        top, label = structure.best(theta, topo)
        close(top, scores.max(initial=-np.inf))
        if allowed.labels:
            hold(flat(label) in allowed.labels, f"with {rules}, the best label is {label}")
    if structure.has_oracle("marginals"):
        log_z, mu = structure.expected_parts(theta, topo)
        close(log_z, log_sum(scores), what=f"the constraints are {rules}")
        if allowed.labels:
            close(mu, probabilities(scores) @ allowed.counts)
            drawn = structure.sample(theta, topo, 20, np.random.default_rng(0))
            hold({flat(label) for label in drawn} <= set(allowed.labels), f"{rules} were not kept")


def nothing_allowed(case: Case, rules: Any) -> None:
    """Where constraints leave no label, the oracles return -inf and k_best returns nothing."""
    structure, topo = case.structure, case.topo
    if not case.table.counts.any(axis=1).all():
        return  # a label without parts cannot be forbidden
    theta = case.theta + structure.mask(topo, rules)
    if structure.has_oracle("marginals"):
        log_z, mu = case.run(structure.marginals, theta)
        alone = structure.log_partition(theta, topo)
        hold(log_z == alone == -np.inf, f"log Z is {log_z} and {alone}")
        hold(not mu.any(), "mu is not zero")
    if structure.has_oracle("maximum"):
        hold(structure.best(theta, topo)[0] == -np.inf, "there is a best score")
    scores, labels = structure.k_best(theta, topo, 3)
    hold(len(scores) == len(labels) == 0, f"k_best gives {labels}")
