"""A report as one page of HTML that needs nothing from elsewhere."""

from __future__ import annotations

from collections import Counter
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
from .document import (
    Bar,
    Block,
    Bullets,
    Cell,
    Definitions,
    Document,
    Drawing,
    Either,
    Figure,
    Group,
    Heading,
    Interval,
    Items,
    Mark,
    Paragraph,
    Program,
    Section,
    Shade,
    Table,
    Text,
    label,
)
from .facts import Facts, Ratio
from .sections import document_of
from .wording import interval

__all__ = ["report_page"]

#: Nothing is loaded, and nothing runs: only the style sheet of the page itself counts.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


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
    >>> from partwise import SequenceTagger, save_model
    >>> from partwise.datasets import tagged_text, write
    >>> from partwise.report import GivenFile, gather, report_page
    >>> from partwise.tasks.registry import task_of
    >>> model = SequenceTagger().fit(tagged_text(40, seed=1)).model_
    >>> save_model(model, "chunks.model")
    >>> write(tagged_text(20, seed=2), "test.txt")
    >>> task = task_of(model.task)
    >>> source = task.read_for(model, "test.txt", labelled=True)
    >>> facts = gather(task, model, "chunks.model", scored=GivenFile("test.txt", source))
    >>> page = report_page(facts)
    >>> "chunks.model" in page, "<script" in page
    (True, False)
    """
    return html_of(document_of(facts))


def html_of(document: Document) -> str:
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
        element("style", PAGE_STYLE),
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


def _section(section: Section) -> Markup:
    heading = element("h2", section.title, id=section.name)
    return element(
        "section", heading, *map(html_block, section.blocks), aria_labelledby=section.name
    )


def html_block(block: Block) -> Markup:
    """Return a block of a document as HTML."""
    match block:
        case Paragraph():
            return element("p", _text(block.text), class_=block.kind)
        case Heading():
            return element(f"h{block.level}", _text(block.text))
        case Definitions():
            rows = [joined([element("dt", _text(a)), element("dd", _text(b))])
                    for a, b in block.rows]  # fmt: skip
            return element("dl", *rows, class_="plain")
        case Bullets():
            return _text(block)
        case Table():
            return _table(block)
        case Program():
            return element(
                "pre", element("code", block.text), tabindex=0, role="region",
                aria_label=block.name,
            )  # fmt: skip
        case Figure(chart):
            return element("figure", element("figcaption", chart.caption), chart.svg(chart.told))
        case Drawing():
            return _DRAWN[block.quote.shape](block)
        case Group(kind="example"):
            return element("article", *map(html_block, block.blocks), class_="example")
        case Group():
            return element("div", *map(html_block, block.blocks), class_=block.kind)
        case Either():
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
        case Mark():
            name, kind = _ELEMENTS[text.kind]
            return element(name, text.text, class_=kind)
        case Items():
            items = [element("span", _text(one), class_="item") for one in text.items]
            return joined(part for one in items for part in (one, " "))
        case Bullets():
            return element("ul", *(element("li", _text(one)) for one in text.items))
    return joined(map(_text, text))


def _table(table: Table) -> Markup:
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
    if isinstance(cell, Shade):
        kind = cell.kind
    return element("td", _cell(cell), class_=kind or None)


def _cell(cell: Cell) -> Markup:
    match cell:
        case Ratio():
            return joined([f"{100 * cell.value:.1f}", element("small", interval(cell))])
        case Interval(ratio):
            return interval_svg(ratio.value, ratio.low, ratio.high)
        case Bar():
            return _bar(cell)
        case Shade():
            return joined([cell.text])
    return _text(cell)


def _bar(bar: Bar) -> Markup:
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


def _label(drawing: Drawing) -> Markup:
    found, right = (_text(label(one)) for one in (drawing.quote.found, drawing.quote.right))
    return element("p", "Predicted: ", found, ". Right: ", right, ".")


def _tags(drawing: Drawing) -> Markup:
    quote = drawing.quote
    return tags_html(quote.words, quote.found, right=quote.right, colours=drawing.colours)


def _spans(drawing: Drawing) -> Markup:
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


def _arcs(drawing: Drawing) -> Markup:
    quote = drawing.quote
    heads, relations = quote.found
    svg = dependency_svg(quote.words, heads, relations, tags=quote.tags, right=quote.right)
    text = (
        "Above the words what was predicted, wrong arcs dashed; below them the right arcs instead."
    )
    return joined([_which(text), scrolled(svg, "Dependency tree")])


def _tree(drawing: Drawing) -> Markup:
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


_PAGE: Final = """
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--panel:#f6f8fa;--rule:#d8dee4;
  --muted:#57606a;--link:#0550ae;--good:#1a6334;--shade:29,78,216;--warn:#7a4a00;--warn-panel:#fff8e6}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--panel:#161b22;
  --rule:#373e47;--muted:#a3adb8;--link:#79b0ff;--good:#7ad99b;--shade:121,176,255;--warn:#f0c674;
  --warn-panel:#2b2310}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;
  font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,header,footer{max-width:64rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem}
.kind{color:var(--muted);margin:0;font-size:.9rem;letter-spacing:.06em;text-transform:uppercase}
h1{font-size:2rem;line-height:1.2;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.4rem;margin:3rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1.08rem;margin:2rem 0 .5rem}
p,li{max-width:46rem;overflow-wrap:anywhere}
.lead{font-size:1.12rem;margin:0 0 1.25rem}
a{color:var(--link)}
a:focus-visible,.pw-scroll:focus-visible,summary:focus-visible{outline:2px solid var(--link);
  outline-offset:2px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.75rem;margin:0;padding:0}
.card{background:var(--panel);border:1px solid var(--rule);border-radius:.6rem;padding:.8rem 1rem;
  display:flex;flex-direction:column}
.card dt{order:2;font-size:.88rem;line-height:1.35}
.card dd{margin:0;order:3;font-size:.8rem;color:var(--muted)}
.card .figure{order:1;font-size:1.5rem;font-weight:650;line-height:1.3;color:inherit;
  font-variant-numeric:tabular-nums}
nav{margin:1.5rem 0 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.4rem .5rem;margin:0;padding:0}
nav a{display:inline-block;padding:.2rem .65rem;border:1px solid var(--rule);border-radius:1rem;
  text-decoration:none;font-size:.9rem}
nav a:hover{background:var(--panel)}
.note{border-left:4px solid var(--warn);background:var(--warn-panel);padding:.6rem .9rem;
  border-radius:.3rem;max-width:48rem}
table{border-collapse:collapse;font-size:.92rem;margin:.5rem 0}
caption{text-align:left;color:var(--muted);padding-bottom:.4rem;font-size:.9rem;
  max-width:min(46rem,calc(100vw - 3.5rem))}
th,td{padding:.32rem .9rem .32rem 0;text-align:left;vertical-align:baseline;
  border-bottom:1px solid var(--rule)}
th{font-weight:600}
thead th{color:var(--muted);font-size:.84rem;border-bottom:2px solid var(--rule)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td small{color:var(--muted);display:block;font-size:.78rem}
.label,td.f{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86rem;
  overflow-wrap:anywhere;unicode-bidi:isolate}
td.f{min-width:9rem;max-width:24rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));gap:1.25rem}
figure{margin:.75rem 0;min-width:0}
figcaption{color:var(--muted);font-size:.9rem;margin-bottom:.4rem;max-width:46rem}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(19rem,100%),1fr));
  gap:.25rem 2rem;align-items:start}
.grid.wide{grid-template-columns:repeat(auto-fit,minmax(min(25rem,100%),1fr))}
.grid table{width:100%}
.grid th,.grid td{padding-top:.18rem;padding-bottom:.18rem}
.grid tbody th,.grid td.f{min-width:8.6rem}
.grid tbody th{font-weight:400}
.grid td:last-child{width:4.6rem;padding-right:0}
.matrix td,.matrix thead th{text-align:right;padding:.3rem .55rem}
.matrix td{font-variant-numeric:tabular-nums;border:1px solid var(--rule)}
.matrix tbody th{text-align:right;padding-right:.6rem;border:0}
.matrix thead th{border-bottom:0;vertical-align:bottom;color:var(--ink)}
.matrix .same{color:var(--good);font-weight:650;border:2px solid var(--good)}
.matrix .zero{color:var(--muted)}
.example{border:1px solid var(--rule);border-radius:.6rem;padding:.9rem 1.1rem;margin:1rem 0;
  break-inside:avoid}
.example h3{margin:0 0 .5rem;font-size:1rem}
.example h4{margin:1rem 0 .1rem;font-size:.95rem;font-weight:600}
.example p{margin:.3rem 0}
.item{white-space:nowrap;margin-right:.35rem}
.which{font-size:.8rem;color:var(--muted);margin:.6rem 0 .1rem}
.bar{display:inline-block;width:4.5rem;height:.7rem;vertical-align:middle}
.bar rect.for{fill:var(--pw-s0)}
.bar rect.against{fill:none;stroke:var(--pw-s1);stroke-width:1.5}
pre{background:var(--panel);border:1px solid var(--rule);border-radius:.5rem;padding:.8rem 1rem;
  overflow-x:auto;font-size:.86rem;line-height:1.5}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
p code,li code,dd code{font-size:.88em;overflow-wrap:anywhere}
dl.plain{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;
  gap:.25rem 1.25rem;margin:.5rem 0}
dl.plain dt{color:var(--muted)}
dl.plain dd{margin:0;overflow-wrap:anywhere}
dl.plain ul{margin:0;padding-left:1.1rem}
footer{color:var(--muted);font-size:.85rem;padding-top:2rem;padding-bottom:3rem}
@media (max-width:34rem){
  header{padding-top:1.5rem}
  main,header,footer{padding-left:1rem;padding-right:1rem}
  h1{font-size:1.55rem}
  .pw-chart{font-size:15px}
  .cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:.5rem}
  .card{padding:.6rem .75rem}
  .card .figure{font-size:1.2rem}
  .example{padding:.75rem .8rem}
  dl.plain{grid-template-columns:1fr;gap:0}
  dl.plain dd{margin-bottom:.5rem}
}
@media print{
  :root{--ink:#000;--paper:#fff;--panel:#fff;--muted:#444;--rule:#bbb}
  nav{display:none}
  body{font-size:10.5pt}
  h2,h3,h4,caption,figcaption{break-after:avoid}
  figure,table,.card,pre{break-inside:avoid}
  .pw-scroll,pre{overflow:visible;white-space:pre-wrap}
  .pw-scroll svg{max-width:100%;height:auto}
  a{color:inherit;text-decoration:none}
}
"""

#: Backgrounds of the table of confusions, from few to many.
_SHADES: Final = "".join(
    f".shade-{step}{{background:rgba(var(--shade),{0.06 * step:.2f})}}\n" for step in range(10)
)

PAGE_STYLE: Final = Markup(STYLE + _PAGE + _SHADES)
