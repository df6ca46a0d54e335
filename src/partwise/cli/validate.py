"""``partwise validate``: find all faults of a file at once."""

from __future__ import annotations

import argparse
import time

from partwise.tasks.registry import task_of

from .options import checked_format
from .outcome import BAD_DATA, DONE, Outcome

__all__ = ["run"]


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
    lines = [" ".join(str(fault).splitlines()) for fault in found.faults]
    lines.append(f"{found.path}: {n:,} fault{'s' if n > 1 else ''}{checked}{more}")
    return Outcome(record, "\n".join(lines), BAD_DATA)
