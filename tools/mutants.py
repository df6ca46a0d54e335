"""Measure the tests: change one small thing in the sources, and see whether a test fails.

    python tools/mutants.py --seed 1 --count 120 --compiled 50 --json mutants.json

`mutation.py` draws the mutants, and `reach.py` chooses the tests for each. Every mutant has its own
copy of the tree, with the compiled code of the clean tree: only functions that contain the change
are compiled again. A mutant is killed if a test fails, crashes or takes too long, and survives if
all tests of its part pass. At the end all tests that killed a mutant are run on the clean tree; a
test that fails there too kills nothing. Mutants that are already in the JSON file are not run
again, so a run can be stopped and continued later. If a change makes no difference to any caller,
write "equivalent" as the verdict in that file, and the reason in place of the killer: such mutants
are counted separately. This needs signals, so it does not work on Windows.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import logging
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Final

import selection
from mutation import Mutant, draw
from reach import Reach

_logger = logging.getLogger("mutants")

ROOT: Final = Path(__file__).resolve().parents[1]
_LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv", ".hypothesis", ".*_cache", "build", "dist", "bench-results"
)
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
_NO_TESTS: Final = 5
_CACHING: Final = ("compiled/jit.py", "compiled/sources.py")
_PRELOADED: Final = (
    "numba", "numba.core.ccallback", "scipy.optimize", "scipy.sparse.linalg", "scipy.special",
    "sklearn.linear_model", "sklearn.model_selection", "sklearn.utils.estimator_checks",
)  # fmt: skip
_VERDICTS: Final = ("killed", "equivalent", "survived")


class Trial:
    """Runs mutants in copies of the tree."""

    def __init__(self, files: int, seconds: float) -> None:
        self.reach = Reach(ROOT)
        self.files = files
        self.seconds = seconds
        self.unsound: set[str] = set()
        self._saving = Lock()
        # The server of processes has imported what all tests import.
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(list(_PRELOADED))

    def run(self, mutant: Mutant) -> dict[str, Any]:
        """Run the tests of one mutant, first those of the nearest file and then the others."""
        begun = time.perf_counter()
        part = self.reach.part(mutant.file, mutant.function, self.files)
        verdict, killer, ran = "survived", "", 0
        with self._copy() as tree:
            source = tree / mutant.file
            text = source.read_text(encoding="utf-8")
            kernels = self._changed(mutant)
            more = {} if kernels is None else _clean(mutant.file, text, kernels)
            source.unlink()  # else the original would change as well
            source.write_text(mutant.apply(text), encoding="utf-8")
            for files in (part[:1], part[1:]):
                tests = [test for file in files for test in file if test not in self.unsound]
                if tests and verdict == "survived":
                    verdict, killer = self._judge(tree, tests, more)
                    ran += len(tests)
            with self._saving:
                self._keep_compiled(tree, mutant, kernels)
        return {
            **dataclasses.asdict(mutant),
            "name": mutant.name,
            "verdict": verdict,
            "killer": killer,
            "part": [tests[0].partition("::")[0] for tests in part],
            "tests": ran,
            "seconds": round(time.perf_counter() - begun, 1),
        }

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        """Make a tree of links to the files of the project, which are only ever replaced."""
        build = ROOT / "build"
        build.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="mutant-", dir=build) as scratch:
            tree = Path(scratch) / "tree"
            with self._saving:
                shutil.copytree(ROOT, tree, ignore=_LEFT_OUT, copy_function=os.link)
            yield tree

    def check(self, tests: set[str]) -> set[str]:
        """Run tests on the clean tree; those that fail kill nothing from now on."""
        with self._copy() as tree:
            _, output = self._run(tree, sorted(tests), ["--maxfail=1000"], {})
        failed = {_plain(name) for name in _FAILED.findall(output)}
        self.unsound |= failed
        return failed

    def _changed(self, mutant: Mutant) -> set[str] | None:
        """List the compiled functions that contain the change; None if any may."""
        if "<module>" in mutant.function or str(mutant.file).endswith(_CACHING):
            return None
        if not mutant.kernel:
            return set()
        return self.reach.compiled_with(mutant.file, mutant.function.partition(".")[0])

    def _judge(self, tree: Path, tests: list[str], more: dict[str, str]) -> tuple[str, str]:
        code, output = self._run(tree, tests, ["-x"], more)
        if code in (0, _NO_TESTS):
            return "survived", ""
        if code == -signal.SIGPROF:
            return "killed", "took too long"
        failed = _FAILED.search(output)
        if failed is None:
            _logger.info("exit code %d\n%s", code, output[-600:])
        return "killed", failed[1] if failed else f"exit code {code}"

    def _run(
        self, tree: Path, tests: list[str], options: list[str], more: dict[str, str]
    ) -> tuple[int | None, str]:
        """Run tests in a new process; return its exit code and output."""
        chosen, output = tree / "chosen-tests", tree / "output-of-tests"
        chosen.write_text("\n".join(tests), encoding="utf-8")
        environment = {
            "PYTHONPATH": str(tree / "src"),
            "CI": "1",  # hypothesis draws the same in every run
            "MUTANTS_SELECT": str(chosen),
            "MUTANTS_SECONDS": str(self.seconds),
            **more,
        }
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        arguments = ["-q", "--tb=line", "-p", "no:cacheprovider", *options, *files]
        process = self._processes.Process(
            target=selection.run, args=(str(tree), arguments, environment, str(output))
        )
        process.start()
        process.join()
        return process.exitcode, output.read_text(encoding="utf-8", errors="replace")

    def _keep_compiled(self, tree: Path, mutant: Mutant, changed: set[str] | None) -> None:
        """Keep code that was compiled from clean sources, for the other mutants."""
        importers = self.reach.importers(mutant.file)
        for made in [*tree.rglob("src/**/*.nbi"), *tree.rglob("src/**/*.nbc")]:
            place = made.relative_to(tree)
            stem, _, rest = place.name.partition(".")
            source = (place.parent.parent / f"{stem}.py").as_posix()
            kernel = f"{source}:{rest.partition('-')[0]}"
            if source in importers if changed is None else kernel in changed:
                continue
            home = ROOT / place
            if not home.exists() or home.stat().st_mtime < made.stat().st_mtime:
                home.parent.mkdir(exist_ok=True)
                made.replace(home)


def _clean(file: str, text: str, kernels: set[str]) -> dict[str, str]:
    found = {
        "file": file,
        "hash": hashlib.sha256(text.encode()).hexdigest(),
        "kernels": sorted(kernels),
    }
    return {"MUTANTS_CLEAN": json.dumps(found)}


def _plain(test: str) -> str:
    """Drop the parameters of a test."""
    return test.partition("[")[0]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn")
    parser.add_argument("--count", type=int, default=120, help="how many, in all")
    parser.add_argument("--compiled", type=int, default=50, help="how many in compiled functions")
    parser.add_argument("--under", default="src", help="the folder whose files are changed")
    parser.add_argument("--kinds", nargs="+", default=(), help="only changes of these kinds")
    parser.add_argument("--json", type=Path, default=Path("mutants.json"), help="the results")
    parser.add_argument("--again", action="store_true", help="run the survivors in it again")
    parser.add_argument("--list", action="store_true", help="only say which mutants are drawn")
    parser.add_argument("--files", type=int, default=4, help="test files for a mutant, at most")
    parser.add_argument("--seconds", type=float, default=120, help="CPU time for a test, at most")
    parser.add_argument("--processes", type=int, default=1, help="mutants that run at a time")
    return parser.parse_args()


def _table(results: list[dict[str, Any]]) -> str:
    """Count the verdicts by package."""
    rows: dict[str, list[int]] = {}
    last = ("(plain Python)", "(compiled)", "(all)")
    for result in results:
        folder = Path(result["file"]).parts[2:-1]
        for name in (folder[0] if folder else "partwise", last[result["kernel"]], last[2]):
            row = rows.setdefault(name, [0] * len(_VERDICTS))
            row[_VERDICTS.index(result["verdict"])] += 1
    ordered = [*sorted(name for name in rows if name not in last), *last]
    lines = [f"{'package':16} {'mutants':>10}" + "".join(f" {name:>10}" for name in _VERDICTS)]
    for name in ordered:
        row = rows.get(name, [0] * len(_VERDICTS))
        lines.append(f"{name:16} {sum(row):10}" + "".join(f" {count:10}" for count in row))
    return "\n".join(lines)


def main() -> int:
    """Run the command."""
    arguments = _arguments()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    # Those in compiled functions come last, since compiling takes longer.
    where = arguments.seed, arguments.under, arguments.kinds
    drawn = [
        *draw(ROOT, arguments.count - arguments.compiled, False, *where),
        *draw(ROOT, arguments.compiled, True, *where),
    ]
    if arguments.list:
        sys.stdout.write("".join(f"{mutant.name}\n" for mutant in drawn))
        return 0
    done: dict[Mutant, dict[str, Any]] = {}
    if arguments.json.exists():
        for result in json.loads(arguments.json.read_text("utf-8")):
            done[Mutant(**{name: result[name] for name in Mutant.__dataclass_fields__})] = result
    waiting = [
        mutant
        for mutant in drawn
        if mutant not in done or (arguments.again and done[mutant]["verdict"] == "survived")
    ]
    trial = Trial(arguments.files, arguments.seconds)
    while waiting:
        with ThreadPoolExecutor(arguments.processes) as pool:
            for mutant, result in zip(waiting, pool.map(trial.run, waiting), strict=True):
                done[mutant] = result
                arguments.json.write_text(json.dumps(list(done.values()), indent=1), "utf-8")
                _logger.info(
                    "%(verdict)s %(name)s, %(killer)s, %(tests)d tests, %(seconds).0f s", result
                )
        killers = {
            mutant: _plain(result["killer"])
            for mutant, result in done.items()
            if result["verdict"] == "killed" and result["killer"].startswith("tests/")
        }
        failed = trial.check(set(killers.values()))
        if failed:
            _logger.warning("on the clean tree fail too: %s", ", ".join(sorted(failed)))
        waiting = [mutant for mutant, killer in killers.items() if killer in failed]
    sys.stdout.write(_table(list(done.values())) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
