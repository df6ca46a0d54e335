from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from importlib import resources

import pytest

import partwise

TIMED = """
import time
start = time.perf_counter()
import partwise
seconds = time.perf_counter() - start
import sys
heavy = {"numba", "sklearn", "scipy", "matplotlib"} & set(sys.modules)
print(seconds, *sorted(heavy))
"""


def timed_import() -> tuple[float, list[str]]:
    done = subprocess.run([sys.executable, "-c", TIMED], capture_output=True, text=True, check=True)
    seconds, *heavy = done.stdout.split()
    return float(seconds), heavy


def test_import_is_quick_and_light() -> None:
    times, heavy = zip(*(timed_import() for _ in range(3)), strict=True)
    assert heavy == ([], [], [])
    assert min(times) < 0.3


@pytest.mark.parametrize("name", partwise.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(partwise, name) is not None
    assert name in dir(partwise)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        partwise.no_such_name  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", partwise.__version__)
    assert importlib.metadata.version("partwise") == partwise.__version__


def test_types_are_shipped() -> None:
    assert resources.files(partwise).joinpath("py.typed").is_file()
