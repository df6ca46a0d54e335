"""The command line: ``python -m benchmarks --tasks mnist --contestants partwise sklearn``."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from .contestants import CONTESTANTS, select_contestants
from .data import MissingDataError
from .machine import describe_machine
from .report import write_report
from .runner import Run, run_task
from .tasks import TASKS, select_tasks


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Train partwise and its peers on the same problems and compare them.",
        epilog=f"Tasks: {', '.join(task.name for task in TASKS)}. "
        f"Contestants: {', '.join(contestant.name for contestant in CONTESTANTS)}.",
    )
    parser.add_argument("--tasks", nargs="+", default=[], help="names or groups (default: all)")
    parser.add_argument(
        "--contestants", nargs="+", default=[], help="names or beginnings of names (default: all)"
    )
    parser.add_argument("--repeat", type=int, default=1, help="how often each runs (default: 1)")
    parser.add_argument(
        "--budget", type=float, default=600.0, help="CPU seconds for one training (default: 600)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("bench-results"), help="folder to write to"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmarks, and write the report again after each task."""
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    logger = logging.getLogger("benchmarks")
    try:
        tasks = select_tasks(options.tasks)
        select_contestants(options.contestants, kind="")
    except KeyError as error:
        logger.error("%s", error.args[0])
        return 2
    runs: list[Run] = []
    skipped: dict[str, str] = {}
    machine = describe_machine({package for c in CONTESTANTS for package in c.packages})
    for task in tasks:
        try:
            task.require_data()
        except MissingDataError as error:
            skipped[task.name] = str(error)
            logger.warning("%s is skipped: %s", task.name, error)
            continue
        contestants = []
        for contestant in select_contestants(options.contestants, task.kind):
            missing = ", ".join(contestant.missing())
            if missing:
                logger.warning("%s is left out: it needs %s", contestant.name, missing)
            else:
                contestants.append(contestant)
        runs += run_task(task, contestants, options.repeat, options.budget)
        write_report(options.out, runs, machine, skipped, options.budget)
    write_report(options.out, runs, machine, skipped, options.budget)
    logger.info("the report is in %s", options.out)
    return 1 if any(run.status == "failed" for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
