"""A plugin of pytest for `mutants.py`: runs the tests that a file lists, in the order of the file.

``MUTANTS_SELECT`` names the file. On each line is the id of a test, without its parameters.
``MUTANTS_SECONDS`` is the CPU time that a test may take: it does not depend on how busy the machine
is, and the signal that ends the process also ends a loop in compiled code. ``MUTANTS_CLEAN`` is a
JSON object: the file that was changed, the hash of its text before, and the compiled functions that
contain the change; all others are loaded from the cache as if nothing had changed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that are listed."""
    lines = Path(os.environ["MUTANTS_SELECT"]).read_text(encoding="utf-8").splitlines()
    place = {name: number for number, name in enumerate(lines)}

    def rank(item: pytest.Item) -> int:
        return place.get(item.nodeid.partition("[")[0], len(place))

    config.hook.pytest_deselected(items=[item for item in items if rank(item) == len(place)])
    items[:] = sorted((item for item in items if rank(item) < len(place)), key=rank)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """End the process when a test takes too long."""
    signal.setitimer(signal.ITIMER_PROF, float(os.environ["MUTANTS_SECONDS"]))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _keep_cache(tree: str) -> None:
    """Let compiled functions without the change have the cache stamps of the clean tree."""
    from partwise.compiled import jit
    from partwise.compiled import sources as imported_sources

    clean = json.loads(os.environ["MUTANTS_CLEAN"])
    content: Any = imported_sources._content
    enable: Callable[..., None] = jit._enable_caching
    changed = False

    def stamped(path: Path) -> str:
        same = path == Path(tree, clean["file"]) and not changed
        return str(clean["hash"] if same else content(path))

    def enabled(compiled: Any, function: Any) -> None:
        nonlocal changed
        file = Path(function.__code__.co_filename)
        if file.is_relative_to(tree):
            name = f"{file.relative_to(tree).as_posix()}:{function.__name__}"
            changed = name in clean["kernels"]
        enable(compiled, function)
        changed = False

    for module, name, new in (
        (imported_sources, "_content", stamped),
        (jit, "_enable_caching", enabled),
    ):
        setattr(module, name, new)


def run(tree: str, arguments: list[str], environment: dict[str, str], output: str) -> None:
    """Run pytest in a tree, in this process, and end the process with its exit code."""
    os.chdir(tree)
    os.environ.update(environment)
    sys.path[:0] = [tree, *environment["PYTHONPATH"].split(os.pathsep)]
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if "MUTANTS_CLEAN" in environment:
        _keep_cache(tree)
    sys.exit(int(pytest.main(arguments, plugins=[sys.modules[__name__]])))
