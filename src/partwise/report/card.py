"""A report as a model card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ..pictures import plain_text
from ..tasks.comparison import Quote
from ..training.certificate import in_words
from .facts import DataFacts, Facts
from .objective import objective_in_words
from .page_parts import interval, per_cent, plural
from .strongest import TRANSITIONS
from .wording import calibration_in_words, lead_in_words, no_probabilities

__all__ = ["model_card"]

#: What Markdown, or HTML within it, would act on in the middle of a line.
_ACTIVE: Final = re.compile(r"([\\`*_\[\]<>|~&$])")
_MOST_LABELS: Final = 40


def model_card(facts: Facts) -> str:
    """Return the card.

    Parameters
    ----------
    facts : Facts
        What it shows, see :func:`partwise.report.gather`.

    Returns
    -------
    str
        The card, in Markdown.

    Examples
    --------
    >>> from partwise import SequenceTagger, save_model
    >>> from partwise.datasets import tagged_text, write
    >>> from partwise.report import GivenFile, gather, model_card
    >>> from partwise.tasks.registry import task_of
    >>> model = SequenceTagger().fit(tagged_text(40, seed=1)).model_
    >>> save_model(model, "chunks.model")
    >>> write(tagged_text(20, seed=2), "test.txt")
    >>> task = task_of(model.task)
    >>> source = task.read_for(model, "test.txt", labelled=True)
    >>> facts = gather(task, model, "chunks.model", scored=GivenFile("test.txt", source))
    >>> card = model_card(facts)
    >>> [line for line in card.splitlines() if line.startswith("# ")]
    ['# chunks.model']
    """
    parts = [
        "---\nlibrary_name: partwise\ntags:\n- partwise\n- structured-prediction\n---",
        f"# {_plain(facts.model.name)}",
        _plain(lead_in_words(facts)),
        *_data(facts),
        *_certificate(facts),
        *_scores(facts),
        *_confusions(facts),
        *_calibration(facts),
        *_features(facts),
        *_wrong(facts),
        *_use(facts),
        *_made(facts),
    ]
    return "\n\n".join(parts) + "\n"


def _plain(text: object) -> str:
    """Return text that Markdown takes as it is."""
    return _ACTIVE.sub(r"\\\1", " ".join(plain_text(text).split()))


def _code(text: object) -> str:
    """Return text as code, with a fence that is longer than any in it."""
    flat = " ".join(plain_text(text).split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    # A bar ends the cell of a table, even within code.
    return f"{fence}{pad}{flat}{pad}{fence}".replace("|", "\\|") if flat else "*nothing*"


def _block(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain_text(text)}\n{fence}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _data(facts: Facts) -> list[str]:
    return ["## Data", *(text for one in facts.data for text in _file(one))]


def _file(data: DataFacts) -> list[str]:
    size = plural(data.n_examples, data.example)
    if data.lengths is not None:
        low, middle, high = data.lengths
        size += (
            f", {plural(data.n_positions, data.position)}; lengths from {low:,} to {high:,}, half "
            f"of them up to {middle:g}"
        )
    names = [*data.labels.items()]
    labels = ", ".join(f"{_code(name)} ({n:,})" for name, n in names[:_MOST_LABELS])
    more = f" and {len(names) - _MOST_LABELS:,} more" if len(names) > _MOST_LABELS else ""
    lines = [
        f"- File for {data.role}: {_code(data.path)}" if data.file
        else f"- Data for {data.role}: {_plain(data.path)}",
        f"- Size: {size}",
        f"- Labels ({len(names):,}): {labels}{more}",
        *(f"- {_plain(text)}" for text in data.oddities),
        *(f"- {_code(text)}" for text in data.quoted),
    ]  # fmt: skip
    return ["\n".join(lines)]


def _certificate(facts: Facts) -> list[str]:
    certificate = facts.model.certificate
    parts = ["## Objective and certificate", *map(_plain, objective_in_words(facts.model))]
    if not certificate.known:
        return [*parts, f"Nothing is certified: {_plain(certificate.verdict)}."]
    state = "Certified" if certificate.converged else "Not certified to the gap asked for"
    taken = (
        f"Training took {certificate.passes:.1f} passes and {certificate.seconds:.1f} seconds; "
        f"{certificate.verdict}."
    )
    return [*parts, f"**{state}:** {_plain(in_words(certificate))}.", _plain(taken)]


def _scores(facts: Facts) -> list[str]:
    parts = ["## Scores"]
    if facts.on_training_data:
        parts.append(
            "These are scores on the training data, which are better than those on new data."
        )
    parts.append(
        f"Intervals: {per_cent(facts.level, 0)} of {facts.resamples:,} resamples of whole "
        f"{facts.data[-1].example}s."
    )
    rows = [
        [_plain(one.title), per_cent(one.score.value), interval(one.score)]
        for one in facts.measures
    ]
    parts.append(_table(["measure", "score", "interval, %"], rows))
    if facts.labels:
        heads = ["part of speech" if facts.by_tag else "label"]
        heads += [
            "precision, %",
            "recall, %",
            "F1, %",
            "F1 interval, %",
            "in the data",
            "predicted",
        ]
        rows = [
            [_code(one.label),
             *(f"{100 * score.value:.1f}" for score in (one.precision, one.recall, one.f1)),
             interval(one.f1), f"{one.support:,}", f"{one.predicted:,}"]
            for one in facts.labels
        ]  # fmt: skip
        parts.append(_table(heads, rows))
    return parts


def _confusions(facts: Facts) -> list[str]:
    if facts.confusions is None or not facts.confusions.frequent:
        return []
    rows = [[_code(a), _code(b), f"{n:,}"] for a, b, n in facts.confusions.frequent]
    return ["## Confusion", _table(["right", "predicted", "times"], rows)]


def _calibration(facts: Facts) -> list[str]:
    if facts.calibration is None:
        return ["## Calibration", no_probabilities(facts)]
    rows = [
        [f"{one.low:.1f} to {one.high:.1f}", f"{one.n:,}", per_cent(one.probability),
         per_cent(one.correct)]
        for one in facts.calibration.bins
    ]  # fmt: skip
    heads = ["probability", plural(2, facts.odds_unit)[2:], "mean probability", "right"]
    text = _plain(calibration_in_words(facts.calibration, facts.odds_unit))
    return ["## Calibration", text, _table(heads, rows)]


def _features(facts: Facts) -> list[str]:
    if not facts.features:
        return []
    parts = ["## Strongest features"]
    for found in facts.features:
        title = "Transitions and the like" if found.label == TRANSITIONS else found.label
        rows = [[_code(row.feature), _code(row.label), f"{row.weight:+.3f}"] for row in found.rows]
        parts += [f"### {_plain(title)}", _table(["feature", "label", "weight"], rows)]
    return parts


def _wrong(facts: Facts) -> list[str]:
    if not facts.wrong:
        return []
    lines = [
        f"- {facts.data[-1].example.capitalize()} {one.number:,}, {_plain(one.sure)}: "
        f"{_code(' '.join(one.quote.words)) if one.quote.words else _label(one.quote)}"
        for one in facts.wrong
    ]
    return [f"## Sure and wrong: {facts.data[-1].example}s", "\n".join(lines)]


def _label(quote: Quote) -> str:
    return f"predicted {_code(quote.found)}, right {_code(quote.right)}"


def _use(facts: Facts) -> list[str]:
    return [
        "## How to use it", _block("\n".join(facts.usage.commands), "sh"),
        _block(facts.usage.program, "python"),
    ]  # fmt: skip


def _made(facts: Facts) -> list[str]:
    model = facts.model
    versions = ", ".join(f"{name} {held}" for name, held in facts.versions.items())
    settings = ", ".join(f"{name}={value!r}" for name, value in model.every_setting.items())
    lines = [
        f"- Command: {_code(facts.command or 'none: from Python')}",
        f"- Model file: {_code(model.path)}, written by partwise {_plain(model.written_by)}"
        if model.path is not None
        else "- Model file: none; the model was given in Python",
        f"- Structure: {_plain(model.structure)}, {plural(model.n_features, 'feature')}, "
        f"{plural(model.n_labels, 'label')}, {plural(model.n_weights, 'weight')}",
        f"- Seed: {'not stored' if facts.seed is None else facts.seed}",
        f"- Versions: {_plain(versions)}",
        f"- Settings: {_code(settings or 'not stored')}",
    ]
    return ["## How it was made", "\n".join(lines)]
