"""A report as one page of HTML that needs nothing from elsewhere."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import Final

from ..metrics.bracketing import ROOTS
from ..pictures import (
    STYLE,
    Markup,
    dependency_svg,
    element,
    interval_svg,
    joined,
    scrolled,
    spans_html,
    tags_html,
    tree_svg,
)
from . import document as doc
from .document import Block, Cell, Text, label
from .facts import Facts, Ratio
from .sections import document_of, interval

__all__ = ["report_page"]

#: Nothing is loaded, and nothing runs: only the style sheet of the page itself counts.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE: Final = Markup(STYLE + (files(__package__) / "page.css").read_text("utf-8"))


def report_page(facts: Facts) -> str:
    """Return the page.

    Parameters
    ----------
    facts : Facts
        What it shows, see :func:`partwise.report.gather`.

    Returns
    -------
    str
        The page, in HTML.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import tagged_text
    >>> from partwise.report import report, report_page
    >>> tagger = SequenceTagger().fit(tagged_text(40, seed=1))
    >>> facts = report(tagger, tagged_text(20, seed=2), output=None)
    >>> page = report_page(facts)
    >>> "SequenceTagger" in page, "<script" in page
    (True, False)
    """
    return html_of(document_of(facts))


def html_of(document: doc.Document) -> str:
    """Return a document as a page of HTML."""
    named = f"partwise {document.version}"
    links = [element("li", element("a", s.short, href=f"#{s.name}")) for s in document.sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=named),
        element("title", f"{document.title}: report"),
        element("style", _STYLE),
    )
    top = element(
        "header",
        element("p", "Report on a model", class_="kind"),
        element("h1", document.title),
        element("p", document.lead, class_="lead"),
        element("dl", *map(_card, document.figures), class_="cards"),
        element("nav", element("ul", *links), aria_label="Sections"),
    )
    main = element("main", *map(_section, document.sections))
    foot = element("footer", f"Written by {named}. The page loads nothing.")
    page = element("html", head, element("body", top, main, foot), lang="en")
    return f"<!doctype html>\n{page}\n"


def _card(figure: tuple[str, str, str]) -> Markup:
    what, number, more = figure
    return element(
        "div", element("dt", what), element("dd", number, class_="figure"), element("dd", more),
        class_="card",
    )  # fmt: skip


def _section(section: doc.Section) -> Markup:
    heading = element("h2", section.title, id=section.name)
    return element(
        "section", heading, *map(html_block, section.blocks), aria_labelledby=section.name
    )


def html_block(block: Block) -> Markup:
    """Return a block of a document as HTML."""
    match block:
        case doc.Paragraph():
            return element("p", _text(block.text), class_=block.kind)
        case doc.Heading():
            return element(f"h{block.level}", _text(block.text))
        case doc.Definitions():
            rows = [joined([element("dt", _text(a)), element("dd", _text(b))])
                    for a, b in block.rows]  # fmt: skip
            return element("dl", *rows, class_="plain")
        case doc.Bullets():
            return _text(block)
        case doc.Table():
            return _table(block)
        case doc.Program():
            return element(
                "pre", element("code", block.text), tabindex=0, role="region",
                aria_label=block.name,
            )  # fmt: skip
        case doc.Figure(chart):
            return element("figure", element("figcaption", chart.caption), chart.svg(chart.told))
        case doc.Drawing():
            return _DRAWN[block.quote.shape](block)
        case doc.Group(kind="example"):
            return element("article", *map(html_block, block.blocks), class_="example")
        case doc.Group():
            return element("div", *map(html_block, block.blocks), class_=block.kind)
        case doc.Either():
            return joined(map(html_block, block.page))


_ELEMENTS: Final = {
    "code": ("code", None),
    "label": ("span", "label"),
    "strong": ("strong", None),
    "em": ("em", None),
    "unseen": ("span", "pw-hidden"),
}


def _text(text: Text) -> Markup:
    match text:
        case str():
            return joined([text])
        case doc.Mark():
            name, kind = _ELEMENTS[text.kind]
            return element(name, text.text, class_=kind)
        case doc.Items():
            items = [element("span", _text(one), class_="item") for one in text.items]
            return joined(part for one in items for part in (one, " "))
        case doc.Bullets():
            return element("ul", *(element("li", _text(one)) for one in text.items))
    return joined(map(_text, text))


def _table(table: doc.Table) -> Markup:
    kinds = ["" if kind == "drawn" else kind for _, kind in table.heads]
    caption = _text(table.caption)
    top = [
        element("th", _text(text), scope="col", class_=kind or None)
        for (text, _), kind in zip(table.heads, kinds, strict=True)
    ]
    body = [
        element(
            "tr", element("th", _cell(first), scope="row"),
            *(_td(cell, kind) for cell, kind in zip(rest, kinds[1:], strict=True)),
        )
        for first, *rest in table.rows
    ]  # fmt: skip
    made = element(
        "table", element("caption", caption), element("thead", element("tr", *top)),
        element("tbody", *body), class_=table.kind,
    )  # fmt: skip
    return scrolled(made, table.name or str(table.caption))


def _td(cell: Cell, kind: str) -> Markup:
    if isinstance(cell, doc.Shade):
        kind = cell.kind
    return element("td", _cell(cell), class_=kind or None)


def _cell(cell: Cell) -> Markup:
    match cell:
        case Ratio():
            return joined([f"{100 * cell.value:.1f}", element("small", interval(cell))])
        case doc.Interval(ratio):
            return interval_svg(ratio.value, ratio.low, ratio.high)
        case doc.Bar():
            return _bar(cell)
        case doc.Shade():
            return joined([cell.text])
    return _text(cell)


def _bar(bar: doc.Bar) -> Markup:
    """Draw a bar to the right, or an empty one to the left for a number below 0.

    The number stands beside it, so that screen readers need not know of it.
    """
    length = 35.0 * min(abs(bar.value) / bar.most, 1.0) if bar.most else 0.0
    for_it = bar.value >= 0.0
    rect = element(
        "rect", x=36.0 if for_it else 36.0 - length, y=2, width=max(length, 0.5), height=8,
        class_="for" if for_it else "against",
    )  # fmt: skip
    axis = element("path", d="M36 0V12", class_="pw-axis")
    return element("svg", rect, axis, viewBox="0 0 72 12", class_="bar", aria_hidden="true")


def _which(text: str) -> Markup:
    return element("p", text, class_="which")


def _label(drawing: doc.Drawing) -> Markup:
    found, right = (_text(label(one)) for one in (drawing.quote.found, drawing.quote.right))
    return element("p", "Predicted: ", found, ". Right: ", right, ".")


def _tags(drawing: doc.Drawing) -> Markup:
    quote = drawing.quote
    return tags_html(quote.words, quote.found, right=quote.right, colours=drawing.colours)


def _spans(drawing: doc.Drawing) -> Markup:
    quote = drawing.quote
    wrong = set(quote.found) - set(quote.right)
    missed = set(quote.right) - set(quote.found)
    return joined(
        [
            _which("Predicted; what is wrong has a dashed frame:"),
            spans_html(quote.words, quote.found, colours=drawing.colours, wrong=wrong),
            _which("Right; what was missed has a dashed frame:"),
            spans_html(quote.words, quote.right, colours=drawing.colours, wrong=missed),
        ]
    )


def _arcs(drawing: doc.Drawing) -> Markup:
    quote = drawing.quote
    heads, relations = quote.found
    svg = dependency_svg(quote.words, heads, relations, tags=quote.tags, right=quote.right)
    text = (
        "Above the words what was predicted, wrong arcs dashed; below them the right arcs instead."
    )
    return joined([_which(text), scrolled(svg, "Dependency tree")])


def _tree(drawing: doc.Drawing) -> Markup:
    quote = drawing.quote
    drawn = []
    pairs = (("Predicted", quote.found, quote.right), ("Right", quote.right, quote.found))
    for title, tree, other in pairs:
        left = Counter(tree.brackets()) - Counter(other.brackets())
        wrong = [one for one in left.elements() if one.label not in ROOTS]
        text = f"{title}; phrases that the other tree does not have are framed:"
        svg = tree_svg(tree, wrong=wrong, title=f"{title} tree")
        drawn += [_which(text), scrolled(svg, f"{title} tree")]
    return joined(drawn)


_DRAWN: Final = {"label": _label, "tags": _tags, "spans": _spans, "arcs": _arcs, "tree": _tree}
