"""What other packages add: they join by an entry point, and a model file never imports them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from partwise.registry import Registry

PLUGIN = """
import numpy as np
from partwise.formats.registry import Format
from partwise.formats.columns import Columns
from partwise.formats.source import read_text
from partwise.solvers.batch.lbfgs import LBFGS
from partwise.structures.multiclass import Multiclass
from partwise.tasks.sequences.tag_task import TagTask


class Mine(LBFGS):
    name = "mine"


class Labels(Multiclass):
    name = "labels"


class Words(TagTask):
    name = "words"
    format = "slashes"


def read(path, **wanted):
    given = read_text(path)
    name, text = given.name, given.text
    pairs = [token.rpartition("/")[::2] for token in text.split()]
    words, labels = map(list, zip(*pairs))
    lengths = np.array([len(line.split()) for line in text.splitlines()])
    return Columns(name, (words,), labels, lengths, np.ones(len(words), np.int64))


SLASHES = Format("tokens in columns", read, "word/label")
"""
ENTRY_POINTS = """
[partwise.solvers]
mine = plugin:Mine
[partwise.structures]
labels = plugin:Labels
[partwise.tasks]
words = plugin:Words
[partwise.formats]
slashes = plugin:SLASHES
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as pip would leave it, with entry points of all kinds."""
    (tmp_path / "plugin.py").write_text(PLUGIN, "utf-8")
    info = tmp_path / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, "utf-8")
    return tmp_path


def python(folder: Path, code: str) -> str:
    path = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    command = [sys.executable, "-c", path + code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_solver_and_a_task_work_by_name(package: Path) -> None:
    (package / "text").write_text("the/D dog/N\na/D cat/N\n", "ascii")
    assert python(package, """
from partwise import SequenceTagger
from partwise.cli import main
X, y = [["the", "dog"], ["a", "cat"]], [["D", "N"]] * 2
print(SequenceTagger(solver="mine").fit(X, y).predict(X))
train = ["train", "--task", "words", "text", "--model", "m", "--solver", "mine", "--quiet"]
assert main(train) == 0
assert main(["predict", "m", "text"]) == 0
assert main(["train", "--task", "tag", "text", "--format", "slashes", "--model", "n", "-q"]) == 0
""").count("N") >= 4  # fmt: skip


def test_a_model_file_imports_no_plug_in(package: Path) -> None:
    python(package, """
import numpy as np
from partwise import save_model
from partwise.models.fit import fit_model
from partwise.models.numbered import NumberedFeatures
from partwise.problem import Rows
from partwise.training import Settings
from plugin import Labels
rows = [Rows.from_dense(np.eye(2))]
gold = [np.array([0]), np.array([1])]
features = NumberedFeatures((2,))
model, _ = fit_model("x", Labels(2), rows, [1, 1], gold, features, Settings(), labels=["a", "b"])
save_model(model, "labels.model")
""")  # fmt: skip
    python(package, """
import sys
from partwise import ModelFileError, load_model
try:
    load_model("labels.model")
except ModelFileError as error:
    assert "the structure 'labels' is unknown" in str(error), error
else:
    raise AssertionError("the model was read")
assert "plugin" not in sys.modules
assert load_model("labels.model", structures=["labels"]).structure.name == "labels"
assert "plugin" in sys.modules
""")  # fmt: skip


def test_names_of_the_package_cannot_be_taken_over(package: Path) -> None:
    text = (package / "plugin-1.0.dist-info/entry_points.txt").read_text("utf-8")
    changed = text.replace("mine = ", "lbfgs = ")
    (package / "plugin-1.0.dist-info/entry_points.txt").write_text(changed, "utf-8")
    code = "from partwise.solvers.registry import SOLVERS; print(SOLVERS['lbfgs'].__module__)"
    assert python(package, code) == "partwise.solvers.batch.lbfgs\n"


def test_entries_of_the_running_program() -> None:
    registry: Registry[object] = Registry("partwise.nothing", {"a": "errors:DataError"})
    registry["b"] = 3
    assert list(registry) == ["a", "b"]
    assert (len(registry), registry["b"], "c" in registry) == (2, 3, False)
    assert registry["a"].__name__ == "DataError"  # type: ignore[attr-defined]
    del registry["b"]
    assert list(registry) == ["a"]
    for name in ("b", "c"):
        with pytest.raises(KeyError):
            registry[name]
        with pytest.raises(KeyError):
            del registry[name]


def test_a_broken_plug_in_harms_nobody_else(package: Path) -> None:
    text = ENTRY_POINTS + "broken = no_such_module:NoFormat\n"
    text = text.replace("[partwise.tasks]\n", "[partwise.tasks]\nbroken = no_such_module:NoTask\n")
    text = text.replace("[partwise.solvers]\n", "[partwise.solvers]\nbroken = plugin:NoSolver\n")
    (package / "plugin-1.0.dist-info/entry_points.txt").write_text(text, "utf-8")
    (package / "text").write_text("the D\ndog N\n\na D\n", "ascii")
    python(package, """
from partwise import MismatchError, SequenceTagger, load_model
from partwise.cli import main
assert main(["--help"]) == 0
train = ["train", "--task", "tag", "text", "--model", "m", "-q"]
assert main(train) == 0
assert main([*train, "--solver", "broken"]) == 2
assert main([*train, "--format", "broken"]) == 2
assert main([*train, "--format", "nonesuch"]) == 2
for solver in ("broken", "bcfw"):
    try:
        SequenceTagger(solver=solver).fit([["a", "b"]], [["x", "y"]])
    except MismatchError as error:
        assert ("plugin:NoSolver" in str(error)) == (solver == "broken"), error
    else:
        raise AssertionError(solver)
for more in ({"structures": ["nonesuch"]}, {"features": ["nonesuch"]}):
    try:
        load_model("m", **more)
    except Exception as error:
        assert "no package provides" in str(error), error
    else:
        raise AssertionError(more)
""")  # fmt: skip
