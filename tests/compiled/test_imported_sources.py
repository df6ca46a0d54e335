from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from partwise.compiled import sources as imported_sources
from partwise.compiled.sources import stamp


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Write a source into a package of its own, and forget what was read before."""
    root = tmp_path / "partwise"
    monkeypatch.setattr(imported_sources, "ROOT", root)

    def write(name: str, text: str) -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        imported_sources._content.cache_clear()
        imported_sources._imports.cache_clear()
        return path

    write("__init__.py", "from .other import x\n")
    write("other.py", "x = 1\n")
    write("leaf.py", "y = 1\n")
    write("structures/__init__.py", "")
    write("structures/kernels.py", "from ..leaf import y\n")
    write("structures/search.py", "z = 1\n")
    return write


@pytest.mark.parametrize(
    ("statement", "reached"),
    [
        ("from .leaf import y", {"leaf"}),
        ("from partwise.leaf import y", {"leaf"}),
        ("import partwise.leaf", {"leaf"}),
        ("from .structures.kernels import (\n    a,\n    b,\n)", {"leaf", "structures/kernels"}),
        ("from .structures import (\n    kernels,\n    other,\n)", {"leaf", "structures/kernels"}),
        ("if True:\n    from . import structures", set()),
        ("import numpy", set()),
        ("import partwise", {"leaf", "other", "structures/kernels", "structures/search"}),
        ("from partwise import DataError", set()),
        ("from .missing import nothing", set()),
    ],
)
def test_a_stamp_changes_with_what_is_imported(
    change: Callable[[str, str], Path], statement: str, reached: set[str]
) -> None:
    top = change("top.py", statement + "\n")
    for name in ("leaf", "other", "structures/kernels", "structures/search"):
        before = stamp(top)
        path = top.parent / f"{name}.py"
        text = path.read_text()
        change(f"{name}.py", text + "# changed\n")
        assert (stamp(top) != before) == (name in reached), name
        change(f"{name}.py", text)
        assert stamp(top) == before


def test_a_file_outside_the_package(change: Callable[[str, str], Path], tmp_path: Path) -> None:
    change("top.py", "")
    own = tmp_path / "own.py"
    own.write_text("from .leaf import y\nfrom partwise.structures import kernels\n")
    before = stamp(own)
    change("leaf.py", "y = 2\n")
    assert stamp(own) != before


def test_circles_end(change: Callable[[str, str], Path]) -> None:
    change("one.py", "from .two import b\n")
    top = change("two.py", "from .one import a\n")
    assert len(stamp(top)) == 64
