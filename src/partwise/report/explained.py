"""What explanations say of a model: its strongest features, and what it is sure and wrong about."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import DataError
from ..metrics.labels import looks_like_spans, span_type
from ..pictures import hues
from ..tasks.comparison import Comparison, Odds, Quote
from ..tasks.source import silenced
from ..wording import plural
from . import document as doc
from .document import Block, Cell, Text, code, label
from .facts import Facts, FeatureTable, WrongExample

if TYPE_CHECKING:
    from ..explain.explanation import Explanation, Part
    from ..models.model import Model
    from ..tasks.source import Source

__all__ = [
    "feature_blocks", "strongest_features", "wrong_blocks", "wrong_example", "wrong_examples",
]  # fmt: skip

#: The title of the table of weights that join labels.
_TRANSITIONS: Final = "transitions"
_MOST_LABELS: Final = 12
_TOP: Final = 8
#: How many examples are shown, how many parts of each are explained, and how many wrong ones are
#: looked at if there are no probabilities.
_MOST: Final = 6
_PARTS: Final = 2
_LOOKED_AT: Final = 1000
_MOST_ROWS: Final = 6
#: Longer names of features need wider tables.
_LONG: Final = 20
#: What the names mean that are not made of the data.
_MEANINGS: Final = {
    "__BOS__": "marks the first token of a sentence",
    "__EOS__": "marks the last token of a sentence",
    "constant": "stands for a weight that does not depend on the input",
}
_AS_BAR: Final = (doc.Mark("as a bar", "unseen"), "drawn")


def strongest_features(
    model: Model,
    labels: Sequence[str],
    names: bool,
    feature_names: Sequence[str] | None = None,
) -> list[FeatureTable]:
    """Return the largest weights of the most frequent labels, and those of transitions.

    Parameters
    ----------
    model : Model
        The model.
    labels : sequence of str
        The labels, most frequent first.
    names : bool
        Whether names of features may be shown; they may be made of words of the data.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    """
    from ..explain import weight_table

    how: dict[str, Any] = {"feature_names": feature_names}
    tables = []
    if getattr(model.features, "support", None) is None and names:
        known = _labels_of(model, labels)
        for label in known[:_MOST_LABELS]:
            # Transitions hold the label too, and have a table of their own.
            rows = [
                row
                for row in weight_table(model, 20 * _TOP, label=label, **how)
                if row.label == label
            ]
            tables.append(FeatureTable(label, rows[:_TOP]))
        if not known:
            # Trees without relations have no labels.
            tables.append(FeatureTable("all labels", weight_table(model, 3 * _TOP, **how)))
    try:
        joins = weight_table(model, 2 * _TOP, transitions=True, **how)
    except DataError:  # the model has none
        return tables
    if names or all(row.feature == "constant" for row in joins):
        tables.append(FeatureTable(_TRANSITIONS, joins))
    return [table for table in tables if len(table.rows)]


def _labels_of(model: Model, labels: Sequence[str]) -> list[str]:
    """Return the labels of a model, those of the most frequent labels or types of spans first."""
    order = {label: place for place, label in enumerate(labels)}
    names = [*map(str, model.labels)]
    # Tags such as B-NP stand for the spans NP.
    tags = looks_like_spans(names)

    def place(name: str) -> int:
        kind = span_type(name, "conlleval") if tags else name
        return order.get(name, order.get(kind, len(order)))

    return sorted((name for name in names if place(name) < len(order)), key=place)


def wrong_examples(
    model: Model,
    source: Source,
    found: Comparison,
    headline: str,
    n_jobs: int | None,
    feature_names: Sequence[str] | None = None,
) -> list[WrongExample]:
    """Return the wrong examples of a file, those that the model is most sure about first.

    Parameters
    ----------
    model : Model
        The model.
    source : Source
        The file.
    found : Comparison
        The predictions and the right labels.
    headline : str
        The measure by which an example is right or wrong.
    n_jobs : int or None
        The number of threads.
    feature_names : sequence of str or None
        The names of the columns, if the features of the model only have numbers.
    """
    with silenced():
        if found.odds is not None:
            chosen = _by_probability(found.odds)
        else:
            chosen = _by_margin(model, source, found, headline, n_jobs)
        return [_explained(model, source, found, one, feature_names) for one in chosen]


def _by_probability(odds: Odds) -> list[tuple[int, str]]:
    wrong = np.flatnonzero(~odds.correct)
    order = wrong[np.argsort(-odds.probability[wrong], kind="stable")]
    chosen: dict[int, str] = {}
    for at in order.tolist():
        if len(chosen) == _MOST:
            break
        p = float(odds.probability[at])
        chosen.setdefault(
            int(odds.example[at]), f"a wrong {odds.unit} with the probability {_probability(p)}"
        )
    return list(chosen.items())


def _by_margin(
    model: Model, source: Source, found: Comparison, headline: str, n_jobs: int | None
) -> list[tuple[int, str]]:
    above, below = found.measures[headline]
    wrong = np.flatnonzero(above < below)[:_LOOKED_AT].tolist()
    if not wrong:
        return []
    ranked = model.k_best(source.take([found.number(i) for i in wrong]), k=2, n_jobs=n_jobs)
    margins = [float(s[0] - s[1]) if len(s) > 1 else math.inf for s, _ in ranked]
    order = sorted(range(len(wrong)), key=lambda at: -margins[at])[:_MOST]
    return [
        (wrong[at], f"its score is {margins[at]:.4g} above that of the second-best answer")
        for at in order
    ]


def _explained(
    model: Model,
    source: Source,
    found: Comparison,
    chosen: tuple[int, str],
    feature_names: Sequence[str] | None,
) -> WrongExample:
    from ..explain import explain_examples

    i, sure = chosen
    quote, some = found.quote(i), source.take([found.number(i)])
    explanation = explain_examples(model, some, feature_names=feature_names)[0]
    return WrongExample(found.number(i) + 1, sure, quote, _wrong_parts(explanation, quote))


def _wrong_parts(explanation: Explanation, quote: Quote) -> Sequence[Part]:
    def certainty(part: Any) -> float:
        held = part.probability if part.probability is not None else part.margin
        return -math.inf if held is None else -held

    parts = [part for part in explanation.parts if part.place in quote.wrong]
    return sorted(parts, key=certainty)[:_PARTS]


def feature_blocks(facts: Facts) -> list[Block]:
    """Return the section of the largest weights."""
    blocks: list[Block] = []
    if facts.model.kernel is not None:
        told = (
            "A model with a kernel has no weights of features: it compares an example with those "
            "that it was trained on."
        )
        blocks.append(doc.Paragraph(told))
    elif facts.wrong is None:
        told = "Names of features are made of the data, so they are left out as all quotations are."
        blocks.append(doc.Paragraph(told))
    if facts.features:
        told = (
            "The largest weights by size. A weight above 0{} speaks for the label, one below 0{} "
        )
        told += "against it."
        with_bars = doc.Paragraph(told.format(" (a filled bar)", " (an empty bar)"))
        longest = max(len(row.feature) for found in facts.features for row in found.rows)
        tables = [*map(_weights, facts.features)]
        blocks += [
            doc.Either([with_bars], [doc.Paragraph(told.format("", ""))]),
            doc.Group(tables, "grid wide" if longest > _LONG else "grid"),
        ]
        blocks += _names_in_words({row.feature for found in facts.features for row in found.rows})
    elif facts.wrong is not None and facts.model.kernel is None:
        blocks.append(doc.Paragraph("All weights are 0."))
    return blocks


def _weights(found: FeatureTable) -> doc.Table:
    most = max((abs(row.weight) for row in found.rows), default=0.0)
    mixed = len({row.label for row in found.rows}) > 1
    named = any(row.feature != "constant" for row in found.rows) or not mixed
    heads: list[tuple[Text, str]] = [("weight", "n"), _AS_BAR]
    heads[:0] = [("label", "")] * mixed + [("feature", "f")] * named
    rows: list[list[Cell]] = [
        [*[label(row.label)] * mixed, *[label(row.feature)] * named, f"{row.weight:+.3f}",
         doc.Bar(row.weight, most)]
        for row in found.rows
    ]  # fmt: skip
    title = "Transitions and the like" if found.label == _TRANSITIONS else found.label
    return doc.Table(("Largest weights: ", label(title)), heads, rows, name=f"Weights: {title}")


def _names_in_words(names: Collection[str]) -> list[Block]:
    """Return a sentence on the names of features that are not made of the data, if there are any.

    Parameters
    ----------
    names : collection of str
        The names that are shown.
    """
    told: list[Text] = []
    for name in (name for name in _MEANINGS if name in names):
        told += ["; " if told else "Among the features, ", code(name), f" {_MEANINGS[name]}"]
    return [doc.Paragraph((*told, "."), "which")] if told else []


def wrong_blocks(facts: Facts) -> list[Block]:
    """Return the section of the examples that the model is sure and wrong about."""
    example = facts.data[-1].example
    if facts.wrong is None:
        return [doc.Paragraph("Quotations of the data are left out.")]
    if not facts.wrong:
        return [doc.Paragraph(f"No {example} is wrong.")]
    how = "probability" if facts.calibration is not None else "margin"
    intro = doc.Paragraph(
        f"The wrong {plural(example)} in which a wrong answer has the largest {how}. They often "
        "show errors of the data, or what the features do not see."
    )
    colours = hues(row.label for row in facts.labels)
    drawn = [wrong_example(one, example, colours) for one in facts.wrong]
    quoted: list[Text] = [
        (f"{_numbered(example, one)}, {one.sure}: ", *_quoted(one.quote)) for one in facts.wrong
    ]
    return [intro, doc.Either(drawn, [doc.Bullets(quoted)])]


def _numbered(example: str, found: WrongExample) -> str:
    return f"{example.capitalize()} {found.number:,}"


def _quoted(quote: Quote) -> tuple[Text, ...]:
    if quote.words:
        return (code(" ".join(quote.words)),)
    return "predicted ", code(str(quote.found)), ", right ", code(str(quote.right))


def wrong_example(found: WrongExample, example: str, colours: dict[str, int]) -> doc.Group:
    """Return an example that is wrong, with what explains it.

    Parameters
    ----------
    found : WrongExample
        The example.
    example : str
        What examples are called.
    colours : dict
        The colours of labels.
    """
    name = _numbered(example, found)
    # Wrong neighbours often have the same rival, and then the same rows explain all of them.
    alike: dict[tuple[Any, ...], list[Part]] = {}
    for part in found.parts:
        compared = part.runner_up is not None and part.runner_up.differences
        alike.setdefault((None if compared else part.label, *_rows(part)), []).append(part)
    tables = [_parts(some, f"{name}, explanation {k}") for k, some in enumerate(alike.values(), 1)]
    names = {one.feature for part in found.parts for one in _rows(part)[:_MOST_ROWS]}
    return doc.Group(
        [
            doc.Heading(f"{name}: {found.sure}"),
            doc.Drawing(found.quote, colours),
            doc.Group(tables, "grid wide"),
            *_names_in_words(names),
        ],
        "example",
    )


def _rows(part: Part) -> list[Any]:
    """Return what explains a part, the largest first."""
    rival = part.runner_up
    rows: Sequence[Any] = part.contributions
    if rival is not None and rival.differences:
        rows = rival.differences
    return sorted(rows, key=lambda one: -abs(one.product))


def _parts(parts: Sequence[Part], name: str) -> doc.Group:
    """Return the table that explains some parts, all by the same rows."""
    shown = _rows(parts[0])
    rest = shown[_MOST_ROWS:]
    most = max((abs(one.product) for one in shown), default=0.0)
    rows: list[list[Cell]] = [
        [
            doc.Mark(one.feature, "label"),
            _for(one),
            f"{one.product:+.3f}",
            doc.Bar(one.product, most),
        ]
        for one in shown[:_MOST_ROWS]
    ]
    if rest:
        total = sum(one.product for one in rest)
        rows.append([f"{len(rest):,} more", "", f"{total:+.3f}", ""])
    heads: list[tuple[Text, str]] = [("feature", "f"), ("of", ""), ("adds", "n"), _AS_BAR]
    return doc.Group([*map(_heading, parts), doc.Table(_caption(parts), heads, rows, name=name)])


def _heading(part: Part) -> doc.Heading:
    sure = f", probability {_probability(part.probability)}" if part.probability is not None else ""
    where = f"\u201c{part.text}\u201d: " if part.text else ""
    return doc.Heading((where, label(part.label), sure), 4)


def _caption(parts: Sequence[Part]) -> Text:
    first = parts[0]
    if first.runner_up is None or not first.runner_up.differences:
        return ("What the features add to the score of ", label(first.label), ".")
    pairs = dict.fromkeys((one.label, one.runner_up.label) for one in parts if one.runner_up)
    named: list[Text] = []
    for wrong, rival in pairs:
        named += [", and " if named else "Why ", label(wrong), " and not ", label(rival)]
    margin = f": what the features add to the margin of {first.runner_up.margin:.3f}."
    return (*named, margin)


def _for(one: Any) -> Text:
    """Return what the weight of a contribution or a difference is for."""
    where = getattr(one, "where", "")
    instead = getattr(one, "instead", "")
    at = f" ({where})" if where else ""
    if not instead:
        return (label(one.label) if one.label else "", at)
    if not one.label:
        return (label(instead), ", in the other answer", at)
    return (label(one.label), " not ", label(instead), at)


def _probability(p: float) -> str:
    """Return a probability; one that is nearly 1 is not written as 1."""
    return f"{p:.4f}" if p < 0.99995 else f"1 - {max(1.0 - p, 1e-16):.1e}"
