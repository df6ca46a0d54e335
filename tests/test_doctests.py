from __future__ import annotations

import doctest
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import partwise

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from public_names import APART, FURTHER, SECTIONS, public_names, public_object  # noqa: E402

#: Modules, and packages of modules, that need what not everybody has.
NEEDED = {
    "partwise.dask": ("distributed",),
    "partwise.formats.frames": ("pandas", "pyarrow"),
    "partwise.plots": ("matplotlib",),
    "partwise.serve": ("h11",),
}
#: What exports all public names of a package, or those of a module.
DOORS = (
    "partwise", "partwise.formats", "partwise.metrics", "partwise.training", "partwise.datasets",
    "partwise.explain",
    "partwise.report", "partwise.pictures", "partwise.plots", "partwise.serve", "partwise.dask",
    "partwise.compat.sklearn_crfsuite", "partwise.compat.sklearn_crfsuite.metrics",
    "partwise.compat.pycrfsuite", "partwise.problem", "partwise.testing",
)  # fmt: skip
OPTIONS = doctest.ELLIPSIS


def module_names() -> list[str]:
    """The modules whose sources have an example."""
    source = Path(partwise.__file__).parent
    found = [path for path in sorted(source.rglob("*.py")) if ">>> " in path.read_text("utf-8")]
    names = [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in found]
    return [name.removesuffix(".__init__") for name in names]


MODULES = module_names()


def need(name: str) -> None:
    """Skip the test if a module, or the package that it is in, needs what is not installed."""
    wanted = NEEDED.get(name, NEEDED.get(name.rpartition(".")[0], ()))
    missing = [package for package in wanted if find_spec(package) is None]
    if missing:
        pytest.skip(f"the examples need {' and '.join(missing)}")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(name)
    # Some of them write files.
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0, "see the output for what was expected"


def test_no_example_is_skipped() -> None:
    source = Path(partwise.__file__).parent
    for path in source.rglob("*.py"):
        assert "doctest: +SKIP" not in path.read_text("utf-8"), path


def has_example(found: Any) -> bool:
    return bool(doctest.DocTestParser().get_examples(found.__doc__ or ""))


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_an_example(name: str) -> None:
    need(name.rpartition(".")[0])
    found = public_object(name)
    # A class without a docstring has that of object, or of the class that it derives from.
    assert has_example(found), f"{name} needs a short example in its docstring"
    assert found.__module__ in MODULES


def test_a_name_without_an_example_is_noticed() -> None:
    assert not has_example(partwise.errors.FormatError)


def test_every_public_name_is_in_the_reference() -> None:
    listed = {name for section in (*SECTIONS, FURTHER) for name in section.names}
    for module in DOORS:
        public = importlib.import_module(module).__all__
        assert {f"{module}.{name}" for name in public} - listed <= set(APART)
    for name in FURTHER.names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__
