from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

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
    assert done.stdout.split() == [
        "partwise", "partwise.errors", "partwise.lazy",
    ]  # fmt: skip


@pytest.mark.parametrize("name", partwise.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(partwise, name) is not None
    assert name in dir(partwise)


def test_a_parameter_has_one_default_in_all_estimators() -> None:
    defaults: dict[str, set[str]] = {}
    for name in partwise.__all__:
        if hasattr(getattr(partwise, name), "get_params"):
            for parameter, value in getattr(partwise, name)().get_params().items():
                defaults.setdefault(parameter, set()).add(repr(value))
    # A path of many models is trained less exactly than one of them.
    assert defaults.pop("tol") == {"0.0001", "0.001"}
    # The matrix of a kernel always has a limit.
    assert defaults.pop("memory_limit") == {"None", "4096"}
    assert {name: found for name, found in defaults.items() if len(found) > 1} == {}
    assert (defaults["max_passes"], defaults["l2"]) == ({"1000"}, {"1.0"})


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        partwise.no_such_name  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", partwise.__version__)
    assert importlib.metadata.version("partwise") == partwise.__version__


def test_types_are_shipped() -> None:
    assert resources.files(partwise).joinpath("py.typed").is_file()


#: The structures whose compiled code is loaded.
STRUCTURES = """
import sys
names = (name.split(".") for name in sys.modules if name.startswith("partwise.structures."))
compiled = {"multiclass", "oracles", "scaled", "projective_oracles", "spanning_oracles"}
print(sorted({path[2] for path in names if compiled & set(path)}))
"""
FITTED = """
from partwise import SequenceTagger

X, y = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}]], [["A", "B"], ["B"]]
tagger = SequenceTagger().fit(X, y)
assert tagger.predict(X) == y
tagger.predict_marginals(X)
"""
COMMANDS = """
from pathlib import Path

from partwise.cli import main

Path("train.txt").write_text("a A\\nb B\\n\\nb B\\n")
assert main(["train", "train.txt", "--task", "tag", "--model", "m", "--quiet"]) == 0
assert main(["predict", "m", "train.txt", "--output", "out"]) == 0
assert main(["evaluate", "m", "train.txt", "--quiet"]) == 0
"""
NAMES = """
from partwise import (
    DependencyParser, DependencyParserCV, KernelClassifier, KernelTagger, LinearClassifier,
    LinearClassifierCV, SequenceTagger, SequenceTaggerCV,
)
"""


@pytest.mark.parametrize(
    ("program", "chain"),
    [(FITTED, True), (COMMANDS, True), (NAMES, False)],
    ids=["fit", "cli", "import"],
)
def test_oracles_of_other_structures_stay_out(program: str, chain: bool, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program + STRUCTURES],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    found = ast.literal_eval(done.stdout.splitlines()[-1])
    assert found == (["chain"] if chain else [])


def test_other_modules_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("partwise.no_such_module")


@pytest.mark.parametrize("package", ["formats", "metrics"])
def test_files_and_scores_need_no_compiler(package: str) -> None:
    folder = Path(partwise.__file__).parent / package
    names = [f"partwise.{package}.{path.stem}" for path in sorted(folder.glob("[a-z]*.py"))]
    assert names
    code = f"import sys, {', '.join(names)}; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
