"""A report as one page of HTML that needs nothing from elsewhere."""

from __future__ import annotations

from typing import Final

from ..pictures import Markup, element
from .facts import Facts, ModelFacts
from .page_examples import examples_section, features_section
from .page_parts import definitions, interval, per_cent, plural, section
from .page_sections import (
    calibration_section,
    certificate_section,
    confusion_section,
    data_section,
    scores_section,
)
from .page_style import PAGE_STYLE
from .wording import lead_in_words

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
    sections = [
        ("data", "Data", data_section(facts)),
        ("certificate", "Certificate", certificate_section(facts)),
        ("scores", "Scores", scores_section(facts)),
        ("confusion", "Confusion", confusion_section(facts)),
        ("calibration", "Calibration", calibration_section(facts)),
        ("features", "Features", features_section(facts)),
        ("wrong", "Sure and wrong", examples_section(facts)),
        ("use", "How to use it", _use(facts)),
        ("made", "How it was made", _made(facts)),
    ]
    links = [element("li", element("a", title, href=f"#{name}")) for name, title, _ in sections]
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"partwise {facts.versions['partwise']}"),
        element("title", f"{facts.model.name}: report"),
        element("style", PAGE_STYLE),
    )
    top = element(
        "header",
        element("p", "Report on a model", class_="kind"),
        element("h1", facts.model.name),
        element("p", lead_in_words(facts), class_="lead"),
        _cards(facts),
        element("nav", element("ul", *links), aria_label="Sections"),
    )
    foot = element(
        "footer", f"Written by partwise {facts.versions['partwise']}. The page loads nothing."
    )
    main = element("main", *(drawn for _, _, drawn in sections))
    page = element("html", head, element("body", top, main, foot), lang="en")
    return f"<!doctype html>\n{page}\n"


def _cards(facts: Facts) -> Markup:
    best, certificate, data = facts.measures[0], facts.model.certificate, facts.data[-1]
    gap = (
        f"{certificate.relative_gap:.1e}"
        if certificate.known and certificate.consistent
        else "none"
    )
    zeros = facts.model.n_weights - facts.model.n_nonzero
    sparse = f"{zeros:,} of them 0" if zeros else "none of them 0"
    cards = [
        (best.title, per_cent(best.score.value),
         f"{per_cent(facts.level, 0)} interval: {interval(best.score)}"),
        ("certified relative gap", gap, f"asked for: {certificate.tol:g}"),
        (f"{data.example}s scored", f"{data.n_examples:,}",
         "" if data.lengths is None else plural(data.n_positions, data.position)),
        ("weights", f"{facts.model.n_weights:,}", sparse),
    ]  # fmt: skip
    made = [
        element(
            "div",
            element("dt", a),
            element("dd", b, class_="figure"),
            element("dd", c),
            class_="card",
        )
        for a, b, c in cards
    ]
    return element("dl", *made, class_="cards")


def _use(facts: Facts) -> Markup:
    commands = "\n".join(facts.usage.commands)
    return section(
        "use", "How to use it",
        element("h3", "From the command line"),
        element("pre", element("code", commands), tabindex=0, role="region", aria_label="Commands"),
        element("h3", "From Python"),
        element("pre", element("code", facts.usage.program), tabindex=0, role="region",
                aria_label="Program"),
    )  # fmt: skip


def _model_file(model: ModelFacts) -> list[tuple[object, object]]:
    if model.path is None:
        return [("model file", "none; the model was given in Python")]
    return [
        ("model file", element("code", model.path)),
        ("written by", f"partwise {model.written_by}"),
    ]


def _made(facts: Facts) -> Markup:
    model = facts.model
    rows: list[tuple[object, object]] = [
        ("command", element("code", facts.command or "none: from Python")),
        *_model_file(model),
        ("structure", f"{model.structure}, {plural(model.n_features, 'feature')}, "
                      f"{plural(model.n_labels, 'label')}"),
        ("seed", "not stored" if facts.seed is None else str(facts.seed)),
        ("versions", ", ".join(f"{name} {held}" for name, held in facts.versions.items())),
    ]  # fmt: skip
    if model.kernel:
        rows.append(("kernel", model.kernel))
    settings = [
        (element("code", name), element("code", repr(value)))
        for name, value in model.every_setting.items()
    ]
    parts: list[object] = [definitions(rows)]
    if settings:
        parts += [element("h3", "Settings of the training"), definitions(settings)]
    return section("made", "How it was made", *parts)
