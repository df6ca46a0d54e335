"""What a report says: the facts as a document."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from ..metrics.calibration import Calibration
from ..pictures import Axis, Chart, gap_chart, objective_chart, passes_chart, score_chart
from ..training.certificate import in_words
from ..wording import counted, plural
from . import document as doc
from .document import Block, Cell, Text, code, label
from .explained import feature_blocks, wrong_blocks
from .facts import Confusions, DataFacts, Facts, ModelFacts, Ratio

__all__ = ["document_of", "interval"]


_MOST_LABELS: Final = 40


def document_of(facts: Facts) -> doc.Document:
    """Return the document of some facts."""
    example = facts.data[-1].example
    sections = [
        doc.Section("data", "Data", "Data", [b for one in facts.data for b in _data(one)]),
        doc.Section("certificate", "Certificate", "Objective and certificate", _certificate(facts)),
        doc.Section("scores", "Scores", "Scores", _scores(facts)),
        doc.Section("confusion", "Confusion", "Confusion", _confusion(facts)),
        doc.Section("calibration", "Calibration", "Calibration", _calibration(facts)),
        doc.Section("features", "Features", "Strongest features", feature_blocks(facts)),
        doc.Section(
            "wrong", "Sure and wrong", f"Sure and wrong: {plural(example)}", wrong_blocks(facts)
        ),
        doc.Section("use", "How to use it", "How to use it", _use(facts)),
        doc.Section("made", "How it was made", "How it was made", _made(facts)),
    ]
    lead = _lead_in_words(facts)
    return doc.Document(
        facts.model.name, lead, _figures(facts), sections, facts.versions["partwise"]
    )


def _figures(facts: Facts) -> list[tuple[str, str, str]]:
    best, certificate, data = facts.measures[0], facts.model.certificate, facts.data[-1]
    certified = certificate.known and certificate.consistent
    zeros = facts.model.n_weights - facts.model.n_nonzero
    return [
        (best.title, _per_cent(best.score.value),
         f"{_per_cent(facts.level, 0)} interval: {interval(best.score)}"),
        ("certified relative gap", f"{certificate.relative_gap:.1e}" if certified else "none",
         f"asked for: {certificate.tol:g}"),
        (f"{plural(data.example)} scored", f"{data.n_examples:,}",
         "" if data.lengths is None else counted(data.n_positions, data.position)),
        ("weights", f"{facts.model.n_weights:,}",
         f"{zeros:,} of them 0" if zeros else "none of them 0"),
    ]  # fmt: skip


def _data(data: DataFacts) -> list[Block]:
    rows: list[tuple[Text, Text]] = [
        ("file", code(data.path)) if data.file else ("source", data.path),
        (plural(data.example), f"{data.n_examples:,}"),
    ]
    if data.lengths is not None:
        low, middle, high = data.lengths
        rows.append((plural(data.position), f"{data.n_positions:,}"))
        rows.append(("length", f"from {low:,} to {high:,}, half of them up to {middle:g}"))
    names = [*data.labels.items()]
    shown: list[Text] = [(label(name), f" ({n:,})") for name, n in names[:_MOST_LABELS]]
    more = f" and {len(names) - _MOST_LABELS:,} more" if len(names) > _MOST_LABELS else ""
    rows.append((f"labels ({len(names):,})", (doc.Items(shown), more)))
    odd: list[Text] = [*data.oddities]
    if data.quoted:
        odd.append(("The first faults:", doc.Bullets([*map(code, data.quoted)])))
    rows.append(("oddities", doc.Bullets(odd) if odd else "none found"))
    return [
        doc.Heading(f"{'File' if data.file else 'Data'} for {data.role}"),
        doc.Definitions(rows),
    ]


def _certificate(facts: Facts) -> list[Block]:
    model, certificate, course = facts.model, facts.model.certificate, facts.course
    blocks: list[Block] = [doc.Paragraph(text) for text in _objective_in_words(model)]
    if certificate.known:
        state = "Certified" if certificate.converged else "Not certified to the gap asked for"
        blocks += [
            doc.Paragraph((doc.Mark(f"{state}:", "strong"), f" {in_words(certificate)}.")),
            doc.Paragraph(
                f"Training took {certificate.passes:.1f} passes over the data and "
                f"{certificate.seconds:.1f} seconds; {certificate.verdict}. The certificate is "
                "about the objective, not about how well the model predicts: the scores below are."
            ),
        ]
    else:
        blocks.append(doc.Paragraph(f"Nothing is certified: {certificate.verdict}."))
    if course.trace:
        charts = [objective_chart(course.trace), gap_chart(course.trace, certificate.tol)]
        blocks.append(_charts(charts))
    elif certificate.known and not course.path:
        how = code("partwise train --report")
        told = ("A model file does not hold the course of its training; ", how, " draws it.")
        blocks.append(doc.Either([doc.Paragraph(told)]))
    if course.path:
        charts = [score_chart(course.path, model.l2, course.score_name), passes_chart(course.path)]
        blocks.append(doc.Either([doc.Heading("The path over l2"), _charts(charts)]))
    return blocks


def _charts(charts: Sequence[Chart | None]) -> doc.Group:
    return doc.Group([doc.Figure(one) for one in charts if one is not None], "figures")


def _scores(facts: Facts) -> list[Block]:
    blocks: list[Block] = []
    if facts.on_training_data:
        told = "These are scores on the training data, which are better than those on new data."
        blocks.append(doc.Paragraph(told, "note"))
    heads = [("measure", ""), ("score", "n"), ("interval", "n"), ("from 0 to 100%", "drawn")]
    rows: list[list[Cell]] = [
        [one.title, _per_cent(one.score.value), interval(one.score), doc.Interval(one.score)]
        for one in facts.measures
    ]
    blocks += [
        doc.Paragraph(
            f"Intervals: {_per_cent(facts.level, 0)} of {facts.resamples:,} resamples, each of as "
            f"many {plural(facts.data[-1].example)} as there are, drawn with replacement."
        ),
        doc.Table("All examples together, in per cent.", heads, rows),
    ]
    if facts.labels:
        title = "Scores by part of speech" if facts.by_tag else "Scores by label"
        blocks += [doc.Heading(title), _by_label(facts)]
    return blocks


def _by_label(facts: Facts) -> doc.Table:
    if facts.by_tag:
        return doc.Table(
            "Words with the right head, in per cent, with intervals.",
            [("part of speech", ""), ("head right", "n"), ("words", "n"),
             ("from 0 to 100%", "drawn")],
            [[label(one.label), one.recall, f"{one.support:,}", doc.Interval(one.f1)]
             for one in facts.labels],
        )  # fmt: skip
    return doc.Table(
        f"By label of {plural(facts.unit)}, in per cent with intervals; how often each label is "
        "in the data, and how often it was predicted.",
        [("label", ""), ("precision", "n"), ("recall", "n"), ("F1", "n"), ("in the data", "n"),
         ("predicted", "n"), ("F1 from 0 to 100%", "drawn")],
        [[label(one.label), one.precision, one.recall, one.f1, f"{one.support:,}",
          f"{one.predicted:,}", doc.Interval(one.f1)] for one in facts.labels],
        name="Scores by label",
    )  # fmt: skip


def _confusion(facts: Facts) -> list[Block]:
    found = facts.confusions
    if found is None:
        return [doc.Paragraph("The model predicts no labels that could be confused.")]
    blocks: list[Block] = []
    if "" in found.labels:
        blocks.append(
            doc.Paragraph((
                f"A {facts.unit} is confused with another one if both cover the same words. ",
                doc.Mark("Nothing", "em"),
                f" stands for a {facts.unit} that only one side has, often because it begins or "
                "ends elsewhere.",
            ))
        )  # fmt: skip
    frequent: list[Block] = []
    if found.frequent:
        heads = [("right", ""), ("predicted", ""), ("times", "n")]
        rows: list[list[Cell]] = [[label(a), label(b), f"{n:,}"] for a, b, n in found.frequent]
        frequent.append(doc.Table("The most frequent confusions.", heads, rows))
    # The table of all holds them too, unless labels are left out of it.
    blocks.append(doc.Either([_matrix(found), *(frequent if found.others else [])], frequent))
    return blocks


def _matrix(found: Confusions) -> doc.Table:
    heads: list[tuple[Text, str]] = [("right \\ predicted", "")]
    heads += [(label(name), "") for name in found.labels]
    rows: list[list[Cell]] = []
    for at, (name, counts) in enumerate(zip(found.labels, found.table, strict=True)):
        most = max([n for place, n in enumerate(counts) if place != at], default=0)
        rows.append([label(name), *(_count(n, most, p == at, name) for p, n in enumerate(counts))])
    left = "label" if found.others == 1 else "labels"
    more = f" {found.others:,} {left} with fewer errors left out." if found.others else ""
    caption = (
        "Rows are right labels, columns predicted ones; the framed numbers are right predictions. "
        f"The stronger its colour, the larger the part of a cell in the errors of its row.{more}"
    )
    return doc.Table(caption, heads, rows, "matrix", "Confusions")


def _count(n: int, most: int, same: bool, name: str) -> Cell:
    if same:
        return doc.Shade(f"{n:,}", "same") if name else ""
    return doc.Shade(f"{n:,}", f"shade-{min(9, 1 + 8 * n // most)}" if n else "zero")


def _calibration(facts: Facts) -> list[Block]:
    found, unit = facts.calibration, facts.odds_unit
    if found is None:
        return [doc.Paragraph(_no_probabilities(facts))]
    heads = [("probability", ""), (plural(unit), "n"), ("mean probability", "n"), ("right", "n")]
    rows = [
        [f"{one.low:.1f} to {one.high:.1f}", f"{one.n:,}", _per_cent(one.probability),
         _per_cent(one.correct)]
        for one in found.bins
    ]  # fmt: skip
    table = doc.Table(f"The {plural(unit)} by the probability of what is predicted.", heads, rows)
    charts = [_reliability(found, unit), _counts(found, unit)]
    return [
        doc.Paragraph(_calibration_in_words(found, unit)),
        doc.Either([_charts(charts)], [table]),
    ]


def _reliability(found: Calibration, unit: str) -> Chart:
    """Draw how often predictions of each probability are right."""
    chart = Chart(
        "Reliability", _odds_axis(), Axis("fraction that is right", 0.0, 1.0),
        f"Of the {plural(unit)} with a probability of 0.8, 80% should be right.",
        _bins_in_words(found),
    )  # fmt: skip
    chart.line([(0.0, 0.0), (1.0, 1.0)], 3, "what it should be")
    chart.line([(one.probability, one.correct) for one in found.bins], 0, "what it is", marked=True)
    return chart


def _counts(found: Calibration, unit: str) -> Chart:
    """Draw how many predictions there are of each probability."""
    most = max(one.n for one in found.bins)
    chart = Chart(
        "Number of predictions", _odds_axis(), Axis(f"number of {plural(unit)}", 0.0, 1.08 * most),
        "How many predictions have such a probability.", _bins_in_words(found),
    )  # fmt: skip
    chart.bars([(one.low, one.high, one.n) for one in found.bins])
    return chart


def _odds_axis() -> Axis:
    return Axis("probability that the model gave", 0.0, 1.0)


def _bins_in_words(found: Calibration) -> str:
    return "; ".join(
        f"from {one.low:.1f} to {one.high:.1f}: {one.n:,}, {_per_cent(one.correct, 1)} right"
        for one in found.bins
    )


def _use(facts: Facts) -> list[Block]:
    return [
        doc.Heading("From the command line"),
        doc.Program("\n".join(facts.usage.commands), "sh", "Commands"),
        doc.Heading("From Python"),
        doc.Program(facts.usage.program, "python", "Program"),
    ]


def _made(facts: Facts) -> list[Block]:
    model = facts.model
    rows: list[tuple[Text, Text]] = [("command", code(facts.command or "none: from Python"))]
    if model.path is None:
        rows.append(("model file", "none; the model was given in Python"))
    else:
        rows.append(("model file", code(model.path)))
        rows.append(("written by", f"partwise {model.written_by}"))
    rows += [
        ("structure", f"{model.structure}, {counted(model.n_features, 'feature')}, "
                      f"{counted(model.n_labels, 'label')}"),
        ("seed", "not stored" if facts.seed is None else str(facts.seed)),
        ("versions", ", ".join(f"{name} {held}" for name, held in facts.versions.items())),
    ]  # fmt: skip
    if model.kernel:
        rows.append(("kernel", model.kernel))
    blocks: list[Block] = [doc.Definitions(rows)]
    settings: list[tuple[Text, Text]] = [
        (code(name), code(repr(value))) for name, value in model.every_setting.items()
    ]
    if settings:
        blocks += [doc.Heading("Settings of the training"), doc.Definitions(settings)]
    return blocks


_LOSSES: Final = {
    "log": "minus the logarithm of the probability that the model gives to its right label",
    "hinge": "by how much the right label fails to beat every other one by the cost of that label",
    "softmax-margin": "minus the logarithm of the probability of its right label, after the scores "
    "of all other labels were raised by their costs",
}


def _per_cent(fraction: float, digits: int = 2) -> str:
    """Return a fraction in per cent."""
    return f"{100 * fraction:.{digits}f}%"


def interval(ratio: Ratio) -> str:
    """Return an interval in per cent."""
    return f"{100 * ratio.low:.1f} to {100 * ratio.high:.1f}"


def _lead_in_words(facts: Facts) -> str:
    """Return the report in two sentences."""
    model, data, best = facts.model, facts.data[-1], facts.measures[0]
    where = os.path.basename(data.path) if data.file else data.path
    if facts.on_training_data:
        where = "its training data"
    return (
        f"A model for {model.summary} (--task {model.task}, {model.loss} loss). On {where}, "
        f"{counted(data.n_examples, data.example)}, its score is {_per_cent(best.score.value)} "
        f"({best.title}; {_per_cent(facts.level, 0)} interval {interval(best.score)}). "
        f"{_certificate_in_short(facts)}"
    )


def _certificate_in_short(facts: Facts) -> str:
    """Return the certificate in one sentence."""
    certificate = facts.model.certificate
    if not certificate.known:
        return f"Nothing is certified: {certificate.verdict}."
    if not certificate.consistent:
        return f"Nothing is certified: {certificate.doubt}."
    state = "" if certificate.converged else ", which is more than was asked for"
    if certificate.steps is not None:
        return (
            "The last step of its training is certified to be within "
            f"{certificate.relative_gap:.1e} of its optimum{state}."
        )
    return (
        "It is certified that no weights have an objective that is better by more than "
        f"{certificate.relative_gap:.1e} of it{state}."
    )


def _calibration_in_words(found: Calibration, unit: str) -> str:
    """Return what the calibration says, as sentences."""
    confidence = sum(one.n * one.probability for one in found.bins) / found.n
    right = sum(one.n * one.correct for one in found.bins) / found.n
    side = "more" if confidence > right else "less"
    return (
        f"The model gives its {counted(found.n, unit)} a mean probability of "
        f"{_per_cent(confidence)}, and {_per_cent(right)} of them are right: it is {side} sure "
        f"than it should be by {100 * abs(confidence - right):.2f} percentage points. The expected "
        f"calibration error over ten ranges is {_per_cent(found.error)}, the Brier score "
        f"{found.brier:.4f}."
    )


def _no_probabilities(facts: Facts) -> str:
    """Return why there is no calibration."""
    return (
        f"The {facts.model.loss} loss gives scores and margins, not probabilities, so there is "
        "nothing to calibrate. Train with the log loss if probabilities are needed."
    )


def _objective_in_words(model: ModelFacts) -> list[str]:
    """Return what training minimised, as paragraphs."""
    if model.origin is not None:
        return [f"Another program trained the model. Its objective: {model.origin}."]
    penalty = f"{model.l2:g}/2 times the sum of the squares of all weights (l2 = {model.l2:g})"
    if model.l1:
        penalty += f", plus {model.l1:g} times the sum of their sizes (l1 = {model.l1:g})"
    loss = _LOSSES.get(model.loss, f"its {model.loss} loss")
    what = f"coefficients with a kernel ({model.kernel})" if model.kernel else "weights"
    return [
        f"Training looked for the {what} with the smallest objective: {penalty}, plus, for each "
        f"example, {loss} (the {model.loss} loss).",
    ]
