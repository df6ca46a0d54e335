"""Train on clusters of this machine: ``python -m benchmarks.cluster PART ... --out DIR``.

The parts are

hashes   the SHA-256 of the weights with 1, 2 and 4 workers, for the log loss and the hinge
kills    workers killed by SIGKILL, at random moments and while a round runs, with a nanny and
         without; and a scheduler that is killed, after which the fit goes on elsewhere
seconds  the seconds of 1 and 2 workers beside one process, and how much of them is waiting
path     a path of 12 values of l2 on 1 and 2 workers

Each prints a Markdown table and writes its results as JSON. ``--examples N`` takes only the first
examples of each file. In the folder ``PARTWISE_DATA`` it reads ``conll2000/train.txt.gz``,
``conllx_es_cast3lb/train.conll.gz`` and ``ptb_sample/wsj_00.mrg.gz``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .announced import brackets, columns, dependencies
from .cluster_processes import Killer, Processes, kill, processes
from .limits import table

#: The data of each task, and the gap that is trained to.
CASES: dict[str, tuple[Callable[[int], str], int, float]] = {
    "tag": (columns, 8936, 1e-3),
    "parse": (dependencies, 3306, 1e-3),
    "brackets": (brackets, 1000, 1e-3),
}
#: The gap for the hinge, which blocks approach slowly.
HINGE = 5e-2
#: How often a kill is tried.
_ATTEMPTS = 5


def estimator(name: str, **how: Any) -> Any:
    """Return the estimator of a task on a cluster."""
    from partwise import dask

    kinds = {
        "tag": dask.DaskSequenceTagger,
        "parse": dask.DaskDependencyParser,
        "brackets": dask.DaskConstituencyParser,
    }
    return kinds[name](**how)


def weights_hash(made: Any) -> str:
    """Return the SHA-256 of the weights."""
    return hashlib.sha256(made.model_.weights.tobytes()).hexdigest()


def written(folder: Path, name: str, examples: int | None) -> str:
    """Write the data of a task to a file that workers can read."""
    make, n, _ = CASES[name]
    path = folder / f"{name}.txt"
    if not path.exists():
        path.write_text(make(examples or n), encoding="utf-8")
    return str(path)


@contextlib.contextmanager
def clients(folder: Path, workers: int, nanny: bool = False) -> Iterator[tuple[Processes, Any]]:
    """Run a cluster, and connect to it."""
    import distributed

    client: Any = distributed.Client
    with processes(folder, workers, nanny) as cluster:
        made = client(cluster.address, set_as_default=False)
        try:
            made.wait_for_workers(workers, timeout=120)
            yield cluster, made
        finally:
            made.close(timeout=2)


def fitted(made: Any, path: str) -> float:
    """Fit, and return the seconds."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(path)
    return time.perf_counter() - began


def hashes(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Compare the weights of 1, 2 and 4 workers."""
    found = []
    for workers in (1, 2, 4):
        with clients(folder, workers) as (_, client):
            for name in arguments.tasks:
                for loss in arguments.losses:
                    tol = CASES[name][2] if loss == "log" else HINGE
                    how = {"loss": loss, "tol": tol, "max_passes": arguments.max_passes}
                    made = estimator(name, **how, client=client)
                    seconds = fitted(made, written(folder, name, arguments.examples))
                    found.append({
                        "task": name, "loss": loss, "workers": workers,
                        "sha256": weights_hash(made), "gap": made.certificate_.relative_gap,
                        "passes": made.certificate_.passes, "seconds": seconds,
                    })  # fmt: skip
                    tell(found[-1])
    return found


def show_hashes(rows: list[dict[str, Any]]) -> str:
    """Return the table of the hashes."""
    lines = []
    for name, loss in dict.fromkeys((row["task"], row["loss"]) for row in rows):
        mine = [row for row in rows if (row["task"], row["loss"]) == (name, loss)]
        same = "yes" if len({row["sha256"] for row in mine}) == 1 else "NO"
        some = mine[0]
        lines.append([
            name, loss, some["sha256"][:16], same, f"{some['gap']:.1e}", f"{some['passes']:.1f}",
        ])  # fmt: skip
    return table(["task", "loss", "SHA-256", "same with 1, 2, 4 workers", "gap", "passes"], lines)


def kills(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Kill workers, and a scheduler."""
    rng, found, name = random.Random(arguments.seed), [], "tag"
    path = written(folder, name, arguments.examples)
    how = {"tol": CASES[name][2], "max_passes": arguments.max_passes}
    for nanny in (True, False):
        with clients(folder, 2, nanny) as (cluster, client):
            fitted(estimator(name, **how, client=client), path)  # compiles
            made = estimator(name, **how, client=client)
            usual = fitted(made, path)
            right = weights_hash(made)
            rounds = 2 * sum(one.calls for one in made.costs_)
            for k in range(arguments.kills):
                client.wait_for_workers(2, timeout=120)
                inside = k % 2 == 1
                for _ in range(_ATTEMPTS):  # a fit may end before its kill
                    killer = Killer(cluster, client, rng, k % 4 < 2)
                    moment = (
                        killer.inside(rng.randrange(2, rounds))
                        if inside
                        else killer.after(rng.uniform(0.0, 0.9 * usual))
                    )
                    made = estimator(name, **how, client=client)
                    with moment:
                        seconds = fitted(made, path)
                    if killer.killed:
                        break
                if killer.killed and not nanny and not killer.replaced:
                    cluster.workers.append(cluster.add_worker())
                found.append({
                    "what": "worker", "nanny": nanny, "inside": inside, "killed": killer.killed,
                    "same": weights_hash(made) == right, "replayed": made.replayed_,
                    "rounds": rounds // 2, "seconds": seconds, "usual": usual,
                })  # fmt: skip
                tell(found[-1])
    found.append(scheduler_killed(folder, path, how, right, usual))
    return found


def scheduler_killed(
    folder: Path, path: str, how: dict[str, Any], right: str, usual: float
) -> dict[str, Any]:
    """Kill a scheduler, and go on from the checkpoint on another cluster."""
    from partwise.errors import ClusterError
    from partwise.training import Checkpoint

    saved, said = folder / "saved", ""
    saved.unlink(missing_ok=True)
    every = usual / 60.0 / 8.0
    with clients(folder, 2) as (cluster, client):
        watcher = threading.Thread(target=_kill_once_saved, args=(cluster, saved, 0.2 * usual))
        watcher.start()
        try:
            fitted(
                estimator("tag", **how, client=client, checkpoint=Checkpoint(saved, every)), path
            )
        except ClusterError as error:
            said = str(error)
        watcher.join()
    with clients(folder, 2) as (_, client):
        again = Checkpoint(saved, every, resume=True)
        made = estimator("tag", **how, client=client, checkpoint=again)
        seconds = fitted(made, path)
    row = {
        "what": "scheduler", "nanny": False, "inside": False, "killed": bool(said), "said": said,
        "same": weights_hash(made) == right, "replayed": made.replayed_, "rounds": 0,
        "seconds": seconds, "usual": usual,
    }  # fmt: skip
    tell(row)
    return row


def _kill_once_saved(cluster: Processes, saved: Path, later: float) -> None:
    """Kill the scheduler some seconds after there is a checkpoint."""
    while not saved.exists():
        time.sleep(0.1)
    time.sleep(later)
    kill(cluster.scheduler.pid)


def show_kills(rows: list[dict[str, Any]]) -> str:
    """Return the table of the kills."""
    lines = [
        [
            row["what"], "yes" if row["nanny"] else "no", "yes" if row["inside"] else "no",
            "yes" if row["killed"] else "no", "yes" if row["same"] else "NO",
            f"{row['replayed']} of {row['rounds']}", f"{row['seconds']:.1f}", f"{row['usual']:.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = [
        "killed", "nanny", "inside a round", "hit a fit", "same weights", "rounds replayed",
        "seconds", "undisturbed",
    ]  # fmt: skip
    return table(header, lines)


def seconds(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Time 1 and 2 workers beside one process with one thread and the automatic solver."""
    from partwise.tasks.registry import task_of

    found = []
    for name in arguments.tasks:
        tol = CASES[name][2]
        path, task = written(folder, name, arguments.examples), task_of(name)
        for again in (True, False):  # the first fit compiles
            began = time.perf_counter()
            given = task.defaults("train")
            trainer = task.make({"tol": tol}, given)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trainer._train(task.read(path, given))
            alone = time.perf_counter() - began
            if again and arguments.quick:
                break
        certificate = trainer.model_.certificate
        found.append({
            "task": name, "workers": 0, "seconds": alone, "passes": certificate.passes,
            "gap": certificate.relative_gap, "waiting": 0.0, "calls": 0, "bytes": 0,
        })  # fmt: skip
        tell(found[-1])
        for workers in (1, 2):
            with clients(folder, workers) as (_, client):
                for exchanges in arguments.exchanges or [None]:
                    how = {"tol": tol, "exchanges": exchanges, "client": client}
                    if not arguments.quick:
                        fitted(estimator(name, **{**how, "max_passes": 1}), path)  # compiles
                    made = estimator(name, **how)
                    took, costs = fitted(made, path), made.costs_
                    found.append({
                        "task": name, "workers": workers, "exchanges": exchanges, "seconds": took,
                        "passes": made.certificate_.passes, "gap": made.certificate_.relative_gap,
                        "waiting": sum(one.waiting for one in costs),
                        "computing": sum(one.computing for one in costs),
                        "calls": sum(one.calls for one in costs),
                        "bytes": sum(one.sent + one.received for one in costs),
                    })  # fmt: skip
                    tell(found[-1])
    return found


def show_seconds(rows: list[dict[str, Any]]) -> str:
    """Return the table of the seconds."""
    lines = [
        [
            row["task"], str(row["workers"] or "one process"), str(row.get("exchanges") or "-"),
            f"{row['seconds']:.1f}", f"{row['passes']:.1f}", f"{row['gap']:.1e}", str(row["calls"]),
            f"{row['waiting'] / row['seconds']:.0%}", f"{row['bytes'] / 1e6:.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = [
        "task", "workers", "exchanges", "seconds", "passes", "gap", "calls", "waiting", "MB",
    ]  # fmt: skip
    return table(header, lines)


def path(arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Time a path of 12 values on 1 and 2 workers, and in this process."""
    from partwise.dask import parallel_paths
    from partwise.tasks.descent import descend_grid
    from partwise.tasks.registry import task_of
    from partwise.training.path_table import Grid

    task, found = task_of("tag"), []
    given = task.defaults("train")
    file = written(folder, "tag", arguments.examples)
    source = task.read(file, given)
    cut = len(source) * 9 // 10
    train, dev = source.take(range(cut)), source.take(range(cut, len(source)))
    grid = Grid(l2_max=100.0, factor=0.6, steps=12)

    def walk() -> tuple[float, Any]:
        trainer = task.make({"tol": 1e-3}, given)

        def score(model: Any) -> float:
            metrics, _ = task.score(model, dev, task.defaults("evaluate"), 1)
            return float(metrics[next(name for name in task.headline if name in metrics)])

        began = time.perf_counter()
        result = descend_grid(trainer, grid, train, None, score)
        return time.perf_counter() - began, result.best

    for workers in (0, 1, 2):
        if workers:
            with clients(folder, workers) as (_, client), parallel_paths(client):
                client.run(_warmed, file)
                took, best = walk()
        else:
            _warmed(file)
            took, best = walk()
        found.append({
            "workers": workers, "seconds": took, "l2": best.model.l2,
            "passes": sum(row["passes"] for row in best.rows),
            "gaps": max(row["relative_gap"] for row in best.rows), "rows": best.rows,
            "sha256": hashlib.sha256(best.model.weights.tobytes()).hexdigest(),
        })  # fmt: skip
        tell(found[-1])
    return found


def _warmed(file: str) -> None:
    """Load the compiled code, which every fit needs."""
    from partwise.tasks.registry import task_of

    task = task_of("tag")
    given = task.defaults("train")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task.make({"tol": 1e-3, "max_passes": 2.0}, given)._train(task.read(file, given))


def show_path(rows: list[dict[str, Any]]) -> str:
    """Return the table of the path."""
    one = next(row["seconds"] for row in rows if row["workers"] == 1)
    lines = [
        [
            str(row["workers"] or "one process, one path"), f"{row['seconds']:.1f}",
            f"{one / row['seconds']:.2f}", f"{row['passes']:.1f}", f"{row['l2']:g}",
            f"{row['gaps']:.1e}", row["sha256"][:16],
        ]
        for row in rows
    ]  # fmt: skip
    header = [
        "workers", "seconds", "speed-up over one worker", "passes", "best l2", "largest gap",
        "SHA-256",
    ]  # fmt: skip
    return table(header, lines)


def tell(row: dict[str, Any]) -> None:
    """Say on stderr what was found."""
    short = {name: value for name, value in row.items() if name != "rows"}
    sys.stderr.write(f"{short}\n")


PARTS = {
    "hashes": (hashes, show_hashes),
    "kills": (kills, show_kills),
    "seconds": (seconds, show_seconds),
    "path": (path, show_path),
}


def main(argv: list[str] | None = None) -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"{', '.join(PARTS)}")
    add("--out", type=Path, required=True, metavar="DIR", help="where to write tables and JSON")
    add("--examples", type=int, metavar="N", help="only the first N examples of each file")
    add("--tasks", nargs="*", choices=list(CASES), default=list(CASES), help="for hashes, seconds")
    losses = ("log", "hinge")
    add("--losses", nargs="*", choices=losses, default=list(losses), help="for hashes")
    add("--max-passes", type=float, default=1000.0, metavar="N", help="for hashes and kills")
    add("--kills", type=int, default=10, metavar="N", help="how many kills, half within rounds")
    add("--exchanges", type=int, nargs="*", metavar="S", help="for seconds: exchanges per pass")
    add("--quick", action="store_true", help="for seconds: do not compile beforehand")
    add("--seed", type=int, default=0, metavar="N", help="of the kills")
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.parts or list(PARTS):
            measure, show = PARTS[name]
            rows = measure(arguments, Path(folder))
            (arguments.out / f"cluster-{name}.json").write_text(json.dumps(rows, indent=1))
            text = show(rows)
            (arguments.out / f"cluster-{name}.md").write_text(text)
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
