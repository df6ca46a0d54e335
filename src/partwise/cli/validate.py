"""``partwise validate``: find all faults of a file at once."""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from partwise.tasks.registry import task_of

from .options import checked_format
from .outcome import BAD_DATA, DONE, Outcome

if TYPE_CHECKING:
    from partwise.formats.faults import Fault

__all__ = ["run"]

#: How many faults of a kind are listed.
_MOST_OF_A_KIND: Final = 20
#: What differs between faults of a kind.
_VARYING: Final = re.compile(r"'[^']*'|0x[0-9a-f]+|[0-9]+")


def run(arguments: argparse.Namespace) -> Outcome:
    """Read a file, and list what is wrong with it."""
    from partwise.formats.validate import validate

    began = time.perf_counter()
    task = task_of(arguments.task)
    chosen = checked_format(arguments, task)
    found = validate(
        arguments.file,
        chosen,
        default=task.format,
        scheme=arguments.scheme or arguments.constraints,
    )
    record = {
        "input": found.path,
        "task": task.name,
        "format": arguments.format or task.format,
        "scheme": found.scheme,
        "n_examples": found.n_examples,
        "n_faults": len(found.faults),
        "complete": found.complete,
        "faults": [fault.record() for fault in found.faults],
        "seconds": time.perf_counter() - began,
    }
    checked = f", tags by {found.scheme}" if found.scheme else ""
    if not found.faults:
        text = f"{found.path}: sound; {found.n_examples:,} examples{checked}"
        return Outcome(record, text, DONE)
    n = len(found.faults)
    more = "" if found.complete else "; there may be more after it"
    lines = _listed(found.faults)
    lines.append(f"{found.path}: {n:,} fault{'s' if n > 1 else ''}{checked}{more}")
    return Outcome(record, "\n".join(lines), BAD_DATA)


def _listed(faults: Sequence[Fault]) -> list[str]:
    """Return a line for each fault, but for the first ones of a kind only.

    Faults are of a kind if they differ in numbers and quoted texts only.
    """
    lines: list[str] = []
    seen: Counter[str] = Counter()
    last: dict[str, Fault] = {}
    for fault in faults:
        kind = _VARYING.sub("", fault.text)
        seen[kind] += 1
        last[kind] = fault
        if seen[kind] <= _MOST_OF_A_KIND:
            lines.append(" ".join(str(fault).splitlines()))
    for kind, n in seen.items():
        if n > _MOST_OF_A_KIND:
            text = " ".join(last[kind].text.splitlines())
            lines.append(
                f"{last[kind].path}: {n - _MOST_OF_A_KIND:,} more like the last one of this kind, "
                f"up to line {last[kind].line}: {text} (--json lists all)"
            )
    return lines
