"""The sections of a report on data, training and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..pictures import Markup, element, interval_svg, joined
from ..training.certificate import in_words
from .facts import Confusions, DataFacts, Facts, LabelScore, Ratio
from .objective import objective_in_words
from .page_figures import calibration_figures, convergence_figures, path_figures
from .page_parts import definitions, interval, label, per_cent, plural, section, table
from .wording import calibration_in_words, no_probabilities

__all__ = ["calibration_section", "certificate_section", "confusion_section", "data_section",
           "scores_section"]  # fmt: skip

_MOST_LABELS: Final = 40


def data_section(facts: Facts) -> Markup:
    """Describe the files."""
    return section("data", "Data", *(_file(one) for one in facts.data))


def _file(data: DataFacts) -> Markup:
    rows: list[tuple[object, object]] = [
        ("file", element("code", data.path)) if data.file else ("source", data.path),
        (f"{data.example}s", f"{data.n_examples:,}"),
    ]
    if data.lengths is not None:
        low, middle, high = data.lengths
        rows.append((plural(2, data.position)[2:], f"{data.n_positions:,}"))
        rows.append(("length", f"from {low:,} to {high:,}, half of them up to {middle:g}"))
    names = [*data.labels.items()]
    shown = [
        element("span", label(name), f" ({n:,})", class_="item") for name, n in names[:_MOST_LABELS]
    ]
    more = f"and {len(names) - _MOST_LABELS:,} more" if len(names) > _MOST_LABELS else ""
    rows.append(
        (
            f"labels ({len(names):,})",
            joined([part for one in shown for part in (one, " ")] + [more]),
        )
    )
    odd = [element("li", text) for text in data.oddities]
    if data.quoted:
        told = [element("li", element("code", text)) for text in data.quoted]
        odd.append(element("li", "The first faults:", element("ul", *told)))
    rows.append(("oddities", element("ul", *odd) if odd else "none found"))
    return joined(
        [element("h3", f"{'File' if data.file else 'Data'} for {data.role}"), definitions(rows)]
    )


def certificate_section(facts: Facts) -> Markup:
    """Say what was minimised, how far it got, and how."""
    model, certificate = facts.model, facts.model.certificate
    parts: list[object] = [element("p", text) for text in objective_in_words(model)]
    if certificate.known:
        state = "Certified" if certificate.converged else "Not certified to the gap asked for"
        parts.append(element("p", element("strong", f"{state}: "), f"{in_words(certificate)}."))
        told = (
            f"Training took {certificate.passes:.1f} passes over the data and "
            f"{certificate.seconds:.1f} seconds; {certificate.verdict}. The certificate is about "
            "the objective, not about how well the model predicts: the scores below are."
        )
        parts.append(element("p", told))
    else:
        parts.append(element("p", f"Nothing is certified: {certificate.verdict}."))
    if facts.course.trace:
        drawn = convergence_figures(facts.course.trace, certificate.tol)
        parts.append(element("div", *drawn, class_="figures"))
    elif certificate.known and not facts.course.path:
        parts.append(
            element("p", "A model file does not hold the course of its training; ",
                    element("code", "partwise train --report"), " draws it.")
        )  # fmt: skip
    if facts.course.path:
        drawn = path_figures(facts.course.path, model.l2, facts.course.score_name)
        parts += [element("h3", "The path over l2"), element("div", *drawn, class_="figures")]
    return section("certificate", "Objective and certificate", *parts)


def scores_section(facts: Facts) -> Markup:
    """Show all measures, and the scores by label."""
    per = per_cent(facts.level, 0)
    intro = element(
        "p", f"Intervals: {per} of {facts.resamples:,} resamples, each of as many "
        f"{facts.data[-1].example}s as there are, drawn with replacement.",
    )  # fmt: skip
    rows = [
        [one.title, per_cent(one.score.value), interval(one.score),
         interval_svg(one.score.value, one.score.low, one.score.high)]
        for one in facts.measures
    ]  # fmt: skip
    heads = [("measure", ""), ("score", "n"), ("interval", "n"), ("from 0 to 100%", "")]
    parts = [intro, table("All examples together, in per cent.", heads, rows)]
    if facts.on_training_data:
        parts.insert(
            0, element("p", "These are scores on the training data, which are better than those on "
                       "new data.", class_="note"),
        )  # fmt: skip
    if facts.labels:
        title = "Scores by part of speech" if facts.by_tag else "Scores by label"
        parts += [element("h3", title), _label_table(facts)]
    return section("scores", "Scores", *parts)


def _label_table(facts: Facts) -> Markup:
    if facts.by_tag:
        rows = [
            [label(one.label), _score(one.recall), f"{one.support:,}",
             interval_svg(one.f1.value, one.f1.low, one.f1.high)]
            for one in facts.labels
        ]  # fmt: skip
        heads = [
            ("part of speech", ""),
            ("head right", "n"),
            ("words", "n"),
            ("from 0 to 100%", ""),
        ]
        return table("Words with the right head, in per cent, with intervals.", heads, rows)
    heads = [
        ("label", ""), ("precision", "n"), ("recall", "n"), ("F1", "n"), ("in the data", "n"),
        ("predicted", "n"), ("F1 from 0 to 100%", ""),
    ]  # fmt: skip
    caption = (
        f"By label of {plural(2, facts.unit)[2:]}, in per cent with intervals; how often each "
        "label is in the data, and how often it was predicted."
    )
    return table(caption, heads, map(_label_row, facts.labels), name="Scores by label")


def _score(ratio: Ratio) -> Markup:
    return joined([f"{100 * ratio.value:.1f}", element("small", interval(ratio))])


def _label_row(one: LabelScore) -> Sequence[object]:
    return [
        label(one.label), _score(one.precision), _score(one.recall), _score(one.f1),
        f"{one.support:,}", f"{one.predicted:,}",
        interval_svg(one.f1.value, one.f1.low, one.f1.high),
    ]  # fmt: skip


def confusion_section(facts: Facts) -> Markup:
    """Show which labels were taken for which others."""
    found = facts.confusions
    if found is None:
        text = "The model predicts no labels that could be confused."
        return section("confusion", "Confusion", element("p", text))
    parts: list[object] = []
    if "" in found.labels:
        first = f"A {facts.unit} is confused with another one if both cover the same words. "
        second = (
            f" stands for a {facts.unit} that only one side has, often because it begins or ends "
            "elsewhere."
        )
        parts.append(element("p", first, element("em", "Nothing"), second))
    parts.append(_matrix(found))
    if found.frequent and found.others:
        heads = [("right", ""), ("predicted", ""), ("times", "n")]
        rows = [[label(a), label(b), f"{n:,}"] for a, b, n in found.frequent]
        parts.append(table("The most frequent confusions.", heads, rows))
    return section("confusion", "Confusion", *parts)


def _matrix(found: Confusions) -> Markup:
    heads: list[tuple[object, str]] = [("right \\ predicted", "")]
    heads += [(label(name), "") for name in found.labels]
    rows = []
    for at, (name, counts) in enumerate(zip(found.labels, found.table, strict=True)):
        most = max([n for place, n in enumerate(counts) if place != at], default=0)
        cells = [
            _cell(n, most, place == at and name != "")
            if (name or place != at)
            else element("td", "")
            for place, n in enumerate(counts)
        ]
        rows.append([label(name), *cells])
    left = "label" if found.others == 1 else "labels"
    more = f" {found.others:,} {left} with fewer errors left out." if found.others else ""
    caption = (
        "Rows are right labels, columns predicted ones; the framed numbers are right predictions. "
        f"The stronger its colour, the larger the part of a cell in the errors of its row.{more}"
    )
    return table(caption, heads, rows, class_="matrix", name="Confusions")


def _cell(n: int, most: int, same: bool) -> Markup:
    if same:
        return element("td", f"{n:,}", class_="same")
    if not n:
        return element("td", "0", class_="zero")
    return element("td", f"{n:,}", class_=f"shade-{min(9, 1 + 8 * n // most)}")


def calibration_section(facts: Facts) -> Markup:
    """Show whether probabilities mean what they say."""
    found = facts.calibration
    if found is None:
        return section("calibration", "Calibration", element("p", no_probabilities(facts)))
    drawn = calibration_figures(found, facts.odds_unit)
    parts = [
        element("p", calibration_in_words(found, facts.odds_unit)),
        element("div", *drawn, class_="figures"),
    ]
    return section("calibration", "Calibration", *parts)
