"""The sections of a report that quote the data: features, and sentences that are sure and wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..metrics.bracketing import ROOTS
from ..pictures import (
    Markup,
    dependency_svg,
    element,
    hues,
    joined,
    scrolled,
    spans_html,
    tags_html,
    tree_svg,
)
from ..tasks.comparison import Quote
from .facts import Facts, FeatureTable, WrongExample
from .page_parts import bar, label, section, table, unseen
from .strongest import TRANSITIONS
from .wording import probability

if TYPE_CHECKING:
    from ..explain.explanation import Part

__all__ = ["examples_section", "features_section"]

_MOST_ROWS: Final = 6
#: Longer names of features need wider tables.
_LONG: Final = 20
#: What the names mean that are not made of the data.
_MEANINGS: Final = {
    "__BOS__": "marks the first token of a sentence",
    "__EOS__": "marks the last token of a sentence",
    "constant": "stands for a weight that does not depend on the input",
}


def features_section(facts: Facts) -> Markup:
    """Show the largest weights."""
    parts: list[object] = []
    if facts.model.kernel is not None:
        parts.append(
            element("p", "A model with a kernel has no weights of features: it compares an example "
                    "with those that it was trained on.")
        )  # fmt: skip
    elif facts.wrong is None:
        parts.append(
            element("p", "Names of features are made of the data, so they are left out as all "
                    "quotations are.")
        )  # fmt: skip
    if facts.features:
        text = (
            "The largest weights by size. A weight above 0 (a filled bar) speaks for the label, "
            "one below 0 (an empty bar) against it."
        )
        parts.append(element("p", text))
        longest = max(len(row.feature) for found in facts.features for row in found.rows)
        wide = " wide" if longest > _LONG else ""
        parts.append(element("div", *map(_weights, facts.features), class_=f"grid{wide}"))
        parts += _names_in_words({row.feature for found in facts.features for row in found.rows})
    elif facts.wrong is not None and facts.model.kernel is None:
        parts.append(element("p", "All weights are 0."))
    return section("features", "Strongest features", *parts)


def _weights(found: FeatureTable) -> Markup:
    most = max((abs(row.weight) for row in found.rows), default=0.0)
    mixed = len({row.label for row in found.rows}) > 1
    named = any(row.feature != "constant" for row in found.rows)
    rows = []
    for row in found.rows:
        cells = [label(row.label)] * mixed + [label(row.feature)] * (named or not mixed)
        rows.append([*cells, f"{row.weight:+.3f}", bar(row.weight, most)])
    heads: list[tuple[object, str]] = []
    heads += [("label", "")] * mixed + [("feature", "f")] * (named or not mixed)
    heads += [("weight", "n"), (unseen("as a bar"), "")]
    title = "Transitions and the like" if found.label == TRANSITIONS else found.label
    return table(joined(["Largest weights: ", label(title)]), heads, rows, name=f"Weights: {title}")


def examples_section(facts: Facts) -> Markup:
    """Draw the examples that the model is most sure and wrong about."""
    example = facts.data[-1].example
    title = f"Sure and wrong: {example}s"
    if facts.wrong is None:
        return section("wrong", title, element("p", "Quotations of the data are left out."))
    if not facts.wrong:
        return section("wrong", title, element("p", f"No {example} is wrong."))
    how = "probability" if facts.calibration is not None else "margin"
    intro = element(
        "p", f"The wrong {example}s in which a wrong answer has the largest {how}. They often show "
        "errors of the data, or what the features do not see.",
    )  # fmt: skip
    colours = hues(name for row in facts.labels for name in [row.label])
    return section("wrong", title, intro, *(_example(one, example, colours) for one in facts.wrong))


def _example(found: WrongExample, example: str, colours: dict[str, int]) -> Markup:
    name = f"{example.capitalize()} {found.number:,}"
    heading = element("h3", f"{name}: {found.sure}")
    # Wrong neighbours often have the same rival, and then the same rows explain all of them.
    alike: dict[tuple[Any, ...], list[Part]] = {}
    for part in found.parts:
        compared = part.runner_up is not None and part.runner_up.differences
        alike.setdefault((None if compared else part.label, *_rows(part)), []).append(part)
    tables = [_parts(some, f"{name}, explanation {k}") for k, some in enumerate(alike.values(), 1)]
    parts = element("div", *tables, class_="grid wide")
    names = {one.feature for part in found.parts for one in _rows(part)[:_MOST_ROWS]}
    return element(
        "article", heading, _drawn(found.quote, colours), parts, *_names_in_words(names),
        class_="example",
    )  # fmt: skip


def _drawn(quote: Quote, colours: dict[str, int]) -> Markup:
    draw = {"label": _label, "tags": _tags, "spans": _spans, "arcs": _arcs, "tree": _tree}
    return draw[quote.shape](quote, colours)


def _which(text: str) -> Markup:
    return element("p", text, class_="which")


def _label(quote: Quote, colours: dict[str, int]) -> Markup:
    return element("p", "Predicted: ", label(quote.found), ". Right: ", label(quote.right), ".")


def _tags(quote: Quote, colours: dict[str, int]) -> Markup:
    return tags_html(quote.words, quote.found, right=quote.right, colours=colours)


def _spans(quote: Quote, colours: dict[str, int]) -> Markup:
    wrong = set(quote.found) - set(quote.right)
    missed = set(quote.right) - set(quote.found)
    return joined(
        [
            _which("Predicted; what is wrong has a dashed frame:"),
            spans_html(quote.words, quote.found, colours=colours, wrong=wrong),
            _which("Right; what was missed has a dashed frame:"),
            spans_html(quote.words, quote.right, colours=colours, wrong=missed),
        ]
    )


def _arcs(quote: Quote, colours: dict[str, int]) -> Markup:
    heads, relations = quote.found
    svg = dependency_svg(quote.words, heads, relations, tags=quote.tags, right=quote.right)
    text = (
        "Above the words what was predicted, wrong arcs dashed; below them the right arcs instead."
    )
    return joined([_which(text), scrolled(svg, "Dependency tree")])


def _tree(quote: Quote, colours: dict[str, int]) -> Markup:
    drawn = []
    pairs = (("Predicted", quote.found, quote.right), ("Right", quote.right, quote.found))
    for title, tree, other in pairs:
        left = Counter(tree.brackets()) - Counter(other.brackets())
        wrong = [one for one in left.elements() if one.label not in ROOTS]
        text = f"{title}; phrases that the other tree does not have are framed:"
        svg = tree_svg(tree, wrong=wrong, title=f"{title} tree")
        drawn += [_which(text), scrolled(svg, f"{title} tree")]
    return joined(drawn)


def _names_in_words(names: Collection[str]) -> list[Markup]:
    """Return a sentence on the names of features that are not made of the data, if there are any.

    Parameters
    ----------
    names : collection of str
        The names that are shown.
    """
    told = [
        element("span", element("code", name), f" {meaning}")
        for name, meaning in _MEANINGS.items()
        if name in names
    ]
    if not told:
        return []
    between = [part for one in told for part in ("; ", one)][1:]
    return [element("p", "Among the features, ", *between, ".", class_="which")]


def _rows(part: Part) -> list[Any]:
    """Return what explains a part, the largest first."""
    rival = part.runner_up
    rows: Sequence[Any] = part.contributions
    if rival is not None and rival.differences:
        rows = rival.differences
    return sorted(rows, key=lambda one: -abs(one.product))


def _heading(part: Part) -> Markup:
    sure = f", probability {probability(part.probability)}" if part.probability is not None else ""
    where = f"\u201c{part.text}\u201d" if part.text else ""
    return element("h4", where, ": " if where else "", label(part.label), sure)


def _caption(parts: Sequence[Part]) -> Markup:
    first = parts[0]
    if first.runner_up is None or not first.runner_up.differences:
        return joined(["What the features add to the score of ", label(first.label), "."])
    pairs = dict.fromkeys((one.label, one.runner_up.label) for one in parts if one.runner_up)
    named: list[object] = []
    for wrong, rival in pairs:
        named += [", and " if named else "Why ", label(wrong), " and not ", label(rival)]
    margin = f": what the features add to the margin of {first.runner_up.margin:.3f}."
    return joined([*named, margin])


def _parts(parts: Sequence[Part], name: str) -> Markup:
    """Return the table that explains some parts, all by the same rows."""
    shown, caption = _rows(parts[0]), _caption(parts)
    rest = shown[_MOST_ROWS:]
    most = max((abs(one.product) for one in shown), default=0.0)
    body = [
        [element("span", one.feature, class_="label"), _for(one), f"{one.product:+.3f}",
         bar(one.product, most)]
        for one in shown[:_MOST_ROWS]
    ]  # fmt: skip
    if rest:
        total = sum(one.product for one in rest)
        body.append([f"{len(rest):,} more", "", f"{total:+.3f}", ""])
    heads: list[tuple[object, str]] = [
        ("feature", "f"),
        ("of", ""),
        ("adds", "n"),
        (unseen("as a bar"), ""),
    ]
    return element("div", *map(_heading, parts), table(caption, heads, body, name=name))


def _for(one: Any) -> Markup:
    """Return what the weight of a contribution or a difference is for."""
    where = getattr(one, "where", "")
    instead = getattr(one, "instead", "")
    at = [f" ({where})"] if where else []
    if not instead:
        return joined([label(one.label) if one.label else "", *at])
    if not one.label:
        return joined([label(instead), ", in the other answer", *at])
    return joined([label(one.label), " not ", label(instead), *at])
