"""The recipe for conda needs what the package needs."""

from __future__ import annotations

import re
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import partwise

ROOT = Path(__file__).resolve().parent.parent
#: What conda calls packages that have another name there.
CONDA = {"matplotlib": "matplotlib-base"}
#: Extras that users install; the others are for those who change partwise.
EXTRAS = ("plots", "qp", "dask", "serve")


def recipe() -> dict[str, Any]:
    text = (ROOT / "conda/recipe.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    context = found["context"]
    for name, value in context.items():
        text = text.replace("${{ " + name + " }}", str(value))
    filled: dict[str, Any] = yaml.safe_load(text)
    return filled


def least(extra: str | None) -> dict[str, Version]:
    """The lowest versions that the package declares, under any version of Python."""
    found: dict[str, Version] = {}
    for line in requires("partwise") or ():
        needed = Requirement(line)
        marker = str(needed.marker or "")
        named = re.search(r'extra == "(\w+)"', marker)
        if (named[1] if named else None) == extra:
            (lower,) = (one.version for one in needed.specifier if one.operator == ">=")
            name = CONDA.get(needed.name, needed.name)
            found[name] = min(found.get(name, Version(lower)), Version(lower))
    return found


def bounds(lines: list[str]) -> dict[str, Version]:
    pairs = [line.split(" >=") for line in lines]
    return {name: Version(lower) for name, lower in pairs}


def test_requirements_are_those_of_the_package() -> None:
    found = recipe()["requirements"]
    run = bounds(found["run"])
    assert run.pop("python") == Version(str(metadata("partwise")["Requires-Python"])[2:])
    assert run == least(None)
    optional: dict[str, Version] = {}
    for extra in EXTRAS:
        optional |= least(extra)
    assert bounds(found["run_constraints"]) == optional
    system = re.search(r"^requires = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert system is not None
    needed = [re.sub("([>=]=)", r" \1", line) for line in re.findall('"(.*?)"', system[1])]
    assert needed == found["host"][2:]


def test_version_and_command() -> None:
    found = recipe()
    assert found["package"] == {"name": "partwise", "version": partwise.__version__}
    script = re.search(r'^partwise = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert script is not None
    assert found["build"]["python"]["entry_points"] == [f"partwise = {script[1]}"]
    assert found["build"]["noarch"] == "python"
    assert found["about"]["summary"] == metadata("partwise")["Summary"]
    assert found["about"]["license"] == metadata("partwise")["License-Expression"]


def test_the_archive_has_no_address_until_there_is_one() -> None:
    source = recipe()["source"]
    assert source == {
        "url": '${{ env.get("PARTWISE_SDIST") }}',
        "sha256": '${{ env.get("PARTWISE_SHA256") }}',
    }
