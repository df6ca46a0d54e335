"""``partwise validate``: find all faults of a file at once."""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from partwise.tasks.registry import task_of
from partwise.wording import counted

from .options import checked_format
from .outcome import BAD_DATA, DONE, Outcome

if TYPE_CHECKING:
    from partwise.errors import DataError

__all__ = ["run"]

#: How many faults of a kind are listed.
_MOST_OF_A_KIND: Final = 20
#: How many labels are listed: so many of the most frequent ones, and so many of the rarest.
_MOST_LABELS: Final = 12
_RAREST_LABELS: Final = 4
#: What differs between faults of a kind.
_VARYING: Final = re.compile(r"'[^']*'|0x[0-9a-f]+|[0-9]+")


def run(arguments: argparse.Namespace) -> Outcome:
    """Read a file, and list what is wrong with it."""
    from partwise.formats.validation import likely_slips, validate

    began = time.perf_counter()
    task = task_of(arguments.task)
    chosen = checked_format(arguments, task)
    found = validate(
        arguments.file,
        chosen,
        default=task.format,
        scheme=arguments.scheme or arguments.constraints,
    )
    slips = likely_slips(found.labels)
    record = {
        "input": found.path,
        "task": task.name,
        "format": arguments.format or task.format,
        "scheme": found.scheme,
        "n_examples": found.n_examples,
        "n_faults": len(found.faults),
        "complete": found.complete,
        "faults": [_record(fault) for fault in found.faults],
        "labels": found.labels,
        "likely_slips": slips,
        "seconds": time.perf_counter() - began,
    }
    checked = f", tags by {found.scheme}" if found.scheme else ""
    if not found.faults:
        sound = f"{found.path}: sound; {counted(found.n_examples, 'example')}{checked}"
        return Outcome(record, "\n".join([sound, *_labels(found.labels, slips)]), DONE)
    n = len(found.faults)
    more = "" if found.complete else "; there may be more after it"
    lines = _listed(found.faults)
    if found.readable:
        lines += _slips(found.labels, slips)
    lines.append(f"{found.path}: {counted(n, 'fault')}{checked}{more}")
    return Outcome(record, "\n".join(lines), BAD_DATA)


def _record(fault: DataError) -> dict[str, Any]:
    return {"line": fault.place.line, "column": fault.place.column, "fault": fault.sentence}


def _listed(faults: Sequence[DataError]) -> list[str]:
    """Return a line for each fault, but for the first ones of a kind only.

    Faults are of a kind if they differ in numbers and quoted texts only.
    """
    lines: list[str] = []
    seen: Counter[str] = Counter()
    last: dict[str, DataError] = {}
    for fault in faults:
        kind = _VARYING.sub("", fault.sentence)
        seen[kind] += 1
        last[kind] = fault
        if seen[kind] <= _MOST_OF_A_KIND:
            lines.append(" ".join(str(fault).splitlines()))
    for kind, n in seen.items():
        if n > _MOST_OF_A_KIND:
            text, place = " ".join(last[kind].sentence.splitlines()), last[kind].place
            lines.append(
                f"{place.file}: {n - _MOST_OF_A_KIND:,} more like the last one of this kind, "
                f"up to line {place.line}: {text} (--json lists all)"
            )
    return lines


def _labels(counts: Mapping[str, int], slips: Mapping[str, str]) -> list[str]:
    """Return lines on the labels of a file: how often they occur, and which look misspelled."""
    if not counts:
        return []
    told = [f"{_told(label)} {n:,}" for label, n in counts.items()]
    if len(told) > _MOST_LABELS + _RAREST_LABELS:
        left = counted(len(told) - _MOST_LABELS - _RAREST_LABELS, "label")
        told[_MOST_LABELS:-_RAREST_LABELS] = [f"... {left} between (--json lists all) ..."]
    return [f"{counted(len(counts), 'label')}: {', '.join(told)}", *_slips(counts, slips)]


def _slips(counts: Mapping[str, int], slips: Mapping[str, str]) -> list[str]:
    """Return a line for each label that looks misspelled."""
    lines = []
    for label, meant in slips.items():
        times = {1: "once", 2: "twice"}[counts[label]]
        lines.append(f"the label {_told(label)} occurs {times} only; was {_told(meant)} meant?")
    return lines


def _told(label: str) -> str:
    """Return a label as a list shows it: in quotes if it has no letter, or what cannot be seen."""
    seen = label.isprintable() and label == label.strip()
    return label if seen and any(map(str.isalnum, label)) else repr(label)
