from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from importlib import resources

import pytest

import partwise

LOADED = """
import sys
before = set(sys.modules)
import partwise
new = set(sys.modules) - before
print(*sorted(name for name in new if name.partition(".")[0] not in sys.stdlib_module_names))
"""


def test_import_loads_next_to_nothing() -> None:
    # What makes an import slow is what it loads: not even numpy here.
    command = [sys.executable, "-c", LOADED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["partwise", "partwise.errors"]


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
