"""The report: results.json with everything, and results.md with the tables."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .results import EPSILONS, Spread, Summary, best_objective, summarise
from .runner import Run
from .tasks import task_named


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def tell(line: str) -> None:
    """Write a line to stderr, in addition to the report."""
    sys.stderr.write(line + "\n")


def results_json(
    runs: list[Run], machine: dict[str, str], skipped: dict[str, str], budget: float
) -> dict[str, Any]:
    """Return everything that was measured, as plain data."""
    tasks = {}
    for task, of_task in by_task(runs).items():
        tasks[task] = {
            "title": task_named(task).title,
            "best_objective": best_objective(of_task),
            "summaries": [asdict(summary) for summary in summarise(of_task)],
            "runs": [run.as_dict() for run in of_task],
        }
    return {"machine": machine, "budget": budget, "skipped": skipped, "tasks": tasks}


def by_task(runs: list[Run]) -> dict[str, list[Run]]:
    """Return the runs of each task, in the order of first appearance."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.task, []).append(run)
    return groups


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _spread(value: Spread | None, digits: int = 2, missing: str = "-") -> str:
    if value is None:
        return missing
    text = f"{value.median:.{digits}f}"
    if value.repeats > 1:
        text += f" ({value.low:.{digits}f} to {value.high:.{digits}f})"
    return text


def _label(summary: Summary) -> str:
    return summary.contestant + (" (cold)" if summary.start == "cold" else "")


def _times_table(summaries: list[Summary]) -> list[str]:
    header = [
        "contestant",
        *(f"{eps:.0e}" for eps in EPSILONS),
        "all CPU s",
        "all wall s",
        "status",
    ]
    rows = [
        [
            _label(s),
            *(_spread(s.cpu_to[eps]) for eps in EPSILONS),
            _spread(s.cpu),
            _spread(s.wall),
            s.status,
        ]
        for s in summaries
    ]
    return _table(header, rows)


def _models_table(summaries: list[Summary]) -> list[str]:
    score_name = next((s.score_name for s in summaries if s.score_name), "score")
    header = ["contestant", "objective", "above best", "weights", "not 0", f"test {score_name} %"]
    header += ["peak MB", "MB after loading", "notes"]
    rows = []
    for s in summaries:
        rows.append(
            [
                _label(s),
                "-" if s.objective is None else f"{s.objective:.4f}",
                "-" if s.excess is None else f"{s.excess:.1e}",
                "-" if s.weights is None else f"{s.weights:,}",
                "-" if s.nonzero is None else f"{s.nonzero:,}",
                "-" if s.score is None else f"{s.score:.2f}",
                _spread(s.peak_mb, 0),
                _spread(s.loaded_mb, 0),
                "; ".join(s.notes + _default_stop(s)).replace("|", "/"),
            ]
        )
    return _table(header, rows)


def _certified_table(summaries: list[Summary]) -> list[str]:
    rows = [
        [
            _label(s),
            f"{tol:.0e}",
            *(_spread(value) for value in (found.cpu, found.wall)),
            _spread(found.passes, 1),
            f"{found.relative_gap:.1e}",
            f"{found.nonzero:,}",
        ]
        for s in summaries
        for tol, found in s.certified.items()
    ]
    if not rows:
        return []
    header = ["contestant", "tol", "CPU s", "wall s", "passes", "certified gap", "not 0"]
    return [
        "Separate runs that end when the trainer has proved its own relative gap to be at most "
        "tol, with all that the proof takes:",
        "",
        *_table(header, rows),
        "",
    ]


def _default_stop(summary: Summary) -> list[str]:
    stop = summary.default_stop
    if not stop:
        return []
    return [
        f"its default settings stop at iteration {stop['iteration']:.0f} after "
        f"{stop['cpu']:.1f} CPU s with objective {stop['objective']:.4f} and "
        f"{stop['nonzero']:,.0f} weights that are not 0"
    ]


def _starts_table(summaries: list[Summary]) -> list[str]:
    header = ["contestant", "start", "load data", "import", "prepare", "compile or load code"]
    rows = [
        [
            s.contestant,
            s.start if s.compilation is not None else "-",
            *(_spread(s.stages.get(stage)) for stage in ("load", "import", "prepare")),
            _spread(s.compilation),
        ]
        for s in summaries
    ]
    return _table(header, rows)


def results_markdown(
    runs: list[Run], machine: dict[str, str], skipped: dict[str, str], budget: float
) -> str:
    """Return the tables."""
    lines = [
        "# Benchmark results",
        "",
        "Objective: P(w) = l2/2 |w|^2 + l1 |w|_1 + sum of the losses. A time is the CPU time of "
        "training, in seconds, until P(w) is at most (1 + eps) times the best value that any "
        "contestant reached; `-` means not reached. One thread. Contestants that report nothing "
        "while they train are run from scratch with ever tighter settings, so their times are "
        f"rounded up to the next setting. A single training may take {budget:g} CPU seconds. "
        "Several repeats: the median, then the least and the greatest.",
        "",
        *_table(["machine", ""], [[key, value] for key, value in machine.items()]),
    ]
    for task, of_task in by_task(runs).items():
        summaries = summarise(of_task)
        best = best_objective(of_task)
        lines += ["", f"## {task}: {task_named(task).title}", ""]
        lines += [f"Best objective: {best:.6f}" if best is not None else "No contestant finished."]
        lines += ["", f"![{task}]({task}.png)", ""] if best is not None else [""]
        trained = [s for s in summaries if s.start != "cold" or s.objective is not None]
        lines += [*_times_table(trained), "", *_models_table(trained), ""]
        lines += _certified_table(trained)
        lines += [
            "Seconds outside the training clock (CPU; compilation: wall, a part of the others; "
            "cold: nothing was compiled before):"
        ]
        lines += ["", *_starts_table(summaries)]
    if skipped:
        lines += ["", "## Skipped", ""]
        lines += [f"- {task}: {reason}" for task, reason in skipped.items()]
    return "\n".join(lines) + "\n"


def write_report(
    folder: Path,
    runs: list[Run],
    machine: dict[str, str],
    skipped: dict[str, str],
    budget: float,
) -> None:
    """Write results.json, results.md and one PNG per task."""
    from .curves import draw_curves

    folder.mkdir(parents=True, exist_ok=True)
    everything = results_json(runs, machine, skipped, budget)
    write_text(folder / "results.json", json.dumps(everything, indent=1) + "\n")
    write_text(folder / "results.md", results_markdown(runs, machine, skipped, budget))
    for task, of_task in by_task(runs).items():
        if best_objective(of_task) is not None:
            draw_curves(folder / f"{task}.png", task_named(task).title, of_task)
