"""Model files with a good checksum and bad contents: refused, or used without harm."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import hostile_models

from partwise import KernelClassifier, ModelFileError, load_model, save_model
from partwise.files.container import read_container, write_container


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    hostile_models.make_models(folder)
    return folder


def test_every_so_many_changes_of_every_model(models: Path) -> None:
    program = [sys.executable, "-m", hostile_models.__name__, str(models), "149"]
    tests = Path(__file__).parents[1]
    done = subprocess.run(program, cwd=tests, stderr=subprocess.PIPE, text=True, check=False)
    # The last change that was tried, and what it led to.
    assert done.returncode == 0, done.stderr[-3000:]
    # Other lines are warnings about what is read and not refused.
    lines = [line.split(": ") for line in done.stderr.splitlines() if line[:1].isdigit()]
    tried = {name for _, name, *_ in lines}
    assert tried == {path.name for path in models.iterdir()} - {"text", "hostile"}


def refuses(path: Path, says: str) -> None:
    with pytest.raises(ModelFileError, match=says):
        load_model(path)


@pytest.mark.parametrize("name", ["kernel", "kernel, poly", "kernel tagger"])
@pytest.mark.parametrize("pair", [(2**63 - 1, -2), (2**62, -(2**62)), (-(2**63), 2**63 - 1)])
def test_pointers_whose_differences_wrap(
    models: Path, tmp_path: Path, name: str, pair: tuple[int, int]
) -> None:
    header, arrays = read_container(models / name)
    for place in range(1, len(arrays["encoder_support_indptr"]) - 2):
        pointers = arrays["encoder_support_indptr"].copy()
        pointers[place : place + 2] = pair
        changed = {**arrays, "encoder_support_indptr": pointers}
        write_container(tmp_path / "hostile", header, changed)
        refuses(tmp_path / "hostile", "indptr must rise")


def changed(path: Path, target: Path, **values: Any) -> None:
    """Write a model with other values at places of the header such as ``encoder.data.n_inputs``."""
    header, arrays = read_container(path)
    header = copy.deepcopy(header)
    for place, value in values.items():
        *way, last = place.split(".")
        held: Any = header
        for key in way:
            held = held[int(key) if isinstance(held, list) else key]
        held[int(last) if isinstance(held, list) else last] = value
    write_container(target, header, arrays)


def test_inputs_without_any_value_take_no_memory(models: Path, tmp_path: Path) -> None:
    wide = {"encoder.data.n_inputs": 2**31 - 1, "encoder.data.support.n_inputs": 2**31 - 1}
    changed(models / "kernel", tmp_path / "wide", **wide)
    program = (
        "import resource, sys, numpy as np\n"
        "from partwise import load_model\n"
        "from partwise.problem.rows import Rows\n"
        "model = load_model(sys.argv[1])\n"
        "rows = Rows(np.array([0, 2]), np.array([3, 2**31 - 2]), None, 2**31 - 1)\n"
        "small = Rows(np.array([0, 2]), np.array([3, 4]), None, 30)\n"
        "model.predict(small)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, -1))\n"
        "model.predict(rows)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "wide")], check=True)


def test_the_same_similarities_however_many_features_there_are(tmp_path: Path) -> None:
    X = hostile_models.rows()
    wide = np.zeros((len(X), 5000))
    wide[:, ::150][:, : X.shape[1]] = X
    y = np.arange(len(X)) % 3
    for kernel in ("rbf", "poly"):
        narrow = KernelClassifier(kernel=kernel, gamma=0.1).fit(X, y).decision_function(X)
        found = KernelClassifier(kernel=kernel, gamma=0.1).fit(wide, y).decision_function(wide)
        np.testing.assert_allclose(found, narrow, rtol=1e-6, atol=1e-9)


def test_lengths_without_weights_are_not_believed(models: Path, tmp_path: Path) -> None:
    header, arrays = read_container(models / "segmenter, observed")
    n_labels = header["structure"]["constants"]["n_labels"]
    most = 2**27 // n_labels
    # No weights for lengths: drop the one feature of the kind, and its block.
    assert header["structure"]["kinds"][3] == "length"
    at = sum(header["n_features"][:3])
    first, slot = arrays["first"].copy(), arrays["slot"]
    begin = int(first[at])
    end = begin + 1 + int(np.flatnonzero(slot[begin:] < 0)[0])
    first[first > begin] -= end - begin
    kept = np.r_[:begin, end : len(slot)]
    arrays = {
        **arrays,
        "first": np.delete(first, at),
        "slot": slot[kept],
        "weights": arrays["weights"][kept],
    }
    header = copy.deepcopy(header)
    header["n_features"][3], header["n_weights"] = 0, len(kept)
    header["encoder"]["data"]["lengths"] = False
    write_container(tmp_path / "sound", header, arrays)
    load_model(tmp_path / "sound")
    header["structure"]["constants"]["max_length"] = most
    header["structure"]["widths"][3] = most * n_labels
    write_container(tmp_path / "hostile", header, arrays)
    refuses(tmp_path / "hostile", "would need 1.0 GiB of memory for an example")


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        ("kernel", "encoder.data.support.kernel.gamma", 10**400, "gamma"),
        ("kernel", "encoder.data.support.kernel.coef0", 10**400, "coef0"),
        ("kernel", "encoder.data.support.n_inputs", 2**31, "2147483648 features"),
        ("command tag", "encoder.data.n_inputs", 2**30, "1073741824 columns"),
        ("graph", "structure.constants.max_megabytes", 2**31 - 1, "max_megabytes"),
        ("parser, hashed", "encoder.data.n_hashed", 2**28, "another number of features"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_sizes_that_are_not_believed(
    models: Path, tmp_path: Path, name: str, place: str, value: Any, says: str
) -> None:
    changed(models / name, tmp_path / "hostile", **{place: value})
    refuses(tmp_path / "hostile", says)


def test_notes_of_the_maker_may_be_anything(models: Path, tmp_path: Path) -> None:
    use = hostile_models.uses(models)["parser"]
    for noted in (None, 1, "x", [], {"lifted": "x"}):
        changed(models / "parser", tmp_path / "odd", **{"meta.nonprojective": noted})
        use(tmp_path / "odd")


def test_a_model_that_was_read_is_saved_as_it_was(models: Path, tmp_path: Path) -> None:
    for name in hostile_models.estimators():
        save_model(load_model(models / name), tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (models / name).read_bytes()
